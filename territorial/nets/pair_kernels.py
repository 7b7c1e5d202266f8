"""Float32 kernel of ``PairPolicy``: the whole network in one pass.

Of few rows, the fifty operations of PyTorch take most of their time to begin. Here some states are computed
at a time, whose activations stay in the cache. No row depends on those beside it. Without this kernel
``examples/pairs_ppo.py`` takes 1.25 times as long: docs/training_performance.md has the measurement.
"""

from typing import Any, NamedTuple

import numpy as np

from territorial.constants import NUM_FRACTIONS
from territorial.jit.decorators import formula, kernel, njit, routine
from territorial.jit.simd import (
    FLOAT_BYTES,
    SIXTEEN,
    add_float_products,
    address_of,
    float_at,
    put_float,
    turn_outputs,
)
from territorial.nets.choice_kernels import exponential, logarithm
from territorial.observation.pair_columns import OF_PAIR, OWN
from territorial.typing import Floats32, Ints

NUM_OWN, THERE = len(OWN), OF_PAIR.there
LARGEST_INPUT, MASKED = np.float32(4.0), np.float32(-1e9)
ZERO = np.float32(0)
"""Of the type of all else: arithmetic with Python's floats would be in float64."""
CHUNK = 32
"""States that are computed at a time."""
STRIP = 64
"""Outputs that are computed at a time, of layers that have as many."""

OWN_PART, CANDIDATE, HIDDEN, CONTEXT, SUMMARY, STATE_PART, JOINT, SCORE, HOLD, VALUE, WORTH, NUM_LAYERS = (
    range(12)
)
"""The layers; two have inputs that are the same for all candidates of a state, which are layers for
themselves: OWN_PART with CANDIDATE, STATE_PART with JOINT."""
WEIGHTS, BIASES, STEP, INPUTS, OUTPUTS, PLACE = range(6)
"""What the table says of a layer: the address of its weights, output by output, and of its biases, 0 if it
has none; numbers from one output to the next; how many inputs and outputs; where it is in ``packed``."""


class PairScratch(NamedTuple):
    """What some states are computed in, C candidates each; h and c are the widths of the network."""

    first_rows: Ints  # (CHUNK + 1,) where the candidates of each state begin
    places: Ints  # (CHUNK * C,) which of the C each is
    packed: Floats32  # biases and weights of all layers
    columns: Floats32  # (CHUNK * C, K)
    hidden: Floats32  # (CHUNK * C, h)
    candidates: Floats32  # (CHUNK * C, h)
    scores: Floats32  # (CHUNK * C, 16)
    context: Floats32  # (CHUNK, 35 + 2 * h)
    first: Floats32  # (CHUNK, c)
    second: Floats32  # (CHUNK, c)
    shared: Floats32  # (CHUNK, h)
    last: Floats32  # (CHUNK, 16)
    targets: Floats32  # (C,)


def make_pair_scratch(layers: Ints, num_candidates: int) -> PairScratch:
    """Return room for a network with these layers; ``layers``: as in ``play_pairs``."""
    rows, h, c = CHUNK * num_candidates, int(layers[HIDDEN, OUTPUTS]), int(layers[SUMMARY, OUTPUTS])
    shapes = [
        (int(layers[NUM_LAYERS, PLACE]),),
        (rows, int(layers[CANDIDATE, INPUTS])),
        (rows, h),
        (rows, h),
        (rows, SIXTEEN),
        (CHUNK, NUM_OWN + 2 * h),
        (CHUNK, c),
        (CHUNK, c),
        (CHUNK, h),
        (CHUNK, SIXTEEN),
        (num_candidates,),
    ]
    floats = (np.empty(shape, np.float32) for shape in shapes)
    return PairScratch(np.zeros(CHUNK + 1, np.int64), np.zeros(rows, np.int64), *floats)


@kernel
def play_pairs(
    layers: Any, scratch: PairScratch, own: Any, pairs: Any, mask: Any, logits: Any, values: Any
) -> None:
    """Write the masked logits and the values of B states.

    Args:
        layers: int64 (NUM_LAYERS + 1, 6), WEIGHTS ... of each, and where they end in ``packed``.
        scratch: of ``make_pair_scratch``.
        own: float32 (B, 35).
        pairs: float32 (B, C, K), K being the inputs of CANDIDATE.
        mask: int8 (B, 1 + 10 * C), above 0 for legal actions.
        logits: float32 (B, 1 + 10 * C), written.
        values: float32 (B,), written.

    """
    for number in range(NUM_LAYERS):
        pack(layers[number], address_of(scratch.packed))
    for begin in range(0, len(own), CHUNK):
        end = min(begin + CHUNK, len(own))
        read_states(scratch, own[begin:end], pairs[begin:end])
        find_joint(layers, scratch, end - begin)
        write_logits(scratch, layers, mask[begin:end], logits[begin:end])
        write_values(scratch, layers, values[begin:end])


# ---- weights ---------------------------------------------------------------------------------------


