#!/usr/bin/env python3
"""Evaluates the champion, or any bot, against every other bot.

    python benchmarks/bots/champion.py upstart            a minute of processor time
    python benchmarks/bots/champion.py net:runs/pairs/network.safetensors --json pairs.json
    python benchmarks/bots/champion.py style:mine/style.json --only small full --games 50

Maps and seeds are those of no training. All intervals are of 95 per cent.

- small: two seats of 12 on 96 x 96 cells against ten of one bot, of each bot in turn, where bots decide every
  10 ticks and every 50. The figure is the share of the opponents' seats that it is placed above.
- full: two seats of 32 on 256 x 256 cells; the others are from the line-up mixed-2, or drawn from all bots.
  Wins are given as multiples of the fair share, of which two seats of 32 can reach 16.
- besiegers: eight seats against 24 besiegers.
- unseen: every kind of map, the lands, 512 x 512 cells with 128 players, 64 x 64 with 8. Two seats are
  its own, or four of 128; the others are drawn from all bots. The figure is the mean place, beside that of
  the best bot.
- alone: all 32 seats are its own; how many games the last tick ends, the usual one and the 60,000th.

The exit code is 1 if a figure misses its bar.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.bots.exam_games import (
    DECISIONS,
    EXAM_MAPS,
    FULL,
    LINEUP,
    OWN,
    SMALL,
    ExamField,
    Examiner,
    InEngine,
    add_options,
    all_of,
    dealt,
    lineup,
)
from territorial import bots
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.config import GameConfig
from territorial.config.map_names import KINDS, LANDS
from territorial.evaluation.intervals import Estimate, mean_of

TINY = GameConfig(height=64, width=64, num_players=8, **EXAM_MAPS)
LARGE = GameConfig(height=512, width=512, num_players=128, map_seed=EXAM_MAPS["map_seed"], num_maps=16)
LARGE_NAME = "512 x 512, 128 players"
DISJOINT = (*KINDS, "lands", LARGE_NAME)
"""Fields of 32 seats and more: there the intervals of the player and of the best bot are to be disjoint."""
OWN_LARGE = 4
"""Seats of the player among 128."""
BESIEGERS = 24
LONG = 60_000
"""Ticks within which games end that do not stall."""
PLAYER = "it"
BARS = {
    "worst": 0.58,
    "worst_low": 0.55,
    "mean": 0.84,
    "fair": 11.5,
    "fair_low": 11.0,
    "place": 5.0,
    "besiegers": 3.0,
    "undecided": 0.2,
}
"""What is asked of the champion."""


def main(argv: list[str] | None = None) -> int:
    """Examine, print, write, and return the exit code."""
    parsed = parse(argv)
    player = bot_of_file("player", parsed.player) if is_bot_file(parsed.player) else parsed.player
    examiner = Examiner(parsed.threads)
    result: dict[str, Any] = {
        "player": parsed.player,
        "rules_version": territorial.RULES_VERSION,
        "games": parsed.games,
    }
    for part in parsed.only or PARTS:
        result[part] = PARTS[part](examiner, player, parsed.games)
        harness.progress("")
        print(text_of(part, result[part]), flush=True)
    harness.write(parsed.json, result)
    missed = list(misses(result))
    print("\n".join(missed) or "no bar is missed")
    return int(bool(missed))


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "player",
        help="bot to examine: a name, net:FILE or style:FILE",
    )
    add_options(parser, 400, "so many of each small and unseen field, and five times as many of the others")
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="WHAT", help=f"case to measure; {', '.join(PARTS)}"
    )
    return parser.parse_args(argv)


# ---- the parts ---------------------------------------------------------------------------------------


def small(examiner: Examiner, player: InEngine, games: int) -> dict[str, Any]:
    """Return the share of the seats of each bot that the player is above, by decision interval."""
    found: dict[str, Any] = {}
    for every in DECISIONS:
        above = {}
        for bot in bots.NAMES:
            harness.progress(f"small games, every {every} ticks: {bot}")
            field = ExamField(SMALL.replace(decision_every=every), OWN, all_of(bot))
            above[bot] = mean_of(examiner.play(player, field, games).above())
        found[str(every)] = {
            "above": {bot: one._asdict() for bot, one in above.items()},
            "worst": min(above, key=lambda bot: above[bot].value),
            "mean": float(np.mean([one.value for one in above.values()])),
        }
    return found


def full(examiner: Examiner, player: InEngine, games: int) -> dict[str, Any]:
    """Return mean place and wins at full size."""
    found = {}
    for name, opponents in {LINEUP: lineup(LINEUP), "dealt": dealt}.items():
        harness.progress(f"games at full size: {name}")
        played = examiner.play(player, ExamField(FULL, OWN, opponents), 5 * games)
        found[name] = {"place": played.place()._asdict(), "fair": played.fair()._asdict()}
    return found


def besiegers(examiner: Examiner, player: InEngine, games: int) -> dict[str, Any]:
    """Return mean place and wins of eight seats against besiegers."""
    harness.progress("games against besiegers")
    own = FULL.num_players - BESIEGERS
    played = examiner.play(player, ExamField(FULL, own, all_of("besieger-1")), games)
    return {"place": played.place()._asdict(), "fair": played.fair()._asdict()}


def unseen(examiner: Examiner, player: InEngine, games: int) -> dict[str, Any]:
    """Return the places of the player and of the best bot in games of other kinds."""
    found = {}
    for name, field in _unseen_fields():
        harness.progress(f"unseen: {name}")
        played = examiner.play(player, field, games)
        found[name] = places_of(played.ranking(PLAYER)) | {"fair": played.fair()._asdict()}
    return found


def _unseen_fields() -> Iterator[tuple[str, ExamField]]:
    for kind in KINDS:
        yield kind, ExamField(FULL.replace(map=kind), OWN, dealt)
    yield "lands", ExamField(GameConfig(map=" + ".join(LANDS)), OWN, dealt)
    yield LARGE_NAME, ExamField(LARGE, OWN_LARGE, dealt)
    yield "64 x 64, 8 players", ExamField(TINY, OWN, dealt)


def places_of(ranking: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return the place of the player, and which bot is best and how good it is."""
    best = next(name for name in ranking if name != PLAYER)
    return {
        "place": ranking[PLAYER]._asdict(),
        "best_bot": best,
        "place_of_best_bot": ranking[best]._asdict(),
    }


