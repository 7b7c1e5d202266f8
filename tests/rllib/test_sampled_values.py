"""What runners send: whole games or pieces of them, ends after a cut, and values for advantages."""

import copy
import itertools
from unittest import mock

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns

from rllib_adapters import configure, outcomes_of
from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.learning.rows import CHECKED, Advantages
from rllib_adapters.modules.board import FeatureModule
from rllib_adapters.modules.pairs import PairModule
from territorial import GameConfig
from territorial.observation.action_encoding import num_targets
from tests.rllib.compared import agents_of, batch_of, finish_off
from tests.rllib.leagues import runner_of
from tests.rllib.support import SmallModule, fill
from tests.rllib.support import small_config as config_of_support

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


KINDS = {
    "boards": ({"frames": 2}, {"module": Opinions}),
    "features": ({}, {"module": FeatureModule}),
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


@pytest.mark.usefixtures("choices_without_chance")
def test_a_game_that_spans_samples_is_the_same_in_pieces_and_whole(tmp_path):
    pieces, whole = (
        runner_of("boards", tmp_path / str(length), "batched", games=1, fragment=length, max_cycles=30)
        for length in (4, 30)
    )
    parts = []
    while not any(episode.is_done for episode in parts):
        parts += [episode for episode in pieces.sample() if len(episode)]
    (game,) = [episode for episode in whole.sample() if episode.is_done]
    parts = [part for part in parts if part.id_ == parts[0].id_]
    assert len(parts) >= 4
    assert [part.env_t_started for part in parts] == list(range(0, 4 * len(parts), 4))
    for agent, own in game.agent_episodes.items():
        mine = [part.agent_episodes[agent] for part in parts if agent in part.agent_episodes]
        assert len({part.id_ for part in mine}) == 1
        for name in ("actions", "rewards"):
            joined = np.concatenate([np.array(getattr(part, f"get_{name}")()) for part in mine])
            np.testing.assert_array_equal(joined, np.array(getattr(own, f"get_{name}")()))
        for before, after in itertools.pairwise(mine):  # the next piece goes on where one stops
            np.testing.assert_equal(before.get_observations(-1), after.get_observations(0))
        assert not any(part.is_done for part in mine[:-1])
        assert mine[-1].is_done == own.is_done


def test_only_an_end_is_worth_nothing_after_it(tmp_path):
    """By hand: with lambda 0 a target is the reward, and 0.9 times the value of what was seen next."""
    runner = runner_of("boards", tmp_path, "batched", fragment=17, max_cycles=13)
    config = runner.config.copy(copy_frozen=False).training(lambda_=0.0, gamma=0.9)
    learner = config.build_learner(env=runner.env)
    state = learner.module[MAIN].get_state()
    learner.module[MAIN].set_state({**state, "policy.value_head.bias": np.array([5.0], np.float32)})
    seen = set()
    for seats in ([], [1], [1, 2, 3, 4, 5]):
        if seats:
            finish_off(runner, 1, seats)
        episodes = runner.sample()
        wanted = []
        for own in agents_of(episodes):
            values = values_of(learner.module[MAIN], own.get_observations())
            rewards, last = np.array(own.get_rewards()), 0.0 if own.is_terminated else values[-1]
            wanted += list(rewards + 0.9 * np.append(values[1:-1], last))
            seen.add((own.is_terminated, own.is_truncated))
        batch = batch_of(learner, episodes)[MAIN]
        mask = np.asarray(batch[Columns.LOSS_MASK], bool) if Columns.LOSS_MASK in batch else slice(None)
        found = np.asarray(batch["value_targets"], np.float64)[mask]
        np.testing.assert_allclose(np.sort(found), np.sort(wanted), atol=1e-4)
    assert seen == {(True, False), (False, True), (False, False)}


def values_of(module, observations):
    module.frames = None
    rows = {
        name: torch.from_numpy(np.stack([seen[name] for seen in observations])) for name in observations[0]
    }
    return module.compute_values({Columns.OBS: rows}).numpy()


def greedy(own):
    """For each step of an agent's episode, whether no action is likelier but for rounding."""
    logits = np.array(own.get_extra_model_outputs(Columns.ACTION_DIST_INPUTS))
    parts = np.split(logits, [num_targets(6)], axis=1)
    chosen = np.array(own.get_actions()).T[:, :, None]
    gaps = [
        part.max(1) - np.take_along_axis(part, what, 1)[:, 0]
        for part, what in zip(parts, chosen, strict=True)
    ]
    return (np.stack(gaps) < 1e-5).all(0)


@pytest.mark.parametrize("explore", [False, pytest.param(True, marks=pytest.mark.verify)])
def test_runners_of_an_evaluation_play_whole_games_greedily_or_not(ends, tmp_path, running_ray, explore):
    config = config_of_support(fill(tmp_path), env={"max_cycles": 15}, runner="batched")
    config.evaluation(
        evaluation_num_env_runners=1,
        evaluation_duration=4,
        evaluation_duration_unit="episodes",
        evaluation_config={"explore": explore},
    )
    algorithm = ends(config.build_algo())
    result = algorithm.evaluate()
    outcomes = outcomes_of(algorithm, evaluation=True)
    (samples,) = algorithm.eval_env_runner_group.foreach_env_runner(
        lambda runner: [
            (own.is_done, greedy(own))
            for episode in runner.sample(num_episodes=4)
            for own in episode.agent_episodes.values()
        ],
        local_env_runner=False,
    )
    assert all(is_done for is_done, _ in samples)
    likeliest = np.concatenate([own for _, own in samples])
    assert likeliest.all() == (not explore)
    sampled = result["env_runners"]
    assert (sampled["num_episodes"], sampled["players"][MAIN]["land"]) == (4, sampled["land"])
    for mean in (sampled["episode_len_mean"], sampled["steps"]):
        assert 1 <= mean <= 15
    assert len(outcomes) >= 4
    assert all("trainable:main" in outcome.players for outcome in outcomes)
