#!/usr/bin/env python3
"""DQN beside PPO with RLlib, on pairs: the same games, network and processor minutes.

Two agents that share a network play two novices on 32 x 32 cells. Both algorithms then play the same games,
and so does a bot that never moves. Needs PyTorch and Ray.

    python examples/dqn_pairs.py                                half an hour on one core
    python examples/dqn_pairs.py --minutes 2 --games 100        a quick look
"""

import argparse
import time
from pathlib import Path
from typing import Any

import ray
import torch
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig

import territorial
from rllib_adapters import configure, policy_of
from territorial import GameConfig, Scenario
from territorial.bots import Network, PythonBot

GAME = GameConfig(height=32, width=32, num_players=4, decision_every=10, max_ticks=1500, num_maps=16)
SEATS = ["agent", "agent", "novice", "novice"]
REPEAT = 5
"""Decisions of bots that pass from one of an agent's to its next."""
FRAGMENT, GAMES = 16, 32
"""Steps of a game in a sample, and games side by side."""


class Holding(PythonBot):
    """A bot that never moves."""

    name = "holding-1"

    def decide(self, view: Any) -> tuple[int, int]:
        """Hold."""
        return -1, 1024


def dqn() -> DQNConfig:
    """Return the settings of DQN: every step that is played is learned from four times."""
    steps = FRAGMENT * GAMES
    return DQNConfig().training(
        replay_buffer_config={"capacity": 200_000},
        num_steps_sampled_before_learning_starts=5_000,
        train_batch_size_per_learner=512,
        training_intensity=4 * 2 * 2,
        epsilon=[(0, 1.0), (50_000, 0.02)],
        target_network_update_freq=4 * steps,
        n_step=3,
        lr=5e-4,
        gamma=0.99,
    )


def ppo() -> PPOConfig:
    """Return the settings of PPO."""
    steps = 4 * FRAGMENT * GAMES
    return PPOConfig().training(
        train_batch_size_per_learner=steps,
        minibatch_size=512,
        num_epochs=3,
        entropy_coeff=0.003,
        use_kl_loss=False,
        grad_clip=0.5,
        lr=1e-3,
        gamma=0.99,
    )


def trained(make: Any, path: Path, minutes: float, temperature: float) -> Network:
    """Train for minutes of this process's processor time; return the network as the engine plays it."""
    env = {"config": GAME, "seats": SEATS, "obs": "pairs", "repeat": REPEAT}
    config = configure(make(), env, runner="batched", size="small")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES, rollout_fragment_length="auto")
    if make is dqn:
        config.env_runners(rollout_fragment_length=FRAGMENT)
    algorithm, last = config.build_algo(), time.process_time() + 60 * minutes
    while time.process_time() < last:
        found = algorithm.train()["env_runners"]
        steps = found["num_env_steps_sampled_lifetime"]
        print(f"{make.__name__}, {steps:,.0f} steps: place {found['place']:.2f}", flush=True)
    policy_of(algorithm).export(
        path, interval=GAME.decision_every * REPEAT, temperature=temperature, least_equal=0.9
    )
    algorithm.stop()
    return Network(path)


def main() -> territorial.Evaluation:
    """Train with both, and compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=15, help="of the processor, for each (default 15)")
    parser.add_argument("--games", type=int, default=400, help="games of the comparison (default 400)")
    parser.add_argument("--folder", type=Path, default=Path("."), help="of the networks (default: this one)")
    parsed = parser.parse_args()
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False)
    players: dict[str, Network | PythonBot] = {
        make.__name__: trained(make, parsed.folder / f"{make.__name__}.safetensors", parsed.minutes, warmth)
        for make, warmth in ((dqn, 0.0), (ppo, 1.0))
    }
    scenario = Scenario(config=GAME, seats=SEATS)
    found = territorial.evaluate(
        {**players, "holding": Holding()}, {"place": scenario}, parsed.games, processes=1
    )
    print(found.table("place"))
    return found


if __name__ == "__main__":
    main()
