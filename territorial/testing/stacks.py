"""Environments with whatever is wrapped around them, played through one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from pettingzoo.utils import aec_to_parallel  # type: ignore[import-untyped]

Agent = Hashable
MASK = "action_mask"


class Step(NamedTuple):
    """What one step of a stack returned, everything by agent as the stack itself gave it."""

    observations: Mapping[Agent, Any]
    rewards: Mapping[Agent, Any]
    terminations: Mapping[Agent, Any]
    truncations: Mapping[Agent, Any]
    infos: Mapping[Agent, Any]


class Stack(ABC):
    """An environment and its wrappers. ``agents`` are those that act next; none: the episode is over."""

    kind: ClassVar[str]

    def __init__(self, env: Any) -> None:
        self.env = env
        self.agents: list[Agent] = []

    @abstractmethod
    def observation_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what ``agent`` sees."""

    @abstractmethod
    def action_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what ``agent`` does."""

    @abstractmethod
    def reset(self, seed: int | None = None) -> tuple[Mapping[Agent, Any], Mapping[Agent, Any]]:
        """Begin an episode; return observations and infos."""

    @abstractmethod
    def step(self, actions: Mapping[Agent, Any]) -> Step:
        """Play the actions of all ``agents``."""

    def begin(self, seed: int | None = None) -> Step:
        """Begin an episode; return what ``reset`` shows as a step without actions."""
        observations, infos = self.reset(seed)
        return Step(observations, {}, {}, {}, infos)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class ParallelStack(Stack):
    """A PettingZoo ``ParallelEnv``."""

    kind = "PettingZoo, parallel"

    def observation_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what ``agent`` sees."""
        space: spaces.Space[Any] = self.env.observation_space(agent)
        return space

    def action_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what ``agent`` does."""
        space: spaces.Space[Any] = self.env.action_space(agent)
        return space

    def reset(self, seed: int | None = None) -> tuple[Mapping[Agent, Any], Mapping[Agent, Any]]:
        """Begin an episode; return observations and infos."""
        observations, infos = self.env.reset(seed=seed)
        self.agents = list(self.env.agents)
        return observations, infos

    def step(self, actions: Mapping[Agent, Any]) -> Step:
        """Play the actions of all ``agents``."""
        result = Step(*self.env.step(dict(actions)))
        self.agents = list(self.env.agents)
        return result


class TurnStack(ParallelStack):
    """A PettingZoo ``AECEnv``, whose turns are taken together."""

    kind = "PettingZoo, turn by turn"

    def __init__(self, env: Any) -> None:
        super().__init__(aec_to_parallel(env))
        self.turns = env


class SingleStack(Stack):
    """A ``gymnasium.Env``: one agent, whose name is "agent"."""

    kind = "Gymnasium, one agent"
    NAME = "agent"

    def observation_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what the agent sees."""
        space: spaces.Space[Any] = self.env.observation_space
        return space

    def action_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what the agent does."""
        space: spaces.Space[Any] = self.env.action_space
        return space

    def reset(self, seed: int | None = None) -> tuple[Mapping[Agent, Any], Mapping[Agent, Any]]:
        """Begin an episode; return observations and infos."""
        observation, info = self.env.reset(seed=seed)
        self.agents = [self.NAME]
        return {self.NAME: observation}, {self.NAME: info}

    def step(self, actions: Mapping[Agent, Any]) -> Step:
        """Play the action."""
        parts: list[Mapping[Agent, Any]] = [{self.NAME: part} for part in self.env.step(actions[self.NAME])]
        result = Step(*parts)
        if result.terminations[self.NAME] or result.truncations[self.NAME]:
            self.agents = []
        return result


class VectorStack(Stack):
    """A Gymnasium ``VectorEnv``: its sub-environments are agents 0, 1 ... that reset by themselves."""

    kind = "Gymnasium, vector"

    def observation_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what one sub-environment shows."""
        space: spaces.Space[Any] = self.env.single_observation_space
        return space

    def action_space(self, agent: Agent) -> spaces.Space[Any]:
        """Return the space of what is done in one sub-environment."""
        space: spaces.Space[Any] = self.env.single_action_space
        return space

    def reset(self, seed: int | None = None) -> tuple[Mapping[Agent, Any], Mapping[Agent, Any]]:
        """Begin episodes everywhere; return observations and infos."""
        observations, infos = self.env.reset(seed=seed)
        self.agents = list(range(self.env.num_envs))
        return self._rows(observations), self._told(infos)

    def step(self, actions: Mapping[Agent, Any]) -> Step:
        """Play one action a sub-environment."""
        together = np.array([actions[agent] for agent in self.agents])
        observations, rewards, ends, cuts, infos = self.env.step(together)
        rows = self._rows
        return Step(rows(observations), rows(rewards), rows(ends), rows(cuts), self._told(infos))

    def _rows(self, batch: Any) -> dict[Agent, Any]:
        return {i: _row(batch, i) for i in range(self.env.num_envs)}

    def _told(self, infos: Mapping[str, Any]) -> dict[Agent, Any]:
        """Return the infos of every sub-environment that has them."""
        names = [name for name in infos if not name.startswith("_")]
        count = self.env.num_envs
        present = {name: infos.get(f"_{name}", np.ones(count, bool)) for name in names}
        return {i: {n: _row(infos[n], i) for n in names if present[n][i]} for i in range(count)}


