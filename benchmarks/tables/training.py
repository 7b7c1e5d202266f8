"""The tables about how fast leagues are trained: what sampling takes, and the parts of an iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.tables.machines import cpu_of
from territorial.cli import obs_tables

NETWORKS = {
    "pairs": "pairs",
    "features": "MLP 64-64 on features",
    "tables": "encode-once, tables",
    "encode-once": "encode-once, small",
    "reference": "the reference network",
}
"""By name in the result."""
RUNNERS = {"modules": "RLlib by itself", "stock": "RLlib's own runner with the pool", "batched": "batched"}
"""By name in the result: who plays."""
USUAL = 32
SNAPSHOTS = (0, 1, 4, USUAL, 300)
Found = Mapping[str, Any]


def sampling(found: Found) -> str:
    """Return what an environment step of a league takes, by network and by how frozen seats are drawn."""
    rows = [row for name in NETWORKS for row in _rows(name, found["sampling"])]
    header = (
        "what 8 learning and 12 frozen seats play with",
        "steps/s",
        "µs a step",
        "of that 12 frozen seats",
        "multiplications alone",
        "times RLlib by itself",
        "times RLlib's runner with the pool",
    )
    about = (
        "256 x 256 cells: 8 seats learn, bots have 12, 12 are frozen; "
        f"{found['games']} games in one process, "
        "nearly all seats alive; every seat decides in each step of 10 ticks. Seconds are those of the "
        f"processor, on one thread, medians of {found['rounds']} rounds. RLlib by itself: its own runner, in "
        "which every snapshot is a module, called in each step for its rows; with the pool, the same runner "
        "calls the `FrozenPool` of this library. Pairs are compared with RLlib by itself on features. "
        "Multiplications alone: their number by the speed of float32 products. "
        f"{_made_with(found)}"
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrrr"), "", about])


def _rows(name: str, all_: Found) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a network: RLlib by itself, RLlib's own runner with the pool, and the batched one."""
    drawn = {"": "one by one", ", together": "one snapshot for a game"}
    for way, meaning in drawn.items():
        for row in (", stock", ", stock with the pool", ""):
            if (one := all_.get(f"{name}{way}{row}")) is not None:
                yield (
                    f"{NETWORKS[name]}; 32 snapshots, {meaning}; {RUNNERS[one['runner']]}",
                    f"{one['env_steps_per_process_second']:,.0f}",
                    f"{one['us_a_step']:,.0f}",
                    _cell(one, "us_of_frozen_seats", ",.0f"),
                    _cell(one, "us_of_multiplications", ",.0f"),
                    _cell(one, "times_stock", ".1f"),
                    _cell(one, "times_with_pool", ".1f"),
                )


def by_snapshots(found: Found) -> str:
    """Return the speed of sampling by how many snapshots the frozen seats are drawn from."""
    all_, rows = found["sampling"], []
    for name, label in NETWORKS.items():
        places = {count: f"{name}, {count} snapshots" if count != USUAL else name for count in SNAPSHOTS}
        if name in all_:
            speeds = [
                _cell(all_.get(place, {}), "env_steps_per_process_second", ",.0f")
                for place in places.values()
            ]
            rows.append((label, *speeds, _cell(all_.get(f"{name}, every 50 ticks", {}), *_SPEED)))
    header = ("steps/s", "bots instead", *(str(count) for count in SNAPSHOTS[1:]), "32, every 50 ticks")
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrrr"), "", _made_with(found)])


_SPEED = ("env_steps_per_process_second", ",.0f")


def split(found: Found) -> str:
    """Return the parts of a training iteration, by preset, beside those of before where these are known."""
    now, before = found["split"], found["before"].get("split", {})
    parts = next(iter(now.values()))["seconds"]
    rows = [(part, *_parts(part, now, before)) for part in parts]
    rows.append(("all of it", *_parts("", now, before)))
    header = ["seconds of processor in an iteration"]
    for preset in now:
        header += [f"`{preset}` before", f"`{preset}`"] if preset in before else [f"`{preset}`"]
    games = " ".join(
        f"`{name}`: {one['env_steps']:,} steps of {one['players']} players on {one['height']} x "
        f"{one['height']} cells, {one['snapshots']} snapshots."
        for name, one in now.items()
    )
    about = f"Presets of `territorial train`, all in one process. {games} {_made_with(found)}"
    return "\n".join([obs_tables.markdown(header, rows, "l" + "r" * (len(header) - 1)), "", about])


OPTIONS = {
    "before": "all values again, RLlib's Adam",
    "default": "values once, fused Adam: the default",
    "averaged_weights": "... and `averaged_weights=0.999`",
    "bf16": "... and `bf16=True`",
    "share 0.35": "... and `share=0.35`",
}
"""By name in the result of ``learner_time.py``: the options of learners."""


def learner(found: Found) -> str:
    """Return the seconds of a learner's part of an iteration, by its options."""
    cases = found["cases"]
    rows = [
        (label, *(f"{one['process_seconds'][name]:.2f}" for one in cases.values()))
        for name, label in OPTIONS.items()
    ]
    header = ("an update", *(f"`{name}`, {one['rows']:,} rows" for name, one in cases.items()))
    return "\n".join([obs_tables.markdown(header, rows, "lrrr"), "", _made_with(found, "learner_time")])


def _parts(part: str, now: Found, before: Found) -> Iterator[str]:
    """Yield the cells of a part, or of all of it for an empty name."""
    for preset, one in now.items():
        for found in (before[preset], one) if preset in before else (one,):
            total = found["process_seconds"]
            seconds = found["seconds"].get(part) if part else total
            yield "" if seconds is None else f"{seconds:.2f} ({100 * seconds / total:.0f} %)"


def frozen_time(found: Found, snapshots: int, networks: Sequence[str] = ("pairs", "features")) -> str:
    """Return the microseconds that frozen seats of so many snapshots add to a step, by network."""
    rows = (name if snapshots == USUAL else f"{name}, {snapshots} snapshots" for name in networks)
    return " / ".join(_cell(found["sampling"].get(row, {}), "us_of_frozen_seats", ",.0f") for row in rows)


def _cell(one: Found, key: str, form: str) -> str:
    return format(one[key], form) if key in one else ""


def _made_with(found: Found, script: str = "training_speed") -> str:
    return (
        f"Measured on {cpu_of(found)}, Ray {found['versions']['ray']}, torch {found['versions']['torch']} "
        f"(`benchmarks/rllib/{script}.py`)."
    )
