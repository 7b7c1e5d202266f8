"""``Situation``: the options of a player and the attacks on it."""

from typing import Any, NamedTuple

import numpy as np

from territorial.config import interest_rates
from territorial.constants import FRACTIONS, NEUTRAL
from territorial.engine.vec_game import VecGame
from territorial.game import rules
from territorial.game.formulas import amount_sent, are_allies, largest_need, wanted_of
from territorial.typing import Bools


class AttackOption(NamedTuple):
    """An owner that the player has a front with.

    Args:
        owner: owner code, 0 free land.
        cells: size of the front.
        least: troops that a launch comes to at least, however small its fraction.
        reason: why a launch is not legal; empty if it is.

    """

    owner: int
    cells: int
    least: int
    reason: str


class Ally(NamedTuple):
    """A living player of the player's own team.

    Args:
        owner: its seat.
        attackers: troops in the field against it.
        reason: why a donation is not legal; empty if it is.

    """

    owner: int
    attackers: int
    reason: str


class Situation(NamedTuple):
    """The game as one player sees it between two decisions; troops are whole numbers.

    Args:
        tick: of the game.
        is_alive: whether the player is.
        is_over: whether the game is.
        place: the player's place, once it is known; 1 is the best.
        land: of the player, in cells.
        troops: of the player at home.
        amounts: by number of a fraction, (10,): the troops that a launch comes to, if no more are needed.
        openings: those that are legal first, then by size of the front.
        attacks: owner code and troops of the player's pools, the largest first.
        attackers: seat and troops of the pools against the player, the largest first.
        allies: those that live, the most attacked first; empty in games without teams.
        earnings: what ``earnings_of`` returns; empty for a spectator.

    """

    tick: int
    is_alive: bool
    is_over: bool
    place: float | None
    land: int
    troops: int
    amounts: list[int]
    openings: list[AttackOption]
    attacks: list[tuple[int, int]]
    attackers: list[tuple[int, int]]
    allies: list[Ally]
    earnings: dict[str, int]


def situation_of(game: VecGame, seat: int) -> Situation:
    """Return the situation of ``seat``, 1..P, in game 0 of a batch; seat 0 is a spectator's."""
    state = game.state
    tick, is_over = int(state.tick[0]), bool(state.over[0])
    if not seat:
        return Situation(tick, False, is_over, None, 0, 0, [], [], [], [], [], {})
    pools, troops = state.pools[0], int(state.troops[0, seat])
    return Situation(
        tick=tick,
        is_alive=bool(state.alive[0, seat]),
        is_over=is_over,
        place=int(state.doubled_place[0, seat]) / 2 or None,
        land=int(state.land[0, seat]),
        troops=troops,
        amounts=[int(amount_sent(wanted_of(troops, one), 0, troops, game.config)) for one in FRACTIONS],
        openings=_openings(game, seat, troops),
        attacks=_largest_first(pools[seat]),
        attackers=_largest_first(pools[:, seat]),
        allies=_allies(game, seat, troops),
        earnings=earnings_of(game, seat),
    )


def earnings_of(game: VecGame, seat: int) -> dict[str, int]:
    """Return the troops that game 0 would pay ``seat`` now for its troops and land.

    ``interest`` is paid every ``interest_every`` ticks and ``income`` every ``income_every``. The interest
    rate falls above ``best`` troops at home. At ``most`` nothing is paid.
    """
    config, state = game.config, game.state
    land, troops, tick = int(state.land[0, seat]), int(state.troops[0, seat]), int(state.tick[0])
    best, room = config.soft_cap * land, max(0, config.hard_cap * land - troops)
    by_land = _in_python(rules.rate_for_land)(land, int(state.num_land[0]), config, interest_rates(config))
    rate = max(int(by_land), _in_python(rules.opening_rate)(tick, config))
    rate = _in_python(rules.rate_over_cap)(rate, troops, best, config.over_cap_slope) if land else 0
    return {
        "interest": min(max(1, rate * troops // rules.BASIS_POINTS), room),
        "interest_every": config.interest_every,
        "income": min(config.income_per_cell * land, room),
        "income_every": config.income_every,
        "best": best,
        "most": config.hard_cap * land,
    }


def _in_python(rule: Any) -> Any:
    """Return a rule that kernels compile as Python reads it: nothing is compiled for a few numbers."""
    return getattr(rule, "py_func", rule)


def _openings(game: VecGame, seat: int, troops: int) -> list[AttackOption]:
    sizes, needs, is_legal = (pairs[seat] for pairs in game.fronts(0))
    most = int(largest_need(troops, game.config))
    found = []
    for owner in np.flatnonzero(sizes * ~is_ally(game, seat)).tolist():
        need = int(needs[owner])
        reason = "" if is_legal[owner] else f"needs {need:,} troops; you can commit at most {most:,}"
        least = int(amount_sent(0, need, troops, game.config))
        found.append(AttackOption(owner, int(sizes[owner]), least, reason))
    return sorted(found, key=lambda opening: (opening.reason != "", -opening.cells, opening.owner))


def is_ally(game: VecGame, seat: int) -> Bools:
    """Return (P + 1,) bool, by owner code: whether it is an ally of ``seat``."""
    team = game.state.team[0]
    return are_allies(seat, np.arange(len(team)), team[seat], team)


def _allies(game: VecGame, seat: int, troops: int) -> list[Ally]:
    state, is_legal = game.state, game.fronts(0)[2][seat]
    refused = "has all the troops that its land can hold" if troops else "you have no troops at home"
    found = [
        Ally(owner, int(state.pools[0, :, owner].sum()), "" if is_legal[owner] else refused)
        for owner in np.flatnonzero(is_ally(game, seat) & (state.alive[0] != 0)).tolist()
    ]
    return sorted(found, key=lambda ally: (-ally.attackers, ally.owner))


def _largest_first(pools: Any) -> list[tuple[int, int]]:
    """Return the owner codes of the entries of ``pools`` that are not 0, with these entries."""
    found = [(owner, int(pools[owner])) for owner in np.flatnonzero(pools).tolist()]
    return sorted(found, key=lambda pool: -pool[1])


def why_not(situation: Situation, seat: int, target: int | None) -> str:
    """Return why ``seat`` cannot launch against the owner code ``target``, or give to it; empty if it can.

    None as a target: why it cannot decide at all.
    """
    if situation.is_over:
        return "the game is over"
    if not seat:
        return "you are a spectator"
    if not situation.is_alive:
        return "you are out of the game"
    if target is None:
        return ""
    if target == seat:
        return "this is your own land"
    reasons = {opening.owner: opening.reason for opening in situation.openings}
    reasons |= {ally.owner: ally.reason for ally in situation.allies}
    what = "free land" if target == NEUTRAL else f"P{target}"
    return reasons.get(target, f"{what} is too far: your land does not touch it")
