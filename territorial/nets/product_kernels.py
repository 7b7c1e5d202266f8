"""Linear layers of several networks on the processor, each on the few rows that are its own.

PyTorch takes as long to begin a product as twenty rows of a small network take. Here one call does those of
all networks. Weights are read where they lie: sixteen outputs at a time are turned, so that they lie side by
side, and then multiply all rows of their network, while those that are next come into the caches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.jit.decorators import kernel, njit, routine
from territorial.jit.products import (
    FLOAT_BYTES,
    LINE,
    SIXTEEN,
    add_float_products,
    address_of,
    float_at,
    put_float,
    put_sums,
    sums_at,
    turn_outputs,
)

ZERO = np.float32(0)
SIX, THREE = 6, 3
"""Rows that are computed together: AVX2 has no registers for the sums of more."""


@kernel
def write_products(
    rows: Any, counts: Any, weights: Any, biases: Any, turned: Any, scratch: Any, out: Any
) -> None:
    """Write what the linear layers of networks make of rows; those of a network lie together.

    A sum is its bias and then its products in the order of the inputs, so that no row depends on others.

    Args:
        rows: float32 (N, K).
        counts: int64 (G,), how many rows each network has; N together.
        weights: int64 (G,), the addresses of the weights of each, float32 (J, K).
        biases: int64 (G,), the addresses of its biases, float32 (J,); 0 where it has none.
        turned: float32 (K, 16), scratch.
        scratch: float32 (7, 16), scratch.
        out: float32 (N, J), written.

    """
    inputs, outputs = rows.shape[1], out.shape[1]
    step, start = inputs * FLOAT_BYTES, address_of(scratch)
    read, to, at = address_of(rows), address_of(out), address_of(turned)
    for g in range(len(counts)):
        after = weights[min(g + 1, len(counts) - 1)]
        for first in range(0, outputs, SIXTEEN):
            source, there = weights[g] + first * step, min(outputs - first, SIXTEEN)
            turn_outputs(source, step, there, inputs, at, LINE)
            begin(biases[g], first, there, start)
            to_first = to + first * FLOAT_BYTES
            ahead = (source + SIXTEEN * step if first + SIXTEEN < outputs else after) - at
            if there == SIXTEEN:
                sixteen_outputs(read, counts[g], inputs, start, at, to_first, outputs * FLOAT_BYTES, ahead)
            else:
                fewer_outputs(read, counts[g], inputs, start, at, to_first, outputs, there)
        read, to = read + counts[g] * step, to + counts[g] * outputs * FLOAT_BYTES


@njit
def begin(biases: int, first: int, there: int, to: int) -> None:
    """Write what the sums of sixteen outputs begin with."""
    for j in range(SIXTEEN):
        is_there = biases != 0 and j < there
        put_float(to + j * FLOAT_BYTES, float_at(biases + (first + j) * FLOAT_BYTES) if is_there else ZERO)


@routine
def sixteen_outputs(
    rows: int, count: int, inputs: int, start: int, weights: int, to: int, step: int, ahead: int
) -> None:
    """Write sixteen outputs of rows; ``step``: bytes from those of one row to those of the next.

    ``ahead``: how many bytes behind ``weights`` those lie that are next.
    """
    given = inputs * FLOAT_BYTES
    while count >= SIX:
        for r in range(SIX):
            put_sums(to + r * step, sums_at(start))
        add_float_products(SIX, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + SIX * given, to + SIX * step, count - SIX
    if count >= THREE:
        for r in range(THREE):
            put_sums(to + r * step, sums_at(start))
        add_float_products(THREE, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + THREE * given, to + THREE * step, count - THREE
    while count > 0:
        put_sums(to, sums_at(start))
        add_float_products(1, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + given, to + step, count - 1


@njit
def fewer_outputs(
    rows: int, count: int, inputs: int, start: int, weights: int, to: int, outputs: int, there: int
) -> None:
    """Write the last outputs of rows, ``there`` of ``outputs``, fewer than sixteen."""
    sums = start + LINE
    while count > 0:
        some = min(count, SIX)
        sixteen_outputs(rows, some, inputs, start, weights, sums, LINE, 0)
        for r in range(some):
            for j in range(there):
                put_float(to + (r * outputs + j) * FLOAT_BYTES, float_at(sums + r * LINE + j * FLOAT_BYTES))
        rows, to = rows + some * inputs * FLOAT_BYTES, to + some * outputs * FLOAT_BYTES
        count -= some
