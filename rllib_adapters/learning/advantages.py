"""Advantages from the values that runners sent, where the weights of the learner are those of the runners."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate, GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO
from ray.rllib.utils.postprocessing.value_predictions import compute_value_targets
from torch import Tensor

from rllib_adapters.learning.rows import could_only_hold, look_through, rows_of
from territorial.typing import Bools

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
            without: dict[str, Any] = super().__call__(rl_module=rl_module, batch=batch, **kwargs)
            return without
        for name, module in modules.items():
            if isinstance(module, ValueFunctionAPI):
                values = self._values(module, batch[name])
                held = None if self._held_rows else could_only_hold(batch[name]).cpu().numpy()
                self._add(batch[name], values, held)
        return batch

    def _values(self, module: Any, columns: dict[str, Any]) -> Tensor:
        """Return float32 (N,), and take the values that were sent out of the columns."""
        sent = columns.pop(Columns.VF_PREDS, None)
        if sent is None or not self._are_present(columns):
            return _computed(module, columns)
        added = ~columns[Columns.LOSS_MASK].bool()
        sample = torch.linspace(0, len(sent) - 1, min(CHECKED, len(sent)), device=sent.device).long()
        again = added.clone()
        again[sample] = True
        values = _computed(module, rows_of(columns, again.nonzero().flatten()))
        seen = ~added[again]
        computed = values[seen]
        away = (sent[again][seen] - computed).abs()
        if len(away) and away.max() > TOLERANCE * computed.abs().max():
            return _computed(module, columns)
        own: Tensor = sent.clone()
        own[added] = values[~seen]
        return own

    def _are_present(self, columns: Mapping[str, Any]) -> bool:
        """Return whether all rows were sampled with the learner's weights."""
        if self._weights is None or WEIGHTS_SEQ_NO not in columns or Columns.LOSS_MASK not in columns:
            return False
        return bool((columns[WEIGHTS_SEQ_NO] == self._weights()).all())

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


def _computed(module: Any, columns: Mapping[str, Any]) -> Tensor:
    values: Tensor = module.compute_values(columns)
    return values.detach()


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
