"""``add_league``: a league for an RLlib algorithm of any environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from types import NoneType
from typing import Any

import gymnasium as gym
from ray import cloudpickle
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env import INPUT_ENV_SINGLE_SPACES
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.policy.policy import PolicySpec
from ray.tune.registry import ENV_CREATOR, _global_registry

from rllib_adapters.league.algorithm import Trainable, check_supported, classes_of, converted
from rllib_adapters.league.any_env import CONFIGS, AnyEnvConfig, AnyEnvRunner
from rllib_adapters.league.callback import LeagueCallback
from rllib_adapters.league.control import of_spaces
from rllib_adapters.league.learners import LeagueLearner
from rllib_adapters.league.line_up import Ended, Seating, by_returns, module_of_agent
from rllib_adapters.league.pool import Bot, LeaguePool, build_module, store_of
from territorial.config.validation import check_type, raised_as, shown, whole_number
from territorial.league import League, LeagueConfig, Manifest, SnapshotStore
from territorial.league.seating import GAME

SeatOf = Callable[[Any], Any] | Mapping[Any, Any]


def add_league(
    config: AlgorithmConfig,
    league: League,
    store: SnapshotStore | str,
    *,
    modules: Mapping[str, Trainable],
    bots: Mapping[str, Bot] | None = None,
    seat_of: SeatOf | None = None,
    outcome: Callable[[Ended], Sequence[float] | None] | None = None,
    architectures: Sequence[type[TorchRLModule]] = (),
    memory: int | None = None,
) -> AnyEnvConfig:
    """Return a copy of an algorithm's configuration that plays a league in its environment.

    It sets the classes of the algorithm and the runners, the modules and their mapping, and
    ``policies_to_train``; it adds to the learners' class that they make no update of a sample in which no
    learner acted. Callbacks and connectors stay the caller's.

    Of every learner without a snapshot, one is frozen as the algorithm is built. After every iteration the
    league counts the games that ended, freezes copies of learners whose gates are open, and hands out new
    tables, by which the next episodes are drawn. It is part of the algorithm's checkpoints, and lies in the
    store as ``league.npz``, which ``territorial league show`` reads.

    Args:
        config: of PPO, IMPALA or APPO, with a ``MultiAgentEnv``, as RLlib itself would train it but for its
            modules; it is copied.
        league: whose ``env`` is not "territorial"; it must not be used elsewhere.
        store: a folder for the snapshots of this run alone, or its ``SnapshotStore``.
        modules: by the names of the league's learners, the class of the module of each, in PyTorch; or a pair
            of the class and its ``model_config``.
        bots: by the names of the league's bots, the objects that play them; default None: there are none.
        seat_of: the seat of an agent, as a function or as a dict, for games in which a player has several
            agents. Seats are in the order of the sorted names that it gives; default None: each agent is a
            seat, in the order of their sorted names.
        outcome: from how an episode ended, a number for every seat, the higher the better, equal ones tie; or
            None, so that the episode does not count. Default None: the sum of the rewards of a seat's agents.
        architectures: further classes of modules, of which there are snapshots in the store. No other class
            is ever built for one; default ().
        memory: bytes that all processes of this machine may hold. The prediction of ``predict_memory`` is
            checked when the algorithm is built: ValueError. Every ``train()`` is ended before they hold more:
            BudgetError, with a table of who holds what. Default None: there is no limit.

    Raises:
        TypeError: for modules that are not in PyTorch, and bots that are no ``Bot``.
        ValueError: for what cannot be, which the message names.

    """
    kinds: dict[str, tuple[Any, Any, str]] = {
        "league": (league, League, "a League"),
        "store": (store, (SnapshotStore, str, PathLike), "a folder, or its SnapshotStore"),
        "bots": (bots, (Mapping, NoneType), "a dict of objects by name"),
        "seat_of": (seat_of, (Callable, Mapping, NoneType), "a function or a dict"),
        "outcome": (outcome, (Callable, NoneType), "a function"),
    }
    for name, given in kinds.items():
        check_type(name, *given)
    own: AnyEnvConfig = converted(config, CONFIGS)
    check_supported(config)
    _check_unset(config)
    _check_league(league.config, bots or {})
    seating, pools, learners = _seating(config, league.config, seat_of, outcome or by_returns)
    store = store_of(store)
    specs = {name: _spec(own, name, *given) for name, given in classes_of(modules, list(learners)).items()}
    for name, spec in specs.items():
        own.module_weights[name] = _weights_of(name, spec, learners[name])
    known = _architectures(own, specs, architectures)
    for name, spaces in pools.items():
        settings = {
            "store": store,
            "architectures": known,
            "spaces": of_spaces(*spaces),
            "bots": bots or {},
            "normalize": own.normalize_actions,
        }
        specs[name] = RLModuleSpec(module_class=LeaguePool, model_config=settings)
    own.multi_agent(policies=set(specs), policy_mapping_fn=module_of_agent, policies_to_train=list(learners))
    if len(pools) > 1:  # else RLlib finds them, after what connectors make of them
        for name, (observations, actions) in {**learners, **pools}.items():
            specs[name].observation_space, specs[name].action_space = observations, actions
            own.policies[name] = PolicySpec(None, observations, actions)
    own.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=specs))
    own.env_runners(env_runner_cls=AnyEnvRunner)
    base = config.learner_class
    if base is not config.get_default_learner_class():
        own.learners(learner_class=type(f"League{base.__name__}", (LeagueLearner, base), {}))
    league.freeze_first()
    own.spaces, own.capacity = {**learners, **pools}, league.config.capacity
    own.memory = 0 if memory is None else whole_number("memory", memory, 1)
    own.seating, own.table = seating, league.table()
    own.league_callback = LeagueCallback(league, store)
    return own


Spaces = tuple[Any, Any]
"""Of the observations and the actions of an agent."""


def _seating(
    config: AlgorithmConfig, rules: LeagueConfig, seat_of: SeatOf | None, outcome: Callable[[Ended], Any]
) -> tuple[Seating, dict[str, Spaces], dict[str, Spaces]]:
    """Return the seats of the environment of ``config``, and the spaces of every pool and every learner.

    ValueError where the league does not fit them.
    """
    spaces = _spaces_by_agent(config)
    seats = _seats(list(spaces), seat_of)
    if len(seats) != rules.num_players:
        raise ValueError(
            f"num_players of the league is {rules.num_players}; the environment has {len(seats)} seats: "
            f"{shown(seats)}"
        )
    of_seats = [_spaces_of(seat, spaces) for seat in seats]
    different = {_key(own): own for own in of_seats}
    if rules.shuffle and len(different) > 1:
        raise ValueError("shuffle is True, but seats have unlike spaces; it must be False")
    names = {key: f"pool_{i}" if len(different) > 1 else "pool" for i, key in enumerate(different)}
    return (
        Seating(seats, tuple(names[_key(own)] for own in of_seats), outcome),
        {names[key]: own for key, own in different.items()},
        _spaces_of_learners(rules, of_seats),
    )


def _check_league(rules: LeagueConfig, bots: Mapping[str, Any]) -> None:
    """Raise ValueError for a league of this game, and unless there is an object for each bot."""
    if rules.env == GAME:
        raise ValueError(f"env of the league is {GAME!r}; leagues of this game are for configure_league(...)")
    for name in {*rules.bots, *bots}:
        if name not in bots or name not in rules.bots:
            there_are = ", ".join(rules.bots) or "none"
            what = "no object for" if name not in bots else "an object for"
            raise ValueError(f"bots has {what} {name!r}; the bots of the league are {there_are}")
        check_type(f"bots[{name!r}]", bots[name], Bot, "an object of a Bot class")
        # Whatever its class raises.
        with raised_as(TypeError, f"bots[{name!r}] cannot be pickled, for other processes: ", Exception):
            cloudpickle.dumps(bots[name])
    taken = [one.name for one in rules.learners if one.name.startswith("pool")]
    if taken:
        raise ValueError(f"a learner is called {taken[0]!r}; its name must not begin with 'pool'")


def _check_unset(config: AlgorithmConfig) -> None:
    """Raise ValueError for settings that ``add_league`` makes itself, or cannot do without."""
    plain = type(config)()
    for name in ("policies", "policy_mapping_fn", "policies_to_train", "_rl_module_spec"):
        value = getattr(config, name)
        if value != getattr(plain, name):
            raise ValueError(
                f"{name.removeprefix('_')} is {shown(value)}; it must be unset, as add_league sets it"
            )
    if config.env_runner_cls not in (None, MultiAgentEnvRunner):
        raise ValueError(f"env_runner_cls is {config.env_runner_cls!r}; it must be None, or RLlib's own")
    for way in ("env_to_module", "module_to_env"):
        if not getattr(config, name := f"add_default_connectors_to_{way}_pipeline"):
            raise ValueError(
                f"{name} is False; it must be True, as the players of rows are added to RLlib's pipeline"
            )


def _spaces_by_agent(config: AlgorithmConfig) -> dict[Any, Spaces]:
    """Return the spaces of all agents of an environment, in the order of their sorted names."""
    env = creator_of(config)(EnvContext(dict(config.env_config), worker_index=0))
    try:
        whole = getattr(env, "unwrapped", env)
        agents = list(getattr(whole, "possible_agents", None) or ())
        if not isinstance(whole, MultiAgentEnv) or not agents:
            raise ValueError(
                f"env is {config.env!r}, which has no agents; it must be a MultiAgentEnv with possible_agents"
            )
        found = {
            agent: (whole.get_observation_space(agent), whole.get_action_space(agent))
            for agent in _in_order(agents)
        }
    finally:
        env.close()
    for agent, spaces in found.items():
        if not all(isinstance(space, gym.Space) for space in spaces):
            raise ValueError(f"agent {agent!r} has the spaces {spaces}; each must be a gymnasium space")
    return _after_connectors(config, found)


def _after_connectors(config: AlgorithmConfig, spaces: dict[Any, Spaces]) -> dict[Any, Spaces]:
    """Return the spaces that modules see: what the connectors of a configuration make of those of agents."""
    both = tuple(gym.spaces.Dict({agent: own[i] for agent, own in spaces.items()}) for i in (0, 1))
    try:
        pipeline = config.build_env_to_module_connector(spaces={INPUT_ENV_SINGLE_SPACES: both})
        return {agent: (pipeline.observation_space[agent], own) for agent, (_, own) in spaces.items()}
    except Exception:  # theirs may ask for the environment, which RLlib makes later
        return spaces


def _in_order(names: Iterable[Any]) -> list[Any]:
    """Return names sorted: numbers by value, and those that cannot be compared by their texts."""
    try:
        return sorted(names)
    except TypeError:
        return sorted(names, key=str)


def creator_of(config: AlgorithmConfig) -> Callable[[EnvContext], Any]:
    """Return what makes the environment of an algorithm."""
    is_name = isinstance(config.env, str)
    if not (_global_registry.contains(ENV_CREATOR, config.env) if is_name else callable(config.env)):
        raise ValueError(f"env is {config.env!r}; it must be a registered name, or a class: environment(...)")
    return _global_registry.get(ENV_CREATOR, config.env) if is_name else config.env


def _seats(agents: Sequence[Any], seat_of: SeatOf | None) -> tuple[tuple[Any, ...], ...]:
    """Return the agents of every seat; ValueError for an agent without one, and for fewer than two seats."""
    seats: dict[Any, list[Any]] = {}
    for agent in agents:
        if seat_of is None:
            seat = agent
        else:
            seat = seat_of.get(agent) if isinstance(seat_of, Mapping) else seat_of(agent)
        if seat is None or not isinstance(seat, Hashable):
            raise ValueError(
                f"seat_of gives agent {agent!r} the seat {seat!r}; it must be a name or a number"
            )
        seats.setdefault(seat, []).append(agent)
    if len(seats) < 2:
        raise ValueError(f"the environment has {len(seats)} seat: {shown(seats)}; there must be two or more")
    return tuple(tuple(seats[seat]) for seat in _in_order(seats))


def _key(spaces: Spaces) -> tuple[str, ...]:
    return tuple(of_spaces(*spaces).values())


def _spaces_of(seat: Sequence[Any], spaces: Mapping[Any, Spaces]) -> Spaces:
    """Return the spaces of the agents of a seat; ValueError where they differ."""
    first = spaces[seat[0]]
    for agent in seat:
        if _key(spaces[agent]) != _key(first):
            raise ValueError(
                f"agents {seat[0]!r} and {agent!r} of one seat have unlike spaces; they must be alike, as "
                "one module plays them"
            )
    return first


def _spaces_of_learners(rules: LeagueConfig, kinds: Sequence[Spaces]) -> dict[str, Spaces]:
    """Return the spaces of every learner's module; ValueError where a player may get seats of unlike ones."""
    found: dict[str, Spaces] = {}
    tables = [rules.learners] if rules.games == "shared" else [(learner,) for learner in rules.learners]
    for learners in tables:
        seats = iter(enumerate(kinds))
        for learner in learners:
            for part in learner.parts:
                names = [learner.name] if part is None else rules.sources(part)
                count = learner.seats if part is None else part.seats
                for i, kind in islice(seats, count):
                    for name in sorted(names):
                        if _key(found.setdefault(name, kind)) != _key(kind):
                            raise ValueError(
                                f"seat {i} may be played by {name!r} or its snapshots, whose other seats "
                                "have other spaces; name the learners that fit a seat by Opponents(of=...)"
                            )
    return {learner.name: found[learner.name] for learner in rules.learners}


