"""NumPy decoder: boards, feature vectors and masks of each agent."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import one_of, whole_number
from territorial.constants import MAX_SIDE
from territorial.decode import boards
from territorial.decode.arguments import DecoderArguments, check_entries, check_range, dtype_name
from territorial.decode.features import FeatureDecoder
from territorial.observation.action_masks import read_only, target_masks
from territorial.typing import Array, Ints

FRACTION_DTYPES = ("float16", "float32")
ONEHOT_DTYPES = (*FRACTION_DTYPES, "uint8", "int8")


class Decoder(DecoderArguments):
    """Decodes a batch of observations to the view of chosen agents, as new numpy arrays.

    Args:
        layout: of the observations.
        config: of the games; ``semantic``, ``pooled`` and ``features`` need it.

    Every method decodes N entries out of E games: entry i is what seat ``seats[i]``, 1..P, sees of game
    ``games[i]``, 0..E-1; with ``games`` None entry i is of game i. Both may also be columns (N, 1), as the
    key ``seat`` of the environment's observations is in a batch; and N may be 0. Arrays of observations
    have the axis of games first, as ``VecGame`` returns them, and may be views. An agent sees owners in
    ego order: 0 is neutral land, 1 itself, 2.. the seats that follow its own, and P + 1 is blocked.

    ``out``, where a method takes it, is a C-contiguous array of the result's shape and type that is filled
    and returned instead of a new one. Several threads may share a decoder.

    Errors: ValueError for shapes, seats, games and options that do not fit, TypeError for wrong types; the
    message names the argument, its value and what it must be.

    """

    _library, _array_type, _array_name = np, np.ndarray, "a numpy array"

    # ---- boards ----------------------------------------------------------------------------------

    def owners(
        self,
        planes: npt.NDArray[np.uint8],
        seats: npt.ArrayLike,
        games: npt.ArrayLike | None = None,
        *,
        out: npt.NDArray[np.uint8] | None = None,
    ) -> npt.NDArray[np.uint8]:
        """Return uint8 (N, F, H, W): the ego code of the owner of every cell, oldest frame first."""
        entries = self._board_entries(planes, seats, games)
        result: Array = self._room(out, entries, boards.owners_shape(self.layout), np.dtype(np.uint8), planes)
        boards.write_owners(self.layout, planes, entries, result)
        return result

    def onehot(
        self,
        planes: npt.NDArray[np.uint8],
        seats: npt.ArrayLike,
        games: npt.ArrayLike | None = None,
        *,
        dtype: npt.DTypeLike = np.float32,
        out: Array | None = None,
    ) -> Array:
        """Return (N, F * (P+1), H, W): one plane an owner, 1 on the cells it owns and 0 elsewhere.

        Planes are frame by frame, oldest first; within a frame in ego order, neutral land first. Blocked
        cells are 0 in all. ``dtype``: float16, float32, uint8 or int8.
        """
        one_of("dtype", dtype_name(kind := np.dtype(dtype)), ONEHOT_DTYPES)
        entries = self._board_entries(planes, seats, games)
        result: Array = self._room(out, entries, boards.onehot_shape(self.layout), kind, planes)
        boards.write_onehot(self.layout, planes, entries, _bits(np.ones((), kind)), _bits(result))
        return result

    def semantic(
        self,
        planes: npt.NDArray[np.uint8],
        seats: npt.ArrayLike,
        players: npt.NDArray[np.float32],
        borders: npt.NDArray[np.float32],
        games: npt.ArrayLike | None = None,
        *,
        dtype: npt.DTypeLike = np.float32,
        out: Array | None = None,
    ) -> Array:
        """Return (N, S * F + 2, H, W): a few planes with a meaning, however many players there are.

        For each frame, oldest first: own cells, neutral cells, those of others, blocked cells, all 0 or
        1. With teams others are enemies, and the cells of allies come after blocked cells. S is 4, with
        teams 5. Then of the newest frame: the density of the cell's owner as a share of the hard cap, rounded
        down to 255ths, 0 on neutral and blocked cells. Then 1 on the cells of every owner, neutral land
        included, against whom the agent has troops in the field. ``dtype``: float16 or float32.
        """
        one_of("dtype", dtype_name(kind := np.dtype(dtype)), FRACTION_DTYPES)
        entries = self._board_entries(planes, seats, games)
        fields = self._fields("semantic", players, borders, entries, planes)
        result: Array = self._room(out, entries, boards.semantic_shape(self.layout), kind, planes)
        values = _bits(boards.level_values().astype(kind))
        boards.write_semantic(self.layout, planes, entries, fields, values, _bits(result))
        return result

    def pooled(
        self,
        planes: npt.NDArray[np.uint8],
        seats: npt.ArrayLike,
        players: npt.NDArray[np.float32],
        borders: npt.NDArray[np.float32],
        games: npt.ArrayLike | None = None,
        *,
        factor: int = 8,
        dtype: npt.DTypeLike = np.float32,
    ) -> Array:
        """Return (N, S * F + 2, ceil(H/factor), ceil(W/factor)): means of the semantic planes over squares.

        Squares have ``factor`` x ``factor`` cells, 1..1024 a side; those at the right and at the lower
        edge have the cells that lie on the map. Sums are exact; they are divided in float32 and then
        rounded to ``dtype``, float16 or float32.
        """
        one_of("dtype", dtype_name(kind := np.dtype(dtype)), FRACTION_DTYPES)
        side = whole_number("factor", factor, 1, MAX_SIDE)
        entries = self._board_entries(planes, seats, games)
        fields = self._fields("pooled", players, borders, entries, planes)
        means = np.empty((len(entries.seats), *boards.pooled_shape(self.layout, side)), np.float32)
        boards.write_pooled(self.layout, planes, entries, fields, side, means)
        return means.astype(kind, copy=False)

    # ---- tables ----------------------------------------------------------------------------------

    def features(
        self,
        players: npt.NDArray[np.float32],
        borders: npt.NDArray[np.float32],
        globals_: npt.NDArray[np.float32],
        seats: npt.ArrayLike,
        games: npt.ArrayLike | None = None,
    ) -> npt.NDArray[np.float32]:
        """Return float32 (N, features): the vectors that ``FeatureDecoder`` describes."""
        for name, table in (("globals", globals_), ("players", players), ("borders", borders)):
            self._check(name, table, globals_)
        tables = read_only(players), read_only(borders), read_only(globals_)
        return self.feature_decoder.of_entries(self._entries(globals_, seats, games), *tables)

    def action_mask(
        self, masks: npt.NDArray[np.uint8], seats: npt.ArrayLike, games: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.int8]:
        """Return int8 (N, P+2): 1 where the first part of an action is legal, in ego order."""
        self._check("masks", masks)
        entries = self._entries(masks, seats, games)
        return target_masks(masks, entries.games, entries.seats)

    @cached_property
    def feature_decoder(self) -> FeatureDecoder:
        """The decoder of feature vectors."""
        return FeatureDecoder(self._needed_config("features"))

    # ---- arguments -------------------------------------------------------------------------------

    def _numbers(
        self, name: str, values: Any, low: int, high: int, observed: Any, length: int | None = None
    ) -> Ints:
        numbers = np.asarray(values)
        check_entries(name, numbers, length)
        check_range(name, found := numbers.ravel().astype(np.int64), low, high)
        return found

    def _levels(self, density: Array, config: GameConfig) -> Ints:
        return np.searchsorted(boards.density_thresholds(config.hard_cap), density, side="right")

    def _check_room(self, out: Array, planes: Array) -> None:
        if not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError("out is a view or read-only; it must be a C-contiguous array to write to")


def _bits(array: Array) -> Array:
    """Return a view of an array as unsigned integers of the same width."""
    return array.view(f"u{array.dtype.itemsize}")
