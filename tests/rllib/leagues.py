"""Leagues that both runners play: on boards, on pairs, in the pool and the engine, with several who learn."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.modules.board import FeatureModule, settings_of
from rllib_adapters.modules.pairs import PairModule, network_of
from territorial import GameConfig
from territorial.bots.network_file import NetworkFile, pieces
from territorial.league import Group, LineUpDistribution, LineUpMixture, SnapshotStore
from territorial.nets import PairPolicy
from tests.rllib import support
from tests.rllib.support import SmallModule
from tests.torch.test_pair_policy import trained_policy

GAME = GameConfig(height=24, width=24, num_players=6, max_ticks=1000)


class Played(NamedTuple):
    """A league: its environment, its learners with their settings, its snapshots, and options of its own."""

    env: dict
    modules: dict
    fill: Callable[[Path, dict], SnapshotStore | None]
    options: Mapping[str, Any] = {}


def runner_of(name, path, kind, games=3, fragment=12, **changes):
    """A runner of a league whose learners launch at different targets; ``changes``: of the environment."""
    league = LEAGUES[name]
    env = {"config": GAME, **league.env, **changes}
    config = configure(
        PPOConfig(), env, module=league.modules, store=league.fill(path, env), runner=kind, **league.options
    )
    config.env_runners(
        num_env_runners=0, num_envs_per_env_runner=games, rollout_fragment_length=fragment
    ).debugging(seed=11)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    for learner, module in league.modules.items():
        weights = weights_of(*with_settings(module), env, learner)
        runner.module[learner].set_state({f"policy.{key}": array for key, array in weights.items()})
    return runner


def runners_of(name, path, **changes):
    """RLlib's own runner and the batched one, which are alike in all else."""
    return [runner_of(name, path / kind, kind, **changes) for kind in ("stock", "batched")]


def with_settings(module):
    return module if isinstance(module, tuple) else (module, {})


def weights_of(module, own, env, learner):
    """Weights of a policy that launches at different targets."""
    torch.manual_seed(1)
    policy = module.make_policy({**settings_of(env, learner=learner), **own})
    with torch.no_grad():
        if module is PairModule:
            policy.hold.bias.fill_(0.0)
            for layer in (policy.joint, policy.score, policy.context, policy.hold):
                layer.weight *= 3
        else:
            policy.policy_head.weight *= 300
    return {name: array.numpy().copy() for name, array in policy.state_dict().items()}


# ---- on pairs, with snapshots as ``freeze`` exports them ------------------------------------------


def table(*names):
    """Two who learn, three of the snapshots ``names`` and a bot."""
    snapshots = {f"snapshot:{name}": 1 for name in names}
    groups = [Group(2, {"trainable:main": 1}), Group(3, snapshots), Group(1, {"bot:banker": 1})]
    return LineUpDistribution(groups)


def entries(store, *names, **changes):
    given = {"config": support.CONFIG, "league": table(*names), "obs": "pairs", "store": store}
    return {**given, "end_when": "no_agents", "max_cycles": 30, **changes}


@cache
def policy_called(name):
    """A trained policy, or one of weights that no other number gives."""
    if name == "strong":
        return trained_policy().requires_grad_(False)
    torch.manual_seed(int(name))
    policy = PairPolicy("small")
    policy.requires_grad_(False)
    torch.nn.init.constant_(policy.hold.bias, 0.0)
    for layer in (policy.joint, policy.score):
        layer.weight *= 3  # choices far apart, which rounding does not change
    return policy


@cache
def network_called(name):
    """The policy as ``freeze`` exports it."""
    network = network_of(PairModule, policy_called(name), EnvConfig.from_config(entries(None, name)))
    assert isinstance(network, NetworkFile), network
    return network


def add(store, name, *, policy="strong", network=None, **metadata):
    """Add a policy as ``freeze`` does; ``network``: what is exported of it."""
    settings = settings_of(EnvConfig.from_config(entries(store, name)))
    weights = {key: values.numpy() for key, values in policy_called(policy).state_dict().items()}
    manifest = PairModule.manifest({**settings, "size": "small"}, **metadata)
    store.add(name, weights, manifest, network=None if network is None else pieces(network))


def fill_pairs(path, _=None):
    """A store with two exported snapshots."""
    store = SnapshotStore(path)
    add(store, "strong", network=network_called("strong"))
    add(store, "weak", policy="1", network=network_called("1"))
    return store


def in_engine(game, k):
    """The snapshots in the seats of a game that the engine plays; the names of networks may be shortened."""
    seats = [seat.split("@")[0] for seat in game.seats_of(k) if seat.startswith("net:")]
    return {seat.split("/")[-2] for seat in seats}


