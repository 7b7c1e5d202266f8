#!/usr/bin/env python3
"""DQN beside PPO with RLlib, on pairs: the same games, network and minutes.

Two agents that share a network play two novices on 32 x 32 cells. Then both networks, and a bot that never
moves, play the same games. Needs PyTorch and Ray.

    python examples/dqn_pairs.py                                half an hour on one core
    python examples/dqn_pairs.py --minutes 2 --games 100        a quick look
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig

import territorial
from rllib_adapters import configure, policy_of
from territorial import GameConfig, Scenario
from territorial.bots import Network, PythonBot

GAME = GameConfig(height=32, width=32, num_players=4, decision_every=10, max_ticks=1500, num_maps=16)
SEATS = ["agent", "agent", "novice", "novice"]
REPEAT = 5
"""Decisions of bots from one of an agent's to its next."""
GAMES, FRAGMENT = 32, 16
"""Games side by side, and the steps of each in a sample of DQN."""


class Holding(PythonBot):
    """A bot that never moves."""

    name = "holding-1"

    def decide(self, view: Any) -> tuple[int, int]:
        """Hold."""
        return -1, 1024


def dqn() -> DQNConfig:
    """Return the settings of DQN, by which every agent step is learned from eight times."""
    config = DQNConfig().env_runners(rollout_fragment_length=FRAGMENT)
    return config.training(
        replay_buffer_config={"capacity": 200_000},
        num_steps_sampled_before_learning_starts=5_000,
        train_batch_size_per_learner=512,
        training_intensity=16,  # rows of a game's step, of which there are two
        epsilon=[(0, 1.0), (50_000, 0.02)],
        target_network_update_freq=4 * GAMES * FRAGMENT,
        n_step=3,
        lr=5e-4,
        gamma=0.99,
    )


def ppo() -> PPOConfig:
    """Return the settings of PPO, by which every agent step is learned from three times."""
    return PPOConfig().training(
        train_batch_size_per_learner=64 * GAMES,
        minibatch_size=512,
        num_epochs=3,
        entropy_coeff=0.003,
        use_kl_loss=False,
        grad_clip=0.5,
        lr=1e-3,
        gamma=0.99,
    )


def trained(settings: AlgorithmConfig, path: Path, minutes: float, temperature: float) -> Network:
    """Train for minutes of this process's processor time; return the network as the engine plays it."""
    env = {"config": GAME, "seats": SEATS, "obs": "pairs", "repeat": REPEAT}
    config = configure(settings, env, runner="batched", size="small")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES)
    algorithm, last = config.build_algo(), time.process_time() + 60 * minutes
    while time.process_time() < last:
        found = algorithm.train()["env_runners"]
        steps = found["num_env_steps_sampled_lifetime"]
        print(f"{path.stem}, {steps:,.0f} steps: place {found['place']:.2f}", flush=True)
    interval = GAME.decision_every * REPEAT
    policy_of(algorithm).export(path, interval=interval, temperature=temperature, least_equal=0.9)
    algorithm.stop()
    return Network(path)


def main(argv: Sequence[str] | None = None) -> territorial.Evaluation:
    """Train with both, and compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15, help="of the processor, for each (default 15)")
    parser.add_argument("--games", type=int, default=400, help="games of the comparison (default 400)")
    parser.add_argument("--folder", type=Path, default=Path("."), help="of the networks (default: this one)")
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, ignore_reinit_error=True)
    players: dict[str, Network | PythonBot] = {"holding": Holding()}
    for settings, temperature in ((dqn(), 0.0), (ppo(), 1.0)):  # DQN plays its best action, PPO draws one
        name = str(settings.algo_class.__name__).lower()
        path = parsed.folder / f"{name}.safetensors"
        players[name] = trained(settings, path, parsed.minutes, temperature)
    scenario = Scenario(config=GAME, seats=SEATS)
    found = territorial.evaluate(players, {"place": scenario}, parsed.games, processes=1)
    print(found.table("place"))
    return found


if __name__ == "__main__":
    main()
