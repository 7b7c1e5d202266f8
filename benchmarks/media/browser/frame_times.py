"""How long the page works for each picture, measured in the browser while it plays a film to its end."""

from __future__ import annotations

from typing import Any

from benchmarks.media.browser.chromium import Tab

# Wraps what the page asks for to be called before the next picture. A message that is sent there arrives
# when styles, layout and painting are done.
SCRIPT = """
window.frameTimes = { script: [], whole: [], distance: [] };
{
  const request = window.requestAnimationFrame.bind(window), channel = new MessageChannel();
  let begun = 0, last = 0;
  channel.port1.onmessage = () => frameTimes.whole.push(performance.now() - begun);
  window.requestAnimationFrame = (act) => request((now) => {
    begun = performance.now();
    if (last) frameTimes.distance.push(now - last);
    last = now;
    act(now);
    frameTimes.script.push(performance.now() - begun);
    channel.port2.postMessage(0);
  });
}
"""


def play_through(tab: Tab, ticks_per_second: int) -> dict[str, dict[str, float]]:
    """Play the film of a tab that was opened with SCRIPT, and return its frame times in milliseconds.

    "script" is the page's own work, "whole" that and the browser's until the picture is painted,
    "distance" the time from one picture to the next; each with its median, 99th percentile and number.
    """
    tab.evaluate(f"page.play(false), page.seek(0), page.setSpeed({ticks_per_second})")
    tab.wait_for("page.frame === 0")
    tab.evaluate("page.play(true), Object.values(frameTimes).forEach((times) => times.length = 0)")
    tab.wait_for("!page.isPlaying", seconds=240)
    return {name: _summary(times) for name, times in tab.evaluate("frameTimes").items()}


def find_places(tab: Tab) -> dict[str, float]:
    """Find places for all labels and arrows of every frame, and return the times in milliseconds."""
    times: list[float] = tab.evaluate("""(() => {
        const { film, view, overlay } = page, board = new Uint8Array(film.numCells);
        return film.ticks.map((_, frame) => {
            film.move(board, frame - 1, frame);
            const begun = performance.now();
            overlay.find(board, view, frame);
            return performance.now() - begun;
        });
    })()""")
    return _summary(times)


def _summary(times: list[float]) -> dict[str, Any]:
    ordered = sorted(times)
    return {
        "median": round(ordered[len(ordered) // 2], 2),
        "p99": round(ordered[int(len(ordered) * 0.99)], 2),
        "number": len(ordered),
    }
