"""How a network in the engine decides: from the columns of pairs to a launch, in whole numbers alone.

docs/networks.md defines every step. What is the same for all candidates is summed once: the part of the own
columns in the first layer, that of the context in the last but one.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network_file import (
    ACTIVATION_LIMIT,
    FRACTION_OUTPUTS,
    INPUT_LIMIT,
    LAYERS,
    MOST_CANDIDATES,
    MOST_COLUMNS,
    MOST_WIDTH,
    NetworkError,
    NetworkFile,
    even,
    places_of,
)
from territorial.jit.alignment import aligned_zeros
from territorial.jit.decorators import int64, kernel, njit, routine
from territorial.jit.products import (
    SIXTEEN,
    address_of,
    number_at,
    pair_at,
    put_between,
    put_sums,
    rounded,
    sums_at,
    with_products,
)
from territorial.observation.pair_columns import OWN, PAIRS, column

CANDIDATE, HIDDEN, CONTEXT, SUMMARY, JOINT, SCORE, HOLD = range(len(LAYERS))

TEMPERATURE, NUM_CANDIDATES, NUM_OWN, NUM_PAIR, CANDIDATE_WIDTH, CONTEXT_WIDTH = range(6)
"""What a row of the table of networks says; widths in activations. Without a network all of it is 0."""
LEGAL_PLACE, PLACES = 6, 7
"""Where ``pairs`` says whether a launch is legal; the address of where the columns stand."""
WEIGHTS, BIASES, SHIFTS = 8, 8 + len(LAYERS), 8 + 2 * len(LAYERS)
"""Addresses of weights and of biases, and shifts, one a layer."""
NUM_NUMBERS = 8 + 3 * len(LAYERS)
NO_COLUMN = -1
"""The place of an input that is there only because inputs come in pairs."""

NEVER = -(2**40)
"""The logit of an option that is not legal."""
LOGIT_PARTS = 16
"""Parts of a logit's unit in one of the powers' table."""
POWER_BITS = 8
POWERS_UNIT = 2**POWER_BITS
MOST_HALVINGS = 33
POOL_BITS = 16
POOL_UNIT = 2**POOL_BITS
"""Means are sums times a part of it."""
SUM_BYTES, INPUT_BYTES, PLACE_BYTES = 4, 2, 8
LINE = SIXTEEN * SUM_BYTES
"""Bytes of sixteen sums, and of the pairs of weights that are added to them."""


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


class NetworkScratch(NamedTuple):
    """What a decision is computed in; every thread needs its own."""

    columns: npt.NDArray[np.int16]  # (MOST_COLUMNS,) of a candidate, in the order of the network
    hidden: npt.NDArray[np.int16]  # (MOST_WIDTH,) activations of the first layer
    candidates: npt.NDArray[np.int16]  # (MOST_CANDIDATES, MOST_WIDTH) activations of the second
    context: npt.NDArray[np.int16]  # (MOST_COLUMNS + 2 * MOST_WIDTH,) own columns, means, maxima
    summary: npt.NDArray[
        np.int16
    ]  # (2 * MOST_WIDTH,) activations of context and summary, one after the other
    shared: npt.NDArray[np.int32]  # (MOST_WIDTH,) sums that are the same for all candidates
    sums: npt.NDArray[np.int32]  # (MOST_WIDTH,)
    logits: npt.NDArray[np.int64]  # (1 + MOST_CANDIDATES,) of holding, then of the candidates
    fractions: npt.NDArray[np.int64]  # (MOST_CANDIDATES, FRACTION_OUTPUTS)


def make_network_scratch() -> NetworkScratch:
    """Return room for decisions of networks of any size."""
    return NetworkScratch(
        columns=aligned_zeros((MOST_COLUMNS,), np.int16),
        hidden=aligned_zeros((MOST_WIDTH,), np.int16),
        candidates=aligned_zeros((MOST_CANDIDATES, MOST_WIDTH), np.int16),
        context=aligned_zeros((MOST_COLUMNS + 2 * MOST_WIDTH,), np.int16),
        summary=aligned_zeros((2 * MOST_WIDTH,), np.int16),
        shared=aligned_zeros((MOST_WIDTH,), np.int32),
        sums=aligned_zeros((MOST_WIDTH,), np.int32),
        logits=aligned_zeros((1 + MOST_CANDIDATES,), np.int64),
        fractions=aligned_zeros((MOST_CANDIDATES, FRACTION_OUTPUTS), np.int64),
    )


# ---- a table of networks ---------------------------------------------------------------------------


class Rows(NamedTuple):
    """What B seats see, in whole numbers."""

    own: npt.NDArray[np.int16]  # (B, N)
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
        *(tensors[f"{layer}.weights"].ctypes.data for layer in LAYERS),
        *(tensors[f"{layer}.biases"].ctypes.data for layer in LAYERS),
        *(description.shifts[layer] for layer in LAYERS),
    ]
    return np.array(numbers, np.int64)


# ---- a decision ------------------------------------------------------------------------------------


@njit
def choose_launch(
    net: Any, scratch: NetworkScratch, own: Any, pairs: Any, count: int, first: Any, second: Any
) -> tuple[int, int]:
    """Return what a network does: 0 to hold or 1 + the candidate, and the number of the fraction.

    ``first`` and ``second``: uint64, the random numbers of the two choices.
    """
    evaluate(net, scratch, own, pairs, count)
    for c in range(count):
        if pairs[c, net[LEGAL_PLACE]] <= 0:
            scratch.logits[1 + c] = NEVER
    chosen = choose_option(scratch.logits, 1 + count, net[TEMPERATURE], first)
    if chosen == 0:
        return 0, 0
    return chosen, choose_option(scratch.fractions[chosen - 1], FRACTION_OUTPUTS, net[TEMPERATURE], second)


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
    for b in range(len(chosen)):
        count = rows.counts[b]
        own, pairs, first, second = rows.own[b], rows.pairs[b], numbers[b, 0], numbers[b, 1]
        chosen[b, 0], chosen[b, 1] = choose_launch(net, scratch, own, pairs, count, first, second)
        for c in range(1 + count):
            logits[b, c, 0] = scratch.logits[c]
            for f in range(FRACTION_OUTPUTS if c > 0 else 0):
                logits[b, c, 1 + f] = scratch.fractions[c - 1, f]


# ---- layers ----------------------------------------------------------------------------------------


@njit
def evaluate(net: Any, scratch: NetworkScratch, own: Any, pairs: Any, count: int) -> None:
    """Write the logits of holding and of ``count`` candidates, and those of their fractions."""
    h, c = net[CANDIDATE_WIDTH], net[CONTEXT_WIDTH]
    context, shared = address_of(scratch.context), address_of(scratch.shared)
    read_columns(scratch.context, own, net[PLACES], net[NUM_OWN])
    begin(shared, net, CANDIDATE, h)
    multiply(shared, weights_of(net, CANDIDATE, 0, h), context, net[NUM_OWN], h)
    for i in range(count):
        encode_candidate(net, scratch, pairs[i], i)
    pool_candidates(scratch, net[NUM_OWN], h, count)
    first = address_of(scratch.summary)
    second = first + c * INPUT_BYTES
    layer(first, net, CONTEXT, scratch, context, net[NUM_OWN] + 2 * h, c)
    layer(second, net, SUMMARY, scratch, first, c, c)
    scratch.logits[0] = outputs_of(net, HOLD, scratch, second, c)
    begin(shared, net, JOINT, h)
    multiply(shared, weights_of(net, JOINT, h, h), second, c, h)
    for i in range(count):
        score_candidate(net, scratch, i)


@njit
def encode_candidate(net: Any, scratch: NetworkScratch, columns: Any, i: int) -> None:
    """Write the second layer's activations of candidate ``i``, whose columns these are."""
    h, sums, hidden = net[CANDIDATE_WIDTH], address_of(scratch.sums), address_of(scratch.hidden)
    read_columns(scratch.columns, columns, net[PLACES] + net[NUM_OWN] * PLACE_BYTES, net[NUM_PAIR])
    copy_sums(sums, address_of(scratch.shared), h)
    weights = weights_of(net, CANDIDATE, net[NUM_OWN], h)
    multiply(sums, weights, address_of(scratch.columns), net[NUM_PAIR], h)
    activate(hidden, sums, net[SHIFTS + CANDIDATE], h)
    layer(address_of(scratch.candidates[i]), net, HIDDEN, scratch, hidden, h, h)


