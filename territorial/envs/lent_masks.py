"""Masks that are lent: those that are held never change, in other memory only what changed is written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from territorial.actions.formats import ActionFormat, KeptMasks
from territorial.actions.masks import Masks
from territorial.engine.lending import NUM_SETS, LentArray, frozen
from territorial.typing import Ints


class LentMasks:
    """The masks of the same agents step after step, in as many memories as the engine lends.

    The arguments are those of ``KeptMasks``.
    """

    def __init__(self, action_format: ActionFormat, count: int, num_players: int) -> None:
        self._format, self._sizes = action_format, (count, num_players)
        self._by_use: list[tuple[KeptMasks, LentArray]] = []

    def lend(self, bits: npt.NDArray[np.uint8], games: Ints, seats: Ints) -> Masks:
        """Return what ``ActionFormat.masks`` would, read-only; where all memories are held, new ones."""
        place = next((i for i, (_, lent) in enumerate(self._by_use) if not lent.is_held), None)
        if place is not None:
            kept, lent = self._by_use.pop(place)
            kept.update(bits, games, seats)
        elif len(self._by_use) < NUM_SETS - 1:
            kept = KeptMasks(self._format, *self._sizes)
            lent = LentArray(kept.update(bits, games, seats))
        else:
            return frozen(self._format.masks(bits, games, seats))
        self._by_use.insert(0, (kept, lent))  # the latest one is looked at first: it is the least behind
        return lent.lend()
