#!/usr/bin/env python3
"""Measures the memory of a full-size league, beside the prediction.

    python benchmarks/memory/league_memory.py            half an hour, 8 GB of memory, 6 GB of disk
    python benchmarks/memory/league_memory.py --only "packed, small"

32 players on 256 x 256 cells: a policy of 4.9 million parameters that learns, 32 bots and 32 frozen copies,
with 2 batched runners, and with 2 of RLlib's own. It is measured as well with the networks of the presets
"features" and "pairs", with both of them in one league, and in the sizes of the preset "pairs". Last, the
memory that four runners have for themselves, with 300 snapshots and with none.

Memory is PSS of all processes together, Ray's own among them: what they share counts once, mapped files too.
The peak is the worst moment of an iteration; all runners have read all snapshots before. Prediction and
measurement are over processes that have imported everything. Every case has a process of its own. It needs
Ray with RLlib and torch (the extra ``rllib``) on Linux. The exit code is 1 if a league takes over MOST_MB, or
a runner of 300 snapshots has over MOST_OF_SNAPSHOTS more for itself.
"""

import argparse
import dataclasses
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from torch import Tensor

from benchmarks import harness
from benchmarks.rllib.league_seats import BOTS, LEARNER, names_of, spread
from rllib_adapters.configuration import configure
from rllib_adapters.envs.env_config import POOL, EnvConfig
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule, network_of
from rllib_adapters.networks import NETWORKS, Network
from territorial import GameConfig, VecGame
from territorial.bots.network_file import NetworkFile, pieces
from territorial.constants import NUM_FRACTIONS
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.memory.measure import PSS, Memory, measure, process_tree
from territorial.memory.plan import MB
from territorial.memory.predict import predict
from territorial.memory.setup import Setup
from territorial.observation.action_encoding import num_targets

LEAGUE = Setup(parameters=4_900_000, driver_plays=0)
"""The league: 8 of 32 seats learn, 64 steps an iteration in minibatches of 16; only runners play."""
TABLES = dataclasses.replace(LEAGUE, frames=1, parameters=70_000, activations=1_100)
"""The same with networks on features, or on pairs."""
SMALL = dataclasses.replace(
    LEAGUE,
    height=64,
    width=64,
    num_players=8,
    frames=1,
    agent_seats=2,
    capacity=8,
    env_runners=0,
    iteration_steps=512,
    minibatch=128,
)
PRESET = dataclasses.replace(
    TABLES,
    height=96,
    width=96,
    num_players=12,
    agent_seats=4,
    bots=4,
    capacity=40,
    num_games=64,
    iteration_steps=8192,
    minibatch=4096,
)
"""That of ``territorial train``, which has pairs."""


class PackedCase(NamedTuple):
    """A league of this project to measure."""

    setup: Setup
    network: str = "boards"
    """Of ``rllib_adapters.networks.NETWORKS``; in the form "mixed", that of the agents on boards."""
    form: str = "packed"
    """Of the prediction."""
    runner: str = "batched"
    epochs: int = 1
    iterations: int = 5


PACKED = {
    "packed": PackedCase(LEAGUE),
    "packed with RLlib's own runner": PackedCase(LEAGUE, runner="stock"),
    "features": PackedCase(TABLES, "features"),
    "pairs": PackedCase(TABLES, "pairs", "pairs"),
    "mixed": PackedCase(dataclasses.replace(TABLES, pair_seats=4), "features", "mixed"),
    "pairs, preset": PackedCase(PRESET, "pairs", "pairs", epochs=2),
    "packed, small": PackedCase(SMALL, iterations=1),
}
MANY, MANY_RUNNERS = 300, 4
MOST_MB = 1341
"""At the worst moment of each league, over idle processes."""
MOST_OF_SNAPSHOTS = 10 * MB
"""Of the private memory of a runner that plays with MANY snapshots, over one with none."""
ON_PAIRS = "on-pairs"
"""Who learns on pairs where others are on boards."""

# ---- measuring ---------------------------------------------------------------------------------------


def settled() -> Memory:
    """Return what this process and all that it started take, after all of them have had time to settle."""
    gc.collect()
    time.sleep(2)
    return measure()


def quiet_ray(cpus: int) -> None:
    """Start Ray with as little around it as it can do with."""
    ray.init(
        address="local",  # whatever other clusters there may be
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=400 * MB,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}},
    )


