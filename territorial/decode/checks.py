"""What both decoders refuse: layouts, configurations, shapes and numbers that do not fit together."""

from __future__ import annotations

from typing import Any

from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import MAX_SIDE
from territorial.observation.layout import ObsLayout, array_called


def check_layout(layout: Any, config: Any) -> None:
    """Raise unless ``layout`` can be read and ``config`` is of its games, or None."""
    if not isinstance(layout, ObsLayout):
        raise TypeError(f"layout is a {type(layout).__name__}; it must be an ObsLayout")
    if config is None:
        return
    if not isinstance(config, GameConfig):
        raise TypeError(f"config is a {type(config).__name__}; it must be a GameConfig or None")
    for name in ("height", "width", "num_players"):
        mine, its = getattr(layout, name), getattr(config, name)
        if mine != its:
            raise ValueError(f"{name} is {its} in the config and {mine} in the layout; they must be equal")
    if layout.teams != (config.teams is not None):
        raise ValueError(
            f"teams is {config.teams} in the config and {layout.teams} in the layout; both must "
            "have teams, or neither"
        )


def needed_config(config: GameConfig | None, method: str) -> GameConfig:
    """Return ``config``; ValueError names the ``method`` that needs it where there is none."""
    if config is None:
        raise ValueError(f"{method} needs the configuration of the game; make a Decoder(layout, config)")
    return config


def check_frames(layout: ObsLayout) -> None:
    """Raise ValueError where observations of ``layout`` hold no boards."""
    if layout.frames == 0:
        raise ValueError(
            "the layout has frames = 0, so there are no boards to decode; it must have 1 or more"
        )


def check_array(layout: ObsLayout, name: str, shape: tuple[int, ...], dtype: str, games: int | None) -> None:
    """Raise unless the array ``name`` of a batch has the shape and the type that ``layout`` says.

    ``games``: how many games the batch has, where that is known.
    """
    array = array_called(name)
    wanted = layout.shape(name)
    if tuple(shape[1:]) != wanted or len(shape) == 0 or games not in (None, shape[0]):
        letters = ", ".join(("E", *array.shape))
        sizes = ", ".join(map(str, ("E" if games is None else games, *wanted)))
        raise ValueError(f"{name} has the shape {tuple(shape)}; it must have ({sizes}), that is ({letters})")
    if dtype != array.dtype:
        raise TypeError(f"{name} has the type {dtype}; it must have {array.dtype}")


def check_entries(name: str, shape: tuple[int, ...], dtype: str, wanted: int | None = None) -> None:
    """Raise unless ``name`` is a vector or a column of whole numbers, ``wanted`` where that is known.

    The type of an empty one says nothing: an empty list becomes an array of floats.
    """
    if len(shape) not in (1, 2) or shape[1:] not in ((), (1,)) or wanted not in (None, shape[0]):
        length = "N" if wanted is None else wanted
        raise ValueError(f"{name} has the shape {tuple(shape)}; it must have ({length},) or ({length}, 1)")
    if "int" not in dtype and shape[0] > 0:
        raise TypeError(f"{name} has the type {dtype}; it must be of whole numbers")


def check_range(name: str, least: int, greatest: int, low: int, high: int) -> None:
    """Raise ValueError unless the ``least`` and the ``greatest`` entry of ``name`` lie in low..high."""
    for value in (least, greatest):
        if not low <= value <= high:
            raise ValueError(f"{name} has {value}; it must have numbers from {low} to {high}")


def check_every_game(num_seats: int, num_games: int) -> None:
    """Raise ValueError where entry i cannot be game i."""
    if num_seats != num_games:
        raise ValueError(
            f"games is None, but there are {num_seats} seats of {num_games} games; it must "
            "name the game of each seat"
        )


def factor_of(value: Any) -> int:
    """Return ``value`` as the side of the squares that are pooled, if it can be."""
    return whole_number("factor", value, 1, MAX_SIDE)


def chunk_of(value: Any) -> int:
    """Return ``value`` as the entries decoded in one go, if it can be."""
    return whole_number("chunk", value, 1)


def check_out(shape: tuple[int, ...], dtype: str, wanted: tuple[int, ...], wanted_dtype: str) -> None:
    """Raise unless ``out`` has the shape and the type of the result."""
    if tuple(shape) != wanted:
        raise ValueError(f"out has the shape {tuple(shape)}; it must have {wanted}")
    if dtype != wanted_dtype:
        raise TypeError(f"out has the type {dtype}; it must have {wanted_dtype}")


def check_dtype(dtype: str, allowed: tuple[str, ...]) -> None:
    """Raise ValueError unless ``dtype`` is one of the ``allowed`` names."""
    if dtype not in allowed:
        raise ValueError(f"dtype is {dtype}; it must be one of {', '.join(allowed)}")