def alone(examiner: Examiner, player: InEngine, games: int) -> dict[str, Any]:
    """Return how games end in which the player has all seats."""
    harness.progress("games of itself alone")
    found = {}
    for name, config in {"": FULL, "long_": FULL.replace(max_ticks=LONG)}.items():
        field = ExamField(config, config.num_players, all_of("novice-1"))
        played = examiner.play(player, field, max(10, games // 4))
        found[f"{name}undecided"] = played.undecided()
        found[f"{name}median_ticks"] = float(np.median(played.ticks))
    return found


PARTS: dict[str, Callable[[Examiner, InEngine, int], dict[str, Any]]] = {
    "small": small,
    "full": full,
    "besiegers": besiegers,
    "unseen": unseen,
    "alone": alone,
}


# ---- what comes of it --------------------------------------------------------------------------------


def misses(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for every bar that is missed."""
    for every, found in result.get("small", {}).items():
        yield from _missed_in_small(f"every {every} ticks", found)
    for name, found in result.get("full", {}).items():
        yield from _missed_at_full_size(name, found)
    if "besiegers" in result and result["besiegers"]["fair"]["value"] < BARS["besiegers"]:
        yield f"missed: besiegers, {result['besiegers']['fair']['value']:.2f} times the fair share"
    for name, found in result.get("unseen", {}).items():
        own, other = found["place"], found["place_of_best_bot"]
        if own["value"] >= other["value"]:
            yield f"missed: {name}, {found['best_bot']} has a better mean place"
        elif name in DISJOINT and own["high"] >= other["low"]:
            yield f"missed: {name}, the interval of {found['best_bot']} overlaps"
    itself = result.get("alone", {"undecided": 0, "long_undecided": 0})
    if (cut := itself["undecided"]) > BARS["undecided"]:
        yield f"missed: {cut:.1%} of its games with itself reach the time limit"
    if (stalled := itself["long_undecided"]) > 0:
        yield f"missed: {stalled:.1%} of its games with itself do not end within {LONG:,} ticks"


def _missed_in_small(when: str, found: Mapping[str, Any]) -> Iterator[str]:
    for bot, one in found["above"].items():
        if one["value"] <= BARS["worst"] or one["low"] <= BARS["worst_low"]:
            yield f"missed: {when}, above {one['value']:.1%} of {bot} (from {one['low']:.1%} on)"
    if found["mean"] < BARS["mean"]:
        yield f"missed: {when}, above {found['mean']:.1%} of the seats of all bots"


def _missed_at_full_size(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    fair, place = found["fair"], found["place"]["value"]
    if fair["value"] < BARS["fair"] or fair["low"] <= BARS["fair_low"]:
        yield f"missed: {name}, {fair['value']:.2f} times the fair share (from {fair['low']:.2f} on)"
    if place > BARS["place"]:
        yield f"missed: {name}, mean place {place:.2f}"


def text_of(part: str, found: Mapping[str, Any]) -> str:
    """Return what a part found, in lines."""
    if part == "small":
        return "\n".join(
            f"small, every {every} ticks: above {one['mean']:.1%} of the seats of all bots; "
            + ", ".join(
                f"{bot} {share['value']:.0%}"
                for bot, share in sorted(one["above"].items(), key=lambda item: item[1]["value"])[:5]
            )
            for every, one in found.items()
        )
    if part == "alone":
        return (
            f"alone: the last tick ends {found['undecided']:.1%} of the games, half end by tick "
            f"{found['median_ticks']:,.0f}; with {LONG:,} ticks it ends {found['long_undecided']:.1%}, half "
            f"end by {found['long_median_ticks']:,.0f}"
        )
    lines = {part: found} if part == "besiegers" else found
    return "\n".join(f"{part}, {name}: {_line(one)}" for name, one in lines.items())


def _line(one: Mapping[str, Any]) -> str:
    place, fair = one["place"], one["fair"]
    best = ""
    if "best_bot" in one:
        other = one["place_of_best_bot"]
        best = f"; {one['best_bot']} {other['value']:.2f} ({other['low']:.2f} to {other['high']:.2f})"
    return (
        f"place {place['value']:.2f} ({place['low']:.2f} to {place['high']:.2f}), wins {fair['value']:.2f} "
        f"times the fair share ({fair['low']:.2f} to {fair['high']:.2f}){best}"
    )


if __name__ == "__main__":
    sys.exit(main())
