"""States of games between bots, on which scales are measured and choices compared before an export."""

from __future__ import annotations

import numpy as np

from territorial.bots import ALIASES
from territorial.bots.network import Rows
from territorial.config import GameConfig
from territorial.engine.seats import LINEUPS
from territorial.engine.vec_game import VecGame
from territorial.observation.pair_columns import NUM_CANDIDATES, PAIRS, column

THERE = column(PAIRS, "there")
GAMES = (
    (GameConfig(), LINEUPS["mixed-2"].seats, 4),
    (GameConfig(height=96, width=96, num_players=12), tuple(ALIASES)[:12], 4),
    (GameConfig(height=64, width=64, num_players=8, handicap=True), tuple(ALIASES)[-8:], 4),
)
"""What is played: the configuration, its seats, and how many games."""
TICKS = 50
"""From one state of a game to the next."""


def calibration_rows(seed: int = 0, *, num_candidates: int = NUM_CANDIDATES) -> Rows:
    """Return what living seats of whole games between bots see every 50 ticks, the same for the same seed.

    Args:
        seed: of the games, 0 to 2**64 - 1; default 0.
        num_candidates: rows of ``pairs``, 1 to 64; default 8.

    """
    found = [
        rows
        for config, seats, count in GAMES
        for rows in _rows_of(
            VecGame(config, num_games=count, seats=seats, seed=seed, autoreset="disabled", observe=False),
            num_candidates,
        )
    ]
    own, pairs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Rows(own, pairs, (pairs[:, :, THERE] > 0).sum(1))


def _rows_of(game: VecGame, num_candidates: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of all living seats of whole games, one pair of arrays for each state."""
    game.reset()
    found = []
    while not game.state.over.all():
        for _ in range(TICKS // game.config.decision_every):
            game.step()
        games, seats = np.nonzero((game.state.alive[:, 1:] != 0) & (game.state.over[:, None] == 0))
        seen = game.pairs(games, seats + 1, num_candidates, "int16")
        found.append((seen.own, seen.pairs))
    return found
