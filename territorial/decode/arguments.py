"""Checks of the arguments of both decoders."""

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

import numpy as np

from territorial.config import GameConfig
from territorial.config.validation import check_type
from territorial.decode.boards import ALLY, DENSITY, POOL, Entries, Fields, Shape
from territorial.observation.layout import ObsLayout, array_called
from territorial.typing import Array


class DecoderArguments(ABC):
    """A decoder but for its results: it checks arguments, whatever library they are of."""

    # Whose functions it calls: numpy or torch, which agree in these.
    _library: ModuleType
    # Of what it is given.
    _array_type: type
    # What errors call that.
    _array_name: str

    def __init__(self, layout: ObsLayout, config: GameConfig | None = None) -> None:
        check_type("layout", layout, ObsLayout, "an ObsLayout")
        if config is not None:
            _check_games(layout, config)
        self.layout, self.config = layout, config

    def _needed_config(self, method: str) -> GameConfig:
        """Return the configuration; ValueError names the ``method`` that needs it where there is none."""
        if self.config is None:
            raise ValueError(f"{method} needs the configuration of the game; make a Decoder(layout, config)")
        return self.config

    def _check(self, name: str, array: Any, beside: Any = None) -> None:
        """Raise unless ``array`` is the array ``name`` of observations, of as many games as ``beside``."""
        check_type(name, array, self._array_type, self._array_name)
        spec, shape = array_called(name), tuple(array.shape)
        wanted, games = self.layout.shape(name), None if beside is None else len(beside)
        if shape[1:] != wanted or len(shape) == 0 or games not in (None, shape[0]):
            letters = ", ".join(("E", *spec.shape))
            sizes = ", ".join(map(str, ("E" if games is None else games, *wanted)))
            raise ValueError(f"{name} has the shape {shape}; it must have ({sizes}), that is ({letters})")
        if dtype_name(array.dtype) != spec.dtype:
            raise TypeError(f"{name} has the type {dtype_name(array.dtype)}; it must have {spec.dtype}")

    def _board_entries(self, planes: Any, seats: Any, games: Any) -> Entries:
        if self.layout.frames == 0:
            raise ValueError(
                "the layout has frames = 0, so there are no boards to decode; it must have 1 or more"
            )
        self._check("planes", planes)
        return self._entries(planes, seats, games)

    def _entries(self, observed: Any, seats: Any, games: Any) -> Entries:
        """Return the entries; the first axis of ``observed`` is that of games."""
        chosen = self._numbers("seats", seats, 1, self.layout.num_players, observed)
        if games is not None:
            return Entries(chosen, self._numbers("games", games, 0, len(observed) - 1, observed, len(chosen)))
        if len(chosen) != len(observed):
            raise ValueError(
                f"games is None, but there are {len(chosen)} seats of {len(observed)} games; it must "
                "name the game of each seat"
            )
        return Entries(chosen, self._library.arange(len(observed), device=observed.device))

    def _fields(self, method: str, players: Any, borders: Any, entries: Entries, planes: Any) -> Fields:
        config = self._needed_config(method)
        self._check("players", players, planes)
        self._check("borders", borders, planes)
        attacked = borders[entries.games, POOL, entries.seats] > 0
        allied = borders[entries.games, ALLY, entries.seats] > 0 if self.layout.teams else attacked & False
        levels = self._levels(players[..., DENSITY], config)
        no_level, nobody = self._library.zeros_like(levels[:, :1]), self._library.zeros_like(attacked[:, :1])
        joined = self._library.concatenate
        return Fields(
            levels=joined([no_level, levels, no_level], 1),  # neutral land and blocked cells have none
            attacked=joined([attacked, nobody], 1),
            allied=joined([allied, nobody], 1),
        )

    def _room(self, out: Any, entries: Entries, shape: Shape, dtype: Any, planes: Any) -> Any:
        """Return ``out`` after checking it, or a new array; whatever it holds is to be overwritten.

        ``shape`` is that of one entry.
        """
        wanted = (len(entries.seats), *shape)
        if out is None:
            return self._library.empty(wanted, dtype=dtype, device=planes.device)
        check_type("out", out, self._array_type, self._array_name)
        if tuple(out.shape) != wanted:
            raise ValueError(f"out has the shape {tuple(out.shape)}; it must have {wanted}")
        if out.dtype != dtype:
            raise TypeError(f"out has the type {dtype_name(out.dtype)}; it must have {dtype_name(dtype)}")
        self._check_room(out, planes)
        return out

    @abstractmethod
    def _numbers(
        self, name: str, values: Any, low: int, high: int, observed: Any, length: int | None = None
    ) -> Any:
        """Return ``values`` as int64 (N,), in low..high, where ``observed`` lies."""

    @abstractmethod
    def _levels(self, density: Any, config: GameConfig) -> Any:
        """Return densities in 255ths of the hard cap, rounded down."""

    @abstractmethod
    def _check_room(self, out: Any, planes: Any) -> None:
        """Raise ValueError for arrays that cannot be written to."""


def _check_games(layout: ObsLayout, config: GameConfig) -> None:
    """Raise unless ``config`` is of games that are observed by ``layout``."""
    check_type("config", config, GameConfig, "a GameConfig or None")
    for name in ("height", "width", "num_players"):
        mine, its = getattr(layout, name), getattr(config, name)
        if mine != its:
            raise ValueError(f"{name} is {its} in the config and {mine} in the layout; they must be equal")
    if layout.teams != (config.teams is not None):
        raise ValueError(
            f"teams is {config.teams} in the config and {layout.teams} in the layout; both must "
            "have teams, or neither"
        )


def check_entries(name: str, numbers: Any, wanted: int | None) -> None:
    """Raise unless ``numbers`` are a vector or a column of whole numbers, ``wanted`` where that is known.

    The type of an empty one says nothing: an empty list becomes an array of floats.
    """
    shape = tuple(numbers.shape)
    if len(shape) not in (1, 2) or shape[1:] not in ((), (1,)) or wanted not in (None, shape[0]):
        length = "N" if wanted is None else wanted
        raise ValueError(f"{name} has the shape {shape}; it must have ({length},) or ({length}, 1)")
    if "int" not in dtype_name(numbers.dtype) and shape[0] > 0:
        raise TypeError(f"{name} has the type {dtype_name(numbers.dtype)}; it must be of whole numbers")


def check_range(name: str, numbers: Array, low: int, high: int) -> None:
    """Raise ValueError unless all ``numbers`` lie in low..high."""
    for value in (numbers.min(), numbers.max()) if len(numbers) else ():
        if not low <= value <= high:
            raise ValueError(f"{name} has {value}; it must have numbers from {low} to {high}")


def dtype_name(dtype: Any) -> str:
    """Return the name that numpy has for a type of numpy or of PyTorch."""
    return str(np.dtype(dtype) if isinstance(dtype, type) else dtype).removeprefix("torch.")
