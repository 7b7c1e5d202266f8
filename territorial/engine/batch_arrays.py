"""The arrays of a batch that its steps write to: allocated together, copied together, and seen as views."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.rewards import Weights, part_names
from territorial.engine.last_launches import LastLaunches, allocate_launches
from territorial.engine.step import (
    Slots,
    StepCall,
    StepResults,
    allocate_call,
    allocate_results,
    allocate_slots,
)
from territorial.files.arrays import all_writable
from territorial.game.state import PLAYERS, State, allocate, view
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import Buffers, Observations, allocate_buffers, observations_of
from territorial.typing import Bools

FINAL = ("land", "illegal", "raised", "bounced")
"""Numbers of players that infos have of episodes that are over."""
COUNTS = ("illegal", "raised", "bounced")
"""Numbers of players that infos have of the games as they now stand."""


class BatchArrays(NamedTuple):
    """What steps of E games write to; all of it stays where it is as long as the batch lives."""

    state: State
    buffers: Buffers  # of no games where nothing is observed
    final_buffers: Buffers  # the same ones where no game is replaced within a step
    results: StepResults
    slots: Slots
    launched: LastLaunches
    actions: npt.NDArray[np.int64]  # (E, P, 2)
    seed: npt.NDArray[np.uint64]  # (1,) the batch's
    call: StepCall

    @property
    def stands(self) -> Bools:
        """Which games take no step: new bool (E,)."""
        stands: Bools = self.slots.stands | (view(self.state, "over") != 0) | self.call.waits
        return stands

    @property
    def is_observed(self) -> bool:
        """Whether observations are kept current."""
        return len(self.buffers.boards) > 0


def allocate_arrays(config: GameConfig, layout: ObsLayout, num_games: int, observes: bool) -> BatchArrays:
    """Return the arrays of ``num_games`` games, none of which has begun; last observations have none yet."""
    players = config.num_players
    buffers = allocate_buffers(layout, num_games if observes else 0)
    return BatchArrays(
        state=allocate(num_games, players, config.height, config.width),
        buffers=buffers,
        final_buffers=buffers,
        results=allocate_results(num_games, players, len(config.rewards)),
        slots=allocate_slots(num_games),
        launched=allocate_launches(num_games, players),
        actions=np.zeros((num_games, players, 2), np.int64),
        seed=np.zeros(1, np.uint64),
        call=allocate_call(num_games),
    )


def with_last_observations(arrays: BatchArrays, layout: ObsLayout, *, is_replaced: bool) -> BatchArrays:
    """Return ``arrays`` with buffers for last observations, if games are replaced within a step.

    A game that is not has its last observation where all others are.
    """
    if not (is_replaced and arrays.is_observed):
        return arrays._replace(final_buffers=arrays.buffers)
    if arrays.final_buffers is not arrays.buffers:
        return arrays
    return arrays._replace(final_buffers=allocate_buffers(layout, len(arrays.actions)))


def copied(arrays: BatchArrays) -> BatchArrays:
    """Return copies of all arrays; a copy is within no call."""
    return copy.deepcopy(arrays._replace(call=allocate_call(len(arrays.actions))))


def writable(arrays: BatchArrays) -> BatchArrays:
    """Return ``arrays`` with copies of those that belong to another process: unpickled without a copy."""
    buffers = Buffers(*all_writable(arrays.buffers))
    has_last = arrays.final_buffers is not arrays.buffers
    actions, seed = all_writable([arrays.actions, arrays.seed])
    return BatchArrays(
        state=State(*all_writable(arrays.state)),
        buffers=buffers,
        final_buffers=Buffers(*all_writable(arrays.final_buffers)) if has_last else buffers,
        results=StepResults(*all_writable(arrays.results)),
        slots=Slots(*all_writable(arrays.slots)),
        launched=LastLaunches(*all_writable(arrays.launched)),
        actions=actions,
        seed=seed,
        call=StepCall(*all_writable(arrays.call)),
    )


class Views(NamedTuple):
    """What users see of the arrays of a batch: views, which every step overwrites."""

    observations: Observations
    final_observations: Observations
    info: dict[str, Any]


def views_of(arrays: BatchArrays, layout: ObsLayout, rewards: Weights) -> Views:
    """Return what users see of ``arrays``; ``rewards`` has the parts that infos name."""
    last = observations_of(arrays.final_buffers, layout)
    return Views(observations_of(arrays.buffers, layout), last, _info_of(arrays, last, rewards))


def _info_of(arrays: BatchArrays, final_observations: Observations, rewards: Weights) -> dict[str, Any]:
    """Return what ``VecGame.step`` says beside rewards."""
    results = arrays.results
    final = {f"final_{name}": results.final_players[:, PLAYERS[name], 1:] for name in FINAL}
    parts = {name: results.reward_parts[:, i] for i, name in enumerate(part_names(rewards))}
    return {
        "ended": results.ended,
        "was_reset": results.was_reset,
        "final_place": results.final_place,
        "final_length": results.final_length,
        **final,
        **parts,
        "final_obs": final_observations,
        **{name: view(arrays.state, name)[:, 1:] for name in COUNTS},
    }
