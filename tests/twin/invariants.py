"""What always holds in a game, by docs/rules.md, looked at from outside the engine and counted slowly."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.constants import BLOCKED
from territorial.engine.vec_game import VecGame
from territorial.game.state import DONATED, INCOME, INTEREST, RECEIVED
from territorial.typing import Ints
from tests.twin.formulas import largest_need, launch_need


class InvariantError(AssertionError):
    """A game is not as the rules promise; the message names game, seed and tick, and says what is wrong."""


def check_games(game: VecGame, games: Iterable[int] | None = None) -> None:
    """Raise InvariantError unless all promises are kept in ``games`` of a batch, or in all of them.

    For boards of 256 x 256 it takes some milliseconds a game: call it now and then.
    """
    for k in range(game.num_games) if games is None else games:
        check_game(game, k)


def check_game(game: VecGame, k: int) -> None:
    """Raise InvariantError unless all promises are kept in game ``k``."""
    for name, find in INVARIANTS.items():
        problem = find(game, k)
        if problem:
            where = f"game {k}, seed {int(game.state.seed[k])}, tick {int(game.state.tick[k])}"
            raise InvariantError(f"{where}: {name}: {problem}")


# ---- the promises: each returns what is wrong, or nothing ------------------------------------------


def troops_balance(game: VecGame, k: int) -> str:
    """Every seat's troops are what it began with, plus its gains, less the losses booked at it.

    That is: of games begun in the usual way, with the config's starting troops.
    """
    ledger, state = game.blocks.ledger[k], game.state
    gains = ledger[[INTEREST, INCOME, RECEIVED]].sum(axis=0)
    losses = ledger.sum(axis=0) - gains
    start = np.full(ledger.shape[1], game.config.starting_troops)
    start[0] = 0
    have, should = state.troops[k] + state.pools[k].sum(axis=1), start + gains - losses
    if game.config.handicap:  # what bots began with is no part of the state
        have, should = have[:1], should[:1]
    if (ledger < 0).any() or ledger[:, 0].any():
        return "the ledger has entries below zero, or of nobody"
    if ledger[RECEIVED].sum() != ledger[DONATED].sum():
        return f"{ledger[DONATED].sum()} troops were donated and {ledger[RECEIVED].sum()} received"
    return _differing("troops of seat", have, should)


def land_counts(game: VecGame, k: int) -> str:
    """Land is the cells on the board, and blocked cells are those of the map."""
    owner = game.state.owner[k, 1:-1, 1:-1]
    counts = np.bincount(owner[owner != BLOCKED], minlength=game.config.num_players + 1)
    if not np.array_equal(owner != BLOCKED, game.land(k).to_array()):
        return "the blocked cells of the board are not those of the map"
    if game.state.num_land[k] != counts.sum():
        return f"the map has {counts.sum()} cells of land, the state says {game.state.num_land[k]}"
    return _differing("land of owner", game.state.land[k], counts)


def nothing_is_negative(game: VecGame, k: int) -> str:
    """No troops and no pools below zero, and no player has a pool against itself or an ally."""
    state = game.state
    if (state.troops[k] < 0).any() or (state.pools[k] < 0).any():
        return "troops or pools below zero"
    if state.pools[k, 0].any() or state.pools[k].diagonal().any():
        return "a pool of nobody, or against oneself"
    if state.pools[k][_are_allies(game, k)].any():
        return "a pool between allies"
    return ""


def teams_are_dealt(game: VecGame, k: int) -> str:
    """The teams are those that the config and the seed of the game deal."""
    dealt = np.array([0, *game.config.team_of(int(game.state.seed[k]))])
    return _differing("team of seat", game.state.team[k], dealt)


def places_are_those_of_teams(game: VecGame, k: int) -> str:
    """A place is known when the last member of the team has died, or the game has ended; allies share it."""
    state = game.state
    for team in range(1, game.config.num_teams + 1):
        is_member = state.team[k] == team
        places = state.doubled_place[k][is_member]
        if (places != places[0]).any():
            return f"seats of team {team} have different places"
        is_known = not state.alive[k][is_member].any()
        if (places[0] > 0) != is_known and not state.over[k]:
            return (
                f"the place of team {team} is {places[0] / 2:g}, and it is {'out' if is_known else 'not out'}"
            )
    return ""


def eliminated_own_nothing(game: VecGame, k: int) -> str:
    """Eliminated players own no land and no troops, no pool is against them, and their death has a tick."""
    state = game.state
    is_dead = state.alive[k] == 0
    is_dead[0] = False
    for name in ("troops", "land"):
        if getattr(state, name)[k][is_dead].any():
            return f"the dead have {name}"
    if state.pools[k][is_dead].any() or state.pools[k][:, is_dead].any():
        return "pools of the dead, or against them"
    if ((state.death_tick[k][1:] >= 0) != is_dead[1:]).any():
        return "death_tick is not that of the dead"
    return ""


def living_exceed_death_threshold(game: VecGame, k: int) -> str:
    """No player lives that has shrunk to a quarter of its largest land, if there are deaths."""
    state, config = game.state, game.config
    if not config.deaths:
        return "" if state.alive[k, 1:].all() else "somebody died though deaths are off"
    is_alive = state.alive[k] != 0
    is_small = is_alive & (config.death_divisor * state.land[k] <= state.peak[k])
    return f"seat {int(is_small.argmax())} lives and is too small" if is_small[1:].any() else ""


def pools_are_remembered(game: VecGame, k: int) -> str:
    """The sets of targets that the engine keeps for speed are those of the pools."""
    owners = game.config.num_players + 1
    active, fresh = (_members(getattr(game.state, name)[k], owners) for name in ("active", "fresh"))
    if not np.array_equal(active, game.state.pools[k] > 0):
        return "`active` is not the set of pools"
    return "`fresh` has targets that `active` does not have" if (fresh > active).any() else ""


def fronts_are_right(game: VecGame, k: int) -> str:
    """Fronts, needs and legal launches are what counting cell by cell gives."""
    sizes, needs, is_legal = game.fronts(k)
    state, config = game.state, game.config
    is_there = state.alive[k] != 0
    possible = np.outer(is_there, is_there | (np.arange(len(is_there)) == 0))
    allies, troops = _are_allies(game, k), state.troops[k]
    slow = np.where(possible, slow_fronts(state.owner[k, 1:-1, 1:-1], config.num_players), 0)
    if not np.array_equal(sizes, slow):
        p, t = np.argwhere(sizes != slow)[0].tolist()
        return (
            f"the front of seat {p} against owner {t} has {slow[p, t]} cells, the engine says {sizes[p, t]}"
        )
    wanted = slow_needs(np.where(allies, 0, slow), state.pools[k], config)
    if not np.array_equal(needs, wanted):
        return "what launches need is not what fronts and pools give"
    affordable = np.array([largest_need(config, troops) for troops in state.troops[k].tolist()])
    gifts = np.outer(is_there & (troops > 0), is_there & (troops < config.hard_cap * state.land[k]))
    slow_legal = np.where(allies, gifts, (slow > 0) & (wanted <= affordable[:, None]))
    return "" if np.array_equal(is_legal, slow_legal) else "legal launches are not those"


# The promises by name.
INVARIANTS: dict[str, Callable[[VecGame, int], str]] = {
    "troops balance": troops_balance,
    "land is counted": land_counts,
    "nothing is negative": nothing_is_negative,
    "teams are dealt": teams_are_dealt,
    "places are those of teams": places_are_those_of_teams,
    "the dead have nothing": eliminated_own_nothing,
    "the living are large enough": living_exceed_death_threshold,
    "pools are remembered": pools_are_remembered,
    "fronts are right": fronts_are_right,
}


# ---- counting slowly -------------------------------------------------------------------------------


def slow_fronts(owner: npt.ArrayLike, num_players: int) -> Ints:
    """Return front sizes int64 (P+1, P+1) of owner codes (H, W): cells of t beside a cell of p."""
    board = np.asarray(owner)
    walled = np.full((board.shape[0] + 2, board.shape[1] + 2), BLOCKED, np.int64)
    walled[1:-1, 1:-1] = board
    around = [walled[:-2, 1:-1], walled[2:, 1:-1], walled[1:-1, :-2], walled[1:-1, 2:]]
    sizes = np.zeros((num_players + 1, num_players + 1), np.int64)
    seen = []  # a cell counts once for a player, however many of its neighbours are that player's
    for side in around:
        row, column = np.nonzero((side != board) & (side != 0) & (side != BLOCKED) & (board != BLOCKED))
        seen.append((row * board.shape[1] + column) * 256 + side[row, column])
    cells, players = np.divmod(np.unique(np.concatenate(seen)), 256)
    np.add.at(sizes, (players, board.ravel()[cells]), 1)
    return sizes


def slow_needs(sizes: Ints, pools: Ints, config: GameConfig) -> Ints:
    """Return what a launch needs by the reference implementation, int64 (P+1, P+1), 0 without a front."""
    needs = np.zeros_like(sizes)
    for p, t in np.argwhere(sizes > 0).tolist():
        needs[p, t] = launch_need(config, int(sizes[p, t]), int(pools[p, t]))
    return needs


def _are_allies(game: VecGame, k: int) -> npt.NDArray[np.bool_]:
    """Return which owners are two seats of one team, bool (P+1, P+1)."""
    team = game.state.team[k]
    same: npt.NDArray[np.bool_] = team[:, None] == team
    return same & ~np.eye(len(team), dtype=bool)


def _members(words: npt.NDArray[np.uint64], owners: int) -> npt.NDArray[np.bool_]:
    """Return sets of owners as bool (P+1, P+1)."""
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    members: npt.NDArray[np.bool_] = bits[:, :owners] != 0
    return members


def _differing(what: str, have: npt.NDArray[np.int64], should: npt.NDArray[np.int64]) -> str:
    if np.array_equal(have, should):
        return ""
    i = int((have != should).argmax())
    return f"{what} {i}: {have[i]}, should be {should[i]}"
