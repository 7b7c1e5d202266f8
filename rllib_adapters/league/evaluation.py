"""Where games of matches and evaluations are played on a Ray cluster: by actors instead of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import ray

from territorial.evaluation.pool import Make, Portion, Record, Worker, records_of


class OnRay:
    """What plays the games of a match or an evaluation on a cluster::

        ray.init(address="auto")
        policies = {name: SnapshotPolicy(SharedStore("snapshots/"), name, trunks) for name in names}
        territorial.evaluate(policies, settings, episodes=64, play=OnRay())
        territorial.match(["banker", *names], policies=policies, play=OnRay())

    Every actor has one CPU and one batch of games. Snapshots come from a ``SharedStore``, which every machine
    fetches them from once. What an actor was at when it was lost is played by another one.

    Args:
        actors: how many; None: one for every CPU that the cluster has when it begins.
        retries: how often a portion is given to another actor.

    Iteration ends all actors, also when it is interrupted. RuntimeError where Ray does not run, PlayingError
    if a player fails.

    """

    def __init__(self, actors: int | None = None, *, retries: int = 3) -> None:
        self.actors, self.retries = actors, retries

    @property
    def workers(self) -> int:
        """How many actors play, if there are as many portions."""
        _need_ray()
        return max(1, self.actors or int(ray.cluster_resources().get("CPU", 1)))

    def __call__(
        self, make: Make[Portion, Record], portions: Sequence[Portion]
    ) -> Iterator[Iterable[Record]]:
        """Yield the records of each portion as it is finished."""
        count = max(1, min(self.workers, len(portions)))
        shared = ray.put(make)
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
                    attempt = ray.get(done)
                except ray.exceptions.RayActorError:
                    if not left:
                        raise
                    waiting.append((portion, left - 1))
                    actors[i] = _start(shared)
                else:
                    yield from records_of(attempt)
                idle.append(i)
        finally:
            for actor in actors.values():
                ray.kill(actor)


def _need_ray() -> None:
    if not ray.is_initialized():
        raise RuntimeError("games on a cluster need Ray; call ray.init() first")


def _start(make: Any) -> Any:
    return ray.remote(Worker).options(num_cpus=1).remote(make)
