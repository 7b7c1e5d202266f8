"""What one would write without this library: the same rules on a numpy board, observations one-hot.

The arithmetic is that of the reference; what the reference does cell by cell (fronts, taking, dying) is done
with whole-board masks here, as numpy code for such games usually does. Each agent gets the last boards as
one-hot planes in its own order of owners, int8, and a mask of legal launches. It plays the same games:
benchmarks/engine/peers.py compares the digests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import ego_owners
from territorial.constants import NEUTRAL
from territorial.game.legality import is_legal, largest_need, need_for
from territorial.reference import ReferenceGame

Cells = Any
"""bool (H, W)."""


class NaiveGame(ReferenceGame):
    """A game on a numpy board of owner codes."""

    def front(self, p: int, t: int) -> Cells:  # type: ignore[override]
        """All cells of t with a neighbour of p."""
        return Front(self.reach(p) & (np.asarray(self.owner) == t))

    def reach(self, p: int) -> npt.NDArray[np.bool_]:
        """All cells with a neighbour of p."""
        own = np.asarray(self.owner) == p
        reach = np.zeros_like(own)
        reach[1:] |= own[:-1]
        reach[:-1] |= own[1:]
        reach[:, 1:] |= own[:, :-1]
        reach[:, :-1] |= own[:, 1:]
        return reach

    def take(self, p: int, t: int, cells: Cells) -> None:
        """The whole front changes hands at once."""
        self.owner[cells.mask] = p
        self.land[p] += len(cells)
        self.land[t] -= len(cells)
        self.taken[p][t] += len(cells)

    def _free_land_of(self, d: int) -> None:
        self.owner[self.owner == d] = NEUTRAL
        self.land[NEUTRAL] += self.land[d]
        self.land[d] = 0

    def to_numpy(self) -> NaiveGame:
        """Continue with a numpy board instead of lists; return the game itself."""
        self.owner = np.array(self.owner, np.uint8)  # type: ignore[assignment]
        return self


class Front:
    """A set of cells that knows how many it has."""

    def __init__(self, mask: npt.NDArray[np.bool_]) -> None:
        self.mask = mask
        self._size = int(mask.sum())

    def __len__(self) -> int:
        return self._size


class NaiveEnv:
    """One game with one-hot stacks for every agent, made in every step."""

    def __init__(self, game: NaiveGame, frames: int = 4) -> None:
        self.game = game.to_numpy()
        board = np.asarray(game.owner)
        self.boards = deque([board.copy()] * frames, maxlen=frames)

    def step(self, launches: Iterable[tuple[int, int, int]]) -> dict[int, tuple[npt.NDArray[Any], ...]]:
        """Play one environment step; return planes int8 (F (P+1), H, W) and mask int8 (P+1,) by seat."""
        self.game.environment_step(launches)
        self.boards.append(np.asarray(self.game.owner).copy())
        return {p: (self.planes(p), self.mask(p)) for p in self.game.seats}

    def planes(self, p: int) -> npt.NDArray[np.int8]:
        """Return the one-hot stack of seat ``p``, oldest frame first: neutral, itself, then the others."""
        order = ego_owners(len(self.game.seats))[p - 1].tolist()
        return np.stack([board == code for board in self.boards for code in order]).astype(np.int8)

    def mask(self, p: int) -> npt.NDArray[np.int8]:
        """Return which owners ``p`` may launch against, by codes."""
        game, codes = self.game, len(self.game.alive)
        sizes = np.bincount(np.asarray(game.owner)[game.reach(p)], minlength=256)[:codes]
        needs = need_for(sizes, np.array(game.pools[p]), game.config)
        legal = is_legal(needs, largest_need(game.troops[p], game.config))
        legal[p] = False
        return legal.astype(np.int8)
