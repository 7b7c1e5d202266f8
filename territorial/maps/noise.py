"""Integer value noise from the counter RNG, identical on every machine.

Random values stand at the points of a lattice and the cells between them are blended smoothly; a
fractal is a sum of such layers, each finer and weaker than the one before. Heights are int64 and
stay far below its limit (bounds in the comments); only the random words, uint64, wrap.
"""

import numpy as np
import numpy.typing as npt

from territorial.config.draws import random_words
from territorial.constants import STREAM_MAP_GENERATOR
from territorial.typing import Words

NOISE_UNIT = 1 << 16
"""Noise lies in 0 .. NOISE_UNIT - 1."""
_BLEND_BITS = 12
_PHASE_INDEX = 2**64 - 1  # lattice points use row * 2**32 + column, which never gets there

Heights = npt.NDArray[np.int64]


def layer_words(seed: int, layer: int, index: Words) -> Words:
    """Return the random words of a layer of a generated map."""
    return random_words(seed, STREAM_MAP_GENERATOR, layer, index)


def draw(seed: int, layer: int, index: int, below: int) -> int:
    """Return one random whole number in 0 .. ``below`` - 1."""
    return int(layer_words(seed, layer, np.array([index], np.uint64))[0]) % below


def _blend_weights(size: int, spacing: int, phase: int) -> tuple[Heights, Heights]:
    """For each of ``size`` cells: the lattice point before it, the weight of the one after it."""
    point, t = np.divmod(np.arange(size, dtype=np.int64) + phase, spacing)
    smooth = t * t * (3 * spacing - 2 * t)  # smoothstep in units of spacing**3, at most 2**30
    return point, (smooth << _BLEND_BITS) // spacing**3


def value_noise(height: int, width: int, seed: int, layer: int, spacing: int) -> Heights:
    """Return (height, width) int64 noise in 0 .. NOISE_UNIT - 1 that varies over ``spacing`` cells.

    The lattice is shifted by a random phase, so that layers of one fractal do not line up.
    """
    phase = draw(seed, layer, _PHASE_INDEX, spacing * spacing)
    row, row_weight = _blend_weights(height, spacing, phase // spacing)
    column, column_weight = _blend_weights(width, spacing, phase % spacing)
    lattice_row = np.arange(row[-1] + 2, dtype=np.uint64)[:, None] << np.uint64(32)
    lattice_column = np.arange(column[-1] + 2, dtype=np.uint64)[None, :]
    words = layer_words(seed, layer, lattice_row | lattice_column)
    lattice = (words >> np.uint64(48)).astype(np.int64)
    # Columns first, on the few lattice rows only: the big array is then blended just once.
    step: Heights = lattice[:, 1:] - lattice[:, :-1]
    rows: Heights = (lattice[:, column] << _BLEND_BITS) + step[:, column] * column_weight  # below 2**28
    row_step: Heights = rows[1:] - rows[:-1]
    total: Heights = (rows[row] << _BLEND_BITS) + row_step[row] * row_weight[:, None]  # below 2**40
    return total >> (2 * _BLEND_BITS)


def fractal_noise(height: int, width: int, seed: int, layer: int, spacing: int, finest: int) -> Heights:
    """Return a mean of noise of ``spacing`` cells, of half that, a quarter ..., down to ``finest``.

    Each layer weighs half as much as the one before; (height, width) int64 in 0 .. NOISE_UNIT - 1.
    Uses the layer numbers ``layer``, ``layer`` + 1 ..., at most 11 of them on a side of 1024 cells.
    """
    octaves = max(1, (spacing // finest).bit_length())
    total = np.zeros((height, width), np.int64)
    for octave in range(octaves):
        noise = value_noise(height, width, seed, layer + octave, max(1, spacing >> octave))
        total += noise << (octaves - 1 - octave)
    return total // (2**octaves - 1)
