"""``territorial info observation``: what an observation holds, and what the forms it can be kept in cost."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from typing import Any

from territorial.cli import options
from territorial.cli.obs_tables import (
    CHANGED_PERCENT,
    EVERY_COLUMN,
    EVERY_PAIR_COLUMN,
    GAME_STEPS,
    KEY_EVERY,
    aligned,
    changed_cells,
    column_rows,
    forms,
    in_bytes,
    letters,
    pair_rows,
)
from territorial.cli.option_names import explained
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE
from territorial.observation.layout import ARRAYS, MAX_FRAMES, TABLES, TEAM_TABLES, ObsLayout
from territorial.observation.pair_columns import PAIR_TABLES, TEAM_PAIRS

EXAMPLES = """\
  territorial info observation                   print all arrays and columns
  territorial info observation --explain --side 128 --num-players 8 --frames 4
  territorial info observation --memory --frames 4 --num-games 64 --rollout 128
  territorial info observation --memory --changed 1.5 --json  assume that more cells change
"""

MEMORY_DEFAULTS = {"num_games": 64, "rollout": 128, "changed": CHANGED_PERCENT, "key_every": KEY_EVERY}
LINE = 100


def add_parser(topics: Any) -> None:
    """Add this topic to ``info``."""
    summary = "print what an observation holds, and the memory that its forms take"
    parser = options.new_parser(topics, "observation", summary, EXAMPLES)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--explain",
        action="store_true",
        help="print shape and bytes of each array, and all columns of the tables (the default)",
    )
    what.add_argument(
        "--memory",
        action="store_true",
        help="print the memory that a rollout takes in each form: packed, features, pooled, one-hot",
    )
    _add_layout_options(parser)
    _add_memory_options(parser)
    options.add_json_option(parser)
    parser.set_defaults(run=run)


def _add_layout_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the game")
    side, low_high = options.whole(MIN_SIDE, MAX_SIDE), f"{MIN_SIDE} to {MAX_SIDE}"
    group.add_argument(
        "--side",
        type=side,
        default=256,
        metavar="N",
        help=f"rows and columns of a square map, in cells; {low_high} (default 256)",
    )
    for option in ("--height", "--width"):
        group.add_argument(
            option, type=side, metavar="N", help=explained(option, low_high, default="that of --side")
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


def _add_memory_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the rollout (--memory)")
    most = 1_000_000
    group.add_argument(
        "--num-games",
        type=options.whole(1, most),
        metavar="N",
        help=explained("--num-games", f"1 to {most}", default=64),
    )
    group.add_argument(
        "--rollout",
        type=options.whole(1, most),
        metavar="N",
        help=f"steps of each game in a rollout; 1 to {most} (default 128)",
    )
    group.add_argument(
        "--changed",
        type=_percent,
        metavar="PERCENT",
        help="share of the cells that change hands in a step, in per cent; 0 to 100 (default "
        f"{CHANGED_PERCENT}, the mean of whole games of 32 bots on 256 x 256 cells)",
    )
    group.add_argument(
        "--key-every",
        type=options.whole(1, most),
        metavar="N",
        help=f"steps from one key frame of a frame store to the next; 1 to {most} (default {KEY_EVERY})",
    )


def run(parsed: argparse.Namespace) -> int:
    """Print what was asked for."""
    options.check_json(parsed)
    layout = _layout_of(parsed)
    if parsed.memory:
        result = memory(layout, **_rollout_of(parsed))
        text = _memory_text(result)
    else:
        _refuse_memory_options(parsed)
        result = explain(layout)
        text = _explain_text(layout, result)
    options.report(parsed, text, result)
    return 0


def _percent(text: str) -> float:
    """Return a number from 0 to 100."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return number


def _layout_of(parsed: argparse.Namespace) -> ObsLayout:
    """Return the layout that the options describe."""
    return ObsLayout(
        height=parsed.height or parsed.side,
        width=parsed.width or parsed.side,
        num_players=parsed.num_players,
        frames=parsed.frames,
    )


