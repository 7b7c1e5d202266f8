"""Batches for several asynchronous learners: all of them get their part of one, or none does."""

from __future__ import annotations

from typing import Any

from ray.rllib.algorithms.impala import IMPALAConfig


def keep_batches_equal(algorithm: Any) -> None:
    """Keep learners of an algorithm that wait for one another from waiting without end.

    RLlib sends the parts of a batch to all learners but those that have enough of them waiting. Gradients are
    means over all learners, so a learner that got one part more waits for a partner that will not come. Here
    a batch that one of them has no room for is dropped for all, and counted as RLlib counts it.
    """
    if isinstance(algorithm.config, IMPALAConfig) and algorithm.config.num_learners > 1:
        manager = algorithm.learner_group._worker_manager
        manager.foreach_actor_async = _AllOrNone(manager)


class _AllOrNone:
    """``FaultTolerantActorManager.foreach_actor_async``, which sends to no actor if one would be left out."""

    def __init__(self, manager: Any) -> None:
        self._manager, self._send = manager, manager.foreach_actor_async

    def __call__(self, func: Any, tag: str | None = None, **kwargs: Any) -> int:
        """Send, and return how many calls were made."""
        states = self._manager._remote_actor_states
        waiting = max(states[i].get_num_in_flight_requests(tag) for i in self._manager.actor_ids())
        if func == "update" and waiting >= self._manager._max_remote_requests_in_flight_per_actor:
            return 0
        return int(self._send(func, tag, **kwargs))
