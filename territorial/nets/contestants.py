"""Snapshots as players of a contest: they see the games and choose for their seats, at every decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.bots import View
from territorial.config import GameConfig
from territorial.decode.numpy import Decoder
from territorial.engine import VecGame
from territorial.league import MismatchError, SnapshotStore
from territorial.league.policies import SNAPSHOT, Who
from territorial.nets.board_policy import MakeTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.nets.reference import ReferenceTrunk
from territorial.nets.rows import rows_of
from territorial.obs_layout import ObsLayout

ARCHITECTURES: Mapping[str, MakeTrunk] = MappingProxyType({"ReferenceModule": ReferenceTrunk})
"""Makers of trunks that are always known, by the names that manifests have for them."""
DRAWS = 256, 257
"""The numbers that a seat draws at a decision, see ``territorial.bots.View.draw``."""
DIGITS = 8
"""Of a snapshot's digest, in names."""


class SnapshotPlayers:
    """The snapshots of a store as players of a contest, see ``territorial.league.policies.Policies``.

    They act at every decision point and draw from the game's seed, on one thread of the processor and game
    by game, so that a game comes out the same whatever is played beside it.

    Args:
        store: where the snapshots are.
        trunks: makers of trunks by the names of architectures, beside ``ARCHITECTURES``.
        config: of the games.
        snapshots: the names of all that play. Raises the errors of ``FrozenPolicies.act``.

    """

    def __init__(
        self,
        store: SnapshotStore,
        trunks: Mapping[str, MakeTrunk],
        config: GameConfig,
        snapshots: Sequence[str],
    ) -> None:
        manifests = {name: store.manifest(name) for name in snapshots}
        for name, manifest in manifests.items():
            if manifest.frames == 0:
                raise MismatchError(f"snapshot {name!r} reads no boards; only those that do can play here")
        self.frames = max(manifest.frames for manifest in manifests.values())
        layout = ObsLayout(
            height=config.height, width=config.width, num_players=config.num_players, frames=self.frames
        )
        self._policies = FrozenPolicies(store, layout, config, {**ARCHITECTURES, **trunks})
        self._policies.keep(snapshots)
        self._digests = {name: store.digest(name)[:DIGITS] for name in snapshots}
        self._decoder = Decoder(layout)

    def name_of(self, snapshot: str) -> str:
        """Return the name of a snapshot with the first digits of its weights' digest."""
        return f"{SNAPSHOT}{snapshot}@{self._digests[snapshot]}"

    def choose(self, game: VecGame, who: Who) -> npt.NDArray[np.int64]:
        """Return the actions (E, P, 2) of the living seats of ``who``; all others hold."""
        actions = np.zeros((game.num_games, game.config.num_players, 2), np.int64)
        state = game.state
        with _one_thread():
            for k in np.flatnonzero(state.over == 0).tolist():
                seats = [p for p, name in enumerate(who[k], start=1) if name and state.alive[k, p]]
                if seats:
                    names = [str(who[k][p - 1]) for p in seats]
                    actions[k, np.array(seats) - 1] = self._act(game, k, np.array(seats), names)
        return actions

    def _act(
        self, game: VecGame, k: int, seats: npt.NDArray[np.int64], names: Sequence[str]
    ) -> npt.NDArray[np.int64]:
        """Return the actions (N, 2) of the ``seats`` of game ``k``, which ``names`` play."""
        games = np.full(len(seats), k)
        rows = rows_of(game.observations, self._decoder, games, seats)
        return self._policies.act(names, rows, _numbers(game, games, seats)).numpy()


def _numbers(game: VecGame, games: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]) -> Tensor:
    """Return float64 (N, 2) from 0 to below 1: what the seats draw at this decision."""
    view = View(game.blocks, game.config, games, seats)
    words = np.stack([view.draw(index) for index in DRAWS], axis=1)
    return torch.from_numpy((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: sums are the same then, and the other cores play other games."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
