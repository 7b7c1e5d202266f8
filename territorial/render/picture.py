"""Pictures of a board and its standings as arrays, and PNG files of them."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.constants import NEUTRAL
from territorial.render.font import ADVANCE, GLYPH_HEIGHT, text_mask
from territorial.render.palette import Colors, Terrain, owner_colors, player_colors

Owners = npt.NDArray[np.uint8]
Image = npt.NDArray[np.uint8]

_PANEL = (24, 28, 36)
_TEXT = (226, 228, 232)
_FAINT = (120, 126, 136)
_NAME_LENGTH = 10
_TITLE_LENGTH = 2 + _NAME_LENGTH  # stands above colour and name
_PANEL_CHARACTERS = 1 + _TITLE_LENGTH + 7 + 8 + 1


def render_board(owner: Owners, num_players: int, scale: int = 3, terrain: Terrain = "water") -> Image:
    """Return the (H * scale, W * scale, 3) uint8 RGB picture of (H, W) uint8 owner codes.

    Every cell is a square of ``scale`` pixels. The sides of cells are darker where the owner
    changes, those of neutral land excepted. ``terrain`` says what blocked cells are: "water" or
    "mountains". Raises ValueError for arguments out of range.
    """
    if owner.ndim != 2 or owner.dtype != np.uint8:
        raise ValueError(f"owner is a {owner.dtype} array of shape {owner.shape}; it must be uint8, (H, W)")
    if scale < 1:
        raise ValueError(f"scale is {scale}; it must be at least 1")
    colors = owner_colors(num_players, terrain)
    height, width = owner.shape
    image: Image = colors[owner].repeat(scale, axis=0).repeat(scale, axis=1)
    dark = (colors.astype(np.uint16) * 9 // 16).astype(np.uint8)
    pixels = image.reshape(height, scale, width, scale, 3)
    _draw_borders_between_rows(pixels, owner, dark)
    _draw_borders_between_rows(pixels.transpose(2, 3, 0, 1, 4), owner.T, dark)
    return image


def _draw_borders_between_rows(pixels: Image, owner: Owners, dark: Colors) -> None:
    """Darken the pixels (row, y, column, x, rgb) along the sides where two rows differ in owner.

    Neutral land keeps its colour: a border with it is a single line, one between players double.
    """
    is_border = owner[1:] != owner[:-1]
    above, below = owner[:-1], owner[1:]
    draw_above, draw_below = is_border & (above != NEUTRAL), is_border & (below != NEUTRAL)
    for y in range(max(1, pixels.shape[1] // 4)):
        pixels[:-1, -1 - y][draw_above] = dark[above[draw_above]][:, None]
        pixels[1:, y][draw_below] = dark[below[draw_below]][:, None]


def standings_panel(
    height: int,
    land: npt.NDArray[np.int64],
    troops: npt.NDArray[np.int64],
    num_land: int,
    *,
    title: str = "",
    names: Sequence[str] | None = None,
    size: int = 2,
) -> Image:
    """Return a (height, 174 * size, 3) uint8 picture of the standings, the leader on top.

    ``land`` and ``troops`` hold the (P,) cells and balances of seats 1..P, ``num_land`` the land
    cells of the map. Each line shows a seat's colour, its name ("P7" unless ``names`` are given),
    its share of the land and its troops; seats without land are faint. Lines that do not fit below
    are left out. Put it beside a board with :func:`beside`.
    """
    if land.shape != troops.shape or (names is not None and len(names) != len(land)):
        raise ValueError(
            f"land has shape {land.shape} and troops {troops.shape}; they, and names if given, "
            "must have one entry for each seat"
        )
    panel = np.full((height, _PANEL_CHARACTERS * ADVANCE * size, 3), _PANEL, np.uint8)
    row_height = (GLYPH_HEIGHT + 3) * size
    left = ADVANCE * size
    header = f"{title[:_TITLE_LENGTH]:{_TITLE_LENGTH}}{'LAND':>7}{'TROOPS':>8}"
    _draw_text(panel, row_height // 2, left, header, _FAINT, size)
    colors = player_colors(len(land))
    for line, seat in enumerate(np.lexsort((-troops, -land)), start=2):
        top = line * row_height
        if top + row_height > height:
            break
        name = names[seat] if names is not None else f"P{seat + 1}"
        share = _percent(int(land[seat]), num_land)
        text = f"  {name[:_NAME_LENGTH]:{_NAME_LENGTH}}{share:>7}{_short(int(troops[seat])):>8}"
        ink = GLYPH_HEIGHT * size
        panel[top : top + ink, left : left + ink] = colors[seat]
        _draw_text(panel, top, left, text, _TEXT if land[seat] > 0 else _FAINT, size)
    return panel


def beside(left: Image, right: Image) -> Image:
    """Return two pictures next to each other, the lower one continued in the panel's colour."""
    height = max(left.shape[0], right.shape[0])
    image = np.full((height, left.shape[1] + right.shape[1], 3), _PANEL, np.uint8)
    image[: left.shape[0], : left.shape[1]] = left
    image[: right.shape[0], left.shape[1] :] = right
    return image


def _draw_text(image: Image, top: int, left: int, text: str, color: tuple[int, int, int], size: int) -> None:
    """Write ``text`` over ``image``, cut off at its edges."""
    area = image[top:, left:]
    ink = text_mask(text, size)[: area.shape[0], : area.shape[1]]
    area[: ink.shape[0], : ink.shape[1]][ink] = color


def _percent(part: int, whole: int) -> str:
    """A share such as 12.3%, rounded down so that 100.0% is the whole."""
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10}%"


def _short(number: int) -> str:
    """A number in at most seven characters up to a thousand millions: 9999, 10.0K, 1.23M."""
    if number < 10_000:
        return str(number)
    if number < 1_000_000:
        return f"{number // 1000}.{number // 100 % 10}K"
    return f"{number // 1_000_000}.{number // 10_000 % 100:02}M"


def write_png(path: str | os.PathLike[str], rgb: Image) -> None:
    """Write an (H, W, 3) uint8 RGB picture to ``path`` as an 8-bit PNG file."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise ValueError(f"a picture is a uint8 array of shape (H, W, 3); got {rgb.dtype}, {rgb.shape}")
    height, width, _ = rgb.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # every line begins with 0, "no filter"
    lines[:, 1:] = rgb.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(lines.tobytes(), 6)),
            (b"IEND", b""),
        ):
            file.write(struct.pack(">I", len(data)) + kind + data)
            file.write(struct.pack(">I", zlib.crc32(kind + data)))
