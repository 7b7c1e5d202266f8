"""RLlib algorithms that train a league: PPO, IMPALA, APPO and DQN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from ray.rllib.algorithms.appo import APPO, APPOConfig
from ray.rllib.algorithms.dqn import DQN, DQNConfig
from ray.rllib.algorithms.dqn.dqn import calculate_rr_weights
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.core.rl_module.apis import QNetAPI
from ray.rllib.execution.rollout_ops import synchronous_parallel_sample
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch
from ray.rllib.utils.metrics import (
    ENV_RUNNER_RESULTS,
    ENV_RUNNER_SAMPLING_TIMER,
    LEARNER_RESULTS,
    LEARNER_UPDATE_TIMER,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    TD_ERROR_KEY,
    TIMERS,
)
from ray.rllib.utils.schedules.scheduler import Scheduler

from rllib_adapters.curriculum import apply_settings, go_over
from rllib_adapters.envs.env_config import GAMES, EnvConfig, learners_of, parts_of
from rllib_adapters.league.algorithm import LeagueAlgorithm, check_targets, keep_batches_equal
from rllib_adapters.league.control import set_league
from rllib_adapters.learning.algorithm_config import TerritorialConfig
from rllib_adapters.learning.learners import (
    TerritorialAPPOLearner,
    TerritorialDQNLearner,
    TerritorialIMPALALearner,
    TerritorialPPOLearner,
)
from rllib_adapters.learning.replay import ReplayBuffer
from rllib_adapters.modules.pairs import QPairModule
from rllib_adapters.sampling.runner import StockEnvRunner, TerritorialEnvRunner
from territorial.config.validation import finite_number, one_of, whole_number
from territorial.envs.forms import GameSizes
from territorial.files.bounded import check_fields
from territorial.files.room import check_room
from territorial.memory.predict import replay_bytes

RUNNERS = {"batched": TerritorialEnvRunner, "stock": StockEnvRunner}


class TerritorialAlgorithm(LeagueAlgorithm):
    """What the algorithms of this package share: ``LeagueAlgorithm`` has the arguments."""

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
        """Play the games of a state, and return whether it has any; who plays is a kept league's to say."""
        if GAMES not in state:
            return False
        present, wanted = self.config.env_config, dict(state[GAMES])
        table = self.config.table if self.league_callback else EnvConfig.from_config(wanted).table
        if "store" in present:
            wanted["store"] = present["store"]
        if _others(present) != _others(wanted):
            wanted.pop("seats", None)
            go_over(self, {**wanted, "league": table})
        elif table.to_dict() != self.config.table.to_dict():
            set_league(self, table)
        return True


class TerritorialPPO(TerritorialAlgorithm, PPO):
    """PPO for these games."""


class TerritorialIMPALA(TerritorialAlgorithm, IMPALA):
    """IMPALA for these games."""


class TerritorialAPPO(TerritorialAlgorithm, APPO):
    """Asynchronous PPO for these games."""


class TerritorialDQN(TerritorialAlgorithm, DQN):
    """DQN for these games, whose rows are agent steps in a ``ReplayBuffer`` of each module.

    Buffers are no part of checkpoints, and are emptied where the settings of games change. A module learns
    once its buffer has ``num_steps_sampled_before_learning_starts`` agent steps.
    """

    local_replay_buffer: dict[str, ReplayBuffer]

    def _create_local_replay_buffer_if_necessary(self, config: Any) -> Any:
        """Return no buffer yet; overrides ``Algorithm._create_local_replay_buffer_if_necessary``."""
        own = self.config.replay_buffer_config
        return defaultdict(lambda: ReplayBuffer(own["capacity"], own["alpha"], self.config.seed))

    def training_step(self) -> None:
        """Play, store what was played, and learn from what is stored; called by RLlib."""
        config, metrics, buffers = self.config, self.metrics, self.local_replay_buffer
        samples, updates = calculate_rr_weights(config)
        for _ in range(samples):
            with metrics.log_time((TIMERS, ENV_RUNNER_SAMPLING_TIMER)):
                episodes, results = synchronous_parallel_sample(
                    worker_set=self.env_runner_group,
                    sample_timeout_s=config.sample_timeout_s,
                    _uses_new_env_runners=True,
                    _return_metrics=True,
                )
            metrics.aggregate(results, key=ENV_RUNNER_RESULTS)
            for own in (own for episode in episodes for own in episode.agent_episodes.values()):
                buffers[own.module_id].add(own)
        least = max(1, config.num_steps_sampled_before_learning_starts)
        full = {name: buffer for name, buffer in buffers.items() if len(buffer) >= least}
        if not full:
            return
        for _ in range(updates):
            with metrics.log_time((TIMERS, LEARNER_UPDATE_TIMER)):
                self._learn(full)
        self.env_runner_group.sync_weights(
            from_worker_or_learner_group=self.learner_group, policies=list(full), inference_only=True
        )

    def _learn(self, buffers: Mapping[str, ReplayBuffer]) -> None:
        """Make an update of the steps that each of these buffers draws."""
        config = self.config
        count, beta = config.total_train_batch_size, config.replay_buffer_config["beta"]
        rows = {name: one.sample(count, config.n_step, config.gamma, beta) for name, one in buffers.items()}
        batch = MultiAgentBatch({name: SampleBatch(own) for name, own in rows.items()}, env_steps=count)
        steps = self.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME))
        (found,) = self.learner_group.update(batch=batch, timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: steps})
        for name, buffer in buffers.items():
            buffer.update_priorities(np.concatenate(found[name].pop(TD_ERROR_KEY).peek()))
        self.metrics.aggregate([found], key=LEARNER_RESULTS)


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


