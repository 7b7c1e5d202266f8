#!/usr/bin/env python3
"""Times an update of RLlib's learners on an NVIDIA GPU and on the processor, and compares their losses.

    python benchmarks/rllib/learner_gpu.py                              some minutes, on a machine with a GPU
    python benchmarks/rllib/learner_gpu.py --stand-in --size small      all but the GPU, on the processor

Of the networks of the presets ``boards``, ``features`` and ``pairs``, learners of their own update from the
same episodes and the same weights: one and two learners on the processor, one that has a whole GPU, one
that has half of it, and two that share one (``num_gpus_per_learner`` 1 and 0.5). The games have 256 x 256
cells and 32 seats, of which 8 learn. Losses are those of a first update with all rows in one minibatch;
times are those of updates with the minibatches of the preset.

Without a GPU it says so and measures nothing. The exit code is 1 then, and if a loss on the GPU is not that
of as many learners on the processor. What RLlib refuses is kept with its reason. The result, with the
machine and the versions, goes to benchmarks/results/learner_gpu.json. It needs Ray with RLlib and torch
(the extra ``rllib``).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.learner.training_data import TrainingData

from benchmarks import harness
from benchmarks.rllib.league_seats import LEARNER, NETWORKS, Seats, environment
from rllib_adapters.configure import configure
from territorial import GameConfig
from territorial.cli import options

RESULT = harness.RESULTS / "learner_gpu.json"
LOSSES = ("total_loss", "policy_loss", "vf_loss", "entropy")
TOLERANCE = 5e-3
"""How far a loss may be off, as a share of it or absolutely: convolutions on a GPU multiply in TF32."""
SEATS = Seats(snapshots=0)
GAMES, COMPARED = 2, 4
"""Games, and steps of each, in the batch whose losses are compared; a learner of two has one of the games."""
ROWS = GAMES * (COMPARED + 1) * SEATS.learning
"""Of that batch: RLlib adds one to those of every seat."""
PROCESSOR = "processor"


@dataclass(frozen=True)
class Preset:
    """What is updated, and from how much."""

    network: str
    steps: int
    """Of the game, in a batch; each has a row for each of the 8 seats."""
    minibatch: int
    epochs: int


PRESETS = {
    "boards": Preset("reference", steps=128, minibatch=64, epochs=1),
    "features": Preset("tables", steps=512, minibatch=1024, epochs=3),
    "pairs": Preset("pairs", steps=2048, minibatch=4096, epochs=3),
}


@dataclass(frozen=True)
class Hardware:
    """On what learners run."""

    name: str
    learners: int
    gpus: float
    """Of each learner; 0: the processor."""


CASES = (
    Hardware(PROCESSOR, 1, 0),
    Hardware(f"{PROCESSOR}, two learners", 2, 0),
    Hardware("a GPU", 1, 1),
    Hardware("half a GPU", 1, 0.5),
    Hardware("two learners on a GPU", 2, 0.5),
)
ROUNDS = 5


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, ("full", "small"))
    parser.add_argument(
        "--stand-in", action="store_true", help="run the cases of the GPU on the processor; nothing is kept"
    )
    parser.add_argument(
        "--presets",
        nargs="+",
        choices=PRESETS,
        metavar="PRESET",
        default=list(PRESETS),
        help=f"presets of `territorial train` to measure; {', '.join(PRESETS)} (default all)",
    )
    harness.add_rounds(parser, ROUNDS, options.whole(1, 1000))
    harness.add_json(parser, shown=f"{RESULT.name}, with --stand-in none")
    parsed = parser.parse_args(argv)
    if not (parsed.stand_in or torch.cuda.is_available()):
        print("PyTorch finds no NVIDIA GPU here; --stand-in runs all the rest", file=sys.stderr)
        return 1
    warnings.simplefilter("ignore")
    start_ray(parsed.stand_in)
    found = {name: measured(name, parsed) for name in parsed.presets}
    ray.shutdown()
    rows = [row for of_preset in found.values() for row in of_preset.values()]
    result = {
        "versions": {**harness.versions_of("ray"), "torch": torch.__version__, "cuda": torch.version.cuda},
        "machine": {"gpu": "none" if parsed.stand_in else torch.cuda.get_device_name()},
        "size": parsed.size,
        "rounds": parsed.rounds,
        "tolerance": TOLERANCE,
        "presets": found,
        "is_right": all(row.get("is_right", True) for row in rows),
    }
    out = parsed.json or (None if parsed.stand_in else RESULT)
    if out:
        harness.write(out, result)
    return int(not result["is_right"])


def start_ray(stand_in: bool) -> None:
    """Start Ray with the GPU, if there is one.

    RLlib orders a batch's rows as sets of names are ordered, and scales advantages by all rows, also those
    that it adds between agents and masks: with other orders the losses of one batch would not be the same.
    """
    path = os.pathsep.join(part for part in sys.path if part)
    ray.init(
        address="local",
        num_cpus=2,
        num_gpus=0 if stand_in else 1,
        object_store_memory=500_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}},
    )


# ---- a preset ----------------------------------------------------------------------------------------


def measured(name: str, parsed: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Return what every case of a preset gave."""
    preset = PRESETS[name]
    steps = GAMES * COMPARED if parsed.size == "small" else preset.steps
    found: dict[str, dict[str, Any]] = {}
    shared: dict[str, Any] = {}
    for case in CASES:
        harness.tell(f"{name}: {case.name}")
        gpus = 0 if parsed.stand_in else case.gpus
        try:
            row = of_case(preset, case.learners, gpus, steps, parsed.rounds, shared)
        except Exception as error:  # what NCCL or Ray raises is the finding
            if not case.gpus:
                raise
            row = {"refused": str(error).strip().splitlines()[-1]}
        found[case.name] = {"learners": case.learners, "gpus": gpus, "steps": steps, **row}
        compare(found, case)
        print(f"{name}, {case.name}: {text_of(found[case.name])}")
    return found


