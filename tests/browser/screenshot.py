#!/usr/bin/env python3
"""Makes the picture of docs/watching.md: the page as Chromium shows it, in the middle of a game.

python -m tests.browser.screenshot docs/images/watch.png
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.media.browser import chromium
from benchmarks.media.browser.films import full_game
from territorial.render.web import write_page

TICK = 1500


def main(argv: list[str]) -> int:
    """Write the picture to the one argument and return the exit code."""
    if len(argv) != 1 or chromium.find() is None:
        sys.stderr.write(f"{__doc__}\nIt needs {' or '.join(chromium.NAMES)}.\n")
        return 2
    with tempfile.TemporaryDirectory() as folder, chromium.Browser() as browser:
        path = Path(folder) / "game.html"
        write_page(path, full_game()[1])
        tab = browser.open(path.as_uri(), width=980, height=650)
        tab.wait_for("page.film.isComplete")
        tab.evaluate(f"page.setTheme('light'), page.play(false), page.seek({TICK})")
        tab.wait_for(f"element('clock').textContent.startsWith('tick {TICK:,} ')")
        tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.screenshot(argv[0])
    sys.stdout.write(f"picture: {argv[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
