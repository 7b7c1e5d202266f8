"""Likelihoods and entropies in one pass, with their gradients; learning in bf16; optimizers that go on."""

import copy
import logging

import numpy as np
import pytest
import torch
from ray.rllib.core.distribution.torch.torch_distribution import (
    TorchCategorical,
    TorchMultiCategorical,
)

from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.learning import learners
from rllib_adapters.learning.learners import likelihoods
from tests.rllib.test_drawn_rows import gradient
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


@pytest.fixture(autouse=True)
def any_device(monkeypatch):
    """Every processor computes in it, if slowly."""
    monkeypatch.setattr(learners, "computes_bf16", lambda device: True)


@pytest.mark.parametrize("kind", ["boards", "features", "pairs"])
def test_the_network_computes_in_it_and_the_loss_does_not(kind):
    pair = Pair(small_config(kind).learning(bf16=True))
    module, learner = pair.module, pair.learner
    batch, _ = pair.batch(pair.runner.sample())
    assert module.learns_in_bf16
    seen = []
    for part in module.modules():
        if isinstance(part, torch.nn.Linear):
            part.register_forward_hook(lambda _, __, made: seen.append(made.dtype))
    outputs = module.forward_train(batch)
    assert torch.bfloat16 in seen
    assert {part.dtype for part in outputs.values()} == {torch.float32}
    rough = gradient(learner, batch)
    assert {one.grad.dtype for one in module.parameters() if one.grad is not None} == {torch.float32}
    seen.clear()
    module.forward_exploration(batch)
    assert set(seen) == {torch.float32}  # acting is as it was
    module.learns_in_bf16 = False
    exact = gradient(learner, batch)
    # bfloat16 has 8 bits of mantissa; the errors of many rows cancel, and 4 % are left.
    assert np.linalg.norm(rough - exact) <= 0.1 * np.linalg.norm(exact)
    assert (rough != exact).any()


def test_a_processor_without_it_learns_in_float32_and_says_so(monkeypatch, caplog):
    monkeypatch.setattr(learners, "computes_bf16", lambda device: False)
    with caplog.at_level(logging.WARNING):
        pair = Pair(small_config("pairs").learning(bf16=True))
        learners.learn_in_bf16(MAIN, torch.nn.Linear(2, 2))
    assert not pair.module.learns_in_bf16
    assert "bf16 needs a BoardModule or a PairModule, and it is a Linear" in caplog.text
    assert "the module 'main' learns in float32: cpu does not compute in bfloat16" in caplog.text


def test_what_a_processor_can_do_is_asked_of_pytorch(monkeypatch):
    monkeypatch.undo()
    for features, has in (({"avx512_bf16": True}, True), ({"avx2": True, "amx_bf16": False}, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda features=features: features)
        assert learners.computes_bf16(torch.device("cpu")) == has
    assert not learners.computes_bf16(torch.device("meta"))


# ---- optimizers --------------------------------------------------------------------------------------


def learner_of(config):
    return config.build_learner(env=TerritorialMultiAgentEnv(config.env_config))


def gradients(learner, seed):
    random = torch.Generator().manual_seed(seed)
    return {one: torch.randn(one.shape, generator=random) for one in learner.module[MAIN].parameters()}


def test_a_learner_goes_on_with_the_moments_of_a_checkpoint():
    """Ray 2.55.1 loses them by itself."""
    first, second = learner_of(small_config()), learner_of(small_config())
    for seed in range(3):
        first.apply_gradients(gradients(first, seed))
    second.set_state(copy.deepcopy(first.get_state()))
    for learner in (first, second):
        learner.apply_gradients(gradients(learner, 9))
    for mine, others in zip(*(one.module[MAIN].parameters() for one in (second, first)), strict=True):
        torch.testing.assert_close(mine, others, rtol=1e-4, atol=1e-6)
    ((_, optimizer),) = second.get_optimizers_for_module(MAIN)
    assert {float(one["step"]) for one in optimizer.state.values()} == {4.0}
