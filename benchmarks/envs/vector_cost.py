#!/usr/bin/env python3
"""What ``make_vec`` costs on top of the bare engine, ``parallel_env``, and saving and restoring games.

    python benchmarks/envs/vector_cost.py                 full size, two minutes
    python benchmarks/envs/vector_cost.py --size small    the same in seconds
    python benchmarks/envs/vector_cost.py --only "packed, copied" --rounds 5 --json FILE

The engine and the environments play the same games with the same legal actions, all seats agents, and take
turns, so that all of them meet the same noise. ``parallel_env`` plays one game of 32 agents, and in turns
with it an environment as users write them in numpy: the same engine, one int8 plane per owner and frame for
every agent. The result, with the machine and the versions, goes to benchmarks/results/vector_cost.json. Exit
code 1 if, at full size, an environment takes more times the engine's own call than LIMITS allow, or the
parallel environment makes fewer than PARALLEL_GOAL steps a second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import territorial
from benchmarks import goals, harness
from territorial.actions.encoding import ego_owners, unflatten
from territorial.cli import options

NUM_GAMES = 64
LIMITS = {
    name: limit
    for result in ("vector_cost", "vector_copies")
    for name, limit in goals.bounds_of(result, "ratio_to_engine").items()
}
"""Times the engine's own call that a step may take, by the names below."""
PARALLEL_GOAL = goals.bound("vector_cost", "parallel/features_steps_per_s")
"""Environment steps a second of ``parallel_env`` with features, 32 agents at full size."""
ENVS: dict[str, dict[str, Any]] = {
    "zero_copy, multi_discrete": {"zero_copy": True, "action_format": "multi_discrete"},
    "zero_copy, discrete": {"zero_copy": True},
    "zero_copy, masks on demand": {"zero_copy": True, "action_mask": "none"},
    "packed, copied": {},
    "features": {"obs": "features"},
}
"""What is compared."""
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}
STEPS_A_TURN = 10
RESULT = harness.RESULTS / "vector_cost.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_size_option(parser, CONFIGS)
    parser.add_argument(
        "--steps",
        type=int,
        default=300,
        help="environment steps to run; so many of each batch (default %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="times that each case is measured (default %(default)s)"
    )
    parser.add_argument("--only", choices=ENVS, help="case to measure; nothing but its ratio to the engine")
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    config = CONFIGS[parsed.size]
    script = legal_script(config, parsed.steps)
    names = [parsed.only] if parsed.only else list(ENVS)
    turns: dict[str, list[float]] = {name: [] for name in ("engine", *names)}
    for _ in range(parsed.rounds):
        for name, seconds in take_turns(config, script, names).items():
            turns[name] += seconds
    ratio = {
        name: statistics.median(a / b for a, b in zip(turns[name], turns["engine"], strict=True))
        for name in names
    }
    limits = {name: LIMITS[name] for name in names if name in LIMITS}
    result: dict[str, Any] = {
        "config_digest": config.hexdigest,
        "num_games": NUM_GAMES,
        "steps": parsed.steps,
        "rounds": parsed.rounds,
        "limits": limits,
        "engine_us_per_step": round(1e6 * statistics.median(turns["engine"]) / STEPS_A_TURN, 1),
        "ratio_to_engine": {name: round(value, 3) for name, value in ratio.items()},
    }
    met = {
        f"{name}: {ratio[name]:.3f} times the engine, at most {limit}": ratio[name] <= limit
        for name, limit in limits.items()
    }
    if not parsed.only:
        result |= {
            "saving_us": saving(config),
            "parallel": parallel(config, max(20, parsed.steps)),
            "parallel_goal": PARALLEL_GOAL,
        }
        rate = result["parallel"]["features_steps_per_s"]
        met[f"parallel_env, features: {rate:,} steps/s, at least {PARALLEL_GOAL:,}"] = rate >= PARALLEL_GOAL
    harness.write(parsed.json, result)
    shown = ("engine_us_per_step", "ratio_to_engine", "saving_us", "parallel")
    print(json.dumps({key: result[key] for key in shown if key in result}, indent=2))
    for goal, is_met in met.items():
        print(f"{goal}: {'met' if is_met else 'MISSED'}")
    return 0 if parsed.size != "full" or all(met.values()) else 1


def legal_script(config: territorial.GameConfig, steps: int) -> list[Any]:
    """Return legal actions (E, A), one launch in ten, of the games that all batches play."""
    vec = territorial.make_vec(NUM_GAMES, config=config, zero_copy=True)
    vec.reset(seed=0)
    rng, script = np.random.default_rng(0), []
    for _ in range(steps):
        masks = vec.action_masks()
        legal = np.where(masks == 1, rng.random(masks.shape, np.float32), -1).argmax(-1)
        script.append(np.where(rng.random(masks.shape[:2]) < 0.9, 0, legal))
        vec.step(script[-1])
    return script


