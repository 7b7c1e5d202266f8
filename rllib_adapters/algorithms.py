"""RLlib algorithms that train a league: PPO, IMPALA and APPO."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import ray
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPO, APPOConfig
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_LEARNER_GROUP, COMPONENT_RL_MODULE
from ray.rllib.core.rl_module.apis import TargetNetworkAPI
from ray.tune.result import TRIAL_INFO

from rllib_adapters import ray_private
from rllib_adapters.envs.batch import taken_from
from rllib_adapters.envs.env_config import POOL, EnvConfig
from rllib_adapters.league.control import check_snapshots, league_of, set_league
from rllib_adapters.league.curriculum import apply_settings, go_over
from rllib_adapters.learning.algorithm_config import TerritorialConfig
from rllib_adapters.learning.learners import (
    TerritorialAPPOLearner,
    TerritorialIMPALALearner,
    TerritorialPPOLearner,
    WholeStates,
)
from rllib_adapters.modules.frozen_pool import check_store, move_store, store_of
from rllib_adapters.sampling.runner import StockEnvRunner, TerritorialEnvRunner
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
        self.league_callback: Any = None
        """The ``LeagueCallback``; None: there is no league."""
        own = config.copy(copy_frozen=False) if isinstance(config, AlgorithmConfig) else config
        super().__init__(own, env, **kwargs)

    @classmethod
    def get_default_config(cls) -> AlgorithmConfig:
        """Return a configuration with all settings at their defaults."""
        return next(kind for kind in CONFIGS.values() if issubclass(cls, kind.algorithm))()

    def setup(self, config: Any) -> None:
        """Build everything, and begin the run of a league; called by RLlib."""
        self.config.__dict__.update(is_in_algorithm=True, league_callback=None)
        self.league_callback = config.league_callback
        try:
            self._take_store()
            super().setup(config)
            self.config.prepare(self)
            if self.league_callback is not None:
                self.league_callback.begin(self)
        except BaseException:
            self._release()
            raise

    def _take_store(self) -> None:
        """Have the pool and the league play what is in the store of this run."""
        store = self._moved_to
        if self.league_callback is not None:
            store = self.league_callback.place(self._moved_to, self._trial)
        if store is not None:
            move_store(self.config, store)
        check_store(self.config)
        if self.league_callback is not None and not self.league_callback.goes_on:
            self.league_callback.lock_store()

    def _release(self) -> None:
        if self.league_callback is not None:
            self.league_callback.release()

    def step(self) -> Any:
        """Train for an iteration, then bring the league up to date; called by RLlib."""
        if self.league_callback is not None:
            self.league_callback.lock_store()
        check_snapshots(self.config, league_of(self))
        result = super().step()
        if self.league_callback is not None:
            result[LEAGUE] = self.league_callback.update(self, self.iteration + 1)
        return result

    def restore_env_runners(self, env_runner_group: Any) -> list[int]:
        """Return which runners have come back; they play by the current settings; called by RLlib."""
        restored = super().restore_env_runners(env_runner_group)
        if restored:
            is_evaluation = env_runner_group is self.eval_env_runner_group
            config = self.evaluation_config if is_evaluation else self.config
            env_runner_group.foreach_env_runner(
                partial(apply_settings, env_config=dict(config.env_config)),
                remote_worker_ids=restored,
                local_env_runner=False,
            )
        return restored

    # ---- checkpoints ------------------------------------------------------------------------------

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what an algorithm that goes on from a checkpoint is made with; called by RLlib."""
        (config,), kwargs = super().get_ctor_args_and_kwargs()
        return ({**config, "league_callback": self.league_callback},), kwargs

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> Any:
        """Return the state of the algorithm, of its games and of its league; called by RLlib."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self._check_component(GAMES, components, not_components):
            state[GAMES] = dict(self.config.env_config)
        if self.league_callback is not None and self._check_component(LEAGUE, components, not_components):
            state[LEAGUE] = self.league_callback.get_state()
        return state

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``, be it older than the present one; called by RLlib."""
        with newer_weights(self) if COMPONENT_LEARNER_GROUP in state else contextlib.nullcontext():
            super().set_state(state)
        if GAMES in state:
            set_games(self, state[GAMES])
        if self.league_callback is not None and LEAGUE in state:
            self.league_callback.set_state(self, state[LEAGUE])
        if GAMES in state:  # which weights alone, of set_weights(), have not
            for group in _groups(self):
                group.foreach_env_runner(_begin_new)

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


class TerritorialIMPALA(TerritorialAlgorithm, IMPALA):
    """IMPALA for these games."""


