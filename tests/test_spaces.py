"""Spaces: what is one array, what is a dict, and texts that stay short."""

import pickle

import numpy as np
from gymnasium import spaces

from territorial.envs.spaces import from_zero_to, space_of


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
