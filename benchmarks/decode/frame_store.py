#!/usr/bin/env python3
"""Stores the boards of a million game steps of whole games, and says what they take.

    python benchmarks/decode/frame_store.py                  full size, a minute or two and 3 GB of memory
    python benchmarks/decode/frame_store.py --size small     the same in seconds

Exit code 1 if a game step takes more than 3,000 bytes, key frames included, or if a stack that was
put aside on the way does not come back as it was. The result, with the machine and the versions, goes
to benchmarks/results/frame_store.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import goals, harness
from territorial.cli import options
from territorial.cli.machine import resident_memory
from territorial.decode.blocks import key_bytes
from territorial.decode.store import FrameStore
from territorial.observation.layout import ObsLayout

NUM_GAMES = 16
LIMIT = goals.bound("frame_store", "bytes_per_game_step")
"""Bytes that a game step may take."""
REPORTS = 20
PUT_ASIDE = 256
"""Boards that are kept whole, to compare with."""
BATCH = 256
LOOKUPS = 20
"""Batches whose median time is taken."""
RESULT = harness.RESULTS / "frame_store.json"
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}


@dataclass
class StoreReading:
    """What the store takes after some game steps."""

    game_steps: int
    games_ended: int
    store_bytes: int
    resident_bytes: int | None
    """More than after the first step."""


@dataclass
class StoreRun:
    """A store that was filled, and what was seen on the way."""

    store: FrameStore
    readings: list[StoreReading]
    changed_cells: int
    """Of all deltas."""
    key_frames: int
    """That came instead of a delta: of new games and of steps with too many changes."""
    store_seconds: float
    play_seconds: float
    aside: dict[tuple[int, int], npt.NDArray[np.uint8]]
    """Boards by game and step."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    config = CONFIGS[parsed.size]
    layout = ObsLayout(height=config.height, width=config.width, num_players=config.num_players)
    run = fill(config, layout, parsed)
    result = report(parsed, layout, run)
    harness.write(parsed.json, result)
    print(table(result))
    print(
        f"{result['bytes_per_game_step']:,.0f} bytes a game step, {LIMIT:,} allowed; "
        f"{result['boards_compared']} boards compared: {'good' if result['is_good'] else 'NOT GOOD'}; "
        f"written to {parsed.json}"
    )
    return 0 if result["is_good"] else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(1000, 10**9),
        default=1_000_000,
        help="environment steps to run (default %(default)s)",
    )
    parser.add_argument(
        "--key-every",
        type=options.whole(1, 10**6),
        default=64,
        help="steps from one key frame of a frame store to the next (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the batch")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def fill(config: territorial.GameConfig, layout: ObsLayout, parsed: argparse.Namespace) -> StoreRun:
    """Play whole games that replace each other, store every step, and put some boards aside."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    seats = lineup[:: len(lineup) // config.num_players]
    game = territorial.VecGame(config, NUM_GAMES, seed=parsed.seed, seats=seats, frames=layout.frames)
    store = FrameStore(layout, NUM_GAMES, key_every=parsed.key_every)
    rng = np.random.default_rng(parsed.seed)
    steps = -(-parsed.steps // NUM_GAMES)
    marks = {steps * i // REPORTS for i in range(1, REPORTS + 1)}
    chosen = set(rng.choice(steps, min(steps, PUT_ASIDE), replace=False).tolist())
    run = StoreRun(store, [], 0, 0, 0.0, 0.0, {})
    observations, ended = game.reset(), 0
    before = None
    for step in range(1, steps + 1):
        started = time.perf_counter()
        t = store.append(observations)
        stored = time.perf_counter()
        counts = observations.delta_count
        run.changed_cells += int(np.maximum(counts, 0).sum())
        run.key_frames += int((counts < 0).sum())
        if t in chosen:
            k = int(rng.integers(NUM_GAMES))
            run.aside[k, t] = observations.planes[k, 0].copy()
        noted = time.perf_counter()
        observations, *_, info = game.step()
        ended += int(info["ended"].sum())
        run.store_seconds += stored - started
        run.play_seconds += time.perf_counter() - noted
        if step == 1:  # by now everything is compiled and allocated
            before = resident_memory()[0]
        if step in marks:
            resident = resident_memory()[0]
            grown = None if resident is None or before is None else resident - before
            run.readings.append(StoreReading(step * NUM_GAMES, ended, store.nbytes, grown))
            print(
                f"{step / steps:4.0%}  {ended:6,} games over  {store.nbytes / 1e6:9.1f} MB in the store  "
                f"{(grown or 0) / 1e6:9.1f} MB of memory",
                flush=True,
            )
    return run


def lookup_times(store: FrameStore, seed: int) -> dict[str, dict[str, float]]:
    """Return microseconds a stack, the median of some batches each: drawn at random, and steps in a row."""
    rng = np.random.default_rng(seed)
    found: dict[str, dict[str, float]] = {}
    for frames in (1, 4):
        drawn, in_a_row = [], []
        for _ in range(LOOKUPS):
            games, times = store.sample(BATCH, rng, frames)
            drawn.append(seconds_of(store, games, times, frames))
            length = min(BATCH, len(store) // 2)
            start = int(rng.integers(store.first + frames, store.end - length))
            row = np.full(length, rng.integers(store.num_games)), start + np.arange(length)
            in_a_row.append(seconds_of(store, *row, frames) * BATCH / length)
        medians = {"drawn": float(np.median(drawn)), "in_a_row": float(np.median(in_a_row))}
        found[f"frames_{frames}"] = {name: value / BATCH * 1e6 for name, value in medians.items()}
    return found


def seconds_of(
    store: FrameStore, games: npt.NDArray[np.int64], times: npt.NDArray[np.int64], frames: int
) -> float:
    started = time.perf_counter()
    store.planes(games, times, frames)
    return time.perf_counter() - started


def report(parsed: argparse.Namespace, layout: ObsLayout, run: StoreRun) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    store, last = run.store, run.readings[-1]
    games, times = np.array(list(run.aside)).T
    same = [
        (board == expected).all()
        for board, expected in zip(store.planes(games, times)[:, 0], run.aside.values(), strict=True)
    ]
    per_step = store.nbytes / last.game_steps
    return {
        "rules_version": territorial.RULES_VERSION,
        "config_digest": CONFIGS[parsed.size].hexdigest,
        "size": parsed.size,
        "seed": parsed.seed,
        "num_games": NUM_GAMES,
        "key_every": store.key_every,
        "game_steps": last.game_steps,
        "games_ended": last.games_ended,
        "changed_cells_per_game_step": run.changed_cells / last.game_steps,
        "key_frames_of_the_engine_per_game_step": run.key_frames / last.game_steps,
        "bytes_per_game_step": per_step,
        "limit": LIMIT,
        "resident_measure": resident_memory()[1],
        "resident_bytes_per_game_step": None
        if last.resident_bytes is None
        else last.resident_bytes / last.game_steps,
        "forms": forms(layout, per_step),
        "store_us_per_game_step": run.store_seconds / last.game_steps * 1e6,
        "play_us_per_game_step": run.play_seconds / last.game_steps * 1e6,
        "batch": BATCH,
        "lookup_us_per_stack": lookup_times(store, parsed.seed),
        "boards_compared": len(same),
        "is_good": bool(all(same)) and per_step <= LIMIT,
        "readings": [asdict(reading) for reading in run.readings],
    }


def forms(layout: ObsLayout, per_step: float) -> dict[str, float]:
    """Return the bytes that a game step takes, by the form in which its board is kept."""
    cells, seats = layout.height * layout.width, layout.num_players
    return {
        "FrameStore": per_step,
        "bit planes": float(key_bytes(layout)),
        "owner codes, uint8": float(cells),
        "one-hot of one agent, uint8": float(cells * (seats + 1)),
        "one-hot of all agents, uint8": float(cells * (seats + 1) * seats),
        "one-hot of all agents, float32": float(cells * (seats + 1) * seats * 4),
    }


def table(result: dict[str, Any]) -> str:
    """Return the result for a person to read."""
    lines = [f"{'a board kept as':32}{'bytes a game step':>20}{'a million':>14}"]
    lines += [f"{form:32}{size:20,.0f}{size / 1e3:11,.1f} GB" for form, size in result["forms"].items()]
    for frames, found in result["lookup_us_per_stack"].items():
        lines.append(
            f"{frames}: {found['drawn']:.0f} us a stack drawn at random, {found['in_a_row']:.0f} in a row"
        )
    lines.append(
        f"storing takes {result['store_us_per_game_step']:.1f} us a game step, "
        f"playing {result['play_us_per_game_step']:.1f}"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
