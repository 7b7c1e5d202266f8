"""Likelihoods and entropies in one pass, with their gradients; and memory that is not filled."""

import numpy as np
import pytest
import torch
from ray.rllib.core.distribution.torch.torch_distribution import (
    TorchCategorical,
    TorchMultiCategorical,
)

from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.learning.likelihoods import likelihoods
from tests.rllib.test_sampled_values import Pair, small_config

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
    if len(heads) == 1:
        actions = actions[:, 0]
    by_rows = torch.randn(2, len(logits), generator=torch.Generator().manual_seed(1))
    found = []
    for fused in (True, False):
        own = logits.clone().requires_grad_()
        if fused:
            logp, entropy = likelihoods(own, actions, heads)
        else:
            kind = TorchCategorical if len(heads) == 1 else TorchMultiCategorical
            more = {} if len(heads) == 1 else {"input_lens": list(heads)}
            dist = kind.from_logits(own, **more)
            logp, entropy = dist.logp(actions), dist.entropy()
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


def test_new_tensors_are_not_filled_while_runners_and_learners_work(monkeypatch):
    """With a seed, RLlib asks for deterministic algorithms; PyTorch would write NaN into new memory."""
    pair, seen = Pair(small_config("pairs")), []
    assert torch.are_deterministic_algorithms_enabled()
    forward = pair.module.policy.forward

    def watched(*args):
        seen.append(bool(torch.empty(1000).isnan().all()))
        return forward(*args)

    for module in (pair.module, pair.runner.module[MAIN].unwrapped()):
        monkeypatch.setattr(module.policy, "forward", watched)
    assert bool(torch.empty(1000).isnan().all())
    pair.learner._weights_seq_no = 0
    pair.learner.update(episodes=pair.runner.sample(), num_epochs=1, minibatch_size=None)
    assert len(seen) > 20
    assert not any(seen)
    assert bool(torch.empty(1000).isnan().all())
