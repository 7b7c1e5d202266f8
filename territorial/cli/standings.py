"""Who stands where in a game, as numbers and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from territorial.engine.vec_game import VecGame
from territorial.render.figures import percent

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


def standings_of(game: VecGame, seats: Sequence[str]) -> list[SeatStanding]:
    """Return all seats of game 0, the first on top; in progress, living players by land, then troops."""
    state = game.state
    num_land = int(state.num_land[0])
    rows = [
        SeatStanding(
            place=_place(game, p),
            seat=p,
            bot=seats[p - 1],
            land=int(state.land[0, p]),
            land_percent=100 * int(state.land[0, p]) / num_land,
            share=percent(int(state.land[0, p]), num_land),
            troops=int(state.troops[0, p]),
            death_tick=int(state.death_tick[0, p]) if state.death_tick[0, p] >= 0 else None,
        )
        for p in range(1, len(seats) + 1)
    ]
    return sorted(rows, key=lambda row: (row.place, row.seat))


def _place(game: VecGame, p: int) -> float:
    """Return the place of seat ``p``; of a living player in a game in progress, what it would be now."""
    state = game.state
    if state.place2[0, p] > 0:
        return float(state.place2[0, p]) / 2
    land, troops, alive = state.land[0], state.troops[0], state.alive[0] != 0
    is_equal = alive & (land == land[p]) & (troops == troops[p])
    is_ahead = alive & ((land > land[p]) | ((land == land[p]) & (troops > troops[p])))
    return float(is_ahead.sum()) + (float(is_equal.sum()) + 1) / 2


def standings_table(standings: Sequence[SeatStanding]) -> str:
    """Return the standings as text, the middle of a very long list left out."""
    lines = [f"\n{'place':>6}  {'seat':6}{'bot':15}{'land':>7}{'troops':>14}  {'died at tick':>12}"]
    shown = standings if len(standings) <= LONGEST_TABLE else standings[:SHORTENED_TABLE]
    for row in shown:
        died = "" if row.death_tick is None else f"{row.death_tick:,}"
        lines.append(
            f"{row.place:>6g}  {f'P{row.seat}':6}{row.bot[:14]:15}{row.share:>7}{row.troops:>14,}  {died:>12}"
        )
    if len(shown) < len(standings):
        lines.append(f"        ... and {len(standings) - len(shown)} more; --json gives them all")
    return "\n".join(lines)
