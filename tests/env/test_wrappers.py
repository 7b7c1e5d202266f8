"""Every wrapper that PettingZoo and Gymnasium bring, around our environments.

Each works through a whole episode. What is neither in the tables nor for other environments fails.
"""

import io
import sys
from functools import partial
from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.wrappers import vector as vector_wrappers
from pettingzoo.utils import wrappers as turn_wrappers

import territorial

GAME = {"height": 32, "width": 32, "num_players": 3, "obs": "features", "max_cycles": 6}
# More than an episode has.
STEPS = 14


def seat(**options):
    """One agent among bots, which sees an array; ``options`` are others than those."""
    return gymnasium.make("territorial/Territorial-v0", **(GAME | {"action_mask": "none"} | options))


def seats(**options):
    return gymnasium.make_vec("territorial/Territorial-v0", 6, **(GAME | {"action_mask": "none"} | options))


def turns(**options):
    return territorial.env(**(GAME | options))


def at_once(**options):
    return territorial.parallel_env(**(GAME | options))


masked = partial(seat, action_mask="obs")
drawn = partial(seat, render_mode="rgb_array")
drawn_seats = partial(seats, render_mode="rgb_array")
masked_seats = partial(seats, action_mask="obs")


def pictures():
    return wrappers.AddRenderObservation(drawn())


def halved(observation):
    return observation * np.float32(0.5)


