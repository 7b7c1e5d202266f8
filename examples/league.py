"""A full-size RLlib league: 8 learning agents, 12 bots, 12 frozen opponents.

One network of 4.9 million parameters learns from all 8 agents; after every iteration a copy of it is frozen
and joins the opponents. At the end the network plays a few games against the untrained one.

    python examples/league.py
    python examples/league.py --iterations 5 --env-runners 2 --store snapshots/
"""

import argparse
import os
import sys
import tempfile
import time

import numpy as np
import ray
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, freeze, set_league
from rllib_adapters.envs.agent_interface import SHARED
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import ReferenceModule, settings_of
from rllib_adapters.modules.frozen_pool import opponents_of, pool_settings
from territorial import GameConfig
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.memory.measure import measure

BOTS = {"bot:metronome": 3, "bot:banker": 3, "bot:turtle": 2, "bot:novice": 3, "bot:random": 1}
UNTRAINED = "untrained"


def table(options: argparse.Namespace, snapshots: list[str]) -> LineUpDistribution:
    """Return who plays: frozen opponents are drawn from all snapshots, the newest twice as often."""
    weights = {f"snapshot:{name}": 1.0 for name in snapshots}
    weights[f"snapshot:{snapshots[-1]}"] *= 2
    groups = [
        Group(options.agent_seats, {"trainable:main": 1}),
        Group(options.bot_seats, BOTS),
        Group(options.snapshot_seats, weights),
    ]
    return LineUpDistribution(groups, shuffle=False)


def megabytes() -> float:
    """Return the memory of this process and all that it started."""
    return measure().total / 2**20


def game_of(options: argparse.Namespace) -> GameConfig:
    """Return the games that are played."""
    seats = options.agent_seats + options.bot_seats + options.snapshot_seats
    return GameConfig(height=options.side, width=options.side, num_players=seats)


def build(options: argparse.Namespace, store: SnapshotStore) -> Algorithm:
    """Return the algorithm, with the untrained network as the first snapshot."""
    env_config = {"config": game_of(options), "league": table(options, [UNTRAINED])}
    settings = settings_of(env_config)
    torch.manual_seed(options.seed)
    weights = ReferenceModule.make_policy(settings).state_dict()
    arrays = {name: tensor.numpy() for name, tensor in weights.items()}
    store.add(UNTRAINED, arrays, ReferenceModule.manifest(settings, iteration=0))
    config = configure(PPOConfig(), env_config, module=ReferenceModule, store=store)
    # No timeout: however long a sample takes.
    config.env_runners(num_env_runners=options.env_runners, sample_timeout_s=None)
    config.training(
        train_batch_size_per_learner=options.iteration_steps,
        minibatch_size=min(64, options.iteration_steps),
        num_epochs=1,
        lr=1e-4,
        gamma=0.995,
        lambda_=0.95,
        entropy_coeff=0.003,
        grad_clip=10.0,
    )
    config.debugging(seed=options.seed)
    return config.build_algo()


def train(options: argparse.Namespace, algorithm: Algorithm, store: SnapshotStore) -> None:
    """Train, freeze a copy after every iteration, and print what each took."""
    for i in range(1, options.iterations + 1):
        start = time.perf_counter()
        result = algorithm.train()
        learner, seconds = result["learners"]["main"], time.perf_counter() - start
        steps, rows = result["env_runners"]["num_env_steps_sampled"], learner["num_module_steps_trained"]
        print(
            f"iteration {i} of {options.iterations}: {seconds:.0f} s, {steps:.0f} steps, {rows:.0f} rows, "
            f"entropy {learner['entropy']:.2f}, value loss {learner['vf_loss']:.2f}, {megabytes():,.0f} MB",
            flush=True,
        )
        freeze(algorithm, store, f"main-{i}", iteration=i)
        set_league(algorithm, table(options, [UNTRAINED, *(f"main-{k}" for k in range(1, i + 1))]))


