"""Seats of games end to end, on the processor: what is known of them, and their attention to each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.actions.encoding import owner_of_target
from territorial.jit.decorators import float_of_bits, kernel, njit

LOWEST, ZERO, ONE = np.float32(-np.inf), np.float32(0), np.float32(1)
"""Of the type of all else: arithmetic with Python's floats would be in float64."""
LANES = 16
"""Numbers that are computed side by side: what is left of shorter loops takes several times as long."""
LOG2_E, LN_2, REST_OF_LN_2 = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
"""The logarithm of 2 in two parts, the first of which has few bits: products with whole numbers are exact."""
EXP = tuple(
    np.float32(factor)
    for factor in (5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3)
)
LAST_OF_EXP = np.float32(1.9875691500e-4)
"""Factors of the polynomial of the library Cephes for exp(), of the second power on."""
LEAST_EXPONENT = np.float32(-87)
"""Where exp() is taken to be 0: below it, numbers are too small to be exact."""


@kernel
def mark_seats(alive: Any, of_row: Any, seats: Any, action_mask: Any, wanted: Any) -> None:
    """Mark the seats of games that anything follows from: those alive, those of rows, and their targets.

    Args:
        alive: float32 (G, P), above 0 where a seat is alive.
        of_row: int64 (N,), the game of each row.
        seats: int64 (N,), 1..P.
        action_mask: int8 (N, P + 12).
        wanted: bool (G, P), written.

    """
    players = wanted.shape[1]
    for g in range(len(wanted)):
        for p in range(players):
            wanted[g, p] = alive[g, p] > 0
    for n in range(len(seats)):
        own = seats[n] - 1
        wanted[of_row[n], own] = True
        for what in range(1, players + 1):
            if action_mask[n, 1 + what] > 0:
                wanted[of_row[n], owner_of_target(1 + what, seats[n], players) - 1] = True


@njit
def _write_pair(borders: Any, scales: Any, game: int, seat: int, owner: int, out: Any) -> Any:
    """Write the borders from a seat, 1..P, to an owner and in return, (2 * K,); return whether it has any."""
    count, is_any = len(scales), False
    for k in range(count):
        there, back = borders[game, k, seat, owner], borders[game, k, owner, seat]
        is_any = is_any or there != 0 or back != 0
        out[k], out[count + k] = there * scales[k], back * scales[k]
    return is_any


@kernel
def write_seats(
    tables: Any, scales: Any, numbers: Any, alive: Any, seats: Any, is_alive: Any, out: Any
) -> None:
    """Write what the tables say of seats.

    Args:
        tables: players (G, P, C), globals (G, D) and borders (G, K, P + 1, P + 1), all float32.
        scales: the factors of their columns, float32 (C,), (D,) and (K,).
        numbers: int64 (G, P), the row of each seat, below 0 for those without.
        alive: the column of players that says who is alive.
        seats: int64 (A,), written: the seat of each row, 0..P-1.
        is_alive: bool (A,), written.
        out: float32 (A, C + D + 2 * K), written: the seat, the game, and the borders with neutral land.

    """
    players, everybody, borders = tables
    own, common = players.shape[2], everybody.shape[1]
    for g in range(len(players)):
        for p in range(players.shape[1]):
            row = numbers[g, p]
            if row < 0:
                continue
            seats[row], is_alive[row] = p, players[g, p, alive] > 0
            for c in range(own):
                out[row, c] = players[g, p, c] * scales[0][c]
            for c in range(common):
                out[row, own + c] = everybody[g, c] * scales[1][c]
            _write_pair(borders, scales[2], g, p + 1, 0, out[row, own + common :])


@kernel
def write_meetings(borders: Any, scales: Any, starts: Any, seats: Any, which: Any, pairs: Any) -> Any:
    """Write the borders between the seats of games; return how many rows of ``pairs`` they took.

    Args:
        borders: float32 (G, K, P + 1, P + 1).
        scales: float32 (K,), the factors of their columns.
        starts: int64 (G + 1,), where the rows of each game begin.
        seats: int64 (A,), the seat of each row, 0..P-1.
        which: int32 (A, P), written: for a row and the others of its game, in order, the row of ``pairs``.
        pairs: float32 (rows, 2 * K), written: the first is of all those without a border.

    """
    count = 1
    pairs[0] = 0
    for g in range(len(borders)):
        first, end = starts[g], starts[g + 1]
        for i in range(first, end):
            for j in range(end - first):
                is_any = _write_pair(borders, scales, g, seats[i] + 1, seats[first + j] + 1, pairs[count])
                which[i, j] = count if is_any else 0
                count += is_any
    return count


