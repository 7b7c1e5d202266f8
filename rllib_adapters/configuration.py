"""``configure``: prepares an RLlib ``AlgorithmConfig`` for these environments."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.apis import QNetAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec

from rllib_adapters.algorithms import CONFIGS, RUNNERS
from rllib_adapters.envs.env_config import (
    BOTH,
    POOL,
    EnvConfig,
    draws_snapshots,
    learners_of,
    module_of,
    parts_of,
    shipped_entries,
)
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.algorithm import Trainable, classes_of, converted
from rllib_adapters.league.callback import LeagueCallback
from rllib_adapters.league.control import give_weights, weights_of
from rllib_adapters.league.pool import store_of
from rllib_adapters.learning.algorithm_config import TerritorialConfig
from rllib_adapters.modules.board import BoardModule, settings_of
from rllib_adapters.modules.frozen_pool import FrozenPool, pool_settings
from rllib_adapters.modules.pairs import PairModule
from rllib_adapters.networks import default_of
from rllib_adapters.observations.connector import frames_for_learners, frames_for_runners
from territorial.config.validation import check_keywords, check_type, one_of
from territorial.league import League, SnapshotStore
from territorial.league.seating import GAME
from territorial.nets import PairPolicy

SETTINGS = ("trunk", "hold_probability", "size", "value_chunk")
"""What modules of this package read of the settings of ``configure``."""


def configure(
    config: AlgorithmConfig,
    env_config: Mapping[str, Any] | None = None,
    *,
    module: Trainable | Mapping[str, Trainable] | None = None,
    store: SnapshotStore | str | None = None,
    architectures: Sequence[type[RLModule]] = (),
    runner: str = "stock",
    frozen_seats: str = "engine",
    **settings: Any,
) -> TerritorialConfig:
    """Return a copy of an algorithm's configuration that plays these games; the rest of it is unchanged.

    It sets the classes of the algorithm, the learners and the runners, the environment, the modules and their
    mapping, and ``policies_to_train``; where observations have boards, both ``SharedFrames`` connectors and
    what they need, and ``episodes_to_numpy=False``. Callbacks are the caller's alone.

    Args:
        config: the configuration of PPO, IMPALA, APPO or DQN, such as ``PPOConfig()``; it is copied.
        env_config: a dict of entries of :class:`~rllib_adapters.envs.env_config.EnvConfig`, which says what
            each of them means; default None: the default of each.
            Only two are set here unless they are given: ``end_when`` is "no_agents", as no more is learned
            from such a game, and ``frozen_obs`` is "both" where modules and ``architectures`` have snapshots
            of both forms. ``store`` is the argument of that name.
        module: the class of the modules that learn, one for each ``trainable`` of the league, which plays and
            learns for all of its agents; or a dict of classes by these names. Instead of a class, a
            pair: the class, and entries of the ``model_config`` for this module alone; default None:
            ``ReferenceModule`` for learners whose ``obs`` is "packed", ``PairModule`` for "pairs", and
            ``QPairModule`` with DQN.
        store: the store of snapshots, or its folder; needed if the league may draw any; default None: there
            is none.
        architectures: further classes of which there are snapshots in the store; default ().
        runner: what plays the games of a process: "batched", all of them together by a
            ``TerritorialEnvRunner``; "stock", RLlib's own, agent by agent, with which all connectors and
            callbacks work; default "stock".
        frozen_seats: "engine": snapshots of a ``PairModule``, which ``freeze`` has exported, play within the
            engine, as bots do; "pool": a ``FrozenPool`` plays all snapshots. Default "engine".
        settings: entries of the ``model_config`` of all modules that learn, such as those listed below.

    Keyword Args:
        trunk: a dict of arguments of ``make_trunk``, such as widths; values that JSON has; default {}.
        hold_probability: probability that an untrained policy holds; default 0.9.
        size: of a ``PairModule`` alone: "small" or "standard"; default "standard".
        value_chunk: rows for which values are computed at a time; default 64, of a ``PairModule`` 4096.

    Raises:
        TypeError: for an entry of ``env_config`` that does not exist, or is among ``settings``; for a setting
            that no module reads, if ``module`` is None; and for a module that is no ``BoardModule``, where it
            must be one: with boards; or is one with pairs.
        ValueError: for an algorithm that cannot learn from these games, for modules that are not those of the
            league, and for ``runner`` or ``store`` that do not do.

    Example:
        >>> from ray.rllib.algorithms.ppo import PPOConfig
        >>> from rllib_adapters import configure
        >>> from territorial.league import Group, LineUpDistribution
        >>> groups = [Group(2, {"trainable:main": 1}), Group(2, {"bot:banker": 1, "bot:novice": 2})]
        >>> game = {"height": 32, "width": 32, "num_players": 4}
        >>> env_config = {"config": game, "league": LineUpDistribution(groups)}
        >>> config = configure(PPOConfig(), env_config, runner="batched")
        >>> list(config.policies)
        ['main']

    """
    one_of("runner", runner, RUNNERS)
    one_of("frozen_seats", frozen_seats, ("engine", "pool"))
    config = converted(config, CONFIGS)
    check_type("env_config", env_config, (Mapping, NoneType), "a dict of entries of EnvConfig")
    misplaced = [spec.name for spec in dataclasses.fields(EnvConfig) if spec.name in settings]
    if misplaced:
        raise TypeError(f"{misplaced[0]} is an entry of the env_config; put it there")
    if module is None:  # else they may be of a class of the user's own
        check_keywords("configure", settings, SETTINGS)
    entries = {name: value for name, value in (env_config or {}).items() if name != "store"}
    options = EnvConfig.from_config(entries)
    specs = {
        name: RLModuleSpec(
            module_class=kind, model_config={**settings_of(options, learner=name, **settings), **own}
        )
        for name, (kind, own) in _trainables(config, options, module).items()
    }
    learning = list(specs)
    if draws_snapshots(options.table):
        if store is None:
            raise ValueError("store is None, but the league uses snapshots; store must be their folder")
        read = {getattr(kind, "reads", options.frozen_form) for kind in architectures}
        if options.frozen_obs is None and not read <= {options.frozen_form}:
            options = dataclasses.replace(options, frozen_obs=BOTH)
        entries, form = {**entries, "frozen_obs": options.frozen_obs}, options.frozen_form
        kinds = [*(spec.module_class for spec in specs.values()), *architectures]
        if frozen_seats == "engine" and any(issubclass(kind, PairModule) for kind in kinds):
            entries["store"] = store_of(store)
        seen = {form, *(part.name for part in parts_of(form))}
        own = (spec.module_class for name, spec in specs.items() if options.form_of(name) in seen)
        readable = tuple(dict.fromkeys((*own, *architectures)))
        pool = pool_settings(settings_of(options, learner=POOL), store_of(store), readable, form)
        specs[POOL] = RLModuleSpec(module_class=FrozenPool, model_config=pool)
    config.environment(TerritorialMultiAgentEnv, env_config=shipped_entries(entries, options))
    config.env_config.setdefault("end_when", "no_agents")  # no more is learned from such a game
    config.made_for = options.built_for
    config.multi_agent(policies=set(specs), policy_mapping_fn=module_of, policies_to_train=learning)
    config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
    config.env_runners(env_runner_cls=RUNNERS[runner])
    if options.shares_frames:  # which agents share: RLlib's own connectors would copy it for each
        config.env_runners(episodes_to_numpy=False, env_to_module_connector=frames_for_runners)
        config.learners(learner_connector=frames_for_learners)
    return config


def configure_league(
    config: AlgorithmConfig,
    env_config: Mapping[str, Any],
    league: League,
    store: SnapshotStore | str,
    *,
    start: str | os.PathLike[str] | None = None,
    **options: Any,
) -> AlgorithmConfig:
    """Return a copy of ``config`` for an algorithm that plays ``league``, with the snapshots in ``store``.

    Of every learner without a snapshot, one is frozen as the algorithm is built, so that there is an
    opponent to play. After every iteration a :class:`LeagueCallback` does the rest; the league is part of the
    algorithm's checkpoints, and ``league_in(algorithm)`` returns it as it is.

    Args:
        config: of an algorithm of the new API stack.
        env_config: of ``TerritorialMultiAgentEnv``, without ``league`` and ``seats``.
        league: must not be used elsewhere.
        store: a folder for this run alone.
        start: file of weights that all learners begin with, as ``PairPolicy.save`` writes it; each must have
            a ``PairModule`` of its size. Default None: weights drawn by chance.
        options: further ones of ``configure``.

    Under Tune, every trial has a league of its own, and its snapshots in a folder of ``store`` that is called
    by the trial's id. A store has one writer at a time: StoreInUseError where another run has it.

    """
    check_type("league", league, League, "a League")
    check_type("start", start, (str, os.PathLike, NoneType), "a file of weights")
    if league.config.env != GAME:
        raise ValueError(
            f"env of the league is {league.config.env!r}, and it must be {GAME!r}; add_league(...) takes "
            "leagues of other environments"
        )
    league.freeze_first()
    begin = None
    if start is not None:
        try:
            PairPolicy.load(start)
        except OSError as error:
            raise ValueError(f"start is {str(start)!r}, which cannot be read: {error.strerror}") from None
        begin = partial(start_with, path=os.path.abspath(start))
    league_callback = LeagueCallback(league, store_of(store), begin)
    own = configure(config, {**env_config, "league": league.table()}, store=league_callback.store, **options)
    own.league_callback = league_callback
    return own


def start_with(algorithm: Algorithm, path: str) -> None:
    """Give all modules that learn the weights in a file, in learners and runners.

    ValueError, which names it, where a module's network is another one.
    """
    policy = PairPolicy.load(path)
    arrays = {name: part.numpy() for name, part in policy.state_dict().items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    for module in learners_of(algorithm.config.table):
        own = weights_of(algorithm, module)
        if {name: array.shape for name, array in own.items()} != shapes:
            raise ValueError(
                f"start is {path!r}, a network on pairs of size {policy.size!r}; the network of module "
                f"{module!r} is another one, and it must be the same"
            )
        give_weights(algorithm, module, arrays)


def _trainables(
    config: TerritorialConfig, options: EnvConfig, module: Trainable | Mapping[str, Trainable] | None
) -> dict[str, tuple[type[RLModule], Mapping[str, Any]]]:
    """Return the class and the settings of every module that learns, in the order of the league."""
    names = learners_of(options.table)
    if module is None:
        forms = {name: options.form_of(name) for name in names}
        module = {name: config.modules.get(form) or default_of(form) for name, form in forms.items()}
    given = classes_of(module if isinstance(module, Mapping) else dict.fromkeys(names, module), names)
    for name, (kind, _) in given.items():
        _check_class(name, kind, options.form_of(name))
        if issubclass(kind, QNetAPI) and not config.modules:
            raise TypeError(
                f"the module of {name!r} is {kind!r}; it has values of actions, which only DQN learns"
            )
    return given


def _check_class(name: str, kind: Any, form: str) -> None:
    """Raise TypeError for a class of modules that cannot read a form of observations."""
    base = BoardModule if parts_of(form)[0].shared else RLModule
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise TypeError(
            f"the module of {name!r} is {kind!r}; it must be a subclass of {base.__name__}, as {name!r} has "
            f"obs={form!r}"
        )
    reads = getattr(kind, "reads", form)
    if reads != form:
        raise TypeError(
            f"the module of {name!r} is {kind!r}, which reads {reads!r}, but {name!r} has obs={form!r}; both "
            "must be the same"
        )
