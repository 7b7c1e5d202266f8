"""Freezes modules of an algorithm and changes the players of its games."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
import torch
from ray.exceptions import RayError
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO

from rllib_adapters.league.pool import PoolModule, pools_of, store_of
from territorial._log import LOG
from territorial.evaluation.outcome import Outcome
from territorial.league import Manifest, SnapshotStore, UnknownSnapshotError

MAIN = "main"
"""The module that learns, unless a league has others."""


def freeze(
    algorithm: Algorithm,
    store: SnapshotStore | str,
    name: str,
    *,
    module: str = MAIN,
    replace: bool = False,
    **metadata: Any,
) -> None:
    """Add the present weights of a module that learns to a store, as a snapshot.

    Those of a ``PairModule`` are exported as well, so that the engine can play the snapshot. Where too many
    choices would change, the pool plays it; a line of the log and the metadata, ``not_exported``, say why.

    Args:
        algorithm: the algorithm that trains the module.
        store: the store, or its folder.
        name: name of the snapshot; a name can be added once, unless ``replace`` is given.
        module: name of the module; default "main".
        replace: whether it takes the place of a snapshot of that name; default False.
        metadata: whatever is worth knowing about the snapshot later, such as the iteration.

    Raises:
        ValueError: for a module that does not learn, for weights that are not finite, and for a name that is
            not allowed.
        TypeError: for a class of modules that no snapshot can be made of.
        FileExistsError: for a name that is taken.

    """
    spec, weights = spec_of(algorithm, module), weights_of(algorithm, module)
    check_finite(f"module {module!r}", weights)
    kind, games = spec.module_class, algorithm.config.env_config
    network, about = exported(name, kind, spec.model_config, weights, games)
    if hasattr(kind, "manifest"):
        manifest = kind.manifest(spec.model_config, **about, **metadata)
    elif not hasattr(algorithm.config, "spaces"):
        raise TypeError(
            f"the module {module!r} is a {kind.__name__}, which cannot be frozen in games of this package; "
            "it must be a BoardModule or a PairModule, or have a method manifest as these have"
        )
    else:
        spaces, settings = of_spaces(*algorithm.config.spaces[module]), dict(spec.model_config or {})
        manifest = Manifest(architecture=kind.__name__, **spaces, settings=settings, metadata=metadata)
    store_of(store).add(name, weights, manifest, network=network, replace=replace)


def exported(
    name: str,
    kind: Any,
    model_config: Any,
    weights: Mapping[str, npt.NDArray[Any]],
    env_config: Mapping[str, Any],
) -> tuple[list[bytes | memoryview] | None, dict[str, str]]:
    """Return the pieces of the file with which the engine plays a snapshot, and metadata.

    ``kind``: the class of its module. Where there are no pieces but could be, the metadata say why.
    """
    export = getattr(kind, "engine_network", None)
    network = None if export is None else export(model_config, weights, env_config)
    if not isinstance(network, str):
        return network, {}
    LOG.warning("snapshot %r acts in PyTorch, not in the engine: %s", name, network)
    return None, {"not_exported": network}


def check_finite(whose: str, weights: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raise ValueError for a weight that is not finite."""
    for name, part in weights.items():
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            raise ValueError(f"the weight {name!r} of {whose} is not finite; no snapshot can play it")


def of_spaces(observations: Any, actions: Any) -> dict[str, Any]:
    """Return what manifests say of spaces: the digests of all that they consist of."""
    with np.printoptions(threshold=2**62, floatmode="unique"):
        texts = {"observation": repr(observations), "action_format": repr(actions)}
    return {name: digest_of(text) for name, text in texts.items()}