def idle(runners: int) -> dict[str, int]:
    """Return what this process, others instead of runners, and Ray take before anything is built."""
    actor = ray.remote(_Idle)
    others = [actor.remote() for _ in range(runners)]
    pids = ray.get([other.pid.remote() for other in others])
    memory = settled()
    own = {process.pid: process.nbytes for process in memory.processes}
    found = {
        "total": memory.total,
        "driver": own[os.getpid()],
        "runner": int(statistics.mean(own[pid] for pid in pids)) if pids else 0,
    }
    found["services"] = found["total"] - found["driver"] - runners * found["runner"]
    for other in others:
        ray.kill(other)
    while set(pids) & set(process_tree()):
        time.sleep(0.1)
    return found


class _Idle:
    """A process that has imported everything and does nothing."""

    def pid(self) -> int:
        """Return its number."""
        from rllib_adapters import configure  # all that a runner imports

        return os.getpid() if configure else 0


# ---- cases -------------------------------------------------------------------------------------------


def packed(case: PackedCase) -> dict[str, Any]:
    """Build a league, open all of its snapshots, train some iterations, and measure each."""
    quiet_ray(case.setup.env_runners + 1)
    idles, league = idle(case.setup.env_runners), MeasuredLeague(case.setup, case.network, case.form)
    with filled_store(league) as store:
        activations = activations_of(league)
        algorithm = config_of(league, store, case.runner, case.epochs).build_algo()
        built = settled().total
        open_all(algorithm, league.names)
        opened, peaks = settled().total, []
        for _ in range(case.iterations):
            with harness.Peak() as peak:
                algorithm.train()
            peaks.append(peak.total)
        sizes = {"built": built, "opened": opened, "peak": max(peaks)}
        plan = predict(
            measured_setup(case.setup, idles, activations, parameters_of(algorithm, league)), case.form
        )
        algorithm.stop()
    ray.shutdown()
    predicted = {"built": plan.built_over_idle, "peak": plan.peak - plan.built + plan.built_over_idle}
    return {
        "idle_mb": idles["total"] / MB,
        "over_idle_mb": {name: (size - idles["total"]) / MB for name, size in sizes.items()},
        "predicted_mb": {name: size / MB for name, size in predicted.items()},
    }


def measured_setup(setup: Setup, idles: dict[str, int], activations: int, parameters: int) -> Setup:
    """Return a setup with what idle processes took, and what a network takes."""
    runners = setup.env_runners
    process = (idles["driver"] + runners * idles["runner"]) // (1 + runners)
    return dataclasses.replace(
        setup,
        parameters=parameters,
        activations=activations,
        process_mb=round(process / MB),
        services_mb=round(idles["services"] / MB),
    )


def with_snapshots(snapshots: int) -> dict[str, Any]:
    """Return how much each of four runners has for itself that play with so many snapshots."""
    setup = dataclasses.replace(LEAGUE, height=64, width=64, capacity=snapshots, env_runners=MANY_RUNNERS)
    quiet_ray(MANY_RUNNERS + 1)
    league = MeasuredLeague(setup, "boards", "packed")
    with filled_store(league) as store:
        algorithm = config_of(league, store).build_algo()
        algorithm.train()
        if snapshots:
            open_all(algorithm, league.names)
        pids = algorithm.env_runner_group.foreach_env_runner(lambda _: os.getpid(), local_env_runner=False)
        gc.collect()
        time.sleep(2)
        private = statistics.mean(process.private for process in measure(pids).processes)
        algorithm.stop()
    ray.shutdown()
    return {"private_of_a_runner": private}


