#!/usr/bin/env python3
"""Trains a policy from scratch and checks that it beats untrained players.

    python benchmarks/envs/learning.py                   RLlib, 64 x 64, 8 players: fifteen minutes, two cores
    python benchmarks/envs/learning.py --trainer example examples/ppo.py on a small map: five minutes
    python benchmarks/envs/learning.py --steps 20000       for a look at it

Two seats learn, with one network; bots have the others. The trained network is then compared, over the same
200 games, with the network as it began and with two fixed policies. One always holds. The other expands into
neutral land and holds once there is none, by the best of the ten fractions. Compared is the mean place of
the two seats, 1 being the best. Networks play with sampled actions, and greedily. The games are none of
those trained on.

Exit code 1 unless the 95 % interval of what was trained lies below all others, sampled and greedy.
"""

import argparse
import copy
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import territorial
from benchmarks import harness
from territorial import GameConfig
from territorial.cli import options
from territorial.constants import NUM_FRACTIONS, TARGET_NEUTRAL
from territorial.evaluation.intervals import Z
from territorial.nets import Policy

EVAL_SEED = 1_000_000
RLLIB_SEATS = ["agent", "agent", *["metronome", "novice"] * 3]
RLLIB_GAME = GameConfig(height=64, width=64, num_players=8, decision_every=20)
Seen = dict[str, npt.NDArray[Any]]
Player = Callable[[Seen], npt.NDArray[np.int64]]


class Point(NamedTuple):
    """A moment of a training."""

    steps: int
    """Game steps so far."""
    seconds: float
    place: float
    """Mean place of the learning seats in the games that ended since the last moment; NaN if none did."""


class Score(NamedTuple):
    """The mean place of a player over games, and half its 95 % interval."""

    place: float
    half: float


# ---- players -----------------------------------------------------------------------------------------


def hold(seen: Seen) -> npt.NDArray[np.int64]:
    """Always hold."""
    return np.zeros((*seen["action_mask"].shape[:2], 2), np.int64)


def expand_then_hold(fraction: int) -> Player:
    """Return what launches against neutral land wherever that is legal, and holds otherwise."""

    def play(seen: Seen) -> npt.NDArray[np.int64]:
        actions = hold(seen)
        actions[..., 0] = TARGET_NEUTRAL * seen["action_mask"][..., TARGET_NEUTRAL]
        actions[..., 1] = fraction
        return actions

    return play


def player_of(policy: Policy, *, greedy: bool) -> Player:
    """Return what plays by ``policy``."""

    def play(seen: Seen) -> npt.NDArray[np.int64]:
        with torch.no_grad():
            logits, _ = policy(to_rows(seen))
            actions = policy.greedy(logits) if greedy else policy.draw(logits)
        return actions.view(*seen["action_mask"].shape[:2], 2).numpy()

    return play


def to_rows(seen: Seen) -> dict[str, Tensor]:
    """Return what ``make_vec`` shows of E games as a policy takes it."""
    tensors = {key: torch.from_numpy(array) for key, array in seen.items()}
    games, agents = tensors["seat"].shape[:2]
    frame = torch.arange(games).repeat_interleave(agents)[:, None]
    rows = {key: tensors[key].flatten(0, 1) for key in ("seat", "action_mask")}
    tables = {key: tensors[key] for key in ("players", "borders", "globals")}
    return rows | tables | {"observations": tensors["observation"], "frame": frame}


def score(player: Player, config: GameConfig, seats: list[str], games: int) -> Score:
    """Return how ``player`` does in ``games`` games, the same for all players."""
    env = territorial.make_vec(
        games,
        config=config,
        seats=seats,
        frames=1,
        action_format="multi_discrete",
        end_when="no_agents",
        autoreset="disabled",
    )
    torch.manual_seed(EVAL_SEED)
    seen, info = env.reset(EVAL_SEED)
    has_ended = np.zeros(games, np.bool_)
    while not has_ended.all():
        seen, *_, info = env.step(player(seen))
        has_ended |= info["is_over"]
    env.close()
    places = info["place"].mean(axis=1)  # the seats of a game share its luck: a game is one draw
    return Score(float(places.mean()), float(Z * places.std(ddof=1) / len(places) ** 0.5))


# ---- trainers ----------------------------------------------------------------------------------------


class Trained(NamedTuple):
    """What came of a training."""

    before: Policy
    after: Policy
    config: GameConfig
    seats: list[str]


