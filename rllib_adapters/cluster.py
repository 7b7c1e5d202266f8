"""Ray clusters: joining, and games played by actors."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray

from rllib_adapters.league.shared_store import SharedStore
from territorial.evaluation.workers import GameChunk, Make, Record, Worker, records_of


class OnRay:
    """Plays the games of a match or an evaluation on a cluster::

        ray.init(address="auto")
        policies = {name: SnapshotPolicy(SharedStore("snapshots/"), name, trunks) for name in names}
        territorial.evaluate(policies, scenarios, episodes=64, play=OnRay())
        territorial.match(["banker", *names], policies=policies, play=OnRay())

    Every actor has one CPU and one batch of games. Snapshots come from a ``SharedStore``, which every machine
    fetches them from once. What an actor was at when it was lost is played by another one.

    Args:
        actors: how many; None: one for every CPU that the cluster has when it begins.
        retries: how often a chunk is given to another actor.

    Iteration ends all actors, also when it is interrupted. RuntimeError where Ray does not run, PlayingError
    if a player fails.

    """

    def __init__(self, actors: int | None = None, *, retries: int = 3) -> None:
        self.actors, self.retries = actors, retries

    @property
    def workers(self) -> int:
        """How many actors play, if there are as many chunks."""
        if not ray.is_initialized():
            raise RuntimeError("games on a cluster need Ray; call ray.init() first")
        return max(1, self.actors or int(ray.cluster_resources().get("CPU", 1)))

    def __call__(
        self, make: Make[GameChunk, Record], chunks: Sequence[GameChunk]
    ) -> Iterator[Iterable[Record]]:
        """Yield the records of each chunk as it is finished."""
        count = max(1, min(self.workers, len(chunks)))
        shared = ray.put(make)
        actors: dict[int, Any] = {}
        waiting = [(chunk, self.retries) for chunk in reversed(chunks)]
        busy: dict[Any, tuple[int, list[GameChunk], int]] = {}
        unfinished = len(chunks)

        def start(i: int, left: int) -> None:
            # Where machines were lost there may be no room: an actor gets its first chunk once it is there.
            actors[i] = ray.remote(Worker).options(num_cpus=1).remote(shared)
            busy[actors[i].__ray_ready__.remote()] = i, [], left

        try:
            idle: list[int] = []
            for i in range(count):
                start(i, self.retries)
            while unfinished:
                while idle and waiting:
                    i, (chunk, left) = idle.pop(), waiting.pop()
                    busy[actors[i].play.remote(chunk)] = i, [chunk], left
                (done,), _ = ray.wait(list(busy), num_returns=1)
                i, played, left = busy.pop(done)
                try:
                    attempt = ray.get(done)
                except ray.exceptions.RayActorError:
                    if not left:
                        raise
                    waiting += [(chunk, left - 1) for chunk in played]
                    start(i, left - 1)
                else:
                    idle.append(i)
                    unfinished -= len(played)
                    if played:
                        yield from records_of(attempt)
        finally:
            for actor in actors.values():
                ray.kill(actor)


# ---- joining a cluster -----------------------------------------------------------------------------------


class ClusterError(ConnectionError):
    """There is no such cluster; the message says in one line how to get one."""


def join(address: str) -> None:
    """Connect this process to the cluster at ``address``, HOST:PORT or "auto"; ClusterError if it cannot.

    Its processes find modules where this one does, on machines that have the same folders.
    """
    try:
        if address != "auto":  # where nothing answers, Ray itself tries for minutes
            host, colon, port = address.rpartition(":")
            if not colon or not port.isdecimal():
                raise ValueError("it must be HOST:PORT or auto")
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="error",
            runtime_env={"env_vars": {"PYTHONPATH": search_path()}},
        )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise ClusterError(
            f"{address!r} is not a Ray cluster that this machine is part of: {reason}; "
            "`ray start --head` makes one, `ray start --address=HOST:PORT` adds a machine"
        ) from None


@contextmanager
def joined(address: str, actors: int | None) -> Iterator[tuple[OnRay, type[SharedStore]]]:
    """Within the block this process belongs to a cluster: yield its actors and the stores to play from.

    ``actors``: that play; None: one for each CPU of the cluster. ClusterError if there is none.
    """
    join(address)
    try:
        yield OnRay(actors), SharedStore
    finally:
        ray.shutdown()


def search_path() -> str:
    """Return the module search path of this process, for the processes of Ray."""
    return os.pathsep.join(part for part in sys.path if part)
