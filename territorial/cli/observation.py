"""``territorial info observation``: describes the fields of an observation."""

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Sequence
from typing import Any

from territorial.cli import options
from territorial.cli.options import aligned, explained
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE
from territorial.observation.layout import ARRAYS, MAX_FRAMES, TABLES, TEAM_TABLES, ObsLayout, columns
from territorial.observation.pair_columns import OWN, PAIR_TABLES, TEAM_PAIRS, pair_columns

EXAMPLES = """\
  territorial info observation
  territorial info observation --height 128 --width 128 --num-players 8
"""

LINE = 100


def add_parser(topics: Any) -> None:
    """Add this topic to ``info``."""
    summary = "print what an observation holds: each array, and all columns of the tables"
    parser = options.new_parser(topics, "observation", summary, EXAMPLES)
    group = parser.add_argument_group("the game")
    side, low_high = options.whole(MIN_SIDE, MAX_SIDE), f"{MIN_SIDE} to {MAX_SIDE}"
    for option in ("--height", "--width"):
        group.add_argument(
            option, type=side, default=256, metavar="N", help=explained(option, low_high, default=256)
        )
    group.add_argument(
        "--num-players",
        type=options.whole(MIN_PLAYERS, MAX_PLAYERS),
        default=32,
        metavar="N",
        help=explained("--num-players", f"{MIN_PLAYERS} to {MAX_PLAYERS}", default=32),
    )
    group.add_argument(
        "--frames",
        type=options.whole(0, MAX_FRAMES),
        default=1,
        metavar="N",
        help=explained("--frames", "0 leaves only tables and masks", f"0 to {MAX_FRAMES}", default=1),
    )
    options.add_report(parser, run)


def run(parsed: argparse.Namespace) -> int:
    """Print it."""
    layout = ObsLayout(
        height=parsed.height,
        width=parsed.width,
        num_players=parsed.num_players,
        frames=parsed.frames,
    )
    result = explain(layout)
    options.report(parsed, _text(layout, result), result)
    return 0


def explain(layout: ObsLayout) -> dict[str, Any]:
    """Return the layout, its arrays and the columns of its tables, as values that JSON has."""
    return {
        "layout": layout.to_dict(),
        "bit_planes": layout.num_planes,
        "blocked_code": layout.blocked_code,
        "delta_capacity": layout.delta_capacity,
        "arrays": [
            dataclasses.asdict(array)
            | {"shape": list(layout.shape(array.name)), "letters": list(array.shape)}
            | {"bytes": layout.nbytes(array.name)}
            for array in ARRAYS
        ],
        "columns": {name: [dataclasses.asdict(column) for column in table] for name, table in TABLES.items()},
        "team_columns": {
            name: [dataclasses.asdict(column) for column in table] for name, table in TEAM_TABLES.items()
        },
        "pairs": {
            name: [dataclasses.asdict(column) for column in table] for name, table in PAIR_TABLES.items()
        },
        "team_pairs": [dataclasses.asdict(column) for column in TEAM_PAIRS],
    }


def _text(layout: ObsLayout, result: dict[str, Any]) -> str:
    step_bytes = sum(array["bytes"] for array in result["arrays"] if array["name"] != "terrain")
    parts = [
        f"The observation of one game with all its agents, version {layout.version}: "
        f"{layout.height} x {layout.width} cells, {layout.num_players} seats, {layout.frames} "
        f"frame{'' if layout.frames == 1 else 's'}.\n{step_bytes:,} bytes a step; terrain comes once a game. "
        "docs/observation.md explains every bit.",
        "arrays\n" + "\n".join(_array_text(array) for array in result["arrays"]),
    ]
    for name in TABLES:  # with the columns that only games with teams have, as below
        rows = [(one.name, one.unit, one.meaning) for one in columns(name, teams=True)]
        parts.append(f"columns of {name}\n{_numbered(rows, 'rlll')}")
    for name, table in {"own": OWN, "pairs": pair_columns(teams=True)}.items():
        values = [(one.name, one.value, str(one.version)) for one in table]
        parts.append(f'columns of {name}, of the form "pairs"\n{_numbered(values, "rllr")}')
    parts.append(f"for ObsLayout.from_dict\n    {json.dumps(result['layout'])}")
    return "\n\n".join(parts)


def _array_text(array: dict[str, Any]) -> str:
    """Two lines or more: name, type, shape, bytes and unit, then the meaning."""
    letters = str(tuple(array["letters"])).replace("'", "")
    shape = f"{letters} = {tuple(array['shape'])}" if array["shape"] else "one number"
    size = f"{array['bytes']:,} bytes; unit: {array['unit']}"
    indent = " " * 18
    meaning = textwrap.fill(array["meaning"], LINE, initial_indent=indent, subsequent_indent=indent)
    return f"    {array['name']:12}  {array['dtype']:8}{shape}, {size}\n{meaning}"


def _numbered(rows: Sequence[tuple[str, ...]], align: str) -> str:
    return aligned([(str(i), *row) for i, row in enumerate(rows)], align, indent=4)
