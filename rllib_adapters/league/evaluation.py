"""Ray clusters: joining, shared snapshots, and games played by actors."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from territorial.evaluation.workers import GameChunk, Make, Record, Worker, records_of
from territorial.league import SnapshotStore, UnknownSnapshotError
from territorial.league.store import About, SnapshotBundle


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


AUTO = "auto"
"""The address of the cluster that this machine is part of."""


class ClusterError(ConnectionError):
    """There is no such cluster; the message says in one line how to get one."""


def join(address: str) -> None:
    """Connect this process to the cluster at ``address``, HOST:PORT or "auto"; ClusterError if it cannot.

    Its processes find modules where this one does, on machines that have the same folders.
    """
    try:
        _knock(address)
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


def _knock(address: str) -> None:
    """Raise OSError or ValueError where nothing answers: Ray itself tries for minutes."""
    if address == AUTO:
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"it must be HOST:PORT or {AUTO}")
    socket.create_connection((host, int(port)), timeout=10).close()


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


# ---- snapshots on clusters -------------------------------------------------------------------------------


CACHE = Path(tempfile.gettempdir()) / "territorial-snapshots"
"""Where machines keep what they have fetched, by default."""


_senders: dict[tuple[str, str], Any] = {}
"""By name and job, handles of the actors that this process knows: who starts one has to keep the first."""


class SharedStore(SnapshotStore):
    """A ``SnapshotStore`` for algorithms with processes on several machines.

    The machine on which the first process opens it is its home: there it is the store in ``path``, to which
    snapshots are added. Pickled and opened on another machine, it is a store in ``cache`` there, which gets
    a snapshot when a process on that machine first needs it. One process fetches it through Ray's object
    store, the others wait and map the same file. What has been fetched stays for the next run; a snapshot
    that has changed since is fetched again::

        ray.init(address="auto")
        config = configure(PPOConfig(), env_config, store=SharedStore("snapshots/"))

    An actor without CPUs answers at home until the process that opened it first has ended.

    Args:
        path: the folder on the home machine.
        cache: the folder on all other machines, in which every store gets one of its own; default
            ``CACHE``, a folder among temporary files.

    Raises:
        RuntimeError: where Ray does not run.

    """

    def __init__(self, path: str | os.PathLike[str], *, cache: str | os.PathLike[str] = CACHE) -> None:
        if not ray.is_initialized():
            raise RuntimeError("a SharedStore needs Ray; call ray.init() first")
        self._home_path, self._cache = Path(path).absolute(), Path(cache).absolute()
        self._sender = _sender_of(self._home_path)
        if ray.get(self._sender.node.remote()) == _node():
            super().__init__(self._home_path)
        else:
            super().__init__(self._cache / _digest(self._home_path), fetch=self._ask)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(SharedStore, cache=self._cache), (self._home_path,)

    def within(self, name: str) -> SharedStore:
        """Return a store of the same kind in a folder of this one; its home is here."""
        return SharedStore(self._home_path / name, cache=self._cache)

    def _about(self, name: str) -> About:
        """As ``SnapshotStore._about``; entries that changed in the home store are fetched again."""
        self._forget_old(name)
        return super()._about(name)

    def _ask(self, name: str) -> SnapshotBundle:
        packed: SnapshotBundle | None = ray.get(self._sender.pack.remote(name))
        if packed is None:
            raise KeyError(name)
        return packed

    def _forget_old(self, name: str) -> None:
        """Remove the fetched snapshot ``name`` if the home store has another one of that name."""
        if self.fetch is None or name not in self:
            return
        there = ray.get(self._sender.about.remote(name))
        if there is not None:  # what is no longer at home may be played on by a process that has it
            with self._changing() as folder, contextlib.suppress(UnknownSnapshotError):
                if self.pack(name).manifest != there:
                    (self.path / name).rename(folder / name)


class _Sender:
    """The actor at home that hands snapshots out."""

    def __init__(self, path: Path) -> None:
        self._store = SnapshotStore(path)

    def node(self) -> str:
        """Return the id of its machine."""
        return _node()

    def about(self, name: str) -> bytes | None:
        """Return the manifest file of a snapshot, which has the digest of its weights; None: no such."""
        packed = self.pack(name)
        return None if packed is None else packed.manifest

    def pack(self, name: str) -> SnapshotBundle | None:
        """Return a snapshot, or None if there is no such."""
        try:
            return self._store.pack(name)
        except UnknownSnapshotError:
            return None


def _sender_of(path: Path) -> Any:
    """Return the actor of a store, started on this machine if there is none yet."""
    name = f"snapshots of {path}"
    key = name, ray.get_runtime_context().get_job_id()
    if key not in _senders:
        here = NodeAffinitySchedulingStrategy(_node(), soft=False)
        actor = ray.remote(_Sender).options(
            name=name, namespace="territorial", get_if_exists=True, num_cpus=0, scheduling_strategy=here
        )
        _senders[key] = actor.remote(path)
    return _senders[key]


def _digest(path: Path) -> str:
    return f"{path.name}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}"


def _node() -> str:
    """Return the id of the machine, as Ray counts them."""
    return str(ray.get_runtime_context().get_node_id())
