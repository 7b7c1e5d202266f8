"""Spawn positions: how many fit a map, and symmetric starts.

The rules place spawns at random, so on a symmetric map, too, some seats start better than others. A
symmetric start is a position of the game, laid out by ``VecGame.set_position``, and no change of the rules.
"""

import numpy as np

from territorial.config.draws import random_words
from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.validation import whole_number
from territorial.constants import (
    BLOCKED,
    LARGEST_SEED,
    MAX_PLAYERS,
    MAX_SIDE,
    NEUTRAL,
    SPAWN_CANDIDATES,
    SPAWN_SIDE,
    SPAWN_TRIES,
    STREAM_SPAWN,
)
from territorial.maps.regions import Land
from territorial.maps.symmetry import images, is_symmetric
from territorial.typing import Bools, Bytes, Ints

_ENDS = (0, SPAWN_SIDE - 1)
SPAWN_SHAPE = tuple(
    (r, c) for r in range(SPAWN_SIDE) for c in range(SPAWN_SIDE) if not (r in _ENDS and c in _ENDS)
)
"""The cells of a spawn, from its anchor."""
# Two spawns share a cell if, ``rows`` apart, they are at most _REACH[rows] columns apart.
_REACH = tuple(
    max(c - other_c for r, c in SPAWN_SHAPE for other_r, other_c in SPAWN_SHAPE if r - other_r == rows)
    for rows in range(SPAWN_SIDE)
)


def capacity(land: LandMask, enough: int | None = None) -> int:
    """Return how many spawns fit if each takes the first free anchor in reading order.

    An anchor is the upper left cell of a 4 x 4 square without its corners; it is free while all 12
    cells are land and unused. Counting stops at ``enough``, where that is given.
    """
    check_is_mask("land", land)
    if enough is not None:
        enough = whole_number("enough", enough, 0, MAX_SIDE**2)
    # Anchors have the map's own indices; those of the last three rows and columns are never free,
    # so the slices below stay inside the buffer and never clear an anchor of another row.
    is_free = bytearray(anchors_on(land.to_array()).tobytes())
    count = 0
    anchor = is_free.find(1)
    while anchor >= 0 and (enough is None or count < enough):
        count += 1
        for rows, reach in enumerate(_REACH):
            below = anchor + rows * land.width
            first = max(0, below - reach)
            is_free[first : below + reach + 1] = bytes(below + reach + 1 - first)
        anchor = is_free.find(1, anchor + 1)
    return count


def anchors_on(cells: Bools) -> Bools:
    """Return where a spawn can be anchored so that all its cells are in ``cells``; both bool (H, W)."""
    height, width = cells.shape[0] - SPAWN_SIDE + 1, cells.shape[1] - SPAWN_SIDE + 1
    fits = np.zeros_like(cells)
    fits[:height, :width] = True
    for r, c in SPAWN_SHAPE:
        fits[:height, :width] &= cells[r : r + height, c : c + width]
    return fits


# Of sqrt(land cells / players), as ``GameConfig.spawn_spacing_percent`` is by default.
_SPACING_PERCENT = 70


def symmetric_start(mask: LandMask, symmetry: str, num_players: int, seed: int = 0) -> Bytes:
    """Return owner codes, uint8 (H, W), of a start that looks the same to several seats each.

    Seats 1 and 2 (or 1 to 4, where the symmetry has four images) have spawns that are images of each other,
    so have the next two (or four), and so on. ``num_players`` must be a multiple of that. Which spawns
    these are is drawn by ``seed``, 0 to 2**64 - 1; they are spread as those of the rules are.
    ``VecGame.set_position`` takes the result. Raises ValueError if the map is not symmetric or lacks room.
    """
    check_is_mask("mask", mask)
    num_players = whole_number("num_players", num_players, 2, MAX_PLAYERS)
    seed = whole_number("seed", seed, 0, LARGEST_SEED)
    if not is_symmetric(mask, symmetry):
        raise ValueError(
            f"the map does not have the symmetry {symmetry!r}; territorial.maps.symmetrize(mask, "
            f"{symmetry!r}) makes one that has it"
        )
    all_images = np.array(images(symmetry, mask.height, mask.width))
    num_groups, rest = divmod(num_players, len(all_images))
    if rest != 0:
        raise ValueError(
            f"num_players is {num_players}; with symmetry {symmetry!r} it must be a multiple of "
            f"{len(all_images)}"
        )
    owner = np.where(mask.to_array(), np.uint8(NEUTRAL), np.uint8(BLOCKED)).ravel()
    for i, spawn in enumerate(_spread(mask, all_images, num_groups, seed)):
        owner[spawn] = i + 1
    return owner.reshape(mask.height, mask.width)


