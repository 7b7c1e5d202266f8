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
        super().__init__(*args, **kwargs)

    def apply_gradients(self, gradients: Any) -> None:
        """Make a step of the optimizers; called by RLlib in the thread."""
        with self.changing:
            super().apply_gradients(gradients)  # type: ignore[misc]  # of the learner that this is mixed into

    def after_gradient_based_update(self, **kwargs: Any) -> None:
        """Bring targets up to date, where there are any; called by RLlib in the thread."""
        with self.changing:
            super().after_gradient_based_update(**kwargs)  # type: ignore[misc]

    def get_state(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state, in arrays that later updates do not change."""
        with self.changing:
            return super().get_state(*args, **kwargs)  # type: ignore[misc]

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``."""
        with self.changing:
            super().set_state(state)  # type: ignore[misc]