SINGLE = {
    "AddRenderObservation": pictures,
    "AddWhiteNoise": lambda: wrappers.AddWhiteNoise(drawn(), 0.5),
    "ArrayConversion": lambda: wrappers.ArrayConversion(seat(), np, np),
    "Autoreset": lambda: wrappers.Autoreset(seat()),
    "ClipReward": lambda: wrappers.ClipReward(seat(), -1, 1),
    "DelayObservation": lambda: wrappers.DelayObservation(seat(), 2),
    "DiscretizeObservation": lambda: wrappers.DiscretizeObservation(seat(), 4, multidiscrete=True),
    "DtypeObservation": lambda: wrappers.DtypeObservation(seat(), np.float64),
    "FilterObservation": lambda: wrappers.FilterObservation(masked(), ["observation"]),
    "FlattenObservation": lambda: wrappers.FlattenObservation(masked()),
    "FrameStackObservation": lambda: wrappers.FrameStackObservation(seat(), 3),
    "GrayscaleObservation": lambda: wrappers.GrayscaleObservation(pictures()),
    "HumanRendering": lambda: wrappers.HumanRendering(drawn()),
    "JaxToNumpy": lambda: wrappers.JaxToNumpy(seat()),
    "JaxToTorch": lambda: wrappers.JaxToTorch(seat()),
    "MaxAndSkipObservation": lambda: wrappers.MaxAndSkipObservation(seat(), 2),
    "NormalizeObservation": lambda: wrappers.NormalizeObservation(seat()),
    "NormalizeReward": lambda: wrappers.NormalizeReward(seat()),
    "NumpyToTorch": lambda: wrappers.NumpyToTorch(masked()),
    "ObstructView": lambda: wrappers.ObstructView(drawn(), 0.5, 3),
    "OrderEnforcing": lambda: wrappers.OrderEnforcing(seat()),
    "PassiveEnvChecker": lambda: wrappers.PassiveEnvChecker(seat()),
    "RecordEpisodeStatistics": lambda: wrappers.RecordEpisodeStatistics(seat()),
    "RecordVideo": lambda: wrappers.RecordVideo(drawn(), "videos", disable_logger=True),
    "RenderCollection": lambda: wrappers.RenderCollection(drawn()),
    "RepeatAction": lambda: wrappers.RepeatAction(seat(), 2),
    "RescaleObservation": lambda: wrappers.RescaleObservation(seat(), np.float32(-1), np.float32(1)),
    "ReshapeObservation": lambda: wrappers.ReshapeObservation(seat(), (1, *seat().observation_space.shape)),
    "ResizeObservation": lambda: wrappers.ResizeObservation(pictures(), (16, 16)),
    "StickyAction": lambda: wrappers.StickyAction(seat(), 0.5),
    "TimeAwareObservation": lambda: wrappers.TimeAwareObservation(wrappers.TimeLimit(seat(), 5)),
    "TimeLimit": lambda: wrappers.TimeLimit(seat(), 3),
    "TransformAction": lambda: wrappers.TransformAction(seat(), lambda action: 0, spaces.Discrete(2)),
    "TransformObservation": lambda: wrappers.TransformObservation(seat(), halved, None),
    "TransformReward": lambda: wrappers.TransformReward(seat(), lambda reward: 2 * reward),
}
V = vector_wrappers
VECTOR = {
    "ArrayConversion": lambda: V.ArrayConversion(seats(), np, np),
    "ClipReward": lambda: V.ClipReward(seats(), -1, 1),
    "DictInfoToList": lambda: V.DictInfoToList(seats()),
    "DtypeObservation": lambda: V.DtypeObservation(seats(), np.float64),
    "FilterObservation": lambda: V.FilterObservation(masked_seats(), ["observation"]),
    "FlattenObservation": lambda: V.FlattenObservation(masked_seats()),
    "HumanRendering": lambda: V.HumanRendering(drawn_seats()),
    "JaxToNumpy": lambda: V.JaxToNumpy(seats()),
    "JaxToTorch": lambda: V.JaxToTorch(seats()),
    "NormalizeObservation": lambda: V.NormalizeObservation(seats()),
    "NormalizeReward": lambda: V.NormalizeReward(seats()),
    "NumpyToTorch": lambda: V.NumpyToTorch(masked_seats()),
    "RecordEpisodeStatistics": lambda: V.RecordEpisodeStatistics(seats()),
    "RecordVideo": lambda: V.RecordVideo(drawn_seats(), "videos", disable_logger=True),
    "RescaleObservation": lambda: V.RescaleObservation(seats(), np.float32(-1), np.float32(1)),
    "ReshapeObservation": lambda: V.ReshapeObservation(seats(), (1, *seat().observation_space.shape)),
    "TransformAction": lambda: V.TransformAction(seats(), lambda actions: actions * 0),
    "TransformObservation": lambda: V.TransformObservation(seats(), halved),
    "TransformReward": lambda: V.TransformReward(seats(), lambda rewards: 2 * rewards),
    "VectorizeTransformAction": lambda: V.VectorizeTransformAction(
        seats(), wrappers.TransformAction, func=lambda action: 0, action_space=spaces.Discrete(2)
    ),
    "VectorizeTransformObservation": lambda: V.VectorizeTransformObservation(
        seats(), wrappers.TransformObservation, func=halved, observation_space=None
    ),
    "VectorizeTransformReward": lambda: V.VectorizeTransformReward(
        seats(), wrappers.TransformReward, func=lambda reward: 2 * reward
    ),
}
T = turn_wrappers
TURNS = {
    "AssertOutOfBoundsWrapper": lambda: T.AssertOutOfBoundsWrapper(turns()),
    "BaseWrapper": lambda: T.BaseWrapper(turns()),
    "MultiEpisodeEnv": lambda: T.MultiEpisodeEnv(turns(), 2),
    "OrderEnforcingWrapper": lambda: T.OrderEnforcingWrapper(turns()),
    "RecordVideo": lambda: T.RecordVideo(turns(render_mode="rgb_array"), "videos"),
}
AT_ONCE = {
    "BaseParallelWrapper": lambda: T.BaseParallelWrapper(at_once()),
    "MultiEpisodeParallelEnv": lambda: T.MultiEpisodeParallelEnv(at_once(), 2),
    "RecordVideoParallel": lambda: T.RecordVideoParallel(at_once(render_mode="rgb_array"), "videos"),
}
NEEDS = {
    "ArrayConversion": "array_api_compat",
    "AtariPreprocessing": "cv2",
    "ResizeObservation": "cv2",
    "HumanRendering": "cv2",  # and pygame
    "RecordVideo": "moviepy",
    "RecordVideoParallel": "moviepy",
    "NumpyToTorch": "array_api_compat",
    "JaxToNumpy": "jax",
    "JaxToTorch": "jax",
}


