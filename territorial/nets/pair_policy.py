"""A small network on pairs: what it is to attack each candidate, and what the best of it is worth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config.validation import hint, shown
from territorial.constants import NUM_FRACTIONS
from territorial.nets.policy import MASKED
from territorial.observation.pair_columns import OWN, PAIRS, UNIT, column

if TYPE_CHECKING:
    from territorial.bots.network import Rows
    from territorial.nets.pair_export import ExportReport

LARGEST_INPUT = 4.0
"""Columns count as at most this, and as at least so much below zero, here and in the engine."""
HOLD_BIAS = 2.0
"""What the bias of holding begins with: launches are taxed, so that a policy which always launches never grows."""
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


class PairPolicy(nn.Module):
    """From the observation "pairs" to masked logits and values; docs/networks.md has a picture of it.

    It plays on any map with any number of players and candidates: no weight depends on them. How much is sent
    follows whom it attacks: the logit of an action is log p(target) + log p(fraction | target).

    Args:
        size: "small" or "standard", which has some 67,000 weights; default "standard".

    Raises:
        ValueError: for another size.

    Example:
        >>> import torch
        >>> from territorial.nets import PairPolicy
        >>> policy = PairPolicy("small")
        >>> own, pairs, mask = torch.zeros(2, 34), torch.zeros(2, 8, 26), torch.ones(2, 81)
        >>> logits, values = policy(own, pairs, mask)
        >>> logits.shape, values.shape
        (torch.Size([2, 81]), torch.Size([2]))

    """

    def __init__(self, size: str = "standard") -> None:
        super().__init__()
        if size not in PAIR_SIZES:
            raise ValueError(
                f"size is {shown(size)}{hint(str(size), PAIR_SIZES)}; it must be one of {', '.join(PAIR_SIZES)}"
            )
        self.size = size
        h, c = PAIR_SIZES[size].candidate, PAIR_SIZES[size].context
        self.own = nn.Linear(len(OWN), h)
        self.candidate = nn.Linear(len(PAIRS), h, bias=False)
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
        found = self.activations(own, pairs)
        scores, context = self.score(found["joint"]), found["summary"]
        hold, values = self.hold(context).squeeze(1), self.value(context).squeeze(1)
        return Choices(hold, scores[..., 0], scores[..., 1:], values)

    def activations(self, own: Tensor, pairs: Tensor) -> dict[str, Tensor]:
        """Return what comes out of each hidden layer, by name; of candidates that are not there, zeros."""
        is_there = (pairs[..., THERE] > 0).unsqueeze(-1)
        own, pairs = (values.float().clamp(-LARGEST_INPUT, LARGEST_INPUT) for values in (own, pairs))
        first = functional.relu(self.own(own).unsqueeze(1) + self.candidate(pairs)) * is_there
        candidates = functional.relu(self.hidden(first)) * is_there
        means = candidates.sum(1) / is_there.sum(1).clamp(min=1)
        context = functional.relu(self.context(torch.cat([own, means, candidates.amax(1)], dim=1)))
        summary = functional.relu(self.summary(context))
        beside = summary.unsqueeze(1).expand(-1, candidates.shape[1], -1)
        joint = functional.relu(self.joint(torch.cat([candidates, beside], dim=2))) * is_there
        return {
            "candidate": first,
            "hidden": candidates,
            "context": context,
            "summary": summary,
            "joint": joint,
        }

    def forward(self, own: Tensor, pairs: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the masked logits, float32 (B, 1 + 10 C), and the values, float32 (B,), of B states.

        Args:
            own: (B, 34), the columns of own; float32.
            pairs: (B, C, 26), the columns of pairs, zero where no candidate is there.
            action_mask: (B, 1 + 10 C), above 0 for legal actions, of which holding is one.

        """
        found = self.choices(own, pairs)
        is_legal = action_mask > 0
        launches = is_legal[:, 1:].reshape(found.fractions.shape)
        targets = torch.where(launches.any(2), found.targets, MASKED)
        of_target = torch.cat([found.hold.unsqueeze(1), targets], dim=1).log_softmax(1)
        of_fraction = torch.where(launches, found.fractions, MASKED).log_softmax(2)
        launch = (of_target[:, 1:].unsqueeze(2) + of_fraction).flatten(1)
        logits = torch.cat([of_target[:, :1], launch], dim=1)
        return torch.where(is_legal, logits, MASKED), found.values

    def greedy(self, logits: Tensor) -> Tensor:
        """Return int64 (B,): the best target of every row of ``logits``, with the best fraction against it."""
        launches = logits[:, 1:].unflatten(1, (-1, NUM_FRACTIONS))
        target = torch.cat([logits[:, :1], launches.logsumexp(2)], dim=1).argmax(1)
        launch = (target - 1).clamp(min=0)
        fraction = launches[torch.arange(len(logits)), launch].argmax(1)
        return torch.where(target == 0, 0, 1 + NUM_FRACTIONS * launch + fraction)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        interval: int = 50,
        temperature: float = 0.0,
        num_candidates: int = 8,
        rows: Rows | None = None,
        least_equal: float = 0.99,
    ) -> ExportReport:
        """Write the network in whole numbers, so that the engine can play it, and return how it was changed.

        Args:
            path: the file to write, ``.safetensors`` by custom; ``seats=["net:PATH"]`` plays it.
            interval: ticks from one of its decisions to the next, 1 to 10,000,000: those it was trained at;
                default 50.
            temperature: 0 plays the likeliest action, 1 draws actions as the policy does; 0 to 255, default 0.
            num_candidates: candidates that it is shown at most, 1 to 64; default 8.
            rows: states that activations are measured on and choices compared; default None: those of games
                between bots (``territorial.nets.pair_calibration.calibration_rows``).
            least_equal: the share of these states in which the greedy choice must stay, 0 to 1; default 0.99.

        Raises:
            ExportError: where fewer choices stay; it has the report, and nothing is written.

        """
        from territorial.nets.pair_export import export  # it needs the engine, for games

        return export(
            self,
            path,
            interval=interval,
            temperature=temperature,
            num_candidates=num_candidates,
            rows=rows,
            least_equal=least_equal,
        )


def as_input(rows: Tensor) -> Tensor:
    """Return columns in whole numbers as a policy reads them, float32."""
    return rows.float() / UNIT
