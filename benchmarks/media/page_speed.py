#!/usr/bin/env python3
"""How smoothly the page of `territorial watch` plays: frame times measured in Chromium, without a GPU.

    python benchmarks/media/page_speed.py              two whole games, about half a minute
    python benchmarks/media/page_speed.py --size small a small one in seconds

A picture every 16.7 ms is all that a screen shows; work that takes less than that is smooth. The result,
with the machine and the versions, goes to benchmarks/results/page_speed.json. "places" is the search for
places of names and attacks on the board, which is part of the work for some of the pictures. Exit code 1 if
the page's own work for a picture takes more than LIMIT ms, at the median, in any of the games.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import territorial
from benchmarks import goals, harness
from benchmarks.media.browser import chromium
from benchmarks.media.browser.films import film_of, frames_of
from benchmarks.media.browser.frame_times import SCRIPT, find_places, play_through
from territorial.cli import options
from territorial.render.web import write_page

LIMIT = goals.bound("page_speed", "games/*/script_ms/median")
RESULT = harness.RESULTS / "page_speed.json"
BOTS = ("metronome", "banker", "turtle", "novice")


class PageCase(NamedTuple):
    """A game and how fast it is played."""

    config: territorial.GameConfig
    ticks_per_second: int

    def seats(self) -> tuple[str, ...]:
        """Return who plays: the line-up where it fits."""
        lineup, num_players = territorial.LINEUPS["mixed-1"].seats, self.config.num_players
        return lineup if num_players == len(lineup) else (BOTS * num_players)[:num_players]


FULL = territorial.GameConfig()
LARGEST = territorial.GameConfig(height=1024, width=1024, num_players=250)
CASES = {
    "full": (PageCase(FULL, 200), PageCase(FULL, 800), PageCase(LARGEST, 800)),
    "small": (PageCase(territorial.GameConfig(height=64, width=64, num_players=4, max_ticks=800), 800),),
}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, CASES)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    program = chromium.find()
    if program is None:
        print(f"it needs one of {', '.join(chromium.NAMES)}", file=sys.stderr)
        return 2
    rows = [measure(case) for case in CASES[parsed.size]]
    browser = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    result = {
        "versions": {"browser": browser.strip().splitlines()[-1]},
        "limit_ms": LIMIT,
        "games": rows,
    }
    harness.write(parsed.json, result)
    print(f"written to {parsed.json}")
    return 0 if all(row["script_ms"]["median"] <= LIMIT for row in rows) else 1


def measure(case: PageCase) -> dict[str, Any]:
    """Play one case in the browser, print its frame times and return all there is to know of it."""
    config = case.config
    frames = frames_of(config, case.seats())
    film = film_of(config, case.seats(), frames)
    with tempfile.TemporaryDirectory() as folder, chromium.Browser() as browser:
        page_bytes = write_page(Path(folder) / "game.html", film)
        tab = browser.open((Path(folder) / "game.html").as_uri(), SCRIPT)
        tab.wait_for("page.film.isComplete")
        times = {**play_through(tab, case.ticks_per_second), "places": find_places(tab)}
    row = {
        "height": config.height,
        "width": config.width,
        "num_players": config.num_players,
        "ticks": frames[-1].tick,
        "frames": len(frames),
        "film_bytes": len(film),
        "page_bytes": page_bytes,
        "ticks_per_second": case.ticks_per_second,
        **{f"{name}_ms": summary for name, summary in times.items()},
    }
    print(" ".join(f"{name}={value}" for name, value in row.items()), flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
