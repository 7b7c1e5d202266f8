"""The tables of docs/league.md, from benchmarks/results."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import training
from benchmarks.tables.machines import cpu_of
from benchmarks.tables.results import load
from territorial.cli import obs_tables
from territorial.memory.plan import in_mb


def evaluation() -> str:
    """Return what evaluating many pairs takes, here and with an algorithm for each."""
    found = load("evaluation_cost")
    rows = [_evaluated(found[name]) for name in ("one_policy", "all_policies")]
    all_, pattern = found["all_policies"], found["algorithms_all_pairs_extrapolated"]
    pairs = all_["policies"] * all_["settings"]
    rows.append(
        (
            f"an algorithm of RLlib's for each of {pairs:,} pairs, extrapolated",
            f"{pattern['seconds']:,.0f} s",
            f"{pattern['cpu_seconds']:,.0f} s",
            "",
        )
    )
    about, machine = found["versions"], found["machine"]
    text = (
        f"Snapshots of {found['parameters']:,} parameters, 12 players on 96 x 96 cells, 4 games a pair of 12 "
        f"decisions each, {found['processes']} processes. From one policy to {all_['policies']}, a worker "
        f"grows by {in_mb(max(0, found['uss_growth']))}. The other pattern was timed on a few pairs, Ray "
        f"started already. Ray {about['ray']}, torch {about['torch']}, {machine['cpu']}, "
        f"{machine['usable_cores']} cores shared with other work (`benchmarks/memory/evaluation_cost.py`)."
    )
    header = "", "wall time", "CPU time", "most USS of a worker"
    return "\n".join([obs_tables.markdown(header, rows, "lrrr"), "", text])


def _evaluated(case: dict[str, Any]) -> tuple[str, ...]:
    count = case["policies"]
    return (
        f"`evaluate`, {count} polic{'y' if count == 1 else 'ies'} in {case['settings']} settings, "
        f"{case['games']:,} games",
        f"{case['seconds']:,.0f} s",
        f"{case['cpu_seconds']:,.0f} s",
        in_mb(max(case["uss"])),
    )


def snapshots() -> str:
    """Return what many snapshots take of a machine's memory, by its processes."""
    found = load("snapshots_at_scale")
    rows = [
        (
            str(row["processes"]),
            in_mb(row["grown"]),
            in_mb(row["grown"] / row["processes"]),
            in_mb(row["in_files"]),
        )
        for row in found["rows"]
    ]
    one = found["rows"][0]
    text = (
        f"{one['snapshots']:,} snapshots of {in_mb(found['bytes_a_snapshot'])}, each of which acts in every "
        f"process; {one['opened']} of them are open at a time. What cannot be taken back is anonymous and "
        "shared memory and tables of pages; what is in files, the system takes back when it needs it "
        "(`benchmarks/memory/snapshots_at_scale.py`). In time: 12 frozen seats of 300 snapshots add "
        f"{training.frozen_time(load('training_speed'), 300)} µs to a step with pairs / features "
        "(`benchmarks/rllib/training_speed.py`)."
    )
    header = "processes", "cannot be taken back, over one snapshot", "of that in a process", "in files"
    return "\n".join([obs_tables.markdown(header, rows, "rrrr"), "", text])


def capacity() -> str:
    """Return the capacity plan of a large league."""
    found = load("capacity_plan")
    cpu_of(*map(load, ("league_memory", "rllib_sampling", "rllib_learner_memory", "snapshots_at_scale")))
    unit, memory, moved = found["unit_costs"], found["memory_a_node"], found["an_iteration"]
    nodes, cores = found["nodes"], found["cores_a_node"]
    rows = [
        ("runners", f"{found['runners']}, {cores} a node", f"{nodes} nodes of {cores} cores"),
        ("memory of runners", f"{in_mb(unit['runner'])} each", f"{in_mb(memory['runners'])} a node"),
        ("Ray's own processes", "", f"{in_mb(memory['services'])} a node"),
        (
            f"{found['snapshots']:,} snapshots, what cannot be taken back",
            f"{in_mb(unit['thousand_snapshots_a_runner'])} a runner",
            f"{in_mb(memory['snapshots_unevictable'])} a node",
        ),
        (
            "their files, on disk and, as far as there is room, in memory",
            f"{in_mb(unit['weights'])} each",
            f"{in_mb(memory['snapshots_in_files'])} a node",
        ),
        (
            "agent steps a second",
            f"{unit['agent_steps_a_second']:,.0f} a core",
            f"{found['agent_steps_a_second']:,.0f}",
        ),
        (
            f"an iteration of {moved['agent_steps']:,} agent steps",
            "",
            f"{moved['seconds_sampling_at_least']:.1f} s of sampling at least",
        ),
        (
            "... experience to the learners",
            f"{unit['experience_an_agent_step']:.0f} bytes an agent step",
            in_mb(moved["experience"]),
        ),
        ("... weights to runners", f"{in_mb(unit['weights'])} a node", in_mb(moved["weights_to_nodes"])),
        ("... a snapshot that is new", f"{in_mb(unit['weights'])} a node", in_mb(moved["a_new_snapshot"])),
    ]
    text = (
        "A plan, multiplied from units that were measured one by one. `benchmarks/memory/league_memory.py` "
        "measured a runner's memory with 300 snapshots and what is sent to it, `rllib_sampling.py` its speed "
        "with a small network on vectors of features. `rllib_learner_memory.py` measured bytes of experience "
        "with 32 seats learning on 256 x 256 cells; snapshots are as above. A large network takes more of "
        "the processors: measure it with `rllib_boards.py`. `python benchmarks/memory/capacity_plan.py "
        "--env-runners 60` works out another one."
    )
    header = f"{found['runners']} runners, {found['snapshots']:,} snapshots", "unit", "in all"
    return "\n".join([obs_tables.markdown(header, rows, "lrr"), "", text])


def hour() -> str:
    """Return how the main agent of an hour's league does against every bot, and as it was at first."""
    found = load("league_run")
    (newest, now), *earlier = found["against_bots"].items()
    first = earlier[-1] if earlier else None
    rows = []
    for bot, one in now.items():
        at_first = _score(first[1][bot]) if first else ""
        rows.append((f"`{bot}`", _score(one), f"{one['place']:.1f}", f"{100 * one['win']:.0f} %", at_first))
    about, league = found["versions"], found["league"]
    players = found["league"]["history"][-1]["step"]
    text = (
        f"`{found['command']}`: {players:,} iterations, {league['games']:,} games. {newest} with "
        f"{found['own_seats']} seats against ten of one bot, {found['episodes']} whole games each; trained "
        f"against {', '.join(found['bots_in_training'])}. Ray {about['ray']}, {found['machine']['cpu']}, "
        f"{found['machine']['usable_cores']} cores shared with other work (`benchmarks/rllib/league_run.py`)."
    )
    start = first[0] if first else "before"
    header = "ten of", f"{newest}: above a seat of theirs", "mean place", "games won", f"{start}, above"
    return "\n".join([obs_tables.markdown(header, rows, "lrrrr"), "", text])


def _score(one: dict[str, float]) -> str:
    return f"{100 * one['score']:.0f} % ({100 * one['score_low']:.0f} to {100 * one['score_high']:.0f})"
