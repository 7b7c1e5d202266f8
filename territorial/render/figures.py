"""Standings in words, and numbers in short form."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from territorial.render.board import Teams
from territorial.typing import Ints


class Standing(NamedTuple):
    """One line of the standings: a seat, or a team followed by its members."""

    seat: int
    """1..P; 0: the line of a team."""
    name: str
    share: str
    """Of the land, such as 12.3%."""
    troops: str
    has_land: bool


def standings(
    land: Ints,
    troops: Ints,
    num_land: int,
    names: Sequence[str] | None = None,
    limit: int | None = None,
    teams: Teams | None = None,
) -> list[Standing]:
    """Return the first ``limit`` lines, most land first, then most troops.

    ``land`` and ``troops`` hold the (P,) cells and balances of seats 1..P, ``num_land`` the land cells of
    the map; ``names`` has one entry for each seat. With ``teams``, the team 1..N of each seat, a line for
    every team has its sums, and those of its members are below it.
    """
    if land.ndim != 1 or land.shape != troops.shape or (names is not None and len(names) != len(land)):
        raise ValueError(
            f"land has shape {land.shape} and troops {troops.shape}; they, and names if given, "
            "must have one entry for each seat"
        )
    lines = [
        Standing(
            i + 1,
            "" if names is None else names[i],
            percent(int(land[i]), num_land),
            short(int(troops[i])),
            bool(land[i]),
        )
        for i in in_order(land, troops)
    ]
    return (lines if teams is None else _by_team(lines, land, troops, num_land, teams))[:limit]


def in_order(land: Ints, troops: Ints) -> list[int]:
    """Return numbers from 0 in the order of the standings: most land first, then most troops."""
    return np.lexsort((-troops, -land)).tolist()


def team_sums(teams: Teams, values: Ints) -> Ints:
    """Return (N,), the sums of the (P,) ``values`` over the members of every team."""
    sums = np.zeros(max(teams), np.int64)
    np.add.at(sums, np.array(teams) - 1, values)
    return sums


def _by_team(lines: list[Standing], land: Ints, troops: Ints, num_land: int, teams: Teams) -> list[Standing]:
    """Return lines of teams, each above the lines of its members, which stay in the order of ``lines``."""
    cells, balances = team_sums(teams, land), team_sums(teams, troops)
    grouped = []
    for i in in_order(cells, balances):
        is_in = bool(cells[i])
        share = percent(int(cells[i]), num_land) if is_in else "out"
        grouped.append(Standing(0, team_name(i + 1), share, short(int(balances[i])) if is_in else "", is_in))
        grouped += [line for line in lines if teams[line.seat - 1] == i + 1]
    return grouped


def team_name(team: int) -> str:
    """Return the name of a team in pictures, tables and pages."""
    return f"team {team}"


def num_living(land: Ints, teams: Teams | None = None, tick: int | None = None) -> str:
    """Return how many players live, and of how many ``teams``, as pictures have it; ``tick`` first."""
    alive = f"{'' if tick is None else f'tick {tick}  '}{int((land > 0).sum())} alive"
    return alive if teams is None else f"{alive}  {int((team_sums(teams, land) > 0).sum())} teams"


def percent(part: int, whole: int) -> str:
    """Return a share such as 12.3%, as all tables, pictures and pages have it.

    It is rounded down, so that 100.0% is the whole; ``percent`` in page/standings.js is the same rule.
    """
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10}%"


def short(number: int) -> str:
    """A number from 0 in at most five characters up to a million millions: 9999, 12.3K, 1.23M."""
    if number < 10_000:
        return str(number)
    letter, unit = next((x for x in (("K", 10**3), ("M", 10**6)) if number < 1000 * x[1]), ("B", 10**9))
    if number < 10 * unit:
        return f"{number // unit}.{number * 100 // unit % 100:02}{letter}"
    if number < 100 * unit:
        return f"{number // unit}.{number * 10 // unit % 10}{letter}"
    return f"{number // unit}{letter}"
