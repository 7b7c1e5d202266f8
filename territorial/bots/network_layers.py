"""Integer layers of networks in the engine, for several seats at once.

These seats are a group. All of them, and all of their candidates, share the weights that are read. What is
the same for all candidates of a seat is summed once: the part of the own columns in the first layer, that of
the context in the last but one. docs/networks.md defines every step.
"""

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
)
from territorial.jit.decorators import njit, routine
from territorial.jit.simd import (
    SIXTEEN,
    add_products,
    address_of,
    aligned_zeros,
    half_at,
    halves_at,
    larger,
    number_at,
    parts_of,
    put_between,
    put_half,
    put_sums,
    rounded,
    sums_at,
    zeros,
)

CANDIDATE, HIDDEN, CONTEXT, SUMMARY, JOINT, SCORE, HOLD = range(len(LAYERS))

TEMPERATURE, NUM_CANDIDATES, NUM_OWN, NUM_PAIR, CANDIDATE_WIDTH, CONTEXT_WIDTH = range(6)
"""What a row of the table of networks says; widths in activations. Without a network all of it is 0."""
LEGAL_PLACE, PLACES, IN_ORDER = 6, 7, 8
"""Where ``pairs`` says whether a launch is legal; the address of where the columns stand; 1 if each place is
that in the network."""
WEIGHTS, BIASES, SHIFTS = 9, 9 + len(LAYERS), 9 + 2 * len(LAYERS)
"""Addresses of weights and of biases, and shifts, one a layer."""
NUM_NUMBERS = 9 + 3 * len(LAYERS)
NO_COLUMN = -1
"""The place of an input that is there only because inputs come in pairs."""

POOL_BITS = 16
POOL_UNIT = 2**POOL_BITS
"""Means are sums times a part of it."""
SUM_BYTES, INPUT_BYTES, PLACE_BYTES = 4, 2, 8
LINE = SIXTEEN * SUM_BYTES
"""Bytes of sixteen sums, and of the pairs of weights that are added to them."""
GROUP = 8
"""Seats of a network that decide at once at most; their candidates are at most MOST_CANDIDATES."""


class NetworkScratch(NamedTuple):
    """Scratch memory for the seats of a network that decide together.

    Every thread needs its own. Matrices lie row by row, without room between them.
    """

    ahead: npt.NDArray[np.int64]  # (1,) how many bytes behind its weights those of the next network lie
    num_seats: npt.NDArray[np.int64]  # (1,) of the group
    first_rows: npt.NDArray[
        np.int64
    ]  # (GROUP + 1,) where the candidates of each seat begin; where the last end
    columns: npt.NDArray[np.int16]  # of the candidates, in the order of the network
    is_legal: npt.NDArray[np.bool_]  # (MOST_CANDIDATES,)
    hidden: npt.NDArray[np.int16]  # activations of the first layer of candidates, and of joint
    candidates: npt.NDArray[np.int16]  # activations of the second
    context: npt.NDArray[np.int16]  # of the seats: own columns, means, maxima
    first: npt.NDArray[np.int16]  # activations of context
    second: npt.NDArray[np.int16]  # activations of summary
    shared: npt.NDArray[np.int32]  # of the seats: sums that are the same for all candidates
    sums: npt.NDArray[np.int32]
    logits: npt.NDArray[np.int64]  # of each seat holding, then its candidates
    fractions: npt.NDArray[np.int64]  # (MOST_CANDIDATES, FRACTION_OUTPUTS)


def make_network_scratch() -> NetworkScratch:
    """Return room for decisions of networks of any size."""
    return NetworkScratch(
        ahead=np.zeros(1, np.int64),
        num_seats=np.zeros(1, np.int64),
        first_rows=np.zeros(GROUP + 1, np.int64),
        columns=aligned_zeros((MOST_CANDIDATES * MOST_COLUMNS,), np.int16),
        is_legal=np.zeros(MOST_CANDIDATES, np.bool_),
        hidden=aligned_zeros((MOST_CANDIDATES * MOST_WIDTH,), np.int16),
        candidates=aligned_zeros((MOST_CANDIDATES * MOST_WIDTH,), np.int16),
        context=aligned_zeros((GROUP * (MOST_COLUMNS + 2 * MOST_WIDTH),), np.int16),
        first=aligned_zeros((GROUP * MOST_WIDTH,), np.int16),
        second=aligned_zeros((GROUP * MOST_WIDTH,), np.int16),
        shared=aligned_zeros((GROUP * MOST_WIDTH,), np.int32),
        sums=aligned_zeros((MOST_CANDIDATES * MOST_WIDTH,), np.int32),
        logits=np.zeros(GROUP + MOST_CANDIDATES, np.int64),
        fractions=np.zeros((MOST_CANDIDATES, FRACTION_OUTPUTS), np.int64),
    )


