"""Options that all algorithm configurations add to RLlib's settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ray.rllib.algorithms.algorithm_config import NOT_SERIALIZABLE
from ray.rllib.connectors.common import AddObservationsFromEpisodesToBatch

from rllib_adapters.envs.env_config import (
    ROWS,
    RULES,
    EnvConfig,
    changed_entries,
    most_seats_of_a_learner,
)
from rllib_adapters.league.algorithm import FOREIGN, LeagueAlgorithmConfig
from rllib_adapters.observations.connector import AddOpponents
from territorial.config.fields import check_values, option
from territorial.config.validation import hint, one_of
from territorial.league import SnapshotStore
from territorial.league.seating import LineUps


@dataclass(frozen=True)
class LearningOptions:
    """The options of ``TerritorialConfig.learning``, which says what they mean."""

    share: float = option(1.0, "fraction of the rows that an update uses, drawn by priority", 0.001, 1)
    bf16: bool = False
    sampled_values: bool = True
    held_rows: bool = True

    def __post_init__(self) -> None:
        check_values(self)


class TerritorialConfig(LeagueAlgorithmConfig):
    """The part that the configurations of this package's algorithms share; ``configure`` makes one.

    What must run is in the classes of the algorithm, the runners and the learners, so that callbacks are the
    user's alone. ValueError, when an algorithm is built, if one of these is not of this package.

    A train batch is counted in steps of the game, and a minibatch in rows, of which every learning seat has
    one a step: ``minibatch_size`` may be as many times ``train_batch_size_per_learner``.
    """

    learning_options = LearningOptions()
    modules: ClassVar[Mapping[str, type]] = {}
    """The modules that learn by default, by form of observations, where they are others than elsewhere."""

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class)
        self.made_for: dict[str, Any] = {}
        """``EnvConfig.built_for`` of the games that ``configure`` has made the rest for."""

    @property
    def table(self) -> LineUps:
        """What draws the players of games."""
        return EnvConfig.from_config(self.env_config).table

    def set_table(self, table: LineUps) -> None:
        """Play by ``table``; in place, as an algorithm's configuration is frozen."""
        self.env_config.pop("seats", None)
        self.env_config["league"] = table

    def move_store(self, store: SnapshotStore) -> None:
        """Have the pool and the games play from ``store``; in place."""
        super().move_store(store)
        if self.env_config.get("store") is not None:
            self.env_config["store"] = store

    def is_evaluated_alike(self) -> bool:
        """Return whether the players of evaluations are those of other games."""
        own = evaluation_entries(self)
        return own is not None and not own.keys() & {"league", "seats"}

    def learning(
        self,
        *,
        share: float | None = None,
        bf16: bool | None = None,
        sampled_values: bool | None = None,
        held_rows: bool | None = None,
    ) -> TerritorialConfig:
        """Set how learners learn, and return the configuration; other options stay as they are.

        Args:
            share: fraction of the rows that an update uses; default 1. Rows are drawn for every train batch,
                those more often that have a large advantage and an unlikely action. They are weighted so that
                the expected gradient is that of all rows. PPO alone has it.
            bf16: whether networks compute in bfloat16 when they learn, which pays for large ones; losses and
                weights are float32. Default False.
            sampled_values: whether values that runners sent are taken for advantages, if they were computed
                with the learner's weights; default True.
            held_rows: whether rows are learned from in which an agent could only hold, as after its death in
                a game of teams. Such a row says nothing of the policy, only of the value. Without them,
                advantages look through them to the next choice. PPO alone has it; default True.

        """
        given = {name: value for name, value in locals().items() if name != "self" and value is not None}
        self.learning_options = dataclasses.replace(self.learning_options, **given)
        return self

    def build_env_to_module_connector(self, *args: Any, **kwargs: Any) -> Any:
        """Return RLlib's pipeline, in which the pool gets the snapshots of its rows; called by RLlib."""
        pipeline = super().build_env_to_module_connector(*args, **kwargs)
        if self.add_default_connectors_to_env_to_module_pipeline:
            pipeline.insert_after(AddObservationsFromEpisodesToBatch, AddOpponents())
        return pipeline

    def get_evaluation_config_object(self) -> Any:
        """Return the settings of evaluations, whose games differ in entries of theirs; called by RLlib."""
        found, own = super().get_evaluation_config_object(), evaluation_entries(self)
        if found is not None and own:
            found.env_config = changed_entries(self.env_config, own)
        return found

    def validate(self) -> None:
        """Raise ValueError for settings that cannot be; called by RLlib."""
        size = self.__dict__["minibatch_size"]
        try:
            self.__dict__["minibatch_size"] = None  # RLlib compares rows with steps of the game
            super().validate()
        finally:
            self.__dict__["minibatch_size"] = size
        check_hooks = getattr(self.env_runner_cls, "check_hooks", None)
        if check_hooks is not None:
            check_hooks(self)
        options = EnvConfig.from_config(self.env_config)
        if self.in_evaluation:
            check_made_for(self, options, (*RULES, *ROWS), "evaluation_config: ")
        else:
            check_made_for(self, options)
            check_evaluation(self)
            self.check_batches()

    def check_batches(self) -> None:
        """Raise ValueError if a minibatch is to have more rows than a train batch may have for any module."""
        size, steps = self.minibatch_size, self.train_batch_size_per_learner
        seats = most_seats_of_a_learner(EnvConfig.from_config(self.env_config).table)
        rows, counted = steps * seats, f"{steps} steps of up to {seats} seats that learn"
        if self.count_steps_by == "agent_steps":
            rows, counted = steps, f"{steps} agent steps"
        share = self.learning_options.share
        if share < 1:
            rows, counted = round(rows * share), f"a share of {share} of {counted}"
        if isinstance(size, int) and size > rows:
            raise ValueError(
                f"minibatch_size is {size}; a train batch has at most {rows} rows for a "
                f"module: {counted}. Use a smaller minibatch_size, or a larger "
                "train_batch_size_per_learner"
            )

    def serialize(self) -> dict[str, Any]:
        """Return the settings as values that JSON has; ``configure`` takes the ``env_config`` among them."""
        values = super().serialize()
        values["env_config"] = EnvConfig.from_config(self.env_config).to_dict()
        return {key: _plain(value) for key, value in values.items()}


