"""Labels on the land of seats.

A label stands where there is most room for it, near the middle of its owner's land, and stays there
until another place is much better: in an animation it does not tremble. Its size follows the room.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.render.board import Image, Owners
from territorial.render.colors import Colors, is_light
from territorial.render.figures import short
from territorial.render.text import SMALLEST, Color, capital_height, draw_text, text_width
from territorial.typing import Ints

SIZES = (36, 28, 22, 17, 14, SMALLEST)
"""Of letters, in pixels: few, so that a label does not change its own with every picture."""
_LOOKED_AT = 128
"""Cells a side that are looked at to find places: of larger boards every second, third ... one."""
_STAYS = 0.75
"""A label stays while its place has this share of the best one's room."""
_PULL = 0.1
"""Room that a place is worth less for every cell between it and the middle of the land."""
_LINE = 1.1
"""From one line of a label to the next, in sizes of its letters."""
RIM = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Where else a label is written, in white, that stands on whatever is there."""
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)

Rooms = npt.NDArray[np.float32]


# ---- where -----------------------------------------------------------------------------------------


class Places(NamedTuple):
    """Where there is room on the land of owner codes 0..P; arrays (P + 1,), in cells of the board."""

    row: Ints
    """-1 for those without land."""
    column: Ints
    across: Rooms
    """Land of the owner to the left or to the right, whichever is less."""
    along: Rooms
    """Land of the owner above or below, whichever is less."""


def find_places(owner: Owners, num_players: int, last: Places | None = None) -> Places:
    """Return where labels go on the (H, W) board ``owner``: near ``last`` where that still does.

    Of boards with more than 128 cells a side only every second (third ...) row and column is looked at; who
    has land of a few cells between them gets one of those, and no room.
    """
    step = -(-max(owner.shape) // _LOOKED_AT)
    seen = np.ascontiguousarray(owner[step // 2 :: step, step // 2 :: step])
    left_right, up_down = _room(seen), _room(seen.T).T
    across = _round_about(left_right, up_down)
    along = _round_about(up_down.T, left_right.T).T
    room = across * along / (across + 2 * along)  # text is about twice as wide as high
    best = _best(seen, room)[: num_players + 1]
    is_found = best >= 0
    if last is not None:
        best = np.where(is_found, _stay(seen, room, best, last, step), best)
    row, column = np.divmod(np.maximum(best, 0), seen.shape[1])
    places = Places(
        np.where(is_found, row * step + step // 2, -1),
        column * step + step // 2,
        across[row, column] * step,
        along[row, column] * step,
    )
    if step > 2:  # spawns, 4 cells wide, are always found among every second row and column
        _find_others(owner, places, np.flatnonzero(~is_found))
    return places


def _find_others(owner: Owners, places: Places, codes: Ints) -> None:
    """Fill in the places of owner codes with land only between the sampled cells."""
    first = np.full(256, -1)
    flat = owner.ravel()[::-1]
    first[flat] = np.arange(flat.size)[::-1]  # the last one written is the first cell
    places.row[codes], places.column[codes] = np.divmod(first[codes], owner.shape[1])
    places.row[codes[first[codes] < 0]] = -1
    places.across[codes] = places.along[codes] = 0.5


def _room(seen: Owners) -> Rooms:
    """Return for every cell how far it is to the nearer end of its owner's land in the same row."""
    height, width = seen.shape
    column = np.arange(width, dtype=np.int16)
    is_end = np.ones((height, width + 1), np.bool_)
    np.not_equal(seen[:, 1:], seen[:, :-1], out=is_end[:, 1:-1])
    first = np.maximum.accumulate(np.where(is_end[:, :-1], column, np.int16(0)), axis=1)
    last = np.where(is_end[:, 1:], column, np.int16(width))
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(column - first, last - column).astype(np.float32) + np.float32(0.5)


def _round_about(across: Rooms, along: Rooms) -> Rooms:
    """Return the least of ``across`` in the rows near by, as far as the land reaches: letters are high."""
    least = across.copy()
    for distance in (1, 2, 3, 4):
        # Where the land does not reach that far, a row that may be another owner's does not count.
        beyond = (along <= 2 * distance) * np.float32(4 * _LOOKED_AT)
        np.minimum(least[distance:], across[:-distance] + beyond[distance:], out=least[distance:])
        np.minimum(least[:-distance], across[distance:] + beyond[:-distance], out=least[:-distance])
    return least