@routine
def pack(layer: Any, packed: int) -> None:
    """Write the biases of a layer, and its weights input by input, one strip of outputs after the other."""
    outputs, width = layer[OUTPUTS], padded(layer[OUTPUTS])
    source_step = layer[STEP] * FLOAT_BYTES
    to = packed + layer[PLACE] * FLOAT_BYTES
    for o in range(width):
        is_there = layer[BIASES] != 0 and o < outputs
        put_float(to + o * FLOAT_BYTES, float_at(layer[BIASES] + o * FLOAT_BYTES) if is_there else ZERO)
    for first in range(0, width, SIXTEEN):
        strip = first // STRIP * STRIP  # the first output of its strip
        strip = strip if strip + STRIP <= width else first
        at = to + (width + strip * layer[INPUTS] + first - strip) * FLOAT_BYTES
        step = strip_width(strip, width) * FLOAT_BYTES
        source = layer[WEIGHTS] + first * source_step
        turn_outputs(source, source_step, outputs - first, layer[INPUTS], at, step)


@formula
def padded(outputs: Any) -> Any:
    """Return how many outputs are computed of a layer that has so many."""
    return (outputs + SIXTEEN - 1) // SIXTEEN * SIXTEEN


@njit
def strip_width(strip: int, width: int) -> int:
    """Return how many outputs the strip has that begins with ``strip``."""
    return STRIP if strip + STRIP <= width else SIXTEEN


# ---- layers ----------------------------------------------------------------------------------------


@njit
def read_states(scratch: PairScratch, own: Any, pairs: Any) -> None:
    """Write the columns of states and of their candidates, within bounds."""
    count = 0
    for i in range(len(own)):
        for k in range(NUM_OWN):
            scratch.context[i, k] = min(max(own[i, k], -LARGEST_INPUT), LARGEST_INPUT)
        scratch.first_rows[i] = count
        for c in range(pairs.shape[1]):
            if pairs[i, c, THERE] > ZERO:
                for k in range(pairs.shape[2]):
                    scratch.columns[count, k] = min(max(pairs[i, c, k], -LARGEST_INPUT), LARGEST_INPUT)
                scratch.places[count] = c
                count += 1
    scratch.first_rows[len(own)] = count


@njit
def find_joint(layers: Any, scratch: PairScratch, states: int) -> None:
    """Write the activations of the last hidden layers: of candidates ``hidden``, of states ``second``."""
    rows = scratch.first_rows[states]
    linear_layer(scratch, layers[OWN_PART], scratch.context, scratch.shared, states)
    spread(scratch, states)
    multiply(scratch, layers[CANDIDATE], scratch.columns, scratch.hidden, rows)
    activate(scratch.hidden, rows)
    hidden_layer(scratch, layers[HIDDEN], scratch.hidden, scratch.candidates, rows)
    pool(scratch, states)
    hidden_layer(scratch, layers[CONTEXT], scratch.context, scratch.first, states)
    hidden_layer(scratch, layers[SUMMARY], scratch.first, scratch.second, states)
    linear_layer(scratch, layers[STATE_PART], scratch.second, scratch.shared, states)
    spread(scratch, states)
    multiply(scratch, layers[JOINT], scratch.candidates, scratch.hidden, rows)
    activate(scratch.hidden, rows)


@njit
def spread(scratch: PairScratch, states: int) -> None:
    """Begin the sums of every candidate with what is the same for all of its state."""
    for i in range(states):
        for row in range(scratch.first_rows[i], scratch.first_rows[i + 1]):
            for j in range(scratch.hidden.shape[1]):
                scratch.hidden[row, j] = scratch.shared[i, j]


@njit
def pool(scratch: PairScratch, states: int) -> None:
    """Write means and maxima over the candidates of each state into what the context sees."""
    h = scratch.candidates.shape[1]
    for i in range(states):
        first, end = scratch.first_rows[i], scratch.first_rows[i + 1]
        means = scratch.context[i, NUM_OWN : NUM_OWN + h]
        maxima = scratch.context[i, NUM_OWN + h :]
        for j in range(h):
            means[j] = maxima[j] = ZERO
        for row in range(first, end):
            for j in range(h):
                value = scratch.candidates[row, j]
                means[j] += value
                maxima[j] = max(maxima[j], value)
        count = np.float32(max(1, end - first))
        for j in range(h):
            means[j] /= count


@njit
def hidden_layer(scratch: PairScratch, layer: Any, inputs: Any, out: Any, rows: int) -> None:
    """Write the activations of a layer."""
    linear_layer(scratch, layer, inputs, out, rows)
    activate(out, rows)


@njit
def linear_layer(scratch: PairScratch, layer: Any, inputs: Any, out: Any, rows: int) -> None:
    """Write the outputs of a layer as they are, of the last ones sixteen a row."""
    for i in range(rows):
        for j in range(out.shape[1]):
            out[i, j] = scratch.packed[layer[PLACE] + j]
    multiply(scratch, layer, inputs, out, rows)


@njit
def activate(sums: Any, rows: int) -> None:
    """Let no sum be below zero."""
    for i in range(rows):
        for j in range(sums.shape[1]):
            sums[i, j] = max(sums[i, j], ZERO)


