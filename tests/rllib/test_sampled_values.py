"""Values that runners sent: taken for advantages where they are those of the learner's own weights."""

import copy
from unittest import mock

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns

from rllib_adapters import configure
from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.learning.rows import CHECKED, Advantages
from rllib_adapters.modules.encode_once import EncodeOnceModule
from rllib_adapters.modules.pairs import PairModule
from territorial import GameConfig
from tests.rllib.compared import agents_of, batch_of
from tests.rllib.support import SmallModule

CONFIG = GameConfig(height=24, width=24, num_players=6, max_ticks=1000)
SEATS = ["agent"] * 4 + ["metronome", "banker"]
STEPS = 48


class Opinions(SmallModule):
    """A policy whose values differ from row to row from the beginning."""

    def setup(self):
        super().setup()
        torch.nn.init.normal_(self.policy.value_head.weight, generator=torch.Generator().manual_seed(1))


class OwnLogits(Opinions):
    """A policy that gives no embeddings, so that no values are sent."""

    def _forward(self, batch, **kwargs):
        return {Columns.ACTION_DIST_INPUTS: super()._forward(batch)[Columns.ACTION_DIST_INPUTS]}


TABLES = {"module": EncodeOnceModule, "trunk": {"size": "tables"}}
KINDS = {
    "boards": ({"frames": 2}, {"module": Opinions}),
    "tables": ({}, TABLES),
    "pairs": ({"obs": "pairs"}, {"module": PairModule, "size": "small"}),
}


def small_config(kind="boards", runner="batched", game=CONFIG, max_cycles=17, **changes):
    """PPO over two games of 24 steps; some of them are cut within a sample."""
    env, settings = KINDS[kind]
    env = {"config": game, "seats": SEATS, "max_cycles": max_cycles, **env}
    config = configure(PPOConfig(), env, runner=runner, **{**settings, **changes})
    config.env_runners(num_env_runners=0, rollout_fragment_length=STEPS // 2, num_envs_per_env_runner=2)
    config.training(train_batch_size_per_learner=STEPS, minibatch_size=32, num_epochs=1)
    return config.debugging(seed=5, log_level="ERROR")


class Pair:
    """A runner and a learner with the same weights, the latter within its first update."""

    def __init__(self, config):
        self.runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
        self.learner = config.build_learner(env=self.runner.env)
        self.module = self.learner.module[MAIN].unwrapped()
        self.module.set_state(copy.deepcopy(self.runner.module[MAIN].get_state()))
        self.learner._weights_seq_no = 1

    def batch(self, episodes):
        """The batch of copies of episodes, and for how many rows values were computed."""
        compute = self.module.compute_values
        with mock.patch.object(self.module, "compute_values", side_effect=compute) as watched:
            batch = batch_of(self.learner, episodes)[MAIN]
        return batch, sum(len(call.args[0][Columns.OBS]["action_mask"]) for call in watched.mock_calls)

    def without_them(self, episodes):
        """The same where all values are computed again."""
        (advantages,) = (one for one in self.learner._learner_connector if isinstance(one, Advantages))
        with mock.patch.object(advantages, "_weights", None):
            return self.batch(episodes)


@pytest.mark.parametrize(("kind", "runner"), [(kind, "batched") for kind in KINDS] + [("boards", "stock")])
def test_advantages_are_the_same_and_last_observations_alone_are_computed(kind, runner):
    both = Pair(small_config(kind, runner))
    episodes = both.runner.sample()
    pieces = sum(len(one.agent_episodes) for one in episodes)
    rows = sum(len(own) for one in episodes for own in one.agent_episodes.values())
    mine, few = both.batch(episodes)
    theirs, all_of_them = both.without_them(episodes)
    assert all_of_them == rows + pieces
    assert few <= pieces + CHECKED < rows
    assert mine.keys() == theirs.keys()
    assert Columns.VF_PREDS not in mine
    for name in ("advantages", "value_targets"):
        # Batches of other sizes round otherwise; nothing else differs.
        np.testing.assert_allclose(mine[name].numpy(), theirs[name].numpy(), rtol=1e-3, atol=1e-4)
        assert theirs[name].std() > 0


@pytest.mark.parametrize("number", [0, 2])
def test_rows_of_other_weights_are_computed_again(number):
    both = Pair(small_config())
    episodes = both.runner.sample()
    both.learner._weights_seq_no = number  # the rows are of update 0: the learner has skipped or missed one
    mine, count = both.batch(episodes)
    assert count == len(mine["advantages"])


def test_weights_that_were_changed_without_a_word_are_noticed():
    both = Pair(small_config())
    episodes = both.runner.sample()
    with torch.no_grad():
        both.module.policy.value_head.weight.mul_(1.5)
    mine, _ = both.batch(episodes)
    theirs, _ = both.without_them(episodes)
    torch.testing.assert_close(mine["advantages"], theirs["advantages"], rtol=1e-3, atol=1e-4)


def test_it_can_be_switched_off_and_modules_need_not_send_values():
    for config in (small_config().learning(sampled_values=False), small_config(module=OwnLogits)):
        both = Pair(config)
        mine, count = both.batch(both.runner.sample())
        assert count == len(mine["advantages"])


def test_episodes_have_one_float_of_values_a_row_and_no_embeddings():
    both = Pair(small_config("pairs"))
    for explore in (True, False):
        for own in agents_of(both.runner.sample(explore=explore)):
            outputs = own.extra_model_outputs
            values = np.asarray(outputs[Columns.VF_PREDS].data)
            assert (values.dtype, values.ndim) == (np.float32, 1)
            assert Columns.EMBEDDINGS not in outputs
