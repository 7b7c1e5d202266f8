"""Map files: PNG pictures, .npy arrays and .txt drawings, read safely."""

import io
import os
import re
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.validation import one_of, raised_as, whole_number
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE
from territorial.files.atomic import write_file
from territorial.files.bounded import read_file
from territorial.files.png import SIGNATURE, PngError, png_file, read_png
from territorial.maps.regions import label_regions, largest_region
from territorial.maps.starts import capacity

MAX_FILE_BYTES = 16 * 2**20
"""Larger files are not read."""
_NPY_SIGNATURE = b"\x93NUMPY"
_DRAWN_LAND, _DRAWN_BLOCKED = ".", "#"
_STRANGE = re.compile(r"[^.#\n]")
# Bytes of the largest drawing, with some empty lines around it.
_MOST_DRAWN = MAX_SIDE * (MAX_SIDE + len("\r\n")) + 2**10

Unreachable = Literal["refuse", "block"]


def load(
    path: str | os.PathLike[str],
    *,
    threshold: int | None = None,
    unreachable: Unreachable = "refuse",
    num_players: int | None = None,
) -> LandMask:
    """Return the map of a file, of 16 x 16 to 1,024 x 1,024 cells; its first bytes decide the format.

    A PNG picture has one pixel a cell, white for land and black for blocked cells; with a ``threshold``, 1
    to 255, all pixels at least that bright are land. An array in numpy's format ``.npy`` holds bools, or 0
    (blocked) and 1 (land). A drawing has a line a row, "." for land and "#" for blocked cells.
    ``unreachable`` says what to do with land that does not hang together with the largest region: "refuse"
    the map or "block" it. With ``num_players``, there must be room for so many spawns. Nothing is
    unpickled, and nothing larger than the largest map is decompressed.

    Raises ValueError, which says what is wrong and where, and OSError if the file cannot be read.
    """
    if threshold is not None:
        threshold = whole_number("threshold", threshold, 1, 255)
    if num_players is not None:
        num_players = whole_number("num_players", num_players, MIN_PLAYERS, MAX_PLAYERS)
    one_of("unreachable", unreachable, ("refuse", "block"))
    with raised_as(ValueError, f"the map {os.fspath(path)!r} cannot be used: "):
        land = _parse(read_file(path, MAX_FILE_BYTES), threshold)
        mask = _checked_regions(LandMask.from_array(land), unreachable)
        if num_players is not None and capacity(mask, enough=num_players) < num_players:
            raise ValueError(
                f"num_players is {num_players}, but only {capacity(mask)} spawns fit on its "
                f"{mask.num_land:,} cells of land"
            )
    return mask


def save(mask: LandMask, path: str | os.PathLike[str]) -> None:
    """Write a map to a file that :func:`load` reads: ``path`` ends in .png, .npy or .txt."""
    check_is_mask("mask", mask)
    suffix = one_of(f"the suffix of {os.fspath(path)!r}", Path(path).suffix.lower(), SUFFIXES)
    write_file(path, _FORMATS[suffix](mask.to_array()))


def _array_file(land: npt.NDArray[np.bool_]) -> bytes:
    buffer = io.BytesIO()
    npy.write_array(buffer, land, allow_pickle=False)
    return buffer.getvalue()


def _drawing(land: npt.NDArray[np.bool_]) -> bytes:
    rows = np.where(land, _DRAWN_LAND, _DRAWN_BLOCKED).tolist()
    return "".join("".join(row) + "\n" for row in rows).encode("ascii")


_FORMATS = {".png": png_file, ".npy": _array_file, ".txt": _drawing}
SUFFIXES = tuple(_FORMATS)
"""What a map can be saved as."""