# ---- leagues -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class MeasuredLeague:
    """A league: its numbers, the network of learners and snapshots, and who is on pairs besides."""

    setup: Setup
    network: str
    form: str

    @property
    def learners(self) -> dict[str, tuple[Network, int]]:
        """By name, the network of each learner and its seats."""
        setup, own = self.setup, NETWORKS[self.network]
        if self.form != "mixed":
            return {LEARNER: (own, setup.agent_seats)}
        on_pairs = setup.pair_seats
        return {LEARNER: (own, setup.agent_seats - on_pairs), ON_PAIRS: (NETWORKS["pairs"], on_pairs)}

    @property
    def names(self) -> list[str]:
        """The names of its snapshots."""
        return names_of(self.setup.capacity)

    def entries(self) -> dict[str, Any]:
        """Return its ``env_config``."""
        setup = self.setup
        rest = setup.num_players - setup.agent_seats
        frozen = rest // 2 if setup.capacity else 0
        groups = [
            *(Group(seats, {f"trainable:{name}": 1}) for name, (_, seats) in self.learners.items()),
            Group(rest - frozen, BOTS),
            *([Group(frozen, {f"snapshot:{name}": 1 for name in self.names})] if frozen else []),
        ]
        obs = {name: network.obs for name, (network, _) in self.learners.items()}
        return {
            "config": game_of(setup),
            "league": LineUpDistribution(groups),
            "frames": setup.frames,
            "obs": obs if len(obs) > 1 else obs[LEARNER],
        }

    def settings(self, learner: str) -> dict[str, Any]:
        """Return the ``model_config`` of a learner's module."""
        network, _ = self.learners[learner]
        return settings_of(self.entries(), learner=learner, **network.settings)


def game_of(setup: Setup) -> GameConfig:
    return GameConfig(height=setup.height, width=setup.width, num_players=setup.num_players)


@contextmanager
def filled_store(league: MeasuredLeague) -> Iterator[SnapshotStore]:
    """Give a store with the snapshots of a league, no two alike; those of its learners in turn."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TERRITORIAL_STORE_DIR")) as folder:
        store = SnapshotStore(folder)
        learners = list(league.learners)
        for i, learner in enumerate(learners):
            _fill(store, league, learner, league.names[i :: len(learners)])
        torch.manual_seed(0)
        yield store


def _fill(store: SnapshotStore, league: MeasuredLeague, learner: str, names: list[str]) -> None:
    """Add snapshots of a learner's network; the engine plays those on pairs."""
    module, settings = league.learners[learner][0].module, league.settings(learner)
    policy = module.make_policy(settings)
    network = exported(policy, league) if module is PairModule else None
    weights = policy.state_dict()
    for name in names:
        next(iter(weights.values())).view(-1)[0] += 1  # no two files are the same
        arrays = {key: part.numpy() for key, part in weights.items()}
        store.add(name, arrays, module.manifest(settings), network=network)


def exported(policy: Any, league: MeasuredLeague) -> list[Any]:
    """Return a network on pairs as the engine has it: as many bytes as any other of its size."""
    spread(policy)
    network = network_of(PairModule, policy, EnvConfig.from_config(league.entries()))
    assert isinstance(network, NetworkFile), network
    return list(pieces(network))


def config_of(league: MeasuredLeague, store: SnapshotStore, runner: str = "stock", epochs: int = 1) -> Any:
    """Return the configuration of PPO for a league."""
    setup = league.setup
    modules = {name: (network.module, network.settings) for name, (network, _) in league.learners.items()}
    config = configure(PPOConfig(), league.entries(), module=modules, store=store, runner=runner)
    config.env_runners(
        num_env_runners=setup.env_runners,
        num_envs_per_env_runner=setup.num_games,
        create_local_env_runner=bool(setup.driver_plays) or not setup.env_runners,
        sample_timeout_s=None,
    )
    config.training(
        train_batch_size_per_learner=setup.iteration_steps,
        minibatch_size=setup.minibatch,
        num_epochs=epochs,
        lr=1e-4,
    )
    return config.debugging(seed=0, log_level="ERROR")


def open_all(algorithm: Any, names: list[str]) -> None:
    """Have every runner read all snapshots, in the engine or in the pool, down to the last byte."""

    def read(runner: Any) -> int:
        is_batch, envs = hasattr(runner.env, "game"), runner.env.envs
        batches = [runner.env] if is_batch else [env.unwrapped.batch for env in envs]
        in_engine = {name for name in names if all(one._registry.network(name) for one in batches)}
        opponents = runner.module[POOL].opponents
        opponents.keep(sorted(set(names) - in_engine))
        return len(in_engine) + pages_read(opponents)

    group, has_runners = algorithm.env_runner_group, bool(algorithm.config.num_env_runners)
    assert min(group.foreach_env_runner(read, local_env_runner=not has_runners)) > 0