@njit
def pool_candidates(scratch: NetworkScratch, start: int, h: int, count: int) -> None:
    """Write means and maxima over the candidates into the inputs of the context, from ``start`` on."""
    share = POOL_UNIT // max(1, count)
    for j in range(h):
        total = most = 0
        for i in range(count):
            value = int64(scratch.candidates[i, j])
            total += value
            most = max(most, value)
        scratch.context[start + j] = (total * share) >> POOL_BITS
        scratch.context[start + h + j] = most


@njit
def score_candidate(net: Any, scratch: NetworkScratch, i: int) -> None:
    """Write the logit of candidate ``i``, and those of its fractions."""
    h, sums, hidden = net[CANDIDATE_WIDTH], address_of(scratch.sums), address_of(scratch.hidden)
    copy_sums(sums, address_of(scratch.shared), h)
    multiply(sums, weights_of(net, JOINT, 0, h), address_of(scratch.candidates[i]), h, h)
    activate(hidden, sums, net[SHIFTS + JOINT], h)
    scratch.logits[1 + i] = outputs_of(net, SCORE, scratch, hidden, h)
    for f in range(FRACTION_OUTPUTS):
        scratch.fractions[i, f] = scratch.sums[1 + f]


@njit
def outputs_of(net: Any, number: int, scratch: NetworkScratch, inputs: int, count: int) -> int:
    """Write the outputs of a last layer into ``scratch.sums``, and return the first of them."""
    sums = address_of(scratch.sums)
    begin(sums, net, number, SIXTEEN)
    multiply(sums, weights_of(net, number, 0, SIXTEEN), inputs, count, SIXTEEN)
    put_sums(sums, rounded(sums_at(sums), net[SHIFTS + number]))
    return int64(scratch.sums[0])