def _best(seen: Owners, room: Rooms) -> Ints:
    """Return (256,) the cell of most room and not far from the middle for each owner code, -1 for none."""
    codes = seen.ravel()
    cells = np.maximum(np.bincount(codes, minlength=256), 1)
    distance = np.zeros(seen.shape, np.float32)
    for place in np.indices(seen.shape, np.float32):
        middle = np.bincount(codes, place.ravel(), minlength=256) / cells
        distance += np.abs(place - middle.astype(np.float32)[seen])
    worth = np.rint(256 * (room - _PULL * distance)).astype(np.int64).ravel()
    # The cell is written into the low bits of its worth, so that the largest number names it.
    bits = codes.size.bit_length()
    best = np.full(256, np.iinfo(np.int64).min)
    np.maximum.at(best, codes, (worth << bits) + np.arange(codes.size))
    return np.where(best == best.dtype.type(np.iinfo(np.int64).min), -1, best & (1 << bits) - 1)


def _stay(seen: Owners, room: Rooms, best: Ints, last: Places, step: int) -> Ints:
    """Return ``best``, or the cell of ``last`` where that still belongs to the same and has enough room."""
    row, column = np.maximum(last.row, 0) // step, last.column // step
    is_same = (last.row >= 0) & (seen[row, column] == np.arange(len(best)))
    stays = is_same & (room[row, column] >= _STAYS * room.ravel()[best])
    return np.where(stays, row * seen.shape[1] + column, best)


# ---- what ------------------------------------------------------------------------------------------


def draw_labels(
    image: Image,
    places: Places,
    scale: int,
    colors: Colors,
    troops: Ints,
    names: Sequence[str] | None = None,
    teams: Sequence[int] | None = None,
) -> None:
    """Write seats with their troops on the picture of a board, at ``places``, as large as fits.

    ``colors`` (P, 3) are those of seats 1..P, ``troops`` (P,). With ``teams``, the team 1..N of each seat,
    that stands before the number, as in "T2 5". Where there is room for it the name stands beside the
    number. Where there is not even room for the number, it stands below the land, with a rim.
    """
    inks = [_BLACK if light else _WHITE for light in is_light(colors).tolist()]
    rows = zip(*(part[1:].tolist() for part in places), troops.tolist(), inks, strict=True)
    for seat, (row, column, across, along, balance, ink) in enumerate(rows, start=1):
        if row < 0:
            continue
        name = "" if names is None else names[seat - 1]
        number = str(seat) if teams is None else f"T{teams[seat - 1]} {seat}"
        lines, size = _wording(number, name, short(balance), across * scale, along * scale)
        middle = int((row + 0.5) * scale), int((column + 0.5) * scale)
        if size > 0:
            _write(image, *middle, lines, ink, size)
        else:
            _write_below(image, *middle, int(along * scale), lines)


def _write_below(image: Image, row: int, column: int, along: int, lines: tuple[str, ...]) -> None:
    """Write small letters that can be read on whatever is there: below the land, or above it."""
    half = capital_height(SMALLEST) // 2
    away = along + half + 3
    row += away if row + away + half < image.shape[0] else -away
    for down, right in RIM:
        _write(image, row + down, column + right, lines, _WHITE, SMALLEST)
    _write(image, row, column, lines, _BLACK, SMALLEST)


def _wording(number: str, name: str, troops: str, across: float, along: float) -> tuple[tuple[str, ...], int]:
    """Return the lines of a label and the size of its letters, 0 if nothing fits."""
    sizes = list(SIZES)
    for lines in ((f"{number}  {name}".rstrip(), troops), (number, troops), (number,)):
        # The corners of the text may leave the lozenge that the room to four sides spans by a fifth.
        width = max(text_width(line, SIZES[0]) for line in lines) / SIZES[0]  # in sizes of the letters
        height = _LINE * len(lines)
        most = 2.4 / (width / across + height / along)
        if most >= SMALLEST:
            return lines, next(size for size in sizes if size <= most)
        sizes = [SMALLEST]  # what is left out of a label does not make it larger than others
    return lines, 0


def _write(image: Image, row: int, column: int, lines: tuple[str, ...], ink: Color, size: int) -> None:
    """Write ``lines`` with their middle at a pixel."""
    pitch = round(_LINE * size)
    first = row + (capital_height(size) - pitch * (len(lines) - 1)) // 2
    for i, line in enumerate(lines):
        draw_text(image, first + i * pitch, column, line, ink, size, "middle")
