"""Layers of the network on ``pairs``: per candidate, and pooled."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config.validation import one_of, true_or_false
from territorial.constants import NUM_FRACTIONS
from territorial.decode.recorded import check_recordable
from territorial.jit.simd import FLOAT_BYTES
from territorial.nets.pair_kernels import (
    CANDIDATE,
    CONTEXT,
    HIDDEN,
    HOLD,
    INPUTS,
    JOINT,
    NUM_LAYERS,
    NUM_OWN,
    OUTPUTS,
    OWN_PART,
    PLACE,
    SCORE,
    STATE_PART,
    SUMMARY,
    VALUE,
    WORTH,
    PairScratch,
    make_pair_scratch,
    padded,
    play_pairs,
)
from territorial.nets.policy import are_plain, is_plain_mlp, is_readable, needs_torch
from territorial.observation.pair_columns import OF_PAIR, OWN, pair_columns
from territorial.typing import Ints

LARGEST_INPUT = 4.0
"""Columns count as at most this, and as at least so much below zero, here and in the engine."""


@dataclass(frozen=True)
class PairSize:
    """How large a ``PairPolicy`` is.

    Args:
        candidate: activations of a candidate.
        context: activations of the context.

    """

    candidate: int
    context: int


PAIR_SIZES: Mapping[str, PairSize] = {
    "small": PairSize(candidate=32, context=64),
    "standard": PairSize(candidate=64, context=128),
}
"""The sizes by name."""


class Choices(NamedTuple):
    """What the network thinks of B states with C candidates each, before anything is masked.

    All are of the dtype of the weights.
    """

    hold: Tensor  # (B,): the logit of holding
    targets: Tensor  # (B, C): those of the candidates
    fractions: Tensor  # (B, C, 10): those of the fractions against each
    values: Tensor  # (B,): what each state is worth


class PairNetwork(nn.Module):
    """From own numbers and those of candidates to logits and values, before anything is masked.

    Args:
        size: one of ``PAIR_SIZES``.
        teams: True for observations of games with teams, which have one column more.

    """

    def __init__(self, size: str = "standard", *, teams: bool = False) -> None:
        super().__init__()
        self.size, self.teams = one_of("size", size, PAIR_SIZES), true_or_false("teams", teams)
        h, c = PAIR_SIZES[size].candidate, PAIR_SIZES[size].context
        self.own = nn.Linear(len(OWN), h)
        self.candidate = nn.Linear(len(pair_columns(teams=self.teams)), h, bias=False)
        self.hidden = nn.Linear(h, h)
        self.context = nn.Linear(len(OWN) + 2 * h, c)
        self.summary = nn.Linear(c, c)
        self.joint = nn.Linear(h + c, h)
        self.score = nn.Linear(h, 1 + NUM_FRACTIONS)
        self.hold = nn.Linear(c, 1)
        self.value = nn.Sequential(nn.Linear(c, h), nn.ReLU(), nn.Linear(h, 1))
        # Launches are taxed, so that one which always launches never grows.
        nn.init.constant_(self.hold.bias, 2.0)

    def not_finite(self) -> str | None:
        """Return the name of a parameter that has infinite entries or NaN; None if none has."""
        parts = self.named_parameters()
        return next((name for name, part in parts if not bool(torch.isfinite(part).all())), None)

    def choices(self, own: Tensor, pairs: Tensor) -> Choices:
        """Return the logits and values of states, before anything is masked; arguments as for ``forward``."""
        check_recordable("a PairPolicy", own, pairs)
        there = _there(pairs)
        found = self.activations(own, pairs)
        scores = _spread(self.score(found["joint"]), there, pairs)
        context = found["summary"]
        hold, values = self.hold(context).squeeze(1), self.value(context).squeeze(1)
        return Choices(hold, scores[..., 0], scores[..., 1:], values)

    def activations(self, own: Tensor, pairs: Tensor) -> dict[str, Tensor]:
        """Return what comes out of each hidden layer, by name.

        Those of states are (B, ...). Those of candidates have a row for each that is there, state by state:
        fewer than half of the rows of ``pairs`` are filled in games.
        """
        there = _there(pairs)
        states = there.div(pairs.shape[1], rounding_mode="floor")
        inputs = own, pairs.flatten(0, 1).index_select(0, there)
        dtype = next((part.dtype for part in self.parameters()), torch.float32)
        own, rows = (values.to(dtype).clamp(-LARGEST_INPUT, LARGEST_INPUT) for values in inputs)
        first = functional.relu(self.own(own).index_select(0, states) + self.candidate(rows))
        candidates = functional.relu(self.hidden(first))
        spread = _spread(candidates, there, pairs)
        count = (pairs[..., OF_PAIR.there] > 0).sum(1, keepdim=True)
        means = spread.sum(1) / count.clamp(min=1)
        context = functional.relu(self.context(torch.cat([own, means, spread.amax(1)], dim=1)))
        summary = functional.relu(self.summary(context))
        return {
            "candidate": first,
            "hidden": candidates,
            "context": context,
            "summary": summary,
            "joint": functional.relu(self._beside(candidates, summary, states)),
        }

    def _beside(self, candidates: Tensor, summary: Tensor, states: Tensor) -> Tensor:
        """Return the sums of ``joint``; the part of the summary is the same for all candidates of a state."""
        if not are_plain(self.joint):
            return self.joint(torch.cat([candidates, summary.index_select(0, states)], dim=1))
        of_candidate, of_state = self.joint.weight.tensor_split([self.hidden.out_features], dim=1)
        shared = functional.linear(summary, of_state, self.joint.bias)
        return functional.linear(candidates, of_candidate) + shared.index_select(0, states)


def _there(pairs: Tensor) -> Tensor:
    """Return the numbers of the candidates that are there, among all B * C."""
    return (pairs[..., OF_PAIR.there] > 0).flatten().nonzero().squeeze(1)


def _spread(rows: Tensor, there: Tensor, pairs: Tensor) -> Tensor:
    """Return the rows of candidates at their places, (B, C, ...), with zeros where none is."""
    places = rows.new_zeros(pairs.shape[0] * pairs.shape[1], rows.shape[1])
    return places.index_copy(0, there, rows).unflatten(0, pairs.shape[:2])


MOST_ROWS = 2048
"""More rows are left to PyTorch, whose threads share them."""


def computed(network: PairNetwork, own: Tensor, pairs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return what ``PairPolicy.forward`` does, or None where the kernel cannot compute it.

    It reads float32 and masks of int8, on the processor, and layers as ``PairNetwork`` has made them. It
    has no gradients.
    """
    if needs_torch() or not _are_read(own, pairs, mask, len(pair_columns(teams=network.teams))):
        return None
    linear = _layers_of(network)
    addresses = None if linear is None else _addresses(linear)
    if linear is None or addresses is None:
        return None
    sizes = tuple((layer.in_features, layer.out_features) for layer in linear)
    table, scratch = _table(addresses, sizes), _scratch(sizes, pairs.shape[1], threading.get_ident())
    logits, values = np.empty(mask.shape, np.float32), np.empty(len(own), np.float32)
    play_pairs(table, scratch, own.numpy(), pairs.numpy(), mask.numpy(), logits, values)
    return torch.from_numpy(logits), torch.from_numpy(values)