def _rollout_of(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``memory``, the defaults filled in."""
    if parsed.frames == 0:
        raise options.UsageError(
            "argument --frames: 0 leaves boards out, but --memory compares the forms of boards; "
            f"it must be 1 to {MAX_FRAMES}"
        )
    given = {name: getattr(parsed, name) for name in MEMORY_DEFAULTS}
    return {name: MEMORY_DEFAULTS[name] if value is None else value for name, value in given.items()}


def _refuse_memory_options(parsed: argparse.Namespace) -> None:
    for name in MEMORY_DEFAULTS:
        if getattr(parsed, name) is not None:
            option = name.replace("_", "-")
            raise options.UsageError(f"argument --{option}: it is used only with --memory")


# ---- what it holds -----------------------------------------------------------------------------------


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


def _explain_text(layout: ObsLayout, result: dict[str, Any]) -> str:
    step_bytes = sum(array["bytes"] for array in result["arrays"] if array["name"] != "terrain")
    parts = [
        f"The observation of one game with all its agents, version {layout.version}: "
        f"{_size_of(layout)}.\n{in_bytes(step_bytes)} a step; terrain comes once a game. "
        "docs/observation.md explains every bit.",
        "arrays\n" + "\n".join(_array_text(array) for array in result["arrays"]),
    ]
    parts += [
        f"columns of {name}\n" + aligned(column_rows(table), "rlll", indent=4)
        for name, table in EVERY_COLUMN.items()
    ]
    parts += [
        f'columns of {name}, of the form "pairs"\n' + aligned(pair_rows(table), "rllr", indent=4)
        for name, table in EVERY_PAIR_COLUMN.items()
    ]
    parts.append(f"for ObsLayout.from_dict\n    {json.dumps(result['layout'])}")
    return "\n\n".join(parts)


def _array_text(array: dict[str, Any]) -> str:
    """Two lines or more: name, type, shape, bytes and unit, then the meaning."""
    shape = f"{letters(array['letters'])} = {letters(array['shape'])}" if array["shape"] else "one number"
    size = f"{array['bytes']:,} bytes; unit: {array['unit']}"
    indent = " " * 18
    meaning = textwrap.fill(array["meaning"], LINE, initial_indent=indent, subsequent_indent=indent)
    return f"    {array['name']:12}  {array['dtype']:8}{shape}, {size}\n{meaning}"


def _size_of(layout: ObsLayout) -> str:
    plural = "" if layout.frames == 1 else "s"
    return (
        f"{layout.height} x {layout.width} cells, {layout.num_players} seats, {layout.frames} frame{plural}"
    )


# ---- what it costs -----------------------------------------------------------------------------------


def memory(
    layout: ObsLayout, *, num_games: int, rollout: int, changed: float, key_every: int
) -> dict[str, Any]:
    """Return the bytes of every form: of a game step, of ``rollout`` steps of one game, and of
    ``num_games`` of those.
    """
    return {
        "layout": layout.to_dict(),
        "games": num_games,
        "steps": rollout,
        "changed_percent": changed,
        "key_every": key_every,
        "steps_to_a_new_game": GAME_STEPS,
        "forms": [
            {
                "name": form.name,
                "meaning": form.meaning,
                "bytes_per_game_step": form.mean(layout),
                "bytes_per_game": form.total(layout, 1, rollout),
                "bytes": form.total(layout, num_games, rollout),
            }
            for form in forms(changed, key_every)
        ],
    }


def _memory_text(result: dict[str, Any]) -> str:
    layout = ObsLayout.from_dict(result["layout"])
    games, steps, changed = result["games"], result["steps"], result["changed_percent"]
    agents = layout.num_players
    rows = [("form", "a game step", f"a game, {steps:,} steps", f"{games:,} games", "")]
    rows += [
        (
            form["name"],
            in_bytes(form["bytes_per_game_step"]),
            in_bytes(form["bytes_per_game"]),
            in_bytes(form["bytes"]),
            form["meaning"],
        )
        for form in result["forms"]
    ]
    cells = changed_cells(layout, changed)
    origin = "measured in whole games of 32 bots on 256 x 256" if changed == CHANGED_PERCENT else "as given"
    return (
        f"{_size_of(layout)}; {games:,} games of {steps:,} steps each:\n"
        f"{games * steps:,} game steps, {games * steps * agents:,} agent steps.\n\n"
        f"{aligned(rows, 'lrrrl')}\n\n"
        "A game step is one step of one game with all its agents; a KB is 1,024 bytes.\n"
        f"Assumed for delta and frame store: {changed:g} % of the cells ({cells:,.0f}) change in a step\n"
        f"({origin}; --changed), and a new game begins every {GAME_STEPS} steps."
    )
