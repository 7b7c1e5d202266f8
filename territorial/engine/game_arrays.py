"""The state of a batch as users read it: every field by its name, and the board as owner codes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.constants import BLOCKED
from territorial.engine import step
from territorial.engine.exclusive import exclusive
from territorial.engine.workers import Workers
from territorial.game.state import FIELDS, State, field_line, view


class OwnerBoard:
    """The owner codes of all cells of ``state``, which are made when they are asked for.

    Attributes:
        is_current: False once a game has changed since they were made.

    """

    def __init__(self, state: State, config: GameConfig, lock: threading.RLock, workers: Workers) -> None:
        self._lock, self._workers = lock, workers
        self._state = state
        self._shape = (len(state.seed), config.height + 2, config.width + 2)
        self._codes: npt.NDArray[np.uint8] | None = None
        self.is_current = False

    @property
    @exclusive
    def codes(self) -> npt.NDArray[np.uint8]:
        """The board with a wall ring of 255, uint8 (E, H+2, W+2), read-only."""
        codes = np.empty(self._shape, np.uint8) if self._codes is None else self._codes
        if not self.is_current:
            codes.flags.writeable = True
            codes.fill(BLOCKED)
            step.owner_codes(self._state, codes, 0, len(codes))
            codes.flags.writeable = False
            self._codes, self.is_current = codes, True
        return codes

    @property
    def num_bytes(self) -> int:
        """Memory that is held."""
        return 0 if self._codes is None else self._codes.nbytes


class GameArrays:
    """The state of all games under the names of ``territorial.game.state.FIELDS``, as views (E, ...).

    ``owner`` is the board as owner codes, uint8 (E, H+2, W+2) with a wall ring of 255: 0 neutral, 1..P
    seats, 255 blocked. It is derived from the bit planes when asked for, and read-only; ask again
    after a step.
    """

    def __init__(self, state: State, owners: OwnerBoard) -> None:
        self._state, self._owners = state, owners

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return view(self._state, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"state.{name} cannot be replaced; write into the array: state.{name}[...] = x"
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*(field.name for field in FIELDS), "owner"]

    @property
    def owner(self) -> npt.NDArray[np.uint8]:
        """The board as owner codes, see the class."""
        return self._owners.codes


GameArrays.__doc__ = f"{GameArrays.__doc__}\n    " + "\n    ".join(
    f"{field.name}: {field_line(field, 'E')}" for field in FIELDS
)
