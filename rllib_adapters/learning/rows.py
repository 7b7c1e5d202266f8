"""Which rows of a batch are learned from: all, those in which there was a choice, or a drawn part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from torch import Tensor

from territorial.constants import NUM_FRACTIONS
from territorial.typing import Bools, Floats


def rows_of(columns: Any, rows: Tensor) -> Any:
    """Return the columns with the rows of these numbers, int64 (n,), alone and in this order."""
    if isinstance(columns, Mapping):
        return {name: rows_of(column, rows) for name, column in columns.items()}
    if isinstance(columns, tuple):
        return tuple(rows_of(column, rows) for column in columns)
    return columns[rows.to(columns.device)]


def own_rows(columns: Mapping[str, Any]) -> Tensor:
    """Return the numbers of the rows that learn, int64 (n,); others were added for values."""
    rows: Tensor = columns[Columns.LOSS_MASK].bool().nonzero().flatten()
    return rows


# ---- without rows in which an agent could only hold ------------------------------------------------------


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


# ---- a drawn part of the rows ----------------------------------------------------------------------------


ROW_WEIGHTS = "row_weights"
"""The column of what the loss of each row counts; its mean over draws is 1 for every row."""
FLOOR = 0.25
"""The least chance of a row, as a part of the mean one; a row counts at most one by this."""


class DrawnRows(ConnectorV2):
    """The connector that leaves a drawn part of the rows in a batch, each once, and adds ``row_weights``.

    A row's chance grows with its advantage, up or down, times how unlikely its action was. A row of chance c
    counts ``share / c``, so that the expected gradient is that of all rows. The number of rows is not left to
    chance. Rows that were added for the values of last observations are left out.

    Args:
        share: of the rows that are drawn, above 0 and below 1.
        draws: returns what the draws follow from; other numbers give other rows.

    """

    def __init__(self, share: float, draws: Callable[[], list[int]]) -> None:
        super().__init__()
        self._share, self._draws = share, draws

    def __call__(self, *, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return ``batch``, of tensors by module, with the drawn rows; called by RLlib."""
        for number, module_id in enumerate(sorted(batch)):
            columns = batch[module_id]
            if Postprocessing.ADVANTAGES in columns:
                random = np.random.default_rng([*self._draws(), number])
                batch[module_id] = self._drawn(columns, random)
        return batch

    def _drawn(self, columns: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
        rows = own_rows(columns)
        advantages = columns[Postprocessing.ADVANTAGES]
        likely = columns[Columns.ACTION_LOGP].exp().clamp(max=1)
        scores = (advantages.abs() * (1 - likely))[rows].cpu().numpy().astype(np.float64)
        count = max(1, round(self._share * len(scores)))
        chances = chances_of(scores, count)
        drawn = draw(chances, random)
        weights = (count / len(scores) / chances[drawn]).astype(np.float32)
        found = rows_of(columns, rows[torch.from_numpy(drawn).to(rows.device)])
        found[ROW_WEIGHTS] = torch.from_numpy(weights).to(advantages.device)
        return dict(found)


def chances_of(scores: Floats, count: int) -> Floats:
    """Return the chances of rows, (N,), with the sum ``count``: at most 1, at least ``FLOOR`` of the mean."""
    share, mean = count / len(scores), scores.mean()
    parts = scores / mean if mean > 0 else np.ones_like(scores)
    chances = share * (FLOOR + (1 - FLOOR) * parts)
    for _ in range(len(scores)):
        sure = chances >= 1
        rest = count - sure.sum()
        chances[sure] = 1
        chances[~sure] *= rest / max(chances[~sure].sum(), 1e-300)
        if not (chances > 1).any():
            break
    return chances


def draw(chances: Floats, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return the numbers of rows drawn by their chances, int64, in order; as many as the chances add up to.

    Rows lie end to end in a random order, each as long as its chance. A row is drawn if it covers one of the
    points that are 1 apart.
    """
    order = random.permutation(len(chances))
    ends = np.cumsum(chances[order])
    ends[-1] = round(ends[-1])
    points = np.floor(ends - random.random())
    return np.sort(order[np.diff(points, prepend=-1.0) > 0])