@njit
def multiply(scratch: PairScratch, layer: Any, inputs: Any, sums: Any, rows: int) -> None:
    """Add the products of a layer to ``sums``; of each row the first ``inputs`` are read."""
    width = padded(layer[OUTPUTS])
    weights = address_of(scratch.packed) + (layer[PLACE] + width) * FLOAT_BYTES
    step = inputs.shape[1] * FLOAT_BYTES
    add_all_products(address_of(sums), weights, address_of(inputs), step, rows, layer[INPUTS], width)


@routine
def add_all_products(
    sums: int, weights: int, inputs: int, step: int, rows: int, count: int, width: int
) -> None:
    """Add products to sums, ``rows`` times ``width``; ``step``: bytes from one row of inputs to the next."""
    nbytes, place = width * FLOAT_BYTES, 0
    while place < width:
        wide = strip_width(place, width)
        to, at, read, left = sums + place * FLOAT_BYTES, weights + place * count * FLOAT_BYTES, inputs, rows
        line = wide * FLOAT_BYTES
        if wide == STRIP:
            while left >= 4:
                add_float_products(4, 4, to, nbytes, at, line, read, step, count, 0)
                to, read, left = to + 4 * nbytes, read + 4 * step, left - 4
            while left > 0:
                add_float_products(1, 4, to, nbytes, at, line, read, step, count, 0)
                to, read, left = to + nbytes, read + step, left - 1
        else:
            while left >= 8:
                add_float_products(8, 1, to, nbytes, at, line, read, step, count, 0)
                to, read, left = to + 8 * nbytes, read + 8 * step, left - 8
            while left > 0:
                add_float_products(1, 1, to, nbytes, at, line, read, step, count, 0)
                to, read, left = to + nbytes, read + step, left - 1
        place += wide


# ---- what comes of it ------------------------------------------------------------------------------


@njit
def write_values(scratch: PairScratch, layers: Any, values: Any) -> None:
    """Write the values of states."""
    states = len(values)
    hidden_layer(scratch, layers[VALUE], scratch.second, scratch.shared, states)
    linear_layer(scratch, layers[WORTH], scratch.shared, scratch.last, states)
    for i in range(states):
        values[i] = scratch.last[i, 0]


@njit
def write_logits(scratch: PairScratch, layers: Any, mask: Any, logits: Any) -> None:
    """Write the masked logits of states: log p(target) + log p(fraction | target)."""
    states = len(mask)
    linear_layer(scratch, layers[SCORE], scratch.hidden, scratch.scores, scratch.first_rows[states])
    linear_layer(scratch, layers[HOLD], scratch.second, scratch.last, states)
    for i in range(states):
        put_scores(scratch, i, logits[i])
        norm = norm_of_targets(scratch.last[i, 0], scratch.targets, mask[i])
        for c in range(len(scratch.targets)):
            end = 1 + NUM_FRACTIONS * (c + 1)
            launches, legal = logits[i, end - NUM_FRACTIONS : end], mask[i, end - NUM_FRACTIONS : end]
            weigh_launches(launches, legal, scratch.targets[c] - norm)
        logits[i, 0] = scratch.last[i, 0] - norm if mask[i, 0] > 0 else MASKED


@njit
def put_scores(scratch: PairScratch, state: int, out: Any) -> None:
    """Write the scores of a state's candidates, and those of fractions to ``out``; 0 where none is there."""
    scratch.targets[:] = ZERO
    out[:] = ZERO
    for row in range(scratch.first_rows[state], scratch.first_rows[state + 1]):
        c = scratch.places[row]
        scratch.targets[c] = scratch.scores[row, 0]
        for k in range(NUM_FRACTIONS):
            out[1 + NUM_FRACTIONS * c + k] = scratch.scores[row, 1 + k]


@njit
def norm_of_targets(hold: Any, targets: Any, mask: Any) -> Any:
    """Return the logarithm of what holding and all legal targets weigh together, and mask the others."""
    highest = hold
    for c in range(len(targets)):
        first, is_any = 1 + NUM_FRACTIONS * c, False
        for k in range(first, first + NUM_FRACTIONS):
            is_any = is_any or mask[k] > 0
        targets[c] = targets[c] if is_any else MASKED
        highest = max(highest, targets[c])
    total: Any = np.float32(exponential(hold - highest))
    for c in range(len(targets)):
        total += np.float32(exponential(targets[c] - highest)) if targets[c] > MASKED else ZERO
    return highest + np.float32(logarithm(total))


@njit
def weigh_launches(out: Any, legal: Any, of_target: Any) -> None:
    """Write the logits of the launches at a target, of whose fractions ``out`` has the scores."""
    highest: Any = MASKED
    total: Any = ZERO
    for k in range(NUM_FRACTIONS):
        highest = max(highest, out[k]) if legal[k] > 0 else highest
    for k in range(NUM_FRACTIONS):
        total += np.float32(exponential(out[k] - highest)) if legal[k] > 0 else ZERO
    if total > ZERO:
        of_target -= highest + np.float32(logarithm(total))
    for k in range(NUM_FRACTIONS):
        out[k] = out[k] + of_target if legal[k] > 0 else MASKED
