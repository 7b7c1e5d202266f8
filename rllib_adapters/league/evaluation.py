"""Evaluating policies on a Ray cluster: ``territorial.evaluate`` with actors instead of processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ray

from territorial.evaluation.trials import Portion, TrialRecord, Tryout


class OnRay:
    """What plays the portions of an evaluation on a cluster::

        ray.init(address="auto")
        policies = {name: SnapshotPolicy(SharedStore("snapshots/"), name, trunks) for name in names}
        territorial.evaluate(policies, settings, episodes=64, play=OnRay())

    Every actor has one CPU and one batch of games. Snapshots come from a ``SharedStore``, which every machine
    fetches them from once. What an actor was at when it was lost is played by another one.

    Args:
        actors: how many; None: one for every CPU that the cluster has when it begins.
        retries: how often a portion is given to another actor.

    Iteration ends all actors, also when it is interrupted. RuntimeError where Ray does not run.

    """

    def __init__(self, actors: int | None = None, *, retries: int = 3) -> None:
        self.actors, self.retries = actors, retries

    def __call__(self, tryout: Tryout, portions: Sequence[Portion]) -> Iterator[list[TrialRecord]]:
        """Yield the records of each portion as it is finished."""
        if not ray.is_initialized():
            raise RuntimeError("an evaluation on a cluster needs Ray; call ray.init() first")
        wanted = self.actors or int(ray.cluster_resources().get("CPU", 1))
        count = max(1, min(wanted, len(portions)))
        shared = ray.put(tryout)
        actors = {i: _start(shared) for i in range(count)}
        waiting = [(portion, self.retries) for portion in reversed(portions)]
        busy: dict[Any, tuple[int, Portion, int]] = {}
        try:
            idle = list(actors)
            while waiting or busy:
                while idle and waiting:
                    i, (portion, left) = idle.pop(), waiting.pop()
                    busy[actors[i].play.remote(portion)] = i, portion, left
                (done,), _ = ray.wait(list(busy), num_returns=1)
                i, portion, left = busy.pop(done)
                try:
                    yield ray.get(done)
                except ray.exceptions.RayActorError:
                    if not left:
                        raise
                    waiting.append((portion, left - 1))
                    actors[i] = _start(shared)
                idle.append(i)
        finally:
            for actor in actors.values():
                ray.kill(actor)


class _Actor:
    """A process of the cluster that plays portions."""

    def __init__(self, tryout: Tryout) -> None:
        self._work = tryout()

    def play(self, portion: Portion) -> list[TrialRecord]:
        """Return the records of a portion."""
        return self._work(portion)


def _start(tryout: Any) -> Any:
    return ray.remote(_Actor).options(num_cpus=1).remote(tryout)
