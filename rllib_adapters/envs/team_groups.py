"""Teams as agents: the groups for RLlib's ``with_agent_groups``, and the environment with these groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces
from ray.rllib.env import GroupAgentsWrapper

from rllib_adapters.envs.env_config import EnvConfig, roles_by_seat
from rllib_adapters.envs.seating import TRAINABLE, seats_of_agents
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from territorial.config.teams import RANDOM

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
    config, roles = options.config, roles_by_seat(options.table)
    if config.teams is None:
        raise ValueError("teams is None; it must be set, as groups are the teams")
    if config.team_deal == RANDOM:
        raise ValueError(
            f"team_deal is {RANDOM!r}; it must be 'blocks' or 'turn', as groups are the same in every game"
        )
    groups: dict[str, list[str]] = {}
    for agent, seat in sorted(seats_of_agents(roles).items(), key=lambda item: item[1]):
        own = roles[seat - 1]
        if not any(role.startswith(TRAINABLE) for role in own):
            continue
        if len(own) > 1:
            raise ValueError(
                f"seat {seat} may be a {' or '.join(sorted(own))}; it must always be the same, as members "
                "of a group are there in every game"
            )
        groups.setdefault(f"{GROUP_PREFIX}{config.team_of()[seat - 1]}", []).append(agent)
    return dict(sorted(groups.items(), key=lambda item: int(item[0].removeprefix(GROUP_PREFIX))))


class TerritorialTeamsEnv(GroupAgentsWrapper):
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
        members = {agent for group in groups.values() for agent in group}
        alone = {agent: [agent] for agent in env.possible_agents if agent not in members}
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
