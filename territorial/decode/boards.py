"""Unpacking the boards of a batch: which games are needed, room for them, a call of a kernel a chunk.

Nothing is checked here. Results are written as the bits of their numbers, whatever library they are of:
``out`` is C-contiguous and, unless it says otherwise, of unsigned integers as wide as the real type.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.decode import kernels
from territorial.observation.layout import ObsLayout
from territorial.typing import Array, Ints


class Entries(NamedTuple):
    """What is to be decoded: entry n is what seat ``seats[n]``, 1..P, sees of game ``games[n]``."""

    seats: Ints  # (N,)
    games: Ints  # (N,)


class Fields(NamedTuple):
    """What the semantic planes show besides owners, by owner code 0..P+1."""

    levels: Ints  # (E, P+2): densities in 255ths of the hard cap
    attacked: npt.NDArray[np.bool_]  # (N, P+2): whether the entry's seat has troops in the field against them
    allied: npt.NDArray[np.bool_]  # (N, P+2): whether they are allies of the entry's seat


def write_owners(layout: ObsLayout, planes: Array, entries: Entries, chunk: int, out: Array) -> None:
    """Fill ``out``, uint8 (N, F, H, W), with ego codes."""
    boards = kernels.make_boards(layout)
    for part, _, packed, which in _chunks(planes, entries, chunk):
        kernels.write_owners(packed, which, entries.seats[part], boards, out[part])


def write_onehot(
    layout: ObsLayout, planes: Array, entries: Entries, chunk: int, one: Array, out: Array
) -> None:
    """Fill ``out``, (N, F * (P+1), H, W), which holds zeros, with one-hot planes; ``one``: its bits, ()."""
    boards, zero = kernels.make_boards(layout), np.zeros_like(one)
    for part, _, packed, which in _chunks(planes, entries, chunk):
        kernels.write_onehot(packed, which, entries.seats[part], boards, one[()], zero[()], out[part])


def clear(out: Array) -> None:
    """Fill ``out`` with zeros: as bytes, for which there is the processor's own fastest way."""
    out.view(np.uint8).fill(0)


def write_semantic(
    layout: ObsLayout,
    planes: Array,
    entries: Entries,
    fields: Fields,
    chunk: int,
    values: Array,
    out: Array,
) -> None:
    """Fill ``out``, (N, S * F + 2, H, W), with semantic planes; ``values``: bits of the 256 densities."""
    boards, zero, one = kernels.make_boards(layout), values[0], values[-1]
    densities = values[fields.levels]
    for part, needed, packed, which in _chunks(planes, entries, chunk):
        kernels.write_semantic(
            packed,
            which,
            entries.seats[part],
            boards,
            one,
            zero,
            densities[needed],
            fields.attacked[part],
            fields.allied[part],
            out[part],
        )


def write_pooled(
    layout: ObsLayout,
    planes: Array,
    entries: Entries,
    fields: Fields,
    chunk: int,
    factor: int,
    out: npt.NDArray[np.float32],
) -> None:
    """Fill ``out``, float32 (N, S * F + 2, ceil(H/factor), ceil(W/factor)), with means over squares."""
    boards = kernels.make_boards(layout)
    counts = np.empty((out.shape[3], layout.num_players + 2), np.int64)
    densities = np.empty(out.shape[3], np.int64)
    for part, needed, packed, which in _chunks(planes, entries, chunk):
        kernels.write_pooled(
            packed,
            which,
            entries.seats[part],
            boards,
            layout.width,
            factor,
            fields.levels[needed],
            fields.attacked[part],
            fields.allied[part],
            counts,
            densities,
            out[part],
        )


def _chunks(planes: Array, entries: Entries, chunk: int) -> Iterator[tuple[slice, Ints, Array, Ints]]:
    """Yield part by part: its entries, the games they need, those games' planes, and which is whose."""
    for start in range(0, len(entries.seats), chunk):
        part = slice(start, start + chunk)
        needed, which = np.unique(entries.games[part], return_inverse=True)
        yield part, needed, np.ascontiguousarray(planes[needed]), which
