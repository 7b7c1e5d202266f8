"""The counter RNG of docs/rules.md for arrays, in numpy.

``territorial.game.formulas.draw`` is the same for kernels, which compile ``mix``.
"""

import numpy as np

from territorial.typing import Words


def mix(z: Words) -> Words:
    """Return the SplitMix64 finaliser of ``z`` + the golden gamma (Steele, Lea, Flood 2014).

    Of an array with at least one dimension: numpy warns on scalars.
    """
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_words(seed: int, stream: int, tick: int, index: Words) -> Words:
    """Return H(seed, stream, tick, index) for every entry of ``index``."""
    word = mix(np.array([seed], np.uint64))
    for part in (stream, tick):
        word = mix(word ^ np.uint64(part))
    return mix(word ^ index)
