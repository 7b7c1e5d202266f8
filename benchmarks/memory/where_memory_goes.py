#!/usr/bin/env python3
"""Builds leagues with RLlib's old API stack and one-hot observations, at sizes that fit, and measures them.

    python benchmarks/memory/where_memory_goes.py                  about ten minutes, up to 8 GB
    python benchmarks/memory/where_memory_goes.py --size small     the same on tiny boards, in three minutes

It needs Ray with RLlib and torch (the extra ``rllib``) on Linux. Every league is built in a process of its
own, without network access or a dashboard. What they take stands in benchmarks/results/where_memory_goes.json
beside what ``territorial memory`` predicts for them; benchmarks/tables makes the tables of
docs/where-40-gb-went.md from it.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from territorial.memory.measure import PSS, measure
from territorial.memory.plan import MB, Place
from territorial.memory.predict import predict
from territorial.memory.setup import Setup

RESULT = harness.RESULTS / "where_memory_goes.json"
SIDES = {"full": 128, "small": 32}
COUNTING_SIDE = 32
"""Of the leagues in which policies are counted; their size does not matter."""


@dataclass(frozen=True)
class LeagueCase:
    """A league to build."""

    name: str
    setup: Setup
    capacity: int = 100
    """Of RLlib's map of policies."""
    trains: bool = False
    """Whether one iteration is trained as well."""


def cases(side: int) -> list[LeagueCase]:
    """Return all leagues; boards have ``side`` x ``side`` cells."""
    alone = Setup(height=side, width=side, agents=32, snapshots=0, bots=0, parameters=1, env_runners=0)
    tiny = dataclasses.replace(alone, height=COUNTING_SIDE, width=COUNTING_SIDE)

    def of(setup: Setup, **fields: int) -> Setup:
        return dataclasses.replace(setup, **fields)

    return [
        LeagueCase("1 network", alone),
        LeagueCase("2 networks", of(alone, snapshots=1)),
        LeagueCase("4 networks", of(alone, snapshots=3)),
        LeagueCase("1 network, 8 bots", of(alone, bots=8)),
        LeagueCase("2 networks, a runner", of(alone, snapshots=1, env_runners=1)),
        LeagueCase("1 network, an iteration of 4 steps", of(alone, steps=4, minibatch=4), trains=True),
        LeagueCase(
            "1 network, a runner, an iteration of 4 steps",
            of(alone, steps=4, minibatch=4, env_runners=1),
            trains=True,
        ),
        LeagueCase("8 networks", of(tiny, snapshots=7)),
        LeagueCase("8 networks, capacity 4", of(tiny, snapshots=7), capacity=4),
    ]


def main(argv: list[str] | None = None) -> int:
    """Measure all leagues and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size",
        choices=SIDES,
        default="full",
        help="size of the measurement; full: 128 x 128 cells, small: 32 x 32 (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parser.add_argument("--case", help=argparse.SUPPRESS)  # what the processes of the leagues are given
    parsed = parser.parse_args(argv)
    chosen = cases(SIDES[parsed.size])
    if parsed.case is not None:
        print(json.dumps(measured(chosen[int(parsed.case)])))
        return 0
    if measure([]).measure != PSS:
        print("what processes share can be told on Linux only", file=sys.stderr)
        return 1
    rows = []
    for i, case in enumerate(chosen):
        command = [sys.executable, __file__, "--size", parsed.size, "--case", str(i)]
        ended = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        rows.append(row(case, json.loads(ended.stdout.splitlines()[-1])))
        print(summary(rows[-1]), flush=True)
    write(parsed, rows)
    return 0


def row(case: LeagueCase, found: dict[str, Any]) -> dict[str, Any]:
    """Return what is written about a case."""
    about = {"name": case.name, "setup": asdict(case.setup), "capacity": case.capacity, "trains": case.trains}
    return about | found


def predicted(row: dict[str, Any], place: Place, when: str) -> int:
    """Return what is predicted for a row, "built" or at its "peak", from what the idle process took."""
    plan = predict(
        Setup.from_dict(row["setup"] | {"process_mb": row["idle"] // MB, "services_mb": 0}), "one-hot"
    )
    extra = plan.of_one(place, "training" if row["trains"] else "building")
    return plan.of_one(place, "built") + (extra if when == "peak" else 0)


def summary(row: dict[str, Any]) -> str:
    """Return a line about a row: what was found, and in brackets what is predicted."""
    parts = [
        f"{place} {when} {nbytes / MB:,.0f} ({predicted(row, place, when) / MB:,.0f}) MB"
        for when in ("built", "peak")
        for place, nbytes in row[when].items()
    ]
    return f"{row['name']}: {', '.join(parts)}; {row['constructed']} policies made"


def write(parsed: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Write the result."""
    result = {
        "versions": harness.versions_of("ray", "torch"),
        "size": parsed.size,
        "measure": PSS,
        "cases": rows,
    }
    harness.write(parsed.json, result)
    print(f"written to {parsed.json}")


