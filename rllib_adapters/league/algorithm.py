"""Algorithms that play a league, whatever the environment, and their configurations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import ray
from gymnasium import VectorizeMode
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core import COMPONENT_LEARNER, COMPONENT_LEARNER_GROUP, COMPONENT_RL_MODULE
from ray.rllib.core.rl_module.apis import TargetNetworkAPI
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.tune.result import TRIAL_INFO

from rllib_adapters import ray_private
from rllib_adapters.league.control import check_snapshots
from rllib_adapters.league.learners import WholeStates
from rllib_adapters.league.memory import check_memory
from rllib_adapters.league.pool import MOVED, pools_of, store_of
from territorial.config.validation import check_type, shown
from territorial.league import SnapshotStore
from territorial.memory.guard import MemoryGuard
from territorial.memory.measure import give_back

LEAGUE = "league"
"""The part of an algorithm's state, and of its results, that is the league's."""


class LeagueAlgorithm(Algorithm):
    """An algorithm that plays a league, keeps it in checkpoints, and writes to one store.

    Args:
        config: as ``configure`` or ``add_league`` made it, or as Tune hands it on.
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

    def setup(self, config: Any) -> None:
        """Build everything, and begin the run of a league; called by RLlib."""
        self.config.__dict__.update(is_in_algorithm=True, league_callback=None)
        self.league_callback = own = config.league_callback
        try:
            check_memory(self.config)
            store = self._moved_to if own is None else own.place(self._moved_to, self._trial)
            if store is not None:
                self.config.move_store(store)
            for spec in pools_of(self.config).values():
                path = spec.model_config["store"].path
                if not path.is_dir():
                    raise FileNotFoundError(f"the store {path} does not exist; {MOVED}")
            if own is not None and not own.goes_on:
                own.lock_store()
            super().setup(config)
            self.config.prepare(self)
            if own is not None:
                own.begin(self)
        except BaseException:
            self._release()
            raise

    def _release(self) -> None:
        if self.league_callback is not None:
            self.league_callback.release()

    def step(self) -> Any:
        """Train for an iteration, then bring the league up to date; called by RLlib."""
        if self.league_callback is not None:
            self.league_callback.lock_store()
        check_snapshots(self.config, self.config.table)
        with MemoryGuard(self.config.memory):
            result = super().step()
        self.restore_env_runners(self.env_runner_group)
        if self.league_callback is not None:
            self._raise_failures(None)  # it waits for all runners anyway
            result[LEAGUE] = self.league_callback.update(self, self.iteration + 1)
        give_back()  # the batches of the iteration, which have been freed by now
        return result

    def restore_env_runners(self, env_runner_group: Any) -> list[int]:
        """Return which runners have come back; they play by the current settings; called by RLlib.

        Where players failed, RLlib takes their runners for lost. Their errors are raised here, as otherwise
        an iteration that is to have so many steps would never end.
        """
        restored = super().restore_env_runners(env_runner_group)
        if restored:
            is_evaluation = env_runner_group is self.eval_env_runner_group
            self.bring_up_to_date(
                env_runner_group, restored, self.evaluation_config if is_evaluation else self.config
            )
            if not is_evaluation:
                self._raise_failures(restored)
        return restored

    def _raise_failures(self, runners: list[int] | None) -> None:
        """Raise what players failed with in the processes of these runners, or of all."""
        taken = self.env_runner_group.foreach_env_runner(
            lambda runner: runner.take_failures(), remote_worker_ids=runners, local_env_runner=False
        )
        for error in chain.from_iterable(taken):
            raise error

    def bring_up_to_date(self, group: Any, restored: list[int], config: Any) -> None:
        """Have runners that were made again play by ``config`` as it is now."""
        table = config.table
        group.foreach_env_runner(
            lambda runner: runner.set_league(table), remote_worker_ids=restored, local_env_runner=False
        )

    # ---- checkpoints ------------------------------------------------------------------------------

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what an algorithm that goes on from a checkpoint is made with; called by RLlib."""
        (config,), kwargs = super().get_ctor_args_and_kwargs()
        return ({**config, "league_callback": self.league_callback},), kwargs

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> Any:
        """Return the state of the algorithm, of its games and of its league; called by RLlib."""
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self.league_callback is not None and self._check_component(LEAGUE, components, not_components):
            state[LEAGUE] = self.league_callback.get_state()
        return state

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``, be it older than the present one; called by RLlib."""
        with newer_weights(self) if COMPONENT_LEARNER_GROUP in state else contextlib.nullcontext():
            super().set_state(state)
        has_games = self.take_games(state)
        if self.league_callback is not None and LEAGUE in state:
            self.league_callback.set_state(self, state[LEAGUE])
            has_games = True
        if has_games:  # which weights alone, of set_weights(), have not
            for group in groups_of(self):
                group.foreach_env_runner(lambda runner: runner.begin_new())

    def take_games(self, state: Any) -> bool:
        """Play the games of a state; return whether it has any."""
        return False

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
            group = getattr(self, "learner_group", None)
            if group is not None and not group.is_remote:  # threads in other processes end with them
                group.foreach_learner(ray_private.end_thread)


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
    for group in groups_of(algorithm):
        group.foreach_env_runner(lambda runner: _play_with(runner, shared))


