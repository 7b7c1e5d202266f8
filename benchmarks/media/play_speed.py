#!/usr/bin/env python3
"""Times frames and clicks of the pages in Chromium, without a GPU.

    python benchmarks/media/play_speed.py            seven minutes
    python benchmarks/media/play_speed.py --quick    one film, one game without panels, some clicks

A picture every 16.7 ms is all that a screen shows. "watch" are whole films of a game of 32 seats on 256 x
256 cells, of 128 on 512 x 512 and of 250 on 1,024 x 1,024: the page's own work for a picture, and the search
for places of names and attacks. "play" is a game of 32 seats, served by the command itself in a process of
its own. Names, attacks and outlines are shown; with panels, the advice and what an agent sees as well.
"picture" is the page's own work for a picture with a new frame of the film, at 200 ticks a second. Clicks
are those of a mouse: "acknowledged" is the time to the picture that shows the session's answer, "late" the
time from the next decision, which the answer tells, to the picture that lists the attack. "processor" is the
time that all processes of the browser together take for each new frame of the film that is shown; of a game,
of one with 128 seats on 512 x 512 cells at 200 ticks a second. Exit code 1 if a median is over its bound, or
a click over CLICK_MS, unless ``--quick``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import territorial
from benchmarks import harness
from territorial.browser.web import write_page
from tests.browser import chromium
from tests.browser.chromium import open_tab, soon
from tests.browser.frame_times import FORGET, SCRIPT, play_through, summary
from tests.browser.games import film_of, frames_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WATCH_MS, PICTURE_MS, CLICK_MS = 16.7, 8.0, 250.0
TICKS_PER_SECOND = 200
PICTURE_SECONDS = 5
"""Of one game; many a game of the simple player ends not much later."""
LINEUP = territorial.LINEUPS["mixed-1"].seats
FILMS = {
    "watch, 256 x 256, 32 seats": (territorial.GameConfig(), 200),
    "watch, 512 x 512, 128 seats": (territorial.GameConfig(height=512, width=512, num_players=128), 800),
    "watch, 1,024 x 1,024, 250 seats": (
        territorial.GameConfig(height=1024, width=1024, num_players=250),
        800,
    ),
}
"""Games, and the ticks a second at which they are played."""
CHAMPIONS = ("--opponent", "champion")
LARGE = ("--set", "height=512", "--set", "width=512", "--num-players", "128", "--level", "easy")
OPENING_TICKS = 300
"""After these all touch each other, and there are attacks everywhere."""
OPENING_PACE = 300

# Plays simply: free land while there is any, else whom it touches most.
PLAY = """
window.plays = setInterval(() => {
  const { game } = page, owners = game.now.openings.filter(({ reason }) => !reason).map(({ owner }) => owner);
  if (owners.length && !game.now.queued) game.attack(owners.includes(NEUTRAL) ? NEUTRAL : owners[0]);
}, 100);
"""

# From the release of the button to the picture that shows the session's answer, and from the decision to the
# picture that lists the attack; an attack may be over before it is told of.
CLICK = """
window.clicksSent = 0;
window.clicksDone = [];
{
  const { connection } = page.game, send = connection.send.bind(connection), { arrived } = connection;
  let released = 0, report = () => {};
  addEventListener("pointerup", ({ timeStamp }) => { released = timeStamp; }, { capture: true });
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  }));
  connection.arrived = (now) => {
    arrived(now);
    report(now);
  };
  const isListed = ({ attacks }, owner) => attacks.some(([target]) => target === owner);
  connection.send = async (command) => {
    if (command.do !== "launch") return send(command);
    const begun = released, times = {};
    let end = Infinity; // the tick of the first situation after the decision
    const list = new Promise((done) => {
      report = (now) => {
        if (isListed(now, command.target)) done(painted());
        else if (now.tick >= end) done(null);
      };
    });
    clicksSent++;
    const reason = await send(command), { now } = page.game;
    const due = performance.now() + (now.queued ? now.wait_ms : 0);
    end = now.tick + (now.queued ? 10 : 0);
    report(now);
    times.acknowledged = await painted() - begun;
    const seen = reason ? null : await list;
    if (seen !== null) times.late = Math.max(0, seen - due);
    clicksDone.push(times);
    return reason;
  };
}
0; // no function, which would be called
"""
# Some cell well within the land of a legal target that is not attacked yet, as a point of the window.
SPOT = """(() => {
  const { game, board, view, painter: { width } } = page, { left, top } = view.box.getBoundingClientRect();
  const attacked = new Set(game.now.attacks.map(([target]) => target));
  const open = game.now.openings.filter(({ owner, reason }) => !reason && !attacked.has(owner));
  const legal = open.map(({ owner }) => owner);
  for (const reach of [3, 2, 1, 0]) {
    for (let cell = 0; cell < board.length; cell += 7) {
      if (!legal.includes(board[cell])) continue;
      const around = [cell - reach, cell + reach, cell - reach * width, cell + reach * width];
      if (around.some((other) => board[other] !== board[cell])) continue;
      const x = left + view.x + (cell % width + 0.5) * view.scale;
      const y = top + view.y + (Math.floor(cell / width) + 0.5) * view.scale;
      if (document.elementFromPoint(x, y)?.id === "cells") return [x, y];
    }
  }
  return null;
})()"""
PLACES = """(() => {
  const { film, view, overlay } = page, board = new Uint8Array(film.numCells);
  return film.ticks.map((_, frame) => {
    film.move(board, frame - 1, frame);
    const begun = performance.now();
    overlay.find(board, view, frame);
    return performance.now() - begun;
  });
})()"""


class PlayExtent(NamedTuple):
    """How much is measured of a page that plays."""

    pictures: int
    clicks: int
    """At each pace."""
    paces: tuple[int | str, ...]


WHOLE = PlayExtent(250, 15, ("step", 5, 20, 80, 200))
QUICK = PlayExtent(20, 3, ("step", 200))


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    program = chromium.find()
    if program is None:
        print(f"it needs one of {', '.join(chromium.NAMES)}", file=sys.stderr)
        return 2
    films = dict(list(FILMS.items())[:1]) if parsed.quick else FILMS
    rows: dict[str, dict[str, float]] = {}
    is_met = True
    with tempfile.TemporaryDirectory() as folder, chromium.started() as browser:
        for name, (config, ticks_per_second) in films.items():
            times = watched(browser, Path(folder), config, ticks_per_second)
            rows |= {f"{name}: {what}": found for what, found in times.items()}
            is_met = is_met and times["script"]["median"] <= WATCH_MS
        for has_panels in (False,) if parsed.quick else (False, True):
            play = PlayBenchmark(browser, Path(folder), QUICK if parsed.quick else WHOLE, has_panels)
            shown = play.pictures()
            clicked = {
                f"{pace}, {what}": one
                for pace in play.extent.paces
                for what, one in play.clicks(pace).items()
            }
            name = "play with panels" if has_panels else "play"
            rows |= {f"{name}: {what}": found for what, found in (shown | clicked).items()}
            is_met = is_met and shown["picture"]["median"] <= PICTURE_MS
            is_met = is_met and all(found["max"] <= CLICK_MS for found in clicked.values())
        rows["play, 512 x 512, 128 seats: processor"] = processor_of_play(browser, Path(folder))
    for name, found in rows.items():
        print(f"{name:48}" + " ".join(f"{key} {value:8}" for key, value in found.items()))
    harness.write(parsed.json, {"ms": rows})
    return int(not parsed.quick and not is_met)


def watched(
    browser: Browser, folder: Path, config: territorial.GameConfig, ticks_per_second: int
) -> dict[str, dict[str, float]]:
    """Play a film in the browser, and return its frame times."""
    seats = tuple(LINEUP[i % len(LINEUP)] for i in range(config.num_players))
    write_page(folder / "game.html", film_of(config, seats, frames_of(config, seats)))
    tab = open_tab(browser, (folder / "game.html").as_uri(), SCRIPT)
    soon(tab, "page.film.isComplete")
    begun = spent(browser)
    times = play_through(tab, ticks_per_second)
    processor = per_frame(tab, spent(browser) - begun)
    places = summary(tab.evaluate(PLACES))
    tab.context.close()
    return {**times, "places": places, "processor": processor}


def spent(browser: Browser) -> float:
    """Return the milliseconds of processor that all processes of the browser have taken."""
    found = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    return sum(1000 * process["cpuTime"] for process in found["processInfo"])


def per_frame(tab: Page, ms: float) -> dict[str, float]:
    """Return the mean for each of the frames that a tab has shown, and their number."""
    number = tab.evaluate("new Set(framesShown).size")
    return {"mean": round(ms / number, 2), "number": number}


def processor_of_play(browser: Browser, folder: Path) -> dict[str, float]:
    """Return the milliseconds of processor for each new frame of a large game."""
    with played(browser, 5, folder, has_panels=False, options=LARGE) as tab:
        tab.evaluate(f"page.game.setPace({TICKS_PER_SECOND}), {FORGET}")
        begun = spent(browser)
        tab.evaluate(f"new Promise((done) => setTimeout(done, {1000 * PICTURE_SECONDS}))")
        return per_frame(tab, spent(browser) - begun)


class PlayBenchmark:
    """Plays games with seeds 0, 1 ... until enough has been measured."""

    def __init__(self, browser: Browser, folder: Path, extent: PlayExtent, has_panels: bool) -> None:
        self._browser, self._folder, self._has_panels = browser, folder, has_panels
        self.extent = extent

    def _games(self, pace: int | str) -> Iterator[Page]:
        for seed in count():
            with played(self._browser, seed, self._folder, has_panels=self._has_panels) as tab:
                tab.evaluate(f"page.game.setPace({json.dumps(pace)})")
                soon(tab, f"page.game.now.pace === {json.dumps(pace)}")
                yield tab

    def pictures(self) -> dict[str, dict[str, float]]:
        """Return the times of pictures, without and with the browser's painting."""
        script: list[float] = []
        whole: list[float] = []
        games = self._games(TICKS_PER_SECOND)
        while len(script) < self.extent.pictures:
            times = pictures(next(games), PICTURE_SECONDS)
            script += times["script"]
            whole += times["whole"]
        games.close()
        return {"picture": summary(script), "picture with painting": summary(whole)}

    def clicks(self, pace: int | str) -> dict[str, dict[str, float]]:
        """Return the times of clicks at a pace."""
        found: list[dict[str, float]] = []
        games = self._games(pace)
        while len(found) < self.extent.clicks:
            found += clicks(next(games), self.extent.clicks - len(found))
        games.close()
        late = [times["late"] for times in found if "late" in times]
        acknowledged = summary([times["acknowledged"] for times in found])
        return {"acknowledged": acknowledged} | ({"late": summary(late)} if late else {})


