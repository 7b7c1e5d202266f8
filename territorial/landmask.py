"""LandMask: which cells of a map are land, as an immutable value that hashes, pickles and compares."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from territorial.constants import MAX_SIDE, MIN_SIDE


@dataclass(frozen=True, slots=True)
class LandMask:
    """Land (True) and blocked (False) cells of an ``height`` x ``width`` map.

    ``bits`` holds the rows one after another, each padded to whole bytes, column c in bit c % 8 of
    byte c // 8. Build one with :meth:`from_array` or :meth:`from_text`.
    """

    height: int
    width: int
    bits: bytes

    def __post_init__(self) -> None:
        for name, value in (("height", self.height), ("width", self.width)):
            if not MIN_SIDE <= value <= MAX_SIDE:
                raise ValueError(f"map {name} is {value}; it must be from {MIN_SIDE} to {MAX_SIDE}")
        expected = self.height * -(-self.width // 8)
        if len(self.bits) != expected:
            raise ValueError(
                f"map bits hold {len(self.bits)} bytes; {self.height} x {self.width} needs {expected}"
            )

    @classmethod
    def from_array(cls, land: npt.ArrayLike) -> LandMask:
        """Return the mask of a (height, width) array of bools, or of 0 (blocked) and 1 (land)."""
        array = np.asarray(land)
        if array.ndim != 2:
            raise ValueError(f"a map is a 2-D array (height, width); got shape {array.shape}")
        if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
            raise ValueError("a map array holds bools, or only 0 (blocked) and 1 (land)")
        bits = np.packbits(array.astype(np.bool_), axis=1, bitorder="little")
        return cls(int(array.shape[0]), int(array.shape[1]), bits.tobytes())

    @classmethod
    def from_text(cls, text: str) -> LandMask:
        """Return the mask of a drawing: one line a row, ``#`` blocked, anything else land."""
        rows = [line for line in text.splitlines() if line.strip()]
        widths = {len(row) for row in rows}
        if len(widths) != 1:
            raise ValueError(f"a map drawing needs rows of one width; got widths {sorted(widths)}")
        return cls.from_array(np.array([[char != "#" for char in row] for row in rows]))

    def to_array(self) -> npt.NDArray[np.bool_]:
        """Return a new (height, width) bool array, True on land."""
        packed = np.frombuffer(self.bits, np.uint8).reshape(self.height, -1)
        return np.unpackbits(packed, axis=1, count=self.width, bitorder="little").astype(np.bool_)

    @property
    def num_land(self) -> int:
        """The number of land cells, M in the rules."""
        return int(self.to_array().sum())

    @property
    def hexdigest(self) -> str:
        """16 hex digits that name this map by size and content."""
        header = f"{self.height}x{self.width}:".encode()
        return hashlib.blake2b(header + self.bits, digest_size=8).hexdigest()
