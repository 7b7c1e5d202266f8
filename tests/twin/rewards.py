"""The parts of rewards, from docs/rewards.md: what each gives to whom in one environment step.

A part is a function of the game after the step and of what was kept before it. It returns amounts by seat, of
the seats that it is for alone. The others get 0. ``game`` is a ReferenceGame, whose module imports this one.
"""

from typing import Any

from territorial.config.rewards import ZERO_SUM
from tests.twin import formulas

Amounts = dict[int, float]


class Before:
    """What the parts need of the game as the step began."""

    def __init__(self, game: Any) -> None:
        self.tick = game.tick
        self.alive = game.living()
        self.teams = game.living_teams()
        self.land = list(game.land)
        self.team_land = {g: game.land_of_team(g) for g in game.members}
        self.taken = [sum(cells) for cells in game.taken]


def amounts(game: Any, before: Before, name: str) -> list[float]:
    """Return what a part gives seats 1..P; KeyError if there is no such part."""
    found = PARTS[name.removesuffix(ZERO_SUM)](game, before)
    mean = sum(found.values()) / max(1, len(found)) if name.endswith(ZERO_SUM) else 0.0
    return [found[p] - mean if p in found else 0.0 for p in game.seats]


def _land(game: Any, before: Before) -> Amounts:
    return {p: _gained_share(game, game.land[p], before.land[p]) for p in before.alive}


def _team_land(game: Any, before: Before) -> Amounts:
    gained = {g: _gained_share(game, game.land_of_team(g), before.team_land[g]) for g in before.teams}
    return _to_members(game, gained)


def _gained_share(game: Any, land: int, before: int) -> float:
    gained: float = (land - before) / game.num_land
    return gained


def _placement(game: Any, before: Before) -> Amounts:
    """Once, in the step in which a team is out or the game ends, its members get its placement."""
    values = {
        g: formulas.placement_reward(game.place_of_team(g), len(game.members))
        if game.over or not game.is_in(g)
        else 0.0
        for g in before.teams
    }
    return _to_members(game, values)


def _to_members(game: Any, values: Amounts) -> Amounts:
    return {p: value for g, value in values.items() for p in game.members[g]}


def _survival(game: Any, before: Before) -> Amounts:
    """The ticks lived, the one of the death included."""
    ends = {p: game.tick if game.alive[p] else game.death_tick[p] + 1 for p in before.alive}
    return {p: (end - before.tick) / game.config.max_ticks for p, end in ends.items()}


def _taken(game: Any, before: Before) -> Amounts:
    return {p: (sum(game.taken[p]) - before.taken[p]) / game.num_land for p in before.alive}


def _kills(game: Any, before: Before) -> Amounts:
    """Who took most cells of a player that died; several that took equally many share it."""
    credit = dict.fromkeys(before.alive, 0.0)
    for d in before.alive:
        most = max(game.taken[p][d] for p in game.seats)
        takers = [p for p in game.seats if game.taken[p][d] == most > 0]
        for p in takers if not game.alive[d] else []:
            if p in credit:
                credit[p] += 1 / len(takers)
    return credit


PARTS = {
    "land": _land,
    "placement": _placement,
    "survival": _survival,
    "taken": _taken,
    "kills": _kills,
    "team_land": _team_land,
}
