#!/usr/bin/env python3
"""Memory and speed of a league of another environment, with and without ``add_league``.

MAgent2's ``battle`` on 16 x 16 cells, two armies of 6 agents, 4 games in a process, two layers of 256
(288,022 parameters); an iteration has 400 steps. By itself RLlib has a module for every snapshot. Each line
is a process of its own; an MB is 2**20 bytes, over what it took after imports and without Ray's services,
and in brackets what ``predict_memory`` says. Before the first iteration runners read all snapshots. The last
column has what each runner process alone holds at the end, in no file::

    pip install magent2
    python benchmarks/rllib/any_env.py --snapshots 1 32 300
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Any

import numpy as np
import ray
import torch
from magent2.environments import battle_v4
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.tune.registry import register_env

from rllib_adapters import add_league, predict_memory
from rllib_adapters.league.control import of_spaces
from territorial.league import League, LeagueConfig, Learner, Manifest, Opponents, SnapshotStore
from territorial.memory.measure import ProcessMemory, give_back, measure
from territorial.memory.plan import MB
from territorial.nets.frozen import MAX_OPEN

KIT, RLLIB = "kit", "rllib"
WIDTH = 256
RUNNERS = "ray::AnyEnv", "ray::MultiAgent"
"""Their names in the system, which cuts them to 15 characters; Ray's services have others."""


class Net(TorchRLModule, ValueFunctionAPI):
    """Two layers over what a soldier sees."""

    def setup(self) -> None:
        """Make the layers."""
        size, width = int(np.prod(self.observation_space.shape)), self.model_config["width"]
        layers = torch.nn.Linear(size, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()
        self.body = torch.nn.Sequential(torch.nn.Flatten(), *layers)
        self.logits, self.value = torch.nn.Linear(width, self.action_space.n), torch.nn.Linear(width, 1)

    def _forward(self, batch: Any, **_: Any) -> Any:
        return {Columns.ACTION_DIST_INPUTS: self.logits(self.body(batch[Columns.OBS].float()))}

    def compute_values(self, batch: Any, embeddings: Any = None) -> Any:
        """Return (N,)."""
        return self.value(self.body(batch[Columns.OBS].float()))[:, 0]


def battle(_: Any = None) -> ParallelPettingZooEnv:
    """Return the environment."""
    return ParallelPettingZooEnv(battle_v4.parallel_env(map_size=16, max_cycles=100))


def side_of(agent: str) -> str:
    """Return the army of a soldier."""
    return agent.split("_")[0]


def new_spec() -> RLModuleSpec:
    """Return the module of the learner, or of a snapshot."""
    return RLModuleSpec(module_class=Net, model_config={"width": WIDTH})


def with_kit(config: PPOConfig, count: int) -> Any:
    """Return the configuration of a league with so many snapshots."""
    main = Learner(name="main", opponents=(Opponents(seats=1, strategy="uniform"),))
    rules = LeagueConfig(env="battle", num_players=2, learners=(main,), shuffle=True, capacity=max(2, count))
    league = League(rules, rated=False)
    names = [league.freeze("main").name for _ in range(count)]
    folder, env = tempfile.mkdtemp(), battle()
    own = add_league(config, league, folder, modules={"main": (Net, {"width": WIDTH})}, seat_of=side_of)
    seen, acts = env.get_observation_space("red_0"), env.get_action_space("red_0")
    own.league_callback.run = run = "measured"
    store = SnapshotStore(folder)
    for name in names:
        spec = new_spec()
        spec.observation_space, spec.action_space = seen, acts
        about = {"architecture": "Net", "settings": spec.model_config, "metadata": {"run": run}}
        weights = {key: part.numpy() for key, part in spec.build().state_dict().items()}
        store.add(name, weights, Manifest(**about, **of_spaces(seen, acts)))
    return own


def by_itself(config: PPOConfig, count: int) -> Any:
    """Return the configuration of RLlib with a module for every snapshot."""
    names = [f"main-{number}" for number in range(count)]
    specs = {name: new_spec() for name in ("main", *names)}

    def module_of(agent: str, episode: Any, **_: Any) -> str:
        drawn = hash(episode.id_)
        return "main" if (side_of(agent) == "red") == (drawn % 2 == 0) else names[drawn // 2 % count]

    config.multi_agent(policies=set(specs), policy_mapping_fn=module_of, policies_to_train=["main"])
    return config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))


