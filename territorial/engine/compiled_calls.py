"""The compiled calls of one batch, for arguments that are unboxed once.

To unbox them takes 2 microseconds, and a step of one game takes 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from territorial.engine import step
from territorial.engine.step import Batch
from territorial.jit.bound_arguments import Held, type_of
from territorial.jit.decorators import ZERO, address_of, entry_for, is_ready, types_of
from territorial.jit.thread_pool import Crew, queues_of

Value = TypeVar("Value")


class MadeOnce(Generic[Value]):
    """A property that is made when it is first asked for.

    ``functools.cached_property`` of Python 3.11 holds a lock meanwhile. Nobody would release it in a process
    that is forked while another thread loads a kernel here.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> MadeOnce[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> MadeOnce[Value] | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self._name, self._make(instance))
        return value


class CompiledCalls:
    """The calls of ``territorial.engine.step`` for ``batches``, what each thread of ``crew`` has to know.

    Attributes:
        custom: the table of custom bots that ``batches`` have.
        launch_log: their launch log.

    """

    def __init__(self, batches: Sequence[Batch], crew: Crew) -> None:
        self._batches, self._crew = batches, crew
        self.custom, self.launch_log = batches[0].custom, batches[0].tape
        self._asks, self._has_networks = batches[0].call.asks, len(batches[0].networks.waiting.last) > 0
        self._asks[0] = False  # a call for another table may have been interrupted

    @property
    def is_step_ready(self) -> bool:
        """Whether a step need not wait for the compiler."""
        called = [(step.step_games, (type_of(self._batches[0]),)), *self._called_by_address]
        return all(is_ready(compiled, types) for compiled, types in called)

    def step_games(self) -> None:
        """Play one step of all games; first all networks decide, if there are any."""
        if self._has_networks:
            self._asks[0] = True
            self._crew.share_again(self._step, self.held)
            self._asks[0] = False
        self._crew.share_again(self._step, self.held)

    def reset_games(self, seeds: npt.NDArray[np.uint64], episodes: npt.NDArray[np.int64]) -> None:
        """Reset all games; see ``step.reset_games``."""
        reset = self._reset  # one thread compiles, and no other has to be waited for if that is interrupted
        self._crew.share(lambda thread: reset(self.held[thread], seeds, episodes, self._crew.queues))

    def reset_game(self, k: int, seeds: npt.NDArray[np.uint64], episodes: npt.NDArray[np.int64]) -> None:
        """Reset game ``k``, with ``seeds[k]`` and ``episodes[k]``; see ``step.reset_games``."""
        self._reset(self.held[0], seeds, episodes, queues_of(k, k + 1))

    def observe_game(self, k: int) -> None:
        """Observe game ``k`` as it stands."""
        self._observe(self.held[0], k, k + 1)

    def play_launches(self, launches: npt.NDArray[np.int64], until: int, k: int) -> None:
        """Play game ``k`` with a table of launches; see ``step.play_launches``."""
        self._play(self.held[0], launches, until, k)

    def place_position(self, owner: npt.NDArray[np.uint8], k: int) -> None:
        """Lay out the board of game ``k``; see ``step.place_position``."""
        self._place(self.held[0], owner, k)

    @property
    def _called_by_address(self) -> list[tuple[Any, tuple[Any, ...]]]:
        """The kernels in the order of ``Batch.entries``, with their types."""
        held = type_of(self._batches[0])
        called = [(step.reset_game, (held, *types_of(ZERO, 0, 0)))]
        return called + [(step.ask_networks, (held, *types_of(0)))] * self._has_networks

    def _enter(self) -> None:
        """Write into ``Batch.entries`` what steps and resets of these games call; all threads share it."""
        for i, (compiled, types) in enumerate(self._called_by_address):
            self._batches[0].entries[i] = address_of(compiled, *types)

    @MadeOnce
    def held(self) -> list[Held[Batch]]:
        """The arguments: one for each thread."""
        return [Held(batch, step.hold_batch) for batch in self._batches]

    @MadeOnce
    def _step(self) -> Callable[..., None]:
        self._enter()
        return entry_for(step.step_games, self.held[0])

    @MadeOnce
    def _reset(self) -> Callable[..., None]:
        self._enter()
        seeds, queues = self._batches[0].seed, self._batches[0].queues
        return entry_for(step.reset_games, self.held[0], seeds, np.zeros(1, np.int64), queues)

    @MadeOnce
    def _observe(self) -> Callable[..., None]:
        return entry_for(step.observe_games, self.held[0], 0, 1)

    @MadeOnce
    def _play(self) -> Callable[..., None]:
        return entry_for(step.play_launches, self.held[0], np.zeros((0, 4), np.int64), 0, 0)

    @MadeOnce
    def _place(self) -> Callable[..., None]:
        return entry_for(step.place_position, self.held[0], np.zeros((0, 0), np.uint8), 0)
