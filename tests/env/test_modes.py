"""The forms of observations: their spaces, what is in them, what is shared, what is new in every step."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium import spaces

from territorial.envs.forms import FORMS, from_zero_to, space_of
from tests.env.support import play, small_env
from tests.episodes import difference

PLAYERS, SIDE = 4, 24


@pytest.mark.parametrize("obs", FORMS)
@pytest.mark.parametrize(("height", "width"), [(24, 24), (40, 33), (17, 100)])
def test_spaces_hold_what_is_shown_and_nothing_shown_is_written_to_again(obs, height, width):
    """Widths need not be multiples of eight."""
    options = {"height": height, "width": width, "max_ticks": 1500 if width == height else 100}
    env = small_env(obs=obs, **options, pool_factor=7 if obs == "pooled" else None)
    first, _ = env.reset(seed=3)
    space, kept, before = env.observation_space("player_0"), [], first
    for _, observations, *_ in play(env, first, 3):
        assert all(space.contains(observation) for observation in observations.values())
        for observation, old in zip(observations.values(), before.values(), strict=False):
            assert not any(np.shares_memory(observation[key], old[key]) for key in observation)
            assert all(array.flags.c_contiguous for array in observation.values())
        before = observations
        kept.append((observations, copy.deepcopy(observations)))
    assert all(difference(*pair) is None for pair in kept)


def test_what_is_the_same_for_all_agents_is_one_object():
    observations = list(small_env(obs="packed").reset(seed=3)[0].values())
    for key in ("observation", "terrain", "players", "borders", "globals"):
        assert all(observation[key] is observations[0][key] for observation in observations)
    assert len({int(observation["seat"][0]) for observation in observations}) == PLAYERS


def test_views_without_a_copy_are_an_option_and_cannot_be_written_to():
    env = small_env(obs="packed", zero_copy=np.True_)
    observations, _ = env.reset(seed=3)
    seen = observations["player_0"]
    for key, field in (("observation", "planes"), ("players", "players"), ("globals", "globals")):
        assert np.shares_memory(seen[key], getattr(env.game.observations, field))
        assert not seen[key].flags.writeable
    tick = seen["globals"][0]
    env.step(dict.fromkeys(env.agents, 0))
    assert seen["globals"][0] == tick + env.config.decision_every
    observations, _ = small_env(obs="packed", zero_copy=np.False_).reset(seed=3)
    assert observations["player_0"]["players"].flags.writeable


# ---- spaces ------------------------------------------------------------------------------------------


def test_the_space_of_one_array_is_that_of_the_array():
    box, mask = spaces.Box(0, 1, (3,)), spaces.Box(0, 1, (2,), np.int8)
    assert space_of({"observation": box}) is box
    both = {"observation": np.zeros(3, np.float32), "action_mask": np.ones(2, np.int8)}
    assert space_of({"observation": box, "action_mask": mask}).contains(both)


def test_texts_are_short_and_tell_ranges():
    space = from_zero_to(np.arange(1, 600, dtype=np.float32))
    assert str(space) == str(pickle.loads(pickle.dumps(space))) == "Box(0.0, 1.0..599.0, (599,), float32)"
    assert space.contains(space.sample())
    assert pickle.loads(pickle.dumps(space)) == space