def compare(found: dict[str, dict[str, Any]], case: Hardware) -> None:
    """Note how far the losses of a case are from those of as many learners on the processor."""
    row, base = found[case.name], found[next(one.name for one in CASES if one.learners == case.learners)]
    if "refused" in row:
        return
    off = {key: abs(row["losses"][key] - loss) / max(1.0, abs(loss)) for key, loss in base["losses"].items()}
    row["largest_difference"] = max(off.values())
    row["is_right"] = row["largest_difference"] <= TOLERANCE
    row["times_processor"] = base["seconds"] / row["seconds"]


def text_of(row: Mapping[str, Any]) -> str:
    """Return a row as text."""
    if "refused" in row:
        return f"refused: {row['refused']}"
    verdict = "right" if row["is_right"] else "WRONG"
    return (
        f"{row['seconds'] * 1000:,.0f} ms an update, {row['times_processor']:.2f} times as fast; losses "
        f"{verdict}, at most {row['largest_difference']:.1e} off; {row['gpu_mb']:,.0f} MB on the GPU"
    )


def of_case(
    preset: Preset, learners: int, gpus: float, steps: int, rounds: int, shared: dict[str, Any]
) -> dict[str, Any]:
    """Return the losses of learners, and how long they take.

    ``shared`` has the weights and episodes of all cases of the preset: the first one puts them there.
    """
    algorithm = built(preset, learners, gpus)
    group = algorithm.learner_group
    try:
        if not shared:
            shared["weights"] = group.get_weights([LEARNER])
            shared["few"] = algorithm.env_runner.sample(num_timesteps=GAMES * COMPARED)
            shared["many"] = algorithm.env_runner.sample(num_timesteps=steps)
        group.set_weights(shared["weights"])
        losses = losses_of(algorithm, update(group, shared["few"], ROWS // learners, 1))
        seconds = []
        for _ in range(rounds + 1):  # the first one is not counted
            began = time.perf_counter()
            update(group, shared["many"], preset.minibatch, preset.epochs)
            seconds.append(time.perf_counter() - began)
        peaks = [peak.get() for peak in group.foreach_learner(_most_on_gpu)]
    finally:
        algorithm.stop()
    return {"losses": losses, "seconds": statistics.median(seconds[1:]), "gpu_mb": sum(peaks) / 2**20}


def built(preset: Preset, learners: int, gpus: float) -> Any:
    """Return an algorithm whose learners are processes of their own, and whose games are in this one."""
    network = NETWORKS[preset.network]
    entries = environment(network, SEATS, GameConfig(max_ticks=1000))
    config = configure(PPOConfig(), entries, module=network.module, runner="batched", **network.settings)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES, rollout_fragment_length=COMPARED)
    config.learners(
        num_learners=learners, num_gpus_per_learner=gpus, num_cpus_per_learner=1 / learners if gpus else 1
    )
    config.training(train_batch_size_per_learner=preset.steps, minibatch_size=preset.minibatch)
    config.debugging(seed=0, log_level="ERROR")
    return config.build_algo()


def update(group: Any, episodes: list[Any], minibatch: int, epochs: int) -> list[Any]:
    """Return the results of an update of all learners from the same episodes."""
    results: list[Any] = group.update(
        training_data=TrainingData(episodes=episodes),
        timesteps={"num_env_steps_sampled_lifetime": 0},
        num_epochs=epochs,
        minibatch_size=minibatch,
        shuffle_batch_per_epoch=False,
    )
    return results


def losses_of(algorithm: Any, results: list[Any]) -> dict[str, float]:
    """Return the losses of an update, the means over learners."""
    algorithm.metrics.aggregate(results, key="compared")
    return {key: float(algorithm.metrics.peek(("compared", LEARNER, key))) for key in LOSSES}


def _most_on_gpu(_: Any) -> int:
    """Return the most bytes that the process of a learner has had on a GPU."""
    return int(torch.cuda.max_memory_allocated()) if torch.cuda.is_available() else 0


if __name__ == "__main__":
    sys.exit(main())
