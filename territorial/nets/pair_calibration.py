"""States of games between bots, on which scales are measured and choices compared before an export."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from territorial.bots import ALIASES
from territorial.bots.network import Rows
from territorial.config import GameConfig
from territorial.constants import NUM_CANDIDATES
from territorial.engine.seats import LINEUPS
from territorial.engine.vec_game import VecGame
from territorial.observation.pair_columns import PAIRS, column

THERE = column(PAIRS, "there")
GAMES = (
    (GameConfig(), LINEUPS["mixed-2"].seats, 4),
    (GameConfig(height=96, width=96, num_players=12), tuple(ALIASES)[:12], 4),
    (GameConfig(height=64, width=64, num_players=8, handicap=True), tuple(ALIASES)[-8:], 4),
)
"""What is played: the configuration, its seats, and how many games."""
TICKS = 50
"""From one state of a game to the next."""
OWN_GAMES = 16
"""Games of a configuration of the caller's own."""
MOST_ROWS = 8192
"""Rows that are kept of these; a process keeps 4 MB of them."""


def calibration_rows(seed: int = 0, *, num_candidates: int = NUM_CANDIDATES) -> Rows:
    """Return what living seats of whole games between bots see every 50 ticks, the same for the same seed.

    Args:
        seed: of the games, 0 to 2**64 - 1; default 0.
        num_candidates: rows of ``pairs``, 1 to 64; default 8.

    """
    found = [
        rows
        for config, seats, count in GAMES
        for rows in _rows_of(_games(config, seats, count, seed), num_candidates)
    ]
    return _joined(found)


def rows_of_config(config: GameConfig, num_candidates: int) -> Rows:
    """Return what seats see in games of ``config`` between bots: ``MOST_ROWS`` rows at most.

    Always the same for the same arguments; from the first state of a game on.
    """
    names = tuple(ALIASES)
    seats = [names[i % len(names)] for i in range(config.num_players)]
    game = _games(config, seats, OWN_GAMES, seed=0)
    game.reset()
    rows = _joined([_seen(game, num_candidates), *_rows_of(game, num_candidates)])
    every = -(-len(rows.counts) // MOST_ROWS)
    return Rows(rows.own[::every].copy(), rows.pairs[::every].copy(), rows.counts[::every].copy())


def _games(config: GameConfig, seats: Sequence[str], count: int, seed: int) -> VecGame:
    return VecGame(config, num_games=count, seats=seats, seed=seed, autoreset="disabled", observe=False)


def _joined(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rows:
    own, pairs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Rows(own, pairs, (pairs[:, :, THERE] > 0).sum(1))


def _rows_of(game: VecGame, num_candidates: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of all living seats of whole games, one pair of arrays for each state."""
    game.reset()
    found = []
    while not game.state.over.all():
        for _ in range(max(1, TICKS // game.config.decision_every)):
            game.step()
        found.append(_seen(game, num_candidates))
    return found


def _seen(game: VecGame, num_candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all living seats of the games as they stand."""
    games, seats = np.nonzero((game.state.alive[:, 1:] != 0) & (game.state.over[:, None] == 0))
    seen = game.pairs(games, seats + 1, num_candidates, "int16", num_allies=0)
    return seen.own, seen.pairs
