"""Forms of observations (``obs=``): their spaces, bytes and arrays.

All are arrays by keys; environments hand them out as a flat dict, or as the array itself where there is one
only. A form is made once per environment and shows any seats of any games; what is the same for all agents of
a game is there once a game. ``FORMS`` has all of them by name, and ``register`` adds one. Environments, the
adapters for RLlib and predictions of memory ask the form for all that depends on it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from functools import cached_property
from math import prod
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from gymnasium import spaces

from territorial.config import GameConfig
from territorial.decode.boards import Entries, onehot_shape, pooled_shape
from territorial.decode.features import ROUNDING, limits
from territorial.decode.numpy import Decoder
from territorial.engine.pair_observations import ShownRows, rows_shown
from territorial.engine.vec_game import VecGame
from territorial.observation.action_encoding import num_targets
from territorial.observation.action_formats import OF_CANDIDATES, OF_OWNERS
from territorial.observation.copies import Copies
from territorial.observation.layout import Column, ObsLayout
from territorial.observation.pair_columns import OWN, UNIT, PairColumn, pair_columns
from territorial.observation.tables import Observations
from territorial.typing import Array, Arrays, Bytes, Floats32, Ints

# ---- spaces ----------------------------------------------------------------------------------------

KEYS = "observation", "observations"
"""The keys of an observation that may be the only one."""

Observation = Arrays | Array
"""What an agent sees: arrays by their keys, or the array itself where there is one only."""


def space_of(keys: Mapping[str, spaces.Space[Any]]) -> spaces.Space[Any]:
    """Return the space of an observation: a ``Dict``, or the ``Box`` itself where there is one key only."""
    key = only_key(keys)
    return spaces.Dict(dict(keys)) if key is None else keys[key]


def only_key(keys: Mapping[str, Any]) -> str | None:
    """Return the key of an observation that is one array; None for others."""
    return next((key for key in KEYS if keys.keys() == {key}), None)


def of_masks(space: spaces.Space[Any], dtype: type[np.int8 | np.float32]) -> spaces.Space[Any]:
    """Return ``space``, that of masks of the parts of an action, for masks of another type."""
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([of_masks(part, dtype) for part in space.spaces])
    return spaces.Box(0, 1, space.shape, dtype)


def from_zero_to(high: Floats32) -> spaces.Box:
    """Return the space of float32 arrays from 0 to ``high``, a bound for each number."""
    return shortened(spaces.Box(np.zeros_like(high), high, dtype=np.float32))


def shortened(box: spaces.Box) -> spaces.Box:
    """Return ``box`` with a short text: bounds that differ are given as a range, not one by one."""
    box.low_repr, box.high_repr = _range_of(box.low), _range_of(box.high)
    return box


def _range_of(numbers: Array) -> str:
    low, high = numbers.min(), numbers.max()
    return str(low) if low == high else f"{low}..{high}"


# ---- forms -----------------------------------------------------------------------------------------

Keys = dict[str, spaces.Box]

LARGE = 2**21
"""Bytes of copies that are worth making within steps, past the caches: smaller ones stay in the caches."""


class GameSizes(NamedTuple):
    """Games that need not be made yet: enough of them for the spaces and the bytes of a form."""

    config: GameConfig
    layout: ObsLayout


class Form(ABC):
    """The base class of forms of observations; ``register`` puts a subclass into the table.

    Args:
        game: whose observations are shown; its layout and config are those of all of them. ``GameSizes`` do
            for spaces and bytes.
        pool_factor: cells a side of the squares of the form "pooled".
        zero_copy: True returns views of the engine's buffers where the form allows it; they are
            read-only and show the next step after the next step.
        pair_rows: those of the form "pairs"; None: by default.
        key: of the array, where an agent sees one only.

    """

    name: ClassVar[str]
    """What ``obs`` calls it."""
    shows_boards: ClassVar[bool] = False
    """Whether it needs boards from the engine."""
    reads_games: ClassVar[bool] = False
    """Whether it reads the games as they stand, and nothing that the engine observes."""
    options: ClassVar[tuple[str, ...]] = ()
    """The options below that it heeds, and ``obs_key`` where agents see one array."""
    shared: ClassVar[tuple[str, ...]] = ()
    """The keys whose arrays are the same for all agents of a game."""
    fixed: ClassVar[tuple[str, ...]] = ()
    """Those of them whose arrays stay as they are for a whole game."""
    action_formats: ClassVar[tuple[str, ...]] = ("multi_discrete", "discrete", *OF_CANDIDATES)
    """The formats of actions that fit RLlib's agents; the first is their default."""

    def __init__(
        self,
        game: VecGame | GameSizes,
        pool_factor: int = 8,
        zero_copy: bool = False,
        pair_rows: ShownRows | None = None,
        key: str = KEYS[0],
    ) -> None:
        self.key = key
        self.game = cast(VecGame, game)
        self.pair_rows = rows_shown(game.config) if pair_rows is None else pair_rows
        self.decoder = Decoder(game.layout, game.config)
        self.pool_factor = pool_factor
        self.zero_copy = zero_copy

    @abstractmethod
    def keys(self) -> Keys:
        """Return the spaces of all that one agent sees."""

    def per_game(
        self,
        seen: Observations,
        terrain: Bytes,
        games: Ints | None = None,
        copies: Copies | None = None,
    ) -> Arrays:
        """Return what is the same for all agents of a game: the ``shared`` arrays, (E, ...) each.

        ``terrain``: uint8 (E, 2, H, ceil(W/8)), read-only, never written to again. ``games``: copies of
        theirs alone. ``copies``: those that a step has made of ``seen`` already.
        """
        return {}

    def new_copies(self) -> Copies | None:
        """Return what a step is to copy the shared arrays into; None where it need not."""
        return None

    @abstractmethod
    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return all other arrays, (N, ...) each: what ``seats``, 1..P, of ``games`` see."""

    def _bytes_of(self, keys: Set[str]) -> int:
        boxes = self.keys()
        return sum(prod(boxes[key].shape) * np.dtype(boxes[key].dtype).itemsize for key in keys)

    @property
    def game_bytes(self) -> int:
        """Bytes of what a step shows to all agents of a game together."""
        return self._bytes_of({*self.shared} - {*self.fixed})

    @property
    def agent_bytes(self) -> int:
        """Bytes of what a step shows to an agent alone, without masks."""
        return self._bytes_of(self.keys().keys() - {*self.shared})

    @property
    def row_bytes(self) -> int:
        """Bytes of what a network reads in a row of a minibatch, decoded."""
        return self.agent_bytes


FORMS: dict[str, type[Form]] = {}
"""The forms by name; the first is the default."""


def register(form: type[Form]) -> type[Form]:
    """Add a form to the table, and return it: ``obs`` may name it from now on.

    A process that RLlib starts must import the module that does so; it does if the form's RLModule is there.
    ValueError for a name that another form has.
    """
    if FORMS.setdefault(form.name, form) is not form:
        raise ValueError(f"the form {form.__name__} has the name {form.name!r}, which another form has")
    return form


@register
class PackedBoards(Form):
    """The boards as bit planes and the tables, the same for all seats, and the seat that looks at them."""

    name = "packed"
    shows_boards = True
    options = ("zero_copy",)
    shared = ("observation", "terrain", "players", "borders", "globals")
    fixed = ("terrain",)
    action_formats = ("multi_discrete",)  # which the networks on boards have

    @cached_property
    def _are_made_in_steps(self) -> bool:
        nbytes = self.game.num_games * sum(self.game.layout.nbytes(name) for name in Copies._fields[:-1])
        return not self.zero_copy and nbytes >= LARGE

    def keys(self) -> Keys:
        """Return the spaces of boards, terrain, tables and the seat."""
        layout, high = self.game.layout, limits(self.game.config)
        players = np.tile(_highest(layout.columns("players"), high), (layout.num_players, 1))
        of_pair = _highest(layout.columns("borders"), high)
        borders = np.broadcast_to(of_pair[:, None, None], layout.shape("borders"))
        return {
            "observation": spaces.Box(0, 255, layout.shape("planes"), np.uint8),
            "terrain": spaces.Box(0, 255, layout.shape("terrain"), np.uint8),
            "players": from_zero_to(players),
            "borders": from_zero_to(borders.copy()),
            "globals": from_zero_to(_highest(layout.columns("globals"), high)),
            "seat": spaces.Box(1, layout.num_players, (1,), np.int32),
        }

    def per_game(
        self,
        seen: Observations,
        terrain: Bytes,
        games: Ints | None = None,
        copies: Copies | None = None,
    ) -> Arrays:
        """Return boards and tables."""
        shown = seen if copies is None else copies
        arrays: Arrays = {"observation": shown.planes, "terrain": terrain}
        arrays |= {"players": shown.players, "borders": shown.borders, "globals": shown.globals}
        if games is not None:
            arrays = {key: array[games] for key, array in arrays.items()}
        elif copies is not None:  # rows that the engine pads are copied once more
            arrays["observation"] = np.ascontiguousarray(shown.planes)
        elif not self.zero_copy:
            arrays = {key: array.copy() for key, array in arrays.items()}
        for key in ("observation", "terrain"):  # memory of boards may be lent, and terrain is shared
            arrays[key].flags.writeable = False
        return arrays

    def new_copies(self) -> Copies | None:
        """Return arrays for boards and tables, where these are copied and large."""
        return self.game.new_copies() if self._are_made_in_steps else None

    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return the seats themselves."""
        return {"seat": seats[:, None].astype(np.int32)}

    @property
    def row_bytes(self) -> int:
        """Bytes of the owners of the cells of all frames, one byte each."""
        layout = self.game.layout
        return layout.frames * layout.height * layout.width


