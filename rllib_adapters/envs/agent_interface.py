"""How RLlib's agents see the games of a batch and act in them: one class for each form of observations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rllib_adapters.envs.env_config import BOTH, PACKED, PAIRS, POOL, EnvConfig, module_of
from territorial.actions.encoding import unflatten
from territorial.engine.pair_observations import PairCandidates, PairObservations
from territorial.engine.recording import Launches
from territorial.engine.vec_game import VecGame
from territorial.envs.observation_modes import PackedBoards, Pairs
from territorial.observation import pair_columns
from territorial.typing import Arrays, Ints

LEGAL = pair_columns.column(pair_columns.PAIRS, "legal")


class AgentInterface(ABC):
    """What agents of one form see of the games of a batch, and what their actions are to the engine.

    Args:
        options: of the environment.
        game: the batch.

    """

    form: ClassVar[str]
    shows_boards: ClassVar[bool]
    """Whether its agents see ``boards`` besides what is their own."""

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        self.game, self._options = game, options.options_of(self.form)
        self._pair_rows = options.options_of(PAIRS).pair_rows(game.config)
        self.format = self._options.format(game.config)
        """The format of actions."""
        self.observation_space = spaces.Dict({**self._spaces(), "action_mask": self.format.mask_space})
        """Of what one agent sees."""

    @abstractmethod
    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        """Return the spaces of all keys but the mask."""

    @abstractmethod
    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return new arrays (N, ...): what ``seats``, 1..P, of ``games`` see by themselves, and masks."""

    def masks(self, games: Ints, seats: Ints) -> npt.NDArray[np.int8]:
        """Return new int8 (N, M): which actions of ``seats`` of ``games`` are legal."""
        if self.format.num_candidates:
            return self.format.masks_of(self._candidates(games, seats).legal)
        return self.format.masks(self.game.observations.masks, games, seats)

    def engine_actions(self, actions: npt.NDArray[Any], games: Ints, seats: Ints) -> Ints:
        """Return the actions (N, ...) of ``seats`` of ``games`` as the engine's pairs, int64 (N, 2)."""
        numbers = np.asarray(actions, np.int64).reshape(len(seats), math.prod(self.format.shape))
        if self.format.num_candidates:
            self._check(numbers)
            return self.format.aimed(numbers, self._candidates(games, seats).targets)
        return numbers if self.format.shape else unflatten(numbers[:, 0])

    def _check(self, numbers: Ints) -> None:
        bad = self.format.first_bad(numbers)
        if bad is not None:
            raise ValueError(f"an action is {numbers[bad].tolist()}; it must be {self.format.wanted}")

    def _candidates(self, games: Ints, seats: Ints) -> PairCandidates:
        return self.game.pair_observer.candidates(games, seats, self._pair_rows)


class BoardInterface(AgentInterface):
    """Boards and tables, which all agents of a game share, and the seat that looks at them."""

    form, shows_boards = PACKED, True

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        keys: dict[str, spaces.Space[Any]] = PackedBoards(self.game).keys()
        named = {name: keys[name] for name in ("players", "borders", "globals", "seat")}
        return {"observations": ByteBox(self.game.layout.shape("planes")), **named}

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return seats and masks."""
        return {"seat": seats[:, None].astype(np.int32), "action_mask": self.masks(games, seats)}


class PairInterface(AgentInterface):
    """Numbers of the agent and of each owner that it can attack: agents share none of them."""

    form, shows_boards = PAIRS, False

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        super().__init__(options, game)
        _ = game.pair_observer  # it compiles now, while the runner is built

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        return Pairs(self.game, pair_rows=self._pair_rows).keys()

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return the numbers, the targets of candidates, and masks."""
        whole = self._observed(games, seats)
        if self.format.num_candidates:  # the masks of candidates are what is seen of them
            masks = self.format.masks_of(whole.pairs[:, :, LEGAL] > 0)
        else:
            masks = self.masks(games, seats)
        return {**_numbers_of(whole), "action_mask": masks}

    def numbers(self, games: Ints, seats: Ints) -> Arrays:
        """Return the numbers and the targets of candidates alone."""
        return _numbers_of(self._observed(games, seats))

    def _observed(self, games: Ints, seats: Ints) -> PairObservations:
        return self.game.pair_observer.observe(games, seats, self._pair_rows)


