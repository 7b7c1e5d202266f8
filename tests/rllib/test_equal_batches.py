"""Batches for several learners: all of them get their part of one, or none does."""

from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")

from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters.learning.equal_batches import keep_batches_equal


class Manager:
    """Sends as RLlib's does: to all but those who have two waiting."""

    _max_remote_requests_in_flight_per_actor = 2

    def __init__(self, *waiting):
        self.waiting = list(waiting)

    @property
    def _remote_actor_states(self):
        return [SimpleNamespace(get_num_in_flight_requests=lambda _, n=n: n) for n in self.waiting]

    def actor_ids(self):
        return range(len(self.waiting))

    def foreach_actor_async(self, func, tag=None, *, kwargs=None):
        sent = [n < 2 for n in self.waiting]
        self.waiting = [n + is_sent for n, is_sent in zip(self.waiting, sent, strict=True)]
        return sum(sent)


def algorithm_with(manager, config):
    group = SimpleNamespace(_worker_manager=manager)
    return SimpleNamespace(config=config.learners(num_learners=2), learner_group=group)


def test_a_batch_that_one_has_no_room_for_is_dropped_for_all():
    manager = Manager(0, 1)
    keep_batches_equal(algorithm_with(manager, IMPALAConfig()))
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 2
    assert manager.waiting == [1, 2]
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 0
    assert manager.waiting == [1, 2]
    assert manager.foreach_actor_async("get_state") == 1  # what else is sent is RLlib's business


def test_learners_that_do_not_run_ahead_are_left_alone():
    manager = Manager(1, 2)
    keep_batches_equal(algorithm_with(manager, PPOConfig()))
    assert manager.foreach_actor_async("update", kwargs=[{}, {}]) == 1
