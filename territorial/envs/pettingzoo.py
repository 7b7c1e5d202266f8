"""PettingZoo environments: ``TerritorialEnv`` (parallel) and ``TurnByTurnEnv`` (AEC)."""

import copy
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv  # type: ignore[import-untyped]
from pettingzoo.utils import OrderEnforcingWrapper  # type: ignore[import-untyped]
from pettingzoo.utils.conversions import parallel_to_aec_wrapper  # type: ignore[import-untyped]

from territorial.config import GameConfig
from territorial.config.fields import takes_keywords_of
from territorial.config.validation import one_of, shown
from territorial.decode import FeatureDecoder
from territorial.engine.recording import Launches
from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.envs.forms import Observation, from_zero_to, only_key, space_of
from territorial.envs.options import EnvKeywords, EnvOptions, GameKeywords, agent_seats, config_of, options_in
from territorial.envs.vector import Info, TerritorialVec
from territorial.files.arrays import WritableArrays
from territorial.observation.action_formats import ALL_GOOD
from territorial.observation.layout import ObsLayout
from territorial.render import RENDER_FPS, RENDER_MODES
from territorial.typing import Bytes, Floats32, Ints, Ints8

AgentID = str
Steps = tuple[
    dict[AgentID, Observation],
    dict[AgentID, float],
    dict[AgentID, bool],
    dict[AgentID, bool],
    dict[AgentID, Info],
]


