"""The rows for the values of last observations, added to columns in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.learner import AddOneTsToEpisodesAndTruncate


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
