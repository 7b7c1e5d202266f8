#!/usr/bin/env python3
"""Plays fields of four teams of eight, two teams of equal bots, and givers against those who give nothing.

    python benchmarks/bots/team_fields.py            some thousand games, in half an hour on two cores
    python benchmarks/bots/team_fields.py --quick    a look, in a minute or two

* fields: 256 x 256 cells, four teams of eight. Each team is of one style; a game draws four among all bots.
* line-up: the same with `teams-4x8`, in which every team has the same eight bots.
* equals: two teams of four equal bots each, on 64 x 64 cells, for both ways to deal spawns. Each team should
  win half of the games.
* givers: two teams of sixteen, on 256 x 256 cells: a style that gives to allies against its model, which does
  not.

A game is won by the team with the first place; teams that share it share the win. The result goes to
benchmarks/results/team_fields.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import harness
from territorial import bots
from territorial.cli import options
from territorial.evaluation.statistics import wilson

RESULT = harness.RESULTS / "team_fields.json"
SIDE_BY_SIDE = 8
"""Games that are played in one batch."""
FULL = territorial.GameConfig(teams=4)
DUEL = territorial.GameConfig(teams=2)
SMALL = territorial.GameConfig(height=64, width=64, num_players=8, teams=2)
EQUALS = ("settler", "besieger", "metronome", "opportunist")
"""The four of each team where teams are equal."""
MODELS = {"warden-1": "finisher-1", "medic-1": "geographer-1"}
"""The style of which each giver is made."""
PLAYERS = (*bots.NAMES, *bots.LEARNED, *bots.GIVERS)


class Ended(NamedTuple):
    """What E games came to; T teams."""

    places: npt.NDArray[np.float64]  # (E, T) 1 is best; teams that are equal share the mean
    ticks: npt.NDArray[np.int64]  # (E,)
    alive: npt.NDArray[np.int64]  # (E,) players alive at the end
    donated: npt.NDArray[np.int64]  # (E, T) troops given by the members
    raised: npt.NDArray[np.int64]  # (E, T) troops that interest and income paid to them


def main(argv: list[str] | None = None) -> int:
    """Play, write and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_seed_option(parser, "seed of the first game")
    harness.add_json(parser, RESULT)
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    started = time.perf_counter()
    many, some = (64, 8) if parsed.quick else (4_000, 400)
    result = {
        "fields": fields(some, parsed.seed),
        "line_up": summary(played(FULL, [territorial.LINEUPS["teams-4x8"].seats] * (some // 2), parsed.seed)),
        "equals": {spawns: equals(many, spawns, parsed.seed) for spawns in ("mixed", "together")},
        "givers": {giver: duels(giver, some, parsed.seed) for giver in MODELS},
    }
    harness.tell("")
    harness.write(parsed.json, result)
    print(report(result))
    print(f"played in {time.perf_counter() - started:.0f} s; written to {parsed.json}")
    return 0


def played(config: territorial.GameConfig, line_ups: Sequence[Sequence[str]], seed: int) -> Ended:
    """Play one game for each of ``line_ups``, with seeds from ``seed`` on."""
    parts = []
    for first in range(0, len(line_ups), SIDE_BY_SIDE):
        harness.tell(f"game {first} of {len(line_ups)}")
        some = line_ups[first : first + SIDE_BY_SIDE]
        parts.append(_batch(config, some, range(seed + first, seed + first + len(some))))
    return Ended(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _batch(config: territorial.GameConfig, line_ups: Sequence[Sequence[str]], seeds: range) -> Ended:
    game = territorial.VecGame(
        config, len(line_ups), seats=line_ups[0], num_threads=2, autoreset="disabled", observe=False
    )
    for k, seats in enumerate(line_ups):
        game.set_seats(k, seats)
    game.reset(seeds=list(seeds))
    while not game.state.over.all():
        game.step()
    state, num_teams = game.state, int(game.state.team.max())
    members = state.team[:, None, 1:] == np.arange(1, num_teams + 1)[:, None]  # (E, T, P)

    def of_teams(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(members, numbers[:, None, 1:], 0).sum(2)

    return Ended(
        places=np.where(members, state.place2[:, None, 1:], 0).max(2) / 2,
        ticks=state.tick.copy(),
        alive=state.alive[:, 1:].sum(1),
        donated=of_teams(state.donated),
        raised=of_teams(state.interest + state.income),
    )


def wins_of(places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return (E, T): 1 for the winner of a game, a share where several have the best place."""
    best = places == places.min(1, keepdims=True)
    shares: npt.NDArray[np.float64] = best / best.sum(1, keepdims=True)
    return shares


def summary(ended: Ended) -> dict[str, Any]:
    """Return what games of a kind look like."""
    ticks, alive = np.sort(ended.ticks), ended.alive
    return {
        "games": len(ticks),
        "ticks": {"least": int(ticks[0]), "median": int(np.median(ticks)), "most": int(ticks[-1])},
        "stopped_by_time_share": float((ticks >= FULL.max_ticks).mean()),
        "survivors": {"least": int(alive.min()), "median": float(np.median(alive)), "most": int(alive.max())},
        "given_share": float(ended.donated.sum() / max(1, ended.raised.sum())),
    }


def fields(games: int, seed: int) -> dict[str, Any]:
    """Return what games of four teams, each of one style, look like, and how the styles do."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(PLAYERS, 4, replace=False) for _ in range(games)]
    ended = played(FULL, [[str(name) for name in names for _ in range(8)] for names in drawn], seed)
    names, wins = np.array(drawn), wins_of(ended.places)
    styles = {}
    for name in PLAYERS:
        mine = names == name
        if mine.any():
            won = wilson(float(wins[mine].mean()), float(mine.sum()))
            styles[name] = {
                "teams": int(mine.sum()),
                "mean_place": float(ended.places[mine].mean()),
                "fair_wins": [4 * share for share in won],
                "given_share": float(ended.donated[mine].sum() / max(1, ended.raised[mine].sum())),
            }
    return {**summary(ended), "styles": styles}


def equals(games: int, spawns: str, seed: int) -> dict[str, Any]:
    """Return how often the first of two equal teams wins, teams that are equal at the end by a half."""
    ended = played(SMALL.replace(team_spawns=spawns), [EQUALS * 2] * games, seed)
    return {**summary(ended), "first_wins": list(wilson(float(wins_of(ended.places)[:, 0].mean()), games))}


def duels(giver: str, games: int, seed: int) -> dict[str, Any]:
    """Return how often a team that gives beats one of the same style that does not; they change sides."""
    sides = [[giver] * 16 + [MODELS[giver]] * 16, [MODELS[giver]] * 16 + [giver] * 16]
    ended = played(DUEL, [sides[k % 2] for k in range(games)], seed)
    is_first = np.arange(games) % 2 == 0
    wins, given = (
        np.where(is_first, array[:, 0], array[:, 1]) for array in (wins_of(ended.places), ended.donated)
    )
    raised = np.where(is_first, ended.raised[:, 0], ended.raised[:, 1])
    share = float(given.sum() / max(1, raised.sum()))
    model = {"model": MODELS[giver]}
    return {**model, **summary(ended), "wins": list(wilson(float(wins.mean()), games)), "given_share": share}


def report(result: dict[str, Any]) -> str:
    """Return the result in some lines."""
    lines = []
    for name in ("fields", "line_up"):
        found = result[name]
        lines.append(
            f"{name}: {found['games']} games, median {found['ticks']['median']:,} ticks, "
            f"{found['survivors']['median']:g} of 32 players alive at the end, "
            f"{found['given_share']:.1%} of what was paid was given"
        )
    styles = sorted(result["fields"]["styles"].items(), key=lambda one: one[1]["mean_place"])
    lines += [
        f"    {name:16} {one['teams']:4} teams, place {one['mean_place']:.2f}, "
        f"{one['fair_wins'][0]:.2f} times its fair share of wins, {one['given_share']:.1%} given"
        for name, one in styles
    ]
    for spawns, found in result["equals"].items():
        value, low, high = found["first_wins"]
        lines.append(f"equal teams, spawns {spawns}: the first wins {value:.1%} ({low:.1%} to {high:.1%})")
    for giver, found in result["givers"].items():
        value, low, high = found["wins"]
        lines.append(
            f"{giver} against {MODELS[giver]}: wins {value:.1%} ({low:.1%} to {high:.1%}), "
            f"gives {found['given_share']:.1%}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
