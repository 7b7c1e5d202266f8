"""Learners of a league: what RLlib's lack."""

from __future__ import annotations

import threading
from typing import Any

from ray.rllib.algorithms.appo.torch.appo_torch_learner import APPOTorchLearner
from ray.rllib.algorithms.impala.torch.impala_torch_learner import IMPALATorchLearner
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.core.learner.learner import Learner


class LeagueLearner(Learner):
    """A learner that makes no update of a sample in which no learner acted; it comes before RLlib's own."""

    def update(self, *args: Any, training_data: Any = None, **kwargs: Any) -> Any:
        """Return what an update gave; called by RLlib."""
        if training_data is not None:
            training_data.solve_refs()
            episodes = training_data.episodes
            if episodes is not None and not any(episode.agent_episodes for episode in episodes):
                return self.metrics.reduce()
        return super().update(*args, training_data=training_data, **kwargs)


class WholeStates:
    """A learner that learns in a thread, and whose state is read and set between two steps of its optimizers.

    Without this a snapshot could have the weights of one layer from before an update, and of the next one
    from after it. Nothing that waits for other learners is done under the lock.

    Attributes:
        changing: held while weights change, and while they are read or set.
        restores: how often a checkpoint was restored: batches that waited meanwhile change nothing any more.

    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.changing = threading.RLock()
        self.restores = 0
        self._restores_at_batch = 0  # when the batch was made that the thread learns from
        super().__init__(*args, **kwargs)

    def pass_over_waiting(self) -> None:
        """Let nothing follow from batches that are made already: they are of games that are given up."""
        with self.changing:
            self.restores += 1

    def apply_gradients(self, gradients: Any) -> None:
        """Make a step of the optimizers; called by RLlib in the thread."""
        with self.changing:
            if self._restores_at_batch == self.restores:
                super().apply_gradients(gradients)  # type: ignore[misc]  # of the learner this is mixed into

    def after_gradient_based_update(self, **kwargs: Any) -> None:
        """Bring targets up to date, where there are any; called by RLlib in the thread."""
        with self.changing:
            if self._restores_at_batch == self.restores:
                super().after_gradient_based_update(**kwargs)  # type: ignore[misc]

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state, in arrays that later updates do not change."""
        with self.changing:
            return super().get_state(*args, **kwargs)  # type: ignore[misc]

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``."""
        with self.changing:
            super().set_state(state)  # type: ignore[misc]


class LeaguePPOLearner(LeagueLearner, PPOTorchLearner):
    """PPO's learner."""


class LeagueIMPALALearner(WholeStates, LeagueLearner, IMPALATorchLearner):
    """IMPALA's learner."""


class LeagueAPPOLearner(WholeStates, LeagueLearner, APPOTorchLearner):
    """APPO's learner."""
