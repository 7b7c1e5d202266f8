"""A small game of teams in which allies give to each other, for tests of what shows it."""

from functools import cache

import numpy as np

import territorial
from territorial.replay import Frame, LiveGame, Recorder, Replay
from tests.bots.support import python_bot

CONFIG = territorial.GameConfig(height=40, width=56, num_players=6, teams=3, max_ticks=1500)
TEAMS = (1, 1, 2, 2, 3, 3)


def give(view):
    """Give half to an ally at every third decision, and take free land at others."""
    gives = (view.ticks // 30 % 3 == 0) & view.gifts.any(axis=1)
    return np.where(gives, view.gifts.argmax(axis=1), 0), np.where(gives, 512, 128)


def begin(config: territorial.GameConfig = CONFIG, seed: int = 5) -> territorial.VecGame:
    """Return a game at its first tick: of each two seats one gives."""
    giver = python_bot(give, "giver-1", 30)
    seats = [giver if seat % 2 else "metronome" for seat in range(config.num_players)]
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    return game


@cache
def played() -> tuple[territorial.VecGame, list[Frame], Replay]:
    """Return the game at its end, its frames, one a decision, and its replay."""
    game = begin()
    recorder = Recorder(game)
    game.reset(seeds=[5])
    return game, list(LiveGame(game).frames(10)), recorder.replay()
