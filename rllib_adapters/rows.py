"""Only rows that train: the experience of all others stays where it was made."""

from __future__ import annotations

from typing import Any

from ray.rllib.callbacks.callbacks import RLlibCallback


class OnlyTrained(RLlibCallback):
    """Takes agents whose modules are not trained out of what a runner hands on.

    RLlib itself would ship their episodes, batch them in the learners and compute values for them before
    it drops the rows. Which modules are trained is up to ``config.multi_agent(policies_to_train=...)``.
    """

    def on_sample_end(self, *, env_runner: Any, samples: list[Any], **_: Any) -> None:
        """Change ``samples`` in place."""
        for episode in samples:
            for agent, own in list(episode.agent_episodes.items()):
                if not is_trained(env_runner.config, own.module_id):
                    del episode.agent_episodes[agent]
                    episode.env_t_to_agent_t.pop(agent, None)


def is_trained(config: Any, module_id: str) -> bool:
    """Return whether ``config`` says that a module learns."""
    trained = config.policies_to_train
    if trained is None:
        return True
    return bool(trained(module_id, None)) if callable(trained) else module_id in trained
