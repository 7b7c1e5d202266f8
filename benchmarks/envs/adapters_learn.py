#!/usr/bin/env python3
"""Whether agents learn through each adapter: Stable-Baselines3, sb3-contrib and SuperSuit.

    python benchmarks/envs/adapters_learn.py                      all three, quarter of an hour on two cores
    python benchmarks/envs/adapters_learn.py --seconds 3 --eval-games 8 --only supersuit     whether it runs

One agent plays three bots on a small map. Each adapter trains for the time given; then the trained agent,
the same network as it began and one that always holds play the same games. The result, with the machine and
the versions, goes to benchmarks/results/adapters_learn.json. Exit code 1 if a trained agent's mean place is
not better than both others' with disjoint 95 % intervals (not tested with fewer than 100 games). Exit code
1, too, if there was a launch that is not legal where masks are used.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import supersuit
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import territorial
from benchmarks import goals, harness
from territorial.evaluation.statistics import Z
from territorial.integrations.sb3 import MaskableVecEnv
from territorial.integrations.sb3_boards import board_policy

GAME: dict[str, Any] = {
    "height": 32,
    "width": 32,
    "num_players": 4,
    "max_ticks": 1500,
    "seats": ("agent", "novice", "novice", "novice"),
}
NUM_GAMES = 32
LEARNING: dict[str, Any] = {
    "n_steps": 64,
    "batch_size": 512,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gamma": 0.995,
    "ent_coef": 0.002,
    "device": "cpu",
}
FEWEST_GAMES = 100
"""With fewer, the result is not judged."""
LIMIT_S = goals.bound("adapters_learn", "adapters/*/seconds")
RESULT = harness.RESULTS / "adapters_learn.json"
Act = Callable[[Any, npt.NDArray[np.int8]], npt.NDArray[Any]]


def maskable(seed: int) -> tuple[Any, dict[str, Any], Callable[[Any], Act]]:
    """MaskablePPO of sb3-contrib, on features."""
    options = {"obs": "features", "action_format": "multi_discrete", "end_when": "no_agents"}
    env = MaskableVecEnv(NUM_GAMES, **GAME, **options)
    model = MaskablePPO("MlpPolicy", env, seed=seed, **LEARNING)

    def player(model: Any) -> Act:
        return lambda seen, masks: model.predict(seen, action_masks=masks)[0]

    return model, options, player


def boards(seed: int) -> tuple[Any, dict[str, Any], Callable[[Any], Act]]:
    """PPO of Stable-Baselines3 without masks, on packed boards that its policy decodes."""
    options = {"obs": "packed", "frames": 1, "action_format": "multi_discrete", "end_when": "no_agents"}
    env = MaskableVecEnv(NUM_GAMES, **GAME, **options)
    model = PPO("MultiInputPolicy", env, seed=seed, policy_kwargs=board_policy(env), **LEARNING)

    def player(model: Any) -> Act:
        return lambda seen, masks: model.predict({key: seen[key] for key in env.observation_space})[0]

    return model, options, player


def through_supersuit(seed: int) -> tuple[Any, dict[str, Any], Callable[[Any], Act]]:
    """PPO of Stable-Baselines3 without masks, on parallel environments that SuperSuit lays side by side."""
    options = {"obs": "features", "action_format": "multi_discrete", "end_when": "no_agents"}
    env = territorial.parallel_env(**GAME, **options, agent_death="keep", action_mask="none")
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    env = supersuit.concat_vec_envs_v1(env, NUM_GAMES, base_class="stable_baselines3")
    torch.manual_seed(seed)  # SuperSuit's environments take no seed
    model = PPO("MlpPolicy", env, **LEARNING)

    def player(model: Any) -> Act:
        return lambda seen, masks: model.predict(seen)[0]

    return model, options, player


ADAPTERS = {"maskable": maskable, "boards": boards, "supersuit": through_supersuit}
MASKED = {"maskable"}
"""Those in which an illegal launch would be a mistake of ours."""


class Clock(BaseCallback):  # type: ignore[misc]
    """Ends the training after some seconds, and says how far it is."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.begin, self.told = seconds, time.perf_counter(), 0.0

    def _on_step(self) -> bool:
        now = time.perf_counter() - self.begin
        if now - self.told > 1:
            self.told = now
            sys.stderr.write(f"\r{now:.0f} of {self.seconds:.0f} s, {self.num_timesteps:,} steps ")
        return now < self.seconds


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seconds",
        type=float,
        default=240,
        help="seconds of measuring; of training, for each adapter (default %(default)s)",
    )
    parser.add_argument(
        "--eval-games", type=int, default=400, help="games of each evaluation (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default %(default)s)")
    parser.add_argument(
        "--only",
        choices=ADAPTERS,
        action="append",
        help="case to measure; the others keep the result on file; repeat the option for more (default all)",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)  # the networks are too small to share
    found = {name: learn(name, parsed) for name in parsed.only or ADAPTERS}
    result = {
        "versions": harness.versions_of("stable_baselines3", "sb3_contrib", "supersuit", "torch"),
        "game": GAME,
        "num_games": NUM_GAMES,
        "eval_games": parsed.eval_games,
        "limit_s": LIMIT_S,
        "adapters": found,
    }
    harness.write(parsed.json, result)
    missed = [name for name, one in found.items() if is_missed(name, one, parsed.eval_games)]
    print("MISSED: " + ", ".join(missed) if missed else "all met")
    return int(bool(missed))


