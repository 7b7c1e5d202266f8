"""Actions drawn of what may be done, for modules that say how their logits are to be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.nets.choice_kernels import draw_choices


def draw(
    logits: npt.NDArray[np.float32], heads: Sequence[int], random: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return actions, int64 (N, H), and the logarithms of how likely they were, float32 (N,).

    It is the distribution of RLlib's ``TorchMultiCategorical``, without its checks. ``logits``: float32
    (N, K), those of the H parts of an action one after the other. ``heads``: how many each part has. The same
    numbers from ``random`` give the same actions.
    """
    logits = np.ascontiguousarray(logits, np.float32)
    if logits.ndim != 2 or logits.shape[1] != sum(heads):
        raise ValueError(
            f"the logits have the shape {logits.shape}; with action_heads {tuple(heads)} it must be "
            f"(N, {sum(heads)})"
        )
    if not np.isfinite(logits).all():
        raise ValueError("the logits are not all finite; use -1e9 to mask illegal actions")
    choices = np.empty((len(logits), len(heads)), np.int64)
    logps = np.empty(len(logits), np.float32)
    chances = random.random(choices.shape)
    weights = np.empty(logits.shape[1])
    draw_choices(logits, np.array(heads, np.int64), chances, weights, choices, logps)
    return choices, logps
