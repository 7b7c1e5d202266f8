"""The former names of modules of this package: see ``territorial._moved``."""

import sys

from territorial._moved import FormerNames

MODULES = {
    "rllib_adapters.agents": "rllib_adapters.envs.agent_names",
    "rllib_adapters.algorithms": "rllib_adapters.learning.algorithms",
    "rllib_adapters.batch": "rllib_adapters.envs.batch",
    "rllib_adapters.choice": "rllib_adapters.observations.masked_actions",
    "rllib_adapters.curriculum": "rllib_adapters.league.curriculum",
    "rllib_adapters.encode_once": "rllib_adapters.modules.encode_once",
    "rllib_adapters.env": "rllib_adapters.envs.single",
    "rllib_adapters.episode_ends": "rllib_adapters.learning.episode_ends",
    "rllib_adapters.equal_batches": "rllib_adapters.learning.equal_batches",
    "rllib_adapters.evaluation": "rllib_adapters.league.evaluation",
    "rllib_adapters.frame_bank": "rllib_adapters.observations.frame_bank",
    "rllib_adapters.frames": "rllib_adapters.observations.connector",
    "rllib_adapters.learners": "rllib_adapters.learning.learners",
    "rllib_adapters.memory": "rllib_adapters.train.memory_watch",
    "rllib_adapters.nodes": "rllib_adapters.league.shared_store",
    "rllib_adapters.options": "rllib_adapters.envs.env_config",
    "rllib_adapters.outcomes": "rllib_adapters.envs.outcomes",
    "rllib_adapters.own_config": "rllib_adapters.learning.own_config",
    "rllib_adapters.pool": "rllib_adapters.modules.frozen_pool",
    "rllib_adapters.record": "rllib_adapters.observations.log",
    "rllib_adapters.rollout": "rllib_adapters.sampling.rollout",
    "rllib_adapters.roster": "rllib_adapters.envs.roster",
    "rllib_adapters.rows": "rllib_adapters.learning.only_trained",
    "rllib_adapters.run": "rllib_adapters.train.run",
    "rllib_adapters.runner": "rllib_adapters.sampling.runner",
    "rllib_adapters.shared_observations": "rllib_adapters.observations.lazy_buffer",
    "rllib_adapters.spaces": "rllib_adapters.envs.spaces",
    "rllib_adapters.stock_runner": "rllib_adapters.sampling.stock_runner",
    "rllib_adapters.tally": "rllib_adapters.sampling.metrics",
    "rllib_adapters.train_command": "rllib_adapters.train.cli",
    "rllib_adapters.training": "rllib_adapters.train.options",
}
"""The new name of every module that has moved, by its former name."""

sys.meta_path.append(FormerNames(MODULES))
