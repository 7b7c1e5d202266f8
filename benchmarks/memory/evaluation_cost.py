#!/usr/bin/env python3
"""Measures what it takes to evaluate 64 policies in 16 settings, and what a trainer a pair would take.

    python benchmarks/memory/evaluation_cost.py            ten minutes on two cores, 3 GB of disk
    python benchmarks/memory/evaluation_cost.py --policies 8 --settings 4

Policies are snapshots of 5 million parameters in a store. USS is what a process has for itself, what it
would give back if it ended: the most of every worker while it plays, over that of the same settings with one
policy. The other pattern builds an RLlib algorithm for a pair, loads its weights, plays as many games of the
same length through the algorithm's own runner, and stops it. A few pairs are timed, all others extrapolated.
It needs Ray with RLlib and torch (the extra ``rllib``) on Linux. The result is
benchmarks/results/evaluation_cost.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from benchmarks import harness
from territorial import GameConfig, Setting, evaluate
from territorial.league import SnapshotStore
from territorial.observation.layout import ObsLayout

RESULT = harness.RESULTS / "evaluation_cost.json"
MB = 2**20
WIDTH = 2048
"""Of the two layers of a policy, which has some 5 million parameters then."""
MAPS = ("open", "lakes", "mountains", "islands")
FIELDS = (("novice",), ("novice", "banker"), ("banker", "turtle"), ("metronome", "random", "turtle"))
PLAYERS, SIDE, STEPS = 12, 96, 12
LAYOUT = ObsLayout(height=SIDE, width=SIDE, num_players=PLAYERS, frames=1)


def game(kind: str) -> GameConfig:
    return GameConfig(height=SIDE, width=SIDE, num_players=PLAYERS, map=kind, num_maps=4, decision_every=50)


def settings(count: int) -> dict[str, Setting]:
    """Four kinds of map, each with four fields of opponents; the policy has 4 of 12 seats."""
    made = {}
    for kind in MAPS:
        for field in FIELDS:
            others = [field[i % len(field)] for i in range(PLAYERS - 4)]
            seats = ["agent"] * 4 + others
            made[f"{kind} {'+'.join(field)}"] = Setting(config=game(kind), seats=seats, max_cycles=STEPS)
    return dict(list(made.items())[:count])


def trunks() -> dict[str, Any]:
    from territorial.nets.features import FeatureTrunk

    return {"features": FeatureTrunk}


def filled_store(folder: str, count: int) -> tuple[SnapshotStore, int]:
    """Return a store of snapshots, all different, and how many parameters they have."""
    import torch

    from territorial.nets.board_policy import BoardPolicy
    from territorial.nets.features import FeatureTrunk
    from territorial.nets.frozen import manifest_of

    store = SnapshotStore(folder)
    for i in range(count):
        policy = BoardPolicy(LAYOUT, game("open"), FeatureTrunk(LAYOUT, game("open"), width=WIDTH))
        with torch.no_grad():
            policy.policy_head.weight.mul_(200)  # as after training: policies as they begin act alike
        arrays = {name: part.detach().numpy() for name, part in policy.state_dict().items()}
        store.add(f"policy-{i:02d}", arrays, manifest_of(LAYOUT, "features", {"width": WIDTH}))
    return store, sum(array.size for array in arrays.values())


class MemoryPeak:
    """The most USS that each process below this one has had."""

    def __init__(self) -> None:
        import psutil

        self._me, self.most = psutil.Process(), dict[int, int]()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> MemoryPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _look(self) -> None:
        import psutil

        while not self._ends.wait(0.1):
            for child in self._me.children(recursive=True):
                try:
                    uss = child.memory_full_info().uss
                except psutil.Error:
                    continue
                self.most[child.pid] = max(uss, self.most.get(child.pid, 0))

    def workers(self, count: int) -> list[int]:
        """Return what the largest ``count`` have had."""
        return sorted(self.most.values())[-count:]


def timed(
    store: SnapshotStore, names: list[str], count: int, episodes: int, processes: int
) -> dict[str, Any]:
    """Evaluate and return what it took."""
    from territorial.nets.players import SnapshotPolicy

    policies = {name: SnapshotPolicy(store, name, trunks()) for name in names}
    began, before = time.perf_counter(), _cpu_seconds()
    with MemoryPeak() as watch:
        found = evaluate(policies, settings(count), episodes, processes=processes)
    matrix = found.matrix("score")
    return {
        "policies": len(names),
        "settings": count,
        "games": len(found.records),
        "seconds": time.perf_counter() - began,
        "cpu_seconds": _cpu_seconds() - before,
        "uss": watch.workers(processes),
        "mean_score": float(matrix.value.mean()),
        "different_rows": len({tuple(row) for row in matrix.value.tolist()}),
    }


def _cpu_seconds() -> float:
    """Return the processor time of this process and of those that it has seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def algorithm_pair(folder: str, name: str, setting: Setting, episodes: int) -> tuple[float, float]:
    """Return the seconds of one pair with an algorithm of its own, and those of the processor."""
    from ray.rllib.algorithms.ppo import PPOConfig

    from rllib_adapters.configure import configure
    from rllib_adapters.league.callback import set_weights
    from rllib_adapters.modules.board import FeatureModule

    began, before = time.perf_counter(), _cpu_seconds()
    env = {"config": setting.config, "seats": setting.seats, "frames": 1, "max_cycles": STEPS}
    config = configure(PPOConfig(), env, module=FeatureModule, runner="batched", trunk={"width": WIDTH})
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=episodes)
    algorithm = config.build_algo()
    set_weights(algorithm, "main", SnapshotStore(folder), name)
    algorithm.env_runner.sample(num_episodes=episodes, explore=True)
    algorithm.stop()
    return time.perf_counter() - began, _cpu_seconds() - before


