"""A network on pairs that acts and does not learn: a kernel computes it, where that comes to the same."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from territorial.constants import NUM_FRACTIONS
from territorial.decode.recorded import is_recorded
from territorial.jit.products import FLOAT_BYTES
from territorial.nets.layers import are_plain, is_plain_mlp
from territorial.nets.pair_kernels import (
    CANDIDATE,
    CONTEXT,
    HIDDEN,
    HOLD,
    JOINT,
    NUM_LAYERS,
    NUM_OWN,
    OWN_PART,
    PLACE,
    SCORE,
    STATE_PART,
    SUMMARY,
    VALUE,
    WORTH,
    PairScratch,
    make_pair_scratch,
    packed_sizes,
    play_pairs,
)
from territorial.nets.pair_network import PairNetwork
from territorial.observation.pair_columns import pair_columns
from territorial.typing import Ints

MOST_ROWS = 2048
"""More rows are left to PyTorch, whose threads share them."""


def computed(network: PairNetwork, own: Tensor, pairs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return what ``PairPolicy.forward`` does, or None where the kernel cannot compute it.

    It reads float32 and masks of int8, on the processor, and layers as ``PairNetwork`` has made them. It
    has no gradients.
    """
    is_other = torch.is_grad_enabled() or is_recorded() or torch.is_autocast_enabled("cpu")
    if is_other or not _are_read(own, pairs, mask, len(pair_columns(teams=network.teams))):
        return None
    layers = _layers_of(network)
    if layers is None:
        return None
    logits, values = np.empty(mask.shape, np.float32), np.empty(len(own), np.float32)
    scratch = layers.scratch(pairs.shape[1])
    play_pairs(layers.table, scratch, own.numpy(), pairs.numpy(), mask.numpy(), logits, values)
    return torch.from_numpy(logits), torch.from_numpy(values)


def _are_read(own: Tensor, pairs: Tensor, mask: Tensor, columns: int) -> bool:
    states, candidates = pairs.shape[:2]
    shapes = (states, NUM_OWN), (states, candidates, columns), (states, 1 + NUM_FRACTIONS * candidates)
    is_read = _is_read(own, torch.float32) and _is_read(pairs, torch.float32) and _is_read(mask, torch.int8)
    return is_read and states <= MOST_ROWS and (own.shape, pairs.shape, mask.shape) == shapes


def _is_read(part: Tensor, dtype: torch.dtype) -> bool:
    return part.dtype is dtype and part.is_cpu and part.is_contiguous()


# ---- layers ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _KnownLayers:
    """The layers of a network as they were found, kept for its next call."""

    linear: tuple[nn.Linear, ...]
    addresses: tuple[int, ...]
    """Of their weights and biases."""
    table: Ints
    """What the kernel has to know of them."""
    by_candidates: dict[int, PairScratch] = field(default_factory=dict)

    def scratch(self, num_candidates: int) -> PairScratch:
        """Return room to compute in: memory that is new has to be mapped first, which takes as long."""
        if num_candidates not in self.by_candidates:
            self.by_candidates[num_candidates] = make_pair_scratch(self.table, num_candidates)
        return self.by_candidates[num_candidates]


class _Kept(threading.local):
    """The layers of each network that this thread has computed, until they are changed."""

    def __init__(self) -> None:
        self.by_network: WeakKeyDictionary[PairNetwork, _KnownLayers] = WeakKeyDictionary()


_KEPT = _Kept()


def _layers_of(network: PairNetwork) -> _KnownLayers | None:
    """Return the layers; None if other layers, or other code, have taken their place."""
    kind = type(network)
    if kind.choices is not PairNetwork.choices or kind.activations is not PairNetwork.activations:
        return None
    if not is_plain_mlp(network.value):
        return None
    linear = *(network._modules[name] for name in NAMES), network.value[0], network.value[2]
    if not are_plain(*linear):
        return None
    addresses = _addresses(linear)
    if addresses is None:
        return None
    kept = _KEPT.by_network.get(network)
    if kept is None or kept.linear != linear or kept.addresses != addresses:
        kept = _KEPT.by_network[network] = _KnownLayers(linear, addresses, _table(linear, addresses))
    return kept


NAMES = ("own", "candidate", "hidden", "context", "summary", "joint", "score", "hold")
NUMBERS = OWN_PART, CANDIDATE, HIDDEN, CONTEXT, SUMMARY, JOINT, SCORE, HOLD, VALUE, WORTH
"""Of these and of the two layers of values, in the table."""


def _addresses(linear: tuple[nn.Linear, ...]) -> tuple[int, ...] | None:
    """Return those of weights and biases, 0 where there is none; None if the kernel cannot read one."""
    found: list[int] = []
    for layer in linear:
        for part in layer._parameters.values():  # by its name, it takes five times as long
            if part is not None and not _is_read(part, torch.float32):
                return None
            found.append(0 if part is None else part.data_ptr())
    return tuple(found)


def _table(linear: tuple[nn.Linear, ...], addresses: tuple[int, ...]) -> Ints:
    """Return the table of layers for the kernel."""
    table = np.zeros((NUM_LAYERS + 1, PLACE + 1), np.int64)
    parts = zip(addresses[::2], addresses[1::2], strict=True)
    for number, layer, (weights, biases) in zip(NUMBERS, linear, parts, strict=True):
        inputs = layer.in_features
        table[number, :PLACE] = weights, biases, inputs, inputs, layer.out_features
    weights, biases, step, _, h = table[JOINT, :PLACE].tolist()
    table[JOINT, :PLACE] = weights, 0, step, h, h
    table[STATE_PART, :PLACE] = weights + FLOAT_BYTES * h, biases, step, step - h, h
    table[1:, PLACE] = packed_sizes(table[:NUM_LAYERS]).cumsum()
    return table
