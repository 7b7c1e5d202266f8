"""``State``: arrays of a batch of games, defined by a field table.

``State`` holds all games of a batch, ``Game`` and ``Seating`` one of them without the leading game axis.
Fields that belong together share one array (a block), so that a compiled call takes few arguments; the named
fields are views of the blocks. Copying a game is copying its slice of every block.

The table is the annotations of ``Game`` and ``Seating``, where type checkers see the names, and the entries
of ``clock`` and ``ledger``. A new field goes there, last of its block: saved games rely on the order.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

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
from territorial.typing import Ints, Words

MOST_IN_A_POOL = 2**53
"""Most troops that a pool of a saved game may hold: 250 of them are still a whole number of 64 bits."""
BOT_MEMORY = 56
"""Whole numbers that a bot keeps from one decision to the next, beside one for every owner."""


@dataclass(frozen=True)
class FieldBlock:
    """An array of :class:`State`: its name there, and the axes of a field of one game that lies in it.

    The array is [game][field][axes ...], or [game][axes ...] if it ``is_field`` itself.
    """

    name: str
    axes: tuple[str, ...]
    is_field: bool = False


@dataclass(frozen=True)
class Field:
    """One named quantity of the state of a game: its place, type and meaning."""

    name: str
    block: str
    dtype: str
    shape: tuple[str, ...]
    """Of one game; for the letters see :class:`State`."""
    unit: str
    meaning: str


Seed = Annotated[Words, FieldBlock("seed", ())]
Clock = Annotated[Ints, FieldBlock("clock", ())]
Players = Annotated[Ints, FieldBlock("players", ("P+1",))]
Ledger = Annotated[Ints, FieldBlock("ledger", ("P+1",))]
Pairs = Annotated[Ints, FieldBlock("pairs", ("P+1", "P+1"))]
Targets = Annotated[Words, FieldBlock("targets", ("P+1", "K"))]
Planes = Annotated[Words, FieldBlock("planes", ("P+1", "S", "rows"), is_field=True)]
Occupied = Annotated[Words, FieldBlock("occupied", ("P+1", "S", "groups"), is_field=True)]
SeatTable = Annotated[Ints, FieldBlock("seating", ("P+1",))]
Memory = Annotated[npt.NDArray[np.int32], FieldBlock("memory", ("P+1", "M"), is_field=True)]


class State(NamedTuple):
    """All games of a batch: one array for each block of fields, the game axis (E) first.

    P seats, K words of 64 bits for a set of owners 0..P, S strips of 64 columns; rows and groups of a strip:
    see territorial.game.board. M numbers are the memory of a bot: BOT_MEMORY and one for every owner.
    """

    seed: Seed
    clock: Clock
    players: Players
    ledger: Ledger
    pairs: Pairs
    targets: Targets
    planes: Planes
    occupied: Occupied
    seating: SeatTable
    memory: Memory


# ---- the table of fields: of each its block, and so dtype and shape, its unit, and what it means ---


class Game(NamedTuple):
    """One game, as the rules see it: the arrays that change from tick to tick.

    All are views into a :class:`State`, indexed by owner code 0..P where an axis has P+1 entries. The numbers
    of ``clock`` and ``ledger`` are found by constants of this module: ``game.clock[TICK]``.
    """

    seed: Seed
    clock: Clock
    troops: Annotated[Players, "troops", "balance at home, T"]
    land: Annotated[Players, "cells", "cells owned, L; entry 0 is neutral land"]
    alive: Annotated[Players, "0 or 1", "still in the game"]
    peak: Annotated[Players, "cells", "largest land, falling slowly when land is lost"]
    next_step: Annotated[Players, "tick", "earliest tick of the next attack step"]
    due: Annotated[Players, "tick", "next_step, or a tick never reached without pools (derived)"]
    death_tick: Annotated[Players, "tick", "tick of death, -1 while alive"]
    doubled_place: Annotated[Players, "half places", "twice the placement, 0 while it is not known"]
    illegal: Annotated[Players, "count", "launches that were not legal and did nothing"]
    raised: Annotated[Players, "count", "launches below the need, raised to it"]
    bounced: Annotated[Players, "count", "pools refunded at the first step after they were opened"]
    team: Annotated[Players, "number", "the team 1..N, G; without teams the seat's own number"]
    ledger: Ledger
    pools: Annotated[Pairs, "troops", "A[p][t], troops that p has in the field against t"]
    taken: Annotated[Pairs, "cells", "cells that p has taken from t so far"]
    fronts: Annotated[Pairs, "cells", "cells of t beside cells of player p (derived)"]
    active: Annotated[Targets, "set of owners", "targets t with A[p][t] > 0, one bit each"]
    fresh: Annotated[Targets, "set of owners", "targets whose pool was opened since p's last step"]
    bordering: Annotated[Targets, "set of owners", "owners that share a border with p (derived)"]
    stale: Annotated[Targets, "set of owners", "owners t whose pair (p, t) changed since last observed"]
    planes: Annotated[Planes, "bit planes", "the cells of each owner, see territorial.game.board"]
    occupied: Annotated[Occupied, "sets of blocks", "where each owner may have cells, see there"]


class Seating(NamedTuple):
    """The players of the seats of one game, and the memory of their bots; views, indexed by seat 1..P."""

    seats: Annotated[SeatTable, "code", "who plays the seat, see territorial.engine.seats"]
    next_seats: Annotated[SeatTable, "code", "who plays the seat from the next reset on"]
    next_troops: Annotated[SeatTable, "troops", "what the seat starts with from the next reset on"]
    next_interval: Annotated[SeatTable, "ticks", "how often a bot in Python decides there from then on"]
    wake: Annotated[SeatTable, "tick", "the seat's bot does nothing before this tick"]
    memory: Annotated[
        Memory, "numbers", "what the seat's bot was told and remembers: territorial.bots.settings"
    ]


def _fields(hint: Any, about: Mapping[str, tuple[str, str]]) -> Iterator[Field]:
    """Yield a field of the block of ``hint`` for every name, with its unit and meaning."""
    block: FieldBlock = hint.__metadata__[0]
    dtype = _dtype_in(hint.__origin__)
    for name, (unit, meaning) in about.items():
        yield Field(name, block.name, dtype, block.axes, unit, meaning)


def _dtype_in(hint: Any) -> str:
    """Return the name of the dtype of an ``NDArray``, of which numpy 2.5 makes an alias with one argument."""
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return np.dtype(hint).name
    return next(filter(None, map(_dtype_in, get_args(hint))), "")


def _fields_in(views: Any) -> Iterator[Field]:
    """Yield the fields that a named tuple of views has; whole blocks of fields, without a unit, are none."""
    for name, hint in get_type_hints(views, include_extras=True).items():
        about = hint.__metadata__[1:]
        yield from _fields(hint, {name: about} if about else {})


# The first entry is read in every step; at another place that takes two per cent more instructions.
_SEED = {
    "future": ("64 bits", "seed of what is drawn from the first tick on; the episode's own, unless restored"),
    "seed": ("64 bits", "seed of this episode"),
}
_CLOCK = {
    "tick": ("ticks", "ticks played so far"),
    "over": ("0 or 1", "the game has ended"),
    "episode": ("count", "which episode of its slot in the batch this is, from 0"),
    "map_id": ("index", "which map of the bank is played"),
    "num_land": ("cells", "land of the map, M in the rules"),
    "next_due": ("tick", "no player steps before this tick (derived)"),
    "land_changed": ("0 or 1", "land changed hands since deaths were looked at"),
}
_LEDGER = {
    "interest": ("troops", "paid to the player as interest"),
    "income": ("troops", "paid to the player as income"),
    "tax": ("troops", "destroyed by launching"),
    "paid_neutral": ("troops", "spent on neutral land"),
    "paid_attack": ("troops", "spent in attacks on players"),
    "killed": ("troops", "fallen as a defender"),
    "cancelled": ("troops", "pools lost against an attacker's pool"),
    "capped": ("troops", "refunds and gifts lost at the hard cap"),
    "destroyed": ("troops", "lost by dying"),
    "received": ("troops", "given by allies, what was lost at the cap included"),
    "donated": ("troops", "given to allies"),
}
BLOCKS: dict[str, FieldBlock] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(State, include_extras=True).items()
}
"""The arrays of a state, by name."""

FIELDS: tuple[Field, ...] = tuple(
    sorted(
        (
            *_fields(Seed, _SEED),
            *_fields_in(Game),
            *_fields(Clock, _CLOCK),
            *_fields(Ledger, _LEDGER),
            *_fields_in(Seating),
        ),
        key=lambda field: list(BLOCKS).index(field.block),
    )
)
"""All named quantities, block by block; within a block they are in the order of its entries."""


_BY_NAME = {field.name: field for field in FIELDS}


def _entries(block: str) -> dict[str, int]:
    """Return which entry of a block each of its fields is."""
    names = [field.name for field in FIELDS if field.block == block]
    return {name: index for index, name in enumerate(names)}


_ENTRIES: dict[str, dict[str, int]] = {block: _entries(block) for block in BLOCKS}
CLOCK, PLAYERS, LEDGER = _ENTRIES["clock"], _ENTRIES["players"], _ENTRIES["ledger"]
PAIR_ENTRIES, TARGETS, SEATING = _ENTRIES["pairs"], _ENTRIES["targets"], _ENTRIES["seating"]
# Which block of a state each field is in, and which entry of it; None: it is the whole block.
_PLACES: dict[str, tuple[int, int | None]] = {
    field.name: (
        list(BLOCKS).index(field.block),
        None if BLOCKS[field.block].is_field else _ENTRIES[field.block][field.name],
    )
    for field in FIELDS
}

FUTURE, SEED = (_ENTRIES["seed"][name] for name in _SEED)
TICK, OVER, EPISODE = CLOCK["tick"], CLOCK["over"], CLOCK["episode"]
MAP_ID, NUM_LAND, NEXT_DUE = CLOCK["map_id"], CLOCK["num_land"], CLOCK["next_due"]
LAND_CHANGED = CLOCK["land_changed"]
INTEREST, INCOME, TAX = LEDGER["interest"], LEDGER["income"], LEDGER["tax"]
PAID_NEUTRAL, PAID_ATTACK = LEDGER["paid_neutral"], LEDGER["paid_attack"]
KILLED, CANCELLED = LEDGER["killed"], LEDGER["cancelled"]
CAPPED, DESTROYED = LEDGER["capped"], LEDGER["destroyed"]
RECEIVED, DONATED = LEDGER["received"], LEDGER["donated"]


# ---- what follows from the table -------------------------------------------------------------------


def _place(name: str) -> str:
    """Return where a field, or a block of fields, of game ``k`` is in ``state``, as an expression."""
    if name in BLOCKS:
        return f"state.{name}[k]"
    block = _BY_NAME[name].block
    return f"state.{block}[k, {_ENTRIES[block][name]}]"


def _views_of(views: Any) -> Any:
    """Return the kernel (state, k) that makes ``views``, a named tuple, of game ``k``.

    Numba has no loop over the fields of a tuple, so its code is written here.
    """
    places = ", ".join(_place(name) for name in views._fields)
    names: dict[str, Any] = {"__name__": __name__, "views": views}
    exec(f"def views_of(state, k):\n    return views({places})", names)
    return njit(names["views_of"])


game_of: Callable[[State, int], Game] = _views_of(Game)
"""Makes the views of game ``k``: writing to them writes to the batch."""
seating_of: Callable[[State, int], Seating] = _views_of(Seating)
"""Makes the views of the seats of game ``k``."""


def field_line(field: Field, *axes: str) -> str:
    """Return dtype, shape, meaning and unit of a field, the shape with more ``axes`` in front."""
    shape = str((*axes, *field.shape)).replace("'", "")
    return f"{field.dtype} {shape}: {field.meaning}; {field.unit}"


@njit
def cells_of(game: Game, owner: int) -> CellSet:
    """Return the cells that ``owner`` has, as views."""
    return CellSet(game.planes[owner], game.occupied[owner])


def allocate(num_games: int, num_players: int, height: int, width: int) -> State:
    """Return the zeroed state of a batch; no game in it has begun."""
    owners = num_players + 1
    sizes = {
        "P+1": owners,
        "K": -(-owners // STRIP_BITS),
        "S": num_strips(width),
        "rows": num_rows(height),
        "groups": num_groups(height),
        "M": BOT_MEMORY + owners,
    }
    return State(*(_zeros(block, num_games, sizes) for block in BLOCKS.values()))


def _zeros(block: FieldBlock, num_games: int, sizes: Mapping[str, int]) -> npt.NDArray[Any]:
    """Return the zeroed array of a block; that of bit planes begins where a line of the cache does."""
    fields = [field for field in FIELDS if field.block == block.name]
    entries = () if block.is_field else (len(fields),)
    shape = (num_games, *entries, *(sizes[axis] for axis in block.axes))
    return zeroed_words(shape) if "rows" in block.axes else np.zeros(shape, fields[0].dtype)


def view(state: State, name: str) -> npt.NDArray[Any]:
    """Return the named field of all games as a view, the game axis first."""
    if name not in _PLACES:
        raise AttributeError(f"a game has no field {name!r}; it has {', '.join(_PLACES)}")
    place, entry = _PLACES[name]
    array: npt.NDArray[Any] = state[place]
    return array if entry is None else array[:, entry]


def state_bytes(state: State) -> int:
    """Return the bytes that a state takes."""
    return sum(block.nbytes for block in state)


class Position(NamedTuple):
    """The position of a game, of which its digest is taken, beside its seed."""

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
    """Write the position of ``game``: its tick, six numbers of every seat, all pools."""
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
    arrays: tuple[npt.NDArray[Any], ...] = state
    for name, block, own in zip(state._fields, blocks, arrays, strict=True):
        if not isinstance(block, np.ndarray) or (block.shape, block.dtype) != (own.shape[1:], own.dtype):
            found = f"{block.dtype} {block.shape}" if isinstance(block, np.ndarray) else repr(block)
            raise ValueError(f"the saved game's {name} is {found}; it must be {own.dtype} {own.shape[1:]}")
    saved = State(*blocks)
    cells = 64 * state.planes.shape[-1] * state.planes.shape[-2]
    bounds = {
        "land": (saved.players[PLAYERS["land"]], cells),
        "alive": (saved.players[PLAYERS["alive"]], 1),
        "troops": (saved.players[PLAYERS["troops"]], LARGEST_TROOPS),
        "pools": (saved.pairs[PAIR_ENTRIES["pools"]], MOST_IN_A_POOL),
        "clock": (saved.clock, 2**62),
    }
    for name, (values, high) in bounds.items():
        largest = np.maximum.reduce(values.view(np.uint64), axis=None)  # a negative number is huge there
        if largest > high:
            raise ValueError(
                f"the saved game's {name} hold {values.min()} to {values.max()}, not 0 to {high}"
            )
    height = state.planes.shape[-1] - EIGHT
    if (saved.occupied & ~all_blocks(height)).any():
        raise ValueError(
            f"the saved game's occupied blocks reach beyond the {num_blocks(height)} blocks of its board"
        )
    # What is stale is masked where it is read, and may have all bits set.
    owners = state.planes.shape[1]
    kept = [TARGETS[name] for name in ("active", "fresh", "bordering")]
    last_words = saved.targets[kept, :, -1]
    if (last_words & ~(~ZERO >> np.uint64(-owners % STRIP_BITS))).any():
        raise ValueError(f"the saved game's targets name owners above {owners - 1}")