def stack_of(env: Any) -> Stack:
    """Return ``env`` as a stack; TypeError if it is none of the four kinds."""
    if isinstance(env, VectorEnv):
        return VectorStack(env)
    if isinstance(env, gymnasium.Env):
        return SingleStack(env)
    if hasattr(env, "agent_selection") or hasattr(env, "agent_iter"):
        return TurnStack(env)
    if hasattr(env, "possible_agents") and hasattr(env, "step"):
        return ParallelStack(env)
    raise TypeError(
        f"the kind of a {type(env).__module__}.{type(env).__qualname__} is unknown; it must "
        "be a PettingZoo ParallelEnv or AECEnv, a gymnasium.Env or a gymnasium.vector.VectorEnv"
    )


def mask_of(observation: Any, info: Any) -> Any:
    """Return the mask of an agent, from its observation or its info; None if there is none."""
    for told in (observation, info):
        if isinstance(told, Mapping) and MASK in told:
            return told[MASK]
    return None


def mask_parts(space: spaces.Space[Any], mask: Any) -> list[np.ndarray[Any, Any]]:
    """Return one array of 0 and 1 for each part of an action; ValueError if the mask is not of that space."""
    if isinstance(space, spaces.Discrete):
        sizes, parts = [int(space.n)], [np.asarray(mask)]
    elif isinstance(space, spaces.MultiDiscrete):
        sizes = space.nvec.tolist()
        ends = np.cumsum(sizes)[:-1]
        parts = list(map(np.asarray, mask)) if isinstance(mask, tuple) else np.split(np.asarray(mask), ends)
    else:
        raise ValueError(f"masks are for Discrete and MultiDiscrete actions; these actions are {space}")
    if [part.shape for part in parts] != [(size,) for size in sizes]:
        raise ValueError(f"the mask has the shape {[part.shape for part in parts]}; the actions have {sizes}")
    return parts


def draw(space: spaces.Space[Any], mask: Any, rng: np.random.Generator) -> Any:
    """Return a random action, legal if there is a mask."""
    if mask is None:
        space.seed(int(rng.integers(2**31)))
        return space.sample()
    allowed = [np.flatnonzero(part) for part in mask_parts(space, mask)]
    if not all(map(len, allowed)):
        raise ValueError(f"the mask allows no action of {space}")
    chosen = [int(rng.choice(part)) for part in allowed]
    if isinstance(space, spaces.Discrete):
        return chosen[0] + int(space.start)
    return np.array(chosen, space.dtype)


def _row(batch: Any, i: int) -> Any:
    if isinstance(batch, Mapping):
        return {key: _row(part, i) for key, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_row(part, i) for part in batch)
    return batch[i]
