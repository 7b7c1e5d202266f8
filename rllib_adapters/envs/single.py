"""Environments of one game for RLlib's own runner.

Agents of a team may be grouped as one, for policies of whole teams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from ray.rllib.env import GroupAgentsWrapper
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from rllib_adapters.envs.agent_interface import shared_arrays
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import POOL, EnvConfig, agents_of, frozen_name, learner_name, module_of
from territorial.config.teams import RANDOM
from territorial.files.arrays import WritableArrays
from territorial.league.seating import LineUps
from territorial.typing import Ints

Observation = dict[str, npt.NDArray[Any]]
Info = dict[str, Any]
OPPONENT, LEARNS = "opponent", "learns"
"""Keys of infos: the snapshot that acts for a frozen seat; False for learners that are not learned from."""


class TerritorialMultiAgentEnv(WritableArrays, MultiAgentEnv):
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
    ================  ===========================  ======================================================

    docs/observation.md has the bits and the columns. All agents of a kind have one space object.

    With ``obs="pairs"`` there are ``own`` (35,), ``pairs`` (C, 26) and ``targets`` (C,) instead of the first
    five, as in ``territorial.TerritorialEnv``, and agents share no arrays. Learners of one league may have
    different forms. Frozen seats then have the keys of both, and each snapshot reads those that it needs.

    **Actions.** ``MultiDiscrete([P + 2, 10])``: what (0 holds, 1 neutral land, 2 oneself, 3.. the others in
    ego order) and how much, see ``territorial.observation.action_encoding``. What is not legal holds. With
    ``obs="pairs"`` it is ``Discrete(1 + 10 C)``, or another format of ``territorial.TerritorialEnv``, and the
    mask is flat in all of them.

    **Rewards and ends** are those of ``territorial.TerritorialEnv``. The episode ends with the game, or
    as ``end_when`` says; frozen seats that are left are truncated then.

    **Infos** of frozen seats have ``opponent``, the name of the snapshot that acts, and those of learners
    that a table does not learn from have ``learns``, False. Agents that end have ``place`` (0.0 if cut
    before it was known), ``land`` and ``tick``. All others are empty.

    Args:
        env_config: a dict of entries of :class:`~rllib_adapters.envs.env_config.EnvConfig`, which says what
            each of them means; default None: the default of each.

    """

    def __init__(self, env_config: Mapping[str, Any] | EnvConfig | None = None) -> None:
        self.batch = TerritorialBatchEnv(EnvConfig.from_config(env_config), 1)
        self.options, self.game, self.outcomes = self.batch.options, self.batch.game, self.batch.outcomes
        (self._view,) = self.batch.envs
        self._seats = agents_of(self.options.table)
        self.possible_agents: list[str] = list(self._seats)
        self.agents: list[str] = []
        self._forms = {agent: self.options.form_of(module_of(agent)) for agent in self.possible_agents}
        # What infos of the agents of a game say throughout it.
        self._infos: dict[str, Info] = {}
        self.observation_spaces, self.action_spaces = self._view.observation_spaces, self._view.action_spaces
        super().__init__()

    @property
    def league(self) -> LineUps:
        """The table that draws the players of the next game."""
        return self._view.league

    @property
    def snapshots(self) -> frozenset[str]:
        """The names of those that act in the pool in the present game."""
        return self._view.snapshots

    def set_league(self, league: LineUps) -> None:
        """Let another table draw the players from the next reset on.

        ValueError if it draws a learner that the first did not name, or snapshots where the first drew none.
        """
        self._view.set_league(league)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, Info]]:
        """Begin a game; return the observations of all who play and their infos.

        ``seed``: begins the first game of that seed, opponents included; None: the next game.
        ``options`` are ignored.
        """
        self.batch.reset(seed=seed)
        view = self._view
        self._infos = {}
        for i, (player, learns) in enumerate(zip(view.players, view.learns, strict=True)):
            if player.kind == "trainable":
                self._infos[learner_name(player.name, i)] = {} if learns else {LEARNS: False}
            elif view.in_pool[i]:
                self._infos[frozen_name(i)] = {OPPONENT: player.name}
        self.agents = [agent for agent in self._seats if agent in self._infos]
        return self._observe(), {agent: dict(self._infos[agent]) for agent in self.agents}

    def step(self, action_dict: Mapping[str, Any]) -> tuple[Any, ...]:
        """Play all actions up to the next decision.

        Returns observations, rewards, terminateds, truncateds and infos of the agents that were alive;
        terminateds and truncateds have ``__all__``, too. ValueError for a missing or impossible action.
        """
        playing, seats = self.agents, self._seats
        step = self.batch.step(self._actions(action_dict))
        terminated, is_cut = self.game.results.terminated[0], bool(step.cut[0])
        ended = {agent: bool(terminated[seats[agent] - 1]) for agent in playing}
        living = [agent for agent in playing if not ended[agent]]
        is_over = bool(step.done[0]) and not is_cut
        last = [agent for agent in playing if ended[agent] or step.done[0]]
        results: tuple[Any, ...] = (
            self._observe(),
            {agent: float(step.rewards[0, seats[agent] - 1]) for agent in playing},
            {**ended, "__all__": is_over},
            # An episode of which all agents are truncated one by one is a terminated one to RLlib, and what
            # comes after it would count as nothing: only "__all__" says that it was cut.
            {**dict.fromkeys(playing, False), **dict.fromkeys(living, is_over), "__all__": is_cut},
            {
                agent: self._infos[agent] | (self.batch.ending(0, seats[agent]) if agent in last else {})
                for agent in playing
            },
        )
        self.agents = [] if step.done[0] else living
        return results

    def close(self) -> None:
        """Free what the engine holds outside Python's memory."""
        self.game.close()

    # ---- within -----------------------------------------------------------------------------------

    def _actions(self, action_dict: Mapping[str, Any]) -> dict[str, npt.NDArray[np.int64]]:
        """Return the actions of all agents by form; ValueError if one is missing or impossible."""
        if not self.agents:
            raise RuntimeError("no agent is left in this game; call reset() to start the next game")
        actions = self.batch.holds()
        for form, agents, seats in self._agents_by_form():
            wanted, own = self.batch.interfaces[form].format, actions[form]
            for agent in agents:
                if agent not in action_dict:
                    raise ValueError(
                        f"no action for {agent!r}; every living agent needs one ({own[0, 0].tolist()} holds)"
                    )
                if not wanted.takes(action_dict[agent]):
                    raise ValueError(
                        f"the action of {agent!r} is {action_dict[agent]!r}; it must be {wanted.wanted}"
                    )
            numbers = wanted.numbers([action_dict[agent] for agent in agents])
            assert numbers is not None
            own[0, seats - 1] = numbers.reshape(-1, *wanted.shape)
        return actions

    def _observe(self) -> dict[str, Observation]:
        """Return what ``agents`` see, in arrays made for this step alone."""
        shown: dict[str, Observation] = {agent: {} for agent in self.agents}  # in their order
        boards: Observation = {}
        for form, agents, seats in self._agents_by_form():
            interface = self.batch.interfaces[form]
            if interface.shares_frames and not boards:
                boards = {name: array[0].copy() for name, array in shared_arrays(self.game).items()}
            shared, own = (
                boards if interface.shares_frames else {},
                interface.own(np.zeros_like(seats), seats),
            )
            for i, agent in enumerate(agents):
                shown[agent] = {**shared, **{name: rows[i] for name, rows in own.items()}}
        return shown

    def _agents_by_form(self) -> Iterator[tuple[str, list[str], Ints]]:
        """Yield the forms that ``agents`` have, and which of them have each, on which seats, 1..P."""
        for form in self.batch.interfaces:
            agents = [agent for agent in self.agents if self._forms[agent] == form]
            if agents:
                yield form, agents, np.array([self._seats[agent] for agent in agents], np.int64)


