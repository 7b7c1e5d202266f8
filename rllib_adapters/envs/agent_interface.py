"""How RLlib's agents see the games of a batch and act in them: one class for each form of observations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.envs.spaces import SHARED, ByteBox
from territorial.actions.encoding import unflatten
from territorial.actions.formats import CandidateFormat, DiscreteFormat
from territorial.engine.last_launches import Launches
from territorial.engine.pair_observations import PairCandidates, PairObservations
from territorial.engine.vec_game import VecGame
from territorial.envs.observation_modes import PackedBoards, Pairs
from territorial.observation.pair_columns import PAIRS, column
from territorial.typing import Arrays, Ints

LEGAL = column(PAIRS, "legal")


class AgentInterface(ABC):
    """What agents see of the games of a batch, and what their actions are to the engine.

    Args:
        options: of the environment.
        game: the batch.

    """

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        self.game, self._options = game, options.agent_options
        self.format = self._options.format(game.config.num_players)
        """The format of actions."""
        self.observation_space = spaces.Dict({**self._spaces(), "action_mask": self.format.mask_space})
        """Of what one agent sees."""

    @abstractmethod
    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        """Return the spaces of all keys but the mask."""

    @abstractmethod
    def shared(self, k: int) -> Arrays:
        """Return copies of what all agents of game ``k`` see."""

    @abstractmethod
    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return new arrays (N, ...) of what ``seats``, 1..P, of ``games`` see besides, masks among them."""

    def masks(self, games: Ints, seats: Ints) -> npt.NDArray[np.int8]:
        """Return new int8 (N, M): which actions of ``seats`` of ``games`` are legal."""
        if isinstance(self.format, CandidateFormat):
            return self.format.masks_of(self._candidates(games, seats).legal)
        return self.format.masks(self.game.observations.masks, games, seats)

    def engine_actions(self, actions: npt.NDArray[Any], games: Ints, seats: Ints) -> Ints:
        """Return the actions (N, ...) of ``seats`` of ``games`` as the engine's pairs, int64 (N, 2)."""
        numbers = np.asarray(actions, np.int64).reshape(len(seats), math.prod(self.format.shape))
        if isinstance(self.format, CandidateFormat):
            self._check(numbers)
            return self.format.aimed(numbers, self._candidates(games, seats).targets)
        return unflatten(numbers[:, 0]) if isinstance(self.format, DiscreteFormat) else numbers

    def launches(self) -> Launches | None:
        """Return copies of what all seats launched in the last step, (E, P) each; None without the option."""
        if not self._options.launches:
            return None
        target, fraction, legal = self.game.launches()
        return Launches(target.copy(), fraction.copy(), legal.copy())

    def _check(self, numbers: Ints) -> None:
        assert isinstance(self.format, CandidateFormat)
        bad = self.format.first_bad(numbers)
        if bad is not None:
            raise ValueError(f"an action is {numbers[bad].tolist()}; it must be {self.format.wanted}")

    def _candidates(self, games: Ints, seats: Ints) -> PairCandidates:
        return self.game.pair_observer.candidates(games, seats, self._options.candidates)


class BoardInterface(AgentInterface):
    """Boards and tables, which all agents of a game share, and the seat that looks at them."""

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        keys: dict[str, spaces.Space[Any]] = PackedBoards(self.game).keys()
        named = {name: keys[name] for name in ("players", "borders", "globals", "seat")}
        return {"observations": ByteBox(self.game.layout.shape("planes")), **named}

    def shared(self, k: int) -> Arrays:
        """Return boards and tables."""
        seen = self.game.observations
        arrays: Arrays = dict(
            zip(SHARED, (seen.planes, seen.players, seen.borders, seen.globals), strict=True)
        )
        return {name: array[k].copy() for name, array in arrays.items()}

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return seats and masks."""
        return {"seat": seats[:, None].astype(np.int32), "action_mask": self.masks(games, seats)}


class PairInterface(AgentInterface):
    """Numbers of the agent and of each owner that it can attack: agents share none of them."""

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        super().__init__(options, game)
        _ = game.pair_observer  # it compiles now, while the runner is built

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        return Pairs(self.game, num_candidates=self._options.candidates).keys()

    def shared(self, k: int) -> Arrays:
        """Return nothing."""
        return {}

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return the numbers, the targets of candidates, and masks."""
        whole = self.game.pair_observer.observe(games, seats, self._options.candidates)
        seen = whole.as_floats()
        shown = {"own": seen.own, "pairs": seen.pairs, "targets": seen.targets}
        return {**shown, "action_mask": self._masks_of(whole, games, seats)}

    def _masks_of(self, seen: PairObservations, games: Ints, seats: Ints) -> npt.NDArray[np.int8]:
        """Return the masks; those of candidates are what is ``seen`` of them."""
        if isinstance(self.format, CandidateFormat):
            return self.format.masks_of(seen.pairs[:, :, LEGAL] > 0)
        return self.masks(games, seats)


def interface_of(options: EnvConfig, game: VecGame) -> AgentInterface:
    """Return how agents of ``game`` see it and act in it."""
    return PairInterface(options, game) if options.obs == "pairs" else BoardInterface(options, game)


def needs_observations(options: EnvConfig) -> bool:
    """Return whether the engine has to observe the games: pairs are read as the games stand."""
    return options.obs == "packed" or not options.agent_options.action_format.startswith("pairs")
