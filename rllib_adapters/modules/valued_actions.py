"""What modules give beside their actions: the values of what they saw."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns


class ValuedActions:
    """Adds ``vf_preds``, float32 (N,), to what a module gives when it acts.

    Learners need not compute these values again, see ``learning.advantages``. ``_forward`` of the module has
    to return what ``compute_values`` takes as ``embeddings``; without that, nothing is added. It comes before
    RLlib's classes among the bases.
    """

    def _forward_exploration(self: Any, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return what acts, and values; overrides ``RLModule._forward_exploration``."""
        with torch.no_grad():  # as in RLlib's method: acting builds no graphs
            outputs = dict(self._forward(batch, **kwargs))
            embeddings = outputs.pop(Columns.EMBEDDINGS, None)  # too large for episodes
            if embeddings is not None:
                outputs[Columns.VF_PREDS] = self.compute_values(batch, embeddings)
        return outputs

    # The same when it acts greedily: steps of an episode must not differ in what they have.
    _forward_inference = _forward_exploration
