"""Rewards of a user's function, added to the rewards of the config."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from territorial.config.rewards import Weights, part_names
from territorial.engine.batch_arrays import GameArrays
from territorial.engine.vec_game import VecGame
from territorial.game.state import FIELDS, State, view
from territorial.typing import Bools

CUSTOM = "reward_custom"
"""The name under which infos tell what the user's function gave."""

KEPT = ("seed", "clock", "players", "ledger", "pairs", "seating")
"""The blocks of the state that are copied before a step; the boards and all that is derived are not."""

_NAMES = tuple(field.name for field in FIELDS if field.block in KEPT)


class PreviousState:
    """The tables of all games as they stood before a step, named as in ``territorial.game.state.FIELDS``.

    Arrays (E, ...), as those of ``VecGame.state``: ``troops``, ``land``, ``alive`` (E, P+1), ``pools``,
    ``taken`` (E, P+1, P+1), ``tick`` (E,) ... but not the boards, whose copy would take longer than the step.
    """

    def __init__(self, state: State) -> None:
        self._blocks = state._replace(**{name: getattr(state, name).copy() for name in KEPT})

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _NAMES:
            raise AttributeError(
                f"the state before the step has no field {name!r}; its fields are {', '.join(_NAMES)}"
            )
        return view(self._blocks, name)

    def __dir__(self) -> list[str]:
        return list(_NAMES)


class RewardFunction(Protocol):
    """A function that returns rewards of the user's own: the type of the option ``reward_fn``."""

    def __call__(self, previous: PreviousState, state: GameArrays, info: dict[str, Any], /) -> npt.ArrayLike:
        """Return the reward of a step for every seat of every game, (E, P).

        ``previous`` and ``state`` are the games before and after the step, ended games as they ended.
        ``info`` is that of ``VecGame.step``, with ``rewards``, float32 (E, P), those of the config, and
        ``terminated``, bool (E, P).
        """


def reward_names(weights: Weights, function: RewardFunction | None) -> tuple[str, ...]:
    """Return the names of the parts of rewards in infos, with the part of ``function``."""
    return part_names(weights) if function is None else (*part_names(weights), CUSTOM)


class CustomRewards:
    """A ``DecisionHook`` that adds the values of a function to the rewards of every decision."""

    def __init__(self, function: RewardFunction, game: VecGame) -> None:
        self._function, self._game = function, game
        self._sums: list[npt.NDArray[np.float32]] = []

    def before_decision(self) -> None:
        """Keep the state of the games before the decision for the function."""
        self._previous, self._was_idle = PreviousState(self._game.blocks), self._game.is_idle

    def after_decision(self) -> None:
        """Ask the function, and add up."""
        game, previous, results = self._game, self._previous, self._game.results
        info = game.info | {"rewards": results.rewards, "terminated": results.terminated}
        # A place is known of who is eliminated, or its team.
        plays = (previous.doubled_place[:, 1:] == 0) & ~self._was_idle[:, None]
        own = own_rewards(self._function, previous, game, info, plays)
        given = [results.rewards + own, np.concatenate([results.reward_parts, own[:, None]], axis=1)]
        self._sums = list(map(np.add, self._sums, given)) if self._sums else given

    def given(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return the rewards of the step, (E, P), and their parts, (E, K, P), in the order of ``names``."""
        return self._sums[0], self._sums[1]


def own_rewards(
    function: RewardFunction, previous: PreviousState, game: VecGame, info: dict[str, Any], plays: Bools
) -> npt.NDArray[np.float32]:
    """Return the rewards of ``function``, new float32 (E, P), 0 outside ``plays``, bool (E, P).

    ValueError unless it gives one finite number for every seat of every game; the step has been played then.
    """
    shape = (game.num_games, game.config.num_players)
    given = np.asarray(function(previous, game.state, info))
    if given.shape != shape or given.dtype.kind not in "iufb":
        raise ValueError(
            f"reward_fn returned {given.dtype} {given.shape}; it must return numbers {shape}: games, seats"
        )
    rewards = np.where(plays, given, 0).astype(np.float32)
    if not np.isfinite(rewards).all():
        k, i = np.argwhere(~np.isfinite(rewards))[0].tolist()
        raise ValueError(f"reward_fn returned {given[k, i]} for seat {i + 1} of game {k}; it must be finite")
    return rewards
