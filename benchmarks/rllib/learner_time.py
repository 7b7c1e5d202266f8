#!/usr/bin/env python3
"""Times the learner's part of an iteration by the processor, with each of the options of ``config.learning``.

    python benchmarks/rllib/learner_time.py                 three networks, some minutes
    python benchmarks/rllib/learner_time.py --rounds 3      the same in fewer

Each network learns from one sample of its games, again and again, with the weights that it was sampled with.
What is timed is all that a learner does with the episodes: advantages, minibatches, losses, gradients,
Adam. The options take turns, all have one thread, and the medians count. "before" computes all values
again, and updates with RLlib's Adam. The result goes to benchmarks/results/learner_time.json.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import statistics
import sys
import time
from typing import Any, NamedTuple

import torch
from ray.rllib.algorithms.ppo import PPOConfig

from benchmarks import harness
from rllib_adapters.configure import configure
from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.modules.board import ReferenceModule
from rllib_adapters.modules.encode_once import EncodeOnceModule, rows_by_frame
from rllib_adapters.modules.pairs import PairModule
from territorial import GameConfig

RESULT = harness.RESULTS / "learner_time.json"
BEFORE = {"sampled_values": False, "fused_adam": False}
OPTIONS: dict[str, dict[str, Any]] = {
    "before": BEFORE,
    "sampled_values": {"fused_adam": False},
    "fused_adam": {"sampled_values": False},
    "default": {},
    "share 0.35": {"share": 0.35},
    "bf16": {"bf16": True},
    "averaged_weights": {"averaged_weights": 0.999},
}
"""By the name that the result has, what ``config.learning`` is given."""


class LearnerCase(NamedTuple):
    """A network, and the games and the train batch that it learns from."""

    module: type
    settings: dict[str, Any]
    env: dict[str, Any]
    agents: int
    games: int
    steps: int
    minibatch: int
    epochs: int


def _game(side: int, players: int, decision_every: int) -> GameConfig:
    return GameConfig(height=side, width=side, num_players=players, decision_every=decision_every, num_maps=2)


CASES = {
    "features": LearnerCase(
        EncodeOnceModule, {"trunk": {"size": "tables"}}, {"config": _game(96, 12, 50)}, 4, 16, 2048, 1024, 3
    ),
    "boards": LearnerCase(ReferenceModule, {}, {"config": _game(256, 32, 25), "frames": 4}, 8, 2, 16, 64, 1),
    "pairs": LearnerCase(PairModule, {}, {"config": _game(96, 12, 10), "obs": "pairs"}, 8, 32, 2048, 4096, 2),
}
"""Those of ``territorial train``'s presets, "boards" with an eighth of the steps; and a league on pairs."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_rounds(parser, 5)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    found = {name: measured(name, case, parsed.rounds) for name, case in CASES.items()}
    harness.write(parsed.json, {"versions": harness.versions_of("torch", "ray"), "cases": found})
    return 0


def measured(name: str, case: LearnerCase, rounds: int) -> dict[str, Any]:
    """Return the medians of seconds by option, and how many rows there were."""
    config = config_of(case)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    began = time.process_time()
    episodes = runner.sample()
    sampling = time.process_time() - began
    rows = sum(len(own) for one in episodes for own in one.agent_episodes.values())
    message, weights = pickle.dumps(episodes), runner.module[MAIN].get_state()
    learners = {
        option: config_of(case).learning(**given).build_learner(env=runner.env)
        for option, given in OPTIONS.items()
    }
    seconds: dict[str, list[float]] = {option: [] for option in OPTIONS}
    for number in range(rounds + 1):  # the first round warms up
        for option, learner in learners.items():
            taken = update(case, learner, pickle.loads(message), weights)
            seconds[option] += [taken] if number else []
            print(f"{name}, round {number}: {option} {taken:.3f} s", flush=True)
    medians = {option: round(statistics.median(all_), 4) for option, all_ in seconds.items()}
    return {"rows": rows, "sampling_process_seconds": round(sampling, 4), "process_seconds": medians}


def config_of(case: LearnerCase) -> Any:
    """Return the configuration of a case; the other seats are bots."""
    bots = ["novice", "banker", "turtle", "metronome"]
    others = case.env["config"].num_players - case.agents
    env = {"frames": 1, **case.env, "seats": ["agent"] * case.agents + (bots * others)[:others]}
    config = configure(PPOConfig(), env, module=case.module, runner="batched", **case.settings)
    config.env_runners(
        num_env_runners=0,
        num_envs_per_env_runner=case.games,
        rollout_fragment_length=case.steps // case.games,
    )
    config.training(
        train_batch_size_per_learner=case.steps,
        minibatch_size=case.minibatch,
        num_epochs=case.epochs,
        lambda_=0.95,
        entropy_coeff=0.003,
        use_kl_loss=False,
        grad_clip=0.5,
    )
    config.debugging(seed=0, log_level="ERROR")
    if issubclass(case.module, EncodeOnceModule):
        rows_by_frame(config)
    return config


def update(case: LearnerCase, learner: Any, episodes: Any, weights: Any) -> float:
    """Return the seconds of the processor that an update with these weights takes."""
    learner.module[MAIN].unwrapped().set_state(copy.deepcopy(weights))
    learner._weights_seq_no = 0  # of the weights that the episodes were sampled with
    began = time.process_time()
    learner.update(
        episodes=episodes,
        num_epochs=case.epochs,
        minibatch_size=case.minibatch,
        shuffle_batch_per_epoch=learner.config.shuffle_batch_per_epoch,
    )
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
