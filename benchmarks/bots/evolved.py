#!/usr/bin/env python3
"""Evolves styles from several seeds and examines each: how strong evolution makes a bot, and in what time.

    python benchmarks/bots/evolved.py                          three seeds: half an hour of processor time
    python benchmarks/bots/evolved.py --generations 20 --games 50      a look at it
    python benchmarks/bots/evolved.py --style-files upstart/style.json      examine styles that are there

The games of the examination have maps and seeds that no evolution has. At full size two seats of 32 are the
style's. The others are drawn from the line-up mixed-2, or from all bots; games with a decision every 10 ticks
and every 50. In small games two seats of 12 meet ten of one bot, of each bot in turn. Wins are given as
multiples of the fair share, of which two seats of 32 can reach 16. Intervals are of 95 per cent.

The result, with the curves, the processor time, the styles, the machine and the versions, goes to
benchmarks/results/evolved.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.bots.exam_games import (
    DECISIONS,
    FULL,
    LINEUP,
    OWN,
    SMALL,
    ExamField,
    Examiner,
    add_options,
    all_of,
    dealt,
    lineup,
)
from territorial import bots
from territorial.bots import Style
from territorial.cli import options
from territorial.evolution import Evolution, EvolutionSettings, Generation, evolve
from territorial.evolution.evolve import GENERATIONS

RESULT = harness.RESULTS / "evolved.json"
SEEDS = (0, 1, 2)


def main(argv: list[str] | None = None) -> int:
    """Evolve, examine, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--generations",
        type=options.whole(1, 100_000),
        default=GENERATIONS,
        help="generations of the search (default %(default)s)",
    )
    add_options(parser, 2000, "so many of each field at full size, and a fifth of that with each bot alone")
    parser.add_argument(
        "--style-files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="evolve none; examine the styles in these files",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    found = []
    for about in (
        _given(parsed.style_files) if parsed.style_files else _evolved(parsed.generations, parsed.threads)
    ):
        exam = examined(Style.from_dict(about["style"]), parsed.games, parsed.threads)
        found.append({**about, "exam": exam})
        print(text_of(found[-1]), flush=True)
    harness.write(
        parsed.json,
        {
            "rules_version": territorial.RULES_VERSION,
            "games": parsed.games,
            "line_up": LINEUP,
            "styles": found,
        },
    )
    return 0


def _given(paths: list[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield {"seed": None, "style": Style.load(path).to_dict(), "curve": []}


def _evolved(generations: int, threads: int) -> Iterator[dict[str, Any]]:
    """Yield what came of an evolution of every seed."""
    for seed in SEEDS:

        def on_generation(_: Evolution, done: Generation, seed: int = seed) -> None:
            harness.tell(f"seed {seed}: generation {done.number} of {generations}, place {done.place:.1f}")

        settings = EvolutionSettings(seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            evolution = evolve(
                folder, settings, generations=generations, threads=threads, on_generation=on_generation
            )
        harness.tell("")
        yield {
            "seed": seed,
            "style": evolution.best.to_dict(),
            "curve": [done._asdict() for done in evolution.history],
        }


# ---- the examination ---------------------------------------------------------------------------------


def examined(style: Style, games: int, threads: int) -> dict[str, Any]:
    """Return how a style does at full size, and against each bot in small games."""
    examiner, full, above = Examiner(threads), {}, {}
    for every in DECISIONS:
        for name, opponents in {LINEUP: lineup(LINEUP), "dealt": dealt}.items():
            found = examiner.play(style, ExamField(FULL.replace(decision_every=every), OWN, opponents), games)
            full[f"{name}, every {every} ticks"] = {
                "place": found.place()._asdict(),
                "fair": found.fair()._asdict(),
            }
    for bot in bots.NAMES:
        found = examiner.play(style, ExamField(SMALL, OWN, all_of(bot)), max(10, games // 5))
        above[bot] = found.above()._asdict()
    return {"full": full, "above": above}


def text_of(found: Mapping[str, Any]) -> str:
    """Return what was found of a style, in lines."""
    minutes = sum(done["processor_seconds"] for done in found["curve"]) / 60
    lines = [f"seed {found['seed']}, {minutes:.1f} minutes of processor time"]
    for name, field in found["exam"]["full"].items():
        place, fair = field["place"], field["fair"]
        lines.append(
            f"  {name}: place {place['value']:.2f} ({place['low']:.2f} to {place['high']:.2f}), wins "
            f"{fair['value']:.2f} times the fair share ({fair['low']:.2f} to {fair['high']:.2f})"
        )
    above = {bot: one["value"] for bot, one in found["exam"]["above"].items()}
    worst = min(above, key=lambda bot: above[bot])
    mean = np.mean(list(above.values()))
    lines.append(
        f"  small games: above {100 * mean:.0f} % of the seats of bots, of {worst} {100 * above[worst]:.0f} %"
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
