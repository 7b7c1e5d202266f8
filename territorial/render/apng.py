"""Animated PNG files (APNG) that grow picture by picture."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

import numpy as np

from territorial.files.png import SIGNATURE
from territorial.render.board import Image
from territorial.render.layers import Layer, Layers

_RGBA = 6
_KEEP, _OVER = 0, 1  # after a frame nothing is erased; a frame is laid over what stands there
_FOREVER = 0
_DELAY_UNIT = 1000


class ApngWriter:
    """An animation that browsers play and of which other programs show the first picture; one is kept.

    Of every picture only the rectangle that changed is written, and in it what stayed is transparent, which
    takes next to nothing. Pillow's own writer of animations keeps all pictures until the last one has come,
    and writes whole rectangles, which makes files three times as large.

    Args:
        file: open for writing, seekable.
        fps: pictures a second.

    """

    def __init__(self, file: BinaryIO, fps: float) -> None:
        self._file = file
        self._delay = max(1, round(_DELAY_UNIT / fps))
        self._layers = Layers()
        self._count = self._sequence = self._control_at = 0

    def add(self, rgb: Image) -> None:
        """Append one picture, uint8 (h, w, 3), of the size of the first."""
        layer = self._layers.layer(rgb)
        if self._count == 0:
            self._begin(*rgb.shape[:2])
        self._control_frame(layer)
        rows = _packed_rows(_transparent(layer))
        if self._count == 0:
            self._write(b"IDAT", rows)
        else:
            self._write(b"fdAT", struct.pack(">I", self._next()) + rows)
        self._count += 1

    def end(self) -> None:
        """Complete the file."""
        self._write(b"IEND", b"")
        self._file.seek(self._control_at)  # how many there are is known only now
        self._control(self._count)

    def _begin(self, height: int, width: int) -> None:
        self._file.write(SIGNATURE)
        self._write(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _RGBA, 0, 0, 0))
        self._control_at = self._file.tell()
        self._control(1)

    def _control(self, count: int) -> None:
        self._write(b"acTL", struct.pack(">II", count, _FOREVER))

    def _control_frame(self, layer: Layer) -> None:
        height, width = layer.is_new.shape
        place = struct.pack(">IIIII", self._next(), width, height, layer.left, layer.top)
        how = struct.pack(">HHBB", self._delay, _DELAY_UNIT, _KEEP, _OVER)
        self._write(b"fcTL", place + how)

    def _write(self, kind: bytes, body: bytes) -> None:
        """Append a chunk: length, name, body, checksum."""
        chunk = kind + body
        self._file.write(struct.pack(">I", len(body)) + chunk + struct.pack(">I", zlib.crc32(chunk)))

    def _next(self) -> int:
        """Number control and data of all frames in one sequence."""
        self._sequence += 1
        return self._sequence - 1


def _transparent(layer: Layer) -> Image:
    """Return RGBA pixels, zeros where nothing is new."""
    pixels = np.zeros((*layer.is_new.shape, 4), np.uint8)
    np.multiply(layer.pixels, layer.is_new[:, :, None], out=pixels[:, :, :3])
    np.multiply(layer.is_new, np.uint8(255), out=pixels[:, :, 3])
    return pixels


def _packed_rows(pixels: Image) -> bytes:
    """Return the rows of pixels, (h, w, 4), compressed; a byte 0 before each says that it has no filter.

    Filters make what changed in a board, most of it transparent, a third larger.
    """
    rows = pixels.reshape(len(pixels), -1)
    return zlib.compress(np.pad(rows, ((0, 0), (1, 0))).tobytes())
