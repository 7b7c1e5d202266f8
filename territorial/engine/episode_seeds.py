"""The seeds of the games of a batch: one for each episode of each slot, unless the user names others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, STREAM_EPISODE
from territorial.engine import step
from territorial.engine.batch_arrays import BatchArrays
from territorial.engine.checks import checked_seeds
from territorial.game.rng import draw
from territorial.game.state import view


class EpisodeStarts(NamedTuple):
    """How the games of a batch begin at a reset."""

    batch_seed: int
    seeds: npt.NDArray[np.uint64]  # (E,)
    episodes: npt.NDArray[np.int64]  # (E,)


def seed_of_episode(batch_seed: int, episode: int) -> int:
    """Return the seed of an episode of a batch's first game: what a batch of one game plays."""
    return int(draw(np.uint64(batch_seed), STREAM_EPISODE, 0, episode))


def next_seeds(arrays: BatchArrays) -> npt.NDArray[np.uint64]:
    """Return new uint64 (E,): the seed of the next game of every slot."""
    return _seeds_of(arrays, int(arrays.seed[0]), view(arrays.state, "episode") + 1)


def starts_of_reset(
    arrays: BatchArrays, seed: int | None, seeds: Iterable[int] | None, *, has_begun: bool
) -> EpisodeStarts:
    """Return how games begin at ``VecGame.reset`` with these arguments, which are checked."""
    if seed is not None and seeds is not None:
        raise ValueError("reset() takes seed, for the batch, or seeds, one a game, but not both")
    batch_seed = int(arrays.seed[0]) if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
    episodes = np.zeros(len(arrays.actions), np.int64)
    if seeds is not None:
        return EpisodeStarts(batch_seed, checked_seeds(seeds, len(episodes)), episodes)
    if seed is not None:  # it says more than what was said of next games
        arrays.slots.has_next_seed[:] = False
    elif has_begun:
        episodes = view(arrays.state, "episode") + 1
    return EpisodeStarts(batch_seed, _seeds_of(arrays, batch_seed, episodes), episodes)


def _seeds_of(
    arrays: BatchArrays, batch_seed: int, episodes: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """Return the seeds of these episodes, those that the user named for next games among them."""
    seeds = np.zeros(len(episodes), np.uint64)
    step.next_seeds(arrays.slots, np.uint64(batch_seed), episodes, seeds)
    return seeds
