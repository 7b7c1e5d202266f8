"""Animated PNG files (APNG) that grow picture by picture."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from territorial.files.png import SIGNATURE
from territorial.render.board import Image
from territorial.render.layers import Layer, Layers
from territorial.render.pillow import packed_rows, write_chunk

_RGBA = 6
_KEEP, _OVER = 0, 1  # after a frame nothing is erased; a frame is laid over what stands there
_FOREVER = 0
_DELAY_UNIT = 1000


class ApngWriter:
    """An animation that browsers play and of which other programs show the first picture; one is kept.

    Of every picture only the rectangle that changed is written, and in it what stayed is transparent, which
    takes next to nothing. Pillow encodes the pixels. Which frame goes where is written here, because Pillow's
    own writer of animations keeps all pictures until the last one has come, and loses those of an iterator,
    which it goes through twice.

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
        rows = packed_rows(_transparent(layer))
        if self._count == 0:
            write_chunk(self._file, b"IDAT", rows)
        else:
            write_chunk(self._file, b"fdAT", struct.pack(">I", self._next()) + rows)
        self._count += 1

    def end(self) -> None:
        """Complete the file."""
        write_chunk(self._file, b"IEND", b"")
        self._file.seek(self._control_at)  # how many there are is known only now
        self._control(self._count)

    def _begin(self, height: int, width: int) -> None:
        self._file.write(SIGNATURE)
        write_chunk(self._file, b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _RGBA, 0, 0, 0))
        self._control_at = self._file.tell()
        self._control(1)

    def _control(self, count: int) -> None:
        write_chunk(self._file, b"acTL", struct.pack(">II", count, _FOREVER))

    def _control_frame(self, layer: Layer) -> None:
        height, width = layer.is_new.shape
        place = struct.pack(">IIIII", self._next(), width, height, layer.left, layer.top)
        how = struct.pack(">HHBB", self._delay, _DELAY_UNIT, _KEEP, _OVER)
        write_chunk(self._file, b"fcTL", place + how)

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
