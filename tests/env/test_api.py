"""What PettingZoo's own tests ask of an environment."""

import functools
import types
import warnings

import pettingzoo
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

import territorial
from territorial import env, parallel_env
from territorial.envs.observation_modes import MODES
from tests.env.support import SMALL, small_env

small_aec = functools.partial(env, **SMALL, max_ticks=1500)

ON_DICT_OBSERVATIONS = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}
"""PettingZoo warns of these in every environment whose observations are dicts, as masks need."""

ON_FOUR_DIMENSIONS = {"Observation has more than 3 dimensions"}
"""And of this one where boards are a stack of frames of bit planes."""


@pytest.fixture
def warned():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@pytest.mark.parametrize("obs", MODES)
@pytest.mark.parametrize(
    "seats", [None, ("agent", "metronome", "agent", "banker")], ids=["all agents", "with bots"]
)
def test_a_small_game_passes_the_parallel_api_test_without_a_warning(seats, obs, warned):
    tested = small_env(seats=seats, obs=obs)
    tested.action_space(tested.possible_agents[0]).seed(1)
    parallel_api_test(tested, num_cycles=60)
    assert not warned


def test_the_full_game_passes_the_parallel_api_test_without_a_warning(warned):
    tested = parallel_env(height=256, width=256, num_players=32)
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=100)
    assert not warned


@pytest.mark.parametrize("obs", MODES)
def test_the_turn_by_turn_form_passes_the_api_test_with_the_warnings_on_dicts_only(obs, warned):
    tested = small_aec(obs=obs)
    tested.action_space("player_0").seed(1)
    api_test(tested, num_cycles=60)
    expected = ON_DICT_OBSERVATIONS | (ON_FOUR_DIMENSIONS if obs == "packed" else set())
    assert {str(warning.message) for warning in warned} == expected


def test_two_environments_with_one_seed_agree():
    parallel_seed_test(small_env, num_cycles=50)
    seed_test(small_aec, num_cycles=50)


def test_cycles_are_counted_as_pettingzoo_counts_them():
    module = types.SimpleNamespace(env=small_aec, parallel_env=small_env)
    max_cycles_test(module)


def test_the_state_lies_in_its_space(warned):
    state_test(small_aec(), small_env())
    assert not warned


def test_all_render_modes_pass_the_render_test(monkeypatch):
    monkeypatch.setattr("territorial.render.screen._has_display", lambda: False)  # nobody wants windows here
    shown = []

    def make(render_mode):
        shown.append(render_mode)
        return small_aec(render_mode=render_mode)

    with pytest.warns(UserWarning, match="neither a display nor a terminal"):
        render_test(make)
    assert shown == ["human", "ansi", "human", "rgb_array"]


def test_games_can_be_recorded_by_pettingzoos_wrapper(tmp_path):
    wrappers = pytest.importorskip("pettingzoo.utils.wrappers")
    if not hasattr(wrappers, "RecordVideoParallel"):
        pytest.skip(f"PettingZoo {pettingzoo.__version__} has no RecordVideoParallel")
    pytest.importorskip("moviepy", reason="moviepy, which RecordVideoParallel needs, is not installed")
    small, folder = small_env(render_mode="rgb_array", max_cycles=9), tmp_path / "videos"
    recorded = wrappers.RecordVideoParallel(small, str(folder), episode_trigger=lambda episode: True)
    for _ in range(2):
        recorded.reset(seed=1)
        while recorded.agents:
            recorded.step(dict.fromkeys(recorded.agents, 0))
    recorded.close()
    assert sorted(path.name for path in folder.iterdir()) == [
        "rl-video-episode-0.mp4",
        "rl-video-episode-1.mp4",
    ]
    moviepy = pytest.importorskip("moviepy.video.io.VideoFileClip")
    with moviepy.VideoFileClip(str(folder / "rl-video-episode-1.mp4")) as clip:
        assert clip.fps == small.metadata["render_fps"]
        assert clip.duration == pytest.approx(10 / clip.fps, abs=1 / clip.fps)  # moviepy may drop the last
        assert clip.size == [1152, 768]


def test_pettingzoo_can_make_it_by_name():
    if not hasattr(pettingzoo, "make"):
        pytest.skip(f"PettingZoo {pettingzoo.__version__} has no registry")
    made = pettingzoo.make("parallel", "territorial_v0", **SMALL, max_cycles=7)
    assert isinstance(made, territorial.TerritorialEnv)
    assert made.max_cycles == 7
    turn_by_turn = pettingzoo.make("aec", "territorial_v0", **SMALL)
    assert str(turn_by_turn.unwrapped) == "territorial_v0"
