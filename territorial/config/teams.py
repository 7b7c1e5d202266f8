"""Teams of a config, and how a game assigns them to seats."""

from typing import Any

import numpy as np

from territorial.config.draws import random_words
from territorial.config.validation import shown, whole_numbers, whole_or_none
from territorial.constants import STREAM_TEAM_DEAL

RANDOM, TOGETHER = "random", "together"
DEALS = ("blocks", "turn", RANDOM)
"""How seats are dealt to a number of teams; :class:`~territorial.GameConfig` says what each way does."""
SPAWNS = ("mixed", TOGETHER)
"""Where teams start."""

MIN_TEAMS = 2
FEWEST = f"a number of teams from {MIN_TEAMS} to num_players"

Teams = int | tuple[int, ...]
"""A number of teams, or the team 1..N of every seat."""


def checked_teams(teams: Any, num_players: int) -> Teams | None:
    """Return a number of teams, or the team of each seat as a tuple; errors give the allowed values."""
    if teams is None:
        return None
    number = whole_or_none(teams)
    if number is not None:
        if not MIN_TEAMS <= number <= num_players:
            ends = f"from {MIN_TEAMS} to num_players, which is {num_players}"
            raise ValueError(f"teams is {shown(number)}; it must be {ends}")
        return number
    if not isinstance(teams, (list, tuple, np.ndarray)) or any(map(np.ndim, teams)):
        wanted = f"None, {FEWEST}, or a list with the team of each seat"
        raise TypeError(f"teams is {shown(teams)}; it must be {wanted}")
    if len(teams) != num_players:
        raise ValueError(
            f"teams has {len(teams)} entries; it must have one for each of the {num_players} seats"
        )
    whole: tuple[int, ...] = tuple(whole_numbers("teams", teams, (num_players,), 1, num_players).tolist())
    if max(whole) < MIN_TEAMS:
        raise ValueError(f"teams has all seats in one team; it must have at least {MIN_TEAMS} teams")
    missing = set(range(1, max(whole))) - set(whole)
    if missing:
        raise ValueError(
            f"teams has the team {max(whole)} but no seat in team {min(missing)}; its numbers must be 1, 2 "
            "and so on without gaps"
        )
    return whole


def dealt_teams(teams: Teams | None, deal: str, num_players: int) -> tuple[int, ...]:
    """Return the team of every seat 1..P; with the deal "random" that of every rank in the drawn order.

    Entry i is the team of seat i + 1. With "random", it is the team of the seat that comes at place i when
    the seats are sorted by their draws (``STREAM_TEAM_DEAL``). Without teams each seat is a team of one.
    """
    if teams is None:
        return tuple(range(1, num_players + 1))
    if isinstance(teams, tuple):
        return teams
    if deal == "turn":
        return tuple(seat % teams + 1 for seat in range(num_players))
    size, larger = divmod(num_players, teams)  # the first teams have one seat more
    return tuple(
        np.repeat(np.arange(1, teams + 1), [size + (team < larger) for team in range(teams)]).tolist()
    )


def drawn_teams(dealt: tuple[int, ...], seed: int) -> tuple[int, ...]:
    """Return the team of every seat 1..P; ``dealt`` has the teams in the order of the draws of seats."""
    words = random_words(seed, STREAM_TEAM_DEAL, 0, np.arange(1, len(dealt) + 1, dtype=np.uint64))
    teams = np.empty(len(dealt), np.int64)
    teams[words.argsort(kind="stable")] = dealt
    return tuple(teams.tolist())
