#!/usr/bin/env python3
"""What ``make_vec`` costs on top of the bare engine, and what it costs to save and restore games.

    python benchmarks/vector_cost.py                 full size, two minutes
    python benchmarks/vector_cost.py --size small    the same in seconds

The engine and the environments play the same games with the same legal actions, all seats agents, and take
turns, so that all of them meet the same noise. The result, with the machine and the versions, goes to
benchmarks/results/vector_cost.json. Exit code 1 if, at full size, the environment that copies nothing takes
more than LIMIT times the engine's own call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from territorial.actions import unflatten
from territorial.cli.machine import machine, versions

NUM_GAMES = 64
LIMIT = 1.10
LIMITED = "zero_copy, multi_discrete"
ENVS: dict[str, dict[str, Any]] = {
    LIMITED: {"zero_copy": True, "action_format": "multi_discrete"},
    "zero_copy, discrete": {"zero_copy": True},
    "zero_copy, masks on demand": {"zero_copy": True, "action_mask": "none"},
    "packed, copied": {},
    "features": {"obs": "features"},
}
"""What is compared; the limit is for the first."""
CONFIGS = {
    "full": territorial.GameConfig(),
    "small": territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=2000),
}
STEPS_A_TURN = 10
RESULT = Path(__file__).parent / "results" / "vector_cost.json"


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=CONFIGS, default="full")
    parser.add_argument("--steps", type=int, default=300, help="steps of each batch (300)")
    parser.add_argument("--out", type=Path, default=RESULT)
    parsed = parser.parse_args(argv)
    config = CONFIGS[parsed.size]
    script = legal_script(config, parsed.steps)
    turns = take_turns(config, script)
    ratio = {
        name: statistics.median(a / b for a, b in zip(turns[name], turns["engine"], strict=True))
        for name in ENVS
    }
    result = {
        "machine": machine(),
        "versions": versions(),
        "config_digest": config.hexdigest,
        "num_games": NUM_GAMES,
        "steps": parsed.steps,
        "limit": LIMIT,
        "limited": LIMITED,
        "engine_us_per_step": round(1e6 * statistics.median(turns["engine"]) / STEPS_A_TURN, 1),
        "ratio_to_engine": {name: round(value, 3) for name, value in ratio.items()},
        "saving_us": saving(config),
    }
    parsed.out.parent.mkdir(parents=True, exist_ok=True)
    parsed.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(
        json.dumps(
            {key: result[key] for key in ("engine_us_per_step", "ratio_to_engine", "saving_us")}, indent=2
        )
    )
    is_met = parsed.size != "full" or ratio[LIMITED] <= LIMIT
    print(
        f"{LIMITED}: {ratio[LIMITED]:.3f} times the engine, at most {LIMIT}: {'met' if is_met else 'MISSED'}"
    )
    return 0 if is_met else 1


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


def take_turns(config: territorial.GameConfig, script: list[Any]) -> dict[str, list[float]]:
    """Return the seconds of every turn of the engine and of every environment."""
    engine = territorial.VecGame(config, NUM_GAMES, 0, frames=4)
    engine.reset(0)
    players: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
        "engine": (engine.step, unflatten)
    }
    for name, options in ENVS.items():
        vec = territorial.make_vec(NUM_GAMES, config=config, **options)
        vec.reset(seed=0)
        is_pair = options.get("action_format") == "multi_discrete"
        players[name] = vec.step, unflatten if is_pair else np.asarray
    turns: dict[str, list[float]] = {name: [] for name in players}
    for first in range(0, len(script), STEPS_A_TURN):
        for name, (step, form) in players.items():
            actions = [form(one) for one in script[first : first + STEPS_A_TURN]]
            start = time.perf_counter()
            for one in actions:
                step(one)
            turns[name].append(time.perf_counter() - start)
        sys.stderr.write(f"\r{first + STEPS_A_TURN} of {len(script)} steps")
    sys.stderr.write("\n")
    return turns


def saving(config: territorial.GameConfig) -> dict[str, float]:
    """Return the median microseconds of saving and restoring a game and of copying one that was saved."""
    vec = territorial.make_vec(2, config=config, obs="features", autoreset="disabled")
    vec.reset(seed=0)
    hold = np.zeros((2, vec.num_agents), int)
    for _ in range(50):
        vec.step(hold)
    saved = vec.save(0)
    calls: dict[str, Callable[[], Any]] = {
        "save": lambda: vec.save(0),
        "restore": lambda: vec.restore(1, saved),
        "clone_batch_of_2": vec.clone,
    }
    return {name: round(1e6 * median_seconds(call), 1) for name, call in calls.items()}


def median_seconds(call: Callable[[], Any], times: int = 200) -> float:
    """Return the median seconds of a call."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    sys.exit(main())
