"""The layers of a small network on pairs: of each candidate, and of what they are together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config.validation import hint, shown, true_or_false
from territorial.constants import NUM_FRACTIONS
from territorial.decode.recorded import is_whole
from territorial.nets.layers import Float32Module, are_plain
from territorial.observation.pair_columns import OWN, PAIRS, column, pair_columns

LARGEST_INPUT = 4.0
"""Columns count as at most this, and as at least so much below zero, here and in the engine."""
HOLD_BIAS = 2.0
"""What the bias of holding begins with: launches are taxed, so that one which always launches never grows."""
THERE = column(PAIRS, "there")


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
    """What the network thinks of B states with C candidates each, before anything is masked."""

    hold: Tensor
    """float32 (B,): the logit of holding."""
    targets: Tensor
    """float32 (B, C): those of the candidates."""
    fractions: Tensor
    """float32 (B, C, 10): those of the fractions against each."""
    values: Tensor
    """float32 (B,): what each state is worth."""


class PairNetwork(Float32Module):
    """From own numbers and those of candidates to logits and values, before anything is masked.

    Args:
        size: one of ``PAIR_SIZES``.
        teams: True for observations of games with teams, which have one column more.

    """

    def __init__(self, size: str = "standard", *, teams: bool = False) -> None:
        super().__init__()
        if size not in PAIR_SIZES:
            raise ValueError(
                f"size is {shown(size)}{hint(str(size), PAIR_SIZES)}; it must be one of "
                f"{', '.join(PAIR_SIZES)}"
            )
        self.size, self.teams = size, true_or_false("teams", teams)
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
        nn.init.constant_(self.hold.bias, HOLD_BIAS)

    def choices(self, own: Tensor, pairs: Tensor) -> Choices:
        """Return the logits and values of states, before anything is masked; arguments as for ``forward``."""
        if is_whole() and type(self).activations is PairNetwork.activations:
            return self._choices_of_all(own, pairs)
        there = _there(pairs)
        found = self.activations(own, pairs)
        scores = _spread(self.score(found["joint"]), there, pairs)
        context = found["summary"]
        hold, values = self.hold(context).squeeze(1), self.value(context).squeeze(1)
        return Choices(hold, scores[..., 0], scores[..., 1:], values)

    def _choices_of_all(self, own: Tensor, pairs: Tensor) -> Choices:
        """Return the same from all rows of ``pairs``: how many are filled decides no shape then."""
        is_there = pairs[..., THERE, None] > 0
        own, pairs = _limited(own), _limited(pairs)
        first = functional.relu(self.own(own).unsqueeze(1) + self.candidate(pairs))
        candidates = functional.relu(self.hidden(first)) * is_there
        means = candidates.sum(1) / is_there.sum(1).clamp(min=1)
        context = functional.relu(self.context(torch.cat([own, means, candidates.amax(1)], dim=1)))
        summary = functional.relu(self.summary(context))
        beside = summary.unsqueeze(1).expand(-1, pairs.shape[1], -1)
        joint = functional.relu(self.joint(torch.cat([candidates, beside], dim=2)))
        scores = self.score(joint) * is_there
        hold, values = self.hold(summary).squeeze(1), self.value(summary).squeeze(1)
        return Choices(hold, scores[..., 0], scores[..., 1:], values)

    def activations(self, own: Tensor, pairs: Tensor) -> dict[str, Tensor]:
        """Return what comes out of each hidden layer, by name.

        Those of states are (B, ...). Those of candidates have a row for each that is there, state by state:
        fewer than half of the rows of ``pairs`` are filled in games.
        """
        there = _there(pairs)
        states = there.div(pairs.shape[1], rounding_mode="floor")
        own, rows = (_limited(values) for values in (own, pairs.flatten(0, 1).index_select(0, there)))
        first = functional.relu(self.own(own).index_select(0, states) + self.candidate(rows))
        candidates = functional.relu(self.hidden(first))
        spread = _spread(candidates, there, pairs)
        count = (pairs[..., THERE] > 0).sum(1, keepdim=True)
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


def _limited(values: Tensor) -> Tensor:
    return values.float().clamp(-LARGEST_INPUT, LARGEST_INPUT)


def _there(pairs: Tensor) -> Tensor:
    """Return the numbers of the candidates that are there, among all B * C."""
    return (pairs[..., THERE] > 0).flatten().nonzero().squeeze(1)


def _spread(rows: Tensor, there: Tensor, pairs: Tensor) -> Tensor:
    """Return the rows of candidates at their places, (B, C, ...), with zeros where none is."""
    places = rows.new_zeros(pairs.shape[0] * pairs.shape[1], rows.shape[1])
    return places.index_copy(0, there, rows).unflatten(0, pairs.shape[:2])