def take_turns(
    config: territorial.GameConfig, script: list[Any], names: Sequence[str]
) -> dict[str, list[float]]:
    """Return the seconds of every turn of the engine and of the environments of these names."""
    engine = territorial.VecGame(config, NUM_GAMES, 0, frames=4)
    engine.reset(0)
    players: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "engine": (engine.step, unflatten)
    }
    for name in names:
        keywords = ENVS[name]
        vec = territorial.make_vec(NUM_GAMES, config=config, **keywords)
        vec.reset(seed=0)
        is_pair = keywords.get("action_format") == "multi_discrete"
        players[name] = vec.step, unflatten if is_pair else np.asarray
    turns: dict[str, list[float]] = {name: [] for name in players}
    for first in range(0, len(script), STEPS_A_TURN):
        for name, (step, form) in players.items():
            actions = [form(one) for one in script[first : first + STEPS_A_TURN]]
            held = None  # who plays holds an observation until the next one is there
            start = time.perf_counter()
            for one in actions:
                held = step(one)
            turns[name].append(time.perf_counter() - start)
            del held
        sys.stderr.write(f"\r{first + STEPS_A_TURN} of {len(script)} steps")
    sys.stderr.write("\n")
    return turns


class NaiveOneHot:
    """An environment as users write them: a stack of one-hot planes in every agent's own order."""

    def __init__(self, config: territorial.GameConfig, frames: int = 4) -> None:
        self.config, self.frames = config, frames
        self.game = territorial.VecGame(config, 1, 0, autoreset="disabled", frames=0)

    def reset(self, seed: int) -> dict[str, Any]:
        self.game.reset(seed)
        self.boards = [self.board()] * self.frames
        return self.look()

    def board(self) -> np.ndarray:
        return self.game.state.owner[0, 1:-1, 1:-1].copy()

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        launches = np.zeros((1, self.config.num_players, 2), np.int64)
        for agent, action in actions.items():
            launches[0, int(agent.removeprefix("player_"))] = unflatten(np.array(action))
        _, rewards, terminated, _, _ = self.game.step(launches)
        self.boards = [*self.boards[1:], self.board()]
        return self.look(), *(dict(enumerate(array[0].tolist())) for array in (rewards, terminated))

    def look(self) -> dict[str, Any]:
        seen = {}
        for p, order in enumerate(ego_owners(self.config.num_players).tolist(), 1):
            planes = [board == owner for board in self.boards for owner in order]
            seen[f"player_{p - 1}"] = {"observation": np.array(planes, np.int8)}
        return seen


def parallel(config: territorial.GameConfig, steps: int) -> dict[str, float]:
    """Return steps a second of the parallel environment, and how many times those of the naive one."""
    rng, seconds = np.random.default_rng(0), {name: list[float]() for name in ("features", "packed", "naive")}
    env = territorial.parallel_env(config=config, obs="features", agent_death="keep")
    packed = territorial.parallel_env(config=config, agent_death="keep")
    naive = NaiveOneHot(config)
    for one in (env, packed, naive):
        one.reset(seed=0)
    for step in range(steps):
        actions = {
            agent: int(rng.choice(np.flatnonzero(mask))) if rng.random() < 0.1 else 0
            for agent, mask in env.action_masks().items()
        }
        players = {"features": env, "packed": packed} | ({"naive": naive} if step % 20 == 0 else {})
        for name, one in players.items():
            start = time.perf_counter()
            one.step(actions)
            seconds[name].append(time.perf_counter() - start)
        if step % 20 == 19:  # it is too slow to play every step
            naive.game.restore(0, env.game.save(0))
        if not env.agents:
            break
    median = {name: statistics.median(found) for name, found in seconds.items()}
    return {
        "agents": config.num_players,
        "features_steps_per_s": round(1 / median["features"]),
        "packed_steps_per_s": round(1 / median["packed"]),
        "naive_steps_per_s": round(1 / median["naive"], 2),
        "features_over_naive": round(median["naive"] / median["features"]),
        "packed_over_naive": round(median["naive"] / median["packed"]),
    }


def saving(config: territorial.GameConfig) -> dict[str, float]:
    """Return the median microseconds of saving, restoring and cloning one game, and a batch of them."""
    one, vec = (
        territorial.make_vec(games, config=config, obs="features", autoreset="disabled")
        for games in (1, NUM_GAMES)
    )
    for batch in (one, vec):
        batch.reset(seed=0)
        for _ in range(50):
            batch.step(np.zeros((batch.num_envs, batch.num_agents), int))
    saved, all_saved = vec.save(0), vec.save_all()
    calls: dict[str, Callable[[], Any]] = {
        "save": lambda: vec.save(0),
        "restore": lambda: vec.restore(1, saved),
        "clone_of_one_game": one.clone,
        f"save_all_of_{NUM_GAMES}": vec.save_all,
        f"restore_all_of_{NUM_GAMES}": lambda: vec.restore_all(all_saved),
        f"clone_of_{NUM_GAMES}": vec.clone,
    }
    return {name: round(1e6 * median_seconds(call), 1) for name, call in calls.items()}


def median_seconds(call: Callable[[], Any], times: int = 50) -> float:
    """Return the median seconds of a call."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    sys.exit(main())
