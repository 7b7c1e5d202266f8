"""Snapshots as players of a contest: they see the games and choose for their seats, at every decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.evaluation.policies import SNAPSHOT, Who
from territorial.league import SnapshotStore
from territorial.nets.board_policy import MakeTrunk
from territorial.nets.seated import SeatedSnapshots, frames_of
from territorial.observation.layout import ObsLayout

DIGITS = 8
"""Of a snapshot's digest, in names."""


class SnapshotPlayers:
    """The snapshots of a store as players of a contest, see ``territorial.evaluation.policies.Policies``.

    They act game by game, so that a game comes out the same, bit by bit, whatever is played beside it.

    Args:
        store: where the snapshots are.
        trunks: makers of trunks by the names of architectures, beside ``seated.ARCHITECTURES``.
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
        self.frames = frames_of(store, snapshots)
        layout = ObsLayout(
            height=config.height, width=config.width, num_players=config.num_players, frames=self.frames
        )
        self._seated = SeatedSnapshots(store, trunks, config, layout)
        self._seated.policies.keep(snapshots)
        self._digests = {name: store.digest(name)[:DIGITS] for name in snapshots}

    def name_of(self, snapshot: str) -> str:
        """Return the name of a snapshot with the first digits of its weights' digest."""
        return f"{SNAPSHOT}{snapshot}@{self._digests[snapshot]}"

    def choose(self, game: VecGame, who: Who) -> npt.NDArray[np.int64]:
        """Return the actions (E, P, 2) of the living seats of ``who``; all others hold."""
        actions = np.zeros((game.num_games, game.config.num_players, 2), np.int64)
        state = game.state
        for k in np.flatnonzero(state.over == 0).tolist():
            seats = [p for p, name in enumerate(who[k], start=1) if name and state.alive[k, p]]
            if seats:
                names = [str(who[k][p - 1]) for p in seats]
                games, chosen = np.full(len(seats), k), np.array(seats)
                actions[k, chosen - 1] = self._seated.act(game, games, chosen, names)
        return actions
