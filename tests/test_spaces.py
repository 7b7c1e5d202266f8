"""Spaces: what is one array, what is a dict, and texts that stay short."""

import pickle

import numpy as np
import pytest
from gymnasium import spaces

from territorial.envs.spaces import batch_of, from_zero_to, observation_of, space_of


def test_an_observation_of_one_array_is_that_array():
    box, mask = spaces.Box(0, 1, (3,)), spaces.Box(0, 1, (2,), np.int8)
    array = np.zeros(3, np.float32)
    assert space_of({"observation": box}) is box
    assert observation_of({"observation": array}) is array
    both = {"observation": array, "action_mask": np.ones(2, np.int8)}
    assert observation_of(both) is both
    assert space_of({"observation": box, "action_mask": mask}).contains(both)


@pytest.mark.parametrize(
    ("space", "text"),
    [
        (from_zero_to(np.arange(1, 600, dtype=np.float32)), "Box(0.0, 1.0..599.0, (599,), float32)"),
        (batch_of(spaces.Discrete(331), 512), "MultiDiscrete(331, (512,), int64)"),
        (
            batch_of(spaces.Box(0, np.arange(9.0, dtype=np.float32)), 64),
            "Box(0.0, 0.0..8.0, (64, 9), float32)",
        ),
        (batch_of(spaces.MultiDiscrete([34, 10]), 64), "Box(0, 9..33, (64, 2), int64)"),
        (
            batch_of(spaces.Dict(one=spaces.Tuple([spaces.Discrete(7)] * 2)), 64),
            "Dict('one': Tuple(MultiDiscrete(7, (64,), int64), MultiDiscrete(7, (64,), int64)))",
        ),
    ],
    ids=str,
)
def test_texts_are_short_and_tell_ranges(space, text):
    assert str(space) == text
    assert str(pickle.loads(pickle.dumps(space))) == text
    assert space.contains(space.sample())
    assert pickle.loads(pickle.dumps(space)) == space