# ---- of all forms -------------------------------------------------------------------------------------

FORMS = {"main": "pairs", "scout": "packed", "rival": "packed"}
MODULES = {"main": (PairModule, {"size": "small"}), "scout": FeatureModule, "rival": SmallModule}
SNAPSHOTS = {"on-pairs": "main", "on-features": "scout", "on-boards": "rival"}
FROZEN = dict.fromkeys((f"snapshot:{name}" for name in SNAPSHOTS), 1)
FORMS_TABLE = LineUpDistribution([*(Group(1, {f"trainable:{name}": 1}) for name in FORMS), Group(3, FROZEN)])
# Every game is one learner's; the other two act in it.
OWN_GAMES = LineUpMixture([replace(FORMS_TABLE, learns=name) for name in FORMS])
FORMS_ENV = {"config": GAME, "league": FORMS_TABLE, "obs": FORMS, "frames": 1}


def fill_forms(path, _=None):
    """A store with a snapshot of each learner."""
    store = SnapshotStore(path)
    for snapshot, name in SNAPSHOTS.items():
        kind, own = with_settings(MODULES[name])
        manifest = kind.manifest({**settings_of(FORMS_ENV, learner=name), **own})
        store.add(snapshot, weights_of(kind, own, FORMS_ENV, name), manifest)
    return store


# ---- four who learn: two of each of two architectures, with two observation modes --------------------

LEARNERS = ("main", "rival", "scout", "probe")
# Which seats of ``MIXTURE`` each may get.
FOUR_SEATS = {"main": {0}, "rival": {1}, "scout": {2, 3}, "probe": {2, 3}}

MIXTURE = LineUpDistribution(
    [
        Group(1, {"trainable:main": 1}),
        Group(1, {"trainable:rival": 1}),
        Group(2, {"trainable:scout": 2, "trainable:probe": 1, "snapshot:first": 1}),
        Group(2, {"snapshot:first": 1, "snapshot:second": 1, "bot:metronome": 1}),
    ]
)


FOUR_MODULES = {
    "main": (SmallModule, {"trunk": {"form": "semantic"}}),
    "rival": (SmallModule, {"trunk": {"form": "semantic"}}),
    "scout": (FeatureModule, {"trunk": {"width": 8}}),
    "probe": (FeatureModule, {"trunk": {"width": 5}}),
}


def mixed_config(store, env=None, config=None, **settings):
    """An algorithm over two games in this process, 24 steps an iteration, all rows in one minibatch."""
    config = configure(
        config or PPOConfig(),
        support.env_config(league=MIXTURE, **(env or {})),
        store=store,
        module=FOUR_MODULES,
        architectures=[SmallModule, support.BigModule],
        **{"runner": "batched"} | settings,
    )
    config.env_runners(num_env_runners=0, rollout_fragment_length=12, num_envs_per_env_runner=2)
    config.training(train_batch_size_per_learner=24)
    if isinstance(config, PPOConfig):
        config.training(minibatch_size=None, num_epochs=1)
    return config


# ---- all of them --------------------------------------------------------------------------------------

PAIRS = {"main": (PairModule, {"size": "small"})}
SEATS = ["agent", "agent", "banker", "metronome", "novice", "banker"]
WITH_SNAPSHOTS = {"league": table("strong", "weak"), "obs": "pairs"}


def fill_boards(path, env):
    return support.fill(path, config=GAME, frames=env["frames"])


LEAGUES = {
    "boards": Played(
        {"league": support.LEAGUE, "frames": 1},
        {"main": SmallModule},
        fill_boards,
        {"architectures": [support.BigModule]},
    ),
    "several learn": Played(
        {"league": MIXTURE, "frames": 1},
        FOUR_MODULES,
        fill_boards,
        {"architectures": [SmallModule, support.BigModule]},
    ),
    "pairs": Played({"seats": SEATS, "obs": "pairs", "repeat": 2}, PAIRS, lambda *_: None),
    "pool": Played(
        {**WITH_SNAPSHOTS, "action_format": "pairs_multi_discrete"},
        PAIRS,
        fill_pairs,
        {"frozen_seats": "pool"},
    ),
    "engine": Played(WITH_SNAPSHOTS, PAIRS, fill_pairs),
    "all forms": Played(FORMS_ENV, MODULES, fill_forms),
    "own games": Played({**FORMS_ENV, "league": OWN_GAMES}, MODULES, fill_forms),
}
