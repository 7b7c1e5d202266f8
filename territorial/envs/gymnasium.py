"""Gymnasium environments: ``SeatEnv`` for one agent, ``SeatVectorEnv`` for many."""

import copy
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from types import NoneType
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from territorial import bots
from territorial.config.fields import takes_keywords_of
from territorial.config.validation import check_type, shown, whole_number
from territorial.constants import LARGEST_SEED
from territorial.engine.batch_arrays import seed_of_episode
from territorial.engine.seats import Seat
from territorial.envs.forms import Observation
from territorial.envs.options import VecKeywords, agent_seats, config_of
from territorial.envs.vector import Info, TerritorialVec, make_vec
from territorial.files.arrays import WritableArrays
from territorial.render import RENDER_FPS, RENDER_MODES
from territorial.typing import Array, Bools, Bytes, Ints8

FIXED = ("num_envs", "autoreset")
"""Keywords of ``make_vec`` that environments of this module choose themselves."""


class SeatEnv(WritableArrays, gymnasium.Env[Observation, Any]):
    """One seat of a game among bots, as a ``gymnasium.Env``.

    The episode of the agent is over, ``terminated``, when it dies or the game ends, and ``truncated`` after
    ``max_cycles`` decisions. Observations, actions and rewards are those of
    :class:`~territorial.TerritorialEnv`; masks are flat arrays in both formats of actions, and
    ``action_masks()`` is where sb3-contrib looks.

    Args:
        seats: one name per seat, "agent" once and else bots; default None: the agent on the first seat and
            all kinds of bots in turn on the others.
        keywords: other arguments of :func:`~territorial.make_vec`, but ``num_envs`` and ``autoreset``.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: as ``make_vec`` does, and for ``seats`` with more than one "agent" or none.

    Example:
        >>> import gymnasium
        >>> import territorial
        >>> env = gymnasium.make(
        ...     "territorial/Territorial-v0", height=32, width=32, num_players=4, obs="features"
        ... )
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(0)  # 0 holds
        >>> env.close()

    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012 - as the base class

    @takes_keywords_of(make_vec, but=FIXED)
    def __init__(self, seats: Sequence[Seat] | None = None, **keywords: Unpack[VecKeywords]) -> None:
        self.vec = _one_agent(seats, keywords)
        self.render_mode = self.vec.render_mode
        self.observation_space: spaces.Space[Any] = self.vec.single_observation_space
        self.action_space = self.vec.single_action_space
        self._is_over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin a game, the first one of ``seed`` or the next; ``options`` are ignored."""
        super().reset(seed=seed)
        shown, info = self.vec.reset(seed)
        self._is_over = False
        return self._of_agent(shown), self._info_of(info)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Play ``action`` up to the next decision. RuntimeError once the episode is over."""
        if self._is_over:
            raise RuntimeError("the episode is over; call reset() to start the next one")
        shown, rewards, ends, cuts, info = self.vec.step(np.asarray(action)[None, None])
        has_ended, is_cut = bool(ends[0, 0]), bool(cuts[0, 0])
        self._is_over = has_ended or is_cut
        if self._is_over and self.vec.options.zero_copy:  # a vector may show it after it has reset the game
            shown = copy.deepcopy(shown)
        return self._of_agent(shown), float(rewards[0, 0]), has_ended, is_cut, self._info_of(info)

    def action_masks(self) -> Ints8:
        """Return new int8 (M,): 1 for every legal action, the masks of two parts end to end."""
        return self.vec.action_masks().reshape(-1)

    def render(self) -> Any:  # releases of gymnasium differ in what they say of it
        """Return a picture of the game, or text, or show it."""
        return self.vec.render()

    def close(self) -> None:
        """Free the engine's memory outside Python."""
        self.vec.close()

    def _of_agent(self, shown: Observation) -> Observation:
        if isinstance(shown, np.ndarray):
            return shown[0, 0]
        shared = self.vec.shared_keys
        return {key: array[0] if key in shared else array[0, 0] for key, array in shown.items()}

    def _info_of(self, info: Info) -> Info:
        entries = {name: info[name][0, 0] for name in self.vec.info_names}
        numbers = {
            name: value if isinstance(value, np.ndarray) else value.item() for name, value in entries.items()
        }
        return numbers | {
            name: {column: array[0] for column, array in launches.items()}
            for name, launches in _launches_in(info).items()
        }


