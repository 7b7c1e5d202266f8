"""How long the page works for each picture, measured in the browser while it plays a film to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.chromium import soon

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Wraps what the page asks for to be called before the next picture; it may ask for several calls. A message
# that is sent there arrives when styles, layout and painting are done.
SCRIPT = """
window.frameTimes = { script: [], whole: [], distance: [] };
window.framesShown = []; // by picture, as in frameTimes.script
{
  const request = window.requestAnimationFrame.bind(window), channel = new MessageChannel();
  let begun = 0, last = 0;
  channel.port1.onmessage = () => frameTimes.whole.push(performance.now() - begun);
  window.requestAnimationFrame = (act) => request((now) => {
    const called = performance.now();
    if (now !== last) {
      if (last) frameTimes.distance.push(now - last);
      frameTimes.script.push(0);
      channel.port2.postMessage(0);
      [begun, last] = [called, now];
    }
    act(now);
    frameTimes.script[frameTimes.script.length - 1] += performance.now() - called;
    framesShown[frameTimes.script.length - 1] = page.frame;
  });
}
"""
FORGET = "[...Object.values(frameTimes), framesShown].forEach((times) => times.length = 0)"


def play_through(tab: Page, ticks_per_second: int) -> dict[str, dict[str, float]]:
    """Play the film of a tab that was opened with SCRIPT, and return its frame times in milliseconds.

    "script" is the page's own work, "whole" that and the browser's until the picture is painted,
    "distance" the time from one picture to the next; each as ``summary`` has it.
    """
    tab.evaluate(f"page.play(false), page.seek(0), page.setSpeed({ticks_per_second})")
    soon(tab, "page.frame === 0")
    tab.evaluate(f"page.play(true), {FORGET}")
    soon(tab, "!page.isPlaying")
    return {name: summary(times) for name, times in tab.evaluate("frameTimes").items()}


def summary(times: list[float]) -> dict[str, Any]:
    """Return the median, two high percentiles, the largest and the number of some times."""
    ordered = sorted(times)
    return {
        "median": round(ordered[len(ordered) // 2], 2),
        "p95": round(ordered[int(len(ordered) * 0.95)], 2),
        "p99": round(ordered[int(len(ordered) * 0.99)], 2),
        "max": round(ordered[-1], 2),
        "number": len(ordered),
    }
