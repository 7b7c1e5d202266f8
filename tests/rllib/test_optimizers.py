"""Optimizers of learners go on from a checkpoint."""

import copy

import torch

from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from tests.rllib.test_sampled_values import small_config


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
