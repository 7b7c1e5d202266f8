"""Which algorithms of RLlib learn from these games, and why the others do not."""

from __future__ import annotations

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig

KNOWN = PPOConfig, IMPALAConfig, APPOConfig
"""The configurations of those that do."""

REPLAYS = (
    "it learns from single steps in a replay buffer, which would keep a copy of the board for every "
    "agent and step. Its networks estimate values of actions, which a BoardModule does not have"
)
OFFLINE = "it learns from recorded data, and not from the games that its runners play"
REASONS = {
    "DQN": REPLAYS,
    "SAC": REPLAYS,
    "CQL": OFFLINE,
    "BC": OFFLINE,
    "MARWIL": OFFLINE,
    "IQL": OFFLINE,
    "DreamerV3": "it learns a world model of one agent, which needs another runner",
}
"""Why an algorithm is not among those, by its name."""


def check_algorithm(config: AlgorithmConfig) -> None:
    """Raise ValueError unless the algorithm of ``config`` learns from these games."""
    name = getattr(config.algo_class, "__name__", type(config).__name__.removesuffix("Config"))
    refused = next((reason for key, reason in REASONS.items() if key == name), None)
    if refused is None and isinstance(config, KNOWN):
        return
    *names, last = (kind.__name__.removesuffix("Config") for kind in KNOWN)
    known = f"{', '.join(names)} or {last}"
    reason = refused or "it was not tested with boards that agents share"
    raise ValueError(f"the algorithm {name} cannot be configured: {reason}; use {known}")


def check_stack(config: AlgorithmConfig) -> None:
    """Raise ValueError unless ``config`` is one for the new API stack."""
    if not (config.enable_rl_module_and_learner and config.enable_env_runner_and_connector_v2):
        raise ValueError(
            "the configuration is for the old API stack, where each policy keeps its own copies "
            "of observations; leave config.api_stack(...) at its default"
        )
