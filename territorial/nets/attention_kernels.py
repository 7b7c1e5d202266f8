"""What lies between seats, as an ``EncodeOncePolicy`` reads it, on the processor: biases and scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from territorial.actions.encoding import owner_of_target
from territorial.jit.decorators import kernel, njit


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
