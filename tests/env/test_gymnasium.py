"""Gymnasium's environments: what its own checks ask, and that they are rows of the vector environment."""

import itertools
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import territorial
from territorial._registration import ENV_ID
from territorial.envs.gymnasium import SeatEnv, SeatVectorEnv
from territorial.envs.options import CHOICES
from tests.env.support import OBS_AND_FORMATS, SMALL, small_env
from tests.episodes import begun, difference

SMALL_GAME = SMALL | {"max_ticks": 600}
SEATS = ("metronome", "agent", "banker", "novice")


@pytest.mark.parametrize(("obs", "action_format"), OBS_AND_FORMATS)
def test_one_seat_passes_the_checks_of_gymnasium_without_a_warning(obs, action_format, warned):
    for action_mask in CHOICES["action_mask"]:
        options = {"obs": obs, "action_format": action_format, "action_mask": action_mask}
        made = gymnasium.make(ENV_ID, **SMALL_GAME, **options)
        assert isinstance(made.unwrapped, SeatEnv)
        check_env(made.unwrapped, skip_render_check=True)
    assert not warned


@pytest.mark.parametrize("render_mode", ["rgb_array", "ansi", "human"])
def test_one_seat_passes_the_checks_of_gymnasium_with_pictures_too(render_mode, warned, monkeypatch):
    monkeypatch.setattr("territorial.render.games._has_display", lambda: False)  # nobody wants windows here
    made = gymnasium.make(ENV_ID, obs="features", render_mode=render_mode, **SMALL_GAME)
    assert made.render_mode == render_mode
    check_env(made.unwrapped)
    about = {str(warning.message) for warning in warned}
    assert all("neither a display nor a terminal" in message for message in about), about
    made.reset(seed=0)
    shown = made.render()
    assert {"rgb_array": np.ndarray, "ansi": str, "human": type(None)}[render_mode] is type(shown)


def test_a_vector_shows_every_sub_environment():
    vector = begun(
        gymnasium.make_vec(ENV_ID, num_envs=8, obs="features", render_mode="rgb_array", **SMALL_GAME), seed=0
    )
    pictures = vector.render()
    assert len(pictures) == 8
    assert np.array_equal(pictures[0], pictures[3])
    assert not np.array_equal(pictures[3], pictures[4])


def test_one_seat_is_that_agent_of_parallel_env():
    one = gymnasium.make(ENV_ID, seats=SEATS, **SMALL_GAME)
    game = small_env(seats=SEATS, **SMALL_GAME)
    for reset in ({"seed": 4}, {}):
        seen, info = one.reset(**reset)
        expected, infos = game.reset(**reset)
        while game.agents:
            assert info == infos["player_1"]
            assert difference(seen, expected["player_1"]) is None
            assert np.array_equal(one.unwrapped.action_masks(), seen["action_mask"])
            action = int(np.flatnonzero(seen["action_mask"])[-1])
            seen, reward, terminated, truncated, info = one.step(action)
            expected, rewards, ends, _, infos = game.step({"player_1": action})
            assert (reward, terminated, truncated) == (rewards["player_1"], ends["player_1"], False)
        assert terminated
        with pytest.raises(RuntimeError, match=r"the episode is over; call reset\(\)"):
            one.step(0)


def test_one_seat_is_for_one_agent():
    one = begun(SeatEnv(**SMALL_GAME))
    assert one.vec.game.seats_of(0) == ("agent", *territorial.bots.NAMES[:3])
    with pytest.raises(ValueError, match=r"actions\[0, 0\] is 51"):
        one.step(51)


@pytest.mark.parametrize(("obs", "action_format"), OBS_AND_FORMATS)
def test_every_agent_is_a_sub_environment_that_lies_in_its_space(obs, action_format, warned):
    vector = gymnasium.make_vec(
        ENV_ID, num_envs=8, seats=None, obs=obs, action_format=action_format, **SMALL_GAME
    )
    options = {"obs": obs, "action_format": action_format, "autoreset": "next_step"}
    games = territorial.make_vec(2, seats=None, **options, **SMALL_GAME)
    assert isinstance(vector.unwrapped, SeatVectorEnv)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    vector.action_space.seed(0)
    seen, _ = vector.reset(seed=1)
    games.reset(seed=1)
    ends = np.zeros(8, int)
    for _ in range(130):
        assert vector.observation_space.contains(seen)
        assert np.array_equal(vector.unwrapped.action_masks(), seen["action_mask"])
        actions = vector.action_space.sample()
        seen, rewards, terminated, truncated, _ = vector.step(actions)
        assert np.array_equal(rewards, games.step(actions.reshape(2, 4, *actions.shape[1:]))[1].ravel())
        ends += terminated
        assert rewards.shape == terminated.shape == truncated.shape == (8,)
        assert (ends.reshape(2, 4) == ends.reshape(2, 4)[:, :1]).all(), "all agents of a game end together"
    assert (ends >= 2).all()
    assert not warned


