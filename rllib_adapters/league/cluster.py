"""A Ray cluster that is running: the commands join it, and what they play or train is on its machines."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import ray

from rllib_adapters.league.evaluation import OnRay
from rllib_adapters.league.shared_store import SharedStore

AUTO = "auto"
"""The address of the cluster that this machine is part of."""
PATIENCE = 10
"""Seconds within which a cluster has to answer."""


class ClusterError(ConnectionError):
    """There is no such cluster; the message is one line on what to do."""


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
            f"{address!r} is no Ray cluster that this machine is part of: {reason}; "
            "`ray start --head` makes one, `ray start --address=HOST:PORT` adds a machine"
        ) from None


def _knock(address: str) -> None:
    """Raise OSError or ValueError where nothing answers: Ray itself tries for minutes."""
    if address == AUTO:
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"it must be HOST:PORT or {AUTO}")
    socket.create_connection((host, int(port)), timeout=PATIENCE).close()


@contextmanager
def joined(address: str, actors: int | None) -> Iterator[tuple[OnRay, type[SharedStore]]]:
    """Within the block, this process is of a cluster: yield what plays there, and the stores to play from.

    ``actors``: that play; None: one for each CPU of the cluster. ClusterError if there is none.
    """
    join(address)
    try:
        yield OnRay(actors), SharedStore
    finally:
        ray.shutdown()


def search_path() -> str:
    """Return where this process finds modules, for those of Ray."""
    return os.pathsep.join(part for part in sys.path if part)
