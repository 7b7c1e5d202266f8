"""Seats of games end to end, on the processor: what is known of them, and their attention to each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from territorial.actions.encoding import owner_of_target
from territorial.jit.decorators import kernel, njit

LOWEST, ZERO = np.float32(-np.inf), np.float32(0)
"""Of the type of all else: arithmetic with Python's floats would be in float64."""
LANES = 16
"""Numbers of a head that are added up side by side: a loop of known length takes half the time."""


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
        turned: float32 (W, P), scratch.
        chances: float32 (A, H, P), written: how much each head of a row attends to the others of its game.
        heard: float32 (A, W), written.

    """
    width, heads = heard.shape[1], biases.shape[1]
    blocks = width // heads // LANES
    for g in range(len(starts) - 1):
        first, end = starts[g], starts[g + 1]
        count = end - first
        _turn(asks, first, count, width, turned)
        for i in range(first, end):
            for h in range(heads):
                own = chances[i, h]
                _products(asks[i], turned, h * blocks, blocks, count, own)
                for j in range(count):
                    is_heard = is_alive[first + j] or first + j == i
                    own[j] = own[j] * scale + biases[which[i, j], h] if is_heard else LOWEST
                _make_chances(own, count)
                for b in range(h * blocks, (h + 1) * blocks):
                    for lane in range(LANES):
                        heard[i, b * LANES + lane] = 0
                for b in range(h * blocks, (h + 1) * blocks):
                    d = b * LANES
                    for j in range(count):
                        for lane in range(LANES):
                            heard[i, d + lane] += own[j] * asks[first + j, 2 * width + d + lane]


@kernel
def attend_back(
    asks: Any,
    which: Any,
    starts: Any,
    scale: Any,
    chances: Any,
    of_heard: Any,
    turned: Any,
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
        chances: how much each head of a row attends to the others.
        of_heard: float32 (A, W), the gradients of what was heard.
        turned: float32 (W, P), scratch.
        slopes: float32 (P,), scratch.
        of_asks: float32 (A, 3 * W), of zeros; written.
        of_biases: float32 (rows, H), of zeros; written.

    """
    width, heads = of_heard.shape[1], of_biases.shape[1]
    blocks = width // heads // LANES
    for g in range(len(starts) - 1):
        first, end = starts[g], starts[g + 1]
        count = end - first
        _turn(asks, first, count, 2 * width, turned)
        for i in range(first, end):
            for h in range(heads):
                _products(of_heard[i], turned, h * blocks, blocks, count, slopes)
                mean = ZERO
                for j in range(count):
                    mean += slopes[j] * chances[i, h, j]
                for j in range(count):
                    slopes[j] = chances[i, h, j] * (slopes[j] - mean)
                    of_biases[which[i, j], h] += slopes[j]
                    slopes[j] *= scale
                for b in range(h * blocks, (h + 1) * blocks):
                    d = b * LANES
                    for j in range(count):
                        k = first + j
                        _add(of_asks[i], d, slopes[j], asks[k], width + d)
                        _add(of_asks[k], width + d, slopes[j], asks[i], d)
                        _add(of_asks[k], 2 * width + d, chances[i, h, j], of_heard[i], d)


@njit
def _make_chances(scores: Any, count: int) -> None:
    """Turn scores, of which one at least is finite, into their softmax."""
    highest, total = LOWEST, ZERO
    for j in range(count):
        highest = max(highest, scores[j])
    for j in range(count):
        scores[j] = math.exp(scores[j] - highest)
        total += scores[j]
    for j in range(count):
        scores[j] /= total


@njit
def _turn(asks: Any, first: int, count: int, offset: int, turned: Any) -> None:
    """Write a part of the rows of a game, (count, W), as (W, count)."""
    for j in range(count):
        for c in range(len(turned)):
            turned[c, j] = asks[first + j, offset + c]


@njit
def _products(row: Any, turned: Any, block: int, blocks: int, count: int, out: Any) -> None:
    """Write the scalar products of a head's part of ``row`` with the columns of ``turned``."""
    for j in range(count):
        out[j] = 0
    for b in range(block, block + blocks):
        for lane in range(LANES):
            d = b * LANES + lane
            for j in range(count):
                out[j] += row[d] * turned[d, j]


@njit
def _add(out: Any, to: int, factor: Any, row: Any, of: int) -> None:
    """Add a block of ``row`` times ``factor`` to one of ``out``."""
    for lane in range(LANES):
        out[to + lane] += factor * row[of + lane]
