"""Text on pictures, in the font of Pillow, and the labels on the land of seats.

A label stands where there is most room for it, near the middle of its owner's land, and stays there
until another place is much better: in an animation it does not tremble. Its size follows the room.
Pillow is loaded with the first picture, so that ``import territorial`` stays quick.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from territorial.render.board import Colors, Image, Owners, is_light
from territorial.render.figures import short
from territorial.typing import Ints

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont


# ---- text --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _font(size: int) -> "FreeTypeFont":
    """Return Aileron, the font that is part of Pillow: pictures need no font file of the system."""
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


SMALLEST = 11
"""Pixels: the least size at which all letters can be told apart."""
FULL = 3
"""Coverage of a pixel that is all ink.

Letters look smooth with thirds, and a picture of 32 seats has fewer than 256 colours: files stay small.
"""

Mask = npt.NDArray[np.uint8]
Color = tuple[int, int, int]
Align = Literal["left", "middle", "right"]


def draw_text(
    image: Image, baseline: int, column: int, text: str, color: Color, size: int, align: Align = "left"
) -> None:
    """Write ``text`` over (h, w, 3) ``image``; edges cut it off.

    Args:
        image: uint8, changed in place.
        baseline: the row on which letters stand.
        column: where the text begins, has its middle or ends, as ``align`` says.
        text: one line.
        color: of the ink, RGB.
        size: of the font in pixels: capitals are 0.7 of it high.
        align: "left", "middle" or "right".

    """
    if not text:
        return
    first, bare, ink = _ink(text, size, color)
    height, width, _ = ink.shape
    before = 0 if align == "left" else text_width(text, size) // (2 if align == "middle" else 1)
    top, left = baseline - size + first, column - before - _margin(size)
    area = image[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    if area.shape != ink.shape:
        down, right = max(-top, 0), max(-left, 0)
        part = np.s_[down : down + area.shape[0], right : right + area.shape[1]]
        bare, ink = bare[part], ink[part]
    mixed = np.multiply(area, bare, dtype=np.uint16)
    mixed += ink
    mixed //= FULL
    area[:] = mixed


@lru_cache(maxsize=2**10)
def _ink(text: str, size: int, color: Color) -> tuple[int, Mask, npt.NDArray[np.uint16]]:
    """Return a text in a colour, from the first of the rows of its mask that is not empty to the last.

    With the number of that row, (h, w, 3) each: how much of what is below shows through, and how much colour
    is added.
    """
    mask = text_mask(text, size)
    rows = np.flatnonzero(mask.any(axis=1))
    top, bottom = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    covered = mask[top:bottom, :, None]
    return top, (FULL - covered).repeat(3, axis=2), covered.astype(np.uint16) * np.array(color, np.uint16)


@lru_cache(maxsize=2**12)
def text_width(text: str, size: int) -> int:
    """Return how many columns ``text`` takes."""
    return sum(_glyph(character, size)[1] for character in text)


def capital_height(size: int) -> int:
    """Return how many rows a capital or a digit takes above the baseline."""
    return round(0.7 * size)


@lru_cache(maxsize=2**10)
def fitting(text: str, size: int, width: int) -> str:
    """Return as much of the beginning of ``text`` as ``width`` columns hold."""
    length = len(text)
    while text_width(text[:length], size) > width:
        length -= 1
    return text[:length]


def text_mask(text: str, size: int) -> Mask:
    """Return how much of each pixel the ink of ``text`` covers, 0 to FULL; the baseline is row ``size``.

    The text begins a few columns from the left edge: some letters stand out of their place. They are put
    side by side here because Pillow takes as long for each letter as this takes for a whole number. The font
    has no kerning, so that the text is the same.
    """
    margin = _margin(size)
    mask = np.zeros((_height(size), text_width(text, size) + 2 * margin), np.uint8)
    left = 0
    for character in text:
        letter, advance = _glyph(character, size)
        area = mask[:, left : left + letter.shape[1]]
        np.maximum(area, letter, out=area)
        left += advance
    return mask


@lru_cache(maxsize=2**11)
def _glyph(character: str, size: int) -> tuple[Mask, int]:
    """Return the mask of a letter on the baseline, row ``size``, and its width; boxes for unknown ones."""
    from PIL import Image as Pictures
    from PIL.ImageDraw import Draw

    letter = normalize("NFD", character)[0]  # without accents, which the font lacks
    font, margin = _font(size), _margin(size)
    advance = round(font.getlength(letter))
    cell = Pictures.new("L", (advance + 2 * margin, _height(size)))
    Draw(cell).text((margin, size), letter, fill=255, font=font, anchor="ls")
    thirds = (np.asarray(cell).astype(np.uint16) * FULL + 127) // 255
    return thirds.astype(np.uint8), advance


def _height(size: int) -> int:
    return size + -(-size // 3)


def _margin(size: int) -> int:
    return 1 + size // 8


SIZES = (36, 28, 22, 17, 14, SMALLEST)
"""Of letters, in pixels: few, so that a label does not change its own with every picture."""
# Cells a side that are looked at to find places: of larger boards every second, third ... one.
_LOOKED_AT = 128
# A label stays while its place has this share of the best one's room.
_STAYS = 0.75
# Room that a place is worth less for every cell between it and the middle of the land.
_PULL = 0.1
# From one line of a label to the next, in sizes of its letters.
_LINE = 1.1
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
