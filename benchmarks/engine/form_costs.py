"""What the benchmarks share that compare forms of observations: games, options, spreads and the table."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import territorial
from benchmarks import harness
from territorial.cli import options

NUM_GAMES = 16
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}
MOST_STEPS = 10**7

Rows = Mapping[str, Mapping[str, float]]
"""What was measured of each form, by its name."""


def parse(argv: list[str] | None, doc: str | None, *, least_steps: int, result: Path) -> argparse.Namespace:
    """Return the arguments; ``doc`` says what is measured, and ``result`` is where that is written."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=options.whole(least_steps, MOST_STEPS),
        default=6000,
        help="environment steps to run; so many of each game (default %(default)s)",
    )
    options.add_seed_option(parser, "seed of the games")
    harness.add_json(parser, result)
    return parser.parse_args(argv)


def batch(config: territorial.GameConfig, seed: int, **arguments: Any) -> territorial.VecGame:
    """Return games of bots that have begun: all kinds of mixed-1, in their proportions."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    seats = [lineup[i * len(lineup) // config.num_players] for i in range(config.num_players)]
    game = territorial.VecGame(config, NUM_GAMES, seed, seats=seats, **arguments)
    game.reset()
    return game


def tell_progress(done: int, whole: int) -> None:
    """Show on stderr how much is done, some 20 times in all."""
    if done % max(1, whole // 20) == 0:
        harness.tell(f"{100 * done // whole:3d} %")


def spread_of(column: str, parts: Sequence[float], digits: int) -> dict[str, float]:
    """Return the median of what parts of the run gave, the least and the most, as entries of a row."""
    return {
        column: round(statistics.median(parts), digits),
        f"{column}_lowest": round(min(parts), digits),
        f"{column}_highest": round(max(parts), digits),
    }


def finish(
    parsed: argparse.Namespace, rows: Rows, *, column: str, limited: str, limit: float, **about: Any
) -> int:
    """Write and print the result, which ``about`` adds to; return the exit code.

    That is 1 if at full size ``column`` of the form ``limited`` is above ``limit``.
    """
    result = {"config_digest": CONFIGS[parsed.size].hexdigest, "num_games": NUM_GAMES, "steps": parsed.steps}
    harness.write(parsed.json, result | {"limit_us": limit} | about | {"forms": rows})
    print_table(rows, column)
    print(f"at most {limit:g} are allowed of {limited!r}; written to {parsed.json}")
    return int(parsed.size == "full" and rows[limited][column] > limit)


def print_table(rows: Rows, column: str) -> None:
    """Print a line for each form: ``column`` with its spread, and then the others."""
    spread = (column, f"{column}_lowest", f"{column}_highest")
    for form, row in rows.items():
        median, low, high = (row[name] for name in spread)
        others = "".join(f", {name} {value:.2f}" for name, value in row.items() if name not in spread)
        print(f"{form:38}{column} {median:7.2f} ({low:.2f} - {high:.2f}){others}")
