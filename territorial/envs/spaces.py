"""Gymnasium spaces of observations and actions, with short texts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from territorial.typing import Array, Arrays, Floats32

KEYS = "observation", "observations"
"""The keys of an observation that may be the only one."""

Observation = Arrays | Array
"""What an agent sees: arrays by their keys, or the array itself where there is one only."""


def space_of(keys: Mapping[str, spaces.Space[Any]]) -> spaces.Space[Any]:
    """Return the space of an observation: a ``Dict``, or the ``Box`` itself where there is one key only."""
    key = only_key(keys)
    return spaces.Dict(dict(keys)) if key is None else keys[key]


def only_key(keys: Mapping[str, Any]) -> str | None:
    """Return the key of an observation that is one array; None for others."""
    return next((key for key in KEYS if keys.keys() == {key}), None)


def of_masks(space: spaces.Space[Any], dtype: type[np.int8 | np.float32]) -> spaces.Space[Any]:
    """Return ``space``, that of masks of the parts of an action, for masks of another type."""
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([of_masks(part, dtype) for part in space.spaces])
    return spaces.Box(0, 1, space.shape, dtype)


def from_zero_to(high: Floats32) -> spaces.Box:
    """Return the space of float32 arrays from 0 to ``high``, a bound for each number."""
    return shortened(spaces.Box(np.zeros_like(high), high, dtype=np.float32))


def shortened(box: spaces.Box) -> spaces.Box:
    """Return ``box`` with a short text: bounds that differ are given as a range, not one by one."""
    box.low_repr, box.high_repr = _range_of(box.low), _range_of(box.high)
    return box


def _range_of(numbers: Array) -> str:
    low, high = numbers.min(), numbers.max()
    return str(low) if low == high else f"{low}..{high}"
