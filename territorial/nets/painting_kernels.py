"""Squares of boards as an ``EncodeOncePolicy`` reads them, on the processor: shares, and their painting."""

from __future__ import annotations

from typing import Any

from territorial.jit.decorators import kernel


@kernel
def count_cells(codes: Any, side: int, edge: int, counts: Any) -> None:
    """Add up how many cells of every square each owner code has.

    Args:
        codes: uint8 (N, rows, columns), owner codes up to ``edge``.
        side: cells a side of a square; what of a square lies beyond the board is counted as ``edge``.
        edge: the code of what is blocked.
        counts: float32 (N, codes, squares down, squares across), of zeros; written.

    """
    count, rows, columns = codes.shape
    down, across = counts.shape[2], counts.shape[3]
    for n in range(count):
        for r in range(rows):
            i = r // side
            for j in range(across):
                end = min((j + 1) * side, columns)
                c = j * side
                while c < end:  # neighbours mostly have one owner
                    code, first = codes[n, r, c], c
                    while c < end and codes[n, r, c] == code:
                        c += 1
                    counts[n, code, i, j] += c - first
        for i in range(down):
            inside = min(side, rows - i * side)
            for j in range(across):
                counts[n, edge, i, j] += side * side - inside * min(side, columns - j * side)


@kernel
def paint(shares: Any, games: Any, colours: Any, painting: Any) -> None:
    """Paint games in the colours of owners, each square in the mixture of those who share it.

    Args:
        shares: float32 (E, F, O, S), of every owner in every square.
        games: int64 (G,), which of the E each painting is of.
        colours: float32 (G, O, C), of every owner.
        painting: float32 (G, S, F, C), of zeros; written.

    """
    _, frames, owners, squares = shares.shape
    channels = colours.shape[2]
    for g in range(len(games)):
        e = games[g]
        for f in range(frames):
            for o in range(owners):
                for s in range(squares):
                    share = shares[e, f, o, s]
                    if share != 0:
                        for c in range(channels):
                            painting[g, s, f, c] += share * colours[g, o, c]
