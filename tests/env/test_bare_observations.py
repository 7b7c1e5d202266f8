"""Observations of one array, with masks elsewhere, are that array, and their space is a bare ``Box``."""

import itertools

import numpy as np
import pytest
from gymnasium import spaces

import territorial
from territorial.envs.options import CHOICES
from tests.env.support import SMALL

GAME = SMALL | {"max_ticks": 100, "decision_every": 25, "frames": 2}
ONE_ARRAY = [
    {"obs": obs, "action_mask": mask}
    for obs, mask in itertools.product(("features", "pooled", "onehot"), ("info", "none"))
]
A_DICT = [
    {"obs": obs, "action_mask": mask}
    for obs, mask in itertools.product(CHOICES["obs"], CHOICES["action_mask"])
    if {"obs": obs, "action_mask": mask} not in ONE_ARRAY
]


def name_of(options):
    return "-".join(options.values())


one_array = pytest.mark.parametrize("options", ONE_ARRAY, ids=name_of)


def in_a_dict(options):
    """Return the options of the same observations in a dict, with masks."""
    return options | {"action_mask": "obs"}


@one_array
def test_agents_of_parallel_env_and_of_turns_see_an_array(options):
    bare, whole = (territorial.parallel_env(**GAME, **some) for some in (options, in_a_dict(options)))
    turns = territorial.env(**GAME, **options)
    assert type(bare.observation_space("player_0")) is spaces.Box
    assert bare.observation_space("player_0") == whole.observation_space("player_0")["observation"]
    (seen, infos), (expected, _) = bare.reset(seed=3), whole.reset(seed=3)
    turns.reset(seed=3)
    assert np.array_equal(turns.last()[0], seen["player_0"])
    while bare.agents:
        for agent in seen:
            assert bare.observation_space(agent).contains(seen[agent])
            assert np.array_equal(seen[agent], expected[agent]["observation"])
            assert ("action_mask" in infos[agent]) == (options["action_mask"] == "info")
        hold = dict.fromkeys(bare.agents, 0)
        (seen, *_, infos), (expected, *_) = bare.step(hold), whole.step(hold)
    assert whole.agents == []


@pytest.mark.parametrize("options", A_DICT, ids=name_of)
def test_all_else_is_a_dict(options):
    env, vec = territorial.parallel_env(**GAME, **options), territorial.make_vec(2, **GAME, **options)
    seen, batch = env.reset(seed=0)[0]["player_0"], vec.reset(seed=0)[0]
    assert isinstance(env.observation_space("player_0"), spaces.Dict)
    assert isinstance(vec.single_observation_space, spaces.Dict)
    assert seen.keys() == batch.keys() == env.observation_space("player_0").keys()