class SeatVectorEnv(WritableArrays, VectorEnv[Observation, Any, Array]):
    """A Gymnasium ``VectorEnv`` in which each of the A agents of each of E games is one sub-environment.

    Sub-environment k * A + i is agent i of game k. All agents of a game begin and end together: eliminated
    agents observe and hold until their game ends, and the step after that begins the next one, as
    ``AutoresetMode.NEXT_STEP`` says.
    Infos have an array (E * A,) for every name, and one of True under the name with an underscore before it.

    In the form "packed" every agent gets a copy of the board, which ``make_vec`` itself does not make.

    Args:
        num_envs: E * A, the sub-environments: a multiple of A, the agents of a game; default 1.
        seats: one name per seat, the same for all games; default None: all seats are agents.
        keywords: other arguments of :func:`~territorial.make_vec`, but ``autoreset`` and ``agent_death``.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: as ``make_vec`` does, and for ``num_envs`` that is no multiple of A.

    Example:
        >>> import gymnasium
        >>> import territorial
        >>> env = gymnasium.make_vec(
        ...     "territorial/Territorial-v0", 8, height=32, width=32, num_players=4, obs="features"
        ... )
        >>> observations, infos = env.reset(seed=0)
        >>> observations["action_mask"].shape
        (8, 51)
        >>> env.close()

    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as the base class
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    @takes_keywords_of(make_vec, but=(*FIXED, "agent_death"))
    def __init__(
        self, num_envs: int = 1, seats: Sequence[Seat] | None = None, **keywords: Unpack[VecKeywords]
    ) -> None:
        num_envs = whole_number("num_envs", num_envs, 1)
        agents = len(agent_seats(seats, _num_players(keywords)))
        if num_envs % agents:
            raise ValueError(
                f"num_envs is {num_envs}; it must be a multiple of {agents}, the agents of a game"
            )
        fixed: VecKeywords = {**keywords, "agent_death": "keep"}
        self.vec = make_vec(num_envs // agents, seats=seats, autoreset="next_step", **fixed)
        self.vec.check_room(arrays_per_agent=4 + bool(self.vec.shared_keys))  # 4: the bounds of its space
        self.num_envs = num_envs
        self.render_mode = self.vec.render_mode
        self.single_observation_space = self.vec.single_observation_space
        self.single_action_space = self.vec.single_action_space
        self.observation_space: spaces.Space[Any] = batch_space(self.single_observation_space, num_envs)
        self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Begin new games everywhere, or only in ``options["reset_mask"]``, bool (E * A,).

        ``seed`` is that of the batch: game k plays its first game of that seed. In games that are not of the
        mask nothing changes; what they show is returned as well, and infos mark those of the mask. Other
        ``options`` are ignored. ValueError for a mask that names some agents of a game and not the others.
        """
        games = self._games_of(options)
        super().reset(seed=seed)
        if games.all():
            self.vec.begin(seed)
        else:
            batch = None if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
            for k in np.flatnonzero(games).tolist():
                self.vec.reset_game(k, None if batch is None else seed_of_episode(batch, 0, k))
        shown, info = self.vec.begun()
        return self.vec.per_agent(shown), self._info_of(info, games)

    def step(self, actions: Any) -> tuple[Observation, Array, Array, Array, Info]:
        """Play one action per sub-environment; actions in games that ended in the last step are ignored."""
        vec = self.vec
        by_game = np.reshape(actions, (vec.num_envs, vec.num_agents, *np.shape(actions)[1:]))
        shown, rewards, ends, cuts, info = vec.step(by_game)
        every = np.ones(vec.num_envs, np.bool_)
        return vec.per_agent(shown), rewards.ravel(), ends.ravel(), cuts.ravel(), self._info_of(info, every)

    def action_masks(self) -> Ints8:
        """Return new int8 (E * A, M): 1 for every legal action."""
        return self.vec.action_masks().reshape(self.num_envs, -1)

    def render(self) -> tuple[Bytes | str | None, ...]:  # type: ignore[override]  # as SeatEnv
        """Return a picture, or text, for each sub-environment; "human" shows the first game."""
        if self.render_mode == "human":
            return (self.vec.render(),) * self.num_envs
        pictures = [self.vec.render(k) for k in range(self.vec.num_envs)]
        return tuple(picture for picture in pictures for _ in range(self.vec.num_agents))

    def close_extras(self, **kwargs: Any) -> None:
        """Free the engine's memory outside Python."""
        if hasattr(self, "vec"):  # the base class also closes an environment whose constructor raised
            self.vec.close()

    def _games_of(self, options: dict[str, Any] | None) -> Bools:
        """Return the games, (E,), that a reset with ``options`` begins."""
        check_type("options", options, (Mapping, NoneType), "a dict, or None")
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        games = mask.ravel()[:: self.vec.num_agents]
        is_by_game = np.array_equal(mask, games.repeat(self.vec.num_agents))
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not (is_by_game and mask.any()):
            raise ValueError(
                f"options['reset_mask'] is {shown(mask)}; it must be an array of {self.num_envs} bools, some "
                f"of them True, and alike for the {self.vec.num_agents} agents of a game, who begin together"
            )
        return games

    def _info_of(self, info: Info, games: Bools) -> Info:
        """Return infos by sub-environment, marked as present in ``games``, (E,)."""
        mask = games.repeat(self.vec.num_agents)
        entries = {
            name: info[name].reshape(self.num_envs, *info[name].shape[2:]) for name in self.vec.info_names
        }
        for name, launches in _launches_in(info).items():
            repeated = {column: array.repeat(self.vec.num_agents, 0) for column, array in launches.items()}
            entries[name] = _marked(repeated, mask)
        return _marked(entries, mask)


def _marked(info: Info, mask: Bools) -> Info:
    """Return an info of sub-environments, with marks that the entries exist in ``mask``."""
    return info | {f"_{name}": mask.copy() for name in info}


def _launches_in(info: Info) -> dict[str, Info]:
    """Return the launches of an info, if it has any, as a dict: Gymnasium joins those of many games."""
    return {"launches": info["launches"]._asdict()} if "launches" in info else {}


def _num_players(keywords: VecKeywords) -> int:
    return config_of(keywords.get("config"), keywords).num_players


def _one_agent(seats: Sequence[Seat] | None, keywords: VecKeywords) -> TerritorialVec:
    """Return an environment of one game with one agent."""
    if seats is None:
        seats = ["agent", *islice(cycle(bots.NAMES), _num_players(keywords) - 1)]
    vec = make_vec(1, seats=seats, autoreset="disabled", **keywords)
    if vec.num_agents != 1:
        raise ValueError(
            f"seats has {vec.num_agents} agents; SeatEnv needs exactly one; make_vec is for several"
        )
    return vec
