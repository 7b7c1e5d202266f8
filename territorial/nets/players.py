"""Snapshots as policies that ``territorial.evaluate`` can try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
import torch

from territorial.config import GameConfig
from territorial.decode.numpy import Decoder
from territorial.league import SnapshotStore
from territorial.nets.board_policy import MakeTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.nets.rows import rows_of
from territorial.obs_layout import ObsLayout
from territorial.observe import Observations

_tables: dict[str, tuple[str, FrozenPolicies]] = {}
"""By the folder of a store: the games of one setting, and what plays its snapshots in them."""


@dataclass(frozen=True)
class SnapshotPolicy:
    """A snapshot as a policy; all of a store in a process share one network, and their weights are its files.

    Args:
        store: where the snapshot is.
        name: of the snapshot.
        trunks: by the names of architectures, what makes the trunk, as for ``FrozenPolicies``; functions and
            classes of modules, so that they can be pickled.

    UnknownSnapshotError if there is no such snapshot.

    """

    store: SnapshotStore
    name: str
    trunks: Mapping[str, MakeTrunk]

    def __post_init__(self) -> None:
        self.store.manifest(self.name)

    @property
    def frames(self) -> int:
        """Boards in a stack."""
        return self.store.manifest(self.name).frames

    def identity(self) -> str:
        """Return the name and the digest of the weights."""
        return f"{self.name} {self.store.digest(self.name)}"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Any:
        """Return what chooses the actions; it draws from torch's own generator, set to ``seed``."""
        frozen = self._frozen(config, layout)
        frozen.keep([self.name], self._others(frozen))
        torch.manual_seed(seed)  # after the network was made, which draws too
        decoder = Decoder(layout)

        def act(seen: Observations, games: npt.NDArray[Any], seats: npt.NDArray[Any]) -> npt.NDArray[Any]:
            rows = rows_of(seen, decoder, games, seats)
            actions: npt.NDArray[Any] = frozen.act([self.name] * len(games), rows).numpy()
            return actions

        return act

    def stop(self) -> None:
        """Let go of the weights; the network without weights stays for the next snapshot."""
        table = _tables.get(str(self.store.path))
        if table is not None:
            table[1].keep([], ())

    def _frozen(self, config: GameConfig, layout: ObsLayout) -> FrozenPolicies:
        """Return what plays the snapshots of the store in these games; it forgets all others."""
        key, games = str(self.store.path), f"{config.hexdigest} {sorted(layout.to_dict().items())}"
        if key not in _tables or _tables[key][0] != games or _tables[key][1].trunks != dict(self.trunks):
            frozen = FrozenPolicies(self.store, layout, config, self.trunks)
            if key in _tables:  # what has been read and compared with its digest once need not be again
                frozen._verified |= _tables[key][1]._verified
            _tables[key] = games, frozen
        return _tables[key][1]

    @staticmethod
    def _others(frozen: FrozenPolicies) -> list[str]:
        """Return those that play already, in the same games."""
        return [name for name, _ in frozen._open]
