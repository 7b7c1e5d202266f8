"""Donations on a picture: an arrow, bent to one side, from the land of the giver to that of the receiver."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image
from territorial.render.labels import Places
from territorial.render.pillow import draw_shape
from territorial.render.team_colors import Colors
from territorial.typing import Ints

_PART = 1 / 200
"""Half the width of an arrow, of the longer side of the picture."""
_BEND = 0.18
"""How far the middle of an arrow is beside the straight line, of its length: so it differs from one back."""
_FREE = 0.08
"""What stays free at both ends for the labels, of the length."""
_HEAD = 6
"""How long the head is, in half widths, and twice as wide as half of that."""
_STEPS = 24

Points = npt.NDArray[np.float64]
"""(n, 2): x, the column, and y, the row, in pixels."""


def draw_gifts(image: Image, places: Places, scale: int, colors: Colors, gifts: Ints) -> None:
    """Draw an arrow for each of ``gifts`` on the picture of a board, from place to place.

    ``gifts`` (N, 2) or (N, 3) begin with the seats of giver and receiver; ``colors`` (P, 3) are those of
    seats. Gifts of seats without land are left out.
    """
    half = max(1.5, _PART * max(image.shape[:2]))
    for giver, receiver in gifts[:, :2].tolist():
        if min(places.row[giver], places.row[receiver]) < 0:
            continue
        start, end = ((np.array([places.column[p], places.row[p]]) + 0.5) * scale for p in (giver, receiver))
        draw_shape(image, _arrow(start, end, half), tuple(colors[giver - 1].tolist()))


def _arrow(start: Points, end: Points, half: float) -> Points:
    """Return the outline of an arrow from ``start`` to ``end``, whose shaft is twice ``half`` wide."""
    way = end - start
    aside = np.array([-way[1], way[0]])
    middle = (start + end) / 2 + 2 * _BEND * aside
    part = np.linspace(_FREE, 1 - _FREE, _STEPS)[:, None]
    line = (1 - part) ** 2 * start + 2 * part * (1 - part) * middle + part**2 * end
    along = 2 * (1 - part) * (middle - start) + 2 * part * (end - middle)
    along /= np.maximum(np.hypot(*along.T)[:, None], 1e-9)
    across = half * np.stack([-along[:, 1], along[:, 0]], axis=1)
    is_shaft = np.hypot(*(line - line[-1]).T) > _HEAD * half
    neck = line[-1] - _HEAD * half * along[-1]
    left = [*(line + across)[is_shaft], neck + across[-1], neck + _HEAD / 2 * across[-1]]
    right = [*(line - across)[is_shaft], neck - across[-1], neck - _HEAD / 2 * across[-1]]
    return np.array([*left, line[-1], *right[::-1]])