@njit
def layer(
    to: int, net: Any, number: int, scratch: NetworkScratch, inputs: int, count: int, outputs: int
) -> None:
    """Write the activations of a hidden layer for ``count`` inputs to the address ``to``."""
    sums = address_of(scratch.sums)
    begin(sums, net, number, outputs)
    multiply(sums, weights_of(net, number, 0, outputs), inputs, count, outputs)
    activate(to, sums, net[SHIFTS + number], outputs)


@njit
def weights_of(net: Any, number: int, first: int, outputs: int) -> int:
    """Return the address of a layer's weights of its inputs from ``first`` on, an even number."""
    return net[WEIGHTS + number] + first * outputs * INPUT_BYTES


@njit
def read_columns(inputs: Any, columns: Any, places: int, count: int) -> None:
    """Write ``count`` columns in the order of the network; ``places``: the address of where they stand."""
    for i in range(count):
        place = number_at(places + i * PLACE_BYTES)
        value = 0 if place == NO_COLUMN else int64(columns[place])
        inputs[i] = min(max(value, -INPUT_LIMIT), INPUT_LIMIT)


@njit
def begin(sums: int, net: Any, number: int, outputs: int) -> None:
    """Begin the sums of a layer with its biases."""
    copy_sums(sums, net[BIASES + number], outputs)


@njit
def copy_sums(to: int, source: int, outputs: int) -> None:
    """Copy ``outputs`` sums from one address to another."""
    for i in range(0, outputs * SUM_BYTES, LINE):
        put_sums(to + i, sums_at(source + i))


@njit
def activate(to: int, sums: int, shift: int, outputs: int) -> None:
    """Write the activations that ``outputs`` sums come to."""
    for i in range(0, outputs, SIXTEEN):
        value = rounded(sums_at(sums + i * SUM_BYTES), shift)
        put_between(to + i * INPUT_BYTES, value, ACTIVATION_LIMIT)


@routine
def multiply(sums: int, weights: int, inputs: int, count: int, outputs: int) -> None:
    """Add the products of ``count`` inputs and their weights to the sums of as many ``outputs``."""
    step, place, end = outputs * 2 * INPUT_BYTES, 0, outputs * SUM_BYTES
    while place + 4 * LINE <= end:
        multiply_four(sums + place, weights + place, inputs, count, step)
        place += 4 * LINE
    while place < end:
        value = sums_at(sums + place)
        for i in range(count // 2):
            pair = pair_at(inputs + i * 2 * INPUT_BYTES)
            value = with_products(value, weights + place + i * step, pair)
        put_sums(sums + place, value)
        place += LINE


@njit
def multiply_four(sums: int, weights: int, inputs: int, count: int, step: int) -> None:
    """Do the same for four times sixteen outputs, so that processors need not wait for one sum."""
    a, b = sums_at(sums), sums_at(sums + LINE)
    c, d = sums_at(sums + 2 * LINE), sums_at(sums + 3 * LINE)
    for i in range(count // 2):
        pair = pair_at(inputs + i * 2 * INPUT_BYTES)
        a, b = with_products(a, weights, pair), with_products(b, weights + LINE, pair)
        c, d = with_products(c, weights + 2 * LINE, pair), with_products(d, weights + 3 * LINE, pair)
        weights += step
    put_sums(sums, a)
    put_sums(sums + LINE, b)
    put_sums(sums + 2 * LINE, c)
    put_sums(sums + 3 * LINE, d)
