"""What a contest asks of policies that play seats in it, whatever they are made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame

SNAPSHOT = "snapshot:"
"""What players begin with that are snapshots of a store, as in a league table: ``snapshot:main-12``."""

Who = Sequence[Sequence[str | None]]
"""By game and seat: the snapshot that plays it, None for all others."""


class Policies(Protocol):
    """Snapshots that play; ``territorial.nets.SnapshotPlayers`` has those that are made with PyTorch."""

    frames: int
    """The boards in a stack that they see."""

    def name_of(self, snapshot: str) -> str:
        """Return what records call it: a name that another one of its name would not have."""

    def choose(self, game: VecGame, who: Who) -> npt.NDArray[np.int64]:
        """Return the actions (E, P, 2) of the living seats of ``who``; all others hold.

        They follow from the game, its seed and the tick alone, whatever is played beside it.
        """


MakePolicies = Callable[[GameConfig, Sequence[str]], Policies]
"""Makes those of a process for games of a config, given the names of all snapshots; it can be pickled."""
