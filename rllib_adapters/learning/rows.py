"""Selects the rows of a batch that a learner uses.

Advantages are computed from the values that runners sent, where the weights of the learner are those of the
runners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets
from torch import Tensor

from territorial.constants import NUM_FRACTIONS
from territorial.nets.frozen import mapped
from territorial.typing import Bools, Floats


def rows_of(columns: Any, rows: Tensor) -> Any:
    """Return the columns with the rows of these numbers, int64 (n,), alone and in this order."""
    return mapped(lambda column: column[rows.to(column.device)], columns)


def own_rows(columns: Mapping[str, Any]) -> Tensor:
    """Return the numbers of the rows that learn, int64 (n,); others were added for values."""
    return columns[Columns.LOSS_MASK].bool().nonzero().flatten()


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
    return ~(mask[:, 1:] if OWN in seen else mask[:, 1:-NUM_FRACTIONS]).any(1)


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


# ---- advantages ----------------------------------------------------------------------------------

CHECKED = 32
"""Values of a batch that are computed again, to see that they are those of the learner's weights."""
TOLERANCE = 0.01
"""How far those may differ, as a share of the largest one: a GPU may round otherwise."""


class Advantages(GeneralAdvantageEstimation):
    """RLlib's advantages, for which values are not computed a second time.

    Rows of ``vf_preds`` have the values that the runner's network gave as it acted. They are taken if all
    rows were sampled with the weights that the learner has, by their sequence number. Some are computed again
    all the same, and have to be nearly equal. Then only the last observation of each piece of an episode goes
    through the network. Otherwise all values are computed, as RLlib does. Recurrent modules are RLlib's.

    Args:
        gamma, lambda_: of RLlib's.
        weights: returns the sequence number that runners give rows of the learner's present weights; None
            computes all values.
        held_rows: False: rows in which an agent could only hold are not learned from, and are looked through.

    """

    def __init__(
        self, *, gamma: float, lambda_: float, weights: Callable[[], int] | None, held_rows: bool = True
    ) -> None:
        super().__init__(gamma=gamma, lambda_=lambda_)
        self._weights, self._held_rows = weights, held_rows

    def __call__(self, *, rl_module: Any, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return ``batch`` with advantages and value targets, without the values; called by RLlib."""
        modules = {name: rl_module[name].unwrapped() for name in batch if name in rl_module}
        if any(module.is_stateful() for module in modules.values()):
            return super().__call__(rl_module=rl_module, batch=batch, **kwargs)
        for name, module in modules.items():
            if isinstance(module, ValueFunctionAPI):
                values = self._values(module, batch[name])
                held = None if self._held_rows else could_only_hold(batch[name]).cpu().numpy()
                self._add(batch[name], values, held)
        return batch

    def _values(self, module: Any, columns: dict[str, Any]) -> Tensor:
        """Return float32 (N,), and take the values that were sent out of the columns."""
        sent = columns.pop(Columns.VF_PREDS, None)
        has_all = sent is not None and {WEIGHTS_SEQ_NO, Columns.LOSS_MASK} <= columns.keys()
        if self._weights is None or not has_all or (columns[WEIGHTS_SEQ_NO] != self._weights()).any():
            return module.compute_values(columns).detach()
        added = ~columns[Columns.LOSS_MASK].bool()
        sample = torch.linspace(0, len(sent) - 1, min(CHECKED, len(sent)), device=sent.device).long()
        again = added.clone()
        again[sample] = True
        values = module.compute_values(rows_of(columns, again.nonzero().flatten())).detach()
        seen = ~added[again]
        computed = values[seen]
        away = (sent[again][seen] - computed).abs()
        if len(away) and away.max() > TOLERANCE * computed.abs().max():
            return module.compute_values(columns).detach()
        own: Tensor = sent.clone()
        own[added] = values[~seen]
        return own

    def _add(self, columns: dict[str, Any], values: Tensor, held: Bools | None) -> None:
        """Add advantages and value targets of all rows, end to end, as RLlib does."""
        device, own = values.device, values.cpu().numpy()
        names = ("rewards", "terminateds", "truncateds")
        parts = {name: columns[name].cpu().numpy() for name in names}
        if held is not None:
            mask = columns[Columns.LOSS_MASK].bool().cpu().numpy()
            own = look_through(own, {**parts, Columns.LOSS_MASK: mask}, held, self.gamma)
        targets = compute_value_targets(values=own, **parts, gamma=self.gamma, lambda_=self.lambda_)
        advantages = targets - own
        advantages = (advantages - advantages.mean()) / max(1e-4, advantages.std())
        columns[Postprocessing.ADVANTAGES] = torch.from_numpy(np.asarray(advantages, np.float32)).to(device)
        columns[Postprocessing.VALUE_TARGETS] = torch.from_numpy(targets).to(device)


# ---- what comes before them ------------------------------------------------------------------------------


class BootstrapRows(AddOneTsToEpisodesAndTruncate):
    """RLlib's connector, whose marks of rows go into the batch as arrays and not one by one."""

    @staticmethod
    def add_n_batch_items(
        batch: dict[str, Any],
        column: str,
        items_to_add: Any,
        num_items: int,
        single_agent_episode: Any = None,
    ) -> None:
        """Add the marks of an episode; called by RLlib."""
        marks = np.array(items_to_add)
        ConnectorV2.add_n_batch_items(batch, column, marks, num_items, single_agent_episode)


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
