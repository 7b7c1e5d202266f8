"""A league on pairs whose snapshots act in the pool: trajectories, advantages and losses are RLlib's own."""

import copy

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import GeneralAdvantageEstimation

from rllib_adapters import configure
from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.learning.episode_ends import EpisodeEnds
from territorial import GameConfig
from territorial.league import Group, LeagueTable, SnapshotStore
from tests.rllib.test_engine_seats import add, network_called
from tests.rllib.test_pairs import with_opinions
from tests.rllib.test_runner import LOSSES, finish_off, ordered, play_the_same

CONFIG = GameConfig(height=24, width=24, num_players=6, max_ticks=1000)
LEAGUE = LeagueTable(
    [
        Group(2, {"trainable:main": 1}),
        Group(3, {"snapshot:strong": 1, "snapshot:weak": 1}),
        Group(1, {"bot:banker": 1}),
    ]
)
COLUMNS = ("advantages", "value_targets", "rewards", "action_logp", "terminateds", "truncateds")


def make_runner(path, kind, **changes):
    """A runner of two games; its snapshots were exported, and act in the pool all the same."""
    store = SnapshotStore(path)
    for name, policy in (("strong", "strong"), ("weak", "1")):
        add(store, name, policy=policy, network=network_called(policy))
    env = {"config": CONFIG, "league": LEAGUE, "obs": "pairs", **changes}
    config = configure(PPOConfig(), env, runner=kind, store=store, frozen_seats="pool", size="small")
    config.env_runners(num_env_runners=0, rollout_fragment_length=24, num_envs_per_env_runner=2)
    config.training(train_batch_size_per_learner=48, minibatch_size=16, num_epochs=1).debugging(seed=11)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    runner.module[MAIN].set_state(with_opinions())
    return runner


def make_runners(path, **changes):
    return [make_runner(path / kind, kind, **changes) for kind in ("stock", "batched")]


@pytest.mark.usefixtures("choices_without_chance")
def test_trajectories_are_those_of_the_stock_runner(tmp_path):
    """With actions of two parts; those of one number: test_pairs.py."""
    stock, batched = make_runners(tmp_path, action_format="pairs_multi_discrete", max_cycles=62)
    assert play_the_same(stock, batched, ([], [1], [1, 2], [2]), explore=False) == {MAIN}
    for runner in (stock, batched):
        assert sorted(runner.module[POOL].opponents.names) == ["strong", "weak"]


def rllibs_own(runner):
    """RLlib's own learner of PPO for the modules of a runner, with value targets as later releases have."""
    config = runner.config.copy(copy_frozen=False).learners(learner_class=PPOTorchLearner)
    learner = PPOTorchLearner(config=config, module_spec=config.get_multi_rl_module_spec(env=runner.env))
    learner.build()
    learner._learner_connector.insert_before(GeneralAdvantageEstimation, EpisodeEnds())
    return learner


def learned(learner, episodes, weights):
    """The rows that a learner makes of episodes, and the losses of an update with all of them."""
    learner.module[MAIN].set_state(copy.deepcopy(weights))
    batch = learner._learner_connector(
        rl_module=learner.module,
        batch={},
        episodes=copy.deepcopy(episodes),
        shared_data={},
        metrics=learner.metrics,
    )[MAIN]
    rows = np.stack([np.asarray(batch[name], np.float64) for name in COLUMNS], 1)
    losses = learner.update(episodes=copy.deepcopy(episodes), num_epochs=1, minibatch_size=None)[MAIN]
    return ordered(rows, episodes), {name: float(losses[name].peek()) for name in LOSSES}


@pytest.mark.usefixtures("choices_without_chance")
def test_advantages_and_losses_are_those_of_the_stock_runner_and_of_rllibs_learner(tmp_path):
    stock, batched = make_runners(tmp_path, max_cycles=17)
    weights = stock.module[MAIN].get_state()
    theirs, mine = rllibs_own(stock), batched.config.build_learner(env=batched.env)
    mine._weights_seq_no = 1  # the runner has the learner's weights: the values that it sends are taken
    samples = []
    for runner in (stock, batched):
        runner.sample(explore=False)
        finish_off(runner, 0, [2])
        samples.append(runner.sample(explore=False))
    (rows, losses), (own_rows, own_losses) = (
        learned(learner, episodes, weights) for learner, episodes in zip((theirs, mine), samples, strict=True)
    )
    assert own_rows[:, 4].any()
    assert own_rows[:, 5].any()
    np.testing.assert_allclose(own_rows, rows, rtol=1e-3, atol=1e-3)
    assert own_losses == pytest.approx(losses, rel=1e-3, abs=1e-4)
    assert own_losses["vf_loss"] > 0
