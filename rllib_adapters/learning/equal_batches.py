"""Batches for several asynchronous learners: all of them get their part of one, or none does."""

from __future__ import annotations

from typing import Any

from ray.rllib.algorithms.impala import IMPALAConfig

from rllib_adapters import ray_private


def keep_batches_equal(algorithm: Any) -> None:
    """Keep learners of an algorithm that wait for one another from waiting without end.

    RLlib sends the parts of a batch to all learners but those that have enough of them waiting. Gradients are
    means over all learners, so a learner that got one part more waits for a partner that will not come. Here
    a batch that one of them has no room for is dropped for all, and counted as RLlib counts it.
    """
    if isinstance(algorithm.config, IMPALAConfig) and algorithm.config.num_learners > 1:
        manager = ray_private.manager_of(algorithm.learner_group)
        manager.foreach_actor_async = _AllOrNone(manager)


class _AllOrNone:
    """``FaultTolerantActorManager.foreach_actor_async``, which sends to no actor if one would be left out."""

    def __init__(self, manager: Any) -> None:
        self._manager, self._send = manager, manager.foreach_actor_async

    def __call__(self, func: Any, tag: str | None = None, **kwargs: Any) -> int:
        """Send, and return how many calls were made."""
        waiting = max(ray_private.waiting_calls(self._manager, tag))
        if func == "update" and waiting >= ray_private.most_waiting(self._manager):
            return 0
        return int(self._send(func, tag, **kwargs))
