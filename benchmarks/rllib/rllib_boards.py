#!/usr/bin/env python3
"""Times sampling on boards: each board encoded once for all its agents, and the same network run per agent.

    python benchmarks/rllib/rllib_boards.py               256 x 256, 32 agents, four frames: some minutes
    python benchmarks/rllib/rllib_boards.py --size small  64 x 64 and 8 agents, in a minute

Both play with the batched runner and the same ``EncodeOncePolicy``; per agent, every row brings a board of
its own, as with networks that look through one agent's eyes. They take turns, so that a busy machine
slows both; medians count, of the wall and of the process' own time. What is timed is a whole sample: games,
observations, network and episodes. The result, with the machine and the versions, goes to
benchmarks/results/rllib_boards.json. Exit code 1 below the goal of 5 times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import torch
from ray.rllib.algorithms.ppo import PPOConfig
from torch import Tensor

from benchmarks import goals, harness
from benchmarks.rllib import sampling_turns
from rllib_adapters.configure import configure
from rllib_adapters.modules.encode_once import EncodeOnceModule
from territorial import GameConfig
from territorial.cli import options
from territorial.nets import EncodeOncePolicy

GOAL = goals.bound("rllib_boards", "agent_steps_per_process_second/encode-once")
ROUNDS = 3
RESULT = harness.RESULTS / "rllib_boards.json"
SIZES = {
    "full": (GameConfig(), 4, {"per agent": 2, "encode-once": 8}),
    "small": (
        GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
        1,
        {"per agent": 4, "encode-once": 16},
    ),
}
"""By name: the game, the frames of a stack, and the steps of a game in a sample of each kind."""


class PerAgentPolicy(EncodeOncePolicy):
    """The same network, with a board for every row."""

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        rows = seen["frame"].flatten()
        tables = {name: seen[name][rows] for name in ("observations", "players", "borders", "globals")}
        own = {name: seen[name] for name in ("seat", "action_mask")}
        return super().forward(own | tables)


class PerAgentModule(EncodeOnceModule):
    @classmethod
    def assemble(cls, layout: Any, config: GameConfig, hold: float, **settings: Any) -> PerAgentPolicy:
        return PerAgentPolicy(layout, config, hold_probability=hold, **settings)


MODULES = {"per agent": PerAgentModule, "encode-once": EncodeOnceModule}


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    game, frames, steps = SIZES[parsed.size]
    runners = {name: make_runner(name, game, frames, parsed, steps[name]) for name in MODULES}
    speeds = sampling_turns.take_turns(runners, parsed.rounds, begin_anew=False)
    network = f"EncodeOncePolicy, {parsed.network_size}"
    about = {"games": parsed.num_games, "agents": game.num_players, "frames": frames, "network": network}
    return sampling_turns.finish(sampling_turns.report(game, speeds, GOAL, **about), parsed.json)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_size_option(parser, SIZES)
    parser.add_argument(
        "--network-size",
        default="small",
        help="size of the network; small, medium or large (default %(default)s)",
    )
    sampling_turns.add_options(parser, games=4, rounds=ROUNDS, result=RESULT)
    return parser.parse_args(argv)


def make_runner(name: str, game: GameConfig, frames: int, parsed: argparse.Namespace, steps: int) -> Any:
    """Return a runner in this process; all seats are agents."""
    env_config = {"config": game, "frames": frames}
    config = configure(
        PPOConfig(), env_config, module=MODULES[name], runner="batched", trunk={"size": parsed.network_size}
    )
    config.env_runners(
        num_env_runners=0, num_envs_per_env_runner=parsed.num_games, rollout_fragment_length=steps
    )
    config.debugging(seed=0)
    return config.env_runner_cls(config=config, worker_index=0, num_workers=0)


if __name__ == "__main__":
    sys.exit(main())
