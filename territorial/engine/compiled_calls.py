"""The compiled calls of one batch, for arguments that are unboxed once.

To unbox them takes 2 microseconds, and a step of one game takes 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt

from territorial.engine import step
from territorial.engine.step import Batch
from territorial.jit.bound_arguments import Held, type_of
from territorial.jit.decorators import JIT_ENABLED, ZERO, address_of, entry_for, is_ready, types_of
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

    ``specialize``: whether steps run machine code for this size of board; None: if that is compiled already.

    Attributes:
        custom: the table of custom bots that ``batches`` have.
        launch_log: their launch log.

    """

    def __init__(self, batches: Sequence[Batch], specialize: bool | None, crew: Crew) -> None:
        self._batches, self._specialize, self._crew = batches, specialize, crew
        self.custom, self.launch_log = batches[0].custom, batches[0].tape
        self._asks, self._has_networks = batches[0].call.asks, len(batches[0].networks.waiting.last) > 0
        self._asks[0] = False  # a call for another table may have been interrupted

    @property
    def is_specialized(self) -> bool:
        """Whether steps run machine code for this size of board alone."""
        if not JIT_ENABLED:
            return False
        if "_step" in self.__dict__:
            _, held = self._step
            return bool(held[0].type.given != held[0].type.arguments)
        if self._specialize is not None:
            return self._specialize
        return is_ready(step.step_games, (self._type(step.UNKNOWN_LENGTHS),))

    @property
    def is_step_ready(self) -> bool:
        """Whether a step need not wait for the compiler."""
        return is_ready(step.step_games, (self.step_type,)) and all(
            is_ready(compiled, types) for compiled, types in self._called_by_address
        )

    @property
    def step_type(self) -> object:
        """The type of what ``step.step_games`` is given."""
        return self._type(step.UNKNOWN_LENGTHS if self.is_specialized else None)

    def step_games(self) -> None:
        """Play one step of all games; first all networks decide, if there are any."""
        if self._has_networks:
            self._asks[0] = True
            self._crew.share_again(*self._step)
            self._asks[0] = False
        self._crew.share_again(*self._step)

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
        """The kernels in the order of ``Batch.entries``, with their types; they are for any size of board."""
        held = self._type(None)
        called = [(step.reset_game, (held, *types_of(ZERO, 0, 0)))]
        return called + [(step.ask_networks, (held, *types_of(0)))] * self._has_networks

    def _enter(self) -> None:
        """Write into ``Batch.entries`` what steps and resets of these games call; all threads share it."""
        for i, (compiled, types) in enumerate(self._called_by_address):
            self._batches[0].entries[i] = address_of(compiled, *types)

    def _type(self, unknown_lengths: Mapping[str, int] | None) -> object:
        return type_of(self._batches[0], unknown_lengths)

    @MadeOnce
    def held(self) -> list[Held[Batch]]:
        """The arguments, for code of any size of board: one for each thread."""
        return [Held(batch, step.hold_batch) for batch in self._batches]

    @MadeOnce
    def _step(self) -> tuple[Callable[..., None], list[Held[Batch]]]:
        held = self.held
        if self.is_specialized:
            held = [Held(batch, step.hold_batch, step.UNKNOWN_LENGTHS) for batch in self._batches]
        self._enter()
        return entry_for(step.step_games, held[0]), held

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
