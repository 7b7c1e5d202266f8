"""Arrays that the steps of a batch write, and views of them.

What follows from them alone is here as well: the seeds of the next games, the state as users read it.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.rewards import Weights, part_names
from territorial.constants import STREAM_EPISODE
from territorial.engine import step
from territorial.engine.recording import allocate_launches
from territorial.engine.step import (
    SAME_STEP,
    BatchArrays,
    Options,
    allocate_call,
    allocate_results,
    allocate_slots,
)
from territorial.files.arrays import writable as own
from territorial.game.formulas import draw
from territorial.game.state import FIELDS, PLAYERS, State, allocate, field_line, view
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import Observations, allocate_buffers
from territorial.typing import Ints

FINAL = ("land", "illegal", "raised", "bounced")
"""Numbers of players that infos have of episodes that are over."""
COUNTS = ("illegal", "raised", "bounced")
"""Numbers of players that infos have of the games as they now stand."""


def allocate_arrays(config: GameConfig, layout: ObsLayout, num_games: int, options: Options) -> BatchArrays:
    """Return the arrays of ``num_games`` games, none of which has begun.

    A game that is not replaced within a step has its last observation where all others are.
    """
    players, num_observed = config.num_players, num_games if options.is_observed else 0
    buffers = allocate_buffers(layout, num_observed)
    is_replaced = options.autoreset == SAME_STEP
    return BatchArrays(
        state=allocate(num_games, players, config.height, config.width),
        buffers=buffers,
        final_buffers=allocate_buffers(layout, num_observed) if is_replaced else buffers,
        results=allocate_results(num_games, players, len(config.rewards)),
        slots=allocate_slots(num_games),
        launched=allocate_launches(num_games, players),
        actions=np.zeros((num_games, players, 2), np.int64),
        seed=np.zeros(1, np.uint64),
        call=allocate_call(num_games),
    )


def copied(arrays: BatchArrays) -> BatchArrays:
    """Return copies of all arrays; a copy is within no call."""
    return copy.deepcopy(arrays._replace(call=allocate_call(len(arrays.actions))))


def writable(arrays: BatchArrays) -> BatchArrays:
    """Return ``arrays`` with copies of the ones in another process's memory, as after unpickling."""
    given: tuple[Any, ...] = arrays
    parts: list[Any] = [
        type(part)(*map(own, part)) if isinstance(part, tuple) else own(part) for part in given
    ]
    own_arrays = BatchArrays(*parts)
    are_one = arrays.final_buffers is arrays.buffers
    return own_arrays._replace(final_buffers=own_arrays.buffers) if are_one else own_arrays


# ---- seeds -----------------------------------------------------------------------------------------


def seed_of_episode(batch_seed: int, episode: int, k: int = 0) -> int:
    """Return the seed of an episode of game ``k`` of a batch; a batch of one game plays that of game 0."""
    return int(draw(np.uint64(batch_seed), STREAM_EPISODE, k, episode))


def next_seeds(arrays: BatchArrays, episodes: Ints | None = None) -> npt.NDArray[np.uint64]:
    """Return the seed of the next game of every slot, new uint64 (E,): the user's, or that of its episode.

    ``episodes``: their numbers, int64 (E,); None: those that follow.
    """
    seeds = np.zeros(len(arrays.actions), np.uint64)
    numbers = view(arrays.state, "episode") + 1 if episodes is None else episodes
    step.next_seeds(arrays.slots, arrays.seed[0], numbers, seeds)
    return seeds


# ---- what users see --------------------------------------------------------------------------------


def info_of(arrays: BatchArrays, final_observations: Observations, rewards: Weights) -> dict[str, Any]:
    """Return the info of ``VecGame.step``."""
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


class GameArrays:
    """The state of all games under the names of ``territorial.game.state.FIELDS``, as views (E, ...).

    ``owner`` is the board as owner codes, uint8 (E, H+2, W+2) with a wall ring of 255: 0 neutral, 1..P
    seats, 255 blocked. It is derived from the bit planes when asked for, and read-only; ask again
    after a step.
    """

    def __init__(self, state: State, owner_codes: Callable[[], npt.NDArray[np.uint8]]) -> None:
        self._state, self._owner_codes = state, owner_codes

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
        return self._owner_codes()


GameArrays.__doc__ = f"{GameArrays.__doc__}\n    " + "\n    ".join(
    f"{field.name}: {field_line(field, 'E')}" for field in FIELDS
)
