"""The environment for RLlib's own runner: one game, of which the agents and the frozen seats are shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from rllib_adapters.envs.agent_interface import (
    AgentInterface,
    Interfaces,
    encode_name,
    frames_of,
    frozen_space,
    needs_observations,
)
from rllib_adapters.envs.env_config import (
    MAIN,
    POOL,
    EnvConfig,
    frozen_name,
    learner_name,
    module_of,
    roles_by_seat,
)
from rllib_adapters.envs.outcomes import Outcomes
from territorial.bots import Network, PythonBot
from territorial.engine.batch_arrays import GameArrays
from territorial.engine.recording import Launches
from territorial.engine.seats import AGENT, EXTERNAL, Seat
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.league import LeagueTable, Player, SnapshotStore, UnknownSnapshotError
from territorial.typing import Ints

Observation = dict[str, npt.NDArray[Any]]
Info = dict[str, Any]

TRAINABLE = "trainable:"


class TerritorialMultiAgentEnv(MultiAgentEnv):
    """One game of conquest for RLlib; the game itself is that of ``territorial.parallel_env``.

    **Agents.** ``player_i`` plays seat i + 1 for ``trainable:main`` and learns, ``NAME:player_i`` does for
    any other ``trainable:NAME``. A bot plays within the engine and is not shown, and so does a snapshot in
    ``store`` that was exported. Any other snapshot plays as ``frozen_i``, through a ``FrozenPool``. Who gets
    which seat is drawn at every reset from the table ``league``. So an agent's name always says which module
    acts for it: ``env_config.module_of`` is the mapping function.

    **Observations.** Flat dicts. The first four arrays are made for every step and are one object in
    the dicts of all agents:

    ================  ===========================  ======================================================
    key               ``Box``                      content
    ================  ===========================  ======================================================
    ``observations``  uint8 (F, B, H, ceil(W/8))   the board and the frames before it, packed
    ``players``       float32 (P, C)               one row per seat
    ``borders``       float32 (K, P + 1, P + 1)    from player to owner, by owner codes
    ``globals``       float32 (G,)                 what is the same for all agents
    ``seat``          int32 (1,)                   who looks, 1..P
    ``action_mask``   int8 (P + 12,)               1 for every legal target and fraction, in ego order
    ``opponent``      uint8 (128,)                 frozen seats alone: the snapshot's name in UTF-8
    ================  ===========================  ======================================================

    docs/observation.md has the bits and the columns. All agents of a kind have one space object.

    With ``obs="pairs"`` there are ``own`` (35,), ``pairs`` (C, 26) and ``targets`` (C,) instead of the first
    five, as in ``territorial.TerritorialEnv``, and agents share no arrays. Learners of one league may have
    different forms. Frozen seats then have the keys of both, and each snapshot reads those that it needs.

    **Actions.** ``MultiDiscrete([P + 2, 10])``: what (0 holds, 1 neutral land, 2 oneself, 3.. the others in
    ego order) and how much, see ``territorial.actions.encoding``. What is not legal holds. With
    ``obs="pairs"`` it is ``Discrete(1 + 10 C)``, or another format of ``territorial.TerritorialEnv``, and the
    mask is flat in all of them.

    **Rewards and ends** are those of ``territorial.TerritorialEnv``. The episode ends with the game, or
    as ``end_when`` says; frozen seats that are left are truncated then.

    **Infos** are empty but for agents that end: ``place`` (0.0 if cut before it was known), ``land`` and
    ``tick``; and but for ``launches`` where that option is set.

    Args:
        env_config: a dict of entries of :class:`~rllib_adapters.envs.env_config.EnvConfig`, which says what
            each of them means; default None: the default of each.

    """

    def __init__(self, env_config: Mapping[str, Any] | EnvConfig | None = None) -> None:
        options = self.options = EnvConfig.from_config(env_config)
        compile_steps(options.config)  # while the runner is built: for a sample RLlib waits a minute
        entropy = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._rng = np.random.default_rng(entropy)
        self.game = VecGame(
            options.config,
            1,
            entropy,
            autoreset="disabled",
            end_when="no_agents",
            max_cycles=options.max_cycles,
            frames=frames_of(options),
            observe=needs_observations(options),
        )
        self.interfaces = Interfaces(options, self.game)
        self.league = options.table
        self._roles = roles_by_seat(self.league)
        self._seats = seats_of_agents(self._roles)
        self.possible_agents: list[str] = list(self._seats)
        self.agents: list[str] = []
        self._house = HouseBots(options)
        self._opponent: dict[str, npt.NDArray[np.uint8]] = {}
        self.snapshots: frozenset[str] = frozenset()
        """The names of those that act in the pool in the present game."""
        self.outcomes = Outcomes()
        self._form_of = {agent: self.interfaces.form_of(agent) for agent in self.possible_agents}
        self.observation_spaces, self.action_spaces = spaces_of_agents(self.interfaces, self.possible_agents)
        super().__init__()

    def set_league(self, league: LeagueTable) -> None:
        """Let another table draw the players from the next reset on.

        ValueError if it may give a seat to a kind of player, or to one who learns, that the first could not.
        """
        check_new_league(self.options, self._roles, league)
        self.league = league

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Begin a game; return the observations of all who play and their infos.

        ``seed``: begins the first game of that seed, opponents included; None: the next game.
        ``options`` are ignored.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        players = self._players = self.league.draw(self._rng)
        seats = self._house.seats(players, self.league)
        self.game.set_seats(0, seats)
        self.game.reset(seed)
        in_pool = {i: players[i].name for i, acts in enumerate(are_in_pool(players, seats)) if acts}
        self.snapshots = frozenset(in_pool.values())
        self._opponent = {frozen_name(i): encode_name(name) for i, name in in_pool.items()}
        learners = {learner_name(who.name, i) for i, who in enumerate(players) if who.kind == "trainable"}
        self.agents = [agent for agent in self._seats if agent in learners or agent in self._opponent]
        told = self._told()
        return self._observe(), {agent: {**told} for agent in self.agents}

    def step(self, action_dict: Mapping[str, Any]) -> tuple[Any, ...]:
        """Play all actions up to the next decision.

        Returns observations, rewards, terminateds, truncateds and infos of the agents that were alive;
        terminateds and truncateds have ``__all__``, too. ValueError for a missing or impossible action.
        """
        _, rewards, terminated, _, _ = self.game.step(self._actions(action_dict), self.options.repeat)
        playing, ends = self.agents, self.game.results
        ended = {agent: bool(terminated[0, self._seats[agent] - 1]) for agent in playing}
        living = [agent for agent in playing if not ended[agent]]
        is_cut = bool(ends.is_cut[0])
        is_over = bool(ends.is_over[0]) and not is_cut
        is_last = {agent: ended[agent] or is_cut or is_over for agent in playing}
        told = self._told()
        results = (
            self._observe(),
            {agent: float(rewards[0, self._seats[agent] - 1]) for agent in playing},
            {**ended, "__all__": is_over},
            # An episode of which all agents are truncated one by one is a terminated one to RLlib, and what
            # comes after it would count as nothing: only "__all__" says that it was cut.
            {**dict.fromkeys(playing, False), **dict.fromkeys(living, is_over), "__all__": is_cut},
            {
                agent: told | (ending_of(self.game.state, 0, self._seats[agent]) if is_last[agent] else {})
                for agent in playing
            },
        )
        if is_cut or is_over:
            self.outcomes.add(self._players, self.game.state, 0, is_cut=is_cut)
        self.agents = [] if is_cut or is_over else living
        return results

    def close(self) -> None:
        """Free what the engine holds outside Python's memory."""
        self.game.close()

    # ---- within -----------------------------------------------------------------------------------

    def _actions(self, action_dict: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        actions = np.zeros((1, self.options.config.num_players, 2), np.int64)
        if not self.agents:
            raise RuntimeError("no agent is left in this game; call reset() to start the next game")
        given = {agent: self._checked(agent, action_dict) for agent in self.agents}
        for interface, agents in self._agents_by_form():
            games, seats = self._seats_of(agents)
            numbers = interface.format.numbers([given[agent] for agent in agents])
            assert numbers is not None
            actions[games, seats - 1] = interface.engine_actions(numbers, games, seats)
        return actions

    def _checked(self, agent: str, action_dict: Mapping[str, Any]) -> Any:
        """Return the action of an agent; ValueError if there is none or it is impossible."""
        wanted = self.interfaces.by_form[self._form_of[agent]].format
        if agent not in action_dict:
            holds = np.zeros(wanted.shape, np.int64).tolist()
            raise ValueError(
                f"the action of {agent!r} is missing, but this agent is alive; {holds} is the "
                "action that holds"
            )
        if not wanted.takes(action_dict[agent]):
            raise ValueError(f"the action of {agent!r} is {action_dict[agent]!r}; it must be {wanted.wanted}")
        return action_dict[agent]

    def _agents_by_form(self) -> Iterator[tuple[AgentInterface, list[str]]]:
        """Yield how ``agents`` of a form see and act, and which these are, for every form that one has."""
        for form, interface in self.interfaces.by_form.items():
            agents = [agent for agent in self.agents if self._form_of[agent] == form]
            if agents:
                yield interface, agents

    def _seats_of(self, agents: Sequence[str]) -> tuple[Ints, Ints]:
        """Return games, all 0, and seats, 1..P, of ``agents``."""
        seats = np.array([self._seats[agent] for agent in agents], np.int64)
        return np.zeros_like(seats), seats

    def _observe(self) -> dict[str, Observation]:
        """Return what ``agents`` see, in arrays made for this step alone."""
        shown: dict[str, Observation] = {agent: {} for agent in self.agents}  # in their order
        boards: Observation = {}
        for interface, agents in self._agents_by_form():
            if interface.shows_boards:
                boards = boards or self.interfaces.boards(0)
            shared, own = boards if interface.shows_boards else {}, interface.own(*self._seats_of(agents))
            for i, agent in enumerate(agents):
                shown[agent] = {**shared, **{name: rows[i] for name, rows in own.items()}}
        for agent in self.agents:
            if agent in self._opponent:
                shown[agent]["opponent"] = self._opponent[agent]
        return shown

    def _told(self) -> Info:
        """Return what the infos of all agents have: the launches of the last step, if they are asked for."""
        launches = self.interfaces.launches()
        return {} if launches is None else {"launches": Launches(*(table[0] for table in launches))}


def ending_of(state: GameArrays, k: int, seat: int) -> dict[str, float]:
    """Return the info of a seat, 1..P, of game ``k`` that has ended."""
    return {
        "place": float(state.place2[k, seat]) / 2,
        "land": float(state.land[k, seat]),
        "tick": float(state.tick[k]),
    }


class HouseBots:
    """The seats of one environment, with of each name the first bot in Python that came.

    Tables that are sent to a runner bring copies of them, which are other objects to the engine. Snapshots
    that were exported are networks of the engine.
    """

    def __init__(self, options: EnvConfig) -> None:
        self._bots: dict[str, PythonBot] = {}
        # The engine's episode is over when no agent lives; frozen seats are agents if it goes on for them.
        self._of_frozen = AGENT if options.end_when == "game" else EXTERNAL
        self._networks, self._table = FrozenNetworks(options), options.table

    def seats(self, players: Sequence[Player], league: LeagueTable) -> list[Seat]:
        """Return what the engine calls the seats of players that ``league`` has drawn."""
        if league is not self._table:
            self._table = league
            self._networks.keep(league.names("snapshot"))
        return [self._seat(player) for player in players]

    def _seat(self, player: Player) -> Seat:
        if player.kind == "snapshot":
            return self._networks.network(player.name) or self._of_frozen
        seat = player.seat
        return self._bots.setdefault(seat.name, seat) if isinstance(seat, PythonBot) else seat


def are_in_pool(players: Sequence[Player], seats: Sequence[Seat]) -> list[bool]:
    """Return which of the players of ``seats`` are snapshots that act in the pool."""
    return [
        player.kind == "snapshot" and not isinstance(seat, Network)
        for player, seat in zip(players, seats, strict=True)
    ]


def seats_of_agents(roles: Sequence[set[str]]) -> dict[str, int]:
    """Return the seats, 1..P, of all agents that there may be where seats have such roles.

    Those who learn come first, one after the other, ``main`` before all others.
    """
    learners = {role for own in roles for role in own if role.startswith(TRAINABLE)}
    seats: dict[str, int] = {}
    for role in sorted(learners, key=lambda role: (role != f"{TRAINABLE}{MAIN}", role)):
        name = role.removeprefix(TRAINABLE)
        seats |= {learner_name(name, i): i + 1 for i, own in enumerate(roles) if role in own}
    return seats | {frozen_name(i): i + 1 for i, own in enumerate(roles) if "snapshot" in own}


def spaces_of_agents(
    interfaces: Interfaces, agents: Sequence[str]
) -> tuple[dict[str, spaces.Space[Any]], dict[str, spaces.Space[Any]]]:
    """Return the spaces of observations and of actions by agent; one object for all of a kind."""
    seen = {form: interface.observation_space for form, interface in interfaces.by_form.items()}
    frozen = {form: frozen_space(space) for form, space in seen.items() if form == interfaces.frozen_form}
    acts = {agent: interfaces.by_form[interfaces.form_of(agent)].format.space for agent in agents}
    return {
        agent: (frozen if module_of(agent) == POOL else seen)[interfaces.form_of(agent)] for agent in agents
    }, acts


def check_new_league(options: EnvConfig, roles: Sequence[set[str]], league: LeagueTable) -> None:
    """Raise ValueError if ``league`` may give a seat to a player that it cannot have by ``roles``."""
    EnvConfig(config=options.config, league=league, obs=options.obs)
    for i, (new, old) in enumerate(zip(roles_by_seat(league, drawn_only=True), roles, strict=True)):
        if not new <= old:
            raise ValueError(
                f"seat {i + 1} of the new league may be a {' or '.join(sorted(new - old))}; "
                f"RLlib was built with a {' or '.join(sorted(old))} on it"
            )


# ---- snapshots in the engine -----------------------------------------------------------------------------


_open: WeakValueDictionary[tuple[str, str, int], Network] = WeakValueDictionary()
"""The networks of this process, by file, content and interval: all its environments share them."""


class FrozenNetworks:
    """The networks of one environment's snapshots, each of which is opened when it first gets a seat.

    They decide whenever agents do. Where the episode goes on while a frozen seat lives, there are none: the
    engine knows of agents alone whether they live.

    Args:
        options: of the environment; ``store`` has the snapshots.

    """

    def __init__(self, options: EnvConfig) -> None:
        self._store = options.store if options.end_when == "no_agents" else None
        self._interval = options.interval
        self._networks: dict[str, Network | None] = {}

    def network(self, name: str) -> Network | None:
        """Return the network of a snapshot; None if it has none, or if there is no such snapshot yet.

        The pool plays it then, and says what is wrong. NetworkError for a file that is damaged.
        """
        if self._store is None:
            return None
        if name not in self._networks:
            try:
                self._networks[name] = _opened(self._store, name, self._interval)
            except (UnknownSnapshotError, FileNotFoundError):
                return None
        return self._networks[name]

    def keep(self, names: Collection[str]) -> None:
        """Release all but the snapshots ``names``; the engine keeps those that play until their games end."""
        self._networks = {name: self._networks[name] for name in self._networks.keys() & set(names)}


def _opened(store: SnapshotStore, name: str, interval: int) -> Network | None:
    found = store.network(name)
    if found is None:
        return None
    key = str(found.path), found.sha256, interval
    network = _open.get(key)
    if network is None:
        network = _open[key] = Network(found.path, interval=interval)
    return network
