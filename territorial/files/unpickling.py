"""Arrays that can be written to after unpickling, whatever memory the pickle left them in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ``array``, or a copy of it if it lies in memory of another object that cannot be written to.

    From protocol 5 on, numpy unpickles arrays without a copy, and buffers out of band belong to the sender.
    """
    return array if array.flags.writeable and array.flags.aligned else array.copy()


def all_writable(arrays: Iterable[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return each of ``arrays`` as :func:`writable` does."""
    return [writable(array) for array in arrays]


class WritableArrays:
    """A base of classes that write to arrays of their own: a copy that was unpickled can do so, too."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(
            (name, writable(value) if isinstance(value, np.ndarray) else value)
            for name, value in state.items()
        )
