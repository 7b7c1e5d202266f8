#!/usr/bin/env python3
"""Strength over processor minutes: examines every network that runs have kept on their way.

    python benchmarks/bots/champion_curve.py "from the clone=runs/champion" "from nothing=runs/nothing"
    python benchmarks/bots/champion_curve.py --draw     draw docs/images/champion_curve.png

A folder is one of examples/champion.py, or of examples/pairs_ppo.py, whose networks are in ``history/``.
That of champion.py has the style and the clone, too, and its minutes count from the first step. Each plays a
short examination: games at full size, two seats of 32 against mixed-2, and small ones, two of 12 against ten
of each bot, on maps and seeds of no training. Intervals are of 95 per cent, over games.

What was examined is kept in the folder of ``--exams`` and not played again. The result goes to
benchmarks/results/champion_curve.json after each network.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import territorial
from benchmarks import harness
from benchmarks.bots.road_folders import make_untrained, points_of
from benchmarks.bots.short_exam import ShortExam, add_options, line_of
from territorial.evaluation.charts import check_matplotlib

RESULT = harness.RESULTS / "champion_curve.json"
PICTURE = harness.RESULTS.parents[1] / "docs/images/champion_curve.png"
DRAWN = {
    "above": "share of the bots' seats that it is above",
    "fair": "wins over the fair share, of 16 at most",
}


def main(argv: list[str] | None = None) -> int:
    """Examine, print and write, or draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=labelled, metavar="LABEL=FOLDER", help="runs to examine")
    parser.add_argument(
        "--draw", action="store_true", help="measure nothing; draw the result that is on file"
    )
    add_options(parser, 200, RESULT)
    parsed = parser.parse_args(argv)
    if parsed.draw:
        draw(json.loads(parsed.json.read_bytes()), PICTURE)
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        if parsed.quick:
            road = Path(temporary, "road")
            make_untrained(road)
            parsed.runs, parsed.exams, parsed.games = [("untrained", road)], Path(temporary), 10
        if not parsed.runs:
            parser.error("there are no runs; LABEL=FOLDER names one")
        try:
            examine(parsed)
        except (ValueError, OSError) as error:
            parser.error(str(error))
    return 0


def labelled(text: str) -> tuple[str, Path]:
    """Return the label and the folder of a run."""
    label, _, folder = text.partition("=")
    if not label or not folder:
        raise argparse.ArgumentTypeError(f"{text!r} is not LABEL=FOLDER")
    return label, Path(folder)


def examine(parsed: argparse.Namespace) -> None:
    """Examine all networks of all runs; print and write after each."""
    exam = ShortExam(parsed.exams, parsed.games, parsed.threads)
    curves: dict[str, list[dict[str, Any]]] = {label: [] for label, _ in parsed.runs}
    for label, folder in parsed.runs:
        for point in points_of(folder):
            harness.tell(f"{label}: {point.what} after {point.minutes:.0f} minutes")
            found = exam.examined(point.player)
            curves[label].append({"minutes": round(point.minutes, 2), "what": point.what, **found})
            harness.tell("")
            about = f"{label}, {point.what}, {point.minutes:.1f} min"
            print(f"{about}: {line_of(found)}", flush=True)
            harness.write(
                parsed.json,
                {"rules_version": territorial.RULES_VERSION, "games": parsed.games, "curves": curves},
            )


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw all curves, with their intervals, into one picture."""
    pyplot = check_matplotlib()
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, (key, title) in zip(axes, DRAWN.items(), strict=True):
        for label, points in result["curves"].items():
            minutes = [point["minutes"] for point in points]
            low, value, high = ([point[key][end] for point in points] for end in ("low", "value", "high"))
            (line,) = axis.plot(minutes, value, marker="o", markersize=3, label=label)
            axis.fill_between(minutes, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axis.set_xlabel("minutes of processor time")
        axis.set_title(title, fontsize=10)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower right")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