@kernel
def write_launches(
    action_mask: Any,
    borders: Any,
    scales: Any,
    of_row: Any,
    seats: Any,
    numbers: Any,
    neutral: int,
    rows: Any,
    targets: Any,
    whom: Any,
    pairs: Any,
) -> Any:
    """Write the legal launches of rows, and the borders that they cross; return how many there are.

    Args:
        action_mask: int8 (N, P + 12).
        borders: as in ``write_meetings``.
        scales: as in ``write_meetings``.
        of_row: int64 (N,), the game of each row.
        seats: int64 (N,), 1..P.
        numbers: int64 (G, P), the row of each seat.
        neutral: the row of neutral land.
        rows: int64 (L,), written: which of the N.
        targets: int64 (L,), written: 0 for neutral land, and from 1 on seats in ego order.
        whom: int64 (L,), written: the row of the target.
        pairs: float32 (L, 2 * K), written.

    """
    players, count = numbers.shape[1], 0
    for n in range(len(action_mask)):
        g, seat = of_row[n], seats[n]
        for what in range(players + 1):
            if action_mask[n, 1 + what] > 0:
                owner = owner_of_target(1 + what, seat, players)
                rows[count], targets[count] = n, what
                whom[count] = numbers[g, owner - 1] if owner > 0 else neutral
                _write_pair(borders, scales, g, seat, owner, pairs[count])
                count += 1
    return count


@kernel
def attend(
    asks: Any,
    biases: Any,
    which: Any,
    starts: Any,
    is_alive: Any,
    scale: Any,
    turned: Any,
    sums: Any,
    scores: Any,
    chances: Any,
    heard: Any,
) -> None:
    """Let the seats of every game attend to each other; to those eliminated only they themselves do.

    Args:
        asks: float32 (A, 3 * W), what rows ask, what they answer to, and what they say, head by head.
        biases: float32 (rows, H), by pair of seats.
        which: of ``write_meetings``.
        starts: where the rows of each game begin.
        is_alive: of ``write_seats``.
        scale: float32, by which products are multiplied.
        turned: float32 (W / H, R), scratch; R is P, rounded up to ``LANES``.
        sums: float32 (2, R), scratch.
        scores: float32 (P, R), scratch.
        chances: float32 (A, H, P), written: how much the others of its game attend to a row.
        heard: float32 (A, W), written.

    """
    heads = biases.shape[1]
    for g in range(len(starts) - 1):
        first, count = starts[g], starts[g + 1] - starts[g]
        for h in range(heads):
            _score(asks, first, count, h, heads, turned, scores)
            for i in range(count):
                pairs = which[first + i]
                for j in range(count):
                    scores[j, i] = scores[j, i] * scale + biases[pairs[j], h]
            _mute(is_alive[first : first + count], count, scores)
            _hear(asks, first, count, h, heads, sums, scores, heard)
            for j in range(count):
                own = chances[first + j, h]
                for i in range(count):
                    own[i] = scores[j, i]


@kernel
def attend_in_games(
    asks: Any, biases: Any, scale: Any, turned: Any, sums: Any, scores: Any, heard: Any
) -> None:
    """Let all seats of games attend to each other, as ``attend`` does.

    Args:
        asks: float32 (G * P, 3 * W).
        biases: float32 (G, H, P, P), of all pairs of seats; minus infinity where one does not attend.
        scale: of ``attend``, as the next three.
        turned: scratch.
        sums: scratch.
        scores: scratch.
        heard: float32 (G * P, W), written.

    """
    heads, players = biases.shape[1], biases.shape[2]
    for g in range(len(biases)):
        for h in range(heads):
            _score(asks, g * players, players, h, heads, turned, scores)
            for i in range(players):
                own = biases[g, h, i]
                for j in range(players):
                    scores[j, i] = scores[j, i] * scale + own[j]
            _hear(asks, g * players, players, h, heads, sums, scores, heard)