class TerritorialEnv(WritableArrays, ParallelEnv):  # type: ignore[misc]  # PettingZoo ships no types
    """One game of conquest as a PettingZoo ``ParallelEnv``. P players fight over a map of H x W cells.

    Every agent sees the whole game and decides, every ``decision_every`` ticks, whether to send troops
    against neutral land or another player, and how many. Land pays interest; a player that shrinks to a
    quarter of its largest land is out; the game ends when one player is left or holds 90 % of the land, or
    at ``max_ticks``.

    **Agents.** ``player_i`` plays seat i + 1, for every seat called "agent"; the other seats are bots
    that play inside the engine. Agents are listed in the order of seats.

    **Observations.** A flat ``Dict``, the same space for all agents, in one of five forms. The arrays of
    every step are new; those that are equal for all agents are one object in all their observations. In
    every form ``action_mask`` is there besides, unless the option of that name puts it elsewhere: then the
    forms of one array are that ``Box`` itself, without a ``Dict``.

    ============  =================================  ==================================================
    form          key: ``Box``                       content
    ============  =================================  ==================================================
    ``packed``    ``observation``: uint8             the board and the frames before it, bit planes of
                  (F, B, H, ceil(W/8))               owner codes: docs/observation.md
    .             ``terrain``: uint8                 bit planes of blocked cells and of water
                  (2, H, ceil(W/8))
    .             ``players``: float32 (P, C)        one row per seat, by ``observation.layout.PLAYERS``
    .             ``borders``: float32               one matrix per column of ``observation.layout.BORDERS``,
                  (K, P + 1, P + 1)                  from player to owner, by owner codes
    .             ``globals``: float32 (G,)          by ``observation.layout.GLOBALS``
    .             ``seat``: int32 (1,)               who looks, 1..P: all else is the same for all agents
                                                     and turned to its view by ``decode.*.Decoder``
    ``features``  ``observation``: float32 (N,)      everything but the board as numbers of about 0..1,
                                                     the agent itself first: ``decode.FeatureDecoder``;
                                                     ``feature_names`` lists all N by name
    ``pooled``    ``observation``: float32           shares of own, neutral, other and blocked cells in
                  (4 * F + 2, h, w)                  squares of ``pool_factor`` cells a side, for each
                                                     frame, oldest first; density, and who is attacked
    ``onehot``    ``observation``: int8              one plane per owner, neutral land first, then the
                  (F * (P + 1), H, W)                agent itself, frame by frame, oldest first: 8.65 MB
                                                     an agent for 32 on 256 x 256 with 4 frames
    ``pairs``     ``own``: float32 (35,)             numbers of the agent itself; ``decode.pair_names`` lists
                                                     the columns of both tables
    .             ``pairs``: float32 (C, 26)         numbers of each owner that it can attack, neutral land
                                                     first, then by falling front; 0 where there is none
    .             ``targets``: int32 (C,)            target k of an action against each of them
    ============  =================================  ==================================================

    **Actions.** ``Discrete(10 * (P + 1) + 1)``: 0 holds; 1 + 10 * (k - 1) + j sends the fraction
    ``constants.FRACTIONS[j]`` / 1024 of the troops at home against target k. Target 1 is neutral land, 2 is
    the agent itself (never legal), 3.. are the other players in the order in which it sees them. With
    ``action_format="multi_discrete"`` the two parts k and j are apart, ``MultiDiscrete([P + 2, 10])``, and k
    = 0 holds. The formats "pairs", ``Discrete(10 * C + 1)``, and "pairs_multi_discrete", ``MultiDiscrete([C +
    1, 10])``, name for a target one of the C candidates of the form ``pairs``, as they are when the step
    begins; against one that is not there, an action holds. Every living agent must act. An action that the
    mask forbids holds, and is counted in the info. Actions of eliminated agents and of agents that have left
    the game are ignored; anything else raises ``ValueError``, and nothing has changed.

    **Masks** are 1 for every legal action, in the order of the actions, and holding always is legal: int8
    (10 * (P + 1) + 1,). Of two parts there are two masks, a tuple of int8 (P + 2,) and (10,), which is what
    ``action_space(agent).sample(mask)`` takes. ``action_masks()`` has them all as flat arrays.

    **Rewards.** The change of the agent's share of all land in this step. When the agent dies or the game
    ends, the value of its place is added once: 1 - 2 * (place - 1) / (P - 1). That is 1 for the first place,
    -1 for the last, and zero in sum over all players. Equal players share the mean of their places. The
    reward of a step lies between -2 and 2. ``rewards`` of the config weighs these and other parts
    differently, ``territorial.config.rewards`` lists them; ``reward_fn`` adds a custom function.

    **Starting state.** Every player owns 12 cells, placed at random on the map and well spread, and
    512 troops (``starting_troops``). ``reset(seed=s)`` begins the first game of seed s;
    ``reset()`` goes on to the next game of the same seed, so that a seed once given determines all games
    after it. An environment that never was given a seed starts from one that the operating system drew.
    The ``options`` of ``reset`` are accepted and ignored.

    **Ends.** ``terminated`` is True once for every agent, at its death or at the end of the game,
    whichever is first; it is then no longer in ``agents``. With teams it is not its death that counts, but
    that of the last member of its team. With ``agent_death="keep"`` all agents stay to the
    end of the game and are terminated together. Agents that were eliminated still observe, may only hold,
    and get no rewards after that of their last step. After ``max_cycles`` decisions all agents left are
    ``truncated`` instead, and no place is paid. Once ``agents`` is empty, ``step`` raises ``RuntimeError``,
    and returns empty dicts for no actions; the game may continue among bots, without agents.

    **Decisions.** With ``repeat=n`` a step is n decisions long: agents make their action in the first, and
    hold in the others. ``max_cycles`` counts decisions.

    **Infos.** The same keys for every agent at every time, with numbers: ``alive`` 0 or 1, ``land`` in cells,
    ``troops`` at home, ``place`` (0.0 until it is known) and ``tick``. ``illegal``, ``raised`` and
    ``bounced`` count launches so far. With teams ``team_of`` is the team 1..N of the seat. The parts of the
    reward are there as well: ``reward_land`` and ``reward_placement`` unless others are chosen.
    ``action_mask`` is there where the option says so.

    **State.** ``state()``, of ``state_space``, is the same for all: the tables of the whole game end to end,
    scaled like the features, by seat numbers; ``decode.state_names`` lists the numbers.

    **Copies.** The environment can be pickled and copied at any time; the copy has a game of its own, which
    goes on identically, also after ``copy.copy``.
    ``game`` is the engine's ``VecGame`` of this one game, for analysis.

    Args:
        config: rules, size and map of the game; default None: those of ``GameConfig()``.
        seats: one entry per seat: "agent", the name of a bot (``territorial.bots.NAMES``), or a bot in Python
            (``territorial.bots.PythonBot``); default None: all seats are agents.
        render_mode: what ``render`` does. "rgb_array" returns a picture, uint8 (h, w, 3); "ansi" returns text
            in colour, 80 characters wide. "human" shows the game in a window, or as text on the terminal
            where there is no display. With "human", ``reset`` and ``step`` call it, at most 20 times a
            second. Default None: ``render`` is an error.
        keywords: options, those of :class:`~territorial.envs.options.EnvOptions`.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: for a value out of range, for an option that does not go with ``obs``, and for ``seats``
            of another number than ``num_players`` or without an "agent".

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> env = territorial.TerritorialEnv(config, seats=["agent", "agent", "banker", "novice"])
        >>> observations, infos = env.reset(seed=0)
        >>> infos["player_0"]["troops"]
        512
        >>> env.close()

    **Version history.** v0: first release.

    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "territorial_v0",
        "is_parallelizable": True,
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }

    @takes_keywords_of(EnvOptions)
    def __init__(
        self,
        config: GameConfig | None = None,
        *,
        seats: Sequence[Seat] | None = None,
        render_mode: str | None = None,
        **keywords: Unpack[EnvKeywords],
    ) -> None:
        options = EnvOptions(**keywords)
        line_ups = None if seats is None else [seats]
        self.vec = TerritorialVec(
            1, config, seats=line_ups, autoreset="disabled", options=options, render_mode=render_mode
        )
        """The same game as a vector environment, of which this one is a view."""
        self.game: VecGame = self.vec.game
        """The engine's batch of this one game."""
        self.config = self.vec.config
        """Rules, size and map of the game."""
        self.options = options
        """How the game is shown and takes actions."""
        self.layout: ObsLayout = self.game.layout
        """The sizes of the form "packed", which a ``Decoder`` needs."""
        self.render_mode = render_mode
        seats_of_agents = agent_seats(seats, self.config.num_players).tolist()
        self.possible_agents: list[AgentID] = [f"player_{seat - 1}" for seat in seats_of_agents]
        self.agents: list[AgentID] = []
        self._row = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._seat = dict(zip(self.possible_agents, seats_of_agents, strict=True))
        masks = options.mask_spaces(self.vec.format.sample_space)
        seen, acts = space_of(self.vec.spaces | masks), self.vec.format.space
        self.observation_spaces: dict[AgentID, spaces.Space[Any]] = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces: dict[AgentID, spaces.Space[Any]] = dict.fromkeys(self.possible_agents, acts)
        self._decoder = FeatureDecoder(self.config)
        self.state_space = from_zero_to(self._decoder.state_high)

    @property
    def max_cycles(self) -> int | None:
        """Decisions after which agents are truncated, None: never; PettingZoo's tests set it."""
        return self.game.max_cycles

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        self.game.max_cycles = limit

    @property
    def info_names(self) -> tuple[str, ...]:
        """The names of all numbers in infos."""
        return (*self.vec.number_names, *self.vec.reward_names)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the N numbers of the form "features", in order."""
        return self._decoder.names

    # ---- playing ----------------------------------------------------------------------------------

    def observation_space(self, agent: AgentID) -> spaces.Space[Any]:
        """Return the space of observations: the same object for every agent."""
        return self.observation_spaces[one_of("agent", agent, self.possible_agents)]

    def action_space(self, agent: AgentID) -> spaces.Space[Any]:
        """Return the space of actions: the same object for every agent, one random generator included."""
        return self.action_spaces[one_of("agent", agent, self.possible_agents)]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[AgentID, Observation], dict[AgentID, Info]]:
        """Begin a game and return the observations and infos of all agents.

        ``seed``: 0 to 2**64 - 1, or None for the next game of the seed given last.
        """
        self.vec.begin(seed)
        self._set_agents(self.possible_agents.copy())
        if self.render_mode == "human":
            self.render()
        parts = np.zeros((len(self.vec.reward_names), len(self.agents)), np.float32)
        return self._look(parts, self.vec.launches())

    def step(self, actions: Mapping[AgentID, Any]) -> Steps:
        """Play the actions of all living agents up to their next decision.

        Returns observations, rewards, terminations, truncations and infos, each a new dict with an entry
        for every agent that was in ``agents`` before.
        """
        if self.game.is_started and not self.agents and not actions:
            return {}, {}, {}, {}, {}  # for wrappers that show the dead to the end, and one step beyond
        self._write_actions(actions)
        played = self.vec.play()
        listed, rows = self.agents, self._rows
        observations, infos = self._look(played.parts[0], played.launches)
        ends, cuts = played.terminated[0, rows].tolist(), played.truncated[0, rows].tolist()
        rewards = played.rewards[0, rows].tolist()
        if any(ends) or any(cuts):
            over = map(operator.or_, ends, cuts)
            self._set_agents([agent for agent, is_over in zip(listed, over, strict=True) if not is_over])
        if not self.agents and self.options.zero_copy:  # a vector may show them after it has reset
            observations = copy.deepcopy(observations)
        if self.render_mode == "human":
            self.render()
        return observations, _dict(listed, rewards), _dict(listed, ends), _dict(listed, cuts), infos

    def check_action(self, agent: AgentID, action: Any) -> None:
        """Raise ValueError unless ``step`` would take this action; from eliminated agents it takes any."""
        if self.game.state.alive[0, self._seat[agent]]:
            self._check(agent, action)

    def action_masks(self) -> dict[AgentID, Ints8]:
        """Return the mask of every agent in ``agents`` as one flat array, that of both parts end to end."""
        self.game.need_reset()
        return _dict(self.agents, self._masks())

    def state(self) -> Floats32:
        """Return the whole game as new float32 (S,), by seat numbers: the same for all agents."""
        self.game.need_reset()
        tables = self.game.observations
        return self._decoder.state(tables.players[0], tables.borders[0], tables.globals[0])

    def render(self) -> Bytes | str | None:
        """Return a picture of board and standings, or text, or show it: see ``render_mode``."""
        return self.vec.render()

    def close(self) -> None:
        """Stop the engine's threads, and close the window if there is one; reset still works."""
        self.vec.close()

    # ---- within -----------------------------------------------------------------------------------

    def _look(
        self, parts: Floats32, launches: Launches | None
    ) -> tuple[dict[AgentID, Observation], dict[AgentID, Info]]:
        """Return observations and infos of ``agents``, of arrays that were made for this step alone.

        ``parts``: those of the rewards of all agents, (K, A). ``launches``: if they are part of infos.
        """
        games, seats = self._places
        shared, own = self.vec.see(games, seats)
        seen: dict[str, Any] = dict(own)
        numbers = self.vec.numbers(seats[None])
        info: dict[str, Any] = {name: array.tolist()[0] for name, array in numbers.items()}
        info |= zip(self.vec.reward_names, parts[:, self._rows].tolist(), strict=True)
        if launches is not None:
            info |= {"launches": [Launches(*(array[0] for array in launches))] * len(self.agents)}
        place = {"obs": seen, "info": info}.get(self.options.action_mask)
        if place is not None:
            masks = self._masks().astype(self.options.mask_dtype, copy=False)
            place["action_mask"] = list(map(self.vec.format.for_sampling, masks))
        infos = _rows(len(self.agents), {}, info)
        key = None if shared else only_key(seen)
        if key is not None:
            return _dict(self.agents, seen[key]), _dict(self.agents, infos)
        observations = _rows(len(self.agents), {key: array[0] for key, array in shared.items()}, seen)
        return _dict(self.agents, observations), _dict(self.agents, infos)

    def _masks(self) -> Ints8:
        """Return the flat masks of ``agents``, new int8 (N, M)."""
        return self.vec.masks_of(self.game.observations, *self._places)

    def _set_agents(self, agents: list[AgentID]) -> None:
        """Set the agents that are still in the episode."""
        self.agents = agents
        rows = np.array([self._row[agent] for agent in agents], np.int64)
        self._rows: Any = slice(None) if len(agents) == len(self._row) else rows
        self._was_alive = b""  # who lives is looked up in the next step
        # The games, all 0, and the seats, 1..P, of ``agents``; int64 (N,) each.
        self._places: tuple[Ints, Ints] = np.zeros_like(rows), self.vec.agent_seats[0, rows]

    def _write_actions(self, actions: Mapping[AgentID, Any]) -> None:
        """Write the agents' actions into ``game.actions``; seats without a living agent hold."""
        self.game.need_reset()
        if not self.agents:
            raise RuntimeError("no agent is left in this game; call reset() to start the next game")
        if not isinstance(actions, Mapping):
            raise TypeError(
                f"actions is {shown(actions)}; it must be a dict with the action of each agent, such as "
                f"{{{self.agents[0]!r}: 0}}"
            )
        if not actions.keys() <= self._seat.keys():
            first = next(agent for agent in actions if agent not in self._seat)
            raise ValueError(f"actions has {first!r}; the agents are {', '.join(self.possible_agents)}")
        living, rows = self._living_agents()
        for agent in living:
            if agent not in actions:
                raise ValueError(f"no action for {agent!r}; every living agent needs one (0 holds)")
        numbers = self.vec.format.numbers([actions[agent] for agent in living])
        is_good = numbers is not None
        if numbers is not None:
            of_all = np.zeros((1, len(self._row), numbers.shape[1]), np.int64)
            of_all[0, rows] = numbers
            is_good = self.vec.write_choices(of_all) == ALL_GOOD
        if not is_good:
            for agent in living:
                self._check(agent, actions[agent])

    def _living_agents(self) -> tuple[list[AgentID], Ints]:
        """Return the living ``agents`` and their rows, looked up only after a change."""
        is_alive = self.game.state.alive[0]
        if is_alive.tobytes() != self._was_alive:
            living = [agent for agent in self.agents if is_alive[self._seat[agent]]]
            self._living = living, np.array([self._row[agent] for agent in living], np.int64)
            self._was_alive = is_alive.tobytes()
        return self._living

    def _check(self, agent: AgentID, action: Any) -> None:
        if not self.vec.format.takes(action):
            raise ValueError(f"the action of {agent!r} is {action!r}; it must be {self.vec.format.wanted}")


