#!/usr/bin/env python3
"""How games of teams end, and whether giving wins them.

    python benchmarks/bots/team_fields.py            ten thousand games, in half a minute
    python benchmarks/bots/team_fields.py --quick    a look, in seconds

Four teams of eight play on 256 x 256 cells, each team of one style, drawn among all bots for each game; then
the line-up ``teams-4x8``, in which all teams have the same bots. Two teams of four equal bots play on 64 x 64
cells, for both ways to spawn. Givers play against the style of which each is made, sixteen against sixteen. A
game is won by the team with the first place, and by several in parts where they share it.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

import territorial
from benchmarks import harness
from territorial import bots
from territorial.config.teams import SPAWNS
from territorial.evaluation.intervals import wilson
from territorial.files.cores import usable_cores
from territorial.typing import Floats, Ints

SIDE_BY_SIDE = 16
"""Games of a batch."""
FULL = territorial.GameConfig(teams=4)
DUEL = territorial.GameConfig(teams=2)
SMALL = territorial.GameConfig(height=64, width=64, num_players=8, teams=2)
EQUALS = ("settler", "besieger", "metronome", "opportunist")
"""The four of each team where teams are equal."""
MODELS = {"warden-1": "finisher-1", "medic-1": "geographer-1"}
"""The style of which each giver is made."""
PLAYERS = (*bots.NAMES, *bots.LEARNED, *bots.GIVERS)


class Ended(NamedTuple):
    """How E games of T teams ended."""

    places: Floats  # (E, T) 1 is best; teams that are equal share the mean
    wins: Floats  # (E, T) 1 for the winner, a part for each of several
    ticks: Ints  # (E,)
    alive: Ints  # (E,) players alive
    donated: Ints  # (E, T) troops that the members gave
    raised: Ints  # (E, T) troops that interest and income paid to them

    def __str__(self) -> str:
        return (
            f"{len(self.ticks)} games, {np.median(self.ticks):,.0f} ticks ({self.ticks.min():,} to "
            f"{self.ticks.max():,}), {(self.ticks >= FULL.max_ticks).mean():.0%} stopped by the time limit, "
            f"{np.median(self.alive):g} players alive at the end ({self.alive.min()} to {self.alive.max()}), "
            f"{self.donated.sum() / self.raised.sum():.1%} of interest and income given"
        )


def main(argv: list[str] | None = None) -> int:
    """Play, print and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_quick(parser)
    parsed = parser.parse_args(argv)
    many, some = (64, 8) if parsed.quick else (4_000, 400)
    result = {"styles": styles(some), "line-up": line_up(some // 2)}
    result |= {f"equal teams, spawns {spawns}": equals(many, spawns) for spawns in SPAWNS}
    result |= {f"{giver} against {MODELS[giver]}": duels(giver, some) for giver in MODELS}
    harness.progress("")
    for name, lines in result.items():
        print(name, *lines, sep="\n    ")
    harness.write(parsed.json, result)
    return 0


def played(config: territorial.GameConfig, line_ups: Sequence[Sequence[str]]) -> Ended:
    """Play one game for each of ``line_ups``, with the seeds 0, 1 and so on."""
    parts = []
    for first in range(0, len(line_ups), SIDE_BY_SIDE):
        harness.progress(f"game {first} of {len(line_ups)}")
        parts.append(_batch(config, line_ups[first : first + SIDE_BY_SIDE], first))
    return Ended(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _batch(config: territorial.GameConfig, line_ups: Sequence[Sequence[str]], first_seed: int) -> Ended:
    games = len(line_ups)
    batch = territorial.VecGame(
        config, games, seats=line_ups[0], num_threads=usable_cores(), autoreset="disabled", observe=False
    )
    for k, seats in enumerate(line_ups):
        batch.set_seats(k, seats)
    batch.reset(seeds=range(first_seed, first_seed + games))
    while not batch.state.over.all():
        batch.step()
    state = batch.state
    members = state.team[:, None, 1:] == np.arange(1, config.num_teams + 1)[:, None]  # (E, T, P)
    places = np.where(members, state.doubled_place[:, None, 1:], 0).max(2) / 2
    is_first = places == places.min(1, keepdims=True)
    return Ended(
        places=places,
        wins=is_first / is_first.sum(1, keepdims=True),
        ticks=state.tick.copy(),
        alive=state.alive[:, 1:].sum(1),
        donated=np.where(members, state.donated[:, None, 1:], 0).sum(2),
        raised=np.where(members, (state.interest + state.income)[:, None, 1:], 0).sum(2),
    )


def styles(games: int) -> list[str]:
    """Return how games of four teams end, and a row for each style, the best first."""
    rng = np.random.default_rng(0)
    drawn = np.array([rng.choice(PLAYERS, 4, replace=False) for _ in range(games)])
    ended = played(FULL, [[str(name) for name in names for _ in range(8)] for names in drawn])
    rows = []
    for name in np.unique(drawn):
        own = drawn == name
        share, low, high = (4 * part for part in wilson(float(ended.wins[own].mean()), float(own.sum())))
        given = ended.donated[own].sum() / ended.raised[own].sum()
        place = ended.places[own].mean()
        row = (
            f"| `{name}` | {own.sum()} | {place:.2f} | {share:.2f} ({low:.2f} to {high:.2f}) | {given:.1%} |"
        )
        rows.append((place, row))
    return [str(ended), *(row for _, row in sorted(rows))]


def line_up(games: int) -> list[str]:
    """Return how games of the line-up ``teams-4x8`` end."""
    return [str(played(FULL, [territorial.LINEUPS["teams-4x8"].seats] * games))]


def equals(games: int, spawns: str) -> list[str]:
    """Return how often the first of two equal teams wins."""
    ended = played(SMALL.replace(team_spawns=spawns), [EQUALS * 2] * games)
    return [str(ended), f"the first wins {_share(ended.wins[:, 0])}"]


def duels(giver: str, games: int) -> list[str]:
    """Return how often a team that gives beats one of the same style that does not; they change sides."""
    sides = ((giver,) * 16 + (MODELS[giver],) * 16, (MODELS[giver],) * 16 + (giver,) * 16)
    ended = played(DUEL, [sides[k % 2] for k in range(games)])
    own = np.arange(games), np.arange(games) % 2
    given = ended.donated[own].sum() / ended.raised[own].sum()
    return [str(ended), f"the givers win {_share(ended.wins[own])}, and give {given:.1%}"]


def _share(wins: Floats) -> str:
    share, low, high = wilson(float(wins.mean()), len(wins))
    return f"{share:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    sys.exit(main())
