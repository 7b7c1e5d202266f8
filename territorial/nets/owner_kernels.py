"""``OwnerConv2d`` and its gradient on the processor: one pass over the codes, one row of weights a code."""

from __future__ import annotations

from typing import Any

from territorial.jit.decorators import kernel


@kernel
def add_weights(sums: Any, codes: Any, table: Any, down: int, across: int) -> None:
    """Add the weights that its cells look up to every output cell.

    Args:
        sums: float32 or float64 (N, output rows, output columns, channels), added to.
        codes: uint8 (N, F, rows, columns).
        table: of the same type (F, kernel rows, kernel columns, codes, channels).
        down: the stride between rows.
        across: the stride between columns.

    """
    frames, kernel_rows, kernel_columns, _, channels = table.shape
    for n in range(sums.shape[0]):
        for f in range(frames):
            for i in range(sums.shape[1]):
                for r in range(kernel_rows):
                    for j in range(sums.shape[2]):
                        for c in range(kernel_columns):
                            code = codes[n, f, i * down + r, j * across + c]
                            for k in range(channels):
                                sums[n, i, j, k] += table[f, r, c, code, k]


@kernel
def add_gradients(total: Any, codes: Any, gradients: Any, down: int, across: int) -> None:
    """Add every output cell's gradient to the weights that its cells looked up.

    Args:
        total: float32 (F, kernel rows, kernel columns, codes, channels), added to.
        codes: uint8 (N, F, rows, columns).
        gradients: float32 (N, output rows, output columns, channels).
        down: the stride between rows.
        across: the stride between columns.

    """
    frames, kernel_rows, kernel_columns, _, channels = total.shape
    for n in range(gradients.shape[0]):
        for f in range(frames):
            for i in range(gradients.shape[1]):
                for r in range(kernel_rows):
                    for j in range(gradients.shape[2]):
                        for c in range(kernel_columns):
                            code = codes[n, f, i * down + r, j * across + c]
                            for k in range(channels):
                                total[f, r, c, code, k] += gradients[n, i, j, k]
