#!/usr/bin/env python3
"""Times RLlib's own runner and the batched one side by side: agent steps a second while sampling.

    python benchmarks/rllib/rllib_sampling.py               16 games of 32 agents, some minutes
    python benchmarks/rllib/rllib_sampling.py --size small  the same in a minute

The network is an MLP 64-64 on the features of the tables, so that what is timed is the runners. They take
turns, so that a busy machine slows both, and each begins its samples with new games, in which all seats
live. Both have one thread; medians by the processor's time count, and those by wall time are beside them. The
result, with the machine and the versions, goes to benchmarks/results/rllib_sampling.json. Exit code 1 below
the goal of 15 times.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from torch import Tensor, nn

from benchmarks import goals, harness
from benchmarks.rllib import sampling_turns
from rllib_adapters.configure import configure
from rllib_adapters.modules.board import BoardModule
from territorial import GameConfig
from territorial.cli import options
from territorial.decode.layout import feature_names
from territorial.nets.board_policy import BoardPolicy
from territorial.observation.layout import ObsLayout

GOAL = goals.bound("rllib_sampling", "agent_steps_per_process_second/batched")
ROUNDS = 9
RESULT = harness.RESULTS / "rllib_sampling.json"
SIZES = {
    "full": (GameConfig(), 32, {"stock": 4, "batched": 64}),
    "small": (GameConfig(height=64, width=64, num_players=8, max_ticks=2000), 8, {"stock": 8, "batched": 64}),
}
"""By name: the game, its agents, and the steps of a game in a sample of each runner."""


class FeaturePolicy(BoardPolicy):
    """Looks at no board."""

    def _boards(self, seen: Any, seats: Tensor, games: Tensor | None) -> None:
        return None


class SmallTrunk(nn.Module):
    form = "pooled"  # never decoded
    embedding_size = 64

    def __init__(self, layout: Any, config: GameConfig) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(len(feature_names(config)), 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()
        )

    def forward(self, boards: None, features: Tensor) -> Tensor:
        return self.layers(features)


class SmallModule(BoardModule):
    @classmethod
    def make_policy(cls, model_config: Any) -> BoardPolicy:
        layout, config = ObsLayout.from_dict(model_config["layout"]), model_config["config"]
        return FeaturePolicy(layout, config, SmallTrunk(layout, config))


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    game, agents, steps = SIZES[parsed.size]
    runners = {name: make_runner(name, game, agents, parsed.num_games, steps[name]) for name in steps}
    speeds = sampling_turns.take_turns(runners, parsed.rounds, begin_anew=True)
    network = "MLP 64-64 on the features"
    about = {"games": parsed.num_games, "agents": agents, "network": network, "steps_of_a_sample": steps}
    return sampling_turns.finish(sampling_turns.report(game, speeds, GOAL, **about), parsed.json)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    sampling_turns.add_options(parser, games=16, rounds=ROUNDS, result=RESULT)
    return parser.parse_args(argv)


def make_runner(name: str, game: GameConfig, agents: int, games: int, steps: int) -> Any:
    """Return a runner in this process; all seats beyond ``agents`` are bots."""
    seats = ["agent"] * agents + ["metronome"] * (game.num_players - agents)
    env_config = {"config": game, "seats": seats, "frames": 1}
    config = configure(PPOConfig(), env_config, module=SmallModule, runner=name)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=games, rollout_fragment_length=steps)
    config.debugging(seed=0)
    return config.env_runner_cls(config=config, worker_index=0, num_workers=0)


if __name__ == "__main__":
    sys.exit(main())
