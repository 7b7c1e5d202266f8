"""What a player waits for, measured in the page that plays: pictures, and answers to clicks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.media.browser.chromium import Browser, Tab
from benchmarks.media.browser.frame_times import FORGET, SCRIPT

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
  const { orders } = page.game, send = orders.send.bind(orders), { arrived } = orders;
  let released = 0, told = () => {};
  addEventListener("pointerup", ({ timeStamp }) => { released = timeStamp; }, { capture: true });
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(0);
  }));
  orders.arrived = (now) => {
    arrived(now);
    told(now);
  };
  const isListed = ({ attacks }, owner) => attacks.some(([target]) => target === owner);
  orders.send = async (command) => {
    if (command.do !== "launch") return send(command);
    const begun = released, times = {};
    let end = Infinity; // the tick of the first situation after the decision
    const list = new Promise((done) => {
      told = (now) => {
        if (isListed(now, command.target)) done(painted());
        else if (now.tick >= end) done(null);
      };
    });
    clicksSent++;
    const reason = await send(command), { now } = page.game;
    const due = performance.now() + (now.queued ? now.wait_ms : 0);
    end = now.tick + (now.queued ? 10 : 0);
    told(now);
    times.acknowledged = await painted() - begun;
    const seen = reason ? null : await list;
    if (seen !== null) times.late = Math.max(0, seen - due);
    clicksDone.push(times);
    return reason;
  };
}
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


@contextmanager
def played(browser: Browser, seed: int, folder: Path, *, has_panels: bool) -> Iterator[Tab]:
    """Give a page that plays a game of ``territorial play``, in which all touch each other already."""
    command = [sys.executable, "-m", "territorial", "play", "--no-open", "--port", "0", "--json", "-"]
    game = [*command, "--seed", str(seed), "--pace", str(OPENING_PACE), "--save", str(folder / "game.replay")]
    with subprocess.Popen(game, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or lines[-1] != "}\n":
                lines.append(process.stdout.readline())
            tab = browser.open(json.loads("".join(lines))["url"], SCRIPT)
            tab.wait_for("page.game?.now && page.painter && page.frame >= 0")
            tab.evaluate(PLAY)
            tab.wait_for(f"page.game.now.tick >= {OPENING_TICKS}")
            if has_panels:
                _open_panels(tab)
            yield tab
            tab.call("Page.close")
        finally:
            process.terminate()


def set_pace(tab: Tab, pace: int | str) -> None:
    """Change the pace: ticks a second, or "step"."""
    tab.evaluate(f"page.game.setPace({json.dumps(pace)})")
    tab.wait_for(f"page.game.now.pace === {json.dumps(pace)}")


def _open_panels(tab: Tab) -> None:
    """Show the advice and what an agent sees."""
    for panel in ("advice", "sight"):
        tab.evaluate(f"page.game.toggle('{panel}')")
        tab.wait_for(f"!element('{panel}').hidden")


def pictures(tab: Tab, seconds: float) -> dict[str, Any]:
    """Return the work of the pictures of so many seconds of playing, in milliseconds; fewer if the seat dies.

    "script" is all that the page does for a picture with a new frame of the film, "whole" that and the
    browser's work until it is painted, of all pictures. "mean" is all the time that scripts ran, those of
    messages and of pictures without anything new included, over the number of frames.
    """
    tab.call("Performance.enable")
    before, first = _script_seconds(tab), tab.evaluate(f"{FORGET}, page.frame")
    tab.evaluate(
        f"new Promise((done) => {{ const end = performance.now() + {1000 * seconds}; const look = () => "
        "(performance.now() > end || !page.game.now.is_alive ? done() : setTimeout(look, 20)); look(); })"
    )
    times, frames = tab.evaluate("[frameTimes, framesShown]")
    is_new = [now > last for last, now in zip([first, *frames], frames, strict=False)]
    script = [time for time, new in zip(times["script"], is_new, strict=True) if new]
    return {
        "script": script,
        "whole": times["whole"],
        "mean": 1000 * (_script_seconds(tab) - before) / max(1, frames[-1] - first),
    }


def _script_seconds(tab: Tab) -> float:
    metrics = tab.call("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ScriptDuration"))


def clicks(tab: Tab, number: int) -> list[dict[str, float]]:
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
        tab.click(*spot)
        if tab.evaluate("clicksSent") > sent:  # else the land has just changed hands
            tab.wait_for("clicksDone.length === clicksSent")
    return list(tab.evaluate("clicksDone"))
