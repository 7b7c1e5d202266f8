"""Board decoding on the processor, from packed bits to each form.

Owner codes lie one to a byte in rows padded to whole bytes of the bit planes, so that eight cells are
unpacked at a time, as one word. Codes above P + 1, which no engine writes, count as blocked.

Nothing is checked here. Results are written as the bits of their numbers, whatever library and type they are
of, as numba knows no float16: ``out`` is C-contiguous and, unless it says otherwise, of unsigned integers as
wide as the real type.

Arguments that all kernels share: ``planes`` is uint8 (E, F, B, H, ceil(W/8)), read-only; entry n decodes
``planes[games[n]]`` for seat ``seats[n]``, 1..P. ``order`` has the numbers of the entries, those of a game
one behind the other, so that it is unpacked once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from territorial.constants import NEUTRAL, TARGET_NEUTRAL
from territorial.jit.decorators import ONE, ZERO, kernel, lowest_bit, njit
from territorial.observation.action_encoding import target_of_owner
from territorial.observation.action_masks import read_only
from territorial.observation.layout import BORDERS, PLAYERS, ObsLayout, columns, index
from territorial.typing import Array, Bytes, Floats32, Ints, Words

TOP_LEVEL = 255
"""Densities of the semantic planes are whole 255ths of the hard cap."""
BLOCK = 64
"""Cells of a row that are looked at together; only blocks in which an owner is present are expanded."""
Shape = tuple[int, int, int]
DENSITY = index(PLAYERS, "density")
POOL = index(BORDERS, "pool")
ALLY = index(columns("borders", teams=True), "ally")
"""Columns of which the semantic planes are made."""


def owners_shape(layout: ObsLayout) -> Shape:
    """Return (F, H, W)."""
    return layout.frames, layout.height, layout.width


def onehot_shape(layout: ObsLayout) -> Shape:
    """Return (F * (P+1), H, W): a plane for each owner of each frame."""
    return layout.frames * (layout.num_players + 1), layout.height, layout.width


def num_kinds(layout: ObsLayout) -> int:
    """Return S, the semantic planes of a frame: own, neutral, others', blocked; with teams also allies'."""
    return 5 if layout.teams else 4


def semantic_shape(layout: ObsLayout) -> Shape:
    """Return (S * F + 2, H, W): four planes per frame, with teams five; density; attacked owners."""
    return num_kinds(layout) * layout.frames + 2, layout.height, layout.width


def pooled_shape(layout: ObsLayout, factor: int) -> Shape:
    """Return (S * F + 2, ceil(H/factor), ceil(W/factor)): the semantic planes in squares."""
    channels, height, width = semantic_shape(layout)
    return channels, -(-height // factor), -(-width // factor)


def density_thresholds(hard_cap: int) -> Floats32:
    """Return float32 (255,): the least densities of the levels 1..255.

    A density reaches level k where it is at least k/255 of the cap. Comparing with the least float32 of
    which that holds is exact on every device, which dividing is not.
    """
    return np.array([_least_float32(Fraction(k * hard_cap, TOP_LEVEL)) for k in range(1, TOP_LEVEL + 1)])


def _least_float32(bound: Fraction) -> np.float32:
    """Return the least float32 that is not below ``bound``."""
    nearest = np.float32(float(bound))
    return nearest if Fraction(float(nearest)) >= bound else np.nextafter(nearest, np.float32(np.inf))


def level_values() -> Floats32:
    """Return float32 (256,): the density, as a share of the hard cap, that each level stands for."""
    return np.arange(TOP_LEVEL + 1, dtype=np.float32) / np.float32(TOP_LEVEL)


# ---- all entries at once --------------------------------------------------------------------------


class Entries(NamedTuple):
    """The entries to decode: entry n is the view of seat ``seats[n]``, 1..P, of game ``games[n]``.

    Arrays or tensors, int64 (N,).
    """

    seats: Any
    games: Any


class Fields(NamedTuple):
    """Values of the semantic planes beside owners, by owner code 0..P+1: arrays or tensors."""

    levels: Any  # int64 (E, P+2): densities in 255ths of the hard cap
    attacked: Any  # bool (N, P+2): whether the entry's seat has troops in the field against them
    allied: Any  # bool (N, P+2): whether they are allies of the entry's seat


def write_owners(layout: ObsLayout, planes: Array, entries: Entries, out: Array) -> None:
    """Fill ``out``, uint8 (N, F, H, W), with ego codes."""
    owners_kernel(*_shared(layout, planes, entries), out)


def write_onehot(layout: ObsLayout, planes: Array, entries: Entries, one: Array, out: Array) -> None:
    """Fill ``out``, (N, F * (P+1), H, W), with one-hot planes; ``one``: its bits, ()."""
    out.view(np.uint8).fill(0)  # as bytes, for which there is the processor's own fastest way
    onehot_kernel(*_shared(layout, planes, entries), one[()], np.zeros_like(one)[()], out)


def write_semantic(
    layout: ObsLayout, planes: Array, entries: Entries, fields: Fields, values: Array, out: Array
) -> None:
    """Fill ``out``, (N, S * F + 2, H, W), with semantic planes; ``values``: bits of the 256 densities."""
    shared, densities = _shared(layout, planes, entries), values[fields.levels]
    semantic_kernel(*shared, values[-1], values[0], densities, fields.attacked, fields.allied, out)


def write_pooled(
    layout: ObsLayout,
    planes: Array,
    entries: Entries,
    fields: Fields,
    factor: int,
    out: Floats32,
) -> None:
    """Fill ``out``, float32 (N, S * F + 2, ceil(H/factor), ceil(W/factor)), with means over squares."""
    counts = np.empty((out.shape[3], layout.num_players + 2), np.int64)
    densities = np.empty(out.shape[3], np.int64)
    shared = _shared(layout, planes, entries)
    pooled_kernel(*shared, layout.width, factor, *fields, counts, densities, out)


def _shared(layout: ObsLayout, planes: Array, entries: Entries) -> tuple[Array, Ints, Ints, Ints, Boards]:
    """Return the arguments that all kernels share."""
    order = np.argsort(entries.games, kind="stable")
    return read_only(planes), order, entries.games, entries.seats, make_boards(layout)


# ---- room for a game -----------------------------------------------------------------------------


class Boards(NamedTuple):
    """Room for the unpacked boards of one game, newest frame first; R = ceil(W/8)."""

    words: Words  # (F, H, R): eight cells each
    codes: Bytes  # (F, H, 8 * R): the same memory cell by cell, owner codes 0..P+1
    present: Words  # (F, P+2, blocks / 64): bit b % 64 of word b // 64: owner is in block b
    spread: Words  # (256,): byte i of word w is bit i of w


def make_boards(layout: ObsLayout) -> Boards:
    """Return room for the boards of one game of ``layout``."""
    words = np.empty((layout.frames, layout.height, layout.row_bytes), np.uint64)
    blocks = layout.height * -(-layout.width // BLOCK)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return Boards(
        words=words,
        codes=words.view(np.uint8),
        present=np.empty((layout.frames, layout.num_players + 2, -(-blocks // 64)), np.uint64),
        spread=bits.view(np.uint64)[:, 0].copy(),
    )


# ---- one game ------------------------------------------------------------------------------------


@njit
def unpack(packed: Any, boards: Boards) -> None:
    """Fill ``words`` and so ``codes`` with the boards of a game; ``packed``: uint8 (F, B, H, R)."""
    words, spread = boards.words, boards.spread
    for f in range(packed.shape[0]):
        for r in range(packed.shape[2]):
            for j in range(packed.shape[3]):
                # Each frame but the newest is packed as what changed after it.
                word = words[f - 1, r, j] if f > 0 else ZERO
                for b in range(packed.shape[1]):
                    word ^= spread[packed[f, b, r, j]] << np.uint64(b)
                words[f, r, j] = word


@njit
def find_present(boards: Boards) -> None:
    """Fill ``present`` from ``words`` and ``codes``."""
    words, codes, present = boards.words, boards.codes, boards.present
    blocked = present.shape[1] - 1
    present[:] = ZERO
    per_row = -(-words.shape[2] // 8)
    for f in range(words.shape[0]):
        for r in range(words.shape[1]):
            for j in range(words.shape[2]):
                # A word like the one before it holds the same owners.
                if j % 8 == 0 or words[f, r, j] != words[f, r, j - 1]:
                    block = r * per_row + j // 8
                    bit = ONE << np.uint64(block % 64)
                    for c in range(8 * j, 8 * j + 8):
                        present[f, min(codes[f, r, c], blocked), block // 64] |= bit


# ---- what an agent sees --------------------------------------------------------------------------


@kernel
def owners_kernel(planes: Any, order: Any, games: Any, seats: Any, boards: Boards, out: Any) -> None:
    """Fill ``out``, uint8 (N, F, H, W), with ego codes, oldest frame first; P + 1 is blocked."""
    blocked, game = np.uint8(boards.present.shape[1] - 1), -1
    for n in order:
        if games[n] != game:
            game = games[n]
            unpack(planes[game], boards)
        ego_codes(boards.codes, np.uint8(seats[n]), blocked, out[n])


@njit
def ego_codes(codes: Any, seat: Any, blocked: Any, out: Any) -> None:
    """Fill ``out``, uint8 (F, H, W), with the codes in the ego order of ``seat``, oldest frame first."""
    to_first = np.uint8(seat - 1)  # from the seat's own code to ego code 1
    to_last = np.uint8(blocked - seat)  # from code 1, the seat after the last one, to its ego code less 1
    for f in range(out.shape[0]):
        row_of_codes = codes[out.shape[0] - 1 - f]
        for r in range(np.uint64(out.shape[1])):
            for c in range(np.uint64(out.shape[2])):
                code = row_of_codes[r, c]
                if code == NEUTRAL or code >= blocked:
                    out[f, r, c] = min(code, blocked)
                elif code >= seat:
                    out[f, r, c] = code - to_first
                else:
                    out[f, r, c] = code + to_last


@kernel
def onehot_kernel(
    planes: Any, order: Any, games: Any, seats: Any, boards: Boards, one: Any, zero: Any, out: Any
) -> None:
    """Set the ones in ``out``, (N, F * (P+1), H, W), which must hold zeros.

    ``one`` and ``zero``: numbers of the type of ``out``, an unsigned integer as wide as the real type.
    """
    num_players, frames, game = boards.present.shape[1] - 2, planes.shape[1], -1
    for n in order:
        if games[n] != game:
            game = games[n]
            unpack(planes[game], boards)
            find_present(boards)
        for f in range(frames):
            first = (frames - 1 - f) * (num_players + 1)
            for owner in range(num_players + 1):
                ego = target_of_owner(owner, seats[n], num_players) - TARGET_NEUTRAL
                set_ones(boards, f, owner, one, zero, out[n, first + ego])


@njit
def set_ones(boards: Boards, f: int, owner: int, one: Any, zero: Any, out: Any) -> None:
    """Fill the blocks of ``out``, (H, W), in which ``owner`` is present: ``one`` on its cells."""
    codes, present = boards.codes, boards.present
    width, block_cells = np.uint64(out.shape[1]), np.uint64(BLOCK)
    per_row = np.uint64(-(-codes.shape[2] // BLOCK))
    code = np.uint8(owner)
    for k in range(present.shape[2]):
        left = present[f, owner, k]
        while left != ZERO:
            block = np.uint64(k * 64 + lowest_bit(left))
            left &= left - ONE
            r = block // per_row
            c = (block - r * per_row) * block_cells
            if c + block_cells <= width:  # a number of cells that the compiler knows: four times as fast
                for i in range(block_cells):
                    out[r, c + i] = one if codes[f, r, c + i] == code else zero
            else:
                for i in range(width - c):
                    out[r, c + i] = one if codes[f, r, c + i] == code else zero


@kernel
def semantic_kernel(
    planes: Any,
    order: Any,
    games: Any,
    seats: Any,
    boards: Boards,
    one: Any,
    zero: Any,
    densities: Any,
    attacked: Any,
    allied: Any,
    out: Any,
) -> None:
    """Fill ``out``, (N, S * F + 2, H, W), with the semantic planes; S is 5 with teams, else 4.

    ``one``, ``zero`` and ``densities``, (E, P+2) by owner code, are of the type of ``out``; ``attacked`` and
    ``allied``: bool (N, P+2), by owner code.
    """
    frames, newest, blocked, game = planes.shape[1], boards.codes[0], boards.present.shape[1] - 1, -1
    kinds = (out.shape[1] - 2) // frames
    for n in order:
        if games[n] != game:
            game = games[n]
            unpack(planes[game], boards)
        for f in range(frames):
            first = kinds * (frames - 1 - f)
            write_kinds(boards, f, np.uint8(seats[n]), one, zero, out[n, first : first + kinds])
            if kinds > ALLIES:
                part_allies(boards, f, allied[n], one, zero, out[n, first : first + kinds])
        for r in range(out.shape[2]):
            for c in range(out.shape[3]):
                code = min(newest[r, c], blocked)
                out[n, kinds * frames, r, c] = densities[game, code]
                out[n, kinds * frames + 1, r, c] = one if attacked[n, code] else zero


OWN, FREE, OTHERS, BLOCKED_CELLS, ALLIES = range(5)
"""The planes of a frame; the last one is there with teams only, and those of others are then enemies."""


@njit
def write_kinds(boards: Boards, f: int, seat: Any, one: Any, zero: Any, out: Any) -> None:
    """Fill ``out``, (S, H, W), but for the allies' plane: own, neutral, others', blocked cells."""
    codes = boards.codes
    neutral, blocked = np.uint8(NEUTRAL), np.uint8(boards.present.shape[1] - 1)
    for r in range(np.uint64(out.shape[1])):
        for c in range(np.uint64(out.shape[2])):
            code = codes[f, r, c]
            out[OWN, r, c] = one if code == seat else zero
            out[FREE, r, c] = one if code == neutral else zero
            out[OTHERS, r, c] = one if code != seat and code != neutral and code < blocked else zero
            out[BLOCKED_CELLS, r, c] = one if code >= blocked else zero


@njit
def part_allies(boards: Boards, f: int, allied: Any, one: Any, zero: Any, out: Any) -> None:
    """Move the cells of allies from the plane of others in ``out``, (5, H, W), to their own."""
    blocked = boards.present.shape[1] - 1
    for r in range(out.shape[1]):
        for c in range(out.shape[2]):
            ally = allied[min(boards.codes[f, r, c], blocked)]
            out[ALLIES, r, c] = one if ally else zero
            if ally:
                out[OTHERS, r, c] = zero


@kernel
def pooled_kernel(
    planes: Any,
    order: Any,
    games: Any,
    seats: Any,
    boards: Boards,
    width: int,
    factor: int,
    levels: Any,
    attacked: Any,
    allied: Any,
    counts: Any,
    densities: Any,
    out: Any,
) -> None:
    """Fill ``out``, float32 (N, S * F + 2, ceil(H/factor), ceil(W/factor)), with means of semantic planes.

    ``levels``: int64 (E, P+2), densities in 255ths; ``attacked`` and ``allied``: bool (N, P+2); all by owner
    code.
    ``counts``: int64 (ceil(W/factor), P+2), and ``densities``: int64 (ceil(W/factor),): room for the cells
    of each owner, and the sums of levels, in a row of squares.
    """
    frames, height, first = planes.shape[1], planes.shape[3], 0
    num_kinds = (out.shape[1] - 2) // frames
    while first < len(order):
        game, end = games[order[first]], first + 1
        while end < len(order) and games[order[end]] == game:
            end += 1
        unpack(planes[game], boards)
        for f in range(frames):
            for y in range(out.shape[2]):
                top, bottom = y * factor, min(height, (y + 1) * factor)
                count_owners(boards.codes[f, top:bottom], width, factor, counts)
                for x in range(out.shape[3] if f == 0 else 0):
                    densities[x] = cells_of(counts[x], levels[game])
                for n in order[first:end]:
                    for x in range(out.shape[3]):
                        cells = (bottom - top) * (min(width, (x + 1) * factor) - x * factor)
                        plane = num_kinds * (frames - 1 - f)
                        kinds = out[n, plane : plane + num_kinds, y, x]
                        of_allies = cells_of(counts[x], allied[n]) if num_kinds > ALLIES else 0
                        pool_kinds(counts[x], seats[n], of_allies, cells, kinds)
                        if f == 0:
                            out[n, num_kinds * frames, y, x] = share(densities[x], TOP_LEVEL * cells)
                            under_attack = cells_of(counts[x], attacked[n])
                            out[n, num_kinds * frames + 1, y, x] = share(under_attack, cells)
        first = end


@njit
def count_owners(codes: Any, width: int, factor: int, counts: Any) -> None:
    """Fill ``counts`` with how many cells each owner has in a row of squares; ``codes``: uint8 (rows, ..)."""
    blocked = counts.shape[1] - 1
    counts[:] = 0
    for r in range(codes.shape[0]):
        for x in range(counts.shape[0]):
            start, end = x * factor, min(width, (x + 1) * factor)
            for c in range(start + 1, end):
                if codes[r, c] != codes[r, c - 1]:  # most neighbours have one owner
                    counts[x, min(codes[r, c - 1], blocked)] += c - start
                    start = c
            counts[x, min(codes[r, end - 1], blocked)] += end - start


@njit
def pool_kinds(counts: Any, seat: int, of_allies: int, cells: int, out: Any) -> None:
    """Fill ``out``, (S,): the shares of own, neutral, others', blocked and allies' cells of a square."""
    own, neutral, blocked = counts[seat], counts[NEUTRAL], counts[len(counts) - 1]
    out[OWN], out[FREE] = share(own, cells), share(neutral, cells)
    out[OTHERS] = share(cells - own - neutral - blocked - of_allies, cells)
    out[BLOCKED_CELLS] = share(blocked, cells)
    if len(out) > ALLIES:
        out[ALLIES] = share(of_allies, cells)


@njit
def cells_of(counts: Any, weights: Any) -> int:
    """Return how many cells of a square belong to some owners, bool (P+2,), or the sum of whole numbers."""
    total = 0
    for owner in range(len(counts)):
        total += counts[owner] * weights[owner]
    return total


@njit
def share(part: int, whole: int) -> Any:
    """Return part / whole: two whole numbers, rounded to float32, and one division."""
    return np.float32(part) / np.float32(whole)
