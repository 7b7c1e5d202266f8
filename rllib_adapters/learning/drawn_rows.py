"""Learning from a part of the rows: those are drawn more often from which there is more to learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing

from rllib_adapters.learning.rows import own_rows, rows_of

ROW_WEIGHTS = "row_weights"
"""The column of what the loss of each row counts; its mean over draws is 1 for every row."""
FLOOR = 0.25
"""The least chance of a row, as a part of the mean one; a row counts at most one by this."""

Floats = npt.NDArray[np.float64]


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
