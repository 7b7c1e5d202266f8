"""Launches: what every seat launched in the last step, and what one would come to where all others hold."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.constants import FRACTIONS
from territorial.observation.action_encoding import HOW_MUCH, WHAT, owner_of_target, target_of_owner
from tests.bots.support import python_bot
from tests.episodes import after_steps

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


# ---- forecasts ---------------------------------------------------------------------------------------


SMALL = territorial.GameConfig(height=32, width=32, num_players=4, num_maps=0)


RARE = python_bot(lambda view: (0, 512), interval=70)


@pytest.mark.parametrize("autoreset", ["disabled", "same_step"])
@pytest.mark.parametrize("others", [["external"] * 3, ["banker", RARE, "upstart-1"]])
def test_a_forecast_is_what_comes_of_a_launch_where_all_others_hold(others, autoreset):
    batch = territorial.VecGame(SMALL, 2, seats=["agent", *others], autoreset=autoreset, observe=False)
    game = after_steps(batch, 14, seed=3)
    before = game.digest(0)
    sizes, _, is_legal = game.fronts(0)
    for owner in np.flatnonzero(is_legal[1] & (sizes[1] > 0)).tolist():
        found, played = game.forecasts(0, 1, owner, FRACTIONS[6]), game.clone()
        played.change_seats(0, dict.fromkeys(range(1, 5), "external"))
        actions, taken = np.zeros((2, 4, 2), np.int64), int(played.state.taken[0, 1, owner])
        actions[0, 0, [WHAT, HOW_MUCH]] = target_of_owner(owner, 1, 4), 6
        for _ in range(found["ticks"] // SMALL.decision_every):
            assert played.state.pools[0, 1, owner] or actions.any()
            played.step(actions)
            actions[:] = 0
        assert found["cells"] == played.state.taken[0, 1, owner] - taken
        assert found["troops"] == played.state.troops[0, 1]
        assert found["goes_on"] == bool(played.state.pools[0, 1, owner])
    assert found["cells"] > 0
    assert game.digest(0) == before
