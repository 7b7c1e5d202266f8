#!/usr/bin/env python3
"""Measures games in a page, by WebAssembly in Chromium, beside the same games in Python.

    python benchmarks/engine/in_pages.py --games 5
    python benchmarks/engine/in_pages.py --games 1 --minutes 60    and an hour of games in one page

Every game is recorded, and played on from tick 0 to its end in a page of `territorial watch --page` and by
`VecGame.step`, decision by decision, with its own players. The table has the ticks a second of each, their
ratio, and the size of the page. Below are the seconds from opening a page to its first picture, and the
pictures a second of a game that it shows eight times as fast as games are played, drawn without a GPU. Last,
the memory that Chromium's process for a page has for itself while new games are played in it.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks import harness
from territorial import GameConfig, Recorder, Replay, VecGame
from territorial.browser.film import show, write_film
from territorial.browser.hosting import Hosting
from territorial.browser.playable import playable
from territorial.browser.web import write_page
from territorial.engine.seats import LINEUPS, Seat
from territorial.memory.measure import measure
from territorial.memory.plan import MB
from tests.browser.chromium import find, soon

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

SIZES = {"256 x 256, 32 seats": {}, "512 x 512, 128 seats": {"height": 512, "width": 512, "num_players": 128}}
USUAL = GameConfig()
FAST = 160
"""Ticks a second, eight times the usual pace."""
FIRST = """const look = () => {
    if (typeof page === "undefined" || !page.painter) requestAnimationFrame(look);
    else requestAnimationFrame((shown) => { window.firstPicture = shown / 1000; }); // drawn by then
};
requestAnimationFrame(look);"""
PICTURES = f"""async () => {{
    let count = 0;
    const {{ painter }} = page, paint = painter.paint.bind(painter);
    painter.paint = (board) => {{ count += 1; paint(board); }};
    page.setSpeed({FAST});
    page.play(true);
    const began = performance.now();
    await new Promise((done) => setTimeout(done, 10_000));
    return (1000 * count) / (performance.now() - began);
}}"""
NEXT_GAME = """async () => {
    await local.post({ ...local.card, do: "new", seed: null });
    page.game.resume();
    await local.post({ do: "resign" });
    await local.post({ do: "pace", pace: 1000 });
    await local.post({ do: "pause", on: false });
    while (!local.now.is_over) await new Promise((done) => setTimeout(done, 100));
}"""


def recorded(seats: Sequence[Seat], seed: int, config: GameConfig = USUAL) -> tuple[Replay, float]:
    """Return a game, and the seconds that it took here."""
    game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    with Recorder(game) as recorder:
        game.reset(seeds=[seed])
        began = time.perf_counter()
        while not game.state.over[0]:
            game.step(hold=True)
        seconds = time.perf_counter() - began
        return recorder.replay(), seconds


def pictures(browser: Browser, folder: Path) -> None:
    """Print how soon and how often pages show pictures."""
    for name, fields in SIZES.items():
        config = GameConfig(**fields)
        replay, _ = recorded(LINEUPS["mixed-2"].seats * (config.num_players // 32), 0, config)
        path = folder / "game.html"
        write_page(path, b"".join(write_film(*show(replay, name))), playable(replay, {}))
        tab = browser.new_page()
        tab.add_init_script(FIRST)
        tab.goto(path.as_uri())
        soon(tab, "window.firstPicture")
        first = tab.evaluate("window.firstPicture")
        soon(tab, "page.film.isComplete")
        print(f"{name:22} first picture {first:.2f} s, {tab.evaluate(PICTURES):.0f} pictures a second")
        tab.close()


def private_memory() -> int:
    """Return the private bytes of the largest process that draws a page."""
    found = (process for process in measure().processes if "--type=renderer" in command_of(process.pid))
    return max(process.private for process in found)


def command_of(pid: int) -> str:
    """Return the command line of a process."""
    return (harness.PROC / str(pid) / "cmdline").read_text().replace("\0", " ")


def hours(browser: Browser, folder: Path, minutes: float) -> None:
    """Print what a page holds while it plays new games for so many minutes."""
    shown, engine = Hosting(level="easy").page()
    write_page(folder / "new.html", b"".join(write_film(*shown)), engine)
    tab = browser.new_page()
    tab.goto((folder / "new.html").as_uri())
    soon(tab, "local.now && !local.isBusy")
    began, games, next_line = time.monotonic(), 0, 0.0
    while (passed := time.monotonic() - began) < 60 * minutes:
        tab.evaluate(NEXT_GAME)
        games += 1
        if passed >= next_line:
            next_line = passed + 3 * minutes
            print(f"{passed / 60:5.1f} minutes, {games} games: {private_memory() / MB:.0f} MB", flush=True)


def main() -> None:
    """Play all games and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=5, help="of each line-up (default 5)")
    parser.add_argument("--minutes", type=float, default=0, help="of new games in one page (default none)")
    parsed = parser.parse_args()
    games = parsed.games
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
        pictures(browser, Path(folder))
        hours(browser, Path(folder), parsed.minutes)


if __name__ == "__main__":
    main()