def learn(name: str, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the mean places before and after training through one adapter, and of always holding."""
    model, options, player = ADAPTERS[name](parsed.seed)
    untrained = places(options, player(model), parsed)
    clock = Clock(parsed.seconds)
    model.learn(10**9, callback=clock)
    seconds = time.perf_counter() - clock.begin
    sys.stderr.write("\n")
    trained = places(options, player(model), parsed)
    hold = places(options, lambda seen, masks: np.zeros((len(masks), 2), int), parsed)
    found = {
        "seconds": round(seconds, 1),
        "agent_steps": int(model.num_timesteps),
        "trained": trained,
        "untrained": untrained,
        "always_hold": hold,
    }
    print(f"{name}: mean places " + ", ".join(f"{who} {shown(found[who])}" for who in WHO))
    return found


WHO = ("trained", "untrained", "always_hold")


def places(options: dict[str, Any], act: Act, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the mean place over whole games with its 95 % interval, and the illegal launches a game."""
    torch.manual_seed(1)
    vec = territorial.make_vec(parsed.eval_games, **GAME, **options, action_mask="none", autoreset="disabled")
    seen, _ = vec.reset(seed=10**6)
    # An agent that is dead has its place; its game need not be played on.
    is_over = np.zeros(parsed.eval_games, bool)
    while not is_over.all():
        masks = vec.action_masks()[:, 0]
        actions = act(vec.per_agent(seen), masks)
        seen, _, _, _, info = vec.step(np.asarray(actions)[:, None])
        is_over |= info["ended"]
    place = info["place"][:, 0]
    half = Z * place.std(ddof=1) / math.sqrt(len(place))
    return {
        "place": round(float(place.mean()), 3),
        "half_interval": round(float(half), 3),
        "illegal_a_game": round(float(info["illegal"].mean()), 3),
    }


def shown(one: dict[str, Any]) -> str:
    """Return a mean with its interval."""
    return f"{one['place']:.2f} ± {one['half_interval']:.2f}"


def is_missed(name: str, found: dict[str, Any], games: int) -> bool:
    """Return whether an adapter does not do what it should."""
    if name in MASKED and found["trained"]["illegal_a_game"]:
        return True
    if games < FEWEST_GAMES:
        return False
    upper = found["trained"]["place"] + found["trained"]["half_interval"]
    lower = min(found[who]["place"] - found[who]["half_interval"] for who in WHO[1:])
    return upper >= lower or found["seconds"] > LIMIT_S


if __name__ == "__main__":
    sys.exit(main())
