"""Streams of observations out of nowhere, for what takes boards and deltas and needs no game.

Boards change at random: some cells each step, now and then more than a delta lists, now and then a new game.
"""

from collections import namedtuple

import numpy as np

from territorial.observation.layout import NEW_GAME, NOT_LISTED, ObsLayout
from tests.decode.support import bit_planes

Boards = namedtuple("Boards", "planes delta_index delta_code delta_count")


class Stream:
    """E games that go by: ``reset()``, then ``step()``, as from a VecGame; the deltas are minimal.

    ``busy``: the part of the cells that change in a step, at most; ``new``: how likely a game is replaced;
    ``overflow``: how likely the changes of a step are not listed.

    ``planes`` has rows of whole words, so that it is a view with gaps, and what lies behind the changes of a
    delta is noise, as in the engine's.
    """

    def __init__(self, layout: ObsLayout, num_games, seed=0, *, busy=0.02, new=0.02, overflow=0.02):
        self.layout, self.num_games = layout, num_games
        self.busy, self.new, self.overflow = busy, new, overflow
        self.rng = np.random.default_rng(seed)
        self.codes = np.zeros((num_games, layout.height, layout.width), np.uint8)
        shape = layout.shape("planes")
        self._padded = np.zeros((num_games, *shape[:-1], -(-shape[-1] // 8) * 8), np.uint8)
        self._planes = self._padded[..., : shape[-1]]

    def reset(self):
        """Return observations of new games."""
        return self._next(np.ones(self.num_games, bool))

    def step(self):
        """Return the next observations."""
        return self._next(self.rng.random(self.num_games) < self.new)

    def _next(self, is_new):
        layout, rng, cells = self.layout, self.rng, self.layout.height * self.layout.width
        before = self._planes[:, 0].copy()
        index = rng.integers(0, 2**32, (self.num_games, *layout.shape("delta_index")), np.uint32)
        code = rng.integers(0, 256, index.shape, np.uint8)
        count = np.where(is_new, NEW_GAME, NOT_LISTED).astype(np.int32)
        for k in range(self.num_games):
            if is_new[k]:
                self.codes[k] = rng.integers(0, layout.blocked_code + 1, self.codes[k].shape)
                continue
            where = rng.choice(cells, rng.integers(0, int(self.busy * cells) + 1), replace=False)
            old = self.codes[k].flat[where]
            self.codes[k].flat[where] = (old + rng.integers(1, layout.blocked_code + 1, len(where))) % (
                layout.blocked_code + 1
            )
            if rng.random() >= self.overflow and len(where) <= layout.delta_capacity:
                index[k, : len(where)], code[k, : len(where)] = where, self.codes[k].flat[where]
                count[k] = len(where)
        self._planes[:, 2:] = self._planes[:, 1:-1].copy()
        self._planes[:, 0] = bit_planes(self.codes, layout)
        if layout.frames > 1:
            self._planes[:, 1] = self._planes[:, 0] ^ before
        self._planes[is_new, 1:] = 0
        return Boards(self._planes, index, code, count)