def pages_read(opponents: Any) -> int:
    """Read a number of each page of the weights that a pool has open."""
    weights = [part for entry in opponents._open.values() for part in entry.weights.values()]
    return sum(int(part.view(-1)[::1024].count_nonzero()) for part in weights)


def activations_of(league: MeasuredLeague) -> int:
    """Return how many float32 numbers the modules keep of a row until gradients are computed, at most."""
    return max(_activations(league, name) for name in league.learners)


def _activations(league: MeasuredLeague, learner: str) -> int:
    network, _ = league.learners[learner]
    policy = network.module.make_policy(league.settings(learner))
    kept: list[dict[int, int]] = [{}, {}]  # of one row, and of two: both have kept weights

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[rows - 1][storage.data_ptr()] = storage.nbytes()
        return tensor

    for rows in (1, 2):
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            if network.obs == "pairs":
                policy(torch.ones(rows, 35), torch.ones(rows, 8, 26), torch.ones(rows, 81))
            else:
                first = _first_row(league.setup)
                policy({key: torch.cat([part] * rows) for key, part in first.items()})
    return (sum(kept[1].values()) - sum(kept[0].values())) // 4


def _first_row(setup: Setup) -> dict[str, Tensor]:
    """Return what a seat sees of boards as a game begins."""
    seen = VecGame(game_of(setup), 1, frames=setup.frames).reset()
    arrays = {
        "observations": seen.planes,
        **{key: getattr(seen, key) for key in ("players", "borders", "globals")},
    }
    rows = {key: torch.from_numpy(np.array(part)) for key, part in arrays.items()}
    mask = torch.ones((1, num_targets(setup.num_players) + NUM_FRACTIONS))
    return {**rows, "seat": torch.ones((1, 1), dtype=torch.int32), "action_mask": mask}


def parameters_of(algorithm: Any, league: MeasuredLeague) -> int:
    """Return the weights of the largest network that learns."""
    weights = algorithm.learner_group.get_weights(list(league.learners))
    return max(sum(int(array.size) for array in state.values()) for state in weights.values())


# ---- all of it ---------------------------------------------------------------------------------------

NONE_OF, MANY_OF = "0 snapshots", f"{MANY} snapshots"
CASES: dict[str, Callable[[], dict[str, Any]]] = {
    **{name: (lambda case=case: packed(case)) for name, case in PACKED.items()},
    NONE_OF: lambda: with_snapshots(0),
    MANY_OF: lambda: with_snapshots(MANY),
}


def main(argv: list[str] | None = None) -> int:
    """Measure all cases and return the exit code."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CASES,
        metavar="CASE",
        default=list(CASES),
        help="case to measure (default all)",
    )
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)  # what the processes are given
    parsed = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    if parsed.case is not None:
        print(json.dumps(CASES[parsed.case]()))
        return 0
    if measure([]).measure != PSS:
        print("what processes share can be told on Linux only", file=sys.stderr)
        return 1
    found: dict[str, dict[str, Any]] = {}
    for name in parsed.only:
        command = [sys.executable, __file__, "--case", name]
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        found[name] = json.loads(ended.stdout.splitlines()[-1])
        print(f"{name}: {text_of(found[name])}", flush=True)
    harness.write(parsed.json, {"cases": found})
    peaks = [case["over_idle_mb"]["peak"] for case in found.values() if "over_idle_mb" in case]
    more = 0.0
    if {NONE_OF, MANY_OF} <= found.keys():
        more = found[MANY_OF]["private_of_a_runner"] - found[NONE_OF]["private_of_a_runner"]
        print(f"{MANY} snapshots: {more / MB:.1f} MB more of its own in a runner")
    return int(max(peaks, default=0) > MOST_MB or more > MOST_OF_SNAPSHOTS)


def text_of(found: dict[str, Any]) -> str:
    """Return the sizes of a case in MB, and in brackets what is predicted."""
    if "private_of_a_runner" in found:
        return f"{found['private_of_a_runner'] / MB:,.1f} MB that a runner has for itself"
    sizes = ", ".join(
        f"{name} {size:,.0f}"
        + (f" ({found['predicted_mb'][name]:,.0f})" if name in found["predicted_mb"] else "")
        for name, size in found["over_idle_mb"].items()
    )
    return f"idle {found['idle_mb']:,.0f} MB; over that {sizes} MB"


if __name__ == "__main__":
    sys.exit(main())
