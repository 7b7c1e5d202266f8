"""What RLlib trained, as a seat of an examination: in the engine, or acting from outside."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch

from benchmarks.bots.exam_games import ActingSeat
from territorial.bots import Network
from territorial.config import GameConfig
from territorial.league import SnapshotStore
from territorial.nets import PairPolicy
from territorial.nets.encode_once import EncodeOncePolicy
from territorial.nets.players import SnapshotPolicy
from territorial.observation.layout import ObsLayout

TRUNKS = {"EncodeOnceModule": EncodeOncePolicy}
"""The networks that play games of any size, by what manifests call them."""
PAIRS = "pairs"


def seat_of_snapshot(
    store: SnapshotStore, name: str, work: Path, *, interval: int, temperature: float
) -> Network | ActingSeat:
    """Return the seat of a snapshot, which decides every ``interval`` ticks.

    One on pairs is exported to the folder ``work``, however much whole numbers change. All others draw their
    actions, as at ``temperature`` 1.
    """
    manifest = store.manifest(name)
    if manifest.observation != PAIRS:
        return ActingSeat(SnapshotOfAnySize(store, name, SnapshotStore(work / "sizes")), interval)
    policy = PairPolicy(manifest.settings["size"])
    policy.load_state_dict({key: torch.tensor(array) for key, array in store.load(name).items()})
    path = work / "network.safetensors"
    policy.export(path, interval=interval, temperature=temperature, least_equal=0)
    return Network(path)


class SnapshotOfAnySize:
    """A snapshot whose network plays games of any size, also of others than its manifest says.

    Args:
        store: where it is.
        name: of the snapshot.
        sizes: a store for copies of it, one for each size.

    """

    def __init__(self, store: SnapshotStore, name: str, sizes: SnapshotStore) -> None:
        self._store, self._name, self._sizes = store, name, sizes
        self._playing: SnapshotPolicy | None = None

    @property
    def frames(self) -> int:
        """Boards in a stack."""
        return self._store.manifest(self._name).frames

    def identity(self) -> str:
        """Return its name and the digest of its weights."""
        return f"{self._name} {self._store.digest(self._name)}"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Any:
        """Return what chooses the actions in games of any size."""
        weights_are = self._store.digest(self._name)[:16]
        name = f"{weights_are}-{config.height}-{config.width}-{config.num_players}"
        if name not in self._sizes:
            game = {key: getattr(layout, key) for key in ("height", "width", "num_players")}
            weights = self._store.load(self._name)
            self._sizes.add(name, weights, dataclasses.replace(weights.manifest, **game))
        self._playing = SnapshotPolicy(self._sizes, name, TRUNKS)
        return self._playing.start(config, layout, seed)

    def stop(self) -> None:
        """Release the weights."""
        if self._playing is not None:
            self._playing.stop()
