"""The forms in which an environment hands out observations: their spaces, and the arrays of every step.

All are flat dicts with the key ``action_mask``. A mode is made once per environment and shows the game
to any of its seats; what is the same for all of them is one object in all their observations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from territorial.actions import flat_mask, num_flat_actions
from territorial.decode import FeatureDecoder
from territorial.decode.forms import onehot_shape, pooled_shape
from territorial.decode.layout import ROUNDING, limits
from territorial.decode.numpy import Decoder
from territorial.engine import VecGame
from territorial.obs_layout import BORDERS, GLOBALS, PLAYERS, Column, ObsLayout

Observation = dict[str, npt.NDArray[Any]]
Keys = dict[str, spaces.Space[Any]]


class Mode(ABC):
    """One form of observations. ``shows_boards`` says whether it needs boards from the engine, and
    ``options`` which of the options below it heeds.

    Args:
        game: of the environment; its layout and config are those of all observations.
        pool_factor: cells a side of the squares of the mode "pooled".
        zero_copy: True hands out views of the engine's buffers where the form allows it; they are
            read-only and show the next step after the next step.

    """

    shows_boards: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ()

    def __init__(self, game: VecGame, pool_factor: int = 8, zero_copy: bool = False) -> None:
        self.layout: ObsLayout = game.layout
        self.config = game.config
        self.decoder = Decoder(game.layout, game.config)
        self.pool_factor = pool_factor
        self.zero_copy = zero_copy
        num_actions = num_flat_actions(game.config.num_players)
        mask = spaces.Box(0, 1, (num_actions,), np.int8)
        self.space = spaces.Dict(self.keys() | {"action_mask": mask})

    def show(self, game: VecGame, seats: Sequence[int]) -> list[Observation]:
        """Return the observations of ``seats``, 1..P, of the one game of ``game`` as it stands."""
        if not seats:
            return []
        games = np.zeros(len(seats), np.int64)
        targets = self.decoder.action_mask(game.observations.masks, seats, games)
        masks = flat_mask(targets)
        shown = self.arrays(game, np.asarray(seats), games)
        return [{**observation, "action_mask": mask} for observation, mask in zip(shown, masks, strict=True)]

    @abstractmethod
    def keys(self) -> Keys:
        """Return the spaces of all keys but the mask."""

    @abstractmethod
    def arrays(
        self, game: VecGame, seats: npt.NDArray[Any], games: npt.NDArray[np.int64]
    ) -> list[Observation]:
        """Return all arrays but the mask for each of ``seats``; ``games`` are as many zeros."""


class Packed(Mode):
    """The boards as bit planes and the tables, the same for all seats, and the seat that looks at them."""

    options = ("zero_copy",)

    def keys(self) -> Keys:
        """Return the spaces of boards, terrain, tables and the seat."""
        layout, high = self.layout, limits(self.config)
        players = np.tile(_highest(PLAYERS, high), (layout.num_players, 1))
        borders = np.broadcast_to(_highest(BORDERS, high)[:, None, None], layout.shape("borders"))
        return {
            "observation": spaces.Box(0, 255, layout.shape("planes"), np.uint8),
            "terrain": spaces.Box(0, 255, layout.shape("terrain"), np.uint8),
            "players": _from_zero_to(players),
            "borders": _from_zero_to(borders.copy()),
            "globals": _from_zero_to(_highest(GLOBALS, high)),
            "seat": spaces.Box(1, layout.num_players, (1,), np.int32),
        }

    def arrays(
        self, game: VecGame, seats: npt.NDArray[Any], games: npt.NDArray[np.int64]
    ) -> list[Observation]:
        """Return the game's arrays, each one object for all seats, and the seat."""
        seen = game.observations
        shared = {
            "observation": seen.planes[0],
            "terrain": game.terrain(0),
            "players": seen.players[0],
            "borders": seen.borders[0],
            "globals": seen.globals[0],
        }
        if not self.zero_copy:
            shared = {key: array.copy() for key, array in shared.items()}
        return [{**shared, "seat": np.array([seat], np.int32)} for seat in seats]


class Features(Mode):
    """One vector of numbers of about 0..1, see ``decode.FeatureDecoder``."""

    shows_boards = False

    def keys(self) -> Keys:
        """Return the space of the vector."""
        return {"observation": _from_zero_to(FeatureDecoder(self.config).high)}

    def arrays(
        self, game: VecGame, seats: npt.NDArray[Any], games: npt.NDArray[np.int64]
    ) -> list[Observation]:
        """Return rows of one new array."""
        seen = game.observations
        return _each(self.decoder.features(seen.players, seen.borders, seen.globals, seats, games))


class Pooled(Mode):
    """A few planes with a meaning at low resolution, see ``decode.numpy.Decoder.pooled``."""

    options = ("pool_factor",)

    def keys(self) -> Keys:
        """Return the space of the planes."""
        return {"observation": spaces.Box(0, 1, pooled_shape(self.layout, self.pool_factor), np.float32)}

    def arrays(
        self, game: VecGame, seats: npt.NDArray[Any], games: npt.NDArray[np.int64]
    ) -> list[Observation]:
        """Return parts of one new array."""
        seen, factor = game.observations, self.pool_factor
        tables = seen.players, seen.borders
        return _each(self.decoder.pooled(seen.planes, seats, *tables, games, factor=factor))


class OneHot(Mode):
    """One plane per owner and frame, see ``decode.numpy.Decoder.onehot``: megabytes for every agent."""

    def keys(self) -> Keys:
        """Return the space of the planes."""
        return {"observation": spaces.Box(0, 1, onehot_shape(self.layout), np.int8)}

    def arrays(
        self, game: VecGame, seats: npt.NDArray[Any], games: npt.NDArray[np.int64]
    ) -> list[Observation]:
        """Return parts of one new array."""
        return _each(self.decoder.onehot(game.observations.planes, seats, games, dtype=np.int8))


MODES: dict[str, type[Mode]] = {"packed": Packed, "features": Features, "pooled": Pooled, "onehot": OneHot}
"""The modes by name; the first is the default."""


def _each(array: npt.NDArray[Any]) -> list[Observation]:
    return [{"observation": part} for part in array]


def _highest(columns: tuple[Column, ...], high: dict[str, float]) -> npt.NDArray[np.float32]:
    """Return what the columns of a table cannot exceed, with the room that float32 needs."""
    return (np.array([high[column.name] for column in columns]) * (1 + ROUNDING)).astype(np.float32)


def _from_zero_to(high: npt.NDArray[np.float32]) -> spaces.Box:
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)
