#!/usr/bin/env python3
"""What replays take: bytes, time to verify and to seek, and what recording costs on top of playing.

    python benchmarks/media/replay_cost.py                 full size, about a minute
    python benchmarks/media/replay_cost.py --size small    the same in seconds

Two games are measured: the first of the line-up that lasts as long as asked for, and one of the same length
in which every seat launches at every decision. The second is as large as a replay gets. For the cost of
recording, batches that play the same games take turns, so that all of them meet the same noise: not
recorded, recorded and passed to a function, recorded into a folder. All times are processor time, of one
thread. The result, with the machine and the versions, goes to benchmarks/results/replay.json. Exit code 1 if
a limit is missed at full size: see benchmarks/goals.toml.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import territorial
from benchmarks import goals, harness
from territorial.cli import options
from territorial.replay import ReplayPlayer

LIMITS = goals.bounds_of("replay", "games/*")
REPEATS = 15
SEEKS = 300
STEPS_A_TURN = 400
"""Steps of games, whatever the size of the batch."""


class ReplaySize(NamedTuple):
    config: territorial.GameConfig
    ticks: int
    """At least so long are the games measured."""


class ReplayCase(NamedTuple):
    num_games: int
    observe: bool


SIZES = {
    "full": ReplaySize(territorial.GameConfig(), 6000),
    "small": ReplaySize(territorial.GameConfig(height=48, width=48, num_players=8, max_ticks=1500), 600),
}
CASES = {
    "16 games": ReplayCase(16, False),
    "16 games with observations": ReplayCase(16, True),
    "1 game": ReplayCase(1, False),
}
FORMS = ("not recorded", "handed to a function", "written to a folder")
RESULT = harness.RESULTS / "replay.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    config, ticks = SIZES[parsed.size]
    replays = {"bots": long_game(config, ticks), "everybody all the time": busy_game(config, ticks)}
    games = {name: measure(replay) for name, replay in replays.items()}
    recording = {name: cost_of(case, config, parsed.steps) for name, case in CASES.items()}
    result = {
        "config_digest": config.hexdigest,
        "limits": LIMITS,
        "games": games,
        "steps": parsed.steps,
        "recording": recording,
    }
    harness.write(parsed.json, result)
    report(result)
    print(f"written to {parsed.json}")
    return 0 if parsed.size != "full" or all(map(meets_limits, games.values())) else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    parser.add_argument(
        "--steps",
        type=options.whole(STEPS_A_TURN, 10**8),
        default=300_000,
        help="environment steps to run; so many of each batch, over all its games (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def meets_limits(game: dict[str, Any]) -> bool:
    return all(game[name] <= limit for name, limit in LIMITS.items())


# ---- the games -------------------------------------------------------------------------------------


def lineup(config: territorial.GameConfig) -> list[str]:
    """Return a fair mix of the line-up for all seats."""
    seats = territorial.LINEUPS["mixed-1"].seats
    return [seats[i * len(seats) // config.num_players] for i in range(config.num_players)]


def long_game(config: territorial.GameConfig, ticks: int) -> territorial.Replay:
    """Return the replay of the first game of the line-up that lasts for ``ticks``."""
    game = territorial.VecGame(config, 1, seats=lineup(config), autoreset="disabled", observe=False)
    with territorial.Recorder(game) as recorder:
        for seed in range(100):
            game.reset(seeds=[seed])
            while not game.state.over[0]:
                game.step()
            if game.state.tick[0] >= ticks:
                return recorder.replay()
    raise RuntimeError(f"none of 100 games lasts for {ticks} ticks")


def busy_game(config: territorial.GameConfig, ticks: int) -> territorial.Replay:
    """Return the replay of a game of ``ticks`` in which every seat launches at every decision."""
    config = config.replace(deaths=False, win_percent=100, max_ticks=ticks)
    game = territorial.VecGame(config, 1, autoreset="disabled", observe=False)
    with territorial.Recorder(game) as recorder:
        for seed in range(100):
            rng = np.random.default_rng(seed)
            game.reset(seeds=[seed])
            while not game.state.over[0]:
                what = rng.integers(1, config.num_players + 2, (1, config.num_players))
                game.step(np.stack([what, rng.integers(0, 10, what.shape)], axis=-1))
            if game.state.tick[0] >= ticks:
                return recorder.replay()
    raise RuntimeError(f"none of 100 games lasts for {ticks} ticks")


# ---- playing again ---------------------------------------------------------------------------------


def measure(replay: territorial.Replay) -> dict[str, Any]:
    """Return the size of a replay, and medians of what it takes to do things with it."""
    data = replay.to_bytes()
    replay.verify()
    player, rng = ReplayPlayer(replay), np.random.default_rng(0)
    wanted = rng.integers(0, replay.num_ticks + 1, SEEKS).tolist()
    seeks = [milliseconds(lambda tick=tick: player.seek(tick)) for tick in wanted]
    first = [milliseconds(lambda: ReplayPlayer(replay).seek(replay.num_ticks)) for _ in range(REPEATS)]
    num_frames = sum(1 for _ in replay.frames(every=10))
    return {
        "ticks": replay.num_ticks,
        "launches": len(replay.launches),
        "checkpoints": len(replay.checkpoints),
        "bytes": len(data),
        "pack_ms": median_of(replay.to_bytes),
        "load_ms": median_of(lambda: territorial.Replay.from_bytes(data)),
        "verify_ms": median_of(replay.verify),
        "seek_end_first_ms": round(statistics.median(first), 3),
        "seek_ms_median": round(statistics.median(seeks), 3),
        "seek_ms_max": round(max(*seeks, *first), 3),
        "seeks": SEEKS,
        "frames_per_s": round(1e3 * num_frames / median_of(lambda: list(replay.frames(every=10)))),
    }


def milliseconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    started = time.thread_time()
    call()
    return 1e3 * (time.thread_time() - started)


def median_of(call: Callable[[], Any]) -> float:
    return round(statistics.median(milliseconds(call) for _ in range(REPEATS)), 3)


# ---- recording -------------------------------------------------------------------------------------


def cost_of(case: ReplayCase, config: territorial.GameConfig, steps: int) -> dict[str, Any]:
    """Return the microseconds of a step of a game in every form, and what recording adds to it."""
    with tempfile.TemporaryDirectory() as folder:
        batches = {form: batch_of(case, config, form, folder) for form in FORMS}
        times, order = {form: [] for form in FORMS}, list(FORMS)
        num_turns = max(10, steps // STEPS_A_TURN)
        for turn in range(num_turns):
            for form in order:
                times[form].append(play(batches[form]))
            order = order[1:] + order[:1]
            if turn % max(1, num_turns // 20) == 0:
                harness.tell(f"{case} {100 * turn // num_turns:3d} %")
        written = len(list(Path(folder).iterdir()))
    return {
        "games_recorded": written,
        "forms": {form: row_of(times[form], times[FORMS[0]]) for form in FORMS},
    }


def batch_of(case: ReplayCase, config: territorial.GameConfig, form: str, folder: str) -> territorial.VecGame:
    """Return a batch, recorded in the form asked for."""
    game = territorial.VecGame(config, case.num_games, seats=lineup(config), observe=case.observe)
    if form != FORMS[0]:
        territorial.Recorder(game, folder if form == FORMS[2] else lambda k, replay: None)
    game.reset(seed=0)
    game.step()
    return game


def play(game: territorial.VecGame) -> float:
    """Play one turn and return the microseconds of processor time per step of a game."""
    calls = max(1, STEPS_A_TURN // game.num_games)
    started = time.thread_time()
    for _ in range(calls):
        game.step()
    return 1e6 * (time.thread_time() - started) / (calls * game.num_games)


def row_of(times: list[float], baseline: list[float]) -> dict[str, float]:
    """Return time and cost of a step: means over the games, the spread over tenths of the run."""
    costs = [mine - base for mine, base in zip(times, baseline, strict=True)]
    tenths = [statistics.fmean(costs[i::10]) for i in range(10)]
    base = statistics.fmean(baseline)
    return {
        "step_us": round(statistics.fmean(times), 3),
        "cost_us": round(statistics.median(tenths), 3),
        "cost_us_lowest": round(min(tenths), 3),
        "cost_us_highest": round(max(tenths), 3),
        "cost_percent": round(100 * statistics.median(tenths) / base, 2),
    }


# ---- saying it -------------------------------------------------------------------------------------


def report(result: dict[str, Any]) -> None:
    for name, game in result["games"].items():
        print(
            f"{name}: {game['ticks']:,} ticks, {game['launches']:,} launches, {game['bytes']:,} bytes; "
            f"verified in {game['verify_ms']:.1f} ms, sought in {game['seek_ms_median']:.2f} ms (at most "
            f"{game['seek_ms_max']:.1f}), {game['frames_per_s']:,} frames/s"
        )
    for name, case in result["recording"].items():
        print(f"{name}, {case['games_recorded']} games recorded")
        for form, row in case["forms"].items():
            spread = f"({row['cost_us_lowest']:.2f} - {row['cost_us_highest']:.2f})"
            print(
                f"  {form:24}{row['step_us']:8.2f} us a step{row['cost_us']:8.2f}{spread:>20}"
                f"{row['cost_percent']:7.1f} %"
            )


if __name__ == "__main__":
    sys.exit(main())
