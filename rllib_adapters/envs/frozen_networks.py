"""The snapshots that the engine plays by itself: those whose networks were exported when they were frozen."""

from __future__ import annotations

from collections.abc import Collection
from weakref import WeakValueDictionary

from rllib_adapters.envs.env_config import EnvConfig
from territorial.bots import Network
from territorial.league import SnapshotStore, UnknownSnapshotError

_open: WeakValueDictionary[tuple[str, str, int], Network] = WeakValueDictionary()
"""The networks of this process, by file, content and interval: all its environments share them."""


class FrozenNetworks:
    """The networks of one environment's snapshots, each of which is opened when it first gets a seat.

    They decide whenever agents do. Where the episode goes on while a frozen seat lives, there are none: the
    engine knows of agents alone whether they live.

    Args:
        options: of the environment; ``store`` has the snapshots.

    """

    def __init__(self, options: EnvConfig) -> None:
        self._store = options.store if options.end_when == "no_agents" else None
        self._interval = options.interval
        self._networks: dict[str, Network | None] = {}

    def network(self, name: str) -> Network | None:
        """Return the network of a snapshot; None if it has none, or if there is no such snapshot yet.

        The pool plays it then, and says what is wrong. NetworkError for a file that is damaged.
        """
        if self._store is None:
            return None
        if name not in self._networks:
            try:
                self._networks[name] = _opened(self._store, name, self._interval)
            except (UnknownSnapshotError, FileNotFoundError):
                return None
        return self._networks[name]

    def keep(self, names: Collection[str]) -> None:
        """Release all but the snapshots ``names``; the engine keeps those that play until their games end."""
        self._networks = {name: self._networks[name] for name in self._networks.keys() & set(names)}


def _opened(store: SnapshotStore, name: str, interval: int) -> Network | None:
    found = store.network(name)
    if found is None:
        return None
    key = str(found.path), found.sha256, interval
    network = _open.get(key)
    if network is None:
        network = _open[key] = Network(found.path, interval=interval)
    return network
