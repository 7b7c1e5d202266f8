"""Saving, restoring and setting up positions of games in a batch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import (
    check_type,
    checked_list,
    true_or_false,
    whole_number,
    whole_numbers,
)
from territorial.constants import BLOCKED, FIRST_BOT_CODE, LARGEST_TROOPS, MAX_SIDE
from territorial.engine import step
from territorial.engine.players import NEXT_ONES, BatchPlayers
from territorial.engine.seats import FIRST_CUSTOM_CODE, FIRST_PYTHON_CODE, CompiledBot
from territorial.engine.step import BatchArrays
from territorial.game.formulas import are_allies, is_legal, largest_need, may_donate, need_for
from territorial.game.state import (
    FIELDS,
    PAIR_ENTRIES,
    SEATING,
    SEED,
    Position,
    State,
    allocate_positions,
    check_blocks,
    digest,
    view,
)
from territorial.typing import Bools, Ints


class SavedGame(NamedTuple):
    """A copy of one game of a batch; any batch of the same config can resume it.

    Args:
        config_digest: ``GameConfig.hexdigest`` of the batch.
        blocks: copies of the arrays of the state, one per field of ``territorial.game.state.State``.
        older_frames: XORs of the stack of boards, (F - 1, B, rows, S); empty without a stack.
        python_bots: names of the bots in Python of the batch, in the order of their seat codes; default ().
        num_cycles: environment steps that the game had taken; default 0.
        is_idle: True: its episode was over, so that it takes no step; default False.
        custom: the other custom bots of the batch, in the order of their seat codes; default ().

    """

    config_digest: str
    blocks: tuple[npt.NDArray[Any], ...]
    older_frames: npt.NDArray[np.uint64]
    python_bots: tuple[str, ...] = ()
    num_cycles: int = 0
    is_idle: bool = False
    custom: tuple[CompiledBot, ...] = ()


def check_saved(
    saved: Any, config: GameConfig, config_digest: str, state: State, python_bots: tuple[str, ...]
) -> bool:
    """Return whether an agent plays ``saved``, a game that the batch of ``state`` can resume.

    TypeError or ValueError if it cannot. ``config`` and ``python_bots``, names of bots in Python, are those
    of that batch.
    """
    if not isinstance(saved, SavedGame):
        raise TypeError(f"saved is a {type(saved).__name__}; it must come from VecGame.save")
    if saved.config_digest != config_digest:
        raise ValueError(
            f"the saved game has the config {saved.config_digest}; this batch plays "
            f"{config_digest}. Make a VecGame with the config of the saved game"
        )
    whole_number("num_cycles of the saved game", saved.num_cycles, 0)
    true_or_false("is_idle of the saved game", saved.is_idle)
    for i, bot in enumerate(checked_list("custom of the saved game", saved.custom)):
        check_type(f"custom[{i}] of the saved game", bot, CompiledBot, "a style or a network")
    checked_list("python_bots of the saved game", saved.python_bots, str)
    check_blocks(state, saved.blocks)
    if config.teams is not None:
        _check_pools(saved, teams_of_saved(saved, config))
    older = saved.older_frames
    if not isinstance(older, np.ndarray) or older.dtype != np.uint64:
        found = older.dtype if isinstance(older, np.ndarray) else type(older).__name__
        raise ValueError(f"the saved game's older frames are {found}; they must be an array of uint64")
    return _check_seats(saved, python_bots)


def teams_of_saved(saved: SavedGame, config: GameConfig) -> tuple[int, ...]:
    """Return the team of every seat in a saved game, as dealt by its seed."""
    return config.team_of(int(State(*saved.blocks).seed[SEED]))


def write_game(
    saved: SavedGame, config: GameConfig, arrays: BatchArrays, k: int, players: BatchPlayers
) -> None:
    """Put a saved game into slot ``k``, all but ``NEXT_ONES``; ``players`` have its custom bots among others.

    What is observed is not yet.
    """
    state, slots = arrays.state, arrays.slots
    next_ones = {name: view(state, name)[k].copy() for name in NEXT_ONES}
    blocks: tuple[npt.NDArray[Any], ...] = state
    for block, kept in zip(blocks, saved.blocks, strict=True):
        block[k] = kept
    for name, values in next_ones.items():
        view(state, name)[k] = values
    team = view(state, "team")
    team[k] = np.arange(team.shape[1]) if config.teams is None else (0, *teams_of_saved(saved, config))
    if saved.custom or saved.python_bots:
        codes = view(state, "seats")
        codes[k] = players.codes_here(codes[k], saved.custom, saved.python_bots)
    slots.num_cycles[k], slots.is_idle[k] = saved.num_cycles, saved.is_idle


def _check_pools(saved: SavedGame, teams: tuple[int, ...]) -> None:
    """Raise ValueError if a pool is between allies; ``teams``: of every seat."""
    pools = State(*saved.blocks).pairs[PAIR_ENTRIES["pools"], 1:, 1:]
    between = np.argwhere((pools > 0) & np.equal.outer(teams, teams)) + 1
    for p, target in between.tolist():
        if p != target:
            raise ValueError(
                f"the saved game has a pool of seat {p} against seat {target}, its ally in team "
                f"{teams[p - 1]}; no pool may be between allies"
            )


def _check_seats(saved: SavedGame, python_bots: tuple[str, ...]) -> bool:
    """Return whether an agent has a seat; ValueError unless seat codes mean the same here as in ``saved``."""
    seats = set(State(*saved.blocks).seating[SEATING["seats"], 1:].tolist())
    largest = max(seats)
    if largest >= FIRST_CUSTOM_CODE + len(saved.custom):
        raise ValueError(
            f"the seats of the saved game hold the code {largest}; "
            f"it has {len(saved.custom)} custom bots, from {FIRST_CUSTOM_CODE} on"
        )
    others = [code for code in seats if code < FIRST_CUSTOM_CODE]
    lowest, highest = min(others, default=FIRST_BOT_CODE), max(others, default=0)
    if lowest < 0 or highest >= FIRST_PYTHON_CODE + len(saved.python_bots):
        raise ValueError(
            f"the seats of the saved game hold codes {lowest} to {highest}, which are not all codes of bots"
        )
    used = {saved.python_bots[code - FIRST_PYTHON_CODE] for code in others if code >= FIRST_PYTHON_CODE}
    if missing := sorted(used - set(python_bots)):
        raise ValueError(
            f"the saved game is played by the bots in Python {', '.join(missing)}; this batch has "
            f"{', '.join(python_bots) or 'none'}"
        )
    return lowest < FIRST_BOT_CODE


# ---- positions -----------------------------------------------------------------------------------

LARGEST_TICK = 2**40
"""Largest tick at which a player of a position may step next."""
AT_ZERO = ("pools", "taken", "active", "fresh", "doubled_place", "illegal", "raised", "bounced")
"""Fields that hold nothing in a position."""


def write_position(
    config: GameConfig,
    state: State,
    k: int,
    owner: npt.ArrayLike,
    tick: int,
    troops: Sequence[int] | None,
    pools: Mapping[tuple[int, int], int] | None,
    peak: Sequence[int] | None,
    next_step: Sequence[int] | None,
) -> npt.NDArray[np.uint8]:
    """Write all numbers of a position into game ``k``, and return its board, owner codes (H, W).

    The arguments are those of ``VecGame.set_position``; if one of them cannot be, nothing is written. The
    board, and what follows from it, is not yet.
    """
    players = config.num_players
    board = _checked_board(owner, config)
    now = whole_number("tick", tick, 0, config.max_ticks)
    balances = None if troops is None else whole_numbers("troops", troops, (players,), 0, LARGEST_TROOPS)
    peaks = None if peak is None else whole_numbers("peak", peak, (players,), 0, MAX_SIDE**2)
    steps = None if next_step is None else whole_numbers("next_step", next_step, (players,), 0, LARGEST_TICK)
    in_field = _checked_pools({} if pools is None else pools, view(state, "team")[k])
    get = {field.name: view(state, field.name)[k] for field in FIELDS}
    for name in AT_ZERO:
        get[name][...] = 0
    state.ledger[k] = 0
    cells = np.bincount(board.ravel(), minlength=BLOCKED + 1)
    for name, value in {"tick": now, "over": 0, "num_land": cells[:BLOCKED].sum()}.items():
        view(state, name)[k] = value
    get["alive"][1:], get["death_tick"][:] = 1, -1
    get["troops"][1:] = config.starting_troops if balances is None else balances
    get["next_step"][1:] = now if steps is None else steps
    get["peak"][1:] = cells[1 : players + 1] if peaks is None else peaks
    for pair, amount in in_field.items():
        get["pools"][pair] = amount
    return board


def digest_of(config: GameConfig, state: State, k: int) -> bytes:
    """Return the 8 bytes that name the position of game ``k``; see ``VecGame.digest``."""
    room = allocate_positions(1, config.num_players, config.height, config.width)
    position = Position(room.board[0], room.numbers[0])
    step.position_of(state, k, position)
    return digest(int(state.seed[k, SEED]), position)


def fronts_of(config: GameConfig, state: State, k: int) -> tuple[Ints, Ints, Bools]:
    """Return front sizes, launch needs and legality of all pairs of game ``k``; see ``VecGame.fronts``.

    Between allies nothing is needed: what is legal there are donations.
    """
    sizes, troops, land = (view(state, name)[k].copy() for name in ("fronts", "troops", "land"))
    teams, owners = view(state, "team")[k], np.arange(len(troops))
    allies = are_allies(owners[:, None], owners, teams[:, None], teams)
    needs = need_for(sizes * ~allies, view(state, "pools")[k], config)
    attacks = is_legal(needs, largest_need(troops, config)[:, None])
    return sizes, needs, np.where(allies, may_donate(troops[:, None], troops, land, config), attacks)


# ---- checks ----------------------------------------------------------------------------------------


def _checked_board(owner: npt.ArrayLike, config: GameConfig) -> npt.NDArray[np.uint8]:
    """Return a copy of owner codes, uint8 (H, W)."""
    board = whole_numbers("owner", owner, (config.height, config.width), 0, BLOCKED)
    places = np.argwhere((board != BLOCKED) & (board > config.num_players)).tolist()
    if places:
        found = board[tuple(places[0])]
        raise ValueError(f"owner{places[0]} is {found}; it must be 0 to {config.num_players}, or {BLOCKED}")
    if (board == BLOCKED).all():
        raise ValueError(f"owner holds only {BLOCKED}; a board must have land")
    return board.astype(np.uint8)


def _checked_pools(pools: Mapping[tuple[int, int], int], teams: Ints) -> dict[tuple[int, int], int]:
    """Return the troops of pools by (seat, target); ``teams``: the team of every owner code, (P+1,)."""
    num_players = len(teams) - 1
    if not isinstance(pools, Mapping):
        raise TypeError(f"pools is {pools!r}; it must map (seat, target) to troops")
    checked = {}
    for pair, amount in pools.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"pools[{pair!r}]: it must be (seat, target)")
        p = whole_number(f"seat of pools[{pair}] = {amount}", pair[0], 1, num_players)
        target = whole_number(f"target of pools[{pair}] = {amount}", pair[1], 0, num_players)
        if p == target:
            raise ValueError(f"pools[{pair}] is {amount}; seat and target must differ")
        if teams[p] == teams[target]:
            raise ValueError(
                f"pools[{pair}] is {amount}; seats {p} and {target} are allies, of team {teams[p]}, and no "
                "pool may be between them"
            )
        checked[p, target] = whole_number(f"pools[{pair}] = {amount}: it", amount, 0, LARGEST_TROOPS)
    return checked
