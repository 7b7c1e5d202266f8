"""Figures that stand in sentences of README and docs, each taken from a result or from the code.

In a page, ``<!-- figure:NAME -->`` and ``<!-- end -->`` enclose the text of the figure NAME, which
``python -m benchmarks.tables`` fills in. The marker must not begin a line, where Markdown would
take it for a block of its own. A sentence that has no such marker states no measured figure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks import derived_figures, goals, harness
from benchmarks.tables.machines import cpu_of
from benchmarks.tables.trainers import COPIES
from territorial.cli.obs_tables import CHANGED_PERCENT
from territorial.config import GameConfig
from territorial.memory.predict import pair_bytes
from territorial.observation.layout import ObsLayout

FULL = GameConfig()
CELLS = FULL.height * FULL.width
MARK = re.compile(r"<!-- figure:([\w.]+) -->(.*?)<!-- end -->", re.DOTALL)


def filled(text: str) -> str:
    """Return ``text`` with every figure as it is today; ValueError if there is no figure of a name."""
    return MARK.sub(lambda found: f"<!-- figure:{found[1]} -->{figure(found[1])}<!-- end -->", text)


def figure(name: str) -> str:
    """Return the text of a figure."""
    if name not in FIGURES:
        raise ValueError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
    return FIGURES[name]()


@cache
def load(name: str) -> Any:
    """Return the result called ``name``."""
    return json.loads((harness.RESULTS / f"{name}.json").read_bytes())


# ---- speed and memory --------------------------------------------------------------------------------


def pictures_a_second() -> str:
    found = load("render")
    return f"{found['rates'][found['decides']]['per_s']:.0f}"


def store_step() -> str:
    return f"{load('frame_store')['bytes_per_game_step'] / 1024:.1f} KB"


def changed_share() -> str:
    """Return the share of the cells that change hands in a step, in per cent."""
    return f"{load('frame_store')['changed_cells_per_game_step'] / CELLS * 100:.2f} %"


def replay_size() -> str:
    return f"{load('replay')['games']['bots']['bytes'] / 1024:.1f} KB"


def replay_ticks() -> str:
    return f"{load('replay')['games']['bots']['ticks']:,}"


def replay_milliseconds() -> str:
    return f"{load('replay')['games']['bots']['verify_ms']:.0f} ms"


def replay_pack_milliseconds() -> str:
    return f"{load('replay')['games']['bots']['pack_ms']:.1f} ms"


def older_frames() -> str:
    """Return what the three older frames of a stack add to a step."""
    found = load("parts")["us"]
    return f"{found['with a stack of 4 boards'] - found['with the board and its changes']:.1f} µs"


def instructions_saved() -> str:
    """Return the share of its instructions that code for one size saves, from part to part."""
    found = load("instructions")
    shares = [
        1 - one["instructions"] / found["any_size"][part]["instructions"]
        for part, one in found["parts"].items()
    ]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %"


def many_games() -> str:
    """Return the times as long that a step takes among the most games, compared with 16; all observed."""
    rows = [row for row in load("scaling")["curves"]["games"] if row["value"] >= 16]
    observed = {row["value"]: row["step_us"] for row in rows}  # the second row of a value is observed
    return f"{observed[max(observed)] / observed[16]:.1f}"


def most_games() -> str:
    return f"{max(row['value'] for row in load('scaling')['curves']['games']):,}"


def unboxed_once() -> str:
    return f"{load('mechanisms')['rows']['unboxed once, bots alone, 1 games']['median']:.1f}"


# ---- environments ------------------------------------------------------------------------------------


def zero_copy() -> str:
    ratio = load("vector_cost")["ratio_to_engine"]
    low, high = min(ratio[name] for name in _LIMITED), max(ratio[name] for name in _LIMITED)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def copies_goal() -> str:
    return f"{goals.bound('vector_copies', f'ratio_to_engine/{COPIES}'):.2f}"


def copies() -> str:
    return f"{load('vector_copies')['ratio_to_engine'][COPIES]:.2f}"


def copies_machine() -> str:
    return cpu_of(load("vector_copies"))


def zero_copy_goal() -> str:
    return f"{goals.bound('vector_cost', f'ratio_to_engine/{_LIMITED[0]}'):.2f}"


def zero_copy_verdict() -> str:
    ratio = load("vector_cost")["ratio_to_engine"]
    bounds = goals.bounds_of("vector_cost", "ratio_to_engine")
    return "met" if all(ratio[name] <= bounds[name] for name in _LIMITED) else "missed"


_LIMITED = ("zero_copy, multi_discrete", "zero_copy, discrete")


# ---- bots --------------------------------------------------------------------------------------------


def eliminated_by_1000(*names: str) -> str:
    """Return the range, over some fields, of the share of players that are gone at tick 1,000."""
    health = load("bot_health")["health"]
    shares = [1 - health[name]["alive"]["1000"]["median"] / 32 for name in names]
    return _range(100 * min(shares), 100 * max(shares)) + " %"


def alive_at_2000(*names: str) -> str:
    health = load("bot_health")["health"]
    found = [health[name]["alive"]["2000"]["median"] for name in names]
    return _range(min(found), max(found))


def mixed(*keys: str) -> str:
    """Return the range, over the mixed line-ups, of a median of what games are like."""
    found = []
    for name in ("mixed-1", "mixed-2"):
        value: Any = load("bot_health")["health"][name]
        for key in keys:
            value = value[key]
        found.append(value["median"])
    return _range(min(found), max(found))


def _range(low: float, high: float) -> str:
    ends = dict.fromkeys(f"{end:,.0f}" for end in (low, high))
    return " to ".join(ends)


QUICK = ("novice-1", "very_easy-1", "easy-1", "normal-1")


# ---- leagues -----------------------------------------------------------------------------------------


def snapshots_in_a_process() -> str:
    """Return the most that a process has of its own for all snapshots."""
    return (
        f"{max(row['grown'] / row['processes'] for row in load('snapshots_at_scale')['rows']) / 2**20:.1f} MB"
    )


def sampled(what: str) -> str:
    """Steps a second of a process that plays what a league seats, by the name of the measurement."""
    return f"{load('training_speed')['sampling'][what]['env_steps_per_process_second']:,.0f}"


# ---- sizes, from the code ----------------------------------------------------------------------------


def onehot_size() -> str:
    """What an agent's stack of four boards takes one-hot, in bytes."""
    owners = 1 + FULL.num_players
    return f"{4 * owners * CELLS / 1e6:.2f} MB"


