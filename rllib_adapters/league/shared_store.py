"""``SharedStore``: snapshots for processes on several machines."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from territorial.league import SnapshotStore, UnknownSnapshotError
from territorial.league.store import About, SnapshotBundle

CACHE = Path(tempfile.gettempdir()) / "territorial-snapshots"
"""Where machines keep what they have fetched, by default."""


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
        self._sender = _sender_of(self._home_path, ray.get_runtime_context().get_job_id())
        if ray.get(self._sender.node.remote()) == _node():
            super().__init__(self._home_path)
        else:
            digest = hashlib.sha256(os.fsencode(self._home_path)).hexdigest()[:12]
            super().__init__(self._cache / f"{self._home_path.name}-{digest}", fetch=self._ask)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(SharedStore, cache=self._cache), (self._home_path,)

    def within(self, name: str) -> SharedStore:
        """Return a store of the same kind in a folder of this one; its home is here."""
        return SharedStore(self._home_path / name, cache=self._cache)

    def _about(self, name: str) -> About:
        """As ``SnapshotStore._about``; entries that changed in the home store are fetched again."""
        if self.fetch is not None and name in self:
            there = ray.get(self._sender.about.remote(name))
            if there is not None:  # what is no longer at home may be played on by a process that has it
                with self._changing() as folder, contextlib.suppress(UnknownSnapshotError):
                    if self.pack(name).manifest != there:
                        (self.path / name).rename(folder / name)
        return super()._about(name)

    def _ask(self, name: str) -> SnapshotBundle:
        packed: SnapshotBundle | None = ray.get(self._sender.pack.remote(name))
        if packed is None:
            raise KeyError(name)
        return packed


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


@cache  # who starts an actor has to keep its first handle
def _sender_of(path: Path, job: str) -> Any:
    """Return the actor of a store for a job of Ray, started on this machine if there is none yet."""
    actor = ray.remote(_Sender).options(
        name=f"snapshots of {path}",
        namespace="territorial",
        get_if_exists=True,
        num_cpus=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(_node(), soft=False),
    )
    return actor.remote(path)


def _node() -> str:
    """Return the id of the machine, as Ray counts them."""
    return str(ray.get_runtime_context().get_node_id())
