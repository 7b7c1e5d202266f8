"""Seats of benchmark leagues: learning agents, bots and frozen snapshots."""

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from torch import nn

from rllib_adapters.configuration import configure
from rllib_adapters.envs.env_config import POOL, module_of
from rllib_adapters.league.control import freeze
from rllib_adapters.modules.board import settings_of
from rllib_adapters.networks import Network
from territorial import GameConfig, bots
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.nets.pair_policy import PairPolicy

LEARNER = "main"
BOTS = {f"bot:{name}": 1.0 for name in bots.NAMES}
SPREAD = 3.0
"""What the last weights of a ``PairPolicy`` are multiplied by, so that its choices differ."""


@dataclass(frozen=True)
class Seats:
    """Who sits in a game; all groups are as large as in the league whose speed is asked for."""

    learning: int = 8
    bots: int = 12
    frozen: int = 12
    snapshots: int = 32
    """Those that frozen seats are drawn from; 0: bots have these seats."""

    @property
    def players(self) -> int:
        """Seats of a game."""
        return self.learning + self.bots + self.frozen

    def table(self) -> LineUpDistribution:
        """Return the table that draws the players."""
        learning = Group(self.learning, {f"trainable:{LEARNER}": 1.0})
        if not self.snapshots:
            return LineUpDistribution([learning, Group(self.bots + self.frozen, BOTS)])
        drawn = {f"snapshot:{name}": 1.0 for name in names_of(self.snapshots)}
        return LineUpDistribution([learning, Group(self.bots, BOTS), Group(self.frozen, drawn)])


def names_of(count: int) -> list[str]:
    """Return the names of so many snapshots."""
    return [f"past-{i}" for i in range(count)]


def environment(network: Network, seats: Seats, game: GameConfig) -> dict[str, Any]:
    """Return the ``env_config`` of a league."""
    return {"config": game, "league": seats.table(), "frames": network.frames, "obs": network.obs}


def configured(
    network: Network, seats: Seats, game: GameConfig, folder: Path, runner: str = "batched"
) -> Any:
    """Return the configuration of PPO for a league, with its snapshots in a store within ``folder``."""
    store = store_in(folder, network)
    env_config = environment(network, seats, game)
    config = configure(
        PPOConfig(), env_config, module=network.module, store=store, runner=runner, **network.settings
    )
    fill(config, store, network, env_config, seats.snapshots)
    return config


def store_in(folder: Path, network: Network) -> SnapshotStore:
    """Return the store within ``folder`` that has the snapshots of a network."""
    return SnapshotStore(folder / network.module.__name__ / hash_of(network))


def hash_of(network: Network) -> str:
    """Return a name for the settings of a network."""
    return "-".join(str(value) for value in network.settings.get("trunk", {}).values()) or "default"


def fill(config: Any, store: SnapshotStore, network: Network, env_config: dict[str, Any], count: int) -> None:
    """Freeze networks of random weights, as a league freezes those it trains, until there are ``count``."""
    settings = settings_of(env_config, **network.settings)
    for i, name in enumerate(names_of(count)):
        if name not in store:
            torch.manual_seed(i)
            policy = network.module.make_policy(settings)
            if isinstance(policy, PairPolicy):
                spread(policy)
            freeze(_as_trained(config, policy), store, name, module=LEARNER)


def spread(policy: PairPolicy) -> None:
    """Move the logits of a network apart, so that whole numbers choose what it chooses."""
    with torch.no_grad():
        for layer in (policy.joint, policy.score, policy.context, policy.hold):
            layer.weight *= SPREAD


def _as_trained(config: Any, policy: nn.Module) -> Any:
    """Return what ``freeze`` asks of an algorithm, of which ``policy`` is what has been trained."""
    weights = {f"policy.{name}": part.detach().numpy() for name, part in policy.state_dict().items()}
    group = SimpleNamespace(get_weights=lambda modules: {LEARNER: weights})
    return SimpleNamespace(config=config, learner_group=group)


def seat_modules(runner: Any, network: Network, seats: Seats, folder: Path) -> None:
    """Let RLlib's own runner play frozen seats as RLlib does by itself: every snapshot is a module.

    The modules, without anything that learning needs, are added as ``Algorithm.add_module`` adds them to a
    runner. RLlib's mapping function draws one for a seat when a game begins.
    """
    names = names_of(seats.snapshots)
    store = store_in(folder, network)
    pool = runner.module[POOL]
    for name in names:
        spec = RLModuleSpec(
            module_class=network.module,
            observation_space=pool.observation_space,
            action_space=pool.action_space,
            inference_only=True,
            model_config=runner.module[LEARNER].model_config,
        )
        module = spec.build()
        module.set_state({f"policy.{key}": part.copy() for key, part in store.load(name).items()})
        runner.module.add_module(name, module)

    def drawn(agent: str, episode: Any = None, **_: Any) -> str:
        module = module_of(agent, episode)
        if module != POOL or episode is None:
            return module
        return names[hash((episode.id_, agent)) % len(names)]

    runner.config = runner.config.copy(copy_frozen=False).multi_agent(policy_mapping_fn=drawn)


def make_runner(config: Any, games: int, steps: int) -> Any:
    """Return a runner in this process, whose samples have ``steps`` steps of every game."""
    config.env_runners(
        num_env_runners=0,
        num_envs_per_env_runner=games,
        rollout_fragment_length=steps,
        episode_lookback_horizon=0,  # steps at random, which come before, lack what modules give for each
    )
    config.debugging(seed=0)
    return config.env_runner_cls(config=config, worker_index=0, num_workers=0)