# ---- a group ---------------------------------------------------------------------------------------


@njit
def begin_group(scratch: NetworkScratch) -> None:
    """Begin a group without seats."""
    scratch.num_seats[0] = scratch.first_rows[0] = 0


@njit
def may_join(scratch: NetworkScratch, count: int) -> bool:
    """Return whether the group has room for another seat, with ``count`` candidates."""
    seats = scratch.num_seats[0]
    return seats < GROUP and scratch.first_rows[seats] + count <= MOST_CANDIDATES


@njit
def join(net: Any, scratch: NetworkScratch, own: Any, pairs: Any, count: int) -> None:
    """Add a seat, which sees this, to the group that network ``net`` decides for."""
    seat, num_own, num_pair = scratch.num_seats[0], net[NUM_OWN], net[NUM_PAIR]
    context = address_of(scratch.context) + seat * (num_own + 2 * net[CANDIDATE_WIDTH]) * INPUT_BYTES
    is_in_order = net[IN_ORDER] != 0
    read_columns(context, address_of(own), net[PLACES], num_own, is_in_order)
    first = scratch.first_rows[seat]
    columns = address_of(scratch.columns) + first * num_pair * INPUT_BYTES
    for i in range(count):
        places = net[PLACES] + num_own * PLACE_BYTES
        read_columns(columns, address_of(pairs[i]), places, num_pair, is_in_order)
        scratch.is_legal[first + i] = pairs[i, net[LEGAL_PLACE]] > 0
        columns += num_pair * INPUT_BYTES
    scratch.num_seats[0], scratch.first_rows[seat + 1] = seat + 1, first + count


@njit
def read_columns(to: int, columns: int, places: int, count: int, is_in_order: bool) -> None:
    """Write ``count`` columns in the order of the network to the address ``to``.

    ``columns``, ``places``: the addresses of them and of where they stand, which is 0, 1 ... ``is_in_order``.
    """
    i = 0
    while is_in_order and i < count and count >= SIXTEEN:
        i = min(i, count - SIXTEEN)
        values = halves_at(columns + i * INPUT_BYTES)
        put_between(to + i * INPUT_BYTES, values, -INPUT_LIMIT, INPUT_LIMIT)
        i += SIXTEEN
    while i < count:
        place = number_at(places + i * PLACE_BYTES)
        value = 0 if place == NO_COLUMN else half_at(columns + place * INPUT_BYTES)
        put_half(to + i * INPUT_BYTES, min(max(value, -INPUT_LIMIT), INPUT_LIMIT))
        i += 1


# ---- layers ----------------------------------------------------------------------------------------


@routine
def evaluate(net: Any, scratch: NetworkScratch) -> None:
    """Write the logits of all options of the group, and of their fractions."""
    h, c, own = net[CANDIDATE_WIDTH], net[CONTEXT_WIDTH], net[NUM_OWN]
    seats, inputs = scratch.num_seats[0], own + 2 * h
    context, shared = address_of(scratch.context), address_of(scratch.shared)
    first, second, ahead = address_of(scratch.first), address_of(scratch.second), scratch.ahead[0]
    begin(shared, net, CANDIDATE, seats, h)
    multiply(shared, weights_of(net, CANDIDATE, 0, h), context, inputs, seats, own, h, ahead)
    encode_candidates(net, scratch, h)
    pool_candidates(scratch, own, h)
    layer(first, net, CONTEXT, scratch, context, seats, inputs, c)
    layer(second, net, SUMMARY, scratch, first, seats, c, c)
    outputs_of(net, HOLD, scratch, second, seats, c)
    for seat in range(seats):
        scratch.logits[seat + scratch.first_rows[seat]] = scratch.sums[seat * SIXTEEN]
    begin(shared, net, JOINT, seats, h)
    multiply(shared, weights_of(net, JOINT, h, h), second, c, seats, c, h, ahead)
    score_candidates(net, scratch, h)