@contextmanager
def played(
    browser: Browser, seed: int, folder: Path, *, has_panels: bool, options: Sequence[str] = CHAMPIONS
) -> Iterator[Page]:
    """Give a page that plays a game of ``territorial play``, in which all touch each other already."""
    command = [sys.executable, "-m", "territorial", "play", "--no-open", "--port", "0"]
    game = [*command, "--seed", str(seed), "--pace", str(OPENING_PACE), "--save", str(folder / "game.replay")]
    game += options
    with subprocess.Popen(game, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            tab = open_tab(browser, process.stdout.readline().split()[2], SCRIPT)
            soon(tab, "document.activeElement.matches('#start [type=submit]')")
            tab.keyboard.press("Enter")
            soon(tab, "page.painter && page.frame >= 0 && !page.game.now.is_paused")
            tab.evaluate(PLAY)
            soon(tab, f"page.game.now.tick >= {OPENING_TICKS}")
            if has_panels:
                _open_panels(tab)
            yield tab
            tab.context.close()
        finally:
            process.terminate()


def _open_panels(tab: Page) -> None:
    """Show the advice and what an agent sees."""
    for panel in ("advice", "agent_view"):
        tab.evaluate(f"page.game.toggle('{panel}')")
        soon(tab, f"!element('{panel}').hidden")


def pictures(tab: Page, seconds: float) -> dict[str, list[float]]:
    """Return the work of the pictures of so many seconds of playing, in milliseconds; fewer if the seat dies.

    "script" is all that the page does for a picture with a new frame of the film, "whole" that and the
    browser's work until it is painted, of all pictures.
    """
    first = tab.evaluate(f"{FORGET}, page.frame")
    tab.evaluate(
        f"new Promise((done) => {{ const end = performance.now() + {1000 * seconds}; const look = () => "
        "(performance.now() > end || !page.game.now.is_alive ? done() : setTimeout(look, 20)); look(); })"
    )
    times, frames = tab.evaluate("[frameTimes, framesShown]")
    is_new = [now > last for last, now in zip([first, *frames], frames, strict=False)]
    script = [time for time, new in zip(times["script"], is_new, strict=True) if new]
    return {"script": script, "whole": times["whole"]}


def clicks(tab: Page, number: int) -> list[dict[str, float]]:
    """Click on so many targets, or fewer if the seat dies.

    Returns for each click the milliseconds to the picture with the answer, ``acknowledged``. ``late`` are
    those from the decision, as it was told, to the picture that lists the attack; for some clicks there is
    none, as an attack can be over at once.
    """
    tab.evaluate("clearInterval(plays), page.game.setShare(8)")
    tab.evaluate(CLICK)
    while tab.evaluate(f"clicksSent < {number} && page.game.now.is_alive && !page.game.now.is_over"):
        spot = tab.evaluate(SPOT)
        if spot is None:
            tab.evaluate("page.game.hold(), new Promise((done) => setTimeout(done, 50))")
            continue
        sent = tab.evaluate("clicksSent")
        tab.mouse.click(*spot)
        if tab.evaluate("clicksSent") > sent:  # else the land has just changed hands
            soon(tab, "clicksDone.length === clicksSent")
    return list(tab.evaluate("clicksDone"))


if __name__ == "__main__":
    sys.exit(main())
