"""``VecGame.launches``: what every seat launched in the last step."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.constants import FRACTIONS
from territorial.observation.action_encoding import owner_of_target

CONFIG = territorial.GameConfig(height=48, width=48, num_players=6, max_ticks=3000)
SEATS = ["agent", "metronome", "random", "settler", "full_sender", "impossible"]


def game_of(*, games: int = 4, seats: list[str] | None = None, **options: Any) -> territorial.VecGame:
    game = territorial.VecGame(
        CONFIG, games, seed=3, seats=SEATS if seats is None else seats, observe=False, **options
    )
    game.reset()
    return game


def launches_are_none(game: territorial.VecGame, k: int) -> bool:
    target, fraction, legal = (array[k] for array in game.launches())
    return bool((target == -1).all() and (fraction == 0).all() and not legal.any())


def draw(rng: np.random.Generator, game: territorial.VecGame) -> np.ndarray:
    shape = game.num_games, CONFIG.num_players
    return np.stack([rng.integers(0, CONFIG.num_players + 2, shape), rng.integers(0, 10, shape)], axis=-1)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_launches_are_those_of_the_recorder_step_by_step(autoreset: str) -> None:
    game, rng = game_of(autoreset=autoreset), np.random.default_rng(0)
    noted: list[list[tuple[int, ...]]] = [[] for _ in range(game.num_games)]
    replays: list[tuple[int, territorial.Replay]] = []
    with territorial.Recorder(game, lambda k, replay: replays.append((k, replay))):
        for _ in range(310):
            ticks, stood = game.state.tick.copy(), game.is_idle
            game.step(draw(rng, game))
            target, fraction, _legal = game.launches()
            for k in range(game.num_games):
                seats = np.flatnonzero(target[k] >= 0)
                if stood[k]:
                    assert launches_are_none(game, k)
                noted[k] += [(ticks[k], p + 1, target[k, p], fraction[k, p]) for p in seats]
            assert ((fraction > 0) == (target >= 0)).all()
    assert any(replay.is_over for _, replay in replays)
    for k in range(game.num_games):
        recorded = [tuple(row) for slot, replay in replays if slot == k for row in replay.launches.tolist()]
        assert [tuple(map(int, row)) for row in noted[k]] == recorded
    assert sum(map(len, noted)) > 500


def test_what_an_agent_does_is_there_as_owner_code_and_1024ths() -> None:
    game = game_of(games=1)
    for action in ((1, 9), (5, 3)):
        game.step([[action] + [(0, 0)] * 5])
        target, fraction, legal = game.launches()
        assert (target[0, 0], fraction[0, 0]) == (owner_of_target(action[0], 1, 6), FRACTIONS[action[1]])
    assert (target.dtype, fraction.dtype, legal.dtype, target.shape) == (np.int16, np.int16, np.bool_, (1, 6))
    assert all(map(np.array_equal, game.launches(), game.clone().launches()))


CHANGES: dict[str, Callable[[territorial.VecGame], object]] = {
    "restore": lambda game: game.restore(0, game.save(0)),
    "tick": lambda game: game.tick(0, [(1, 0, 100)]),
    "set_position": lambda game: game.set_position(0, game.state.owner[0, 1:-1, 1:-1]),
    "reset_game": lambda game: game.reset_game(0),
    "reset": lambda game: game.reset(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_step_leaves_no_launches(name: str) -> None:
    game = game_of(games=2)
    game.step([[(1, 5)] + [(0, 0)] * 5] * 2)
    assert not launches_are_none(game, 0)
    CHANGES[name](game)
    assert launches_are_none(game, 0)
    assert launches_are_none(game, 1) == (name == "reset")
