"""Adam in one pass: the updates of RLlib's, its care for numbers that are not finite, and its checkpoints."""

import copy
from contextlib import contextmanager

import pytest
import torch

from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.learning import learners
from rllib_adapters.learning.learners import can_be_fused, optimizers_of
from tests.rllib.test_sampled_values import small_config


def learner_of(config):
    return config.build_learner(env=TerritorialMultiAgentEnv(config.env_config))


@contextmanager
def adam(*, fused):
    """Let learners that are built meanwhile have the fused Adam, or that of RLlib."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(learners, "can_be_fused", lambda _: fused)
        yield


@pytest.fixture(scope="module")
def both():
    """A learner with the fused Adam and one without, and weights to begin with."""
    made = []
    for fused in (True, False):
        with adam(fused=fused):
            made.append(learner_of(small_config()))
    return made, copy.deepcopy(made[0].module[MAIN].get_state())


def begin(learners, weights):
    """Let learners begin anew, with gradients for the first update."""
    for learner in learners:
        learner.module[MAIN].set_state(copy.deepcopy(weights))
        (optimizer,) = optimizers_of(learner)
        optimizer.state.clear()


def gradients(learner, seed):
    random = torch.Generator().manual_seed(seed)
    return {one: torch.randn(one.shape, generator=random) for one in learner.module[MAIN].parameters()}


def values(learner):
    return [one.detach().clone() for one in learner.module[MAIN].parameters()]


def test_updates_are_those_of_rllib_but_for_rounding(both):
    learners, weights = both
    begin(learners, weights)
    assert [bool(one.defaults["fused"]) for learner in learners for one in optimizers_of(learner)] == [
        True,
        False,
    ]
    for seed in range(5):
        for learner in learners:
            learner.apply_gradients(gradients(learner, seed))
    for mine, theirs in zip(*map(values, learners), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_gradients_are_looked_at_together_and_not_one_by_one(both, monkeypatch):
    (learner, _), weights = both
    begin([learner], weights)
    monkeypatch.setattr(torch, "isfinite", lambda one: pytest.fail("it is looked at"))
    learner.apply_gradients(gradients(learner, 0))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 3e38])
def test_numbers_that_are_not_finite_are_handled_by_rllib(both, bad):
    (learner, _), weights = both
    begin([learner], weights)
    broken, before = gradients(learner, 0), values(learner)
    first = next(iter(broken))
    broken[first].view(-1)[0] = bad
    learner.apply_gradients(broken)
    after = values(learner)
    assert all(isinstance(one, torch.Tensor) and one.isfinite().all() for one in after)
    assert all((mine != theirs).any() for mine, theirs in zip(after, before, strict=True))


@pytest.mark.parametrize("fused_before", [True, False])
def test_it_goes_on_from_a_checkpoint_of_either(both, fused_before):
    learners, weights = both
    begin(learners, weights)
    first = learners[0] if fused_before else learners[1]
    for seed in range(3):
        first.apply_gradients(gradients(first, seed))
    state = copy.deepcopy(first.get_state())
    second = learner_of(small_config())
    second.set_state(state)
    for learner in (first, second):
        learner.apply_gradients(gradients(learner, 9))
    for mine, theirs in zip(values(second), values(first), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    (optimizer,) = optimizers_of(second)
    (group,) = optimizer.param_groups
    assert group["fused"] is True
    assert group["lr"] == pytest.approx(optimizers_of(first)[0].param_groups[0]["lr"])
    assert {float(one["step"]) for one in optimizer.state.values()} == {4.0}


def test_weights_of_other_kinds_keep_the_optimizer_of_rllib():
    assert can_be_fused([torch.zeros(2)])
    assert not can_be_fused([torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16)])
    assert not can_be_fused([torch.zeros(2, device="meta")])
