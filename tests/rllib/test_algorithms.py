"""PPO, IMPALA and APPO on no, one and two learners of their own."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import ray
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.utils.actor_manager import FaultAwareApply, FaultTolerantActorManager

from rllib_adapters import configure
from rllib_adapters.algorithms import TerritorialIMPALAConfig, TerritorialPPOConfig
from territorial.league import Group, LineUpDistribution
from tests.rllib.leagues import LEARNERS, mixed_config
from tests.rllib.support import SmallModule, env_config, fill

pytestmark = pytest.mark.usefixtures("running_ray")


def weights_of(algorithm):
    weights = algorithm.learner_group.get_weights()
    return {name: {key: np.array(part) for key, part in weights[name].items()} for name in LEARNERS}


@pytest.mark.parametrize(
    ("algorithm", "learners"),
    [
        (PPOConfig, 2),
        pytest.param(PPOConfig, 0, marks=pytest.mark.verify),
        pytest.param(PPOConfig, 1, marks=pytest.mark.verify),
        pytest.param(IMPALAConfig, 0, marks=pytest.mark.verify),
        pytest.param(IMPALAConfig, 1, marks=pytest.mark.verify),
        pytest.param(IMPALAConfig, 2, marks=pytest.mark.verify),
        pytest.param(APPOConfig, 2, marks=pytest.mark.verify),
    ],
)
def test_all_who_learn_do_so_on_any_number_of_learners(ends, tmp_path, algorithm, learners):
    config = mixed_config(fill(tmp_path), config=algorithm(), env={"max_cycles": 9})
    config.learners(num_learners=learners, num_cpus_per_learner=1)
    config.training(train_batch_size_per_learner=24 // max(1, learners))
    if algorithm is PPOConfig:
        config.training(minibatch_size=8, num_epochs=1)
        config.learning(share=0.5 if learners == 2 else 1)
    else:
        config.env_runners(num_env_runners=1, rollout_fragment_length=12 // max(1, learners))
        config.reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=1)
    built = ends(config.build_algo())
    before, wanted, until = weights_of(built), {"main", "rival"}, time.monotonic() + 300
    learned, iterations = set(), 0
    # IMPALA's learners report now and then, and what they have learned comes as it comes.
    while iterations < 2 or not (wanted < learned or algorithm is PPOConfig):
        assert time.monotonic() < until, f"only {learned} have learned"
        built.train()
        after, iterations = weights_of(built), iterations + 1
        learned = {
            name
            for name in LEARNERS
            if any((part != after[name][key]).any() for key, part in before[name].items())
        }
    assert wanted < learned, "and one of the two who may sit in the other seats"
    for name, weights in after.items():
        assert all(np.isfinite(part).all() for part in weights.values()), name
    if learners == 2 and algorithm is PPOConfig:  # both have come to the same weights
        states = built.learner_group.foreach_learner(
            lambda learner: {name: learner.module[name].get_state() for name in LEARNERS}
        )
        first, second = (state.get() for state in states)
        for name in LEARNERS:
            for key, part in first[name].items():
                np.testing.assert_array_equal(part, second[name][key])
        wrapped = built.learner_group.foreach_learner(lambda learner: type(learner.module["main"]).__name__)
        assert {kind.get() for kind in wrapped} == {"TorchDDPRLModule"}


@pytest.mark.verify
@pytest.mark.parametrize("algorithm", [PPOConfig, IMPALAConfig, APPOConfig])
def test_a_learner_without_rows_of_a_module_keeps_nobody_waiting(tmp_path, algorithm):
    """``rare`` plays one game in some, so that one of two learners may have nothing of it."""
    table = LineUpDistribution(
        [
            Group(1, {"trainable:main": 1}),
            Group(1, {"trainable:rare": 0.4, "bot:metronome": 0.6}),
            Group(4, {"bot:novice": 1}),
        ]
    )
    config = configure(
        algorithm(), env_config(league=table, max_cycles=6), module=SmallModule, runner="batched"
    )
    config.env_runners(num_env_runners=1, rollout_fragment_length=6, num_envs_per_env_runner=2)
    config.learners(num_learners=2, num_cpus_per_learner=1)
    config.training(train_batch_size_per_learner=12)
    if algorithm is PPOConfig:
        config.training(minibatch_size=4, num_epochs=1)
    config.reporting(min_time_s_per_iteration=0)
    config.debugging(seed=5)
    built, rows = config.build_algo(), []
    try:
        while len(rows) < 5:
            sampled = built.train()["env_runners"].get("num_module_steps_sampled", {})
            if sampled:  # IMPALA's iterations end by the clock, with samples or without
                rows.append(sampled.get("rare", 0))
    finally:
        built.stop()
    assert max(rows) > 0


def test_what_cannot_share_frames_is_refused(tmp_path):
    config = mixed_config(fill(tmp_path / "other"), config=IMPALAConfig())
    for change, message in (
        (
            lambda: config.learners(num_aggregator_actors_per_learner=1),
            "num_aggregator_actors_per_learner is 1; it must be 0",
        ),
        (
            lambda: config.learners(num_aggregator_actors_per_learner=0, num_learners=2).training(
                train_batch_size_per_learner=23
            ),
            "train_batch_size_per_learner is 23; with 2 learners it must be at lea",
        ),
    ):
        change()
        with pytest.raises(ValueError, match=message):
            config.check_batches()


class Learner(FaultAwareApply):
    """An actor with the methods of a learner that the tests send to."""

    def update(self):
        return "updated"

    def get_state(self):
        return {}


@pytest.fixture(scope="module")
def learners(running_ray):
    """Two actors of a running Ray."""
    actor = ray.remote(num_cpus=0)(Learner)
    return [actor.remote() for _ in range(2)]


def algorithm_with(learners, *waiting, config):
    """Return an algorithm whose learners have so many requests in flight, and RLlib's manager of them.

    A request is in flight until its result is fetched, which RLlib does and these tests do not.
    """
    manager = FaultTolerantActorManager(learners, max_remote_requests_in_flight_per_actor=2)
    for i, count in enumerate(waiting):
        for _ in range(count):
            assert manager.foreach_actor_async("update", remote_actor_ids=[i]) == 1
    group = SimpleNamespace(_worker_manager=manager)
    return SimpleNamespace(config=config.learners(num_learners=2), learner_group=group), manager


def test_a_batch_that_one_has_no_room_for_is_dropped_for_all(learners):
    algorithm, manager = algorithm_with(learners, 0, 1, config=TerritorialIMPALAConfig())
    algorithm.config.prepare(algorithm)
    states = [manager._remote_actor_states[i] for i in manager.actor_ids()]
    for sent in (2, 0):
        assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == sent
        assert [state.get_num_in_flight_requests(None) for state in states] == [1, 2]
    assert manager.foreach_actor_async("get_state") == 1  # what else is sent is RLlib's business


def test_learners_that_do_not_run_ahead_are_left_alone(learners):
    algorithm, manager = algorithm_with(learners, 1, 2, config=TerritorialPPOConfig())
    algorithm.config.prepare(algorithm)
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 1
