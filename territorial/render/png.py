"""PNG files of pictures, still ones and animated ones (APNG), written with nothing but zlib."""

from __future__ import annotations

import os
import struct
import zlib
from types import TracebackType
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from territorial.files.atomic import write_file
from territorial.files.png import SIGNATURE, chunk

Image = npt.NDArray[np.uint8]

_RGB, _RGBA = 2, 6
_KEEP, _OVER = 0, 1  # after a frame nothing is erased; a frame is laid over what stands there
_FOREVER = 0
_DELAY_UNIT = 1000


def check_picture(rgb: Image, name: str = "a picture") -> None:
    """Raise ValueError unless ``rgb`` is uint8 (h, w, 3) and not empty."""
    if not isinstance(rgb, np.ndarray):
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {type(rgb).__name__}")
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise ValueError(f"{name} is a uint8 array of shape (H, W, 3); got {rgb.dtype}, {rgb.shape}")


def write_png(path: str | os.PathLike[str], rgb: Image) -> None:
    """Write an (H, W, 3) uint8 RGB picture to ``path`` as an 8-bit PNG file."""
    check_picture(rgb)
    header = _header(rgb.shape[0], rgb.shape[1], _RGB)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", _compressed(rgb)), chunk(b"IEND", b"")
    write_file(path, b"".join([SIGNATURE, *parts]))


class ApngWriter:
    """An animated PNG file that grows picture by picture; browsers play it, other programs show the first.

    Of every picture only the rectangle that changed is written, and in it what stayed is transparent, which
    takes next to nothing. Use it as a context manager: the file is complete when that ends.

    Args:
        file: open for writing, seekable.
        fps: pictures a second.

    """

    def __init__(self, file: BinaryIO, fps: float) -> None:
        self._file = file
        self._delay = max(1, round(_DELAY_UNIT / fps))
        self._last: Image | None = None
        self._count = self._sequence = self._control_at = 0

    def add(self, rgb: Image) -> None:
        """Append one picture, uint8 (h, w, 3), of the size of the first."""
        if self._last is None:
            self._begin(rgb)
        else:
            self._continue(rgb, self._last)
        self._last = rgb.copy()
        self._count += 1

    def _begin(self, rgb: Image) -> None:
        height, width, _ = rgb.shape
        self._file.write(SIGNATURE)
        self._file.write(chunk(b"IHDR", _header(height, width, _RGBA)))
        self._control_at = self._file.tell()
        self._file.write(chunk(b"acTL", struct.pack(">II", 1, _FOREVER)))
        self._control_frame(0, 0, height, width)
        self._file.write(chunk(b"IDAT", _compressed(_with_alpha(rgb))))

    def _continue(self, rgb: Image, last: Image) -> None:
        differs = rgb != last
        is_new = differs[:, :, 0] | differs[:, :, 1] | differs[:, :, 2]
        rows, columns = np.flatnonzero(is_new.any(axis=1)), np.flatnonzero(is_new.any(axis=0))
        if len(rows) == 0:  # the file format has no empty frames: one pixel as it was
            rows = columns = np.zeros(1, np.int64)
        area = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        layer = _with_alpha(rgb[area]) * is_new[area][:, :, None]
        self._control_frame(int(rows[0]), int(columns[0]), *layer.shape[:2])
        self._file.write(chunk(b"fdAT", struct.pack(">I", self._next()) + _compressed(layer)))

    def _control_frame(self, top: int, left: int, height: int, width: int) -> None:
        place = struct.pack(">IIIII", self._next(), width, height, left, top)
        how = struct.pack(">HHBB", self._delay, _DELAY_UNIT, _KEEP, _OVER)
        self._file.write(chunk(b"fcTL", place + how))

    def _next(self) -> int:
        """Number control and data of all frames in one sequence."""
        self._sequence += 1
        return self._sequence - 1

    def __enter__(self) -> ApngWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or self._last is None:
            return
        self._file.write(chunk(b"IEND", b""))
        self._file.seek(self._control_at)  # how many there are is known only now
        self._file.write(chunk(b"acTL", struct.pack(">II", self._count, _FOREVER)))


def _header(height: int, width: int, kind: int) -> bytes:
    return struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)


def _with_alpha(rgb: Image) -> Image:
    pixels = np.full((*rgb.shape[:2], 4), 255, np.uint8)
    pixels[:, :, :3] = rgb
    return pixels


def _compressed(pixels: Image) -> bytes:
    """Return pixels as PNG has them: lines that begin with 0, "no filter", deflated."""
    height = pixels.shape[0]
    lines = np.zeros((height, 1 + pixels[0].size), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    return zlib.compress(lines.data, 6)