def _spread(mask: LandMask, all_images: Ints, num_groups: int, seed: int) -> list[Ints]:
    """Return spawns, int64 (12,) flat cells each: the images of the first, then of the second, and so on."""
    free, spawns = mask.to_array(), list[Ints]()
    enough = _SPACING_PERCENT**2 * mask.num_land // (10_000 * num_groups * len(all_images))
    for group in range(num_groups):
        chosen = _best_candidate(free, all_images, spawns, enough, seed, group)
        if chosen is None:
            raise ValueError(
                f"num_players is {num_groups * len(all_images)}, but there is room for only "
                f"{len(spawns)} spawns and their images; use fewer players or a larger map"
            )
        spawns.extend(chosen)
        free.ravel()[chosen] = False
    return spawns


def _best_candidate(
    free: Land, all_images: Ints, spawns: list[Ints], enough: int, seed: int, group: int
) -> Ints | None:
    """Return the images, int64 (images, 12), of the first spawn that is far enough from ``spawns``.

    If none of several candidates is, the most distant of them; if these do not fit, the first that does.
    ``enough`` is a squared distance. ``free`` is symmetric, so images are free where a spawn is.
    """
    anchors = np.flatnonzero(anchors_on(free))
    if anchors.size == 0:
        return None
    words = random_words(seed, STREAM_SPAWN, group, np.arange(SPAWN_TRIES, dtype=np.uint64))
    drawn = anchors[(words % np.uint64(anchors.size)).astype(np.int64)]
    best, best_distance, looked_at = None, -1, 0
    for anchor in drawn.tolist():
        candidate = all_images[:, _spawn_at(anchor, free.shape[1])]
        if not _is_apart(candidate):
            continue
        distance = _squared_distance([*candidate[1:], *spawns], candidate[0], free.shape[1])
        if distance > best_distance:
            best, best_distance = candidate, distance
        looked_at += 1
        if distance >= enough or looked_at == SPAWN_CANDIDATES:
            break
    if best is None:
        every = (all_images[:, _spawn_at(anchor, free.shape[1])] for anchor in anchors.tolist())
        best = next((candidate for candidate in every if _is_apart(candidate)), None)
    return best


def _spawn_at(anchor: int, width: int) -> Ints:
    """Return the 12 cells, flat, of the spawn that has ``anchor`` for its upper left corner."""
    return np.array([anchor + r * width + c for r, c in SPAWN_SHAPE], np.int64)


def _is_apart(candidate: Ints) -> bool:
    """Return whether no cell is part of two images."""
    return np.unique(candidate).size == candidate.size


def _squared_distance(spawns: list[Ints], spawn: Ints, width: int) -> int:
    """Return the least squared distance from the middle of ``spawn`` to the middles of ``spawns``."""
    # Sums over the 12 cells of a spawn are 12 times its middle.
    rows, columns = (
        (np.array([*spawns, spawn]) // width).sum(axis=1),
        (np.array([*spawns, spawn]) % width).sum(axis=1),
    )
    squares = (rows[:-1] - rows[-1]) ** 2 + (columns[:-1] - columns[-1]) ** 2
    return int(squares.min(initial=2**62)) // len(SPAWN_SHAPE) ** 2
