"""Masks that are lent: what is held never changes, and elsewhere only what changes is written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from territorial.actions.formats import ActionFormat, KeptMasks
from territorial.actions.masks import Masks
from territorial.engine.lending import NUM_SETS, LentArrays, frozen
from territorial.typing import Ints


class LentMasks:
    """Masks of the same ``count`` agents step after step, in as many memories as the engine lends."""

    def __init__(self, action_format: ActionFormat, count: int, num_players: int) -> None:
        self._format, self._count, self._num_players = action_format, count, num_players
        self._by_use: list[tuple[KeptMasks, LentArrays]] = []

    def lend(self, bits: npt.NDArray[np.uint8], games: Ints, seats: Ints) -> Masks:
        """Return what ``ActionFormat.masks`` would, read-only."""
        free = [one for one in self._by_use if not one[1].are_held]
        if free:
            self._by_use.remove(free[-1])
        elif len(self._by_use) == NUM_SETS - 1:
            return frozen(self._format.masks(bits, games, seats))
        kept = free[-1][0] if free else KeptMasks(self._format, self._count, self._num_players)
        masks = kept.update(bits, games, seats)
        lent = free[-1][1] if free else LentArrays([masks])
        self._by_use.append((kept, lent))
        return lent.lend()[0]
