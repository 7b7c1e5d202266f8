"""A league in which four learn: two of each of two architectures, with two observation modes."""

from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.modules.board import FeatureModule
from territorial.league import Group, LineUpDistribution
from tests.rllib.support import BigModule, SmallModule, env_config

LEARNERS = ("main", "rival", "scout", "probe")
SEATS = {"main": {0}, "rival": {1}, "scout": {2, 3}, "probe": {2, 3}}
"""Which seats of ``MIXTURE`` each may get."""

MIXTURE = LineUpDistribution(
    [
        Group(1, {"trainable:main": 1}),
        Group(1, {"trainable:rival": 1}),
        Group(2, {"trainable:scout": 2, "trainable:probe": 1, "snapshot:first": 1}),
        Group(2, {"snapshot:first": 1, "snapshot:second": 1, "bot:metronome": 1}),
    ]
)


MODULES = {
    "main": (SmallModule, {"trunk": {"form": "semantic"}}),
    "rival": (SmallModule, {"trunk": {"form": "semantic"}}),
    "scout": (FeatureModule, {"trunk": {"width": 8}}),
    "probe": (FeatureModule, {"trunk": {"width": 5}}),
}


def mixed_config(store, env=None, config=None, **settings):
    """An algorithm over two games in this process, 24 steps an iteration, all rows in one minibatch."""
    config = configure(
        config or PPOConfig(),
        env_config(league=MIXTURE, **(env or {})),
        store=store,
        module=MODULES,
        architectures=[SmallModule, BigModule],
        **{"runner": "batched"} | settings,
    )
    config.env_runners(num_env_runners=0, rollout_fragment_length=12, num_envs_per_env_runner=2)
    config.training(train_batch_size_per_learner=24)
    if isinstance(config, PPOConfig):
        config.training(minibatch_size=None, num_epochs=1)
    return config
