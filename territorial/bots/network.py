"""How a network in the engine decides: from the columns of pairs to a launch, in whole numbers alone.

docs/networks.md defines every step; ``network_layers`` computes the logits.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network_file import (
    FRACTION_OUTPUTS,
    LAYERS,
    NetworkError,
    NetworkFile,
    even,
    places_of,
)
from territorial.bots.network_layers import (
    NO_COLUMN,
    TEMPERATURE,
    NetworkScratch,
    begin_group,
    evaluate,
    join,
    may_join,
)
from territorial.jit.decorators import int64, kernel, njit
from territorial.observation.pair_columns import OWN, PAIRS, column

NEVER = -(2**40)
"""The logit of an option that is not legal."""
LOGIT_PARTS = 16
"""Parts of a logit's unit in one of the powers' table."""
POWER_BITS = 8
POWERS_UNIT = 2**POWER_BITS
MOST_HALVINGS = 33


def powers_table() -> npt.NDArray[np.int64]:
    """Return 2 ** 32 times 2 ** (-i / 256), rounded down, for i from 0 to 255."""
    table = []
    for i in range(POWERS_UNIT):
        power = 1 << (32 * POWERS_UNIT - i)
        for _ in range(POWER_BITS):
            power = isqrt(power)
        table.append(power)
    return np.array(table, np.int64)


LEGAL = column(PAIRS, "legal")
POWERS = powers_table()


# ---- a table of networks ---------------------------------------------------------------------------


class Rows(NamedTuple):
    """What B seats see, in whole numbers."""

    own: npt.NDArray[np.int16]  # (B, N); the columns of a row lie side by side
    pairs: npt.NDArray[np.int16]  # (B, C, K)
    counts: npt.NDArray[np.int64]  # (B,) candidates that are there


class Placed(NamedTuple):
    """A network with where its columns stand in the layout of this release."""

    file: NetworkFile
    places: npt.NDArray[np.int64]  # of own, then of pairs, each filled up to an even number with NO_COLUMN


def placed(file: NetworkFile) -> Placed:
    """Return a network that reads the columns of this layout; NetworkError for one that it lacks."""
    description = file.description
    places: list[int] = []
    for what, wanted, table in (
        ("own", description.own_columns, OWN),
        ("pair", description.pair_columns, PAIRS),
    ):
        try:
            found = places_of(what, wanted, [(one.name, one.version) for one in table])
        except ValueError as error:
            raise NetworkError(f"{file.path}: {error}") from None
        places += found + [NO_COLUMN] * (even(len(found)) - len(found))
    return Placed(file, np.array(places, np.int64))


def row_of(network: Placed, temperature: int | None = None) -> npt.NDArray[np.int64]:
    """Return the numbers of a network, (NUM_NUMBERS,): a row of the table of networks that kernels read.

    They are valid as long as ``network`` is there. ``temperature``: 256ths; None: that of the file.
    """
    file = network.file
    description, tensors = file.description, file.tensors
    numbers = [
        description.temperature if temperature is None else temperature,
        description.num_candidates,
        even(len(description.own_columns)),
        even(len(description.pair_columns)),
        description.candidate_width,
        description.context_width,
        LEGAL,
        network.places.ctypes.data,
        is_in_order(network),
        *(tensors[f"{layer}.weights"].ctypes.data for layer in LAYERS),
        *(tensors[f"{layer}.biases"].ctypes.data for layer in LAYERS),
        *(description.shifts[layer] for layer in LAYERS),
    ]
    return np.array(numbers, np.int64)


def is_in_order(network: Placed) -> bool:
    """Return whether a network reads the first columns of the layout, in their order."""
    own = even(len(network.file.description.own_columns))
    wanted = np.concatenate([np.arange(own), np.arange(len(network.places) - own)])
    return bool(np.array_equal(network.places, wanted))


# ---- a decision ------------------------------------------------------------------------------------


@njit
def choose_launch(net: Any, scratch: NetworkScratch, seat: int, first: Any, second: Any) -> tuple[int, int]:
    """Return what a seat of the group does: 0 to hold or 1 + the candidate, and the number of the fraction.

    The group was evaluated. ``first`` and ``second``: uint64, the random numbers of the two choices.
    """
    row, end = scratch.first_rows[seat], scratch.first_rows[seat + 1]
    logits = scratch.logits[seat + row : seat + end + 1]
    for i in range(row, end):
        if not scratch.is_legal[i]:
            logits[1 + i - row] = NEVER
    chosen = choose_option(logits, 1 + end - row, net[TEMPERATURE], first)
    if chosen == 0:
        return 0, 0
    fractions = scratch.fractions[row + chosen - 1]
    return chosen, choose_option(fractions, FRACTION_OUTPUTS, net[TEMPERATURE], second)


@njit
def choose_option(logits: Any, count: int, temperature: int, number: Any) -> int:
    """Return the first of the best of ``count`` options, or one drawn with ``number`` at a temperature."""
    best = 0
    for i in range(1, count):
        if logits[i] > logits[best]:
            best = i
    if temperature == 0:
        return best
    total = 0
    for i in range(count):
        total += likelihood(logits[best] - logits[i], temperature)
    left = int64(number % np.uint64(total))
    for i in range(count):
        left -= likelihood(logits[best] - logits[i], temperature)
        if left < 0:
            return i
    return best


@njit
def likelihood(below: int, temperature: int) -> int:
    """Return how likely an option is that is ``below`` the best, which has 2 ** 32."""
    parts = LOGIT_PARTS * below // temperature
    return POWERS[parts & (POWERS_UNIT - 1)] >> min(parts >> POWER_BITS, MOST_HALVINGS)


@kernel
def choose_for_rows(
    net: Any, scratch: NetworkScratch, rows: Rows, numbers: Any, chosen: Any, logits: Any
) -> None:
    """Let a network, of which ``net`` is the row, choose for B rows.

    ``numbers``: uint64 (B, 2), the random numbers. Written: ``chosen``, int64 (B, 2), 0 to hold or 1 + the
    candidate, and the fraction; ``logits``, int64 (B, 1 + C, 1 + 10), of targets and their fractions.
    """
    end = 0
    while end < len(chosen):
        begin, end = end, end
        begin_group(scratch)
        while end < len(chosen) and may_join(scratch, rows.counts[end]):
            join(net, scratch, rows.own[end], rows.pairs[end], rows.counts[end])
            end += 1
        evaluate(net, scratch)
        for b in range(begin, end):
            seat = b - begin
            chosen[b, 0], chosen[b, 1] = choose_launch(net, scratch, seat, numbers[b, 0], numbers[b, 1])
            copy_logits(scratch, seat, logits[b])


@njit
def copy_logits(scratch: NetworkScratch, seat: int, logits: Any) -> None:
    """Write the logits of a seat of the group, (1 + C, 1 + 10): of options, and of their fractions."""
    row = scratch.first_rows[seat]
    for c in range(1 + scratch.first_rows[seat + 1] - row):
        logits[c, 0] = scratch.logits[seat + row + c]
        for f in range(FRACTION_OUTPUTS if c > 0 else 0):
            logits[c, 1 + f] = scratch.fractions[row + c - 1, f]