# ---- one league, in a process of its own -------------------------------------------------------------


def measured(case: LeagueCase) -> dict[str, Any]:
    """Build the league of a case, and return what it takes and how many policies were made."""
    import ray

    from benchmarks.memory import legacy_parts

    quiet_ray(ray)
    config = configuration(case)
    gc.collect()
    idle = measure([os.getpid()]).total
    algorithm = config.build_algo()
    found = {"idle": idle, "constructed": legacy_parts.made, "alive": len(legacy_parts.alive)}
    gc.collect()
    pids = {"driver": os.getpid()} | runners()
    found |= {
        "built": {place: measure([pid]).total for place, pid in pids.items()},
        "alive_after_collection": len(legacy_parts.alive),
        "dummy_batch": dummy_bytes(algorithm.get_policy("network_0")),
    }
    if case.trains:
        algorithm.train()
    found["peak"] = {place: peak_memory(pid) for place, pid in pids.items()}
    algorithm.stop()
    ray.shutdown()
    return found


def quiet_ray(ray: Any) -> None:
    """Start Ray with as little around it as it can do with."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=2 * 2**30,
    )


def configuration(case: LeagueCase) -> Any:
    """Return the configuration of PPO that a league of so many policies is usually given."""
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.models import ModelCatalog
    from ray.rllib.policy.policy import PolicySpec

    from benchmarks.memory import legacy_parts

    setup = case.setup
    ModelCatalog.register_custom_model("small", legacy_parts.SmallModel)
    policies = {f"network_{i}": PolicySpec(legacy_parts.Network) for i in range(1 + setup.snapshots)}
    policies |= {f"bot_{i}": PolicySpec(legacy_parts.HoldPolicy) for i in range(setup.bots)}
    return (
        PPOConfig()
        .api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
        .environment(legacy_parts.OneHotBoards, env_config=asdict(setup), disable_env_checking=True)
        .framework("torch")
        .multi_agent(
            policies=policies,
            policy_mapping_fn=lambda agent, *_, **__: "network_0",
            policies_to_train=["network_0"],
            policy_map_capacity=case.capacity,
        )
        .env_runners(num_env_runners=setup.env_runners, rollout_fragment_length=setup.steps)
        .training(
            train_batch_size=setup.steps,
            minibatch_size=setup.minibatch,
            num_epochs=1,
            model={"custom_model": "small"},
        )
    )


def runners() -> dict[str, int]:
    """Return the number of the process of the only runner, if there is one."""
    found = [process.pid for process in measure().processes if process.name.startswith("ray::Rollout")]
    return {"runner": found[0]} if found else {}


def peak_memory(pid: int) -> int:
    """Return the most that was resident of a process at any time, what it shares included."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def dummy_bytes(policy: Any) -> int:
    """Return the bytes of the observations in the batch that a policy was tried on, which it keeps."""
    batch = policy._dummy_batch
    return sum(np.asarray(batch[name]).nbytes for name in ("obs", "new_obs") if name in batch)


if __name__ == "__main__":
    sys.exit(main())
