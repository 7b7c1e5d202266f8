"""Leagues of this project as memory is measured in them: their snapshots, and algorithms that train them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from torch import Tensor

from benchmarks.rllib.league_seats import BOTS, LEARNER, NETWORKS, LeagueNetwork, names_of, spread
from rllib_adapters.configure import configure
from rllib_adapters.envs.agent_names import POOL
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.league.export import network_of
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule
from territorial import GameConfig, VecGame
from territorial.actions.encoding import num_targets
from territorial.bots.network_file import NetworkFile, pieces
from territorial.constants import NUM_FRACTIONS
from territorial.league import Group, LeagueTable, SnapshotStore
from territorial.memory.setup import Setup

ON_PAIRS = "on-pairs"
"""Who learns on pairs where others are on boards."""


@dataclass(frozen=True)
class MeasuredLeague:
    """A league: its numbers, the network of learners and snapshots, and who is on pairs besides."""

    setup: Setup
    network: str
    form: str

    @property
    def learners(self) -> dict[str, tuple[LeagueNetwork, int]]:
        """By name, the network of each learner and its seats."""
        setup, own = self.setup, NETWORKS[self.network]
        if self.form != "mixed":
            return {LEARNER: (own, setup.agents)}
        on_pairs = setup.pair_agents
        return {LEARNER: (own, setup.agents - on_pairs), ON_PAIRS: (NETWORKS["pairs"], on_pairs)}

    @property
    def names(self) -> list[str]:
        """The names of its snapshots."""
        return names_of(self.setup.snapshots)

    def entries(self) -> dict[str, Any]:
        """Return its ``env_config``."""
        setup = self.setup
        rest = setup.num_players - setup.agents
        frozen = rest // 2 if setup.snapshots else 0
        groups = [
            *(Group(seats, {f"trainable:{name}": 1}) for name, (_, seats) in self.learners.items()),
            Group(rest - frozen, BOTS),
            *([Group(frozen, {f"snapshot:{name}": 1 for name in self.names})] if frozen else []),
        ]
        obs = {name: network.obs for name, (network, _) in self.learners.items()}
        return {
            "config": game_of(setup),
            "league": LeagueTable(groups),
            "frames": setup.frames,
            "obs": obs if len(obs) > 1 else obs[LEARNER],
        }

    def settings(self, learner: str) -> dict[str, Any]:
        """Return the ``model_config`` of a learner's module."""
        network, _ = self.learners[learner]
        return settings_of(self.entries(), learner=learner, **network.settings)


def game_of(setup: Setup) -> GameConfig:
    return GameConfig(height=setup.height, width=setup.width, num_players=setup.num_players)


@contextmanager
def filled_store(league: MeasuredLeague) -> Iterator[SnapshotStore]:
    """Give a store with the snapshots of a league, no two alike; those of its learners in turn."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TERRITORIAL_STORE_DIR")) as folder:
        store = SnapshotStore(folder)
        learners = list(league.learners)
        for i, learner in enumerate(learners):
            _fill(store, league, learner, league.names[i :: len(learners)])
        torch.manual_seed(0)
        yield store


def _fill(store: SnapshotStore, league: MeasuredLeague, learner: str, names: list[str]) -> None:
    """Add snapshots of a learner's network; the engine plays those on pairs."""
    module, settings = league.learners[learner][0].module, league.settings(learner)
    policy = module.make_policy(settings)
    network = exported(policy, league) if module is PairModule else None
    weights = policy.state_dict()
    for name in names:
        next(iter(weights.values())).view(-1)[0] += 1  # no two files are the same
        arrays = {key: part.numpy() for key, part in weights.items()}
        store.add(name, arrays, module.manifest(settings), network=network)


def exported(policy: Any, league: MeasuredLeague) -> list[Any]:
    """Return a network on pairs as the engine has it: as many bytes as any other of its size."""
    spread(policy)
    network = network_of(PairModule, policy, EnvConfig.from_config(league.entries()))
    assert isinstance(network, NetworkFile), network
    return list(pieces(network))


def config_of(league: MeasuredLeague, store: SnapshotStore, runner: str = "stock", epochs: int = 1) -> Any:
    """Return the configuration of PPO for a league."""
    setup = league.setup
    modules = {name: (network.module, network.settings) for name, (network, _) in league.learners.items()}
    config = configure(PPOConfig(), league.entries(), module=modules, store=store, runner=runner)
    config.env_runners(
        num_env_runners=setup.env_runners,
        num_envs_per_env_runner=setup.games,
        create_local_env_runner=bool(setup.driver_plays) or not setup.env_runners,
        sample_timeout_s=None,
    )
    config.training(
        train_batch_size_per_learner=setup.steps, minibatch_size=setup.minibatch, num_epochs=epochs, lr=1e-4
    )
    return config.debugging(seed=0, log_level="ERROR")


def open_all(algorithm: Any, names: list[str]) -> None:
    """Have every runner read all snapshots, in the engine or in the pool, down to the last byte."""

    def read(runner: Any) -> int:
        houses = [runner.env] if hasattr(runner.env, "game") else [env.unwrapped for env in runner.env.envs]
        in_engine = {name for name in names if all(one._house._networks.network(name) for one in houses)}
        opponents = runner.module[POOL].opponents
        opponents.keep(sorted(set(names) - in_engine))
        return len(in_engine) + sum(map(pages_read, by_form(opponents)))

    group, has_runners = algorithm.env_runner_group, bool(algorithm.config.num_env_runners)
    assert min(group.foreach_env_runner(read, local_env_runner=not has_runners)) > 0


def by_form(opponents: Any) -> list[Any]:
    """Return the pools of frozen opponents, of which those of two forms have two."""
    return list(opponents.by_form.values()) if hasattr(opponents, "by_form") else [opponents]


def pages_read(opponents: Any) -> int:
    """Read a number of each page of the weights that a pool has open."""
    weights = [part for entry in opponents._open.values() for part in entry.weights.values()]
    return sum(int(part.view(-1)[::1024].count_nonzero()) for part in weights)


def activations_of(league: MeasuredLeague) -> int:
    """Return how many float32 numbers the modules keep of a row until gradients are computed, at most."""
    return max(_activations(league, name) for name in league.learners)


def _activations(league: MeasuredLeague, learner: str) -> int:
    network, _ = league.learners[learner]
    policy = network.module.make_policy(league.settings(learner))
    own = {parameter.data_ptr() for parameter in policy.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        if tensor.data_ptr() not in own:
            kept[tensor.data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        if network.obs == "pairs":
            policy(torch.zeros(1, 35), torch.zeros(1, 8, 26), torch.ones(1, 81))
        else:
            policy(_first_row(league.setup))
    return sum(kept.values()) // 4


def _first_row(setup: Setup) -> dict[str, Tensor]:
    """Return what a seat sees of boards as a game begins."""
    seen = VecGame(game_of(setup), 1, frames=setup.frames).reset()
    arrays = {
        "observations": seen.planes,
        **{key: getattr(seen, key) for key in ("players", "borders", "globals")},
    }
    rows = {key: torch.from_numpy(np.array(part)) for key, part in arrays.items()}
    mask = torch.ones((1, num_targets(setup.num_players) + NUM_FRACTIONS))
    return {**rows, "seat": torch.ones((1, 1), dtype=torch.int32), "action_mask": mask}


def parameters_of(algorithm: Any, league: MeasuredLeague) -> int:
    """Return the weights of the largest network that learns."""
    weights = algorithm.learner_group.get_weights(list(league.learners))
    return max(sum(int(array.size) for array in state.values()) for state in weights.values())
