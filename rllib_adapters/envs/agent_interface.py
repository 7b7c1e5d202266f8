"""Observations and actions of RLlib agents, by form of observations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rllib_adapters.envs.env_config import ROWS, EnvConfig, parts_of
from territorial.engine.pair_observations import PairCandidates
from territorial.engine.vec_game import VecGame
from territorial.observation.action_encoding import unflatten
from territorial.observation.pair_columns import OF_PAIR
from territorial.typing import Arrays, Ints

SHARED = ("observations", "players", "borders", "globals")
"""The keys of an observation whose arrays are the same for all agents of a game."""


class AgentInterface:
    """What agents of one form see of the games of a batch, and what their actions are to the engine.

    Those on boards share boards and tables, and have their seat and a mask. All others have what their form
    gives each of them, and a mask. With a union, each snapshot reads its part.

    Args:
        form: of their observations.
        options: of the environment.
        game: the batch.

    Attributes:
        shares_frames: whether all agents of a game share boards and tables.
        format: the format of actions.
        observation_space: of what one agent sees.

    """

    def __init__(self, form: str, options: EnvConfig, game: VecGame) -> None:
        self._parts = [options.options_of(part.name).form(game) for part in parts_of(form)]
        self._game, self._pair_rows = game, options.pair_rows
        self.shares_frames = any(part.shared for part in self._parts)
        self.format = options.options_of(form).format(game.config)
        keys: dict[str, spaces.Space[Any]] = {}
        for part in self._parts:
            if ROWS[0] in part.options:
                _ = game.pair_observer  # it compiles now, while the runner is built
            own = part.keys()
            if part.shared:
                keys |= {SHARED[0]: ByteBox(game.layout.shape("planes"))}
                keys |= {name: own[name] for name in SHARED[1:]}
            keys |= {name: own[name] for name in own if name not in part.shared}
        self.observation_space = spaces.Dict({**keys, "action_mask": self.format.mask_space})

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return new arrays (N, ...): what ``seats``, 1..P, of ``games`` see by themselves, and masks."""
        own: Arrays = {}
        for part in self._parts:
            own |= part.per_agent(self._game.observations, games, seats)
        if not self.format.num_candidates:
            masks = self.format.masks(self._game.observations.masks, games, seats)
        elif "pairs" in own:  # the masks of candidates are what is seen of them
            masks = self.format.masks_of(own["pairs"][:, :, OF_PAIR.legal] > 0)
        else:
            masks = self.format.masks_of(self._candidates(games, seats).legal)
        return {**own, "action_mask": masks}

    def engine_actions(self, actions: npt.NDArray[Any], games: Ints, seats: Ints) -> Ints:
        """Return the actions (N, ...) of ``seats`` of ``games`` as the engine's pairs, int64 (N, 2)."""
        numbers = np.asarray(actions, np.int64).reshape(len(seats), math.prod(self.format.shape))
        if self.format.num_candidates:
            bad = self.format.first_bad(numbers)
            if bad is not None:
                raise ValueError(f"an action is {numbers[bad].tolist()}; it must be {self.format.wanted}")
            return self.format.aimed(numbers, self._candidates(games, seats).targets)
        return numbers if self.format.shape else unflatten(numbers[:, 0])

    def _candidates(self, games: Ints, seats: Ints) -> PairCandidates:
        return self._game.pair_observer.candidates(games, seats, self._pair_rows)


def shared_arrays(game: VecGame) -> Arrays:
    """Return the engine's arrays of what all agents of a game share that see boards, (E, ...) each."""
    seen = game.observations
    return dict(zip(SHARED, (seen.planes, seen.players, seen.borders, seen.globals), strict=True))


# ---- parts of spaces -------------------------------------------------------------------------------------


class ByteBox(spaces.Box):
    """``Box(0, 255, shape, uint8)`` whose bounds take no memory and are not shipped.

    Episodes carry their spaces with them, and an ordinary ``Box`` has four arrays of its own shape: as
    much again as the board.
    """

    def __init__(self, shape: tuple[int, ...], seed: int | None = None) -> None:
        super().__init__(0, 255, (1,), np.uint8, seed=seed)
        self._shape = tuple(shape)
        for name in ("low", "high", "bounded_below", "bounded_above"):
            setattr(self, name, np.broadcast_to(getattr(self, name)[0], self._shape))

    def __repr__(self) -> str:
        return f"ByteBox({self._shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ByteBox, (self._shape,)

    def __deepcopy__(self, memo: dict[int, Any]) -> ByteBox:
        return ByteBox(self._shape)
