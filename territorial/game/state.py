"""The state of a batch of games as arrays: one table of fields, from which all else is derived.

``State`` holds all games of a batch, ``Game`` one of them without the leading game axis. Fields that
belong together share one array (a block), so that a compiled call takes few arguments; the named
fields are views of the blocks. Copying a game is copying its slice of every block.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.constants import BLOCKED, LARGEST_TROOPS
from territorial.game.board import (
    STRIP_BITS,
    CellSet,
    all_blocks,
    num_blocks,
    num_groups,
    num_rows,
    num_strips,
    write_owner_codes,
    zeroed_words,
)
from territorial.jit.decorators import ZERO, njit
from territorial.jit.simd import EIGHT

MOST_IN_A_POOL = 2**53
"""Most troops that a pool of a saved game may hold: 250 of them are still a whole number of 64 bits."""
BOT_MEMORY = 56
"""Whole numbers that a bot keeps from one decision to the next, beside one for every owner."""


@dataclass(frozen=True)
class Field:
    """One named quantity of the state: the block it lies in, its unit, and what it means."""

    name: str
    block: str
    unit: str
    meaning: str


FIELDS: tuple[Field, ...] = (
    Field("seed", "seed", "64 bits", "seed of this episode"),
    Field("tick", "clock", "ticks", "ticks played so far"),
    Field("over", "clock", "0 or 1", "the game has ended"),
    Field("episode", "clock", "count", "which episode of its slot in the batch this is, from 0"),
    Field("map_id", "clock", "index", "which map of the bank is played"),
    Field("num_land", "clock", "cells", "land of the map, M in the rules"),
    Field("next_due", "clock", "tick", "nobody steps before this tick (derived)"),
    Field("land_changed", "clock", "0 or 1", "land changed hands since deaths were looked at"),
    Field("troops", "players", "troops", "balance at home, T"),
    Field("land", "players", "cells", "cells owned, L; entry 0 is neutral land"),
    Field("alive", "players", "0 or 1", "still in the game"),
    Field("peak", "players", "cells", "largest land, falling slowly when land is lost"),
    Field("next_step", "players", "tick", "earliest tick of the next attack step"),
    Field("due", "players", "tick", "next_step, or a tick never reached without pools (derived)"),
    Field("death_tick", "players", "tick", "tick of death, -1 while alive"),
    Field("place2", "players", "half places", "twice the placement, 0 while it is not known"),
    Field("illegal", "players", "count", "launches that were not legal and did nothing"),
    Field("raised", "players", "count", "launches below the need, raised to it"),
    Field("bounced", "players", "count", "pools refunded at the first step after they were opened"),
    Field("interest", "ledger", "troops", "paid to the player as interest"),
    Field("income", "ledger", "troops", "paid to the player as income"),
    Field("tax", "ledger", "troops", "destroyed by launching"),
    Field("paid_neutral", "ledger", "troops", "spent on neutral land"),
    Field("paid_attack", "ledger", "troops", "spent in attacks on players"),
    Field("killed", "ledger", "troops", "fallen as a defender"),
    Field("cancelled", "ledger", "troops", "pools lost against an attacker's pool"),
    Field("capped", "ledger", "troops", "refunds lost at the hard cap"),
    Field("destroyed", "ledger", "troops", "lost by dying"),
    Field("pools", "pairs", "troops", "A[p][t], troops that p has in the field against t"),
    Field("taken", "pairs", "cells", "cells that p has taken from t so far"),
    Field("fronts", "pairs", "cells", "cells of t beside cells of player p (derived)"),
    Field("active", "targets", "set of owners", "targets t with A[p][t] > 0, one bit each"),
    Field("fresh", "targets", "set of owners", "targets whose pool was opened since p's last step"),
    Field("bordering", "targets", "set of owners", "owners that share a border with p (derived)"),
    Field("stale", "targets", "set of owners", "owners t whose pair (p, t) changed since last observed"),
    Field("planes", "planes", "bit planes", "the cells of each owner, see territorial.game.board"),
    Field("occupied", "occupied", "sets of blocks", "where each owner may have cells, see there"),
    Field("seats", "seating", "code", "who plays the seat, see territorial.engine.seats"),
    Field("next_seats", "seating", "code", "who plays the seat from the next reset on"),
    Field("next_troops", "seating", "troops", "what the seat starts with from the next reset on"),
    Field("next_interval", "seating", "ticks", "how often a bot in Python decides there from then on"),
    Field("wake", "seating", "tick", "the seat's bot does nothing before this tick"),
    Field(
        "memory", "memory", "numbers", "what the seat's bot was told and remembers: territorial.bots.settings"
    ),
)


def _entries(block: str) -> dict[str, int]:
    names = [field.name for field in FIELDS if field.block == block]
    return {name: index for index, name in enumerate(names)}


CLOCK, PLAYERS, LEDGER = _entries("clock"), _entries("players"), _entries("ledger")
PAIRS, TARGETS, SEATING = _entries("pairs"), _entries("targets"), _entries("seating")

_PLACES = {
    field.name: (
        field.block,
        None if field.block == field.name != "seed" else _entries(field.block)[field.name],
    )
    for field in FIELDS
}
"""The block of every field, and its entry there; None if it is the whole block."""

TICK, OVER, EPISODE = CLOCK["tick"], CLOCK["over"], CLOCK["episode"]
MAP_ID, NUM_LAND, NEXT_DUE = CLOCK["map_id"], CLOCK["num_land"], CLOCK["next_due"]
LAND_CHANGED = CLOCK["land_changed"]
INTEREST, INCOME, TAX = LEDGER["interest"], LEDGER["income"], LEDGER["tax"]
PAID_NEUTRAL, PAID_ATTACK = LEDGER["paid_neutral"], LEDGER["paid_attack"]
KILLED, CANCELLED = LEDGER["killed"], LEDGER["cancelled"]
CAPPED, DESTROYED = LEDGER["capped"], LEDGER["destroyed"]
NUM_GAINS = 2
"""The first entries of the ledger are gains, the others losses."""


class State(NamedTuple):
    """All games of a batch: one array per block, the game axis (E) first.

    P seats, S strips of 64 columns, H rows, K = words of 64 bits for a set of owners 0..P.
    """

    seed: npt.NDArray[np.uint64]  # (E, 1)
    clock: npt.NDArray[np.int64]  # (E, entries)
    players: npt.NDArray[np.int64]  # (E, entries, P+1)
    ledger: npt.NDArray[np.int64]  # (E, entries, P+1)
    pairs: npt.NDArray[np.int64]  # (E, entries, P+1, P+1)
    targets: npt.NDArray[np.uint64]  # (E, entries, P+1, K)
    planes: npt.NDArray[np.uint64]  # (E, P+1, S, rows)
    occupied: npt.NDArray[np.uint64]  # (E, P+1, S, groups)
    seating: npt.NDArray[np.int64]  # (E, entries, P+1)
    memory: npt.NDArray[Any]  # int32 (E, P+1, BOT_MEMORY + P+1)


class Game(NamedTuple):
    """One game, as the rules see it: what changes from tick to tick. Indexed by owner code."""

    seed: Any
    clock: Any
    troops: Any
    land: Any
    alive: Any
    peak: Any
    next_step: Any
    due: Any
    death_tick: Any
    place2: Any
    illegal: Any
    raised: Any
    bounced: Any
    ledger: Any
    pools: Any
    taken: Any
    fronts: Any
    active: Any
    fresh: Any
    bordering: Any
    stale: Any
    planes: Any
    occupied: Any


_TROOPS, _LAND, _ALIVE, _PEAK = (PLAYERS[name] for name in ("troops", "land", "alive", "peak"))
_NEXT_STEP, _DUE = PLAYERS["next_step"], PLAYERS["due"]
_DEATH_TICK, _PLACE2 = PLAYERS["death_tick"], PLAYERS["place2"]
_ILLEGAL, _RAISED, _BOUNCED = PLAYERS["illegal"], PLAYERS["raised"], PLAYERS["bounced"]
_POOLS, _TAKEN, _FRONTS = PAIRS["pools"], PAIRS["taken"], PAIRS["fronts"]
_ACTIVE, _FRESH = TARGETS["active"], TARGETS["fresh"]
_BORDERING, _STALE = TARGETS["bordering"], TARGETS["stale"]
SEATS, NEXT_SEATS, WAKE = SEATING["seats"], SEATING["next_seats"], SEATING["wake"]
NEXT_TROOPS, NEXT_INTERVAL = SEATING["next_troops"], SEATING["next_interval"]


@njit
def game_of(state: State, k: int) -> Game:
    """Return views of game ``k``: writing to them writes to the batch."""
    players, pairs, targets = state.players[k], state.pairs[k], state.targets[k]
    return Game(
        state.seed[k],
        state.clock[k],
        players[_TROOPS],
        players[_LAND],
        players[_ALIVE],
        players[_PEAK],
        players[_NEXT_STEP],
        players[_DUE],
        players[_DEATH_TICK],
        players[_PLACE2],
        players[_ILLEGAL],
        players[_RAISED],
        players[_BOUNCED],
        state.ledger[k],
        pairs[_POOLS],
        pairs[_TAKEN],
        pairs[_FRONTS],
        targets[_ACTIVE],
        targets[_FRESH],
        targets[_BORDERING],
        targets[_STALE],
        state.planes[k],
        state.occupied[k],
    )


@njit
def cells_of(game: Game, owner: int) -> CellSet:
    """Return the cells that ``owner`` has, as views."""
    return CellSet(game.planes[owner], game.occupied[owner])


def allocate(num_games: int, num_players: int, height: int, width: int) -> State:
    """Return the zeroed state of a batch; no game in it has begun."""
    owners, strips = num_players + 1, num_strips(width)
    words = -(-owners // STRIP_BITS)
    return State(
        seed=np.zeros((num_games, 1), np.uint64),
        clock=np.zeros((num_games, len(CLOCK)), np.int64),
        players=np.zeros((num_games, len(PLAYERS), owners), np.int64),
        ledger=np.zeros((num_games, len(LEDGER), owners), np.int64),
        pairs=np.zeros((num_games, len(PAIRS), owners, owners), np.int64),
        targets=np.zeros((num_games, len(TARGETS), owners, words), np.uint64),
        planes=zeroed_words((num_games, owners, strips, num_rows(height))),
        occupied=np.zeros((num_games, owners, strips, num_groups(height)), np.uint64),
        seating=np.zeros((num_games, len(SEATING), owners), np.int64),
        memory=np.zeros((num_games, owners, BOT_MEMORY + owners), np.int32),
    )


def view(state: State, name: str) -> npt.NDArray[Any]:
    """Return the named field of all games as a view, the game axis first."""
    try:
        block_name, entry = _PLACES[name]
    except KeyError:
        raise AttributeError(
            f"a game has no field {name!r}; it has {', '.join(field.name for field in FIELDS)}"
        ) from None
    block: npt.NDArray[Any] = getattr(state, block_name)
    return block if entry is None else block[:, entry]


def state_bytes(state: State) -> int:
    """Return the bytes that a state takes."""
    return sum(block.nbytes for block in state)


class Position(NamedTuple):
    """What the digest of a game is taken of, beside its seed."""

    board: npt.NDArray[np.uint8]  # (H+2, W+2) owner codes within a wall ring
    numbers: npt.NDArray[np.int64]  # (1 + 6 P + (P+1)**2,) in the order of the rules: see write_position


def allocate_positions(num_games: int, num_players: int, height: int, width: int) -> Position:
    """Return room for the positions of ``num_games`` games, the game axis first."""
    numbers = 1 + 6 * num_players + (num_players + 1) ** 2
    return Position(
        board=np.zeros((num_games, height + 2, width + 2), np.uint8),
        numbers=np.zeros((num_games, numbers), np.int64),
    )


@njit
def write_position(game: Game, board: Any, numbers: Any) -> None:
    """Write what the digest of ``game`` is taken of: its tick, six numbers of every seat, all pools."""
    board[:, :] = BLOCKED
    write_owner_codes(game.planes, game.occupied, board)
    players, owners = len(game.alive) - 1, len(game.alive)
    numbers[0] = game.clock[TICK]
    for i in range(players):
        p = i + 1
        numbers[p] = game.alive[p]
        numbers[p + players] = game.troops[p]
        numbers[p + 2 * players] = game.land[p]
        numbers[p + 3 * players] = game.peak[p]
        numbers[p + 4 * players] = game.next_step[p]
        numbers[p + 5 * players] = game.death_tick[p]
    first = 1 + 6 * players
    for p in range(owners):
        for target in range(owners):
            numbers[first + p * owners + target] = game.pools[p, target]


def digest(seed: int, position: Position) -> bytes:
    """Return the 8 bytes that name the position of one game, as the rules define them."""
    numbers = position.numbers.astype("<i8", copy=False)
    message = hashlib.blake2b(numbers[:1].tobytes() + seed.to_bytes(8, "little"), digest_size=8)
    message.update(position.board[1:-1, 1:-1].tobytes())
    message.update(numbers[1:].tobytes())
    return message.digest()


def check_blocks(state: State, blocks: tuple[npt.NDArray[Any], ...]) -> None:
    """Raise ValueError unless ``blocks`` could be one game of ``state``: shapes, types, safe indices."""
    if not isinstance(blocks, tuple) or len(blocks) != len(state):
        raise ValueError(f"a saved game has {len(state)} arrays: {', '.join(state._fields)}")
    for name, block, own in zip(state._fields, blocks, state, strict=True):
        if not isinstance(block, np.ndarray) or (block.shape, block.dtype) != (own.shape[1:], own.dtype):
            found = f"{block.dtype} {block.shape}" if isinstance(block, np.ndarray) else repr(block)
            raise ValueError(f"the saved game's {name} is {found}; it must be {own.dtype} {own.shape[1:]}")
    saved = State(*blocks)
    cells = 64 * state.planes.shape[-1] * state.planes.shape[-2]
    bounds = {
        "land": (saved.players[_LAND], 0, cells),
        "alive": (saved.players[_ALIVE], 0, 1),
        "troops": (saved.players[_TROOPS], 0, LARGEST_TROOPS),
        "pools": (saved.pairs[_POOLS], 0, MOST_IN_A_POOL),
        "clock": (saved.clock, 0, 2**62),
    }
    for name, (values, low, high) in bounds.items():
        if values.min() < low or values.max() > high:
            raise ValueError(
                f"the saved game's {name} hold {values.min()} to {values.max()}, not {low} to {high}"
            )
    height = state.planes.shape[-1] - EIGHT
    if (saved.occupied & ~all_blocks(height)).any():
        raise ValueError(f"the saved game's occupied blocks reach beyond the {num_blocks(height)} there are")
    # What is stale is masked where it is read, and may have all bits set.
    owners = state.planes.shape[1]
    last_words = saved.targets[[_ACTIVE, _FRESH, _BORDERING], :, -1]
    if (last_words & ~(~ZERO >> np.uint64(-owners % STRIP_BITS))).any():
        raise ValueError(f"the saved game's targets name owners above {owners - 1}")
