#!/usr/bin/env python3
"""Times updates of an RLlib learner on the processor and on GPUs.

    python benchmarks/rllib/learner_speed.py                    boards and features
    python benchmarks/rllib/learner_speed.py --only features --size small   whether it runs

The league is that of ``training_speed.py``: 8 seats learn, bots have 12, and 12 are frozen. Sampling stays in
this process, on the processor. An update learns from all that one sample brought, once. The first of each
device is not timed, as memory and kernels are made there. Both devices begin with the same weights and games,
so that their losses show whether they compute the same.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks import harness
from benchmarks.rllib.league_seats import LEARNER, configured
from benchmarks.rllib.training_speed import SIZES
from rllib_adapters.networks import NETWORKS

UPDATES = 3
GAMES = 4
STEPS = 192
MINIBATCHES = {"full": 512, "small": 64}


def main(argv: list[str] | None = None) -> int:
    """Measure, print, and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_size(parser, SIZES)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=NETWORKS,
        metavar="NETWORK",
        default=["boards", "features"],
        help=f"networks to measure; {', '.join(NETWORKS)} (default boards and features)",
    )
    parsed = parser.parse_args(argv)
    rows = []
    for name in parsed.only:
        for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
            harness.progress(f"{name} on {device}")
            rows.append({"network": name, "device": device} | updates(name, parsed.size, device))
            print(" ".join(f"{key}={value}" for key, value in rows[-1].items()))
    harness.write(parsed.json, {"size": parsed.size, "updates": rows})
    return 0


def updates(name: str, size: str, device: str) -> dict[str, Any]:
    """Return the median seconds of an update, its rows, and the losses of all updates."""
    game, seats = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        config = configured(NETWORKS[name], seats, game, Path(folder))
        config.env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES)
        config.learners(num_learners=0, num_gpus_per_learner=int(device == "cuda"))
        config.training(train_batch_size_per_learner=STEPS, minibatch_size=MINIBATCHES[size], num_epochs=1)
        algorithm = config.debugging(seed=1).build_algo()
        seconds = time_calls_of(algorithm.learner_group)
        found = [algorithm.train()["learners"][LEARNER] for _ in range(UPDATES)]
        algorithm.stop()
    return {
        "seconds": round(statistics.median(seconds[1:]), 3),
        "rows": int(found[-1]["num_module_steps_trained"]),
        "losses": [round(float(learner["total_loss"]), 4) for learner in found],
    }


def time_calls_of(group: Any) -> list[float]:
    """Return a list that gets the seconds of every later update of a learner group."""
    seconds: list[float] = []
    update = group.update

    def timed(*arguments: Any, **keywords: Any) -> Any:
        began = time.perf_counter()
        result = update(*arguments, **keywords)
        seconds.append(time.perf_counter() - began)
        return result

    group.update = timed
    return seconds


if __name__ == "__main__":
    sys.exit(main())
