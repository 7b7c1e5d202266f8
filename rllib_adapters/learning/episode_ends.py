"""The ends of episodes as the value targets of older releases of RLlib need them to be right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns


class EpisodeEnds(ConnectorV2):
    """Moves the marks of ends by a row where RLlib has put some that are wrong; else changes nothing.

    RLlib adds a row to every piece of an episode, for the value of what was seen last. Releases before
    https://github.com/ray-project/ray/pull/59958 mark every such row as terminated and take the value of a
    terminated row for 0. What comes after a cut counts for nothing, and neither does the value of the last
    state before an end. In those releases' recursion the targets are right if an end is marked at the
    added row alone, and a cut at every added row.
    """

    def __call__(self, *, batch: Mapping[str, Any], **_: Any) -> Any:
        """Correct the columns of all modules in place, tensors (rows,) that loss masks belong to."""
        for rows in batch.values():
            added = ~rows[Columns.LOSS_MASK].bool()
            ends = rows[Columns.TERMINATEDS]
            if ends[added].any():  # later releases mark none
                moved = ends & added
                moved[added] = ends[added.roll(-1)]
                rows[Columns.TERMINATEDS], rows[Columns.TRUNCATEDS] = moved, added
        return batch
