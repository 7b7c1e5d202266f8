#!/usr/bin/env python3
"""Trains two main agents and two exploiters in one league and says whether all was as it has to be.

    python benchmarks/rllib/several_learners.py               20 iterations, 100 snapshots, some minutes
    python benchmarks/rllib/several_learners.py --size small  5 iterations, 10 snapshots

The mains read boards through convolutions, the exploiters features alone; the snapshots, of both
architectures, play in the frozen seats. After every iteration the rows of every learner are compared with
those that runners sampled for it, and memory is measured. It needs Ray with RLlib and torch (the extra
``rllib``). The result, with the machine and the versions, goes to benchmarks/results/several_learners.json.
The exit code is 1 if any row is missing, too many or of another learner. It is 1, too, if memory in the last
fifth of the iterations is more than 2 % over that of the second fifth; some iterations for warming up come
before.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
import warnings
from collections import Counter
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from torch import nn

from benchmarks import goals, harness
from rllib_adapters.configure import configure
from rllib_adapters.envs.agent_names import module_of
from rllib_adapters.envs.outcomes import outcomes_of
from rllib_adapters.learning.learners import TerritorialPPOLearner
from rllib_adapters.modules.board import BoardModule, settings_of
from rllib_adapters.train.memory_watch import MB, RAY, describe
from territorial import GameConfig
from territorial.cli import options
from territorial.decode.layout import feature_names
from territorial.league import Group, LeagueTable, PayoffMatrix, SnapshotStore
from territorial.memory.measure import measure

RESULT = harness.RESULTS / "several_learners.json"
SIZES = {"full": (20, 100), "small": (5, 10)}
"""By name: iterations and snapshots."""
WARM_UP = {"full": 12, "small": 1}
"""Iterations before these, in which snapshots are opened and processes come to their size."""
MAX_CYCLES = 24
"""Decisions after which a game is cut, so that there are always new opponents."""
FLAT = goals.bound("several_learners", "growth")
GAME = GameConfig(height=64, width=64, num_players=12, max_ticks=600)
SEATS = {"main": range(3), "rival": range(3, 6), "scout": range(6, 7), "probe": range(7, 8)}
"""The seats of those who learn; four frozen ones follow."""


class BoardTrunk(nn.Module):
    """Looks at whose the cells are, in four planes a frame."""

    form = "semantic"

    def __init__(self, layout: Any, config: GameConfig, width: int = 16) -> None:
        super().__init__()
        self.embedding_size = 4 * width
        self.boards = nn.Sequential(
            nn.Conv2d(4 * layout.frames + 2, width, 8, stride=8), nn.ReLU(), nn.AdaptiveAvgPool2d(4)
        )
        self.both = nn.Linear(16 * width + len(feature_names(config)), self.embedding_size)

    def forward(self, boards: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        return self.both(torch.cat([self.boards(boards).flatten(1), features], 1)).relu()


class VectorTrunk(nn.Module):
    """Looks at no board."""

    form = "features"
    embedding_size = 64

    def __init__(self, layout: Any, config: GameConfig) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(len(feature_names(config)), 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        )

    def forward(self, boards: None, features: torch.Tensor) -> torch.Tensor:
        return self.layers(features)


class BoardReader(BoardModule):
    @classmethod
    def make_trunk(cls, layout: Any, config: GameConfig, **settings: Any) -> nn.Module:
        return BoardTrunk(layout, config, **settings)


class FeatureReader(BoardModule):
    @classmethod
    def make_trunk(cls, layout: Any, config: GameConfig, **settings: Any) -> nn.Module:
        return VectorTrunk(layout, config, **settings)


MODULES = {"main": BoardReader, "rival": BoardReader, "scout": FeatureReader, "probe": FeatureReader}


class CountingLearner(TerritorialPPOLearner):
    """Keeps how many rows each module of the last batch had, and of which seats."""

    def _make_batch_if_necessary(self, training_data: Any) -> Any:
        batch = super()._make_batch_if_necessary(training_data)
        self.counted = {
            name: (len(own), sorted(set(own["obs"]["seat"].flatten().tolist())))
            for name, own in batch.policy_batches.items()
        }
        return batch


def count_rows(*, samples: list[Any], metrics_logger: Any, **_: Any) -> None:
    """Log the rows that a sample has for each module: one for a step, and one after each piece."""
    rows: Counter[str] = Counter()
    for episode in samples:
        for agent, own in episode.agent_episodes.items():
            rows[module_of(agent)] += len(own) + 1
    metrics_logger.log_dict({"rows": dict(rows)}, reduce="sum")


def fill(store: SnapshotStore, env_config: dict[str, Any], count: int) -> None:
    """Put ``count`` snapshots of random weights into the store, of both architectures in turn."""
    settings = settings_of(env_config)
    for i in range(count):
        torch.manual_seed(i)
        kind = (BoardReader, FeatureReader)[i % 2]
        weights = {name: part.numpy() for name, part in kind.make_policy(settings).state_dict().items()}
        store.add(f"old-{i}", weights, kind.manifest(settings))


def build(store: SnapshotStore, snapshots: int) -> Any:
    """Return the algorithm."""
    table = LeagueTable(
        [Group(len(seats), {f"trainable:{name}": 1}) for name, seats in SEATS.items()]
        + [Group(4, {f"snapshot:old-{i}": 1.0 for i in range(snapshots)})]
    )
    env_config = {"config": GAME, "league": table, "frames": 2, "max_cycles": MAX_CYCLES}
    fill(store, env_config, snapshots)
    config = configure(PPOConfig(), env_config, module=MODULES, store=store, runner="batched")
    config.env_runners(num_env_runners=1, num_envs_per_env_runner=4, rollout_fragment_length=32)
    config.training(train_batch_size_per_learner=128, minibatch_size=None, num_epochs=1)
    config.learners(learner_class=CountingLearner)
    config.callbacks(on_sample_end=count_rows)
    config.debugging(seed=0, log_level="ERROR")
    return config.build_algo()


def train(iterations: int, snapshots: int, warm_up: int) -> tuple[list[dict[str, Any]], PayoffMatrix, int]:
    """Return what every iteration took and gave, the payoff, and how many snapshots were opened."""
    rows: list[dict[str, Any]] = []
    payoff = PayoffMatrix()
    with tempfile.TemporaryDirectory() as folder:
        algorithm = build(SnapshotStore(folder), snapshots)
        for i in range(1 - warm_up, iterations + 1):
            started = time.perf_counter()
            result = algorithm.train()
            seconds = time.perf_counter() - started
            for outcome in outcomes_of(algorithm):
                payoff.record(*outcome)
            counted = algorithm.learner_group._learner.counted
            sampled = {name: int(n) for name, n in result["env_runners"]["rows"].items()}
            gc.collect()
            rows.append(
                {
                    "iteration": i,
                    "seconds": round(seconds, 2),
                    "sampled": sampled,
                    "trained": {
                        name: int(result["learners"][name]["num_module_steps_trained"]) for name in SEATS
                    },
                    "batched": {name: count for name, (count, _) in counted.items()},
                    "seats": {name: seats for name, (_, seats) in counted.items()},
                    **describe(measure()),
                }
            )
            own = sum(size for kind, size in rows[-1]["kinds"].items() if kind != RAY)
            print(f"{i} of {iterations}: {seconds:.1f} s, rows {sampled}, {own / MB:,.0f} MB", flush=True)
        (opened,) = algorithm.env_runner_group.foreach_env_runner(
            lambda runner: len(runner.module["pool"].opponents._open), local_env_runner=False
        )
        algorithm.stop()
    return rows[warm_up:], payoff, opened


def is_right(row: dict[str, Any]) -> bool:
    """Return whether every learner had exactly its own rows in an iteration."""
    own_seats = all(set(seats) <= {i + 1 for i in SEATS[name]} for name, seats in row["seats"].items())
    return (
        row["sampled"] == row["trained"] == row["batched"] and set(row["sampled"]) == set(SEATS) and own_seats
    )


def growth(rows: list[dict[str, Any]]) -> float:
    """Return the memory of the last fifth over that of the second, Ray's own processes left out."""
    own = [sum(size for kind, size in row["kinds"].items() if kind != RAY) for row in rows]
    fifth = max(1, len(own) // 5)
    return statistics.median(own[-fifth:]) / statistics.median(own[fifth : 2 * fifth])


def main(argv: list[str] | None = None) -> int:
    """Train, write what was found and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    harness.add_json(parser, shown="benchmarks/results for the full size, else none")
    parsed = parser.parse_args(argv)
    iterations, snapshots = SIZES[parsed.size]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    ray.init(
        address="local",
        num_cpus=2,
        object_store_memory=150_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    started = time.perf_counter()
    rows, payoff, opened = train(iterations, snapshots, WARM_UP[parsed.size])
    seconds = time.perf_counter() - started
    ray.shutdown()
    found, right = growth(rows), [is_right(row) for row in rows]
    met = {name: len(payoff.opponents(f"trainable:{name}")) for name in SEATS}
    print(
        f"{iterations} iterations in {seconds:,.0f} s: rows right in {sum(right)}, {opened} snapshots "
        f"opened, {found:.4f} times the memory ({rows[0]['measure']}) of the second fifth in the last; "
        f"at most {FLAT}; opponents met {met}"
    )
    out = parsed.json or (RESULT if parsed.size == "full" else None)
    if out:
        result = {
            "versions": harness.versions_of("ray", "torch"),
            "iterations": iterations,
            "snapshots": snapshots,
            "iterations_before": WARM_UP[parsed.size],
            "snapshots_opened": opened,
            "rows_right": sum(right),
            "rows_of_each": {name: sum(row["trained"][name] for row in rows) for name in SEATS},
            "opponents_met": met,
            "growth": found,
            "seconds": seconds,
            "rows": rows,
        }
        harness.write(out, result)
    return int(found > FLAT or not all(right))


if __name__ == "__main__":
    sys.exit(main())
