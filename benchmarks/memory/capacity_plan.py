#!/usr/bin/env python3
"""Works out what a league of 250 runners and 1,000 snapshots takes of machines, from measured unit costs.

    python benchmarks/memory/capacity_plan.py
    python benchmarks/memory/capacity_plan.py --env-runners 60 --capacity 300 --env-runners-per-node 15

Unit costs are those in benchmarks/results: league_memory.json (processes, weights), rllib_sampling.json
(steps of a runner), rllib_learner_memory.json (bytes of experience) and snapshots_at_scale.json (what
snapshots take that cannot be taken back). What is multiplied from them is a plan and no measurement. The
result is benchmarks/results/capacity_plan.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks import harness

MB, GB = 2**20, 2**30


def read(name: str) -> Any:
    return json.loads((harness.RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def unit_costs() -> dict[str, float]:
    """Return what one of each thing costs, in bytes and rates.

    A runner's own memory is that of one with all of 300 snapshots open, so what 1,000 snapshots add comes on
    top of more than it has to. The bytes of experience are those of stacks of four boards of 256 x 256
    cells, 32 seats learning, key frames included.
    """
    cases, scale = read("league_memory")["cases"], read("snapshots_at_scale")["rows"]
    pool, packed = cases["pool, 300 snapshots"], cases["packed"]
    sampling, lengths = read("rllib_sampling"), read("rllib_learner_memory")["by_steps"]["64"]
    sample = lengths["by_learning_seats"]["32"]
    return {
        "runner": pool["runner_private"],
        "services_a_node": packed["idle"]["services"],
        "weights": pool["sync_bytes"],
        "thousand_snapshots_a_runner": max(row["grown"] / row["processes"] for row in scale),
        "agent_steps_a_second": sampling["agent_steps_per_second"]["batched"],
        "experience_an_agent_step": sample["sample_bytes"] / sample["rows"],
    }


def plan(
    unit: dict[str, float], runners: int, snapshots: int, a_node: int, batch: int, iteration: float
) -> dict[str, Any]:
    """Return what each node takes, and what goes between them in an iteration."""
    nodes = -(-runners // a_node)
    return {
        "nodes": nodes,
        "cores_a_node": a_node,
        "memory_a_node": {
            "runners": unit["runner"] * a_node,
            "services": unit["services_a_node"],
            "snapshots_unevictable": unit["thousand_snapshots_a_runner"] * a_node,
            "snapshots_in_files": unit["weights"] * snapshots,
        },
        "disk_a_node": unit["weights"] * snapshots,
        "agent_steps_a_second": unit["agent_steps_a_second"] * runners,
        "an_iteration": {
            "agent_steps": batch,
            "seconds": iteration,
            "seconds_sampling_at_least": batch / (unit["agent_steps_a_second"] * runners),
            "weights_to_nodes": unit["weights"] * nodes,
            "a_new_snapshot": unit["weights"] * nodes,
            "experience": batch * unit["experience_an_agent_step"],
        },
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--env-runners", type=int, default=250, help="processes that collect samples (default %(default)s)"
    )
    parser.add_argument(
        "--capacity", type=int, default=1000, help="snapshots that the league keeps (default %(default)s)"
    )
    parser.add_argument(
        "--env-runners-per-node",
        type=int,
        default=25,
        help="env runners on each machine (default %(default)s)",
    )
    parser.add_argument(
        "--agent-steps",
        type=int,
        default=4_000_000,
        help="agent steps of a training iteration, over all games and env runners (default %(default)s)",
    )
    parser.add_argument(
        "--iteration-seconds",
        type=float,
        default=30.0,
        help="seconds of a training iteration (default %(default)s)",
    )
    harness.add_json(parser, harness.RESULTS / "capacity_plan.json")
    parsed = parser.parse_args(argv)
    unit = unit_costs()
    found = plan(
        unit,
        parsed.env_runners,
        parsed.capacity,
        parsed.env_runners_per_node,
        parsed.agent_steps,
        parsed.iteration_seconds,
    )
    asked = {"runners": parsed.env_runners, "snapshots": parsed.capacity, "unit_costs": unit}
    harness.write(parsed.json, {**asked, **found})
    memory, moved = found["memory_a_node"], found["an_iteration"]
    fixed = sum(value for name, value in memory.items() if name != "snapshots_in_files")
    print(
        f"{found['nodes']} nodes of {found['cores_a_node']} cores: {fixed / GB:.1f} GB each that must be "
        f"there, {memory['snapshots_unevictable'] / MB:.0f} MB of it for {parsed.capacity:,} snapshots;\n"
        f"up to {memory['snapshots_in_files'] / GB:.0f} GB of files worth keeping in memory, as much disk;\n"
        f"an iteration of {parsed.agent_steps:,} agent steps: "
        f"{moved['weights_to_nodes'] / MB:,.0f} MB of weights, "
        f"{moved['a_new_snapshot'] / MB:,.0f} MB for a new snapshot, {moved['experience'] / GB:,.1f} GB of "
        f"experience; runners make {found['agent_steps_a_second']:,.0f} agent steps a second"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