def groups_of(algorithm: Any) -> list[Any]:
    """Return the groups of runners that an algorithm has."""
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


# ---- configurations --------------------------------------------------------------------------------------


class LeagueAlgorithmConfig(AlgorithmConfig):
    """The part that the configurations of algorithms that play a league share.

    A subclass has ``table``, which draws the players of games, and ``set_table(table)``. ValueError, when an
    algorithm is built, if its runners or learners are of other classes.

    Attributes:
        algorithm: the class of the algorithm, whose ``get_default_config`` returns such a configuration.
        runners: the classes of runners that there may be.
        learner: the class of learners.
        learner_base: what a class of learners must be derived from; None: from ``learner``.
        league_callback: the ``LeagueCallback`` of a run that is to begin; None: there is no league.
        memory: bytes that all processes may hold; 0: there is no limit.
        is_in_algorithm: True in the copy that one of this package's algorithms was built with.

    """

    algorithm: Any
    runners: tuple[type, ...]
    learner: type
    learner_base: type | None = None

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or self.algorithm)
        self.league_callback: Any = None
        self.memory = 0
        self.is_in_algorithm = False

    def __init_subclass__(cls) -> None:
        if "algorithm" in vars(cls):
            # Ray disassembles classes of actors with all classes in their attributes, so none may lead back.
            cls.algorithm.get_default_config = classmethod(lambda _: cls())

    # ---- who plays --------------------------------------------------------------------------------

    def move_store(self, store: SnapshotStore) -> None:
        """Have frozen seats play from ``store``; in place, as an algorithm's configuration is frozen."""
        for spec in pools_of(self).values():
            spec.model_config["store"] = store

    def is_evaluated_alike(self) -> bool:
        """Return whether the players of evaluations are those of other games."""
        return True

    # ---- what RLlib calls ---------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise ValueError for settings that cannot be; called by RLlib."""
        check_supported(self)
        _check_class("env_runner_cls", self.env_runner_cls, self.runners, "env_runners")
        _check_class("learner_class", self.learner_class, (self.learner_base or self.learner,), "learners")
        super().validate()

    def prepare(self, algorithm: Any) -> None:
        """Change what RLlib has built of an algorithm, before it begins; nothing unless a subclass does."""

    def get_default_learner_class(self) -> type:
        """Return the class of the learners; called by RLlib."""
        return self.learner

    def build_learner_group(self, **kwargs: Any) -> Any:
        """Return the learners; ValueError if the algorithm that asks is RLlib's own; called by RLlib."""
        if not self.is_in_algorithm:
            raise ValueError(FOREIGN)
        share_gpus = self.num_learners > 1 and 0 < self.num_gpus_per_learner < 1
        with ray_private.gloo_between_learners() if share_gpus else contextlib.nullcontext():
            return super().build_learner_group(**kwargs)


FOREIGN = (
    "the algorithm is RLlib's own, which saves no leagues and does not configure new runners; call "
    "config.build_algo(), or with Tune, Tuner(config.algo_class, param_space=config)"
)
"""The message on an algorithm that does not play leagues."""


def _check_class(name: str, given: Any, wanted: tuple[type, ...], method: str) -> None:
    if not (isinstance(given, type) and issubclass(given, wanted)):
        names = " or ".join(f"{kind.__module__}.{kind.__qualname__}" for kind in wanted)
        raise ValueError(
            f"{name} is {given!r}; derive it from {names}, and set it with config.{method}({name}=...)"
        )


