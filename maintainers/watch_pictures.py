#!/usr/bin/env python3
"""Makes the pictures of docs/watching.md in Chromium.

PYTHONPATH=. python maintainers/watch_pictures.py docs/images/watch.png
PYTHONPATH=. python maintainers/watch_pictures.py docs/images/watch-teams.png teams
"""

import sys
import tempfile
from pathlib import Path

from PIL import Image

from territorial.browser.film import film_header, write_film
from territorial.browser.web import write_page
from territorial.replay import LiveGame
from tests.browser import chromium
from tests.browser.chromium import open_tab, soon
from tests.browser.games import FULL, full_game
from tests.replay.team_games import begin

TICK = 1500
TEAMS = FULL.replace(teams=4, team_spawns="together")


def film_of_teams() -> bytes:
    """Return the film of a game of four teams, of which every other player gives to its allies."""
    game = begin(TEAMS, seed=0)
    live = LiveGame(game)
    header = film_header(TEAMS, live.names, "four teams of eight", map_kind=str(TEAMS.map), teams=live.teams)
    return b"".join(write_film(header, (frame for frame in live.frames() if frame.tick <= 2 * TICK)))


def main(argv: list[str]) -> int:
    """Write the picture to the first argument and return the exit code."""
    if argv[1:] not in ([], ["teams"]) or not argv or chromium.find() is None:
        sys.stderr.write(f"{__doc__}\nIt needs {' or '.join(chromium.NAMES)}.\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, chromium.started() as browser:
        path = Path(folder) / "game.html"
        write_page(path, film_of_teams() if argv[1:] else full_game()[1])
        tab = open_tab(browser, path.as_uri(), width=1040, height=650)
        soon(tab, "page.film.isComplete")
        tab.evaluate(f"page.setTheme('light'), page.play(false), page.seek({TICK})")
        soon(tab, f"element('clock').textContent.startsWith('tick {TICK:,} ')")
        tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.screenshot(path=argv[0])
        if argv[1:]:  # its colours are few
            Image.open(argv[0]).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
                argv[0], optimize=True
            )
    sys.stdout.write(f"picture: {argv[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
