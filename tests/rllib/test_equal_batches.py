"""Batches for several learners: all of them get their part of one, or none does."""

from types import SimpleNamespace

import pytest
import ray
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.utils.actor_manager import FaultAwareApply, FaultTolerantActorManager

from rllib_adapters.learning.equal_batches import keep_batches_equal

pytestmark = pytest.mark.release


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


def in_flight(manager):
    states = manager._remote_actor_states
    return [states[i].get_num_in_flight_requests(None) for i in manager.actor_ids()]


def test_a_batch_that_one_has_no_room_for_is_dropped_for_all(learners):
    algorithm, manager = algorithm_with(learners, 0, 1, config=IMPALAConfig())
    keep_batches_equal(algorithm)
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 2
    assert in_flight(manager) == [1, 2]
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 0
    assert in_flight(manager) == [1, 2]
    assert manager.foreach_actor_async("get_state") == 1  # what else is sent is RLlib's business


def test_learners_that_do_not_run_ahead_are_left_alone(learners):
    algorithm, manager = algorithm_with(learners, 1, 2, config=PPOConfig())
    keep_batches_equal(algorithm)
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 1
