"""Changes settings of the games between samples of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm

from rllib_adapters.envs.env_config import (
    RULES,
    SIZES,
    EnvConfig,
    changed_entries,
    draws_snapshots,
    parts_of,
)
from rllib_adapters.league.control import check_snapshots
from rllib_adapters.learning.algorithm_config import check_made_for, evaluation_entries
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.sampling.runner import TerritorialEnvRunner


def set_env(algorithm: Algorithm, **changes: Any) -> None:
    """Let all runners play games of other settings from their next sample on.

    ``changes``: entries of the ``env_config``: another ``config`` (map, players, decision interval, win
    share, any rule), ``seats`` or ``league``, ``end_when``, ``max_cycles``. The algorithm, its runners and
    its learners stay as they are; runners make new games, and those in progress are not played on:
    what was sampled of them has been handed over, and counts. To change nothing but the players, call
    ``rllib_adapters.set_league``, which lets games in progress end.

    Another number of players or another size of the board is for modules whose weights fit any, such as a
    ``PairModule``, and for tables without snapshots, which are made for one size. The new settings
    are part of checkpoints, and runners that RLlib restarts get them as well. Runners of an
    evaluation follow, but keep the entries that the ``env_config`` of ``evaluation_config`` has. Nothing
    happens if all is as it was. ValueError or TypeError for what cannot be, and nothing has changed.
    """
    go_over(algorithm, changed_entries(algorithm.config.env_config, changes))


def go_over(algorithm: Algorithm, wanted: Mapping[str, Any]) -> None:
    """Let all runners play games of the ``env_config`` ``wanted``, as :func:`set_env` does."""
    present, options = map(EnvConfig.from_config, (algorithm.config.env_config, wanted))
    if present.to_dict() == options.to_dict():
        return
    _check(algorithm, present, options)
    own = evaluation_entries(algorithm.config)
    evaluated = None if own is None else changed_entries(wanted, own)
    algorithm.env_runner_group.foreach_env_runner(partial(apply_settings, env_config=wanted))
    _remember(algorithm.config, wanted)
    if algorithm.eval_env_runner_group and evaluated is not None:
        algorithm.eval_env_runner_group.foreach_env_runner(partial(apply_settings, env_config=evaluated))
        _remember(algorithm.evaluation_config, evaluated)
    algorithm.learner_group.foreach_learner(lambda learner: _resize(learner.module, None, wanted))
    if algorithm.local_replay_buffer:
        algorithm.local_replay_buffer.clear()  # of steps in other games


def _check(algorithm: Algorithm, present: EnvConfig, wanted: EnvConfig) -> None:
    """Raise ValueError if runners or modules cannot go over to ``wanted``."""
    config = algorithm.config
    check_made_for(config, wanted, (*RULES, *SIZES))
    check_snapshots(config, wanted.table)
    if not issubclass(config.env_runner_cls or object, TerritorialEnvRunner):
        raise ValueError(
            'only batched env runners can change their games; use configure(..., runner="batched")'
        )
    if wanted.layout == present.layout:
        return
    if draws_snapshots(wanted.table) and any(part.shared for part in parts_of(wanted.frozen_form)):
        raise ValueError(
            f"the snapshots play games of {present.layout}; a league that draws snapshots "
            f"cannot change to games of {wanted.layout}"
        )
    for spec in config.rl_module_spec.rl_module_specs.values():
        if issubclass(spec.module_class, BoardModule):  # one to try it with
            spec.module_class.make_policy(spec.model_config).set_game(wanted.layout, wanted.config)


def apply_settings(runner: Any, env_config: Mapping[str, Any]) -> None:
    """Have a runner make new games, and its modules look at them."""
    before = EnvConfig.from_config(runner.config.env_config).layout
    _remember(runner.config, env_config)
    if runner.env is not None:  # that of a driver whose runners are processes of their own has none
        runner.make_env()
    if runner.module is not None:
        _resize(runner.module, before, env_config)


def _resize(modules: Any, before: Any, env_config: Mapping[str, Any]) -> None:
    options = EnvConfig.from_config(env_config)
    if options.layout == before:  # what was learned with one scale of inputs keeps it
        return
    for module in modules.values():
        unwrapped = module.unwrapped()
        if isinstance(unwrapped, BoardModule) and unwrapped.policy.layout != options.layout:
            unwrapped.set_game(options.layout, options.config)


def _remember(config: Any, env_config: Mapping[str, Any]) -> None:
    """Write the settings into a config, for checkpoints; in place, as an algorithm's config is frozen."""
    options = EnvConfig.from_config(env_config)
    entries = dict(env_config)
    config.env_config.clear()
    config.env_config.update(entries)
    config.made_for.update(options.built_for)
    for spec in config._rl_module_spec.rl_module_specs.values():
        if "layout" in (spec.model_config or {}) and spec.model_config["layout"] != options.layout.to_dict():
            spec.model_config.update(layout=options.layout.to_dict(), config=options.config)
