"""Freezes modules of an algorithm and changes the players of its games."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import ray
import torch
from ray.exceptions import RayError
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO

from rllib_adapters.envs.env_config import MAIN, POOL, EnvConfig, learners_of
from rllib_adapters.learning.algorithm_config import evaluation_entries
from rllib_adapters.modules.frozen_pool import store_of
from rllib_adapters.modules.pairs import PairModule
from territorial._log import LOG
from territorial.bots.network_file import TEMPERATURE_UNIT, NetworkFile, pieces
from territorial.league import LineUpDistribution, SnapshotStore, UnknownSnapshotError
from territorial.nets import PairPolicy
from territorial.nets.pair_export import exported, rows_of_config
from territorial.nets.policy import Policy

NETWORK = "policy."
"""Begins the names of a network's weights within its module; snapshots have the rest of the names."""


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
        ValueError: for a module that does not learn, and for a name that is not allowed.
        FileExistsError: for a name that is taken.

    """
    spec, weights = _spec_of(algorithm, module, "manifest"), weights_of(algorithm, module)
    network = None
    if issubclass(spec.module_class, PairModule):
        options = EnvConfig.from_config(algorithm.config.env_config)
        network = network_of(spec.module_class, _policy(spec, weights), options)
    about = dict(metadata)
    if isinstance(network, str):
        about["not_exported"] = network  # why the engine cannot play it
        LOG.warning("snapshot %r acts in the pool, not in the engine: %s", name, network)
    manifest = spec.module_class.manifest(spec.model_config, **about)
    content = pieces(network) if isinstance(network, NetworkFile) else None
    store_of(store).add(name, weights, manifest, network=content, replace=replace)


def policy_of(algorithm: Algorithm, module: str = MAIN) -> PairPolicy | Policy:
    """Return a new network with the present weights of a module that learns; ``PairPolicy.export`` writes it.

    Args:
        algorithm: the algorithm that trains the module.
        module: name of the module; default "main".

    Raises:
        ValueError: for a module that does not learn.
        TypeError: for a class of your own that cannot make its network by itself, by ``make_policy``.

    """
    return _policy(_spec_of(algorithm, module, "make_policy"), weights_of(algorithm, module))


def _policy(spec: Any, weights: Mapping[str, npt.NDArray[np.float32]]) -> PairPolicy | Policy:
    """Return a network with ``weights``."""
    policy: PairPolicy | Policy = spec.module_class.make_policy(spec.model_config)
    policy.load_state_dict({key: torch.tensor(array) for key, array in weights.items()})
    return policy


def _spec_of(algorithm: Algorithm, module: str, needed: str) -> Any:
    """Return the spec of a module that learns and whose class has the method ``needed``."""
    specs = algorithm.config.rl_module_spec.rl_module_specs
    if module == POOL or module not in specs:
        learning = ", ".join(known for known in specs if known != POOL)
        raise ValueError(f"module is {module!r}; the modules that learn are {learning}")
    if not hasattr(specs[module].module_class, needed):
        raise TypeError(
            f"module {module!r} is a {specs[module].module_class.__name__}, which has no {needed}; a "
            "BoardModule and a PairModule have"
        )
    return specs[module]


def weights_of(algorithm: Algorithm, module: str) -> dict[str, npt.NDArray[np.float32]]:
    """Return the weights of the network of a module that learns, by the names that snapshots have."""
    weights = algorithm.learner_group.get_weights([module])[module]
    return {key.removeprefix(NETWORK): array for key, array in weights.items() if key.startswith(NETWORK)}


def start_with(algorithm: Algorithm, policy: PairPolicy, source: str) -> None:
    """Give all modules that learn the weights of ``policy``, in learners and runners.

    ValueError, which names ``source``, where a module's network is another one.
    """
    arrays = {name: part.numpy() for name, part in policy.state_dict().items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    for module in learners_of(EnvConfig.from_config(algorithm.config.env_config).table):
        own = weights_of(algorithm, module)
        if {name: array.shape for name, array in own.items()} != shapes:
            raise ValueError(
                f"start is {source!r}, a network on pairs of size {policy.size!r}; the network of module "
                f"{module!r} is another one, and it must be the same"
            )
        give_weights(algorithm, module, arrays)


def give_weights(algorithm: Algorithm, module: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Give a module that learns the weights of a snapshot, in learners and runners; Adam's moments stay."""
    weights = {f"{NETWORK}{key}": np.array(array) for key, array in arrays.items()}
    algorithm.learner_group.set_weights({module: weights})
    # From Ray 2.57 on, runners of IMPALA and APPO fetch weights from an EnvRunnerStateServer. It must forget
    # those that it has from before, which would replace the given ones. One that starts again has none.
    server = getattr(algorithm, "_env_runner_state_server", None)
    if server is not None:
        with suppress(RayError):
            ray.get(server.push.remote({WEIGHTS_SEQ_NO: -1}))
    # Not by sync_weights: runners pass over weights that the learner has not updated since the last ones.
    shared = ray.put(weights)
    algorithm.env_runner_group.foreach_env_runner(partial(_take_weights, module=module, shared=shared))


