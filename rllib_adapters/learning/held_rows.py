"""Learning without the rows in which an agent could only hold, such as those after its death in a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from torch import Tensor

from rllib_adapters.learning.rows import own_rows, rows_of
from territorial.constants import NUM_FRACTIONS
from territorial.typing import Bools, Floats

MASK, OWN = "action_mask", "own"
"""Keys of observations: all learners have the first, those on pairs the second."""


class WithoutHeldRows(ConnectorV2):
    """The connector that leaves out rows in which the agent could only hold, and those of last observations.

    If there are no others for a module, its rows stay as they are. It comes after advantages, which look
    through these rows: see :func:`look_through`.
    """

    def __call__(self, *, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return ``batch``, of tensors by module, without these rows; called by RLlib."""
        for module_id, columns in batch.items():
            if Postprocessing.ADVANTAGES in columns:
                rows = own_rows(columns)
                rows = rows[~could_only_hold(columns)[rows]]
                if len(rows):
                    batch[module_id] = dict(rows_of(columns, rows))
        return batch


def could_only_hold(columns: Mapping[str, Any]) -> Tensor:
    """Return bool (N,): the rows whose mask has no choice but to hold, which is its first entry.

    Masks of agents on boards end with the fractions, which are always legal; those on pairs have launches
    alone. ValueError for observations without a mask.
    """
    seen = columns[Columns.OBS]
    if not isinstance(seen, Mapping) or MASK not in seen:
        raise ValueError(
            f"held_rows is False, but observations have no {MASK!r}, which tells who can only hold; "
            "use config.learning(held_rows=True)"
        )
    mask: Tensor = seen[MASK]
    held: Tensor = ~(mask[:, 1:] if OWN in seen else mask[:, 1:-NUM_FRACTIONS]).any(1)
    return held


def look_through(
    values: Floats, columns: Mapping[str, npt.NDArray[Any]], held: Bools, gamma: float
) -> Floats:
    """Return values (N,) in which those of ``held`` rows are the rewards up to the next row that is not.

    The value of that row is added, discounted as the rewards are; it may be that of the last observation of a
    piece. Values of rows that are not learned from would mean nothing.

    Args:
        values: (N,), end to end, with a row after each piece of an episode for its last observation.
        columns: "rewards", "terminateds" and "loss_mask", (N,) each.
        held: (N,), the rows in which an agent could only hold.
        gamma: RLlib's discount.

    """
    found, added = values.copy(), ~columns["loss_mask"]
    ends = columns["terminateds"] | np.append((added & columns["terminateds"])[1:], False)
    for t in np.flatnonzero(held & ~added)[::-1]:
        found[t] = columns["rewards"][t] + (0.0 if ends[t] else gamma * found[t + 1])
    return found
