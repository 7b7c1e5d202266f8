"""Connectors between the agents of episodes and the modules that act for them.

Each does in one pass what several of RLlib's do one after the other, for modules that keep no state between
steps: with many agents those take most of the time of a sample.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from ray.rllib.connectors.common import (
    AddObservationsFromEpisodesToBatch,
    AddStatesFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AgentToModuleMapping,
)
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.module_to_env import (
    ModuleToAgentUnmapping,
    NormalizeAndClipActions,
    RemoveSingleTsTimeRankFromBatch,
    UnBatchToIndividualItems,
)
from ray.rllib.core.columns import Columns
from ray.rllib.utils.spaces.space_utils import unbatch

from rllib_adapters.league.pool import PLAYER, PLAYERS, PoolModule

AGENTS = "memorized_map_structure"
"""Where connectors share which agents, of which episodes, the rows of every module are of."""


class RowsToModules(AgentToModuleMapping):
    """Gathers a row for every agent that acts next: its observation, and whose move it is for a pool.

    Columns that connectors before it have added for agents become columns of its modules. Rows are in the
    order of the names of agents: RLlib has them in that of sets, which is another one in every process.
    """

    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], episodes: list[Any], shared_data: Any, **_: Any
    ) -> dict[str, Any]:
        """Return columns by module, each a list; ValueError if a connector has mapped them already."""
        if mapped := sorted(set(batch) & set(rl_module.keys())):
            raise ValueError(
                f"a connector has made columns of the modules {', '.join(mapped)}; columns must be of "
                "agents, as add_league maps them to modules"
            )
        modules = {name: module.unwrapped() for name, module in rl_module.items()}
        pools = {name: module for name, module in modules.items() if isinstance(module, PoolModule)}
        acting = [  # as get_agents_to_act() finds them, which takes as long as a small network
            (agent, own, episode)
            for episode in episodes
            for agent, own in episode.agent_episodes.items()
            if not own.is_done and episode.env_t_to_agent_t[agent][-1] != episode.SKIP_ENV_TS_TAG
        ]
        found = defaultdict[str, dict[str, list[Any]]](lambda: defaultdict(list))
        agents = defaultdict[str, list[tuple[str, Any]]](list)
        for agent, own, episode in sorted(acting, key=lambda one: str(one[0])):
            module, columns = own.module_id, found[own.module_id]
            agents[module].append((episode.id_, agent))
            if Columns.OBS not in batch:
                columns[Columns.OBS].append(own.get_observations(-1))
            if module in pools:
                columns[PLAYER].append(pools[module].number(episode.custom_data[PLAYERS][agent]))
            for column, rows in batch.items():
                columns[column] += rows.get((episode.id_, agent, module), ())
        shared_data[AGENTS] = dict(agents)
        return {module: dict(columns) for module, columns in found.items()}


class RowsToAgents(ConnectorV2):
    """Gives every agent what modules computed for it."""

    def __call__(self, *, batch: dict[str, Any], shared_data: Any, **_: Any) -> dict[str, Any]:
        """Return rows by column and agent, each in a list of its own."""
        found = defaultdict[str, dict[tuple[str, Any, str], list[Any]]](dict)
        for module, columns in batch.items():
            keys = [(*agent, module) for agent in shared_data[AGENTS][module]]
            for column, values in columns.items():
                rows = values if isinstance(values, np.ndarray) else unbatch(values)
                found[column].update((key, [row]) for key, row in zip(keys, rows, strict=True))
        return dict(found)


def shorten_to_modules(pipeline: Any, **mapping: Any) -> None:
    """Put ``RowsToModules`` into RLlib's pipeline; ``mapping``: what an ``AgentToModuleMapping`` gets."""
    pipeline.insert_after(AgentToModuleMapping, RowsToModules(**mapping))
    for kind in (
        AddObservationsFromEpisodesToBatch,
        AddTimeDimToBatchAndZeroPad,
        AddStatesFromEpisodesToBatch,
        AgentToModuleMapping,
    ):
        pipeline.remove(kind)


def shorten_to_agents(pipeline: Any, action_spaces: Iterable[Any]) -> None:
    """Put ``RowsToAgents`` into RLlib's pipeline, and leave discrete actions as they are."""
    pipeline.insert_after(ModuleToAgentUnmapping, RowsToAgents())
    for kind in (UnBatchToIndividualItems, ModuleToAgentUnmapping, RemoveSingleTsTimeRankFromBatch):
        pipeline.remove(kind)
    if all(isinstance(space, Discrete) for space in action_spaces):
        pipeline.remove(NormalizeAndClipActions)