def processes() -> list[ProcessMemory]:
    """Return this process, and those that are runners or may become one."""
    names = *RUNNERS, "ray::IDLE"
    return [one for one in measure().processes if one.pid == os.getpid() or one.name.startswith(names)]


def taken() -> int:
    """Return what they take together."""
    return sum(one.nbytes for one in processes())


def read(runner: Any, names: list[str]) -> None:
    """Have a runner open and read snapshots, and keep as many open as it can."""
    for pool in runner.pools().values():
        for start in reversed(range(0, len(names), MAX_OPEN)):
            pool.opponents.keep(names[start : start + MAX_OPEN])
            for snapshot in pool.opponents._open.values():
                for weights in snapshot.weights.values():
                    weights.sum()


def highest(work: Callable[[], Any]) -> int:
    """Return the most that all processes take while ``work`` is done."""
    found, is_over = [taken()], Event()

    def watch() -> None:
        while not is_over.wait(0.01):
            found.append(taken())

    watcher = Thread(target=watch)
    watcher.start()
    try:
        work()
    finally:
        is_over.set()
        watcher.join()
    return max(found)


def one(kind: str, count: int, runners: int, iterations: int) -> None:
    """Print what a league takes in this process, and in those that it starts."""
    register_env("battle", battle)
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    gc.collect()
    before = taken()
    config = PPOConfig().environment("battle")
    config.env_runners(num_env_runners=runners, num_envs_per_env_runner=4)
    config.training(train_batch_size_per_learner=400, minibatch_size=400, num_epochs=1)
    plain = config.copy()
    league = (with_kit if kind == KIT else by_itself)(config, count)
    gc.collect()
    give_back()  # what making snapshots has left
    algorithm = league.build_algo()
    time.sleep(2)
    built, seconds = taken(), []
    if kind == KIT:
        names = [f"main-{number}" for number in range(count)]
        algorithm.env_runner_group.foreach_env_runner(partial(read, names=names))
    peak = max(highest(algorithm.train) for _ in range(2))
    for _ in range(iterations):
        began = time.process_time()
        algorithm.train()
        seconds.append(time.process_time() - began)
    peak = max(peak, highest(algorithm.train))
    plan = predict_memory(with_kit(plain, count))[kind == RLLIB]
    idle = sum(item.nbytes for item in plan.items if item.is_idle and "runner" not in item.places)
    found = (built - before, plan.built - idle), (peak - before, plan.peak - idle)
    sizes = "".join(f"{measured / MB:10.0f} ({predicted / MB:5.0f})" for measured, predicted in found)
    alone = [one.held / MB for one in processes() if one.name.startswith(RUNNERS)]
    held = f"{np.mean(alone):12.0f}" if alone else ""
    print(f"{kind:6}{count:10}{runners:9}{sizes}{np.median(seconds):12.2f}{held}", flush=True)


def main() -> None:
    """Measure all of it, a process each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--snapshots", type=int, nargs="+", default=[1, 32, 300])
    parser.add_argument("--runners", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--one", choices=[KIT, RLLIB], help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        warnings.filterwarnings("ignore")
        one(given.one, given.snapshots[0], given.runners, given.iterations)
        return
    print(
        f"{'snapshots':>16}{'runners':>9}{'built MB':>18}{'peak MB':>18}{'CPU seconds':>12}{'runner MB':>12}"
    )
    for count in given.snapshots:
        for kind in (KIT, RLLIB):
            options = ["--snapshots", str(count), "--runners", str(given.runners)]
            options += ["--iterations", str(given.iterations)]
            subprocess.run([sys.executable, __file__, "--one", kind, *options], check=True)


if __name__ == "__main__":
    main()
