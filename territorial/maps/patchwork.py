"""Maps made of pieces that are joined: islands and continents with land bridges, valleys with passes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from territorial.maps.attempts import first_good
from territorial.maps.bridges import join
from territorial.maps.noise import NOISE_UNIT, Heights, fractal_noise
from territorial.maps.pieces import UNIT, Pieces, cut, from_border, from_edge, spacing_of, walls
from territorial.maps.regions import Land, drop_small, label_regions
from territorial.maps.smoothing import block_lowest, smooth

CELLS_PER_PIECE = 225
"""At least, on average: a small map has fewer pieces than it was asked for."""
_ROOM_BETWEEN_WALLS = 8
_LAYER_PIECES, _LAYER_COAST, _LAYER_BRIDGES = 0, 36, 50

Options = Mapping[str, int]


def islands(height: int, width: int, seed: int, options: Options) -> Land:
    """Return islands, or continents, with straits between them and bridges over these."""
    count = max(2, min(options["count"], height * width // CELLS_PER_PIECE))
    spacing = spacing_of(height, width, count)

    def attempt(layer: int, sixteenths: int) -> Land | None:
        pieces = cut(height, width, count, seed, layer + _LAYER_PIECES, _wind(height, width, spacing))
        score = _islands_score(pieces, spacing, seed, layer + _LAYER_COAST)
        percent = options["blocked"] * sixteenths // 16
        land = drop_small(smooth(block_lowest(score, percent)), max(24, spacing * spacing // 30))
        is_good = label_regions(land).max() > 1 and 4 * 100 * land.sum() >= 3 * (100 - percent) * land.size
        if not is_good:
            return None
        return join(land, options["bridges"], options["loops"], seed, layer + _LAYER_BRIDGES)

    return first_good(attempt, height, width)


def maze(height: int, width: int, seed: int, options: Options) -> Land:
    """Return valleys with a way from each to each, most of them with one way only."""
    thickness = options["walls"]
    least = max(CELLS_PER_PIECE // 2, (2 * thickness + _ROOM_BETWEEN_WALLS) ** 2)
    count = max(2, min(options["count"], height * width // least))
    spacing = spacing_of(height, width, count)

    def attempt(layer: int, sixteenths: int) -> Land | None:
        pieces = cut(height, width, count, seed, layer + _LAYER_PIECES, _wind(height, width, spacing))
        valleys = drop_small(smooth(~walls(pieces.owner, thickness)), (spacing - thickness) ** 2 // 8)
        if label_regions(valleys).max() < 2:
            return None
        bridging = options["bridges"], options["loops"], seed, layer + _LAYER_BRIDGES
        return join(valleys, *bridging, at_random=True)

    return first_good(attempt, height, width)


def _wind(height: int, width: int, spacing: int) -> int:
    """How far borders wind, in cells: on a narrow map less."""
    return min(spacing // 2, min(height, width) // 4)


def _islands_score(pieces: Pieces, spacing: int, seed: int, layer: int) -> Heights:
    """Return what is lowest in the straits, low towards borders and edges, and uneven everywhere."""
    height, width = pieces.owner.shape
    from_coast = np.minimum(from_border(pieces), 2 * from_edge(pieces))
    # The middle of an island is a plateau, or noise would have no say in where its coast is.
    plateau = np.minimum(from_coast, spacing * UNIT // 3) * NOISE_UNIT // (UNIT * spacing)
    noise = fractal_noise(height, width, seed, layer, max(8, spacing * 2 // 3), max(4, spacing // 20))
    score: Heights = 4 * plateau + 3 * noise
    score[walls(pieces.owner, max(3, spacing // 12))] -= 8 * NOISE_UNIT  # below all that is no strait
    return score
