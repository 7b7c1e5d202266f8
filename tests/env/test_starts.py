"""Environments whose games begin from saved games."""

import pickle

import gymnasium
import numpy as np
import pytest

import territorial
from territorial.constants import STREAM_EPISODE, STREAM_START
from territorial.envs import forms
from territorial.game.state import OVER, PLAYERS, TICK, State
from territorial.observation.action_encoding import unflatten
from territorial.replay import starts
from tests.episodes import begun, difference
from tests.replay.support import random_actions, recorded_game
from tests.twin.rng import H

CONFIG = territorial.GameConfig(height=24, width=24, num_players=4, max_ticks=600, map="lakes", num_maps=2)
SEATS = ("agent", "avenger", "metronome", "upstart-1")
SEEDS = range(4)
TICKS = (80, 150, 200)
FLAT_ACTIONS = 10 * (CONFIG.num_players + 1) + 1


@pytest.fixture(scope="module")
def moments():
    """Ticks of games on two maps, at which the agent lives."""
    rng = np.random.default_rng(0)
    games = [
        recorded_game(CONFIG, SEATS, k, actions=lambda game: random_actions(game, rng)) for k in range(4)
    ]
    found = [(replay, tick) for _, replay in games for tick in TICKS]
    assert len({replay.land for replay, _ in found}) == 2
    assert all(replay.seek(tick).state.alive[0, 1] for replay, tick in found)
    return found


@pytest.fixture(scope="module")
def from_there(moments):
    """The keywords of an environment that begins at the moments."""
    config, saved = starts(moments)
    return {"config": config, "starts": saved, "seats": SEATS}


def start_of(moments, k, episode):
    """The recorded game from which game ``k`` of a batch with the seed 5 plays an episode."""
    drawn = H(H(5, STREAM_EPISODE, k, episode), STREAM_START, 0, 0)
    replay, tick = moments[drawn % len(moments)]
    return replay.game(tick)


def zeros(_, state, info):
    """Return rewards of nothing: games are then read as they end."""
    return np.zeros((len(state.tick), 4), np.float32)


@pytest.mark.parametrize("options", [{}, {"obs": "pairs", "repeat": 3}, {"frames": 1, "reward_fn": zeros}])
@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_games_go_on_as_the_recorded_ones(monkeypatch, moments, from_there, autoreset, options, num_envs):
    monkeypatch.setattr(
        forms, "LARGE", 0
    )  # so that steps copy what is "packed", as those of large batches do
    env = territorial.make_vec(num_envs, autoreset=autoreset, max_cycles=9, **options, **from_there)
    rng, episodes = np.random.default_rng(1), np.zeros(num_envs, int)
    shown, info = env.reset(seed=5)
    games = [start_of(moments, k, 0) for k in range(num_envs)]
    for step in range(40):
        assert difference(shown, env.observe()) is None
        for k, game in enumerate(games):
            assert env.game.digest(k) == game.digest(0)
            assert info["tick"][k, 0] == game.state.tick[0]
            assert (env._terrain[k] == game.terrain(0)).all()
        if step == 20:
            env = pickle.loads(pickle.dumps(env))
        flat = rng.integers(0, FLAT_ACTIONS, (num_envs, 1))
        shown, _, _, truncated, info = env.step(flat)
        for k, game in enumerate(games):
            if info["was_reset"][k]:
                episodes[k] += 1
                games[k] = start_of(moments, k, int(episodes[k]))
                assert env.game.num_cycles[k] == 0
                assert truncated[k, 0] == (autoreset == "same_step")
            else:
                actions = np.zeros((1, 4, 2), int)
                actions[0, 0] = unflatten(flat[k, 0])
                game.step(actions, repeat=env.options.repeat)
    assert (episodes >= 3).all()


def test_all_environments_begin_from_there(moments, from_there):
    tick = int(start_of(moments, 0, 0).state.tick[0])
    many = begun(territorial.make_vec(4, autoreset="disabled", **from_there), seed=5)
    assert many.game.state.tick.tolist() == [start_of(moments, k, 0).state.tick[0] for k in range(4)]
    many.reset_game(2, seed=H(5, STREAM_EPISODE, 0, 0))
    assert many.game.digest(2) == many.game.digest(0)
    _, infos = territorial.parallel_env(**from_there).reset(seed=5)
    assert infos["player_0"]["tick"] == tick
    _, info = gymnasium.make("territorial/Territorial-v0", obs="features", **from_there).reset(seed=5)
    assert info["tick"] == tick
    _, info = gymnasium.make_vec("territorial/Territorial-v0", 2, obs="pairs", **from_there).reset(seed=5)
    assert info["tick"][0] == tick


def test_seats_say_who_goes_on(moments, from_there):
    env = begun(
        territorial.make_vec(2, **{**from_there, "seats": ["agent", "banker", "agent", "champion"]}), seed=5
    )
    assert env.game.seats_of(1) == ("agent", "banker-1", "agent", "champion-1")
    assert env.agent_seats.tolist() == [[1, 3]] * 2
    assert env.game.digest(1) == start_of(moments, 1, 0).digest(0)


def altered(saved, block, place, value):
    """A saved game with another number in it."""
    blocks = State(*(one.copy() for one in saved.blocks))
    getattr(blocks, block)[place] = value
    return saved._replace(blocks=blocks)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda one: "here", TypeError, "starts is 'here'; it must be a list"),
        (lambda one: one, TypeError, r"starts\[0\] is '\w+'; it must be of the type SavedGame"),
        (lambda one: [], ValueError, "starts is empty; it must have a saved game, or be None"),
        (
            lambda one: [one, one._replace(config_digest="0")],
            ValueError,
            r"starts\[1\] has the config \w+; this environment",
        ),
        (
            lambda one: [altered(one, "clock", OVER, 1)],
            ValueError,
            r"starts\[0\] stands at tick 80; it must be a game that is not over",
        ),
        (
            lambda one: [altered(one, "clock", TICK, 85)],
            ValueError,
            r"starts\[0\] stands at tick 85; .* at a multiple of 10",
        ),
        (
            lambda one: [altered(one, "players", (PLAYERS["alive"], 1), 0)],
            ValueError,
            r"seats\[0\] is 'agent'; that seat is dead in starts\[0\]",
        ),
    ],
)
def test_starts_that_cannot_be_are_named(from_there, given, error, message):
    with pytest.raises(error, match=message):
        territorial.make_vec(2, **{**from_there, "starts": given(from_there["starts"][0])})


def test_recorded_games_that_share_no_rules_or_are_none_are_refused(moments):
    other = recorded_game(CONFIG.replace(launch_tax=0), SEATS)[1]
    with pytest.raises(ValueError, match=r"moments\[1\] is of other rules than moments\[0\]: .*launch_tax"):
        starts([moments[0], (other, 10)])
    with pytest.raises(ValueError, match="moments is empty; it must have a replay and a tick"):
        starts([])
