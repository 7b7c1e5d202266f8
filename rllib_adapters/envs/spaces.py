"""Parts of the spaces of observations: boxes that take no memory, and the names of frozen opponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

SHARED = ("observations", "players", "borders", "globals")
"""The keys of an observation whose arrays are the same for all agents of a game."""

NAME_BYTES = 128
"""Room for the name of a snapshot in UTF-8; the rest is zero."""


class ByteBox(spaces.Box):
    """``Box(0, 255, shape, uint8)`` whose bounds take no memory and are not shipped.

    Episodes carry their spaces with them, and an ordinary ``Box`` has four arrays of its own shape: as
    much again as the board.
    """

    def __init__(self, shape: tuple[int, ...], seed: int | None = None) -> None:
        super().__init__(0, 255, (1,), np.uint8, seed=seed)
        self._shape = tuple(shape)
        for name in ("low", "high", "bounded_below", "bounded_above"):
            setattr(self, name, np.broadcast_to(getattr(self, name)[0], self._shape))

    def __repr__(self) -> str:
        return f"ByteBox({self._shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ByteBox, (self._shape,)

    def __deepcopy__(self, memo: dict[int, Any]) -> ByteBox:
        return ByteBox(self._shape)


def frozen_space(agents: spaces.Dict) -> spaces.Dict:
    """Return the space of a frozen seat: that of the agents, and the name of the snapshot that plays."""
    return spaces.Dict({**agents.spaces, "opponent": ByteBox((NAME_BYTES,))})


def encode_name(name: str) -> npt.NDArray[np.uint8]:
    """Return a name as uint8 (128,); ValueError if it does not fit."""
    data = name.encode()
    if not 0 < len(data) <= NAME_BYTES or b"\0" in data:
        raise ValueError(
            f"the name of the opponent {name!r} has {len(data)} bytes; it must have 1 to "
            f"{NAME_BYTES}, none of them zero"
        )
    return np.frombuffer(data.ljust(NAME_BYTES, b"\0"), np.uint8)


def decode_name(data: npt.NDArray[np.uint8]) -> str:
    """Return the name that ``encode_name`` made uint8 (128,) of."""
    return data.tobytes().rstrip(b"\0").decode()