# ---- teams ---------------------------------------------------------------------------------------

GROUP_PREFIX = "team_"


def team_groups(env_config: Mapping[str, Any] | EnvConfig | None) -> dict[str, list[str]]:
    """Return the groups for RLlib's ``with_agent_groups``: by team, the agents that learn there.

    The group of team g is ``team_g``, and its agents are in the order of their seats. Teams without a seat
    that learns have no group. A group is whole at every step: no agent leaves before its team is out.

    Args:
        env_config: that of ``TerritorialMultiAgentEnv``; its ``config`` must have ``teams``.

    Raises:
        ValueError: for games without teams; for ``team_deal="random"``, as its teams differ from game to
            game; for a seat that learns in some games only.

    Example:
        >>> from rllib_adapters import team_groups
        >>> game = {"height": 32, "width": 32, "num_players": 4, "teams": 2}
        >>> team_groups({"config": game, "seats": ["agent", "agent", "agent", "banker"]})
        {'team_1': ['player_0', 'player_1'], 'team_2': ['player_2']}

    """
    options = EnvConfig.from_config(env_config)
    config, table = options.config, options.table
    if config.teams is None:
        raise ValueError("teams is None; it must be set, as groups are the teams")
    if config.team_deal == RANDOM:
        raise ValueError(
            f"team_deal is {RANDOM!r}; it must be 'blocks' or 'turn', as groups are the same in every game"
        )
    if len(table.tables) > 1 or table.tables[0].shuffle:
        raise ValueError(
            "the league deals seats anew for every game; groups need the same seats in all games"
        )
    groups: dict[str, list[str]] = {}
    drawn = [group for group in table.groups for _ in range(group.seats)]
    for i, group in enumerate(drawn):
        own = {str(one) for one, weight in group.players.items() if weight or one.kind == "trainable"}
        learners = [one.name for one in group.players if one.kind == "trainable"]
        if learners and len(own) > 1:
            raise ValueError(
                f"seat {i + 1} may be {' or '.join(sorted(own))}; it must always be the same, as members "
                "of a group are there in every game"
            )
        for name in learners:
            groups.setdefault(f"{GROUP_PREFIX}{config.team_of()[i]}", []).append(learner_name(name, i))
    return dict(sorted(groups.items(), key=lambda item: int(item[0].removeprefix(GROUP_PREFIX))))