def in_mb(nbytes: float) -> str:
    return f"{nbytes / 2**20:,.0f} MB"


def in_gb(nbytes: float) -> str:
    return f"{nbytes / 2**30:,.0f} GB"


def board_size() -> str:
    layout = ObsLayout(height=FULL.height, width=FULL.width, num_players=FULL.num_players, frames=1)
    return f"{layout.nbytes('planes') / 1024:.0f} KB"


FIGURES: dict[str, Callable[[], str]] = {
    "render.pictures": pictures_a_second,
    "store.step": store_step,
    "store.changed": changed_share,
    "replay.size": replay_size,
    "replay.ticks": replay_ticks,
    "replay.verify": replay_milliseconds,
    "replay.pack": replay_pack_milliseconds,
    "parts.older_frames": older_frames,
    "instructions.saved": instructions_saved,
    "scaling.many": many_games,
    "scaling.most": most_games,
    "mechanisms.unboxed": unboxed_once,
    "compare.slower": lambda: f"{goals.slower():g}",
    "vector.zero_copy": zero_copy,
    "vector.copies_goal": copies_goal,
    "vector.copies": copies,
    "vector.copies_machine": copies_machine,
    "vector.goal": zero_copy_goal,
    "vector.verdict": zero_copy_verdict,
    "bots.quick_gone": lambda: eliminated_by_1000(*QUICK),
    "bots.hard_gone": lambda: eliminated_by_1000("hard-1", "impossible-1"),
    "bots.very_hard_gone": lambda: eliminated_by_1000("very_hard-1"),
    "bots.quick_left": lambda: alive_at_2000(*QUICK, "hard-1", "very_hard-1", "impossible-1"),
    "bots.reserved_left": lambda: alive_at_2000("metronome-1", "banker-1", "geographer-1", "sprinter-1"),
    "bots.mixed_land": lambda: mixed("neutral_gone"),
    "bots.mixed_1000": lambda: mixed("alive", "1000"),
    "bots.mixed_2000": lambda: mixed("alive", "2000"),
    "bots.mixed_length": lambda: mixed("length"),
    "snapshots.process": snapshots_in_a_process,
    "sampling.pairs": lambda: sampled("pairs"),
    "sampling.features": lambda: sampled("features"),
    "sampling.rllib": lambda: sampled("features, stock with the pool"),
    "league.built": lambda: in_mb(derived_figures.packed_league_built(load("league_memory"))),
    "league.trained": lambda: in_mb(derived_figures.packed_league_peak(load("league_memory"))),
    "league.onehot": lambda: in_gb(derived_figures.one_hot_league_built(load("league_memory"))),
    "layout.board": board_size,
    "layout.onehot": onehot_size,
    "memory.pair_row": lambda: f"{pair_bytes():,} bytes",
    "layout.changed": lambda: f"{CHANGED_PERCENT:g} %",
}
"""Every figure by its name."""
