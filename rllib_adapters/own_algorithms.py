"""RLlib's algorithms, which also keep a league, and send new runners the current table and settings."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPO, APPOConfig
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core import COMPONENT_LEARNER_GROUP
from ray.rllib.core.rl_module.apis import TargetNetworkAPI
from ray.tune.result import TRIAL_INFO

from rllib_adapters import ray_private
from rllib_adapters.envs.agent_names import POOL
from rllib_adapters.league.curriculum import play
from rllib_adapters.league.export import PoolReport
from rllib_adapters.league.restores import begin_new_games, newer_weights, set_games
from rllib_adapters.learning.appo import TerritorialAPPOLearner
from rllib_adapters.learning.averages import evaluate_averages, keeps_averages
from rllib_adapters.learning.equal_batches import keep_batches_equal
from rllib_adapters.learning.learners import TerritorialIMPALALearner, TerritorialPPOLearner
from rllib_adapters.learning.own_config import TerritorialConfig
from rllib_adapters.modules.frozen_pool import check_store, move_store, store_of
from rllib_adapters.sampling.runner import TerritorialEnvRunner
from rllib_adapters.sampling.stock_runner import StockEnvRunner
from territorial.league import SnapshotStore

LEAGUE = "league"
"""The part of an algorithm's state, and of its results, that is the league's."""

GAMES = "games"
"""The part of an algorithm's state that has the ``env_config`` of the games it plays."""

RUNNERS = {"batched": TerritorialEnvRunner, "stock": StockEnvRunner}


class TerritorialAlgorithm(Algorithm):
    """What the algorithms of this package share.

    Args:
        config: as ``configure`` made it, or as Tune hands it on.
        env: RLlib's, and not to be given.
        store: where the snapshots are now, if not where the configuration says: the folder was moved. Also of
            ``Algorithm.from_checkpoint(path, store=folder)``.
        kwargs: of RLlib's.

    """

    def __init__(
        self, config: Any = None, env: Any = None, *, store: SnapshotStore | str | None = None, **kwargs: Any
    ) -> None:
        # RLlib drops what Tune says of the trial, and shares what is in the configuration with its owner.
        trial = config.get(TRIAL_INFO) if isinstance(config, dict) else None
        self._trial = None if trial is None else str(trial.trial_id)
        self._moved_to = None if store is None else store_of(store)
        self.keeper: Any = None
        """The ``LeagueKeeper``; None: there is no league."""
        self.pool_report = PoolReport()
        """Which snapshots on pairs act in the pool, and why."""
        own = config.copy(copy_frozen=False) if isinstance(config, AlgorithmConfig) else config
        super().__init__(own, env, **kwargs)

    def setup(self, config: Any) -> None:
        """Build everything, and begin the run of a league; called by RLlib."""
        self.config.__dict__.update(is_in_algorithm=True, league_keeper=None)
        self.keeper = config.league_keeper
        try:
            self._take_store()
            super().setup(config)
            keep_batches_equal(self)
            if keeps_averages(self.config) and self.eval_env_runner_group is not None:
                evaluate_averages(self)
            if self.keeper is not None:
                self.keeper.begin(self)
        except BaseException:
            self._release()
            raise

    def _take_store(self) -> None:
        """Have the pool and the league play what is in the store of this run."""
        store = self._moved_to
        if self.keeper is not None:
            store = self.keeper.place(self._moved_to, self._trial)
        if store is not None:
            move_store(self.config, store)
        check_store(self.config)
        if self.keeper is not None and not self.keeper.goes_on:
            self.keeper.hold()

    def _release(self) -> None:
        if self.keeper is not None:
            self.keeper.release()

    def step(self) -> Any:
        """Train for an iteration, then bring the league up to date; called by RLlib."""
        if self.keeper is not None:
            self.keeper.hold()
        result = super().step()
        if self.keeper is not None:
            result[LEAGUE] = self.keeper.update(self, self.iteration + 1)
        return result

    def restore_env_runners(self, env_runner_group: Any) -> list[int]:
        """Return which runners have come back; they play by the current settings; called by RLlib."""
        restored = super().restore_env_runners(env_runner_group)
        if restored:
            is_evaluation = env_runner_group is self.eval_env_runner_group
            config = self.evaluation_config if is_evaluation else self.config
            env_runner_group.foreach_env_runner(
                partial(play, env_config=dict(config.env_config)),
                remote_worker_ids=restored,
                local_env_runner=False,
            )
        return restored

    # ---- checkpoints ------------------------------------------------------------------------------

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what an algorithm that goes on from a checkpoint is made with; called by RLlib."""
        (config,), kwargs = super().get_ctor_args_and_kwargs()
        return ({**config, "league_keeper": self.keeper},), kwargs

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> Any:
        """Return the state of the algorithm, of its games and of its league; called by RLlib."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        if ray_private.is_wanted(self, GAMES, components, not_components):
            state[GAMES] = dict(self.config.env_config)
        if self.keeper is not None and ray_private.is_wanted(self, LEAGUE, components, not_components):
            state[LEAGUE] = self.keeper.get_state()
        return state

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``, be it older than the present one; called by RLlib."""
        with newer_weights(self) if COMPONENT_LEARNER_GROUP in state else contextlib.nullcontext():
            super().set_state(state)
        if GAMES in state:
            set_games(self, state[GAMES])
        if self.keeper is not None and LEAGUE in state:
            self.keeper.set_state(self, state[LEAGUE])
        if GAMES in state:  # which weights alone, of set_weights(), have not
            begin_new_games(self)

    def restore_from_path(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Go on from a checkpoint, or a part of one, be it older than the present state; called by RLlib."""
        with newer_weights(self):
            super().restore_from_path(path, *args, **kwargs)

    def cleanup(self) -> None:
        """End everything; another run may have the store then; called by RLlib."""
        try:
            super().cleanup()
        finally:
            self._release()