@njit
def encode_candidates(net: Any, scratch: NetworkScratch, h: int) -> None:
    """Write the second layer's activations of all candidates."""
    rows, count = scratch.first_rows[scratch.num_seats[0]], net[NUM_PAIR]
    sums, hidden = address_of(scratch.sums), address_of(scratch.hidden)
    spread(scratch, h)
    weights = weights_of(net, CANDIDATE, net[NUM_OWN], h)
    multiply(sums, weights, address_of(scratch.columns), count, rows, count, h, scratch.ahead[0])
    activate(hidden, sums, net[SHIFTS + CANDIDATE], rows * h)
    layer(address_of(scratch.candidates), net, HIDDEN, scratch, hidden, rows, h, h)


@njit
def pool_candidates(scratch: NetworkScratch, own: int, h: int) -> None:
    """Write means and maxima over the candidates of each seat into the inputs of the context."""
    for seat in range(scratch.num_seats[0]):
        row, end = scratch.first_rows[seat], scratch.first_rows[seat + 1]
        source = address_of(scratch.candidates) + row * h * INPUT_BYTES
        to = address_of(scratch.context) + (seat * (own + 2 * h) + own) * INPUT_BYTES
        for i in range(0, h * INPUT_BYTES, SIXTEEN * INPUT_BYTES):
            pool(to + i, to + h * INPUT_BYTES + i, source + i, end - row, h * INPUT_BYTES)