def digest_of(text: str) -> str:
    """Return 16 hexadecimal digits that tell a text from others."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def policy_of(algorithm: Algorithm, module: str = MAIN) -> Any:
    """Return a new network with the present weights of a module that learns; ``PairPolicy.export`` writes it.

    Args:
        algorithm: the algorithm that trains the module.
        module: name of the module; default "main".

    Raises:
        ValueError: for a module that does not learn.
        TypeError: for a class of your own that cannot make its network by itself, by ``make_policy``.

    """
    spec = spec_of(algorithm, module)
    make = getattr(spec.module_class, "make_policy", None)
    if make is None:
        raise TypeError(
            f"module {module!r} is a {spec.module_class.__name__}, which has no make_policy; a BoardModule "
            "and a PairModule have"
        )
    policy = make(spec.model_config)
    policy.load_state_dict({key: torch.tensor(array) for key, array in weights_of(algorithm, module).items()})
    return policy


def spec_of(algorithm: Algorithm, module: str) -> Any:
    """Return the spec of a module that learns; ValueError for another one."""
    specs = algorithm.config.rl_module_spec.rl_module_specs
    learning = [name for name, spec in specs.items() if not issubclass(spec.module_class, PoolModule)]
    if module not in learning:
        raise ValueError(f"module is {module!r}; the modules that learn are {', '.join(learning)}")
    return specs[module]


# ---- weights -------------------------------------------------------------------------------------


def _prefix_of(algorithm: Algorithm, module: str) -> str:
    """Return what begins the names of weights within a module; snapshots have the rest of the names."""
    return str(getattr(algorithm.config.rl_module_spec.rl_module_specs[module].module_class, "prefix", ""))


def weights_of(algorithm: Algorithm, module: str) -> dict[str, npt.NDArray[Any]]:
    """Return the weights of a module that learns, by the names that snapshots have."""
    weights, prefix = algorithm.learner_group.get_weights([module])[module], _prefix_of(algorithm, module)
    # Learners of APPO have older copies of networks as well.
    known = getattr(algorithm.config, "module_weights", {}).get(module, weights)
    return {
        key.removeprefix(prefix): array
        for key, array in weights.items()
        if key.startswith(prefix) and key in known
    }


def give_weights(algorithm: Algorithm, module: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give a module that learns the weights of a snapshot, in learners and runners; Adam's moments stay."""
    prefix = _prefix_of(algorithm, module)
    weights = {f"{prefix}{key}": np.array(array) for key, array in arrays.items()}
    algorithm.learner_group.set_weights({module: weights})
    # From Ray 2.57 on, runners of IMPALA and APPO fetch weights from an EnvRunnerStateServer. It must forget
    # those that it has from before, which would replace the given ones. One that starts again has none.
    server = getattr(algorithm, "_env_runner_state_server", None)
    if server is not None:
        with suppress(RayError):
            ray.get(server.push.remote({WEIGHTS_SEQ_NO: -1}))
    # Not by sync_weights: runners pass over weights that the learner has not updated since the last ones.
    shared = ray.put(weights)

    def take_weights(runner: Any) -> None:
        if runner.module is not None:
            runner.module[module].set_state(ray.get(shared))

    algorithm.env_runner_group.foreach_env_runner(take_weights)


# ---- who plays -----------------------------------------------------------------------------------


def set_league(algorithm: Algorithm, league: Any) -> None:
    """Let ``league`` draw the players of all games that begin from now on.

    Snapshots that are not in it can be removed from the store then: runners have opened those that play in
    games in progress, and release all others. The table is part of the algorithm's checkpoints, and
    runners that RLlib restarts get it as well. Runners of an evaluation follow, unless the ``env_config`` of
    ``evaluation_config`` says itself who plays: with ``league`` or ``seats``. The ``League`` of an algorithm
    that has one sets the next table after the next iteration.

    Args:
        algorithm: the algorithm whose runners play.
        league: the table that draws the players.

    Raises:
        ValueError: if the table draws a learner that the first one did not name, snapshots where the first
            one drew none, or snapshots that the ``League`` of the algorithm has not frozen.
        UnknownSnapshotError: if it draws a snapshot that is not in the store.

    """
    config, kept = algorithm.config, getattr(algorithm, "league_callback", None)
    check_snapshots(config, league)
    if kept is not None:
        for name in league.names("snapshot"):
            kept.league.known_player(f"snapshot:{name}")
    group, before = algorithm.env_runner_group, config.table
    for error in filter(None, group.foreach_env_runner(partial(_refusal, league))):
        group.foreach_env_runner(partial(_refusal, before))
        raise error
    config.set_table(league)
    if algorithm.eval_env_runner_group and config.is_evaluated_alike():
        algorithm.eval_env_runner_group.foreach_env_runner(lambda runner: runner.set_league(league))
        algorithm.evaluation_config.set_table(league)


def _refusal(league: Any, runner: Any) -> Exception | None:
    """Let a runner play by a table; return the error with which it refuses, which RLlib would pass over."""
    try:
        runner.set_league(league)
    except Exception as error:
        return error
    return None


def outcomes_of(algorithm: Algorithm, *, evaluation: bool = False) -> list[Outcome]:
    """Return how the games of all runners ended since the last call, runner by runner.

    Every runner keeps no more than the last 2,000 games, of an environment each if it has several.

    Args:
        algorithm: the algorithm whose runners played.
        evaluation: True: games of the runners of evaluations. Where there are none, the other runners play
            the evaluations. Default False.

    Raises:
        ValueError: where ``outcome`` of ``add_league`` failed for an episode.

    """
    own = algorithm.eval_env_runner_group if evaluation else None
    group = algorithm.env_runner_group if own is None else own
    taken = group.foreach_env_runner(lambda one: one.take_outcomes())
    found = [outcome for games in taken for outcome in games]
    for outcome in found:
        if isinstance(outcome, ValueError):
            raise outcome
    return found


def check_snapshots(config: Any, league: Any) -> None:
    """Raise UnknownSnapshotError if ``league`` draws a snapshot that the store of an algorithm lacks."""
    stores = [spec.model_config["store"] for spec in pools_of(config).values()]
    for name in league.names("snapshot") if stores else ():
        store = stores[0]
        if name not in store and store.fetch is None:
            raise UnknownSnapshotError(
                f"the league draws the snapshot {name!r}, which is not in {store.path}; freeze(algorithm, "
                f"store, {name!r}) adds one with the present weights of a module"
            )