@register
class Features(Form):
    """One vector of numbers of about 0..1 and at most 8, see ``decode.FeatureDecoder``."""

    name = "features"
    options = ("obs_key",)

    def keys(self) -> Keys:
        """Return the space of the vector."""
        return {self.key: from_zero_to(self.decoder.feature_decoder.high)}

    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return the vectors."""
        tables = seen.players, seen.borders, seen.globals
        return {self.key: self.decoder.feature_decoder.of_entries(Entries(seats, games), *tables)}


@register
class Pooled(Form):
    """A few planes with a meaning at low resolution, see ``decode.numpy.Decoder.pooled``."""

    name = "pooled"
    shows_boards = True
    options = ("obs_key", "pool_factor")

    def keys(self) -> Keys:
        """Return the space of the planes."""
        return {self.key: spaces.Box(0, 1, pooled_shape(self.game.layout, self.pool_factor), np.float32)}

    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return the planes."""
        tables, factor = (seen.players, seen.borders), self.pool_factor
        return {self.key: self.decoder.pooled(seen.planes, seats, *tables, games, factor=factor)}


@register
class OneHot(Form):
    """One plane per owner and frame, see ``decode.numpy.Decoder.onehot``: megabytes for every agent."""

    name = "onehot"
    shows_boards = True
    options = ("obs_key",)

    def keys(self) -> Keys:
        """Return the space of the planes."""
        return {self.key: spaces.Box(0, 1, onehot_shape(self.game.layout), np.int8)}

    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return the planes."""
        return {self.key: self.decoder.onehot(seen.planes, seats, games, dtype=np.int8)}


@register
class Pairs(Form):
    """Numbers of the seat and of each owner that it can name, read from the games as they stand.

    They are computed for those alone who are asked for, and no observation of the engine is needed.
    """

    name = "pairs"
    reads_games = True
    options = ("num_candidates", "num_allies")
    action_formats = (*OF_CANDIDATES, *OF_OWNERS)

    def keys(self) -> Keys:
        """Return the spaces of the numbers, and of what an action against each candidate is."""
        count, most = self.pair_rows.total, num_targets(self.game.layout.num_players) - 1
        columns = pair_columns(teams=self.game.layout.teams)
        return {
            "own": _between(OWN, (len(OWN),)),
            "pairs": _between(columns, (count, len(columns))),
            "targets": spaces.Box(0, most, (count,), np.int32),
        }

    def per_agent(self, seen: Observations, games: Ints, seats: Ints) -> Arrays:
        """Return the numbers as float32."""
        return self.game.pair_observer.observe(games, seats, self.pair_rows).as_floats()._asdict()


def _highest(columns: tuple[Column, ...], high: dict[str, float]) -> Floats32:
    """Return what the columns of a table cannot exceed, with the room that float32 needs."""
    return (np.array([high[column.name] for column in columns]) * (1 + ROUNDING)).astype(np.float32)


def _between(columns: tuple[PairColumn, ...], shape: tuple[int, ...]) -> spaces.Box:
    """Return the space of arrays whose last axis has these columns; 0 where there is no candidate."""
    low, high = (
        np.broadcast_to(np.array([getattr(one, end) for one in columns], np.float32) / UNIT, shape).copy()
        for end in ("low", "high")
    )
    return shortened(spaces.Box(low, high, dtype=np.float32))