def _dict(agents: Iterable[AgentID], values: Iterable[Any]) -> dict[AgentID, Any]:
    return dict(zip(agents, values, strict=True))


def _rows(count: int, shared: dict[str, Any], columns: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return ``count`` dicts, each with all that is ``shared`` and with its row of ``columns``.

    Key after key: to make each dict of a row of all columns would take half as long again.
    """
    rows = [shared.copy() for _ in range(count)]
    for key, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[key] = value
    return rows


class TurnByTurnEnv(WritableArrays, parallel_to_aec_wrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A :class:`TerritorialEnv` as a PettingZoo ``AECEnv``, in which agents take turns.

    Every agent sees the game as it stands before the first turn. The action of the last agent plays all of
    them. An agent that has ended gets one more turn: ``last()`` has its last reward and info, and its action
    is None.
    ``env`` is the TerritorialEnv. Whatever it has beside this is here as well, such as ``game``.
    """

    def __init__(self, together: TerritorialEnv) -> None:
        super().__init__(together)
        self.metadata["render_modes"] = [*together.metadata["render_modes"]]  # wrappers write into the list

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the TerritorialEnv, unless it is private."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def step(self, action: Any) -> None:
        """Note the action of ``agent_selection``, and play all if it is the last one's.

        ValueError for anything but an action, at the turn in which it was given, and nothing has changed.
        """
        agent = self.agent_selection
        if not (self.terminations[agent] or self.truncations[agent]):
            self.env.check_action(agent, action)
        elif action is not None:
            raise ValueError(f"the action of {agent!r}, which has ended, is {action!r}; it must be None")
        super().step(action)


class _InOrder(WritableArrays, OrderEnforcingWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A :class:`TurnByTurnEnv` in which calls in a wrong order are errors."""


@takes_keywords_of(EnvOptions, GameConfig)
def parallel_env(
    *,
    config: GameConfig | None = None,
    seats: Sequence[Seat] | None = None,
    render_mode: str | None = None,
    **keywords: Unpack[GameKeywords],
) -> TerritorialEnv:
    """Return one game as a PettingZoo ``ParallelEnv``, in which all agents act at the same time.

    :class:`TerritorialEnv` describes its observations, actions, rewards and episodes.

    Args:
        config: rules, size and map of the game; default None: those of ``GameConfig()``.
        seats: one entry per seat: "agent", the name of a bot (``territorial.bots.NAMES``), or a bot in Python
            (``territorial.bots.PythonBot``); default None: all seats are agents.
        render_mode: what ``render`` does. "rgb_array" returns a picture, uint8 (h, w, 3); "ansi" returns text
            in colour, 80 characters wide. "human" shows the game in a window, or as text on the terminal
            where there is no display. With "human", ``reset`` and ``step`` call it, at most 20 times a
            second. Default None: ``render`` is an error.
        keywords: options, those of :class:`~territorial.envs.options.EnvOptions`, and fields of
            :class:`~territorial.GameConfig`, such as ``height=64``, which change those of ``config``.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: for a value out of range, for an option that does not go with ``obs``, and for ``seats``
            of another number than ``num_players`` or without an "agent".

    Example:
        >>> import territorial
        >>> seats = ["agent", "agent", "banker", "novice"]
        >>> env = territorial.parallel_env(height=32, width=32, num_players=4, seats=seats, max_cycles=20)
        >>> observations, infos = env.reset(seed=0)
        >>> while env.agents:
        ...     actions = {
        ...         agent: env.action_space(agent).sample(mask=observations[agent]["action_mask"])
        ...         for agent in env.agents
        ...     }
        ...     observations, rewards, terminations, truncations, infos = env.step(actions)
        >>> env.agents
        []
        >>> env.close()

    """
    return TerritorialEnv(
        config_of(config, keywords),
        seats=seats,
        render_mode=render_mode,
        **options_in(keywords),
    )


@takes_keywords_of(EnvOptions, GameConfig)
def env(
    *,
    config: GameConfig | None = None,
    seats: Sequence[Seat] | None = None,
    render_mode: str | None = None,
    **keywords: Unpack[GameKeywords],
) -> Any:
    """Return one game as a PettingZoo ``AECEnv``, in which agents take turns: :class:`TurnByTurnEnv`.

    Calls in a wrong order are errors.

    Args:
        config: that of ``parallel_env``; default None: that of ``GameConfig()``.
        seats: those of ``parallel_env``; default None: all seats are agents.
        render_mode: that of ``parallel_env``; default None: ``render`` is an error.
        keywords: those of :func:`~territorial.parallel_env`.

    Raises:
        TypeError: as ``parallel_env`` does.
        ValueError: as ``parallel_env`` does.

    Example:
        >>> import territorial
        >>> env = territorial.env(height=32, width=32, num_players=2, max_cycles=3)
        >>> env.reset(seed=0)
        >>> for agent in env.agent_iter():
        ...     observation, reward, termination, truncation, info = env.last()
        ...     env.step(None if termination or truncation else 0)  # 0 holds
        >>> env.agents
        []
        >>> env.close()

    """
    together = parallel_env(config=config, seats=seats, render_mode=render_mode, **keywords)
    return _InOrder(TurnByTurnEnv(together))


def _register() -> None:
    """Let ``pettingzoo.make`` find both forms by the name "territorial_v0"."""
    try:
        from pettingzoo import aec_registry, register
    except ImportError:  # older releases of PettingZoo have no registry
        return
    if "territorial-v0" not in aec_registry:  # a reloaded module is registered already
        register("aec", "territorial_v0", entry_point=f"{__name__}:env")
        register("parallel", "territorial_v0", entry_point=f"{__name__}:parallel_env")


_register()
