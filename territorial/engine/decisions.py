"""The steps of a batch: one compiled call, or one a decision where Python takes part in between."""

from __future__ import annotations

import numpy as np

from territorial.actions.encoding import NO_TARGET
from territorial.engine.batch_arrays import BatchArrays
from territorial.engine.episode_seeds import next_seeds
from territorial.engine.game_arrays import OwnerBoard
from territorial.engine.last_launches import LastLaunches, allocate_launches, launches_of, write_launches
from territorial.engine.listeners import NO_WATCHER, Listener, Watcher
from territorial.engine.map_bank import Atlas
from territorial.engine.python_bots import PythonTurns
from territorial.engine.step import CATCH_UP, DECISIONS, ONLY_ENDS, WHOLE, StepResults
from territorial.engine.workers import Workers
from territorial.game.state import view

ADDED = ("rewards", "reward_parts")
"""What a call gives is the sum over its decisions."""
JOINED = ("terminated", "truncated", "ended", "is_over", "is_cut", "was_reset")
"""What a call gives is whether it happened in any of its decisions."""


class Together:
    """What the decisions of one call give together.

    Args:
        results: the arrays that every decision overwrites.
        launched: the same of what the seats launched.

    """

    def __init__(self, results: StepResults, launched: LastLaunches) -> None:
        self._results, self._launched = results, launched
        self._last = launches_of(allocate_launches(*launched.target.shape))
        self._sums = {name: np.zeros_like(getattr(results, name)) for name in (*ADDED, *JOINED)}

    def add(self) -> None:
        """Add the decision just played: rewards in float32, as who steps decision by decision would."""
        for name in ADDED:
            self._sums[name] += getattr(self._results, name)
        for name in JOINED:
            self._sums[name] |= getattr(self._results, name)
        has_launched = self._launched.target != NO_TARGET
        for kept, array in zip(self._last, launches_of(self._launched), strict=True):
            kept[has_launched] = array[has_launched]

    def give_back(self) -> None:
        """Write what there is together over the results of the last decision."""
        for name, array in self._sums.items():
            getattr(self._results, name)[...] = array
        write_launches(self._launched, self._last)


class Stepper:
    """Plays the steps of a batch with the actions in its arrays, which are in range.

    Args:
        arrays: what steps write to.
        workers: their threads and compiled calls.
        turns: asks the bots in Python before each decision.
        next_maps: the maps that the next games have to find there; None where games have no own maps, or
            where none begins within a step.
        owners: the owner codes, which a step makes out of date.

    """

    def __init__(
        self,
        arrays: BatchArrays,
        workers: Workers,
        turns: PythonTurns,
        next_maps: Atlas | None,
        owners: OwnerBoard,
    ) -> None:
        self._arrays, self._workers, self._turns = arrays, workers, turns
        self._next_maps, self._owners = next_maps, owners
        self._is_behind = False

    def play(self, repeat: int, watcher: Watcher, listener: Listener | None) -> None:
        """Play ``repeat`` decisions of all games, and notify of them."""
        if self._is_behind:  # a call was interrupted twice
            self._catch_up()
        if repeat > 1 and (listener is not None or watcher is not NO_WATCHER or self._turns.may_come()):
            self._play_one_by_one(repeat, watcher, listener)
        else:
            self._arrays.call.numbers[DECISIONS] = repeat
            self._prepare(listener)
            self._workers.calls.step_games()
            _notify(watcher, listener)

    def _play_one_by_one(self, repeat: int, watcher: Watcher, listener: Listener | None) -> None:
        """Play what one compiled call of ``repeat`` decisions would, with Python taking part between them.

        Where Python fails, what was played stays played: observations and results are those up to there.
        """
        arrays, call = self._arrays, self._arrays.call
        together = Together(arrays.results, arrays.launched)
        call.numbers[:] = 1, ONLY_ENDS
        try:
            for i in range(repeat):
                if i > 0:
                    arrays.actions.fill(0)
                self._prepare(listener)
                self._is_behind = True
                self._workers.calls.step_games()
                together.add()
                _notify(watcher, listener)
                if call.waits.all():
                    break
        finally:
            if self._is_behind:
                self._catch_up()
                together.give_back()
            call.numbers[:] = 1, WHOLE

    def _catch_up(self) -> None:
        """Observe the games that decisions were played of since they were observed last."""
        call = self._arrays.call
        if self._arrays.is_observed:
            call.numbers[:] = 0, CATCH_UP
            self._workers.calls.step_games()
        call.numbers[:], call.waits[:] = (1, WHOLE), False
        self._is_behind = False

    def _prepare(self, listener: Listener | None) -> None:
        """Have all ready that a compiled call needs: launches of bots in Python, and maps."""
        if listener is not None:
            listener.before_decision()
        if self._turns.bots:
            self._turns.write_launches()
        self._owners.is_current = False
        if self._next_maps is not None:
            current = view(self._arrays.state, "seed").tolist()
            self._next_maps.provide(next_seeds(self._arrays).tolist(), current)


def _notify(watcher: Watcher, listener: Listener | None) -> None:
    """Notify observers of what a compiled call has played."""
    watcher.after_step()
    if listener is not None:
        listener.after_decision()
