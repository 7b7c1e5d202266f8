"""What plays in the results that an older revision left in ``before_match``."""

import numpy as np

from territorial import GameConfig


class Drawing:
    """Acts on observations: goes for what is legal, by numbers that it draws from the seed it is given."""

    frames = 2
    name = "drawing"

    def identity(self):
        """Return what it is."""
        return "drawing 1"

    def start(self, config, layout, seed):
        """Return what chooses."""
        rng = np.random.default_rng(seed)

        def act(game, games, seats):
            masks = game.observations.masks[games, seats - 1, 0]
            drawn = rng.integers(0, 5, (len(games), 2))
            return np.where((masks >> drawn[:, 0] & 1)[:, None] > 0, drawn, [0, 0])

        return act

    def stop(self):
        """Release nothing."""


CONFIG = GameConfig(height=32, width=40, num_players=5, max_ticks=900, map="lakes", num_maps=3)
