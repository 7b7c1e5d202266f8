"""What an ``EncodeOncePolicy`` reads, on the processor: squares of boards, and what lies between seats."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from territorial.jit.decorators import ONE, ZERO, kernel, lowest_bit, njit, popcount
from territorial.observation.action_encoding import owner_of_target


@kernel
def list_shares(codes: Any, side: int, edge: int, counts: Any, starts: Any, owners: Any, shares: Any) -> None:
    """List who shares every square: next to all squares have one or two of all owner codes.

    Args:
        codes: uint8 (E, F, rows, columns), owner codes up to ``edge``.
        side: cells a side of a square; what of a square lies beyond the board is counted as ``edge``.
        edge: the code of what is blocked.
        counts: int32 (codes,), scratch, of zeros.
        starts: int32 (E, F, S + 1), written: where the entries of a square begin, and where the last one's
            end.
        owners: uint8 (entries,), written: an owner code of a square, in the order in which they are met.
        shares: float32 (entries,), written: its part of the square.

    """
    _, frames, rows, columns = codes.shape
    across = (columns + side - 1) // side
    cells = side * side
    n = 0
    for e in range(len(codes)):
        for f in range(frames):
            for square in range(starts.shape[2] - 1):
                starts[e, f, square] = n
                top, left = square // across * side, square % across * side
                bottom, right = min(top + side, rows), min(left + side, columns)
                first = n
                for r in range(top, bottom):
                    c = left
                    while c < right:  # neighbours mostly have one owner
                        code, begin = codes[e, f, r, c], c
                        while c < right and codes[e, f, r, c] == code:
                            c += 1
                        n = _counted(counts, code, c - begin, owners, n)
                beyond = cells - (bottom - top) * (right - left)
                if beyond > 0:
                    n = _counted(counts, edge, beyond, owners, n)
                for i in range(first, n):
                    shares[i] = np.float32(counts[owners[i]]) / np.float32(cells)
                    counts[owners[i]] = 0
            starts[e, f, starts.shape[2] - 1] = n


@njit
def _counted(counts: Any, code: Any, cells: Any, owners: Any, n: Any) -> Any:
    """Count cells for an owner code, which is listed if it is new; return how many are listed."""
    if counts[code] == 0:
        owners[n] = code
        n += 1
    counts[code] += cells
    return n


@kernel
def list_packed_shares(
    packed: Any, width: int, edge: int, fresh: Any, words: Any, starts: Any, owners: Any, shares: Any
) -> None:
    """List the same of squares of 8 x 8 cells without unpacking any: 64 bits of a plane are a square.

    Each frame but the newest is packed as what changed after it, which is nothing in most squares.

    Args:
        packed: uint8 (E, F, B, H, ceil(W/8)), the planes.
        width: W.
        edge: the code of what is blocked, of all larger ones, and of what lies beyond the board.
        fresh: uint64 (B, squares across), scratch.
        words: uint64 (squares down, B, squares across), scratch.
        starts: int32 (E, F, S + 1), written.
        owners: uint8 (entries,), written.
        shares: float32 (entries,), written; the three as by ``list_shares``, and blocked twice at a border.

    """
    frames, height = packed.shape[1], packed.shape[3]
    down, _, across = words.shape
    n = 0
    for e in range(len(packed)):
        for f in range(frames):
            out = frames - 1 - f  # oldest first
            for i in range(down):
                rows = min(8, height - 8 * i)
                _read_squares(packed[e, f], 8 * i, rows, fresh)
                for j in range(across):
                    square = i * across + j
                    starts[e, out, square] = n
                    if f == 0 or _changed(fresh, words[i], j):
                        if f == 0:
                            for b in range(len(fresh)):
                                words[i, b, j] = fresh[b, j]
                        columns = min(8, width - 8 * j)
                        n = _list_square(words[i], j, _inside(rows, columns), edge, owners, shares, n)
                    else:
                        for k in range(starts[e, out + 1, square], starts[e, out + 1, square + 1]):
                            owners[n], shares[n] = owners[k], shares[k]
                            n += 1
            starts[e, out, down * across] = n


@njit
def _read_squares(planes: Any, top: int, rows: int, words: Any) -> None:
    """Write the bits of a row of squares, uint64 (B, across), of ``planes`` (B, H, across)."""
    for b in range(len(planes)):
        for j in range(words.shape[1]):
            words[b, j] = ZERO
        for r in range(rows):
            shift = np.uint64(8 * r)
            for j in range(words.shape[1]):
                words[b, j] |= np.uint64(planes[b, top + r, j]) << shift


@njit
def _changed(fresh: Any, words: Any, j: int) -> Any:
    """Apply what changed in a square to its bits; return whether anything did."""
    found = ZERO
    for b in range(len(fresh)):
        found |= fresh[b, j]
        words[b, j] ^= fresh[b, j]
    return found != ZERO


@njit
def _inside(rows: int, columns: int) -> Any:
    """Return which of the 64 cells of a square lie on the board."""
    inside, row = ZERO, (ONE << np.uint64(columns)) - ONE
    for r in range(rows):
        inside |= row << np.uint64(8 * r)
    return inside


@njit
def _list_square(words: Any, j: int, inside: Any, edge: int, owners: Any, shares: Any, n: int) -> Any:
    """List who shares a square, from entry ``n`` on; return how many are listed then."""
    left = inside
    while left != ZERO:
        cell, code, cells = np.uint64(lowest_bit(left)), 0, left
        for b in range(len(words)):
            if words[b, j] >> cell & ONE:
                code |= 1 << b
                cells &= words[b, j]
            else:
                cells &= ~words[b, j]
        left &= ~cells
        owners[n], shares[n] = min(code, edge), np.float32(popcount(cells)) / np.float32(64)
        n += 1
    beyond = popcount(~inside)
    if beyond > 0:
        owners[n], shares[n] = edge, np.float32(beyond) / np.float32(64)
        n += 1
    return n


@kernel
def fill_shares(starts: Any, owners: Any, shares: Any, out: Any) -> None:
    """Write the share of every square that each owner code has.

    Args:
        starts: int32 (E, F, S + 1).
        owners: uint8 (entries,).
        shares: float32 (entries,); the three as ``list_shares`` writes them.
        out: float32 (E, F, codes, S), of zeros; written.

    """
    for e in range(out.shape[0]):
        for f in range(out.shape[1]):
            for s in range(out.shape[3]):
                for n in range(starts[e, f, s], starts[e, f, s + 1]):
                    out[e, f, owners[n], s] += shares[n]


@kernel
def spread_shares(starts: Any, owners: Any, shares: Any, across: int, land: Any) -> None:
    """Spread the newest frame's shares of every seat over fewer cells, as adaptive mean pooling does.

    Args:
        starts: int32 (E, F, S + 1).
        owners: uint8 (entries,).
        shares: float32 (entries,); the three as ``list_shares`` writes them.
        across: squares of a row of the S.
        land: float32 (E, P, rows, columns), of zeros; written.

    """
    _, players, rows, columns = land.shape
    last, down = starts.shape[1] - 1, (starts.shape[2] - 1) // across
    for r in range(down):
        for c in range(across):
            square = r * across + c
            for i in range(r * rows // down, ((r + 1) * rows - 1) // down + 1):
                height = -(-(i + 1) * down // rows) - i * down // rows
                for j in range(c * columns // across, ((c + 1) * columns - 1) // across + 1):
                    width = -(-(j + 1) * across // columns) - j * across // columns
                    part = np.float32(1) / np.float32(height * width)
                    for e in range(len(starts)):
                        for n in range(starts[e, last, square], starts[e, last, square + 1]):
                            if 1 <= owners[n] <= players:
                                land[e, owners[n] - 1, i, j] += part * shares[n]


@kernel
def paint(starts: Any, owners: Any, shares: Any, games: Any, colours: Any, painting: Any) -> None:
    """Paint games in the colours of owners, each square in the mixture of those who share it.

    Args:
        starts: int32 (E, F, S + 1).
        owners: uint8 (entries,).
        shares: float32 (entries,); the three as ``list_shares`` writes them.
        games: int64 (G,), which of the E each painting is of.
        colours: float32 (G, O, C), of every owner.
        painting: float32 (G, S, F, C), written.

    """
    squares, frames, channels = painting.shape[1:]
    for g in range(len(games)):
        e = games[g]
        for f in range(frames):
            for s in range(squares):
                first, end = starts[e, f, s], starts[e, f, s + 1]
                colour, share = colours[g, owners[first]], shares[first]
                for c in range(channels):
                    painting[g, s, f, c] = share * colour[c]
                for i in range(first + 1, end):
                    colour, share = colours[g, owners[i]], shares[i]
                    for c in range(channels):
                        painting[g, s, f, c] += share * colour[c]


@kernel
def write_between(borders: Any, scales: Any, is_any: Any, between: Any, counts: Any, pairs: Any) -> None:
    """Write the borders between seats and owners, and list the pairs of seats that have any.

    Args:
        borders: float32 (E, K, P + 1, P + 1).
        scales: float32 (K,), the factors of their columns.
        is_any: bool (P + 1, P + 1), scratch.
        between: float32 (E, P, P + 1, 2 * K), written: the borders from every seat, then those in return.
        counts: int64 (E,), written: how many pairs there are.
        pairs: int32 (E, P * P), written: P times the seat, 0.., and the other seat.

    """
    columns, owners = borders.shape[1], borders.shape[2]
    players = owners - 1
    for e in range(len(borders)):
        between[e] = 0
        is_any[:] = False
        for k in range(columns):
            for i in range(owners):
                for j in range(owners):
                    if borders[e, k, i, j] != 0:  # few are not
                        value = borders[e, k, i, j] * scales[k]
                        is_any[i, j] = is_any[j, i] = True
                        if i > 0:
                            between[e, i - 1, j, k] = value
                        if j > 0:
                            between[e, j - 1, i, columns + k] = value
        counts[e] = _list_marked(is_any, players, pairs[e])


@njit
def _list_marked(is_any: Any, players: int, pairs: Any) -> int:
    """List the marked pairs of seats; return how many there are."""
    count = 0
    for i in range(players):
        for j in range(players):
            if is_any[i + 1, j + 1]:
                pairs[count] = players * i + j
                count += 1
    return count


@kernel
def write_biases(
    between: Any,
    counts: Any,
    pairs: Any,
    alive: Any,
    games: Any,
    networks: Any,
    first: Any,
    first_bias: Any,
    second: Any,
    second_bias: Any,
    hidden: Any,
    out: Any,
) -> None:
    """Write by how much seats attend to each other: what a network with one hidden layer makes of pairs.

    Most pairs have nothing between them, and the network makes the same of them all.

    Args:
        between: float32 (E, P, P + 1, K).
        counts: int64 (E,).
        pairs: int32 (E, P * P); both as ``write_between`` writes them.
        alive: bool (G, P); eliminated seats are attended to by themselves alone.
        games: int64 (G,), which of the E is looked at.
        networks: int64 (G,), which of the N networks looks.
        first: float32 (N, K, H), the weights of the hidden layer, by input.
        first_bias: float32 (N, H).
        second: float32 (N, heads, H).
        second_bias: float32 (N, heads).
        hidden: float32 (H,), scratch.
        out: float32 (G, heads, P, P), written.

    """
    players, heads = out.shape[2], out.shape[1]
    for g in range(len(out)):
        e, n = games[g], networks[g]
        _copy(first_bias[n], hidden)
        for head in range(heads):
            usual = _score(hidden, second[n, head], second_bias[n, head])
            for j in range(players):
                value = usual if alive[g, j] else -math.inf
                for i in range(players):
                    out[g, head, i, j] = value
                out[g, head, j, j] = usual
        for p in range(counts[e]):
            i, j = divmod(pairs[e, p], players)
            if alive[g, j] or i == j:
                _copy(first_bias[n], hidden)
                _read(between[e, i, j + 1], first[n], hidden)
                for head in range(heads):
                    out[g, head, i, j] = _score(hidden, second[n, head], second_bias[n, head])


@njit
def _copy(values: Any, to: Any) -> None:
    for i in range(len(to)):
        to[i] = values[i]


@njit
def _score(hidden: Any, weights: Any, bias: Any) -> Any:
    """Return what an output makes of a hidden layer."""
    total = bias
    for h in range(len(hidden)):
        total += (hidden[h] if hidden[h] > 0 else np.float32(0)) * weights[h]
    return total


@kernel
def write_targets(
    mine: Any,
    neutral: Any,
    there: Any,
    between: Any,
    legal: Any,
    seats: Any,
    views: Any,
    games: Any,
    networks: Any,
    weights: Any,
    head: Any,
    head_bias: Any,
    hidden: Any,
    out: Any,
) -> None:
    """Write the scores of what rows can attack: neutral land, then seats in ego order, the own one first.

    Args:
        mine: float32 (R, H), what the own seat adds to the hidden layer.
        neutral: float32 (N, H), what neutral land adds.
        there: float32 (G, P, H), what other seats add.
        between: float32 (E, P, P + 1, K).
        legal: int8 (R, 1 + P + 1 or more): whether there is anything to score; 0 for holding and all others.
        seats: int64 (R,), 1..P.
        views: int64 (R,), which of the G.
        games: int64 (R,), which of the E.
        networks: int64 (R,), which of the N.
        weights: float32 (N, K, H), of what lies between, by input.
        head: float32 (N, H).
        head_bias: float32 (N,).
        hidden: float32 (H,), scratch.
        out: float32 (R, P + 1), written: 0 where an attack is not legal.

    """
    players = there.shape[1]
    for r in range(len(mine)):
        n, seat = networks[r], seats[r] - 1
        for t in range(players + 1):
            if legal[r, 1 + t] <= 0:
                out[r, t] = 0
                continue
            owner = owner_of_target(1 + t, seats[r], players)
            if owner == 0:
                for h in range(len(hidden)):
                    hidden[h] = mine[r, h] + neutral[n, h]
            else:
                for h in range(len(hidden)):
                    hidden[h] = mine[r, h] + there[views[r], owner - 1, h]
            _read(between[games[r], seat, owner], weights[n], hidden)
            out[r, t] = _score(hidden, head[n], head_bias[n])


@njit
def _read(columns: Any, weights: Any, hidden: Any) -> None:
    """Add ``weights`` (K, H) times ``columns`` (K,), most of which are 0."""
    for k in range(len(columns)):
        if columns[k] != 0:
            for h in range(len(hidden)):
                hidden[h] += columns[k] * weights[k, h]