def evaluate(options: argparse.Namespace, store: SnapshotStore, name: str) -> float:
    """Return the mean share of the land, over fair, of ``name`` in the learning agents' seats.

    All else is as in training at its beginning; every game is cut after ``eval_steps`` decisions.
    """
    env_config = {
        "config": game_of(options),
        "league": table(options, [UNTRAINED]),
        "end_when": "no_agents",
        "max_cycles": options.eval_steps,
    }
    env = TerritorialMultiAgentEnv(env_config)
    players = opponents_of(pool_settings(settings_of(env_config), store, [ReferenceModule]))
    shares = []
    for seed in range(options.eval_games):
        torch.manual_seed(seed)
        seen, _ = env.reset(seed=seed)
        land = {}
        while env.agents:
            agents = list(env.agents)
            names = [name if agent.startswith("player") else UNTRAINED for agent in agents]
            own = ("seat", "action_mask")
            rows = {key: torch.from_numpy(np.stack([seen[agent][key] for agent in agents])) for key in own}
            frame = {key: torch.from_numpy(seen[agents[0]][key])[None] for key in SHARED}
            frame["frame"] = torch.zeros((len(agents), 1), dtype=torch.int64)
            actions = players.act(names, {**rows, **frame}).numpy()
            seen, _, _, _, infos = env.step(dict(zip(agents, actions, strict=True)))
            land |= {agent: info["land"] for agent, info in infos.items() if "land" in info}
        mine = [cells for agent, cells in land.items() if agent.startswith("player")]
        shares.append(np.mean(mine) * env.game.config.num_players / env.game.state.num_land[0])
    return float(np.mean(shares))


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default, meaning in (
        ("iterations", 3, "training iterations of the run"),
        ("agent-seats", 8, "seats of a game that learning agents control"),
        ("bot-seats", 12, "seats of bots"),
        ("snapshot-seats", 12, "seats of snapshots"),
        ("side", 256, "rows and columns of a square map, in cells"),
        ("iteration-steps", 64, "environment steps of a training iteration, over all games and env runners"),
        ("env-runners", 1, "processes that collect samples"),
        ("eval-games", 2, "games of each evaluation"),
        ("eval-steps", 40, "decisions after which a game of an evaluation is cut"),
        ("seed", 0, "random seed"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default %(default)s)")
    parser.add_argument("--store", help="folder of the SnapshotStore; a new one (default: a temporary one)")
    options = parser.parse_args(arguments)
    if options.store and SnapshotStore(options.store).names():
        parser.error(f"argument --store: {options.store!r} has snapshots; choose another folder")
    return options


def main(arguments: list[str]) -> None:
    """Build, train, evaluate, and print what it took."""
    options = parse(arguments)
    os.environ.setdefault(
        "RAY_worker_niceness", "0"
    )  # Ray's own default, 15, starves runners of a busy machine
    ray.init(
        num_cpus=options.env_runners + 1,
        object_store_memory=200_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    before = megabytes()
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(options.store or folder)
        start = time.perf_counter()
        algorithm = build(options, store)
        print(
            f"{options.agent_seats} learning agents, {options.bot_seats} bots and "
            f"{options.snapshot_seats} snapshots on {options.side} x {options.side} cells; "
            f"built in {time.perf_counter() - start:.0f} s, {megabytes() - before:,.0f} MB above Ray",
            flush=True,
        )
        train(options, algorithm, store)
        algorithm.stop()
        ray.shutdown()
        if options.eval_games:
            newest = f"main-{options.iterations}"
            results = {name: evaluate(options, store, name) for name in (UNTRAINED, newest)}
            print(
                f"\nland of a learning seat over a fair share, {options.eval_games} games cut after "
                f"{options.eval_steps} decisions: "
                + ", ".join(f"{name} {share:.2f}" for name, share in results.items())
            )


if __name__ == "__main__":
    main(sys.argv[1:])
