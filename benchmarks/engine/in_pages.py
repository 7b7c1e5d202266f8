#!/usr/bin/env python3
"""Measures games in a page, by WebAssembly in Chromium, beside the same games in Python.

    python benchmarks/engine/in_pages.py --games 5

Every game is recorded, and played on from tick 0 to its end in a page of `territorial watch --page` and by
`VecGame.step`, decision by decision, with its own players. The table has the ticks a second of each, their
ratio, and the size of the page.
"""

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from territorial import GameConfig, Recorder, Replay, VecGame
from territorial.browser.film import show, write_film
from territorial.browser.playable import playable
from territorial.browser.web import write_page
from territorial.engine.seats import LINEUPS
from tests.browser.chromium import find

FIELDS = {
    "mixed-2": LINEUPS["mixed-2"].seats,
    "8 champions": ("champion", "settler", "besieger", "banker") * 8,
    "32 champions": ("champion",) * 32,
}
IN_PAGE = """async () => {
    const engine = await Engine.open(JSON.parse(element("engine").textContent)), began = performance.now();
    while (!engine.isOver) engine.step([]);
    return [engine.tick, (performance.now() - began) / 1000];
}"""


def recorded(seats: tuple[str, ...], seed: int) -> tuple[Replay, float]:
    """Return a game, and the seconds that it took here."""
    game = VecGame(GameConfig(), 1, seats=seats, autoreset="disabled", observe=False)
    with Recorder(game) as recorder:
        game.reset(seeds=[seed])
        began = time.perf_counter()
        while not game.state.over[0]:
            game.step(hold=True)
        seconds = time.perf_counter() - began
        return recorder.replay(), seconds


def main() -> None:
    """Play all games and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=5, help="of each line-up (default 5)")
    games = parser.parse_args().games
    print(f"{'256 x 256, 32 seats':20}{'page':>10}{'Python':>10}{'ratio':>8}{'page, KB':>10}")
    recorded(FIELDS["8 champions"], 0)  # compiles what there is to compile
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=find(), args=["--no-sandbox"])
        for name, seats in FIELDS.items():
            ticks, in_page, here, size = 0, 0.0, 0.0, 0
            for seed in range(games):
                replay, seconds = recorded(seats, seed)
                path = Path(folder, "game.html")
                size = write_page(path, b"".join(write_film(*show(replay, name))), playable(replay, {}))
                tab = browser.new_page()
                tab.goto(path.as_uri())
                played, taken = tab.evaluate(IN_PAGE)
                tab.close()
                if played != replay.num_ticks:
                    raise SystemExit(f"the page played {played} ticks of {replay.num_ticks}")
                ticks, in_page, here = ticks + played, in_page + taken, here + seconds
            speeds = f"{ticks / in_page:10,.0f}{ticks / here:10,.0f}{here / in_page:8.2f}"
            print(f"{name:20}{speeds}{size / 1000:10,.0f}")


if __name__ == "__main__":
    main()
