"""RLlib algorithms that train a league: PPO, IMPALA and APPO."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPO, APPOConfig
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig

from rllib_adapters.curriculum import apply_settings, go_over
from rllib_adapters.envs.env_config import GAMES, EnvConfig
from rllib_adapters.league.algorithm import LeagueAlgorithm, keep_batches_equal
from rllib_adapters.league.algorithm_config import check_targets, converted
from rllib_adapters.league.control import set_league
from rllib_adapters.learning.algorithm_config import TerritorialConfig
from rllib_adapters.learning.learners import (
    TerritorialAPPOLearner,
    TerritorialIMPALALearner,
    TerritorialPPOLearner,
)
from rllib_adapters.sampling.runner import StockEnvRunner, TerritorialEnvRunner

RUNNERS = {"batched": TerritorialEnvRunner, "stock": StockEnvRunner}


class TerritorialAlgorithm(LeagueAlgorithm):
    """What the algorithms of this package share: ``LeagueAlgorithm`` has the arguments."""

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return a configuration with all settings at their defaults."""
        return next(kind for kind in CONFIGS.values() if issubclass(cls, kind.algorithm))()

    def bring_up_to_date(self, group: Any, restored: list[int], config: Any) -> None:
        """Have runners that were made again play by the current settings."""
        group.foreach_env_runner(
            partial(apply_settings, env_config=dict(config.env_config)),
            remote_worker_ids=restored,
            local_env_runner=False,
        )

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> Any:
        """Return the state of the algorithm, of its games and of its league; called by RLlib."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self._check_component(GAMES, components, not_components):
            played = self.config.env_config.items()
            state[GAMES] = {name: value for name, value in played if name != "store"}  # it may need Ray
        return state

    def take_games(self, state: Any) -> bool:
        """Play the games of a state; who plays is a kept league's to say."""
        if GAMES in state:
            set_games(self, state[GAMES])
        return GAMES in state


class TerritorialPPO(TerritorialAlgorithm, PPO):
    """PPO for these games."""


class TerritorialIMPALA(TerritorialAlgorithm, IMPALA):
    """IMPALA for these games."""


class TerritorialAPPO(TerritorialAlgorithm, APPO):
    """Asynchronous PPO for these games."""


class TerritorialPPOConfig(TerritorialConfig, PPOConfig):
    """The configuration of ``TerritorialPPO``."""

    algorithm = TerritorialPPO
    runners = tuple(RUNNERS.values())
    learner = TerritorialPPOLearner


class TerritorialIMPALAConfig(TerritorialConfig, IMPALAConfig):
    """The configuration of ``TerritorialIMPALA``."""

    algorithm = TerritorialIMPALA
    runners = tuple(RUNNERS.values())
    learner = TerritorialIMPALALearner

    def prepare(self, algorithm: Any) -> None:
        """Have several learners get all batches or none."""
        if self.num_learners > 1:
            keep_batches_equal(algorithm)

    def check_batches(self) -> None:
        """Raise ValueError, too, for rows that are no whole fragments, and for what needs single rows.

        Aggregator actors would make batches in processes of their own; of batches smaller than a sample, some
        of several learners would get none.
        """
        super().check_batches()
        actors, learning = self.num_aggregator_actors_per_learner, self.learning_options
        if actors:
            raise ValueError(
                f"num_aggregator_actors_per_learner is {actors}; it must be 0, because frames "
                "that rows share stay in the process that made the batch"
            )
        fragment = self.get_rollout_fragment_length()
        steps, size = fragment * self.num_envs_per_env_runner, self.train_batch_size_per_learner
        if self.num_learners > 1 and size < steps:
            raise ValueError(
                f"train_batch_size_per_learner is {size}; with {self.num_learners} learners it must be "
                f"at least {steps}. Each learner needs a whole sample, which has "
                "rollout_fragment_length times num_envs_per_env_runner steps"
            )
        for option, value, wanted in (("share", learning.share, 1), ("held_rows", learning.held_rows, True)):
            if value != wanted:
                raise ValueError(
                    f"{option} is {value}; it must be {wanted}, as IMPALA learns from rows in a sequence"
                )
        if self.minibatch_size is not None and self.minibatch_size % fragment:
            raise ValueError(
                f"minibatch_size is {self.minibatch_size}; with IMPALA and APPO it must be a multiple of "
                f"rollout_fragment_length, {fragment}"
            )


class TerritorialAPPOConfig(TerritorialIMPALAConfig, APPOConfig):
    """The configuration of ``TerritorialAPPO``."""

    algorithm = TerritorialAPPO
    learner = TerritorialAPPOLearner

    def validate(self) -> None:
        """Raise ValueError, too, for modules without a target, and for a buffer in which updates get lost."""
        super().validate()
        check_targets(self)
        held = self.circular_buffer_num_batches * self.circular_buffer_iterations_per_batch
        if self.use_circular_buffer and held < self.broadcast_interval:
            raise ValueError(
                f"broadcast_interval is {self.broadcast_interval}; it must be at most {held}, which is "
                "circular_buffer_num_batches times circular_buffer_iterations_per_batch. Learners wait for "
                "so many updates, and a buffer that is full drops batches"
            )


CONFIGS: dict[type, type[TerritorialConfig]] = {
    PPOConfig: TerritorialPPOConfig,
    IMPALAConfig: TerritorialIMPALAConfig,
    APPOConfig: TerritorialAPPOConfig,
}
"""The configurations of this package by those of RLlib that they extend."""


def to_territorial_config(config: AlgorithmConfig) -> TerritorialConfig:
    """Return a configuration of this package with all settings of ``config``, which stays as it is.

    ValueError for the old API stack, for algorithms that do not learn from these games, and for a class of
    the user's own that is derived from RLlib's.
    """
    own: TerritorialConfig = converted(config, CONFIGS)
    return own


def set_games(algorithm: Any, env_config: Mapping[str, Any]) -> None:
    """Let an algorithm play the games of an ``env_config``; who plays is a kept league's to say."""
    present, wanted = algorithm.config.env_config, dict(env_config)
    table = algorithm.config.table if algorithm.league_callback else EnvConfig.from_config(wanted).table
    if "store" in present:
        wanted["store"] = present["store"]
    if _others(present) != _others(wanted):
        wanted.pop("seats", None)
        go_over(algorithm, {**wanted, "league": table})
    elif table.to_dict() != algorithm.config.table.to_dict():
        set_league(algorithm, table)


def _others(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of an ``env_config`` that do not say who plays."""
    known = EnvConfig.from_config(entries).to_dict()
    return {name: value for name, value in known.items() if name not in ("seats", "league")}
