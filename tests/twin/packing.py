"""The boards of an observation, packed from their format alone: one cell and one bit after the other."""

from collections.abc import Sequence
from itertools import pairwise

from territorial.constants import BLOCKED
from territorial.observation.layout import NEW_GAME, NOT_LISTED, ObsLayout

# Owner codes of all cells, H rows of W: 0 neutral, 1..P, 255 blocked; a list of lists or an array.
Board = Sequence[Sequence[int]]


def pack_planes(layout: ObsLayout, history: Sequence[Board]) -> bytes:
    """Return ``planes`` of one game, (F, B, H, ceil(W/8)) bytes in this order, last index fastest.

    ``history`` holds the boards of all observations of the game so far, one at least, the newest last;
    only the last F count. Raises ValueError for boards that do not fit the layout.
    """
    newest_first = list(reversed(_some(history)))[: layout.frames]
    frames = [_bit_planes(layout, _codes(layout, board), layout.num_planes) for board in newest_first]
    unchanged = bytes(len(frames[0])) if frames else b""
    entries = frames[:1] + [_xor(newer, older) for newer, older in pairwise(frames)]
    # Before the first step of a game nothing has changed.
    entries += [unchanged] * (layout.frames - len(entries))
    return b"".join(entries)


def pack_delta(layout: ObsLayout, history: Sequence[Board]) -> tuple[int, list[tuple[int, int]]]:
    """Return ``delta_count``, and (``delta_index``, ``delta_code``) of the cells that are listed, by index.

    Listed are all cells that the last step changed; none where the game is new and where they are more
    than the delta has room for. ``history``: as for :func:`pack_planes`.
    """
    newest = _codes(layout, _some(history)[-1])
    if len(history) == 1:
        return NEW_GAME, []
    before = _codes(layout, history[-2])
    changed = [
        (r * layout.width + c, newest[r][c])
        for r in range(layout.height)
        for c in range(layout.width)
        if newest[r][c] != before[r][c]
    ]
    (capacity,) = layout.shape("delta_index")
    return (len(changed), changed) if len(changed) <= capacity else (NOT_LISTED, [])


def pack_terrain(layout: ObsLayout, board: Board, *, is_water: bool) -> bytes:
    """Return ``terrain`` of one game, (2, H, ceil(W/8)) bytes; ``is_water``: blocked cells are water.

    Any board of the game will do, as blocked cells stay the same.
    """
    codes = _codes(layout, board)
    blocked = [[int(code == layout.blocked_code) for code in row] for row in codes]
    water = [[int(is_water) * bit for bit in row] for row in blocked]
    return _bit_planes(layout, blocked, 1) + _bit_planes(layout, water, 1)


def _codes(layout: ObsLayout, board: Board) -> list[list[int]]:
    """The codes as packed: blocked cells are P + 1."""
    rows = [[int(code) for code in row] for row in board]
    if len(rows) != layout.height or any(len(row) != layout.width for row in rows):
        widths = sorted({len(row) for row in rows})
        raise ValueError(
            f"the board has {len(rows)} rows of {widths} cells; the layout has {layout.height} rows of "
            f"{layout.width}"
        )
    for r, row in enumerate(rows):
        for c, code in enumerate(row):
            if code != BLOCKED and not 0 <= code <= layout.num_players:
                raise ValueError(
                    f"the board has the code {code} at row {r}, column {c}; codes are 0 to "
                    f"{layout.num_players}, and {BLOCKED} for blocked cells"
                )
    return [[layout.blocked_code if code == BLOCKED else code for code in row] for row in rows]


def _bit_planes(layout: ObsLayout, codes: list[list[int]], num_planes: int) -> bytes:
    """Plane by plane, the lowest bit first, row by row: column c in bit c % 8 of byte c // 8."""
    packed = bytearray()
    for plane in range(num_planes):
        for row in codes:
            line = [0] * layout.row_bytes
            for c, code in enumerate(row):
                bit = code >> plane & 1
                line[c // 8] |= bit << c % 8
            packed += bytes(line)
    return bytes(packed)


def _xor(newer: bytes, older: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(newer, older, strict=True))


def _some(history: Sequence[Board]) -> Sequence[Board]:
    if len(history) == 0:
        raise ValueError("the history is empty; it must begin with the board of the game's first observation")
    return history
