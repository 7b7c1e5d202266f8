"""Animations picture by picture: of each, the rectangle that changed since the one before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image


class Layer(NamedTuple):
    """What is laid over the picture before to show the next."""

    top: int
    left: int
    pixels: Image
    """uint8 (h, w, 3)"""
    is_new: npt.NDArray[np.bool_]
    """(h, w): which of the pixels changed; the others stay as they were."""


class Layers:
    """Makes layers of the pictures of an animation, all of one size; it keeps a copy of the last one."""

    def __init__(self) -> None:
        self._last: Image | None = None

    def layer(self, rgb: Image) -> Layer:
        """Return what the next picture changes: of the first one everything."""
        last, self._last = self._last, rgb.copy()
        if last is None:
            return Layer(0, 0, rgb, np.ones(rgb.shape[:2], np.bool_))
        differs = rgb != last
        is_new = differs[:, :, 0] | differs[:, :, 1] | differs[:, :, 2]
        rows, columns = np.flatnonzero(is_new.any(axis=1)), np.flatnonzero(is_new.any(axis=0))
        if len(rows) == 0:  # no file format has empty layers: one pixel as it was
            rows = columns = np.zeros(1, np.int64)
        top, left = int(rows[0]), int(columns[0])
        area = np.s_[top : rows[-1] + 1, left : columns[-1] + 1]
        return Layer(top, left, rgb[area], is_new[area])