def algorithm_pairs(folder: str, pairs: int, episodes: int) -> None:
    """Print the seconds of some pairs as JSON; Ray runs already when the clock is started."""
    import torch

    from rllib_adapters.train.run import start_ray

    torch.set_num_threads(1)
    start_ray(0)
    made = list(settings(16).values())
    seconds = [
        algorithm_pair(folder, f"policy-{i:02d}", made[i * 5 % len(made)], episodes) for i in range(pairs)
    ]
    print(json.dumps(seconds))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--policies", type=int, default=64, help="policies that are compared (default %(default)s)"
    )
    parser.add_argument(
        "--settings", type=int, default=16, help="settings that are compared (default %(default)s)"
    )
    parser.add_argument(
        "--episodes", type=int, default=4, help="episodes of each pair in an evaluation (default %(default)s)"
    )
    parser.add_argument(
        "--processes", type=int, default=2, help="worker processes that play the games (default %(default)s)"
    )
    parser.add_argument(
        "--timed-pairs", type=int, default=4, help="pairs timed with an algorithm each (default %(default)s)"
    )
    parser.add_argument("--pairs-of", help=argparse.SUPPRESS)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    if parsed.pairs_of:
        algorithm_pairs(parsed.pairs_of, parsed.timed_pairs, parsed.episodes)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        store, parameters = filled_store(folder, parsed.policies)
        names = store.names()
        one = timed(store, names[:1], parsed.settings, parsed.episodes, parsed.processes)
        many = timed(store, names, parsed.settings, parsed.episodes, parsed.processes)
        command = [sys.executable, "-W", "ignore", __file__, "--pairs-of", folder]
        command += ["--timed-pairs", str(parsed.timed_pairs), "--episodes", str(parsed.episodes)]
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    pairs = json.loads(ended.stdout.splitlines()[-1])
    count = many["policies"] * many["settings"]
    each_pair = {
        key: statistics.median(pair[i] for pair in pairs) for i, key in enumerate(("seconds", "cpu_seconds"))
    }
    result = {
        "versions": harness.versions_of("torch", "ray"),
        "parameters": parameters,
        "processes": parsed.processes,
        "one_policy": one,
        "all_policies": many,
        "uss_growth": max(many["uss"]) - max(one["uss"]),
        "seconds_a_pair": many["seconds"] / count,
        "algorithm_a_pair": each_pair,
        "algorithms_all_pairs_extrapolated": {key: value * count for key, value in each_pair.items()},
    }
    harness.write(parsed.json, result)
    each, in_all = result["algorithm_a_pair"], result["algorithms_all_pairs_extrapolated"]
    print(
        f"{count} pairs, {many['games']} games: {many['seconds']:.0f} s on {parsed.processes} processes, "
        f"{many['cpu_seconds']:.0f} s of processors\n"
        f"an algorithm a pair: {each['seconds']:.1f} s each, {in_all['seconds']:,.0f} s extrapolated, "
        f"{in_all['cpu_seconds']:,.0f} s of processors\n"
        f"USS of a worker: {max(many['uss']) / MB:.0f} MB, {result['uss_growth'] / MB:+.0f} MB over one"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
