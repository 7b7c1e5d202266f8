"""What runners are told that RLlib starts in the place of others: it makes them from the first settings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from ray.rllib.callbacks.callbacks import RLlibCallback


class ForNewRunners(RLlibCallback):
    """Hands over to new runners what is in force."""

    @abstractmethod
    def hand_over(self, config: Any) -> Callable[[Any], None]:
        """Return what every new runner is called with; ``config``: in force, of training or evaluation."""

    def on_env_runners_recreated(
        self,
        *,
        algorithm: Any,
        env_runner_group: Any,
        env_runner_indices: list[int],
        is_evaluation: bool,
        **_: Any,
    ) -> None:
        """Hand it over; called by RLlib."""
        env_runner_group.foreach_env_runner(
            self.hand_over(algorithm.evaluation_config if is_evaluation else algorithm.config),
            remote_worker_ids=env_runner_indices,
            local_env_runner=False,
        )
