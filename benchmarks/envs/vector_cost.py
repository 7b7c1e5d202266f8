#!/usr/bin/env python3
"""Times ``make_vec`` beside the bare engine, and ``parallel_env``.

    python benchmarks/envs/vector_cost.py                 full size, two minutes
    python benchmarks/envs/vector_cost.py --size small    the same in seconds
    python benchmarks/envs/vector_cost.py --only "packed, copied" --rounds 5

The engine and the environments play the same games with the same legal actions, all seats agents, and take
turns, so that all of them meet the same noise. ``parallel_env`` plays one game of 32 agents, and in turns
with it an environment as users write them in numpy: the same engine, one int8 plane per owner and frame for
every agent. Exit code 1 if, at full size, an environment takes more times the engine's own call than LIMITS
allow, or the parallel environment makes fewer than PARALLEL_GOAL steps a second.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import territorial
from benchmarks import harness
from territorial.observation.action_encoding import action_owners, unflatten

NUM_GAMES = 64
LIMITS = {"zero_copy, multi_discrete": 1.05, "zero_copy, discrete": 1.1, "packed, copied": 1.4}
"""Times the engine's own call that a step may take, by the names below."""
PARALLEL_GOAL = 6000
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


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_size(parser, CONFIGS)
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
    engine_us = 1e6 * statistics.median(turns["engine"]) / STEPS_A_TURN
    print(f"{engine_us:8.1f} us a step of {NUM_GAMES} games by the engine")
    for name, value in ratio.items():
        print(f"{value:8.3f} times that: make_vec, {name} (at most {LIMITS.get(name, 'any')})")
    is_met = all(ratio[name] <= limit for name, limit in LIMITS.items() if name in ratio)
    result: dict[str, Any] = {"engine_us_per_step": engine_us, "ratio_to_engine": ratio}
    if not parsed.only:
        result["parallel_steps_per_s"] = rates = parallel(config, max(20, parsed.steps))
        for name, rate in rates.items():
            print(f"{rate:8,.1f} steps/s of parallel_env, {name}")
        is_met = is_met and rates["features"] >= PARALLEL_GOAL
    harness.write(parsed.json, result)
    return int(parsed.size == "full" and not is_met)


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
        harness.progress(f"{first + STEPS_A_TURN} of {len(script)} steps")
    harness.progress("")
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
        for p, order in enumerate(action_owners(self.config.num_players)[:, 1:].tolist(), 1):
            planes = [board == owner for board in self.boards for owner in order]
            seen[f"player_{p - 1}"] = {"observation": np.array(planes, np.int8)}
        return seen


def parallel(config: territorial.GameConfig, steps: int) -> dict[str, float]:
    """Return steps a second of the parallel environment, in two forms, and of the naive one."""
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
    return {name: 1 / statistics.median(found) for name, found in seconds.items()}


if __name__ == "__main__":
    sys.exit(main())
