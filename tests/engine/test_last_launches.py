"""``VecGame.launches``: what every seat launched in the last step."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.actions.encoding import owner_of_target
from territorial.constants import FRACTIONS
from territorial.game.rules import is_legal, largest_need
from territorial.game.state import view

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
            ticks, stood = game.state.tick.copy(), game.stands
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


def test_a_launch_is_legal_unless_it_is_counted_as_illegal() -> None:
    game, rng = game_of(), np.random.default_rng(1)
    seen = set()
    for _ in range(300):
        before = game.state.illegal[:, 1:].copy()
        game.step(draw(rng, game))
        target, _, legal = game.launches()
        if game.results.was_reset.any():
            before[game.results.was_reset] = 0
            continue
        assert (((target >= 0) & ~legal) == (game.state.illegal[:, 1:] > before)).all()
        seen |= set(legal[target >= 0].tolist())
    assert seen == {False, True}


def test_what_an_agent_does_is_there_as_owner_code_and_1024ths() -> None:
    game = game_of(games=1)
    actions = np.zeros((1, 6, 2), np.int64)
    actions[0, 0] = 1, 9
    game.step(actions)
    target, fraction, legal = game.launches()
    assert (target[0, 0], fraction[0, 0], legal[0, 0]) == (0, 1024, True)
    actions[0, 0] = 5, 3
    game.step(actions)
    assert target[0, 0] == owner_of_target(5, 1, 6)
    assert fraction[0, 0] == FRACTIONS[3]
    assert target.dtype == fraction.dtype == np.int16
    assert legal.dtype == np.bool_
    assert target.shape == (1, 6)


def test_what_is_no_step_leaves_no_launches() -> None:
    def launched() -> territorial.VecGame:
        game = game_of(games=2)
        actions = np.zeros((2, 6, 2), np.int64)
        actions[:, 0] = 1, 5
        game.step(actions)
        assert not launches_are_none(game, 0)
        return game

    game = launched()
    saved = game.save(0)
    game.restore(0, saved)
    assert launches_are_none(game, 0)
    assert not launches_are_none(game, 1)
    game = launched()
    game.tick(0, [(1, 0, 100)])
    assert launches_are_none(game, 0)
    game = launched()
    game.set_position(0, game.state.owner[0, 1:-1, 1:-1])
    assert launches_are_none(game, 0)
    game = launched()
    game.reset_game(0)
    assert launches_are_none(game, 0)
    game = launched()
    game.reset()
    assert launches_are_none(game, 0)
    assert launches_are_none(game, 1)


def test_copies_have_launches_of_their_own() -> None:
    game = game_of(games=1)
    actions = np.zeros((1, 6, 2), np.int64)
    actions[0, 0] = 1, 5
    game.step(actions)
    for other in (game.clone(), copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert other.launches().target.tolist() == game.launches().target.tolist()
        other.step()
        assert other.launches().target[0, 0] == -1
        assert game.launches().target[0, 0] == 0


def test_legality_is_that_of_the_rules_at_the_decision() -> None:
    game = game_of(games=1)
    for _ in range(200):
        _, needs, legal = game.fronts(0)
        troops = view(game.blocks, "troops")[0].copy()
        game.step()
        if game.results.was_reset[0]:
            continue
        target = game.launches().target[0]
        for p in np.flatnonzero(target >= 0) + 1:
            expected = legal[p, target[p - 1]]
            assert game.launches().legal[0, p - 1] == expected
            assert expected == is_legal(needs[p, target[p - 1]], largest_need(troops[p], CONFIG))


def test_a_step_of_several_decisions_has_the_latest_launch_of_each_seat_whoever_listens() -> None:
    config = territorial.GameConfig(height=16, width=16, num_players=2, max_ticks=400)
    seats = ["agent", "random"]
    one, other, single = (territorial.VecGame(config, 1, seats=seats, observe=False) for _ in range(3))
    actions, nothing = np.array([[[1, 5], [0, 0]]]), np.full((1, 2), -1)
    with territorial.Recorder(other):
        for game in (one, other, single):
            game.reset(seed=4)
        for _ in range(3):
            latest = nothing.copy()
            for i in range(4):
                target = single.launches().target if single.step(actions if i == 0 else None) else nothing
                latest = np.where(target >= 0, target, latest)
            one.step(actions, repeat=4)
            other.step(actions, repeat=4)
            assert one.launches().target.tolist() == other.launches().target.tolist() == latest.tolist()
            assert latest[0, 0] == 0