def evaluation_entries(config: Any) -> Mapping[str, Any] | None:
    """Return the entries of the ``env_config`` that evaluations have of their own.

    None if all settings of evaluations are their own, as those of a whole configuration are.
    """
    own = config.evaluation_config or {}
    return dict(own.get("env_config") or {}) if isinstance(own, Mapping) else None


def check_made_for(config: Any, options: EnvConfig, free: tuple[str, ...] = (), where: str = "") -> None:
    """Raise ValueError for games that ``configure`` has not made the modules of ``config`` for.

    ``free`` begins the names of what may differ; ``where`` begins the message.
    """
    made = config.made_for
    for name, value in options.built_for.items() if made else ():
        if made.get(name) != value and not name.startswith(free):
            raise ValueError(
                f"{where}{name} is {value!r}, but configure(...) has made the modules for "
                f"{repr(made[name]) if name in made else 'none'}; pass this entry to configure(...), instead "
                "of changing it afterwards. What a later league or an evaluation draws must be in the league "
                "there, if only with a small weight"
            )


def check_config(config: Any) -> None:
    """Raise ValueError if a runner's ``config`` is that of an algorithm of RLlib's own."""
    if not isinstance(config, TerritorialConfig):
        raise ValueError(FOREIGN)


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON has it: classes and functions by name, the rest marked as RLlib does."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, SnapshotStore):
        return str(value.path)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {spec.name: _plain(getattr(value, spec.name)) for spec in dataclasses.fields(value)}
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return NOT_SERIALIZABLE


# ---- evaluations -----------------------------------------------------------------------------------------


def check_evaluation(config: Any) -> None:
    """Raise ValueError for a setting of evaluations that RLlib would pass over or misread."""
    for setting, wanted in (("offline_evaluation_interval", None), ("num_offline_eval_runners", 0)):
        value = getattr(config, setting)
        if value:
            raise ValueError(
                f"{setting} is {value!r}; it must be {wanted}: offline evaluations read records, and these "
                "algorithms play games. Use config.evaluation(evaluation_interval=...)"
            )
    function = config.custom_evaluation_function
    if function is not None and not callable(function):
        raise TypeError(f"custom_evaluation_function is {function!r}; it must be callable, or None")
    one_of("evaluation_duration_unit", config.evaluation_duration_unit, ("episodes", "timesteps"))
    own = config.evaluation_config
    if not isinstance(own, Mapping):
        return
    known = {**vars(config), **config.to_dict()}
    for name in own:
        if name not in known and not hasattr(config, name):
            raise ValueError(
                f"evaluation_config has the entry {name!r}{hint(name, known)}; its entries are settings of "
                "the algorithm's configuration"
            )
    env = own.get("env", config.env)
    if env is not config.env:
        raise ValueError(
            f"the env of evaluation_config is {env!r}; it must be that of the configuration, "
            f"{config.env!r}. Other games are entries of its env_config"
        )
