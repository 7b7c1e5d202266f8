#!/usr/bin/env python3
"""Measures what a learner needs for a sample in which one seat learns, and for one in which all 32 do.

    python benchmarks/rllib/rllib_learner_memory.py            samples of 32 and of 64 steps: ten minutes
    python benchmarks/rllib/rllib_learner_memory.py --rollout 8 --rounds 1

The game is one of 256 x 256 cells and 32 players, with stacks of four boards.

A batched runner plays the sample, which is passed as bytes to a process of its own that has a PPO learner
with the reference network. It learns once from a small sample, so that all that is compiled or built at the
first use is there. Then its peak while it learns from the whole is read from /proc, so this runs on Linux
alone. The peak that counts is the median of several processes. What the rows of the agents take in the train
batch, all columns once, is reported, too. The result goes to benchmarks/results/rllib_learner_memory.json.
Exit code 1 if the peak is above the goal of 1.3 times for any length of sample.
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig

from benchmarks import goals, harness
from rllib_adapters.configure import configure
from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.modules.board import ReferenceModule
from territorial import GameConfig
from territorial.cli import options

GOAL = goals.bound("rllib_learner_memory", "memory_for_all_seats()")
RESULT = harness.RESULTS / "rllib_learner_memory.json"
MINIBATCH = 16
FRAMES = 4
SEATS = (1, 32)


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rollout",
        type=options.whole(8, 1024),
        nargs="+",
        default=[32, 64],
        help="steps of each game in a rollout (default %(default)s)",
    )
    parser.add_argument(
        "--rounds",
        type=options.whole(1, 100),
        default=3,
        help="times that each case is measured; with a new learner each (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parser.add_argument("--learn", type=int, help=argparse.SUPPRESS)  # in a process of its own
    parsed = parser.parse_args(argv)
    if parsed.learn:
        print(json.dumps(learn(parsed.learn, *pickle.load(sys.stdin.buffer))))
        return 0
    by_steps = {}
    for steps in parsed.rollout:
        measured = {str(seats): measure(seats, steps, parsed.rounds) for seats in SEATS}
        by_steps[str(steps)] = compare(measured)
        print(f"{steps} steps: {by_steps[str(steps)]['times']} times the peak, goal {GOAL}", flush=True)
    result = {
        "frames": FRAMES,
        "minibatch": MINIBATCH,
        "network": "ReferenceModule, float32",
        "repeats": parsed.rounds,
        "by_steps": by_steps,
        "goal": GOAL,
        "versions": harness.versions_of("ray", "torch"),
    }
    harness.write(parsed.json, result)
    return int(any(case["times"] > GOAL for case in by_steps.values()))


def make_config(seats: int, steps: int) -> Any:
    """Return the configuration of runner and learner."""
    env_config = {
        "config": GameConfig(),
        "seats": ["agent"] * seats + ["metronome"] * (32 - seats),
        "frames": FRAMES,
        "end_when": "game",
    }
    config = configure(PPOConfig(), env_config, module=ReferenceModule, runner="batched")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=1, rollout_fragment_length=steps)
    config.training(train_batch_size_per_learner=steps, minibatch_size=MINIBATCH, num_epochs=1)
    return config.debugging(seed=3)


def measure(seats: int, steps: int, repeats: int) -> dict[str, Any]:
    """Return the bytes of a sample, and what learners say of themselves: the medians, and all peaks."""
    config = make_config(seats, steps)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    samples = [pickle.dumps(runner.sample(num_timesteps=count, force_reset=True)) for count in (8, steps)]
    command, told = [sys.executable, "-W", "ignore", __file__, "--learn", str(seats)], []
    for i in range(repeats):
        print(f"{steps} steps, {seats} of 32 seats learn: learner {i + 1} of {repeats}", flush=True)
        done = subprocess.run(command, input=pickle.dumps(samples), stdout=subprocess.PIPE, check=True)
        told.append(json.loads(done.stdout.splitlines()[-1]))
    peaks = [one["peak"] for one in told]
    middle = {key: statistics.median_low(one[key] for one in told) for key in told[0]}
    return {"sample_bytes": len(samples[1]), **middle, "peaks": peaks}


def learn(seats: int, warm: bytes, sample: bytes) -> dict[str, int]:
    """Learn from two samples; return the bytes that the process held before the second, and its peak."""
    torch.set_num_threads(1)
    config = make_config(seats, 64)
    env = config.env_runner_cls(config=config, worker_index=0, num_workers=0).env
    learner = config.build_learner(env=env)
    learner.update(episodes=pickle.loads(warm), num_epochs=1, minibatch_size=MINIBATCH)
    batch = learner._learner_connector(
        rl_module=learner.module,
        batch={},
        episodes=pickle.loads(sample),
        shared_data={},
        metrics=learner.metrics,
    )[MAIN]
    rows, tables = len(batch["rewards"]), table_bytes(batch)
    del batch
    Path("/proc/self/clear_refs").write_text("5")  # the peak is reset
    before = resident("VmRSS")
    learner.update(episodes=pickle.loads(sample), num_epochs=1, minibatch_size=MINIBATCH)
    return {"rows": rows, "tables": tables, "before": before, "peak": resident("VmHWM")}


def table_bytes(columns: Any) -> int:
    """Return the bytes of all tensors in nested dicts."""
    if isinstance(columns, dict):
        return sum(map(table_bytes, columns.values()))
    return int(getattr(columns, "nbytes", 0))


def resident(name: str) -> int:
    """Return an entry of this process's /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))


def compare(measured: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return what was measured of both learners, and how many times the peak of one that of the other is."""
    one, all_ = (measured[str(seats)] for seats in SEATS)
    above = [part["peak"] - part["before"] - part["tables"] for part in (one, all_)]
    return {
        "by_learning_seats": measured,
        "times": round((all_["peak"] - all_["tables"]) / (one["peak"] - one["tables"]), 3),
        "times_above_built": round(above[1] / above[0], 3),
    }


if __name__ == "__main__":
    sys.exit(main())