# Wrappers of games whose actions are no choice, that print, or in which one agent acts alone.
FOR_OTHERS = {
    *("AtariPreprocessing", "ClipAction", "DiscretizeAction", "RescaleAction"),
    *("CaptureStdoutWrapper", "ClipOutOfBoundsWrapper", "TerminateIllegalWrapper"),
}
# Wrappers of pictures as observations, which vectors do not have.
OF_PICTURES = {"GrayscaleObservation", "ResizeObservation"}
# Vectors of tensors, and numbers that Gymnasium itself declares as those from before.
OTHERS = ("NumpyToTorch", "NormalizeObservation")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return what makes what is wrapped, in a folder of its own, without a display or a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # no terminal, wherever this runs

    def make(table, name):
        if find_spec(NEEDS.get(name, "numpy")) is None:
            pytest.skip(f"{NEEDS[name]} is not installed")
        return table[name]()

    return make


def test_the_tables_have_every_wrapper():
    assert set(SINGLE) >= set(wrappers.__all__) - FOR_OTHERS - {"vector"}
    assert set(VECTOR) >= set(vector_wrappers.__all__) - FOR_OTHERS - OF_PICTURES
    assert {*TURNS, *AT_ONCE} >= set(turn_wrappers.__all__) - FOR_OTHERS


def here(table, module):
    return sorted(set(table) & set(module.__all__))


@pytest.mark.parametrize("name", here(SINGLE, wrappers))
def test_wrappers_of_gymnasium(name, made):
    env = made(SINGLE, name)
    observation, _ = env.reset(seed=1)
    episodes = 0
    for _ in range(STEPS):
        assert name == "NumpyToTorch" or env.observation_space.contains(observation)
        observation, reward, ended, cut, info = env.step(env.action_space.sample())
        assert np.isfinite(float(reward))
        assert "land" in info
        if ended or cut:
            episodes += 1
            if name != "Autoreset":
                observation, _ = env.reset()
    env.close()
    assert episodes


@pytest.mark.parametrize("name", here(VECTOR, vector_wrappers))
def test_wrappers_of_gymnasium_for_vectors(name, made):
    env = made(VECTOR, name)
    observations, _ = env.reset(seed=1)
    ends = 0
    for _ in range(STEPS):
        assert name in OTHERS or env.observation_space.contains(observations)
        observations, rewards, ended, cut, infos = env.step(env.action_space.sample())
        assert len(rewards) == len(ended) == 6
        assert "land" in (infos[0] if name == "DictInfoToList" else infos)
        ends += int((ended | cut).sum())
    env.close()
    assert ends >= 6


@pytest.mark.parametrize("name", here(TURNS, turn_wrappers))
def test_wrappers_of_pettingzoo_for_turns(name, made):
    env = made(TURNS, name)
    env.reset(seed=1)
    turns_taken = 0
    for agent in env.agent_iter():
        observation, _, ended, cut, _ = env.last()
        assert env.observation_space(agent).contains(observation)
        env.step(None if ended or cut else int(np.flatnonzero(observation["action_mask"])[-1]))
        turns_taken += 1
    env.close()
    assert env.agents == []
    assert turns_taken >= 3 * GAME["max_cycles"]


def test_what_a_wrapper_writes_into_the_metadata_of_one_environment_is_in_no_other():
    before = turns().metadata["render_modes"].copy()
    T.CaptureStdoutWrapper(turns(render_mode="human"))
    assert turns().metadata["render_modes"] == at_once().metadata["render_modes"] == before


@pytest.mark.parametrize("name", here(AT_ONCE, turn_wrappers))
def test_wrappers_of_pettingzoo_for_agents_at_once(name, made):
    env = made(AT_ONCE, name)
    observations, _ = env.reset(seed=1)
    steps = 0
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, _, cut, _ = env.step(actions)
        assert observations.keys() == rewards.keys() == cut.keys()
        steps += 1
        if any(cut.values()):
            break
    env.close()
    assert steps >= GAME["max_cycles"]
