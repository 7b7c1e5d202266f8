"""Snapshots as players of matches, tournaments and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import SNAPSHOT
from territorial.league import SnapshotStore
from territorial.nets.board_policy import MakeTrunk
from territorial.nets.seated import SeatedSnapshots, frames_of
from territorial.observation.layout import ObsLayout

DIGITS = 8
"""Of a snapshot's digest, in names."""

_tables: dict[str, tuple[Any, SeatedSnapshots]] = {}
"""By the folder of a store: the games of one setting, and what plays its snapshots in them."""


@dataclass(frozen=True)
class SnapshotPolicy:
    """A snapshot as a player; all of a store in a process share one network, and their weights are its files.

    Args:
        store: where the snapshot is.
        name: of the snapshot.
        trunks: makers of trunks by the names of architectures, beside ``seated.ARCHITECTURES``; functions and
            classes of modules, so that they can be pickled.

    UnknownSnapshotError if there is no such snapshot, MismatchError if it reads no boards.

    """

    store: SnapshotStore
    name: str
    trunks: Mapping[str, MakeTrunk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trunks", dict(self.trunks))  # whatever mapping it was, this can be pickled
        _ = self.frames  # raises what is wrong

    @property
    def frames(self) -> int:
        """Boards in a stack."""
        return frames_of(self.store, [self.name])

    @property
    def player_name(self) -> str:
        """What records of matches call it: its name with the first digits of the digest of its weights."""
        return f"{SNAPSHOT}{self.name}@{self.store.digest(self.name)[:DIGITS]}"

    def identity(self) -> str:
        """Return the name and the digest of the weights."""
        return f"{self.name} {self.store.digest(self.name)}"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Any:
        """Return what chooses the actions; all that it draws follows from the seeds of the games."""
        seated = self._open(config, layout)

        def act(game: VecGame, games: npt.NDArray[Any], seats: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return seated.act(game, games, seats, [self.name] * len(games))

        return act

    def distribution(self, config: GameConfig, layout: ObsLayout) -> Any:
        """Return what tells the probabilities that actions are drawn with.

        It raises SnapshotError where the network says nothing, as its logits are not finite.
        """
        seated = self._open(config, layout)

        def tell(game: VecGame, games: npt.NDArray[Any], seats: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return seated.probabilities(game, games, seats, [self.name] * len(games))

        return tell

    def stop(self) -> None:
        """Release the weights; the network without weights stays for the next snapshot."""
        table = _tables.get(str(self.store.path))
        if table is not None:
            table[1].policies.keep([], ())

    def _open(self, config: GameConfig, layout: ObsLayout) -> SeatedSnapshots:
        """Return what plays the snapshot, with it open; MismatchError if it was made for other games."""
        seated = self._seated(config, layout)
        seated.policies.keep([self.name], seated.policies.names)  # beside those that play already
        return seated

    def _seated(self, config: GameConfig, layout: ObsLayout) -> SeatedSnapshots:
        """Return what plays the snapshots of the store in these games; it forgets all others."""
        key, games = str(self.store.path), (config.hexdigest, layout, self.trunks)
        if key not in _tables or _tables[key][0] != games:
            seated = SeatedSnapshots(self.store, self.trunks, config, layout)
            if key in _tables:  # what has been read and compared with its digest once need not be again
                seated.policies.trust(_tables[key][1].policies)
            _tables[key] = games, seated
        return _tables[key][1]