class TerritorialTeamsEnv(WritableArrays, GroupAgentsWrapper):
    """``TerritorialMultiAgentEnv`` whose agents are teams, by RLlib's own grouping.

    A team ``team_g`` sees a tuple of the observations of its members, and acts with a tuple of their actions,
    as its ``Tuple`` spaces say. Its reward is the sum of theirs; its infos have ``_group_rewards`` and
    ``_group_info``, with an entry a member. Frozen seats are agents of their own, as always.

    It plays on RLlib's own runner, with modules for such spaces, which are yours: those of this package are
    for single seats.

    Args:
        env_config: that of ``TerritorialMultiAgentEnv``, as :func:`team_groups` needs it; default None: its
            own defaults.

    """

    def __init__(self, env_config: Mapping[str, Any] | EnvConfig | None = None) -> None:
        env = TerritorialMultiAgentEnv(env_config)
        groups = team_groups(env.options)
        super().__init__(env, groups)
        alone = {agent: [agent] for agent in env.possible_agents if module_of(agent) == POOL}
        self.possible_agents = [*groups, *alone]
        self.observation_spaces, self.action_spaces = (
            {name: spaces.Tuple([of[agent] for agent in group]) for name, group in groups.items()}
            | {agent: of[agent] for agent in alone}
            for of in (env.observation_spaces, env.action_spaces)
        )

    def reset(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin a game; return what teams see and their infos."""
        seen, infos = super().reset(**options)
        self.agents = list(seen)
        return self._shown(seen), infos

    def step(self, action_dict: Mapping[str, Any]) -> tuple[Any, ...]:
        """Play the actions of all members of teams up to the next decision."""
        seen, rewards, terminated, truncated, infos = super().step(action_dict)
        is_over = terminated["__all__"] or truncated["__all__"]
        self.agents = [] if is_over else [agent for agent in self.agents if not terminated[agent]]
        return self._shown(seen), rewards, terminated, truncated, infos

    def _shown(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """Return observations in which those of a team are a tuple; RLlib takes lists for batches."""
        return {agent: tuple(own) if agent in self.groups else own for agent, own in seen.items()}

    def close(self) -> None:
        """Free what the engine holds outside Python's memory."""
        self.env.close()
