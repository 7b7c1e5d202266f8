"""Only rows that train: the experience of all others stays where it was made."""

from __future__ import annotations

from typing import Any


def drop_untrained(config: Any, episodes: list[Any]) -> list[Any]:
    """Return ``episodes`` without the agents whose modules are not trained; they are changed in place.

    Which modules are trained is up to ``config.multi_agent(policies_to_train=...)``.
    """
    for episode in episodes:
        for agent, own in list(episode.agent_episodes.items()):
            if not is_trained(config, own.module_id):
                del episode.agent_episodes[agent]
                episode.env_t_to_agent_t.pop(agent, None)
    return episodes


def is_trained(config: Any, module_id: str) -> bool:
    """Return whether ``config`` says that a module learns."""
    trained = config.policies_to_train
    if trained is None:
        return True
    return bool(trained(module_id, None)) if callable(trained) else module_id in trained