@kernel
def attend_back(
    asks: Any,
    which: Any,
    starts: Any,
    scale: Any,
    chances: Any,
    of_heard: Any,
    turned: Any,
    sums: Any,
    slopes: Any,
    of_asks: Any,
    of_biases: Any,
) -> None:
    """Write the gradients of what ``attend`` read, by those of what was heard.

    Args:
        asks: of ``attend``, as the next four.
        which: by pair of seats, the row of ``of_biases``.
        starts: where the rows of each game begin.
        scale: by which products are multiplied.
        chances: how much the others of its game attend to a row.
        of_heard: float32 (A, W), the gradients of what was heard.
        turned: float32 (W / H, R), scratch, as in ``attend``.
        sums: float32 (2, R), scratch.
        slopes: float32 (P, R), scratch.
        of_asks: float32 (A, 3 * W), written.
        of_biases: float32 (rows, H), of zeros; written.

    """
    width, heads = of_heard.shape[1], chances.shape[1]
    size, mean = width // heads, sums[0]
    for g in range(len(starts) - 1):
        first, count = starts[g], starts[g + 1] - starts[g]
        room = _room(count)
        for h in range(heads):
            own, asked = h * size, (first, h * size)
            answered, said = (first, width + own), (first, 2 * width + own)
            _turn(of_heard, asked, count, room, turned)
            _multiply(asks, said, count, size, turned, (0, 0), room, slopes, (0, 0))
            _make_slopes(chances[:, h], first, count, mean, slopes)
            for i in range(count):
                pairs = which[first + i]
                for j in range(count):
                    of_biases[pairs[j], h] += slopes[j, i]
            for j in range(count):
                for i in range(count):
                    slopes[j, i] *= scale
            _multiply(slopes.T, (0, 0), count, count, asks, answered, size, of_asks, asked)
            _multiply(slopes, (0, 0), count, count, asks, asked, size, of_asks, answered)
            _multiply(chances[:, h], (first, 0), count, count, of_heard, asked, size, of_asks, said)


@njit
def _make_slopes(chances: Any, first: int, count: int, mean: Any, slopes: Any) -> None:
    """Turn the gradients of chances, a row's down a column, into those of the scores they were made of."""
    for i in range(count):
        mean[i] = 0
    for j in range(count):
        chance = chances[first + j]
        for i in range(count):
            mean[i] += slopes[j, i] * chance[i]
    for j in range(count):
        chance = chances[first + j]
        for i in range(count):
            slopes[j, i] = chance[i] * (slopes[j, i] - mean[i])


@njit
def _score(asks: Any, first: int, count: int, head: int, heads: int, turned: Any, scores: Any) -> None:
    """Write the products of what ``count`` rows answer to with what they ask, (count, count) and beyond."""
    width = asks.shape[1] // 3
    size, room = width // heads, _room(count)
    _turn(asks, (first, head * size), count, room, turned)
    _multiply(asks, (first, width + head * size), count, size, turned, (0, 0), room, scores, (0, 0))


@njit
def _mute(alive: Any, count: int, scores: Any) -> None:
    """Let those that are not alive be attended to by themselves alone."""
    for j in range(count):
        if not alive[j]:
            own = scores[j, j]
            for i in range(count):
                scores[j, i] = LOWEST
            scores[j, j] = own


@njit
def _hear(
    asks: Any, first: int, count: int, head: int, heads: int, sums: Any, scores: Any, heard: Any
) -> None:
    """Make chances of scores, by who is attended to and who attends, and write what is heard."""
    width, room = heard.shape[1], _room(count)
    size, column = width // heads, head * (width // heads)
    _make_chances(scores, count, room, sums)
    _multiply(scores.T, (0, 0), count, count, asks, (first, 2 * width + column), size, heard, (first, column))