class TerritorialDQNConfig(TerritorialConfig, DQNConfig):
    """The configuration of ``TerritorialDQN``.

    The ``capacity`` of ``replay_buffer_config`` counts what agents of each module that learns have observed.
    """

    algorithm = TerritorialDQN
    runners = tuple(RUNNERS.values())
    learner = TerritorialDQNLearner
    modules: ClassVar[Mapping[str, type]] = {QPairModule.reads: QPairModule}

    def check_batches(self) -> None:
        """Raise ValueError for what DQN cannot learn from or with; MemoryError for a buffer without room."""
        options, learning = EnvConfig.from_config(self.env_config), self.learning_options
        bytes_of_step = sum(self._check_learner(options, name) for name in learners_of(options.table))
        for setting, value, wanted, reason in (
            ("num_learners", max(self.num_learners, 1), 1, "batches from a buffer are not divided"),
            ("num_atoms", self.num_atoms, 1, "a module has one value for each action"),
            ("minibatch_size", self.minibatch_size, None, "an update is of one train batch"),
            ("num_epochs", self.num_epochs, 1, "an update is of one train batch"),
            ("noisy", self.noisy, False, "modules explore by epsilon"),
            ("before_learn_on_batch", self.before_learn_on_batch, None, "rows are learned from as drawn"),
            ("store_buffer_in_checkpoints", self.store_buffer_in_checkpoints, False, "it is filled again"),
            ("learner_connector", self._learner_connector, None, "rows come from the buffer as they are"),
            ("episodes_to_numpy", self.episodes_to_numpy, True, "the buffer stores arrays"),
            ("share", learning.share, 1, "rows are drawn by priority already"),
            ("held_rows", learning.held_rows, True, "there are no advantages that look through them"),
        ):
            if value != wanted:
                raise ValueError(f"{setting} is {value!r}; with DQN it must be {wanted!r}, as {reason}")
        finite_number("gamma", self.gamma, 0, 1)
        own = self.replay_buffer_config
        # RLlib's default, in whose place a ReplayBuffer comes.
        one_of("the type of replay_buffer_config", own.get("type"), ("PrioritizedEpisodeReplayBuffer",))
        check_fields("replay_buffer_config", own, ("type", "capacity", "alpha", "beta"))
        for name in ("alpha", "beta"):
            finite_number(f"{name} of replay_buffer_config", own[name], 0, 1)
        least = 2 * self.num_steps_sampled_before_learning_starts  # a step has two observations at most
        capacity = whole_number("capacity of replay_buffer_config", own["capacity"], max(2, least))
        check_room("the steps in the replay buffer", capacity * bytes_of_step, "use a smaller capacity")

    def validate(self) -> None:
        """Raise ValueError, too, for numbers of steps and chances that RLlib takes as they are."""
        whole_number("n_step", self.n_step, 1)
        whole_number(
            "num_steps_sampled_before_learning_starts", self.num_steps_sampled_before_learning_starts, 0
        )
        super().validate()
        Scheduler.validate(
            fixed_value_or_schedule=self.epsilon, setting_name="epsilon", description="exploration"
        )
        is_fixed = isinstance(self.epsilon, (int, float))
        for chance in [self.epsilon] if is_fixed else [chance for _, chance in self.epsilon]:
            finite_number("epsilon", chance, 0, 1)

    def _check_learner(self, options: EnvConfig, name: str) -> int:
        """Return the bytes of a step of a learner in the buffer; ValueError if DQN cannot learn from it."""
        form = options.form_of(name)
        if parts_of(form)[0].shared:
            raise ValueError(
                f"obs of {name!r} is {form!r}; with DQN it must be 'pairs', as the replay buffer would keep "
                "a copy of the boards for every agent and step"
            )
        own = options.options_of(form)
        if own.format(options.config).shape:
            raise ValueError(
                f"action_format of {name!r} is {own.action_format!r}; with DQN it must be 'pairs', whose "
                "actions are one number, as each action needs a value"
            )
        kind = self._rl_module_spec.rl_module_specs[name].module_class
        if not issubclass(kind, QNetAPI):
            raise ValueError(
                f"the module of {name!r} is a {kind.__name__}; with DQN it must be a QNetAPI and a "
                "TargetNetworkAPI of RLlib's, as a QPairModule is"
            )
        return replay_bytes(own.form(GameSizes(options.config, options.layout)))

    def get_multi_rl_module_spec(self, **kwargs: Any) -> Any:
        """Return the specs of all modules, those that learn with ``epsilon``; called by RLlib."""
        found = super().get_multi_rl_module_spec(**kwargs)
        for spec in found.rl_module_specs.values():
            if issubclass(spec.module_class, QNetAPI):
                spec.model_config = {**spec.model_config, "epsilon": self.epsilon}
        return found


CONFIGS: dict[type, type[TerritorialConfig]] = {
    PPOConfig: TerritorialPPOConfig,
    IMPALAConfig: TerritorialIMPALAConfig,
    APPOConfig: TerritorialAPPOConfig,
    DQNConfig: TerritorialDQNConfig,
}
"""The configurations of this package by those of RLlib that they extend."""


def _others(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of an ``env_config`` that do not say who plays."""
    known = EnvConfig.from_config(entries).to_dict()
    return {name: value for name, value in known.items() if name not in ("seats", "league")}