def set_league(algorithm: Algorithm, league: LineUpDistribution) -> None:
    """Let ``league`` draw the players of all games that begin from now on.

    Snapshots that are not in it can be removed from the store then: runners have opened those that play in
    games in progress, and release all others. The table is part of the algorithm's checkpoints, and
    runners that RLlib restarts get it as well. Runners of an evaluation follow, unless the ``env_config`` of
    ``evaluation_config`` says itself who plays: with ``league`` or ``seats``.

    Args:
        algorithm: the algorithm whose runners play.
        league: the table that draws the players.

    Raises:
        ValueError: if the table may give a seat to a kind of player, or to a learner, that the first table
            could not.
        UnknownSnapshotError: if it draws a snapshot that is not in the store.

    """
    check_snapshots(algorithm.config, league)
    hand_over = partial(_hand_over, league=league)
    algorithm.env_runner_group.foreach_env_runner(hand_over)
    _remember(algorithm.config, league)
    own = evaluation_entries(algorithm.config)
    if algorithm.eval_env_runner_group and own is not None and not own.keys() & {"league", "seats"}:
        algorithm.eval_env_runner_group.foreach_env_runner(hand_over)
        _remember(algorithm.evaluation_config, league)


def league_of(algorithm: Algorithm) -> LineUpDistribution:
    """Return the table that draws the players of the algorithm's games."""
    return EnvConfig.from_config(algorithm.config.env_config).table


def check_snapshots(config: AlgorithmConfig, league: LineUpDistribution) -> None:
    """Raise UnknownSnapshotError if ``league`` draws a snapshot that the store of an algorithm lacks."""
    pool = config._rl_module_spec.rl_module_specs.get(POOL)
    for name in league.names("snapshot") if pool is not None else ():
        store = pool.model_config["store"]
        if name not in store and store.fetch is None:
            raise UnknownSnapshotError(
                f"the league draws the snapshot {name!r}, which is not in {store.path}; freeze(algorithm, "
                f"store, {name!r}) adds one with the present weights of a module"
            )


def _take_weights(runner: Any, module: str, shared: Any) -> None:
    if runner.module is not None:
        runner.module[module].set_state(ray.get(shared))


def _hand_over(runner: Any, league: LineUpDistribution) -> None:
    games = [env.unwrapped for env in runner.env.envs] if runner.env is not None else []
    for game in games:
        game.set_league(league)
    _remember(runner.config, league)  # for games that are made again after an error
    if runner.module is not None and POOL in runner.module:
        ongoing = [] if runner._needs_initial_reset else games
        playing = frozenset[str]().union(*(game.snapshots for game in ongoing))
        runner.module[POOL].opponents.keep(playing, league.names("snapshot"))


def _remember(config: AlgorithmConfig, league: LineUpDistribution) -> None:
    """Write the table into a config, for checkpoints; in place, as an algorithm's config is frozen."""
    config.env_config.pop("seats", None)
    config.env_config["league"] = league


# ---- networks of snapshots for the engine ----------------------------------------------------------------


_rows = lru_cache(maxsize=1)(rows_of_config)
"""The states on which scales are measured and choices compared, of the games that are played."""


def network_of(module: type[PairModule], policy: Any, options: EnvConfig) -> NetworkFile | str:
    """Return the engine's network for ``policy``, or the reason why it has none."""
    if module.architecture != PairModule.architecture or type(policy) is not PairPolicy:
        return f"its architecture is {module.architecture!r}; the engine plays {PairModule.architecture!r}"
    if policy.teams:
        return "its games have teams, and the engine shows networks no allies"
    candidates = options.pair_rows.candidates
    rows = _rows(options.config, candidates)
    try:
        network, _ = exported(
            policy, rows, interval=options.interval, temperature=TEMPERATURE_UNIT, num_candidates=candidates
        )
    except (TypeError, ValueError) as error:  # such as a layout that no file can have
        return str(error)
    return network