def _numbers_of(whole: PairObservations) -> Arrays:
    """Return what is seen as the arrays of an observation."""
    seen = whole.as_floats()
    return {"own": seen.own, "pairs": seen.pairs, "targets": seen.targets}


class BothInterface(BoardInterface):
    """What agents on boards see and do, and the numbers of pairs besides: each snapshot reads its part."""

    form = BOTH

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        self._pairs = PairInterface(options, game)
        super().__init__(options, game)

    def _spaces(self) -> dict[str, spaces.Space[Any]]:
        numbers = dict(self._pairs.observation_space.spaces)
        del numbers["action_mask"]
        return {**super()._spaces(), **numbers}

    def own(self, games: Ints, seats: Ints) -> Arrays:
        """Return seats, the numbers of pairs, and the masks of all owners."""
        return {**super().own(games, seats), **self.numbers(games, seats)}

    def numbers(self, games: Ints, seats: Ints) -> Arrays:
        """Return the numbers of pairs and the targets of candidates alone."""
        return self._pairs.numbers(games, seats)


KINDS: dict[str, type[AgentInterface]] = {
    kind.form: kind for kind in (BoardInterface, PairInterface, BothInterface)
}


class Interfaces:
    """How all agents of the games of a batch see and act: an ``AgentInterface`` for each form they have.

    Args:
        options: of the environment.
        game: the batch.

    """

    def __init__(self, options: EnvConfig, game: VecGame) -> None:
        self._options, self._game = options, game
        self.by_form = {form: KINDS[form](options, game) for form in options.forms}
        self.frozen_form = options.frozen_form

    def form_of(self, agent: str) -> str:
        """Return the form of an agent, by its name."""
        name = module_of(agent)
        return self.frozen_form if name == POOL else self._options.form_of(name)

    def boards(self, k: int) -> Arrays:
        """Return copies of what all agents of game ``k`` share that see boards."""
        seen = self._game.observations
        arrays: Arrays = dict(
            zip(SHARED, (seen.planes, seen.players, seen.borders, seen.globals), strict=True)
        )
        return {name: array[k].copy() for name, array in arrays.items()}

    def launches(self) -> Launches | None:
        """Return copies of what all seats launched in the last step, (E, P) each; None without the option."""
        if not self._options.launches:
            return None
        target, fraction, legal = self._game.launches()
        return Launches(target.copy(), fraction.copy(), legal.copy())


def frames_of(options: EnvConfig) -> int:
    """Return how many boards the engine has to keep in a stack; 0 if no agent sees boards."""
    return options.frames if options.shows_boards else 0


def needs_observations(options: EnvConfig) -> bool:
    """Return whether the engine has to observe the games: pairs are read as the games stand."""
    return options.shows_boards or not options.options_of(PAIRS).action_format.startswith("pairs")


# ---- parts of spaces -------------------------------------------------------------------------------------


SHARED = ("observations", "players", "borders", "globals")
"""The keys of an observation whose arrays are the same for all agents of a game."""

NAME_BYTES = 128
"""Room for the name of a snapshot in UTF-8; the rest is zero."""


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


def frozen_space(agents: spaces.Dict) -> spaces.Dict:
    """Return the space of a frozen seat: that of the agents, and the name of the snapshot that plays."""
    return spaces.Dict({**agents.spaces, "opponent": ByteBox((NAME_BYTES,))})


def encode_name(name: str) -> npt.NDArray[np.uint8]:
    """Return a name as uint8 (128,); ValueError if it does not fit."""
    data = name.encode()
    if not 0 < len(data) <= NAME_BYTES or b"\0" in data:
        raise ValueError(
            f"the name of the opponent {name!r} has {len(data)} bytes; it must have 1 to "
            f"{NAME_BYTES}, none of them zero"
        )
    return np.frombuffer(data.ljust(NAME_BYTES, b"\0"), np.uint8)


def decode_name(data: npt.NDArray[np.uint8]) -> str:
    """Return the name that ``encode_name`` made uint8 (128,) of."""
    return data.tobytes().rstrip(b"\0").decode()
