"""Standings of a game, as numbers and as a table."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from territorial.engine.vec_game import VecGame
from territorial.evaluation.places import places_now
from territorial.render.figures import percent, team_name
from territorial.replay.frames import teams_in

LONGEST_TABLE = 40
SHORTENED_TABLE = 30


class Standing(NamedTuple):
    """How a seat stands in a game, or came out of it; or a team, with the sums of its members."""

    place: float
    """1 is the winner; those who fell together share the mean of their places. Allies have their team's."""
    seat: int
    """0 for a team."""
    bot: str
    """Who plays the seat."""
    land: int
    land_percent: float
    """Exactly; ``share`` is what is shown of it."""
    share: str
    troops: int
    death_tick: int | None
    """None if it lives; of a team it is that of its last member."""
    team: int | None
    """1..N; None if no seat has an ally."""


def standings_of(game: VecGame, seats: Sequence[str]) -> list[Standing]:
    """Return all seats of game 0, the first on top; in progress, living players by land, then troops.

    In a game with allies, seats have the places of their teams, and allies stand together.
    """
    teams, places = teams_in(game), places_now(game.state, 0).tolist()
    rows = [
        _standing(game, [p], place, p, seats[p - 1], None if teams is None else teams[p - 1])
        for p, place in enumerate(places, start=1)
    ]

    def order(row: Standing) -> tuple[float, ...]:
        """Return what allies are sorted by as well: who lives, or lived longer, then land and troops."""
        died = 0 if row.death_tick is None else -row.death_tick
        return row.place, row.team or 0, died, -row.land, -row.troops, row.seat

    return sorted(rows, key=order)


def team_standings_of(game: VecGame, standings: Sequence[Standing]) -> list[Standing]:
    """Return the teams of game 0 in the order of ``standings``; none if no seat has an ally."""
    members: dict[int | None, list[Standing]] = {}
    for row in standings:
        members.setdefault(row.team, []).append(row)
    return [
        _standing(game, [row.seat for row in rows], rows[0].place, 0, "", team)
        for team, rows in members.items()
        if team is not None
    ]


def _standing(
    game: VecGame, members: list[Any], place: float, seat: int, bot: str, team: int | None
) -> Standing:
    state, num_land = game.state, int(game.state.num_land[0])
    land, deaths = int(state.land[0, members].sum()), state.death_tick[0, members]
    return Standing(
        place=place,
        seat=seat,
        bot=bot,
        land=land,
        land_percent=100 * land / num_land,
        share=percent(land, num_land),
        troops=int(state.troops[0, members].sum()),
        death_tick=None if (deaths < 0).any() else int(deaths.max()),
        team=team,
    )


def result_of(standings: Sequence[Standing], teams: Sequence[Standing]) -> dict[str, Any]:
    """Return the standings as values that JSON has; without teams nothing speaks of them."""
    rows, of_teams = ([row._asdict() for row in part] for part in (standings, teams))
    for row in rows if not teams else ():
        del row["team"]
    for row in of_teams:
        del row["seat"], row["bot"]
        row["out_tick"] = row.pop("death_tick")
    return {"standings": rows, "teams": of_teams} if teams else {"standings": rows}


def standings_table(standings: Sequence[Standing], teams: Sequence[Standing] = ()) -> str:
    """Return the standings as text, the end of a very long list left out; members stand below their team."""
    lines = [f"\n{'place':>6}  {'seat':6}{'bot':15}{'land':>7}{'troops':>14}  {'died at tick':>12}"]
    shown = standings if len(standings) <= LONGEST_TABLE else standings[:SHORTENED_TABLE]
    of_team = {row.team: row for row in teams}
    for row in shown:
        if team := of_team.pop(row.team, None):
            lines.append(_line(team, f"{team.place:g}", f"{team_name(team.team or 0):21}"))
        lines.append(_line(row, "" if teams else f"{row.place:g}", f"{f'P{row.seat}':6}{row.bot[:14]:15}"))
    if len(shown) < len(standings):
        lines.append(f"        ... and {len(standings) - len(shown)} more; --json gives them all")
    return "\n".join(lines)


def _line(row: Standing, place: str, who: str) -> str:
    died = "" if row.death_tick is None else f"{row.death_tick:,}"
    return f"{place:>6}  {who}{row.share:>7}{row.troops:>14,}  {died:>12}"
