"""Choices that rounding cannot change, for comparisons of runners.

Runners compute the logits of a network in other orders, and their last bits differ. Where two launches are
as good as each other, as is usual at the start of a game, these bits would decide who is attacked. Here all
actions follow from whole numbers, which are the same in both. Logits and values are compared by themselves.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import torch
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDeterministic
from torch import Tensor

from territorial.constants import NUM_FRACTIONS
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.pair_policy import PairPolicy
from territorial.nets.policy import GAMES, MASKED


def install(monkeypatch: Any) -> None:
    """Let learners and snapshots choose so, in both runners and whether they explore or not."""

    def act(players: FrozenSeats, names: Sequence[str], seen: Mapping[str, Tensor], *_: Any) -> Tensor:
        return frozen_choices(names, seen, like=played(players, names, seen))

    played = FrozenSeats.act
    monkeypatch.setattr(FrozenSeats, "act", act)
    monkeypatch.setattr(PairPolicy, "greedy", staticmethod(choose))
    monkeypatch.setattr(TorchCategorical, "sample", lambda dist: choose(dist._dist.logits))
    monkeypatch.setattr(
        TorchCategorical, "to_deterministic", lambda dist: TorchDeterministic(loc=choose(dist._dist.logits))
    )
    monkeypatch.setattr("rllib_adapters.sampling.runner.draw_choices", draw_choices)


def choose(logits: Tensor) -> Tensor:
    """Return int64 (N,): an action of every row of ``logits``, by which of them are legal alone."""
    legal = logits > MASKED / 2
    return legal_action(legal, number_of(legal))


def draw_choices(logits: Any, heads: Any, chances: Any, weights: Any, choices: Any, logps: Any) -> None:
    """Write the same for every part of an action, and how likely it is; in the place of the kernel."""
    parts = torch.from_numpy(logits).split(heads.tolist(), dim=1)
    choices[...] = torch.stack([choose(part) for part in parts], 1).numpy()
    chosen = [part.log_softmax(1)[range(len(part)), choices[:, i]] for i, part in enumerate(parts)]
    logps[...] = sum(chosen).numpy()


def frozen_choices(names: Sequence[str], seen: Mapping[str, Tensor], like: Tensor) -> Tensor:
    """Return an action of every row by who acts and by all it sees, in the shape of ``like``."""
    number = torch.tensor([crc32(name.encode()) for name in names])
    for name in sorted(seen.keys() & {*GAMES, "own", "pairs", "seat", "action_mask"}):
        part = seen[name]
        own = number_of(part)
        number = 31 * number + (own[seen["frame"].flatten()] if name in GAMES and "frame" in seen else own)
    mask = seen["action_mask"] > 0
    if like.ndim == 1:
        return legal_action(mask, number)
    parts = mask.split([mask.shape[1] - NUM_FRACTIONS, NUM_FRACTIONS], dim=1)
    return torch.stack([legal_action(part, number) for part in parts], 1)


def legal_action(legal: Tensor, number: Tensor) -> Tensor:
    """Return int64 (N,): the legal one that ``number``, int64 (N,), comes to; ``legal``: bool (N, K)."""
    mixed = number ^ (number >> 29)
    wanted = 1 + mixed.remainder(legal.sum(1).clamp(min=1))
    return (legal & (legal.cumsum(1) == wanted[:, None])).int().argmax(1)


def number_of(rows: Tensor) -> Tensor:
    """Return int64 (N,): a number for every row of ``rows``, (N, ...), by all its bits."""
    flat = rows.flatten(1)
    bits = (flat.float() + 0.0).view(torch.int32) if flat.dtype.is_floating_point else flat  # no -0.0
    weights = (2 * torch.arange(flat.shape[1]) + 1) * 0x9E3779B1
    return (bits.long() * weights).sum(1)
