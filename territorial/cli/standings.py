"""Who stands where in a game, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from territorial.engine.vec_game import VecGame
from territorial.evaluation.outcome import places_now
from territorial.render.figures import percent, team_name
from territorial.replay.frames import teams_in

LONGEST_TABLE = 40
SHORTENED_TABLE = 30


class SeatStanding(NamedTuple):
    """How one seat stands in a game, or came out of it."""

    place: float
    """1 is the winner; those who fell together share the mean of their places."""
    seat: int
    bot: str
    """Who plays it."""
    land: int
    land_percent: float
    """Exactly; ``share`` is what is shown of it."""
    share: str
    troops: int
    death_tick: int | None
    """None if it lives."""
    team: int | None = None
    """1..N, whose place it has; None if no seat has an ally."""


class TeamStanding(NamedTuple):
    """How one team stands in a game, or came out of it: the sums of its members."""

    place: float
    team: int
    land: int
    land_percent: float
    share: str
    troops: int
    out_tick: int | None
    """When its last member died; None if one lives."""


def standings_of(game: VecGame, seats: Sequence[str]) -> list[SeatStanding]:
    """Return all seats of game 0, the first on top; in progress, living players by land, then troops.

    In a game with allies, seats have the places of their teams, and allies stand together.
    """
    state, teams = game.state, teams_in(game)
    num_land, places = int(state.num_land[0]), places_now(state, 0)
    rows = [
        SeatStanding(
            place=float(places[p - 1]),
            seat=p,
            bot=seats[p - 1],
            land=int(state.land[0, p]),
            land_percent=100 * int(state.land[0, p]) / num_land,
            share=percent(int(state.land[0, p]), num_land),
            troops=int(state.troops[0, p]),
            death_tick=int(state.death_tick[0, p]) if state.death_tick[0, p] >= 0 else None,
            team=None if teams is None else teams[p - 1],
        )
        for p in range(1, len(seats) + 1)
    ]
    return sorted(rows, key=lambda row: (row.place, row.team or 0, *_within_team(row), row.seat))


def _within_team(row: SeatStanding) -> tuple[int, ...]:
    """Return what allies are sorted by: who lives, or lived longer, then land and troops."""
    if row.team is None:
        return ()
    return (0 if row.death_tick is None else -row.death_tick, -row.land, -row.troops)


def team_standings_of(game: VecGame, standings: Sequence[SeatStanding]) -> list[TeamStanding]:
    """Return the teams in the order of ``standings``, those of game 0; none if no seat has an ally."""
    num_land, found = int(game.state.num_land[0]), list[TeamStanding]()
    for team, members in groupby(standings, key=lambda row: row.team):
        rows = list(members)
        if team is None:
            return []
        land, deaths = sum(row.land for row in rows), [row.death_tick for row in rows]
        found.append(
            TeamStanding(
                place=rows[0].place,
                team=team,
                land=land,
                land_percent=100 * land / num_land,
                share=percent(land, num_land),
                troops=sum(row.troops for row in rows),
                out_tick=None if None in deaths else max(tick for tick in deaths if tick is not None),
            )
        )
    return found


def result_of(standings: Sequence[SeatStanding], teams: Sequence[TeamStanding]) -> dict[str, Any]:
    """Return the standings as values that JSON has; without teams nothing speaks of them."""
    if not teams:
        rows = [row._asdict() for row in standings]
        return {"standings": [{name: row[name] for name in row if name != "team"} for row in rows]}
    return {
        "standings": [row._asdict() for row in standings],
        "teams": [row._asdict() for row in teams],
    }


def standings_table(standings: Sequence[SeatStanding], teams: Sequence[TeamStanding] = ()) -> str:
    """Return the standings as text, the end of a very long list left out; members stand below their team."""
    lines = [f"\n{'place':>6}  {'seat':6}{'bot':15}{'land':>7}{'troops':>14}  {'died at tick':>12}"]
    shown = standings if len(standings) <= LONGEST_TABLE else standings[:SHORTENED_TABLE]
    of_team: dict[int | None, TeamStanding] = {row.team: row for row in teams}
    for row in shown:
        if team := of_team.pop(row.team, None):
            who = f"{team_name(team.team):21}"
            lines.append(_line(f"{team.place:g}", who, team.share, team.troops, team.out_tick))
        who, place = f"{f'P{row.seat}':6}{row.bot[:14]:15}", "" if teams else f"{row.place:g}"
        lines.append(_line(place, who, row.share, row.troops, row.death_tick))
    if len(shown) < len(standings):
        lines.append(f"        ... and {len(standings) - len(shown)} more; --json gives them all")
    return "\n".join(lines)


def _line(place: str, who: str, share: str, troops: int, death_tick: int | None) -> str:
    died = "" if death_tick is None else f"{death_tick:,}"
    return f"{place:>6}  {who}{share:>7}{troops:>14,}  {died:>12}"
