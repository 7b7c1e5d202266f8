"""One thread at a time within a batch: a second one is refused, and what an interrupt left is put right."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from territorial.engine.workers import Workers

Method = TypeVar("Method", bound=Callable[..., Any])


class Shared(Protocol):
    """What threads must not use at the same time."""

    _lock: threading.RLock
    """Reentrant: what a watcher calls may look at the batch."""
    _workers: Workers


_DOING = {
    "__getstate__": "copying",
    "codes": "state.owner",
    "maps": "maps",
    "max_cycles": "max_cycles",
}
"""What methods are called in errors that are not called by their names."""


def exclusive(method: Method) -> Method:
    """Refuse the call while another thread is within one: they would share buffers and scratch memory.

    After an interrupted call it waits until the other threads have left the games.
    """

    @wraps(method)
    def locked(self: Shared, *args: Any, **kwargs: Any) -> Any:
        is_refused = False
        try:  # a KeyboardInterrupt that comes as soon as the lock is taken must give it back
            is_refused = not self._lock.acquire(blocking=False)
            if is_refused:
                doing = _DOING.get(method.__name__, f"{method.__name__}()")
                raise RuntimeError(
                    f"{doing} was refused, because another thread is using this VecGame; each "
                    "thread needs its own VecGame"
                )
            if self._workers.crew.is_interrupted:
                self._workers.crew.retire()
            return method(self, *args, **kwargs)
        finally:
            if not is_refused:
                self._lock.release()

    return cast(Method, locked)
