"""``territorial bench``: how fast this machine plays whole games of bots.

The clock runs during ``VecGame.step`` alone, called from Python, one call for all games of a batch. All
seats are bots, which play inside that call. Ended games are replaced by new ones within the step, and
before the clock starts the games are moved to different points of their lives. So all parts of a game are
in the mix at any time, as they are in a long run. docs/glossary.md says what an environment step and an
agent-step are. Figures are medians over chunks, with the lowest and the highest.
"""

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from territorial._log import LOG, elapsed
from territorial.cli import options
from territorial.cli.machine import provenance
from territorial.cli.options import blamed_on, number, option
from territorial.config import GameConfig
from territorial.constants import RULES_VERSION
from territorial.engine.seats import Seat, name_of
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.evaluation.schedule import lineup_name

EXAMPLES = """\
  territorial bench
  territorial bench --json bench.json
  territorial bench --threads 2 --num-games 256
  territorial bench --observe                 include the observations
  territorial bench --set decision_every=1    a decision every tick
  territorial bench --set height=64 --set width=64 --set num_players=8
"""

CHUNKS, FRAMES = 7, 4
RATES = ("env_steps_per_s", "ticks_per_s", "agent_steps_per_s")


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs, "bench", "measure how fast this machine plays whole games of bots", EXAMPLES, run
    )
    options.add(
        parser,
        number("--threads", 1, 1024, default=1),
        option(
            "--seconds",
            "seconds of measuring; starting up adds a few; 0.1 to 3600",
            shown=16,
            type=options.number_of("seconds", 0.1, 3600),
            default=16.0,
            metavar="S",
        ),
        number("--num-games", 1, 1_000_000, default=16),
        option("--observe", f"write observations as well, in stacks of {FRAMES} boards", action="store_true"),
        options.seats_option(),
        options.JSON,
    )
    options.add_config_options(parser, named=())


def run(parsed: argparse.Namespace) -> int:
    """Measure, print and write."""
    config = options.config_of(parsed)
    seats, frames = options.seats_of(parsed, config), FRAMES if parsed.observe else None
    with options.enough_memory(
        "--num-games", f"{parsed.num_games:,} games, each of {options.size_of(config)}"
    ):
        with blamed_on("", ValueError):  # such as a map that has no room for all spawns
            game = new_games(config, seats, parsed.num_games, parsed.threads, frames)
        samples = measure(game, parsed.seconds)
    result = provenance() | {
        "rules_version": RULES_VERSION,
        "config": config.to_dict(),
        "config_digest": config.hexdigest,
        "line_up": lineup_name(seats),
        "seats": [name_of(seat) for seat in seats],
        "num_games": parsed.num_games,
        "num_threads": parsed.threads,
        "observe": parsed.observe,
        "frames": frames,
        **{name: statistics.median(found) for name, found in samples.items()},
        "samples": samples,
        "bytes_per_game": game.bytes_per_game,
    }
    options.report(parsed, _text(result), result)
    return 0


def new_games(
    config: GameConfig,
    seats: Sequence[Seat],
    num_games: int,
    num_threads: int = 1,
    frames: int | None = None,
) -> VecGame:
    """Return a batch that replaces ended games, at the beginning.

    ``frames``: boards in the stack of an observation; None: nothing is observed.
    """
    game = VecGame(
        config,
        num_games=num_games,
        num_threads=num_threads,
        seats=seats,
        autoreset="same_step",
        observe=frames is not None,
        frames=frames or 0,
    )
    game.reset(seeds=range(num_games))
    return game


def measure(game: VecGame, seconds: float) -> dict[str, list[float]]:
    """Return RATES of each chunk of new games; it takes about ``seconds`` and a few more."""
    with elapsed("territorial: compiling the engine"):
        compile_steps(game.config)
    spread_out(game)
    chunks = [_rates(game, seconds / CHUNKS, chunk + 1) for chunk in range(CHUNKS)]
    return {name: [chunk[name] for chunk in chunks] for name in RATES}


def spread_out(game: VecGame) -> VecGame:
    """Return a batch of fresh games after these have been moved to points of their lives evenly apart."""
    fresh = [game.save(k) for k in range(game.num_games)]
    length = 1
    while not game.step()[-1]["ended"].any():
        length += 1
    for k, start in enumerate(fresh):
        game.restore(k, start)
        for _ in range(length // game.num_games):
            game.step()
    return game


def _rates(game: VecGame, seconds: float, chunk: int) -> dict[str, float]:
    """Play on until the engine has taken so many seconds, and return RATES."""
    LOG.info("chunk %d of %d", chunk, CHUNKS)
    taken, steps, ticks, agent_steps = 0.0, 0, 0, 0
    while taken < seconds:
        before, living = game.state.tick.copy(), int(game.state.alive.sum())
        started = time.perf_counter()
        info = game.step()[-1]
        taken += time.perf_counter() - started
        steps, agent_steps = steps + game.num_games, agent_steps + living
        ticks += int((np.where(info["ended"], info["final_length"], game.state.tick) - before).sum())
    return {name: n / taken for name, n in zip(RATES, (steps, ticks, agent_steps), strict=True)}


def _text(result: Mapping[str, Any]) -> str:
    config, about, found = result["config"], result["machine"], result["versions"]
    observed = f"stacks of {result['frames']} boards" if result["observe"] else "no observations"
    lines = [
        f"{about['cpu']}, {about['usable_cores']} of {about['cores']} cores usable, {about['system']}",
        ", ".join(f"{name} {version}" for name, version in found.items())
        + f", rules {result['rules_version']}",
        f"{config['height']} x {config['width']}, {config['num_players']} seats "
        f"({result['line_up'] or 'own line-up'}), decisions every {config['decision_every']} ticks, "
        f"{result['num_games']} games, {result['num_threads']} thread(s), {observed}, "
        f"config {result['config_digest']}",
        "",
    ]
    for name, samples in result["samples"].items():
        title = name.removesuffix("_per_s").replace("_", " ") + " a second"
        lines.append(f"{title:24}{result[name]:>14,.0f}  ({min(samples):,.0f} to {max(samples):,.0f})")
    lines.append(f"{'memory of a game':24}{result['bytes_per_game'] / 1024:>14,.0f} KB")
    return "\n".join(lines)
