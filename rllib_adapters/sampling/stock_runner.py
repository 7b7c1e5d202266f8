"""RLlib's own runner, which hands on what trains alone."""

from __future__ import annotations

from typing import Any

from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from rllib_adapters.envs.outcomes import taken_from
from rllib_adapters.learning.only_trained import drop_untrained
from rllib_adapters.learning.own_config import check_config
from rllib_adapters.observations.connector import ModuleFrames
from territorial.memory.measure import give_back


class StockEnvRunner(MultiAgentEnvRunner):
    """Plays agent by agent, with all connectors and callbacks of RLlib's.

    RLlib itself would ship the episodes of all agents, batch them in the learners and compute values for them
    before it drops the rows of those that do not train.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        check_config(config)
        self.frames: dict[str, Any] = {}
        """By module, the frames of the batch that is acted on next: those of modules belong to a thread."""
        super().__init__(config=config, **kwargs)

    def make_env(self) -> None:
        """Make the environments; how games ended in those before is kept; called by RLlib."""
        outcomes = [] if self.env is None else taken_from(self)
        super().make_env()
        self.env.envs[0].unwrapped.outcomes.keep(outcomes)

    def _sample(self, **kwargs: Any) -> list[MultiAgentEpisode]:
        """Return the episodes of a sample; overrides ``MultiAgentEnvRunner._sample``."""
        # RLlib keeps the batch that comes next, and trains in a new thread while it evaluates.
        for name, frames in self.frames.items():
            self.module[name].unwrapped().frames = frames
        episodes = drop_untrained(self.config, super()._sample(**kwargs))
        own = {name: module.unwrapped() for name, module in self.module.items()} if self.module else {}
        self.frames = {name: one.frames for name, one in own.items() if isinstance(one, ModuleFrames)}
        give_back()
        return episodes
