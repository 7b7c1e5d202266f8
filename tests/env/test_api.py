"""What PettingZoo's own tests ask of an environment."""

import pettingzoo
import pytest
from pettingzoo.test import (
    parallel_api_test,
)

import territorial
from territorial import parallel_env
from tests.env.support import SMALL, small_env


def test_the_full_game_passes_the_parallel_api_test_without_a_warning(warned):
    tested = parallel_env(height=256, width=256, num_players=32)
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=100)
    assert not warned


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