def train_with_rllib(steps: int, minutes: float, seed: int, curve: list[Point]) -> Trained:
    """Train with RLlib's PPO and the batched runner; ``curve`` is filled on the way."""
    from ray.rllib.algorithms.ppo import PPOConfig

    from rllib_adapters.configuration import configure
    from rllib_adapters.envs.env_config import MAIN
    from rllib_adapters.modules.board import FeatureModule

    torch.manual_seed(seed)
    env_config = {"config": RLLIB_GAME, "seats": RLLIB_SEATS, "frames": 1}
    config = configure(PPOConfig(), env_config, module=FeatureModule, runner="batched")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=16, rollout_fragment_length=128)
    config.training(
        lr=[[0, 1e-3], [steps, 1e-4]],
        train_batch_size_per_learner=2048,
        minibatch_size=512,
        num_epochs=3,
        gamma=0.997,
        lambda_=0.97,
        entropy_coeff=0.003,
        vf_loss_coeff=0.5,
        clip_param=0.2,
        use_kl_loss=False,
        grad_clip=0.5,
        grad_clip_by="global_norm",
    )
    config.debugging(seed=seed)
    algorithm = config.build_algo()
    try:
        before, started = copy.deepcopy(algorithm.get_module(MAIN).policy), time.perf_counter()
        while not curve or (curve[-1].steps < steps and has_time(curve, minutes)):
            found = algorithm.train()["env_runners"]
            done, place = int(found["num_env_steps_sampled_lifetime"]), float(found.get("place", np.nan))
            curve.append(Point(done, time.perf_counter() - started, place))
            if len(curve) % 5 == 1:
                print(f"{curve[-1].seconds:5.0f} s  {done:,} of {steps:,} game steps  mean place {place:.2f}")
        after = copy.deepcopy(algorithm.get_module(MAIN).policy)
    finally:
        algorithm.stop()
    return Trained(before, after, RLLIB_GAME, RLLIB_SEATS)


def train_with_example(steps: int, minutes: float, seed: int, curve: list[Point]) -> Trained:
    """Train with examples/ppo.py on features; ``curve`` is filled on the way."""
    ppo = harness.example("ppo")
    args = ppo.Args(seed=seed, total_steps=steps, network="features")
    started = time.perf_counter()

    def see(done: int, place: float) -> bool:
        curve.append(Point(done, time.perf_counter() - started, place))
        return has_time(curve, minutes)

    after, _ = ppo.train(args, see)
    torch.manual_seed(seed)
    env = ppo.make(args, 1)
    seats = ["agent"] * args.agent_seats + [args.bot] * (args.num_players - args.agent_seats)
    before = ppo.make_network(args, env)
    return Trained(before.policy, after.policy, env.config, seats)


TRAINERS = {"rllib": (train_with_rllib, 160_000, 15.0), "example": (train_with_example, 60_000, 5.0)}
"""By name: what trains, for how many steps of games, and for how many minutes at most."""


def has_time(curve: list[Point], minutes: float) -> bool:
    """Return whether as long an iteration as the longest lately would end in time."""
    seconds = [0.0, *(point.seconds for point in curve[-10:])]
    longest = max(after - before for before, after in itertools.pairwise(seconds[-10:]))
    return seconds[-1] + longest < 60 * minutes


# ---- the check ---------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    trainer, steps, minutes = TRAINERS[parsed.trainer]
    curve: list[Point] = []
    trained = trainer(parsed.steps or steps, parsed.minutes or minutes, parsed.seed, curve)
    scores = compare(trained, parsed.eval_games)
    is_good = is_better(scores)
    print(f"{'better' if is_good else 'NOT better'} than all others, after {curve[-1].seconds:.0f} s")
    harness.write(
        parsed.json, {"mean_place": scores, "better_than_all": is_good, "curve": curve, "seed": parsed.seed}
    )
    return int(not is_good)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = harness.parser_of(__doc__)
    parser.add_argument(
        "--trainer", choices=TRAINERS, default="rllib", help="trainer to measure (default %(default)s)"
    )
    parser.add_argument(
        "--steps",
        type=options.whole(1, 10**9),
        help="environment steps to run (default none; --minutes is the limit)",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        help="minutes of the run at most (default 15, or 5 for the example)",
    )
    parser.add_argument(
        "--eval-games",
        type=options.whole(2, 10**5),
        default=200,
        help="games of each evaluation (default %(default)s)",
    )
    parser.add_argument(
        "--seed", type=options.whole(0, 2**31), default=0, help="random seed (default %(default)s)"
    )
    return parser.parse_args(argv)


def compare(trained: Trained, games: int) -> dict[str, Score]:
    """Return how all players do, by name; "trained" are the first two."""
    players = {
        f"{name}, {how}": player_of(policy, greedy=how == "greedy")
        for name, policy in (("trained", trained.after), ("untrained", trained.before))
        for how in ("sampled", "greedy")
    }
    players["always hold"] = hold
    game = trained.config, trained.seats, games
    scores = {name: score(player, *game) for name, player in players.items()}
    expanding = [score(expand_then_hold(fraction), *game) for fraction in range(NUM_FRACTIONS)]
    scores["expand then hold"] = min(expanding)
    for name, found in scores.items():
        print(f"{name:20} mean place {found.place:.2f} +- {found.half:.2f}")
    return scores


def is_better(scores: dict[str, Score]) -> bool:
    """Return whether both ways of playing what was trained lie below all others, intervals and all."""
    ours = [score for name, score in scores.items() if name.startswith("trained")]
    others = [score for name, score in scores.items() if not name.startswith("trained")]
    return all(
        own.place + own.half < other.place - other.half for own, other in itertools.product(ours, others)
    )


if __name__ == "__main__":
    sys.exit(main())