def _spec(config: AnyEnvConfig, name: str, kind: Any, settings: Mapping[str, Any]) -> RLModuleSpec:
    """Return the spec of a module; TypeError for one that is not in PyTorch."""
    for base in (TorchRLModule, ValueFunctionAPI):
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise TypeError(f"the module of {name!r} is {kind!r}; it must be a subclass of {base.__name__}")
    usual = config.get_default_rl_module_spec()
    if issubclass(kind, usual.module_class):  # one of RLlib's, whose catalog reads all settings
        return RLModuleSpec(
            module_class=kind,
            catalog_class=usual.catalog_class,
            model_config={**config.model_config, **dict(settings)},
        )
    return RLModuleSpec(module_class=kind, model_config=dict(settings))


def _architectures(
    config: AnyEnvConfig, specs: Mapping[str, RLModuleSpec], further: Sequence[type[TorchRLModule]]
) -> dict[str, RLModuleSpec]:
    """Return the specs of all classes that snapshots may be of, by the names that manifests have."""
    found: dict[str, RLModuleSpec] = {}
    for spec in (*specs.values(), *(_spec(config, "architectures", kind, {}) for kind in further)):
        name = spec.module_class.__name__
        if found.setdefault(name, spec).module_class is not spec.module_class:
            raise ValueError(f"two classes of modules are called {name!r}; each needs a name of its own")
    return found


def _weights_of(name: str, spec: RLModuleSpec, spaces: Spaces) -> tuple[str, ...]:
    """Return the names of the weights of a module; ValueError for one whose snapshots could not play."""
    with raised_as(
        ValueError, f"the model_config of {name!r} cannot be stored with snapshots: ", (TypeError, ValueError)
    ):
        about = Manifest(architecture="x", observation="x", action_format="x", settings=spec.model_config)
        json.dumps(dict(about.settings), allow_nan=False)
    module = build_module(spec, *spaces, **spec.model_config)
    if not any(True for _ in module.parameters()):
        raise ValueError(f"the module of {name!r} has no parameters; it must have something to learn")
    if module.is_stateful():
        raise ValueError(f"the module of {name!r} is recurrent; snapshots of such cannot play")
    return tuple(module.state_dict())