class TerritorialPPO(TerritorialAlgorithm, PPO):
    """PPO for these games."""

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return a configuration with all settings at their defaults."""
        return TerritorialPPOConfig()


class TerritorialIMPALA(TerritorialAlgorithm, IMPALA):
    """IMPALA for these games."""

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return a configuration with all settings at their defaults."""
        return TerritorialIMPALAConfig()


class TerritorialAPPO(TerritorialAlgorithm, APPO):
    """Asynchronous PPO for these games."""

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return a configuration with all settings at their defaults."""
        return TerritorialAPPOConfig()

    def cleanup(self) -> None:
        """End everything, also the thread of a learner in this process; called by RLlib."""
        super().cleanup()
        group = getattr(self, "learner_group", None)
        if group is not None and not group.is_remote:  # those in other processes end with them
            group.foreach_learner(ray_private.end_thread)


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

    def check_minibatch(self) -> None:
        """Raise ValueError, too, for rows that are not a number of whole fragments."""
        super().check_minibatch()
        size, fragment = self.minibatch_size, self.get_rollout_fragment_length()
        if size is not None and size % fragment:
            raise ValueError(
                f"minibatch_size is {size}; with IMPALA and APPO it must be a multiple of "
                f"rollout_fragment_length, {fragment}"
            )


class TerritorialAPPOConfig(TerritorialIMPALAConfig, APPOConfig):
    """The configuration of ``TerritorialAPPO``."""

    algorithm = TerritorialAPPO
    learner = TerritorialAPPOLearner

    def validate(self) -> None:
        """Raise ValueError, too, for modules without a target, and for a buffer in which updates get lost."""
        super().validate()
        for name, spec in ray_private.own_specs(self).items():
            if name != POOL and not issubclass(spec.module_class, TargetNetworkAPI):
                raise ValueError(
                    f"the module of {name!r} is a {spec.module_class.__name__}, which has no target network; "
                    "with APPO it must be a BoardModule, a PairModule or another TargetNetworkAPI of RLlib's"
                )
        held = self.circular_buffer_num_batches * self.circular_buffer_iterations_per_batch
        if self.use_circular_buffer and held < self.broadcast_interval:
            raise ValueError(
                f"broadcast_interval is {self.broadcast_interval}; it must be at most {held}, which is "
                "circular_buffer_num_batches times circular_buffer_iterations_per_batch. Learners wait for "
                "so many updates, and a buffer that is full drops batches"
            )


CONFIGS: dict[type, type[TerritorialConfig]] = {
    PPOConfig: TerritorialPPOConfig,
    APPOConfig: TerritorialAPPOConfig,  # before IMPALA's, of which it is derived
    IMPALAConfig: TerritorialIMPALAConfig,
}
"""The configurations of this package, by those of RLlib's that they are made of."""


def own_config(config: AlgorithmConfig) -> TerritorialConfig:
    """Return a configuration of this package with all settings of ``config``, which stays as it is.

    ValueError for a class of the user's own that is derived from RLlib's.
    """
    if isinstance(config, TerritorialConfig):
        return config.copy(copy_frozen=False)
    kind = CONFIGS.get(type(config))
    if kind is None or config.algo_class not in (None, *kind.algorithm.__mro__):
        base = next(own for theirs, own in CONFIGS.items() if isinstance(config, theirs))
        raise ValueError(
            f"the configuration is a {type(config).__qualname__} for {config.algo_class}; derive the one "
            f"from {base.__module__}.{base.__qualname__}, the other from {base.algorithm.__qualname__}"
        )
    own = kind()
    settings = vars(config.copy(copy_frozen=False))
    own.__dict__.update({name: value for name, value in settings.items() if name != "algo_class"})
    return own