def digests(vector):
    return [vector.vec.game.digest(k) for k in range(vector.vec.num_envs)]


def test_a_mask_resets_some_games_and_the_others_go_on():
    seats = ("agent", "agent", "novice", "banker")
    vector, fresh = (SeatVectorEnv(6, seats=seats, obs="features", **SMALL_GAME) for _ in range(2))
    hold, mask = np.zeros(6, int), np.array([True, True, False, False, False, False])
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        vector.reset(options={"reset_mask": mask})
    vector.reset(seed=1)
    while not vector.step(hold)[2][:4].any():
        pass
    before, over = digests(vector), vector.vec.game.state.over.copy()
    options = {"reset_mask": mask}
    seen, infos = vector.reset(seed=5, options=options)
    expected, _ = fresh.reset(seed=5)
    assert digests(vector) == [digests(fresh)[0], *before[1:]]
    assert options == {"reset_mask": mask}
    assert difference(seen["observation"][:2], expected["observation"][:2]) is None
    assert all(infos[name].tolist() == mask.tolist() for name in infos if name.startswith("_"))
    vector.step(hold)
    assert (vector.vec.game.state.tick == 0).tolist() == [False, *over[1:].astype(bool)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset_mask": np.array([True] * 7)}, "must be an array of 8 bools"),
        ({"reset_mask": np.array([1] * 8)}, "must be an array of 8 bools"),
        ({"reset_mask": np.array(True)}, "must be an array of 8 bools"),
        ({"reset_mask": np.array([[True]] * 8)}, "must be an array of 8 bools"),
        ({"reset_mask": np.array([False] * 8)}, "some of them True"),
        ({"reset_mask": np.array([True] * 6 + [False] * 2)}, "alike for the 4 agents of a game"),
        ([True] * 8, r"options is \[.*; it must be a dict, or None"),
    ],
)
def test_a_mask_that_fits_no_games_is_an_error_and_they_go_on(options, message):
    vector = begun(SeatVectorEnv(8, obs="features", **SMALL_GAME), seed=1)
    before = digests(vector)
    with pytest.raises((TypeError, ValueError), match=message):
        vector.reset(seed=2, options=options)
    assert digests(vector) == before


@pytest.mark.parametrize("vectorize", [SyncVectorEnv, partial(AsyncVectorEnv, context="forkserver")])
def test_the_last_observation_of_views_outlives_the_next_game(vectorize):
    shown = []
    for zero_copy in (False, True):
        make = partial(SeatEnv, obs="packed", frames=1, zero_copy=zero_copy, max_cycles=3, **SMALL)
        vector = begun(vectorize([make] * 2, autoreset_mode=AutoresetMode.SAME_STEP), seed=5)
        infos = [vector.step(np.zeros(2, int))[4] for _ in range(3)]
        shown.append(infos[-1]["final_obs"].tolist())
        vector.close()
    assert difference(*shown) is None
    games = [territorial.parallel_env(zero_copy=views, max_cycles=3, **SMALL) for views in (False, True)]
    last = []
    for game in games:
        game.reset(seed=5)
        while game.agents:
            seen, *_ = game.step(dict.fromkeys(game.agents, 0))
        game.reset()
        last.append(seen)
    assert difference(*last) is None
    assert last[1]["player_0"]["observation"] is last[1]["player_1"]["observation"]


def make_seat():
    return gymnasium.make(ENV_ID, seats=SEATS, obs="features", **SMALL_GAME)


def test_gymnasiums_own_processes_play_the_same_games():
    together = SyncVectorEnv([make_seat] * 2)
    apart = AsyncVectorEnv([make_seat] * 2, context="forkserver")
    try:
        rng = np.random.default_rng(0)
        one, two = together.reset(seed=5)[0], apart.reset(seed=5)[0]
        for _ in range(20):
            assert all(np.array_equal(one[key], two[key]) for key in one)
            actions = rng.integers(0, 51, 2)
            (one, *results), (two, *others) = together.step(actions), apart.step(actions)
            assert all(
                np.array_equal(a, b) for a, b in itertools.islice(zip(results, others, strict=True), 3)
            )
    finally:
        apart.close()
