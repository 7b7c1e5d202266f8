"""Configurations of algorithms that play a league."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import VectorizeMode
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.apis import TargetNetworkAPI

from rllib_adapters import ray_private
from rllib_adapters.league.pool import pools_of
from territorial.league import SnapshotStore


class LeagueAlgorithmConfig(AlgorithmConfig):
    """The part that the configurations of algorithms that play a league share.

    A subclass has ``table``, which draws the players of games, and ``set_table(table)``. ValueError, when an
    algorithm is built, if its runners or learners are of other classes.
    """

    algorithm: Any
    """The class of the algorithm, whose ``config_class`` it becomes."""
    runners: tuple[type, ...]
    learner: type
    learner_base: type | None = None
    """What a class of learners must be derived from; None: from ``learner``."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class or self.algorithm)
        self.league_callback: Any = None
        """The ``LeagueCallback`` of a run that is to begin; None: there is no league."""
        self.memory = 0
        """Bytes that all processes may hold; 0: there is no limit."""
        self.is_in_algorithm = False
        """True in the copy that one of this package's algorithms was built with."""

    def __init_subclass__(cls) -> None:
        if "algorithm" in vars(cls):
            cls.algorithm.config_class = cls

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


def classes_of(
    modules: Mapping[str, Any], learners: Sequence[str]
) -> dict[str, tuple[Any, Mapping[str, Any]]]:
    """Return the class and the settings of the module of every learner; ValueError unless each has one."""
    if set(modules) != set(learners):
        raise ValueError(
            f"the modules are {', '.join(sorted(modules)) or 'none'}; the learners of the league are "
            f"{', '.join(learners)}, and each needs one module"
        )
    given = {name: modules[name] for name in learners}
    return {name: one if isinstance(one, tuple) else (one, {}) for name, one in given.items()}


def converted(config: AlgorithmConfig, kinds: dict[type, type[LeagueAlgorithmConfig]]) -> Any:
    """Return a configuration of ``kinds`` with all settings of ``config``, which stays as it is.

    ``kinds``: by the configuration of RLlib's that each extends. ValueError for the old API stack, for other
    algorithms, and for a class of the user's own that is derived from RLlib's.
    """
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