def _are_read(own: Tensor, pairs: Tensor, mask: Tensor, columns: int) -> bool:
    states, candidates = pairs.shape[:2]
    shapes = (states, NUM_OWN), (states, candidates, columns), (states, 1 + NUM_FRACTIONS * candidates)
    are_floats = is_readable(own, torch.float32) and is_readable(pairs, torch.float32)
    is_read = are_floats and is_readable(mask, torch.int8) and states <= MOST_ROWS
    return is_read and (own.shape, pairs.shape, mask.shape) == shapes


Sizes = tuple[tuple[int, int], ...]
"""Inputs and outputs of the layers."""


# ---- layers ----------------------------------------------------------------------------------------


def _layers_of(network: PairNetwork) -> tuple[nn.Linear, ...] | None:
    """Return the layers; None if other layers, or other code, have taken their place."""
    kind = type(network)
    if kind.choices is not PairNetwork.choices or kind.activations is not PairNetwork.activations:
        return None
    if not is_plain_mlp(network.value):
        return None
    linear = *(network._modules[name] for name in NAMES), network.value[0], network.value[2]
    return linear if are_plain(*linear) else None


NAMES = ("own", "candidate", "hidden", "context", "summary", "joint", "score", "hold")
NUMBERS = OWN_PART, CANDIDATE, HIDDEN, CONTEXT, SUMMARY, JOINT, SCORE, HOLD, VALUE, WORTH
"""Of these and of the two layers of values, in the table."""


def _addresses(linear: tuple[nn.Linear, ...]) -> tuple[int, ...] | None:
    """Return those of weights and biases, 0 where there is none; None if the kernel cannot read one."""
    found: list[int] = []
    for layer in linear:
        for part in layer._parameters.values():  # by its name, it takes five times as long
            if part is not None and not is_readable(part, torch.float32):
                return None
            found.append(0 if part is None else part.data_ptr())
    return tuple(found)


@lru_cache(maxsize=256)
def _table(addresses: tuple[int, ...], sizes: Sizes) -> Ints:
    """Return the table of layers for the kernel."""
    table = np.zeros((NUM_LAYERS + 1, PLACE + 1), np.int64)
    parts = zip(addresses[::2], addresses[1::2], sizes, strict=True)
    for number, (weights, biases, (inputs, outputs)) in zip(NUMBERS, parts, strict=True):
        table[number, :PLACE] = weights, biases, inputs, inputs, outputs
    weights, biases, step, _, h = table[JOINT, :PLACE].tolist()
    table[JOINT, :PLACE] = weights, 0, step, h, h
    table[STATE_PART, :PLACE] = weights + FLOAT_BYTES * h, biases, step, step - h, h
    sizes_packed = padded(table[:NUM_LAYERS, OUTPUTS]) * (table[:NUM_LAYERS, INPUTS] + 1)
    table[1:, PLACE] = sizes_packed.cumsum()
    return table


@lru_cache(maxsize=16)
def _scratch(sizes: Sizes, num_candidates: int, thread: int) -> PairScratch:
    """Return room for a thread to compute in: new memory has to be mapped first, which takes as long."""
    return make_pair_scratch(_table((0,) * 2 * len(sizes), sizes), num_candidates)
