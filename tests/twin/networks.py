"""Networks in the engine, evaluated in plain Python integers, from docs/networks.md alone."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any, NamedTuple

from tests.twin.rng import H

STREAM, FIRST_DRAW, DRAWS_A_PLAYER = 7, 256, 512

Row = Sequence[int]
# The columns of a row by name.
Named = Mapping[str, int]


class PlainLayer(NamedTuple):
    """A layer: a row of weights for every output."""

    weights: list[list[int]]
    biases: list[int]
    shift: int

    def sums(self, inputs: Row) -> list[int]:
        """Return the sums of all outputs, shifted."""
        half = 1 << (self.shift - 1)
        return [
            (bias + sum(w * x for w, x in zip(row, inputs, strict=True)) + half) >> self.shift
            for row, bias in zip(self.weights, self.biases, strict=True)
        ]

    def activations(self, inputs: Row) -> list[int]:
        """Return the same between 0 and 8191."""
        return [min(8191, max(0, value)) for value in self.sums(inputs)]


class PlainNetwork(NamedTuple):
    """A network, read from the bytes of its file."""

    about: dict[str, Any]
    layers: dict[str, PlainLayer]


class Logits(NamedTuple):
    """What a network thinks of holding, of every candidate, and of the ten fractions against each."""

    hold: int
    candidates: list[int]
    fractions: list[list[int]]


def parse(data: bytes) -> PlainNetwork:
    """Return the network in a file; ValueError where its digest is another."""
    length = int.from_bytes(data[:8], "little")
    header, content = json.loads(data[8 : 8 + length]), data[8 + length :]
    about = json.loads(header.pop("__metadata__")["territorial.network"])
    tensors = {name: content[slice(*entry["data_offsets"])] for name, entry in header.items()}
    text = json.dumps(
        {k: v for k, v in about.items() if k != "digest"}, sort_keys=True, separators=(",", ":")
    )
    digest = hashlib.sha256(text.encode() + b"".join(tensors[name] for name in sorted(tensors)))
    if digest.hexdigest() != about["digest"]:
        raise ValueError(f"the digest is {about['digest']}; the content has {digest.hexdigest()}")
    layers = {}
    for name, shift in about["shifts"].items():
        biases = _numbers(tensors[f"{name}.biases"], 4)
        paired = _numbers(tensors[f"{name}.weights"], 2)
        outputs, inputs = len(biases), len(paired) // len(biases)
        # Input i of output j is entry (i // 2, j, i % 2).
        weights = [
            [paired[(i // 2 * outputs + j) * 2 + i % 2] for i in range(inputs)] for j in range(outputs)
        ]
        layers[name] = PlainLayer(weights, biases, shift)
    return PlainNetwork(about, layers)


def _numbers(data: bytes, width: int) -> list[int]:
    return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]


def logits(network: PlainNetwork, own: Named, candidates: Sequence[Named]) -> Logits:
    """Return the logits of a state: the columns of own by name, and those of each candidate that is there."""
    layers, columns = network.layers, _read(network, "own_columns", own)
    hidden = []
    for candidate in candidates:
        first = layers["candidate"].activations(columns + _read(network, "pair_columns", candidate))
        hidden.append(layers["hidden"].activations(first))
    share = 65536 // max(1, len(hidden))
    width = network.about["candidate_width"]
    means = [sum(row[j] for row in hidden) * share >> 16 for j in range(width)]
    maxima = [max((row[j] for row in hidden), default=0) for j in range(width)]
    context = layers["summary"].activations(layers["context"].activations(columns + means + maxima))
    outputs = [layers["score"].sums(layers["joint"].activations(row + context)) for row in hidden]
    return Logits(
        layers["hold"].sums(context)[0], [row[0] for row in outputs], [row[1:11] for row in outputs]
    )


def _read(network: PlainNetwork, table: str, columns: Named) -> list[int]:
    """Return the columns that the network reads, in its order, between the limits, an even number of them."""
    values = [min(16384, max(-16384, columns[name])) for name, _version in network.about[table]]
    return values + [0] * (len(values) % 2)


def decide(
    network: PlainNetwork,
    own: Named,
    candidates: Sequence[Named],
    *,
    seed: int,
    tick: int,
    player: int,
    temperature: int | None = None,
) -> tuple[int, int] | None:
    """Return the position of the candidate to attack and the number of the fraction, or None to hold.

    ``temperature``: 256ths, instead of that of the file.
    """
    heat = network.about["temperature"] if temperature is None else temperature
    found = logits(network, own, candidates)
    legal = [i for i, candidate in enumerate(candidates) if candidate["legal"] > 0]
    options = [found.hold] + [found.candidates[i] for i in legal]
    draws = [H(seed, STREAM, tick, player * DRAWS_A_PLAYER + FIRST_DRAW + i) for i in range(2)]
    chosen = choose(options, heat, draws[0])
    if chosen == 0:
        return None
    candidate = legal[chosen - 1]
    return candidate, choose(found.fractions[candidate], heat, draws[1])


def choose(options: Row, temperature: int, number: int) -> int:
    """Return the position of the option that is chosen."""
    best = max(options)
    if temperature == 0:
        return options.index(best)
    parts = [likelihood((best - option) * 16 // temperature) for option in options]
    left = number % sum(parts)
    for i, part in enumerate(parts):
        if left < part:
            return i
        left -= part
    raise AssertionError("the parts are less than their sum")


def likelihood(parts: int) -> int:
    """Return 2 ** 32 * 2 ** (-parts / 256), rounded down twice as the page says."""
    power = 1 << (8192 - parts % 256)
    for _ in range(8):
        power = isqrt(power)
    return power >> (parts // 256)
