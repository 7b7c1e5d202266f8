"""What benchmarks of sampling have in common: runners that take turns, and what their speeds come to."""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks import harness
from territorial import GameConfig
from territorial.cli import options

Speed = tuple[float, float]
"""Agent steps a second of wall time, and per second of this process."""


def add_options(parser: argparse.ArgumentParser, games: int, rounds: int, result: Path) -> None:
    """Add how many games, how many rounds, and where the result goes."""
    parser.add_argument(
        "--num-games",
        type=options.whole(1, 1024),
        default=games,
        help="games that run side by side; in each env runner (default %(default)s)",
    )
    harness.add_rounds(parser, rounds, options.whole(1, 1000))
    harness.add_json(parser, result)


def take_turns(runners: dict[str, Any], rounds: int, *, begin_anew: bool) -> dict[str, list[Speed]]:
    """Return the speeds of all rounds; ``begin_anew``: every sample is one of games that have just begun."""
    speeds: dict[str, list[Speed]] = {name: [] for name in runners}
    for number in range(rounds + 1):  # the first round warms up
        for name, runner in runners.items():
            if begin_anew:
                runner.sample(num_timesteps=runner.num_envs, force_reset=True)
            speed = of_one_sample(runner)
            speeds[name] += [speed] if number else []
            print(f"round {number}: {name} {speed[0]:,.0f} agent steps/s", flush=True)
    return speeds


def of_one_sample(runner: Any) -> Speed:
    """Return the speed of one sample."""
    wall, own = time.perf_counter(), time.process_time()
    episodes = runner.sample()
    wall, own = time.perf_counter() - wall, time.process_time() - own
    steps = sum(len(part) for episode in episodes for part in episode.agent_episodes.values())
    return steps / wall, steps / own


def report(game: GameConfig, speeds: dict[str, list[Speed]], goal: int, **about: Any) -> dict[str, Any]:
    """Return the result as plain data: medians, and how many times as fast the second runner is."""
    wall, own = (
        {name: statistics.median(speed[i] for speed in all_) for name, all_ in speeds.items()} for i in (0, 1)
    )
    slow, fast = speeds
    return {
        "height": game.height,
        "width": game.width,
        "players": game.num_players,
        **about,
        "agent_steps_per_second": {name: round(value) for name, value in wall.items()},
        "agent_steps_per_process_second": {name: round(value) for name, value in own.items()},
        "all_rounds": {name: [round(speed[0]) for speed in all_] for name, all_ in speeds.items()},
        "times_as_fast": round(own[fast] / own[slow], 2),
        "times_as_fast_by_the_wall": round(wall[fast] / wall[slow], 2),
        "goal": goal,
        "versions": harness.versions_of("ray", "torch"),
    }


def finish(result: dict[str, Any], out: Path) -> int:
    """Write the result, and return the exit code: 1 below the goal."""
    harness.write(out, result)
    times, goal = result["times_as_fast"], result["goal"]
    print(f"{times:.1f} times as fast, goal {goal}; written to {out}")
    return int(times < goal)
