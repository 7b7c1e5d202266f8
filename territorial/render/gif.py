"""GIF files that grow picture by picture."""

from __future__ import annotations

from typing import BinaryIO

from territorial.render.board import Image
from territorial.render.layers import Layers
from territorial.render.pillow import GIF_END, gif_beginning, gif_layer

_UNIT = 10
"""Milliseconds: the clock of a GIF file counts hundredths of a second."""


class GifWriter:
    """An animation in the GIF format; Pillow encodes each picture, and one picture is kept.

    Of every picture only the rectangle that changed is written, with a palette of its own. Up to 255 colours
    among the pixels that changed are exact, of more the nearest of 255 are taken. Pillow's own writer of
    animations would keep all pictures until the last one has come.

    Args:
        file: open for writing.
        fps: pictures a second, at most 50.

    """

    def __init__(self, file: BinaryIO, fps: float) -> None:
        self._file, self._fps = file, fps
        self._layers = Layers()
        self._count = 0

    def add(self, rgb: Image) -> None:
        """Append one picture, uint8 (h, w, 3), of the size of the first."""
        layer, shown_for = self._layers.layer(rgb), self._milliseconds()
        if self._count == 0:
            self._file.write(gif_beginning(layer.pixels, shown_for))
        else:
            self._file.write(gif_layer(layer.pixels, layer.is_new, layer.top, layer.left, shown_for))
        self._count += 1

    def end(self) -> None:
        """Complete the file."""
        self._file.write(GIF_END)

    def _milliseconds(self) -> int:
        """Return how long the next picture is shown, so that all together last as long as they should."""
        begin, end = (round(1000 / _UNIT * count / self._fps) for count in (self._count, self._count + 1))
        return _UNIT * (end - begin)
