#!/usr/bin/env python3
"""The engine beside what one would use otherwise, in one run on the same machine.

    python benchmarks/engine/peers.py                  a minute
    python benchmarks/engine/peers.py --seconds 5      a look

One game of this project at full size, 256 x 256 with 32 agents, is played twice. The engine plays it with
everything that a policy may see kept current. ``naive.py`` plays it by the same rules on a numpy board with
one-hot stacks for every agent. Both play the same launches, from the first tick on, and must end in the same
position.

Where MAgent2 is installed (the extra ``peers``), its ``battle_v4`` is played, too, through PettingZoo as its
users call it. It is another game: smaller (45 x 45, 81 against 81), in C++, with small views instead of the
board. So its figure shows what another choice of environment costs, not which code is better. Agents act at
random there and observations are made; agents that have died are not counted. The result goes to
benchmarks/results/peers.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from typing import Any

import territorial
from benchmarks import harness
from benchmarks.engine.naive import NaiveEnv, NaiveGame
from territorial.cli import options
from territorial.game.launches import LAUNCH_TICK

RESULT = harness.RESULTS / "peers.json"
CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
FRAMES = 4


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds",
        type=options.seconds,
        default=20.0,
        help="seconds of measuring; for each peer (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    replay = recorded()
    naive, steps, digest = play_naively(replay, parsed.seconds)
    engine, same = play_by_the_engine(replay, steps)
    if same != digest:
        print("the naive environment played another game", file=sys.stderr)
        return 1
    result: dict[str, Any] = {"steps": steps}
    result["rates"] = {"engine": engine, "naive numpy, one-hot": naive}
    try:
        result["rates"]["MAgent2 battle"] = play_magent(parsed.seconds)
    except ImportError:
        print("magent2, which is in the extra peers, is not installed and not measured", file=sys.stderr)
    harness.write(parsed.json, result)
    for name, rates in result["rates"].items():
        steps_per_s, agents_per_s = rates["env_steps_per_s"], rates["agent_steps_per_s"]
        print(f"{name:24} {steps_per_s:12,.1f} steps/s {agents_per_s:14,.0f} agent-steps/s")
    return 0


def recorded() -> territorial.Replay:
    """Return a whole game of the 32 bots."""
    with tempfile.TemporaryDirectory() as folder:
        game = territorial.VecGame(CONFIG, 1, seats=SEATS, observe=False, autoreset="disabled")
        with territorial.Recorder(game, folder) as recorder:
            game.reset(seeds=[0])
            while not game.step()[-1]["ended"][0]:
                pass
            return recorder.replay(0)


def rates_of(steps: int, agents: int, seconds: float) -> dict[str, float]:
    """Return the two rates."""
    return {"env_steps_per_s": steps / seconds, "agent_steps_per_s": agents / seconds}


def play_naively(replay: territorial.Replay, seconds: float) -> tuple[dict[str, float], int, bytes]:
    """Play for some ``seconds``; return the rates, how many steps that were, and the position."""
    land = territorial.VecGame(CONFIG, 1, observe=False).maps[0]
    env = NaiveEnv(NaiveGame(CONFIG, land, 0), FRAMES)
    steps, agents, started = 0, 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        rows = replay.launches[replay.launches[:, LAUNCH_TICK] == steps * CONFIG.decision_every]
        agents += len(env.game.living())
        env.step(rows[:, 1:].tolist())
        steps += 1
    return rates_of(steps, agents, time.perf_counter() - started), steps, env.game.digest()


def play_by_the_engine(replay: territorial.Replay, steps: int) -> tuple[dict[str, float], bytes]:
    """Play the same steps again and again, for a second; return the rates and the position."""
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, frames=FRAMES, autoreset="disabled")
    played, agents, seconds = 0, 0, 0.0
    while seconds < 1.0:
        game.reset(seeds=[replay.seed])
        for _ in range(steps):
            agents += int(game.state.alive[0].sum())
            started = time.perf_counter()
            game.step()
            seconds += time.perf_counter() - started
        played += steps
    return rates_of(played, agents, seconds), game.digest(0)


def play_magent(seconds: float) -> dict[str, float]:
    """Return the rates of MAgent2's battle with random moves."""
    from magent2.environments import battle_v4

    env = battle_v4.parallel_env(map_size=45)
    env.reset(seed=0)
    spaces = {name: env.action_space(name) for name in env.agents}
    steps, agents, spent = 0, 0, 0.0
    while spent < seconds:
        if not env.agents:
            env.reset()
        actions = {name: spaces[name].sample() for name in env.agents}
        started = time.perf_counter()
        env.step(actions)
        spent += time.perf_counter() - started
        steps, agents = steps + 1, agents + len(actions)
    return rates_of(steps, agents, spent)


if __name__ == "__main__":
    sys.exit(main())