class TerritorialAPPO(TerritorialAlgorithm, APPO):
    """Asynchronous PPO for these games."""

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
        for name, spec in self._rl_module_spec.rl_module_specs.items():
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
    if not (config.enable_rl_module_and_learner and config.enable_env_runner_and_connector_v2):
        raise ValueError(
            "the configuration is for the old API stack, where each policy keeps its own copies "
            "of observations; leave config.api_stack(...) at its default"
        )
    if isinstance(config, TerritorialConfig):
        return config.copy(copy_frozen=False)
    name = getattr(config.algo_class, "__name__", type(config).__name__.removesuffix("Config"))
    base = next((CONFIGS[theirs] for theirs in type(config).__mro__ if theirs in CONFIGS), None)
    if base is None:
        reason = REASONS.get(name, "it was not tested with boards that agents share")
        raise ValueError(f"the algorithm {name} cannot be configured: {reason}; use PPO, IMPALA or APPO")
    kind = CONFIGS.get(type(config))
    if kind is None or config.algo_class not in (None, *kind.algorithm.__mro__):
        raise ValueError(
            f"the configuration is a {type(config).__qualname__} for {config.algo_class}; derive the "
            f"configuration from {base.__module__}.{base.__qualname__} and the algorithm from "
            f"{base.algorithm.__qualname__}"
        )
    own = kind()
    settings = vars(config.copy(copy_frozen=False))
    own.__dict__.update({name: value for name, value in settings.items() if name != "algo_class"})
    return own


# ---- restores --------------------------------------------------------------------------------------------


@contextmanager
def newer_weights(algorithm: Any) -> Iterator[None]:
    """Have the weights that learners are given within the block in all learners and runners after it.

    RLlib's learners and runners pass over weights whose sequence number is not above that of their own. So
    learners have a number below all others when they are given a state, and its weights then get one above
    all before. Asynchronous learners learn nothing more from batches that waited for them.
    """
    learners = algorithm.learner_group
    (before, *_) = (one.get() for one in learners.foreach_learner(_take_number))
    try:
        yield
    finally:
        learners.foreach_learner(lambda learner: _set_number(learner, before))
    weights = f"{COMPONENT_LEARNER}/{COMPONENT_RL_MODULE}"
    state = learners.get_state(components=[weights], inference_only=True)[COMPONENT_LEARNER]
    shared = ray.put(state)  # RLlib's own call does not wait, and drops what is sent meanwhile
    for group in _groups(algorithm):
        group.foreach_env_runner(lambda runner: _play_with(runner, shared))


def set_games(algorithm: Any, env_config: Mapping[str, Any]) -> None:
    """Let an algorithm play the games of an ``env_config``; who plays is a kept league's to say."""
    present, wanted = algorithm.config.env_config, dict(env_config)
    table = league_of(algorithm) if algorithm.league_callback else EnvConfig.from_config(wanted).table
    if "store" in present:
        wanted["store"] = present["store"]
    if _others(present) != _others(wanted):
        wanted.pop("seats", None)
        go_over(algorithm, {**wanted, "league": table})
    elif table.to_dict() != league_of(algorithm).to_dict():
        set_league(algorithm, table)


def _others(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of an ``env_config`` that do not say who plays."""
    known = EnvConfig.from_config(entries).to_dict()
    return {name: value for name, value in known.items() if name not in ("seats", "league")}


def _groups(algorithm: Any) -> list[Any]:
    return [group for group in (algorithm.env_runner_group, algorithm.eval_env_runner_group) if group]


def _take_number(learner: Any) -> int:
    if isinstance(learner, WholeStates):
        learner.pass_over_waiting()
    number = learner._weights_seq_no
    # It stays below those of checkpoints while the thread of the learner counts on.
    learner._weights_seq_no = -(2**62)
    return number


def _set_number(learner: Any, before: int) -> None:
    least = before + 1 if before else 0
    learner._weights_seq_no = max(least, learner._weights_seq_no)


def _play_with(runner: Any, shared: Any) -> None:
    if runner.module is not None:
        runner.set_state(ray.get(shared))


def _begin_new(runner: Any) -> None:
    """Let a runner begin with new games; those of before, and how they ended, are forgotten."""
    taken_from(runner)
    runner._needs_initial_reset = True
    if runner.module is not None and POOL in runner.module:
        # A snapshot that is open may be replaced by another one of its name before it acts again.
        runner.module[POOL].opponents.close()


# ---- several asynchronous learners -----------------------------------------------------------------------


def keep_batches_equal(algorithm: Any) -> None:
    """Keep learners of an algorithm that wait for one another from waiting without end.

    RLlib sends the parts of a batch to all learners but those that have enough of them waiting. Gradients are
    means over all learners, so a learner that got one part more waits for a partner that will not come. Here
    a batch that one of them has no room for is dropped for all, and counted as RLlib counts it.
    """
    manager = algorithm.learner_group._worker_manager
    send = manager.foreach_actor_async

    def send_to_all_or_none(func: Any, tag: str | None = None, **kwargs: Any) -> int:
        if func == "update" and not ray_private.has_room(manager, tag):
            return 0
        return int(send(func, tag, **kwargs))

    manager.foreach_actor_async = send_to_all_or_none
