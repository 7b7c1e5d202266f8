"""Symmetric maps, under turns and mirrors.

An image of the map is a permutation of its cells: ``image[i]`` is the flat index of the cell that cell
i goes to. A symmetry is the list of all its images, the identity first, so it has two or four.
"""

import numpy as np

from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.map_names import MAX_BRIDGE_WIDTH, check_symmetry
from territorial.config.validation import whole_number
from territorial.maps.bridges import draw_line, plan_bridges
from territorial.maps.regions import Land, drop_small, label_regions
from territorial.typing import Ints

# Regions below 1 / this of the largest are blocked, all others joined.
_SMALLEST_SHARE = 16


def images(symmetry: str, height: int, width: int) -> list[Ints]:
    """Return the images of a map under a symmetry, int64 (H * W,) each; ValueError if it cannot have it."""
    check_symmetry(symmetry, height, width)
    cells = np.arange(height * width).reshape(height, width)
    turned = {
        "none": (cells,),
        "half_turn": (cells, cells[::-1, ::-1]),
        "mirror": (cells, cells[:, ::-1]),
        "quarter_turn": (cells, np.rot90(cells), np.rot90(cells, 2), np.rot90(cells, 3)),
        "two_mirrors": (cells, cells[:, ::-1], cells[::-1], cells[::-1, ::-1]),
    }
    return [image.ravel() for image in turned[symmetry]]


def symmetrized(land: Land, symmetry: str, bridge_width: int, seed: int, layer: int) -> Land:
    """Return connected land that is symmetric: one part of ``land`` and its images.

    Pieces that are cut off by that are joined by bridges, which have images as well; small ones are blocked.
    """
    all_images = images(symmetry, *land.shape)
    # The part that counts is all cells with the lowest number among their images.
    whole: Land = land.ravel()[np.min(all_images, axis=0)].reshape(land.shape)
    sizes = np.bincount(label_regions(whole).ravel())[1:]
    whole = drop_small(whole, -(-int(sizes.max(initial=0)) // _SMALLEST_SHARE))
    bridges = np.zeros(land.shape, np.bool_)
    for start, end in plan_bridges(whole, 0, seed, layer):
        draw_line(bridges, start, end, bridge_width)
    built = np.logical_or.reduce([bridges.ravel()[image] for image in all_images])
    return whole | built.reshape(land.shape)


def symmetrize(mask: LandMask, symmetry: str, bridge_width: int = 3) -> LandMask:
    """Return a symmetric map in one region: one part of ``mask`` (half, or a quarter) and its images.

    Pieces of land that no longer hang together are joined by bridges ``bridge_width`` cells wide (1 to
    24), or blocked if they are small. Raises ValueError for a symmetry that a map of this size cannot have,
    and for a part without land.
    """
    check_is_mask("mask", mask)
    bridge_width = whole_number("bridge_width", bridge_width, 1, MAX_BRIDGE_WIDTH)
    check_symmetry(symmetry, mask.height, mask.width)
    land = symmetrized(mask.to_array(), symmetry, bridge_width, 0, 0)
    if not land.any():
        raise ValueError(f"the map has no land in the part that symmetry {symmetry!r} keeps")
    return LandMask.from_array(land)


def is_symmetric(mask: LandMask, symmetry: str) -> bool:
    """Return whether the land of ``mask`` looks the same under all turns or mirrors of a symmetry."""
    check_is_mask("mask", mask)
    land = mask.to_array().ravel()
    return all(np.array_equal(land, land[image]) for image in images(symmetry, mask.height, mask.width))