@njit
def _room(count: int) -> int:
    """Return how many numbers are computed side by side for ``count`` rows."""
    return -(-count // LANES) * LANES


@njit
def _make_chances(scores: Any, count: int, room: int, sums: Any) -> None:
    """Turn scores (count, room) into their softmax down the columns, each of which has a finite one."""
    highest, total = sums[0], sums[1]
    for i in range(room):
        highest[i], total[i] = scores[0, i], 0
    for j in range(1, count):
        for i in range(room):
            highest[i] = max(highest[i], scores[j, i])
    for j in range(count):
        for i in range(room):
            chance = _exp(scores[j, i] - highest[i])
            scores[j, i] = chance
            total[i] += chance
    for i in range(room):
        total[i] = ONE / total[i]
    for j in range(count):
        for i in range(room):
            scores[j, i] *= total[i]


@njit
def _exp(number: Any) -> Any:
    """Return exp() of a float32 that is not above 0, in operations that processors do side by side."""
    exponent = number if number > LEAST_EXPONENT else LEAST_EXPONENT
    whole = np.floor(exponent * LOG2_E + np.float32(0.5))
    rest = exponent - whole * LN_2 - whole * REST_OF_LN_2
    power = ((((LAST_OF_EXP * rest + EXP[4]) * rest + EXP[3]) * rest + EXP[2]) * rest + EXP[1]) * rest
    power = (power + EXP[0]) * rest * rest + rest + ONE
    doubled = float_of_bits(np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)))
    return power * doubled if number > LEAST_EXPONENT else ZERO


@njit
def _turn(table: Any, place: Any, count: int, room: int, turned: Any) -> None:
    """Write a part of ``count`` rows, the first at ``place``, (count, N), as (N, room), with zeros behind."""
    row, column = place
    for i in range(count):
        for c in range(len(turned)):
            turned[c, i] = table[row + i, column + c]
    for c in range(len(turned)):
        for i in range(count, room):
            turned[c, i] = 0


@njit
def _multiply(
    left: Any,
    of_left: Any,
    rows: int,
    inner: int,
    right: Any,
    of_right: Any,
    columns: int,
    out: Any,
    of_out: Any,
) -> None:
    """Write the product of two matrices, (rows, inner) and (inner, columns), each a part of a table.

    Where each begins is its row and its column. Most of it is done 4 rows by 4 at a time, so that numbers
    are read once for 4 products each.
    """
    (top, a), (under, b), (to, c) = of_left, of_right, of_out
    most = rows // 4 * 4
    for n in range(rows):
        for i in range(columns):
            out[to + n, c + i] = 0
    for n in range(0, most, 4):
        _add_four(left, top + n, a, inner, right, under, b, columns, out, to + n, c)
    for n in range(most, rows):
        _add_one(left, top + n, a, 0, inner, right, under, b, columns, out, to + n, c)
    for n in range(most):
        _add_one(left, top + n, a, inner // 4 * 4, inner, right, under, b, columns, out, to + n, c)


@njit
def _add_four(
    left: Any,
    r: int,
    a: int,
    inner: int,
    right: Any,
    under: int,
    b: int,
    columns: int,
    out: Any,
    o: int,
    c: int,
) -> None:
    """Add the products of the row ``r`` and the next three, but for those of the last ``inner % 4``."""
    for k in range(0, inner // 4 * 4, 4):
        d, e = a + k, under + k
        p0, p1, p2, p3 = left[r, d], left[r, d + 1], left[r, d + 2], left[r, d + 3]
        q0, q1, q2, q3 = left[r + 1, d], left[r + 1, d + 1], left[r + 1, d + 2], left[r + 1, d + 3]
        s0, s1, s2, s3 = left[r + 2, d], left[r + 2, d + 1], left[r + 2, d + 2], left[r + 2, d + 3]
        t0, t1, t2, t3 = left[r + 3, d], left[r + 3, d + 1], left[r + 3, d + 2], left[r + 3, d + 3]
        for i in range(columns):
            x0, x1, x2, x3 = right[e, b + i], right[e + 1, b + i], right[e + 2, b + i], right[e + 3, b + i]
            out[o, c + i] += p0 * x0 + p1 * x1 + p2 * x2 + p3 * x3
            out[o + 1, c + i] += q0 * x0 + q1 * x1 + q2 * x2 + q3 * x3
            out[o + 2, c + i] += s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
            out[o + 3, c + i] += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3


@njit
def _add_one(
    left: Any,
    r: int,
    a: int,
    begin: int,
    end: int,
    right: Any,
    under: int,
    b: int,
    columns: int,
    out: Any,
    o: int,
    c: int,
) -> None:
    """Add the products of the row ``r`` with the rows from ``begin`` to ``end``."""
    for k in range(begin, end):
        factor = left[r, a + k]
        for i in range(columns):
            out[o, c + i] += factor * right[under + k, b + i]
