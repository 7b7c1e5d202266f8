"""States of learners that learn in a thread of their own: all of a state is of one moment."""

from __future__ import annotations

import threading
from typing import Any


class WholeStates:
    """A learner that learns in a thread, and whose state is read and set between two steps of its optimizers.

    Without this a snapshot could have the weights of one layer from before an update, and of the next one
    from after it. Nothing that waits for other learners is done under the lock.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.changing = threading.RLock()
        """Held while weights change, and while they are read or set."""
        self.restores = 0
        """How often a checkpoint was restored: batches that waited meanwhile change nothing any more."""
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
