"""A short examination, by which ways to train are compared: small games of each bot, and full ones."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.bots import exam_games
from benchmarks.bots.exam_games import (
    DECISIONS,
    FULL,
    LINEUP,
    OWN,
    SMALL,
    ActingSeat,
    ExamField,
    Examined,
    Examiner,
    all_of,
    lineup,
)
from territorial import bots
from territorial.bots import Network, Style
from territorial.config import GameConfig
from territorial.evaluation.players import Act, identity_of
from territorial.evaluation.statistics import Estimate, mean_of
from territorial.files.atomic import write_file
from territorial.observation.layout import ObsLayout

PART = 20
"""Games against each bot, at each decision interval, for one that is played at full size: one in so many."""
HOLDS = "holds"
"""Beside the figures: whether every game ended as if the player had never acted."""
FIGURES = ("above", "fair", "place")
"""What a short examination finds."""
MEANING = f"so many at full size, and one for {PART} of them against each bot, at either decision interval"


def add_options(parser: argparse.ArgumentParser, games: int, result: Path, meaning: str = MEANING) -> None:
    """Add the options of a measurement by a ``ShortExam``; ``meaning``: which games there are so many of."""
    exam_games.add_options(parser, games, meaning)
    harness.add_json(parser, result)
    harness.add_quick(parser)
    parser.add_argument(
        "--exams",
        metavar="FOLDER",
        type=Path,
        default=Path("runs/exams"),
        help="folder that keeps what was played, by the digests of the players (default %(default)s)",
    )


class ShortExamination(NamedTuple):
    """What a short examination finds, each with its interval of 95 per cent over games."""

    above: Estimate
    """The share of the bots' seats that two seats of 12 are placed above, each bot alone in turn."""
    fair: Estimate
    """Wins of two seats of 32 over their fair share."""
    place: Estimate
    """The mean place of these."""

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return it as JSON has it."""
        return {name: one._asdict() for name, one in self._asdict().items()}


class Holding:
    """A policy that never acts: the floor of an examination."""

    frames = 1

    def identity(self) -> str:
        """Return what it is called in files."""
        return "holding"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Act:
        """Return what holds in all games."""
        return lambda game, games, seats: np.zeros((len(games), 2), np.int64)

    def stop(self) -> None:
        """There is nothing to release."""


class KeptExams:
    """What was found, in a folder by names: what is there is not played again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def found(self, name: str, play: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what was found under a name by these rules; ``play`` finds it."""
        path = self._folder / f"{name}-rules-{territorial.RULES_VERSION}.json"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(path, (json.dumps(play(), indent=1) + "\n").encode())
        found: dict[str, Any] = json.loads(path.read_bytes())
        return found


class ShortExam:
    """Examines players, none of them twice.

    Args:
        folder: for what was found; it is made.
        games: at full size.
        threads: that step the games; no result depends on it.

    """

    def __init__(self, folder: Path, games: int, threads: int) -> None:
        self.kept, self.examiner, self.games = KeptExams(folder), Examiner(threads), games

    def examined(self, player: Examined) -> dict[str, Any]:
        """Return what is found of a player, by ``FIGURES``, and whether it ``holds``.

        A network that has learned little may never act where it plays its likeliest action. All such come to
        the same figures, which say nothing of how well they learn.
        """
        found = self._found(player)
        return found | {HOLDS: found == self._found(ActingSeat(Holding(), DECISIONS[-1]))}

    def _found(self, player: Examined) -> dict[str, Any]:
        return self.kept.found(f"{digest_of(player)}-{self.games}", lambda: self._play(player).to_dict())

    def _play(self, player: Examined) -> ShortExamination:
        few = max(1, self.games // PART)
        above = [
            self.examiner.play(player, field, few).above_by_game()
            for every in DECISIONS
            for field in (
                ExamField(SMALL.replace(decision_every=every), OWN, all_of(bot)) for bot in bots.NAMES
            )
        ]
        full = self.examiner.play(player, ExamField(FULL, OWN, lineup(LINEUP)), self.games)
        return ShortExamination(mean_of(np.concatenate(above)), full.fair(), full.place())


def digest_of(player: Examined) -> str:
    """Return what tells a player from all others, as part of the name of a file."""
    if isinstance(player, Network):
        return f"{player.digest[:16]}-t{player.temperature:g}-every{player.interval}"
    if isinstance(player, Style):
        return player.digest[:16]
    if isinstance(player, ActingSeat):
        return f"{player.policy.identity().replace(' ', '-')}-every{player.interval}"
    return identity_of(player)


def line_of(found: Mapping[str, Any]) -> str:
    """Return what was found, in a line."""
    above, fair, place = (found[name] for name in FIGURES)
    return (
        f"above {above['value']:.1%} of the bots' seats in small games; at full size it wins "
        f"{fair['value']:.2f} times the fair share ({fair['low']:.2f} to {fair['high']:.2f}), place "
        f"{place['value']:.2f}" + "; as if it never acted" * bool(found.get(HOLDS))
    )


def over_runs(runs: Sequence[Mapping[str, Any]], exam: str = "exam") -> dict[str, dict[str, float | None]]:
    """Return the means over runs that were examined, with Student's intervals: each run is one number."""
    return {name: spread_of([run[exam][name]["value"] for run in runs]) for name in FIGURES}


def spread_of(numbers: Sequence[float]) -> dict[str, float | None]:
    """Return the mean of numbers with Student's interval; its ends are None for a single one."""
    found = mean_of(np.array(numbers))._asdict()
    return {name: value if math.isfinite(value) else None for name, value in found.items()}
