"""Likelihoods and entropies in one pass, with their gradients."""

import numpy as np
import pytest
import torch
from ray.rllib.core.distribution.torch.torch_distribution import (
    TorchCategorical,
    TorchMultiCategorical,
)

from rllib_adapters.learning.learners import likelihoods

MASKED = -1e9


def rows(heads, count=300, seed=0):
    """Logits of which some are masked, and actions that are legal."""
    random = np.random.default_rng(seed)
    logits = random.normal(scale=4, size=(count, sum(heads))).astype(np.float32)
    parts = np.split(np.arange(sum(heads)), np.cumsum(heads)[:-1])
    actions = np.stack([random.integers(len(part), size=count) for part in parts], axis=1)
    masked = random.random(logits.shape) < 0.5
    for part, action in zip(parts, actions.T, strict=True):
        masked[np.arange(count), part[action]] = False
    logits[masked] = MASKED
    return torch.from_numpy(logits), torch.from_numpy(actions)


@pytest.mark.parametrize("heads", [(14, 10), (81,), (1, 3, 2)])
def test_they_and_their_gradients_are_those_of_rllibs_distributions(heads):
    logits, actions = rows(heads)
    kind, more = TorchMultiCategorical, {"input_lens": list(heads)}
    if len(heads) == 1:
        actions, kind, more = actions[:, 0], TorchCategorical, {}

    def rllibs(own, *_):
        dist = kind.from_logits(own, **more)
        return dist.logp(actions), dist.entropy()

    by_rows = torch.randn(2, len(logits), generator=torch.Generator().manual_seed(1))
    found = []
    for function in (likelihoods, rllibs):
        own = logits.clone().requires_grad_()
        logp, entropy = function(own, actions, heads)
        (by_rows[0] * logp + by_rows[1] * entropy).sum().backward()
        found.append((logp.detach(), entropy.detach(), own.grad))
    for mine, theirs in zip(*found, strict=True):
        assert mine.dtype == theirs.dtype == torch.float32
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)
    assert (found[0][2][logits == MASKED] == 0).all()


def test_an_action_without_any_chance_has_no_infinite_gradient():
    """As of a row that was added for the value of what was seen last."""
    logits = torch.tensor([[0.0, MASKED, 1.0]], requires_grad=True)
    logp, entropy = likelihoods(logits, torch.tensor([1]), (3,))
    assert float(logp.detach()) == pytest.approx(MASKED)
    (logp + entropy).sum().backward()
    assert logits.grad.isfinite().all()
