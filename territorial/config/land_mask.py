"""``LandMask``: an immutable, hashable map of land cells."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from territorial.config.validation import check_type, raised_as, whole_number
from territorial.constants import MAX_SIDE, MIN_SIDE


@dataclass(frozen=True, slots=True)
class LandMask:
    """Land (True) and blocked (False) cells of a map; :meth:`from_array` and :meth:`from_text` make one.

    Args:
        height: rows, in cells; 16 to 1024.
        width: columns, in cells; 16 to 1024.
        bits: the rows one after another, each padded to whole bytes with bits of 0. Column c is bit c % 8 of
            byte c // 8 of its row.

    Raises:
        TypeError: for a value of a wrong type.
        ValueError: for sides out of range, and for bits of another number of bytes or with padding of 1.

    Example:
        >>> import numpy as np
        >>> import territorial
        >>> land = np.ones((32, 48), bool)
        >>> land[16, :40] = False  # a wall across most of the map
        >>> mask = territorial.LandMask.from_array(land)
        >>> config = territorial.GameConfig.for_map(mask, num_players=4)
        >>> config.height, config.width
        (32, 48)

    """

    height: int
    width: int
    bits: bytes

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", whole_number("map height", self.height, MIN_SIDE, MAX_SIDE))
        object.__setattr__(self, "width", whole_number("map width", self.width, MIN_SIDE, MAX_SIDE))
        check_type("bits", self.bits, bytes, "bytes; LandMask.from_array(...) makes a map from an array")
        row_bytes = -(-self.width // 8)
        if len(self.bits) != self.height * row_bytes:
            raise ValueError(
                f"map bits hold {len(self.bits)} bytes; {self.height} x {self.width} needs "
                f"{self.height * row_bytes}"
            )
        # Two masks of the same land are equal only if what pads their rows is.
        num_used = self.width - 8 * (row_bytes - 1)
        for row, byte in enumerate(self.bits[row_bytes - 1 :: row_bytes]):
            if byte >> num_used:
                raise ValueError(
                    f"map bits of row {row} end in the byte {byte:#04x}; it must be at most "
                    f"{2**num_used - 1:#04x}, as bits beyond the width {self.width} must be "
                    "0"
                )

    @classmethod
    def from_array(cls, land: npt.ArrayLike) -> LandMask:
        """Return the mask of a (height, width) array of bools, or of 0 (blocked) and 1 (land).

        Raises TypeError for what holds neither bools nor numbers, and ValueError for other shapes,
        sizes and numbers.
        """
        with raised_as(
            ValueError, "a map is a 2-D array (height, width) with rows of one width; numpy says: "
        ):
            array = np.asarray(land)
        if array.dtype.kind not in "biuf":
            given = f"an array of {array.dtype}" if array.ndim else f"of type {type(land).__name__}"
            raise TypeError(
                f"the land of a map is {given}; it must be a 2-D array (height, width) of bools, or of "
                "0 (blocked) and 1 (land)"
            )
        if array.ndim != 2:
            raise ValueError(f"a map is a 2-D array (height, width); got shape {array.shape}")
        is_land = array == 1
        is_wrong = ~is_land & (array != 0)
        if is_wrong.any():
            row, column = divmod(int(is_wrong.argmax()), array.shape[1])
            raise ValueError(
                f"the land of a map is {array[row, column]} at row {row}, column {column}; a map array "
                "holds bools, or only 0 (blocked) and 1 (land)"
            )
        height, width = array.shape
        return cls(height, width, np.packbits(is_land, axis=1, bitorder="little").tobytes())

    @classmethod
    def from_text(cls, text: str) -> LandMask:
        """Return the mask of a drawing: one line a row, ``#`` blocked, anything else, spaces too, land.

        Empty lines before and after the drawing are left out.
        """
        check_type("a map drawing", text, str, "a string, one line a row")
        lines = text.splitlines()
        drawn = [number for number, line in enumerate(lines) if line]
        if not drawn:
            raise ValueError("the map drawing is empty; it needs rows of one width")
        rows = lines[drawn[0] : drawn[-1] + 1]
        widths = [len(row) for row in rows]
        for row, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"a map drawing needs rows of one width; row 0 has {widths[0]}, row {row} has {width}"
                )
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


def check_is_mask(name: str, value: object) -> None:
    """Raise TypeError unless ``value``, called ``name`` in the error, is a LandMask."""
    check_type(name, value, LandMask, "a LandMask, which LandMask.from_array(...) makes from an array")