def _parse(data: bytes, threshold: int | None) -> npt.NDArray[np.generic]:
    """Return the (height, width) array in ``data``, its values not yet checked."""
    if data.startswith(SIGNATURE):
        return _land_of_picture(data, threshold)
    if threshold is not None:
        raise ValueError("it is not a picture; only a picture has a threshold")
    return _read_npy(data) if data.startswith(_NPY_SIGNATURE) else _read_drawing(data)


# ---- pictures ----------------------------------------------------------------------------------------


def _land_of_picture(data: bytes, threshold: int | None) -> npt.NDArray[np.bool_]:
    with raised_as(ValueError, "as a PNG picture, ", PngError):
        pixels = read_png(data, MIN_SIDE, MAX_SIDE)
    # Rec. 601, in whole numbers: how bright a colour looks, 0 to 255.
    brightness = (pixels.astype(np.int64) @ np.array([299, 587, 114])) // 1000
    if threshold is not None:
        return np.asarray(brightness >= threshold)
    is_neither = (brightness != 0) & (brightness != 255)
    if is_neither.any():
        row, column = divmod(int(is_neither.argmax()), pixels.shape[1])
        raise ValueError(
            f"the pixel at row {row}, column {column} has the colour "
            f"{tuple(pixels[row, column].tolist())}, neither black (blocked) nor white (land); "
            "with threshold=128 bright colours are land"
        )
    return np.asarray(brightness == 255)


# ---- arrays ------------------------------------------------------------------------------------------


def _read_npy(data: bytes) -> npt.NDArray[np.generic]:
    """Return the array of a .npy file, read once its header claims no more than a map."""
    file = io.BytesIO(data)
    # Errors are of many types: the header is an expression in Python.
    with raised_as(ValueError, "as an array, it is damaged: ", Exception):
        is_first = npy.read_magic(file) == (1, 0)
        read_header = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
        shape, _, dtype = read_header(file)
        if dtype.kind in "biuf" and len(shape) == 2 and all(MIN_SIDE <= n <= MAX_SIDE for n in shape):
            file.seek(0)
            return npy.read_array(file, allow_pickle=False)
    raise ValueError(
        f"as an array, it has shape {shape} of {dtype}; it must have {MIN_SIDE} to {MAX_SIDE} rows and "
        "columns of bools, or of the numbers 0 (blocked) and 1 (land)"
    )


# ---- drawings ----------------------------------------------------------------------------------------


def _read_drawing(data: bytes) -> npt.NDArray[np.bool_]:
    wanted = f"{_DRAWN_LAND!r} for land and {_DRAWN_BLOCKED!r} for blocked cells"
    text = data.decode("latin-1").replace("\r\n", "\n")
    if strange := _STRANGE.search(text):
        row, begin = text.count("\n", 0, strange.start()), text.rfind("\n", 0, strange.start())
        raise ValueError(
            f"it is not a PNG picture, .npy array or drawing: line {row + 1} has "
            f"{strange[0]!r} at place {strange.start() - begin}, where a drawing has "
            f"{wanted}"
        )
    if len(data) > _MOST_DRAWN:
        raise ValueError(f"as a drawing, it has {len(data):,} bytes; the largest map takes {_MOST_DRAWN:,}")
    return LandMask.from_text(text).to_array()


# ---- what a game needs -------------------------------------------------------------------------------


def _checked_regions(mask: LandMask, unreachable: Unreachable) -> LandMask:
    """Return ``mask`` if its land is one region, or else the rest of it; ValueError to refuse it."""
    kept = largest_region(mask)
    if kept == mask or unreachable == "block":
        return kept
    land = mask.to_array()
    lost = land & ~kept.to_array()
    row, column = divmod(int(lost.argmax()), mask.width)
    raise ValueError(
        f"{int(lost.sum()):,} of {int(land.sum()):,} land cells cannot be reached: there are "
        f"{int(label_regions(land).max()):,} regions, and the cell at row {row}, column "
        f"{column} is not in the largest. Cells that touch only at a corner are not neighbours; "
        'unreachable="block" blocks all other regions'
    )