def check_supported(config: Any) -> None:
    """Raise ValueError for another framework, and for environments that are stepped asynchronously."""
    if config.framework_str != "torch":
        raise ValueError(
            f"framework is {config.framework_str!r}; it must be 'torch', as RLlib's new API stack and this "
            "package have no other"
        )
    if config.gym_env_vectorize_mode not in ("sync", VectorizeMode.SYNC):
        raise ValueError(
            f"gym_env_vectorize_mode is {config.gym_env_vectorize_mode!r}; it must be 'sync', as RLlib has "
            "no other for a MultiAgentEnv. num_env_runners sets processes, num_envs_per_env_runner games "
            "side by side, and num_cpus_per_env_runner threads of the engine"
        )


def check_targets(config: Any) -> None:
    """Raise ValueError for modules without a target network, which APPO needs."""
    pools = pools_of(config)
    for name, spec in config._rl_module_spec.rl_module_specs.items():
        if name not in pools and not issubclass(spec.module_class, TargetNetworkAPI):
            raise ValueError(
                f"the module of {name!r} is a {spec.module_class.__name__}, which has no target network; "
                "with APPO it must be a TargetNetworkAPI of RLlib's, as a BoardModule and a PairModule are"
            )


OFFLINE = "it learns from recorded data, and not from the games that its runners play"
REASONS = {
    "DQN": "add_league has no replay buffer; configure(...), for this game, has one for learners on pairs",
    "SAC": "it learns a policy and two networks of values of actions, and no module here has all three",
    "CQL": OFFLINE,
    "BC": OFFLINE,
    "MARWIL": OFFLINE,
    "IQL": OFFLINE,
    "DreamerV3": "it learns a world model of one agent, which needs another runner",
}
"""Why an algorithm cannot play leagues, by its name."""


Trainable = type[RLModule] | tuple[type[RLModule], Mapping[str, Any]]
"""The class of a module that learns, alone or with entries of its own for the ``model_config``."""


def classes_of(
    modules: Mapping[str, Trainable], learners: Sequence[str]
) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """Return the class and the settings of the module of every learner; ValueError unless each has one."""
    check_type("modules", modules, Mapping, "a dict of classes by learner")
    if set(modules) != set(learners):
        raise ValueError(
            f"the modules are {', '.join(sorted(modules)) or 'none'}; the learners of the league are "
            f"{', '.join(sorted(learners))}, and each needs one module"
        )
    found = {name: one if isinstance(one := modules[name], tuple) else (one, {}) for name in learners}
    for name, one in found.items():
        if len(one) != 2 or not isinstance(one[1], Mapping):
            raise TypeError(
                f"modules[{name!r}] is {shown(one)}; it must be a class, or a pair of it and a model_config"
            )
    return found


def converted(config: AlgorithmConfig, kinds: dict[type, type[LeagueAlgorithmConfig]]) -> Any:
    """Return a configuration of ``kinds`` with all settings of ``config``, which stays as it is.

    ``kinds``: by the configuration of RLlib's that each extends. ValueError for the old API stack, for other
    algorithms, and for a class of the user's own that is derived from RLlib's; TypeError for anything else.
    """
    check_type("config", config, AlgorithmConfig, "a configuration of RLlib's, such as PPOConfig()")
    if not (config.enable_rl_module_and_learner and config.enable_env_runner_and_connector_v2):
        raise ValueError(
            "the configuration is for the old API stack, where each policy keeps its own copies "
            "of observations; leave config.api_stack(...) at its default"
        )
    if any(isinstance(config, kind) for kind in kinds.values()):
        return config.copy(copy_frozen=False)
    name = getattr(config.algo_class, "__name__", type(config).__name__.removesuffix("Config"))
    base = next((kinds[theirs] for theirs in type(config).__mro__ if theirs in kinds), None)
    if base is None:
        reason = REASONS.get(name, "it was not tested with leagues")
        *known, last = (one.__name__.removesuffix("Config") for one in kinds)
        raise ValueError(
            f"the algorithm {name} cannot be configured: {reason}; use {', '.join(known)} or {last}"
        )
    kind = kinds.get(type(config))
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