@njit
def pool(means: int, maxima: int, source: int, count: int, step: int) -> None:
    """Write means and maxima of sixteen activations over ``count`` candidates, so many bytes apart."""
    total = most = zeros()
    for i in range(count):
        values = halves_at(source + i * step)
        total, most = total + values, larger(most, values)
    put_between(means, parts_of(total, POOL_UNIT // max(1, count), POOL_BITS), 0, ACTIVATION_LIMIT)
    put_between(maxima, most, 0, ACTIVATION_LIMIT)


@njit
def score_candidates(net: Any, scratch: NetworkScratch, h: int) -> None:
    """Write the logits of all candidates, and of their fractions."""
    seats = scratch.num_seats[0]
    rows, sums, hidden = scratch.first_rows[seats], address_of(scratch.sums), address_of(scratch.hidden)
    spread(scratch, h)
    multiply(
        sums, weights_of(net, JOINT, 0, h), address_of(scratch.candidates), h, rows, h, h, scratch.ahead[0]
    )
    activate(hidden, sums, net[SHIFTS + JOINT], rows * h)
    outputs_of(net, SCORE, scratch, hidden, rows, h)
    for seat in range(seats):
        for i in range(scratch.first_rows[seat], scratch.first_rows[seat + 1]):
            scratch.logits[1 + seat + i] = scratch.sums[i * SIXTEEN]
            for f in range(FRACTION_OUTPUTS):
                scratch.fractions[i, f] = scratch.sums[i * SIXTEEN + 1 + f]


@njit
def spread(scratch: NetworkScratch, h: int) -> None:
    """Begin the sums of every candidate with the part that all candidates of its seat share."""
    sums, shared, width = address_of(scratch.sums), address_of(scratch.shared), h * SUM_BYTES
    for seat in range(scratch.num_seats[0]):
        for i in range(scratch.first_rows[seat], scratch.first_rows[seat + 1]):
            copy_sums(sums + i * width, shared + seat * width, h)


@njit
def outputs_of(net: Any, number: int, scratch: NetworkScratch, inputs: int, rows: int, count: int) -> None:
    """Write the outputs of a last layer into ``scratch.sums``, sixteen a row."""
    sums = address_of(scratch.sums)
    begin(sums, net, number, rows, SIXTEEN)
    multiply(sums, weights_of(net, number, 0, SIXTEEN), inputs, count, rows, count, SIXTEEN, scratch.ahead[0])
    for i in range(rows):
        put_sums(sums + i * LINE, rounded(sums_at(sums + i * LINE), net[SHIFTS + number]))


@njit
def layer(
    to: int, net: Any, number: int, scratch: NetworkScratch, inputs: int, rows: int, count: int, outputs: int
) -> None:
    """Write the activations of a hidden layer, of ``rows`` times ``count`` inputs, to the address ``to``."""
    sums = address_of(scratch.sums)
    begin(sums, net, number, rows, outputs)
    multiply(sums, weights_of(net, number, 0, outputs), inputs, count, rows, count, outputs, scratch.ahead[0])
    activate(to, sums, net[SHIFTS + number], rows * outputs)


@njit
def weights_of(net: Any, number: int, first: int, outputs: int) -> int:
    """Return the address of a layer's weights of its inputs from ``first`` on, an even number."""
    return net[WEIGHTS + number] + first * outputs * INPUT_BYTES


@njit
def begin(sums: int, net: Any, number: int, rows: int, outputs: int) -> None:
    """Begin the sums of a layer with its biases."""
    for i in range(rows):
        copy_sums(sums + i * outputs * SUM_BYTES, net[BIASES + number], outputs)


@njit
def copy_sums(to: int, source: int, outputs: int) -> None:
    """Copy ``outputs`` sums from one address to another."""
    for i in range(0, outputs * SUM_BYTES, LINE):
        put_sums(to + i, sums_at(source + i))


@njit
def activate(to: int, sums: int, shift: int, count: int) -> None:
    """Write the activations that ``count`` sums come to."""
    for i in range(0, count, SIXTEEN):
        value = rounded(sums_at(sums + i * SUM_BYTES), shift)
        put_between(to + i * INPUT_BYTES, value, 0, ACTIVATION_LIMIT)


# ---- products --------------------------------------------------------------------------------------


@routine
def multiply(
    sums: int, weights: int, inputs: int, width: int, rows: int, count: int, outputs: int, ahead: int
) -> None:
    """Add the products of inputs and weights to sums, ``rows`` times ``outputs``.

    Of every row of ``width`` inputs the first ``count`` are read. Rows share the weights that are read, and
    processors need not wait for one sum while there are others. Meanwhile the weights so many bytes ``ahead``
    are fetched.
    """
    pairs, step, nbytes = count // 2, width * INPUT_BYTES, outputs * SUM_BYTES
    while rows >= 4:
        multiply_four(sums, weights, inputs, step, pairs, nbytes, ahead)
        sums, inputs, rows = sums + 4 * nbytes, inputs + 4 * step, rows - 4
    if rows >= 2:
        multiply_two(sums, weights, inputs, step, pairs, nbytes, ahead)
        sums, inputs, rows = sums + 2 * nbytes, inputs + 2 * step, rows - 2
    if rows == 1:
        multiply_one(sums, weights, inputs, pairs, nbytes, ahead)


@njit
def multiply_four(
    sums: int, weights: int, inputs: int, step: int, pairs: int, nbytes: int, ahead: int
) -> None:
    """Multiply four rows; ``nbytes``: of the sums of a row, and of the weights of a pair of inputs."""
    place = 0
    while place + 4 * LINE <= nbytes:
        add_products(4, 4, sums + place, nbytes, weights + place, nbytes, inputs, step, pairs, ahead)
        place += 4 * LINE
    while place < nbytes:
        add_products(4, 1, sums + place, nbytes, weights + place, nbytes, inputs, step, pairs, ahead)
        place += LINE


@njit
def multiply_two(
    sums: int, weights: int, inputs: int, step: int, pairs: int, nbytes: int, ahead: int
) -> None:
    """Multiply two rows."""
    place = 0
    while place + 4 * LINE <= nbytes:
        add_products(2, 4, sums + place, nbytes, weights + place, nbytes, inputs, step, pairs, ahead)
        place += 4 * LINE
    while place < nbytes:
        add_products(2, 1, sums + place, nbytes, weights + place, nbytes, inputs, step, pairs, ahead)
        place += LINE


@njit
def multiply_one(sums: int, weights: int, inputs: int, pairs: int, nbytes: int, ahead: int) -> None:
    """Multiply one row."""
    place = 0
    while place + 8 * LINE <= nbytes:
        add_products(1, 8, sums + place, 0, weights + place, nbytes, inputs, 0, pairs, ahead)
        place += 8 * LINE
    while place + 4 * LINE <= nbytes:
        add_products(1, 4, sums + place, 0, weights + place, nbytes, inputs, 0, pairs, ahead)
        place += 4 * LINE
    while place < nbytes:
        add_products(1, 1, sums + place, 0, weights + place, nbytes, inputs, 0, pairs, ahead)
        place += LINE
