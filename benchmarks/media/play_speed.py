#!/usr/bin/env python3
"""How quickly the page of `territorial play` follows the game and answers: in Chromium, without a GPU.

    python benchmarks/media/play_speed.py            four minutes
    python benchmarks/media/play_speed.py --quick    one game without panels, some clicks

A game of 32 seats on 256 x 256 cells, served by the command itself in a process of its own. Names, attacks
and outlines are shown; with "panels", the advice and what an agent sees as well. "picture" is the page's own
work for a picture with a new frame of the film, at 200 ticks a second. Clicks are those of a mouse:
"acknowledged" is the time to the picture that shows the session's answer, "late" the time from the next
decision, which the answer tells, to the picture that lists the attack. The result, with the machine, its
load and the versions, goes to benchmarks/results/play_speed.json. Exit code 1 if a goal is missed, unless
``--quick``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import goals, harness
from benchmarks.media.browser import chromium
from benchmarks.media.browser.frame_times import summary
from benchmarks.media.browser.play_times import clicks, pictures, played, set_pace

RESULT = harness.RESULTS / "play_speed.json"
PICTURE_MS = goals.bound("play_speed", "cases/*/picture_ms/median")
ACKNOWLEDGED_MS = goals.bound("play_speed", "cases/*/clicks/*/acknowledged_ms/max")
LATE_MS = goals.bound("play_speed", "cases/*/clicks/*/late_ms/max")
TICKS_PER_SECOND = 200
PICTURE_SECONDS = 5
"""Of one game; many a game of the simple player ends not much later."""


class PlayExtent(NamedTuple):
    """How much is measured."""

    pictures: int
    clicks: int
    """At each pace."""
    paces: tuple[int | str, ...]


WHOLE = PlayExtent(250, 15, ("step", 5, 20, 80, 200))
QUICK = PlayExtent(20, 3, ("step", 200))


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_json(parser, RESULT)
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    program = chromium.find()
    if program is None:
        print(f"it needs one of {', '.join(chromium.NAMES)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, chromium.Browser() as browser:
        play = PlayBenchmark(browser, Path(folder), QUICK if parsed.quick else WHOLE)
        cases = {"game": play.measure(has_panels=False)}
        if not parsed.quick:
            cases["panels"] = play.measure(has_panels=True)
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    result = {
        "versions": {"browser": version.strip().splitlines()[-1]},
        "load_before": round(load, 2),
        "ticks_per_second": TICKS_PER_SECOND,
        "cases": cases,
    }
    harness.write(parsed.json, result)
    print(f"written to {parsed.json}")
    return int(not parsed.quick and not all(map(_is_met, cases.values())))


class PlayBenchmark:
    """Plays games with seeds 0, 1 ... until enough has been measured."""

    def __init__(self, browser: chromium.Browser, folder: Path, extent: PlayExtent) -> None:
        self._browser, self._folder, self._extent = browser, folder, extent

    def measure(self, *, has_panels: bool) -> dict[str, Any]:
        """Return the times of pictures and clicks, with or without panels, and print them."""
        case = {
            **self._pictures(has_panels),
            "clicks": {str(pace): self._clicks(has_panels, pace) for pace in self._extent.paces},
        }
        print(f"panels: {has_panels} {case}", flush=True)
        return case

    def _pictures(self, has_panels: bool) -> dict[str, Any]:
        script: list[float] = []
        whole: list[float] = []
        means: list[float] = []
        for seed in count():
            with played(self._browser, seed, self._folder, has_panels=has_panels) as tab:
                set_pace(tab, TICKS_PER_SECOND)
                times = pictures(tab, PICTURE_SECONDS)
            script += times["script"]
            whole += times["whole"]
            means.append(times["mean"])
            if len(script) >= self._extent.pictures:
                break
        return {
            "picture_ms": summary(script),
            "with_painting_ms": summary(whole),
            "scripts_a_frame_ms": round(sum(means) / len(means), 2),
        }

    def _clicks(self, has_panels: bool, pace: int | str) -> dict[str, Any]:
        found: list[dict[str, float]] = []
        for seed in count():
            with played(self._browser, seed, self._folder, has_panels=has_panels) as tab:
                set_pace(tab, pace)
                found += clicks(tab, self._extent.clicks - len(found))
            if len(found) >= self._extent.clicks:
                break
        late = [times["late"] for times in found if "late" in times]
        acknowledged = summary([times["acknowledged"] for times in found])
        return {"acknowledged_ms": acknowledged} | ({"late_ms": summary(late)} if late else {})


def _is_met(case: dict[str, Any]) -> bool:
    """Return whether a case is within all bounds."""
    at_paces = case["clicks"].values()
    return (
        case["picture_ms"]["median"] <= PICTURE_MS
        and all(times["acknowledged_ms"]["max"] <= ACKNOWLEDGED_MS for times in at_paces)
        and all(times["late_ms"]["max"] <= LATE_MS for times in at_paces if "late_ms" in times)
    )


if __name__ == "__main__":
    sys.exit(main())
