"""``territorial bench``: how fast this machine plays.

What is measured, so that figures can be compared:

- The clock runs during ``VecGame.step`` alone, called from Python, one call for all games of a
  batch. All seats are bots, which play inside that call. What is counted for the report (ticks,
  living seats) is counted while the clock stands.
- *Whole games*: ended games are replaced by new ones within the step. Before the clock starts, the
  games of the batch are moved to different points of their lives, game k of E to k/E of it. So
  all parts of a game are in the mix at any time, as they are in a long run. A batch that begins
  together would be timed in whatever phase it happens to be when the time is up.
- *Phases*: batches of fresh games are played to their ends side by side without replacement. So
  all games that run have the same tick, and the time of a call belongs to one phase for certain.
  Games that are over stand still and are not counted. Towards the end of a batch fewer games share
  the cost of a call, which makes the last phase look slower than it is among whole games.
- An environment step is one decision of all seats of one game, and the ticks up to the next.
  Agent-steps are environment steps times seats, those of eliminated players included, as trainers count
  them; *living* counts only seats alive when the step began.
- Figures are medians over chunks (whole games) or batches (phases), with the lowest and highest.
- Import and start are measured in fresh processes. The start is what a warm cache gives: from the
  call of Python to the end of the first step. ``--cold`` adds the same with an empty cache.
- The time to compile is that of the two kernels which begin a game and play a step. It is noted when
  the cache is filled, in this run or before; where the note is missing, and with ``--cold``, a fresh
  process fills an empty cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import territorial
from territorial.cli import options
from territorial.cli.machine import machine, resident_memory, revision, versions
from territorial.cli.option_names import explained
from territorial.cli.options import SEED_LIMIT, UsageError
from territorial.config import GameConfig
from territorial.constants import RULES_VERSION
from territorial.engine.seats import Seat, name_of
from territorial.engine.vec_game import VecGame
from territorial.jit import warmup
from territorial.jit.cache import CACHE_DIR
from territorial.jit.decorators import JIT_ENABLED
from territorial.observation.layout import MAX_FRAMES

EXAMPLES = """\
  territorial bench
  territorial bench --json bench.json
  territorial bench --threads 2 --num-games 256
  territorial bench --observe                 include the observations
  territorial bench --set decision_every=1    a decision every tick
  territorial bench --cold                    compile again, a minute more
"""

CHUNKS = 7
MIN_BATCHES = 5
STARTS = 3
PHASE_PART = 0.25
"""Part of the time that goes to the phases; the rest goes to whole games."""


class Phase(NamedTuple):
    """A part of a game by the tick at which a step begins."""

    name: str
    first: int
    end: int | None


PHASES = (
    Phase("0-1k", 0, 1_000),
    Phase("1-2k", 1_000, 2_000),
    Phase("2-4k", 2_000, 4_000),
    Phase("4k+", 4_000, None),
)

RATES = ("env_steps_per_s", "ticks_per_s", "agent_steps_per_s", "living_agent_steps_per_s")


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "measure how fast this machine plays whole games of bots"
    parser = options.new_parser(verbs, "bench", summary, EXAMPLES)
    parser.add_argument(
        "--threads",
        type=options.whole(1, 1024),
        default=1,
        metavar="N",
        help=explained("--threads", "1 to 1024", default=1),
    )
    parser.add_argument(
        "--seconds",
        type=options.seconds,
        default=16.0,
        metavar="S",
        help="seconds of measuring; starting up adds a few; 0.1 to 3600 (default 16)",
    )
    parser.add_argument(
        "--num-games",
        type=options.whole(1, 1_000_000),
        default=16,
        metavar="N",
        help=explained("--num-games", "1 to 1000000", default=16),
    )
    parser.add_argument("--observe", action="store_true", help="write the observations as well")
    parser.add_argument(
        "--frames",
        type=options.whole(0, MAX_FRAMES),
        default=4,
        metavar="N",
        help=explained("--frames", "0 leaves only tables and masks", f"0 to {MAX_FRAMES}", default=4),
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="compile all kernels again and time that, whatever the cache holds",
    )
    options.add_seed_option(parser, "the first game uses it, the next ones use the next numbers")
    options.add_seats_option(parser)
    options.add_json_option(parser)
    options.add_config_options(parser)
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Measure, print and write."""
    config = options.config_of(parsed)
    seats = options.seats_of(parsed, config)
    options.check_json(parsed)
    frames = parsed.frames if parsed.observe else None
    setting = BenchSetting(config, seats, parsed.num_games, parsed.threads, parsed.seed, frames)
    with options.enough_memory(
        "--num-games", f"{parsed.num_games:,} games, each of {options.size_of(config)}"
    ):
        result = measure(setting, parsed.seconds, is_cold=parsed.cold)
    options.report(parsed, _text(result), result)
    return 0


@dataclass(frozen=True)
class BenchSetting:
    """What is played for a measurement."""

    config: GameConfig
    seats: tuple[Seat, ...]
    num_games: int
    num_threads: int
    seed: int
    frames: int | None
    """Boards in the stack of an observation; None: nothing is observed."""

    def game(self, *, is_replacing: bool) -> VecGame:
        """Return a batch that replaces ended games, or lets them stand."""
        try:
            return VecGame(
                self.config,
                num_games=self.num_games,
                seed=self.seed,
                num_threads=self.num_threads,
                seats=self.seats,
                autoreset="same_step" if is_replacing else "disabled",
                observe=self.frames is not None,
                frames=self.frames or 0,
            )
        except ValueError as error:  # such as a map that has no room for all spawns
            raise UsageError(str(error)) from None

    def seeds(self, batch: int) -> list[int]:
        """Return the seeds of a batch of fresh games; no two batches share one."""
        first = self.seed + batch * self.num_games
        return [(first + k) % SEED_LIMIT for k in range(self.num_games)]


def measure(setting: BenchSetting, seconds: float, *, is_cold: bool = False) -> dict[str, Any]:
    """Return all figures of ``setting``, which takes about ``seconds`` and a few more."""
    with warmup.progress("territorial: compiling the engine"):
        _touch(setting)
    phases, lengths = _measure_phases(setting, PHASE_PART * seconds)
    with _stage("spreading the games over their lives"):
        game = staggered(setting, lengths)
    chunks = _measure_chunks(game, (1 - PHASE_PART) * seconds / CHUNKS)
    _ = game.state.owner  # so that the board is counted
    resident, how = resident_memory()
    rates = _summary(chunks, setting.config.num_players)
    return {
        "schema": 1,
        "revision": revision(),
        "versions": versions(),
        "rules_version": RULES_VERSION,
        "machine": machine(),
        "config": options.config_values(setting.config),
        "config_digest": setting.config.hexdigest,
        "line_up": options.lineup_name(setting.seats),
        "seats": [name_of(seat) for seat in setting.seats],
        "seed": setting.seed,
        "num_games": setting.num_games,
        "num_threads": setting.num_threads,
        "observe": setting.frames is not None,
        "frames": setting.frames,
        **{name: rate["median"] for name, rate in rates.items()},
        "spread": rates,
        "phases": {phase.name: _summary(phases[phase], setting.config.num_players) for phase in PHASES},
        **_measure_starts(is_cold=is_cold),
        "bytes_per_game": game.bytes_per_game,
        "resident_bytes": resident,
        "resident_measure": how,
    }


def _touch(setting: BenchSetting) -> None:
    """Compile or load all that a measurement calls, and see that the setting can be played."""
    game = setting.game(is_replacing=True)
    game.reset(seeds=setting.seeds(0))
    game.step()
    _ = game.state.owner
    game.close()


# ---- the engine ----------------------------------------------------------------------------------


@dataclass
class PlayedCounts:
    """What was played while the clock ran."""

    seconds: float = 0.0
    env_steps: int = 0
    ticks: int = 0
    living_steps: int = 0

    def rates(self, num_players: int) -> dict[str, float]:
        """Return RATES by name."""
        counts = (self.env_steps, self.ticks, self.env_steps * num_players, self.living_steps)
        return {name: count / self.seconds for name, count in zip(RATES, counts, strict=True)}


class StopWatch:
    """Steps a batch and keeps count; only the call of the engine is timed."""

    def __init__(self, game: VecGame) -> None:
        self._game = game
        state = game.state
        self.tick, self.over, self._alive = state.tick, state.over, state.alive  # views

    def step(self, tally: PlayedCounts) -> None:
        """Play one step of all games and add it to ``tally``."""
        before, running = self.tick.copy(), self.over == 0
        tally.living_steps += int(self._alive[running].sum())
        tally.env_steps += int(running.sum())
        started = time.perf_counter()
        info = self._game.step()[-1]
        tally.seconds += time.perf_counter() - started
        after = np.where(info["ended"], info["final_length"], self.tick)
        tally.ticks += int((after - before).sum())


def _measure_phases(
    setting: BenchSetting, seconds: float
) -> tuple[dict[Phase, list[PlayedCounts]], list[int]]:
    """Return the tallies of each phase, one a batch, and the first games' lengths."""
    game = setting.game(is_replacing=False)
    tallies: dict[Phase, list[PlayedCounts]] = {phase: [] for phase in PHASES}
    first_lengths: list[int] = []
    started, batch = time.perf_counter(), 0
    with _stage("games from their beginning, by phase"):
        while _needs_more(batch, time.perf_counter() - started, seconds):
            by_phase, lengths = play_out(game, setting.seeds(batch))
            for phase, tally in by_phase.items():
                if tally.env_steps:
                    tallies[phase].append(tally)
            first_lengths = first_lengths or lengths
            batch += 1
    game.close()
    return tallies, first_lengths


def _needs_more(done: int, elapsed: float, seconds: float) -> bool:
    """Return whether to play another batch: a few at least, but a bounded time if games are huge."""
    if done == 0:
        return True
    return elapsed < seconds if done >= MIN_BATCHES else elapsed < 3 * seconds


def play_out(game: VecGame, seeds: Sequence[int]) -> tuple[dict[Phase, PlayedCounts], list[int]]:
    """Play fresh games side by side to their ends; return tallies by phase and lengths in steps."""
    game.reset(seeds=seeds)
    watch = StopWatch(game)
    tallies = {phase: PlayedCounts() for phase in PHASES}
    lengths = np.zeros(game.num_games, np.int64)
    while not watch.over.all():
        running = watch.over == 0
        lengths[running] += 1
        watch.step(tallies[_phase_at(int(watch.tick[running][0]))])
    return tallies, lengths.tolist()


def _phase_at(tick: int) -> Phase:
    return next(phase for phase in PHASES if phase.end is None or tick < phase.end)


def staggered(setting: BenchSetting, lengths: Sequence[int]) -> VecGame:
    """Return a batch whose games are spread evenly over their ``lengths``, in steps."""
    game = setting.game(is_replacing=True)
    game.reset(seeds=setting.seeds(0))
    ages = [length * k // len(lengths) for k, length in enumerate(lengths)]
    saved = {}
    for step in range(max(ages) + 1):
        for k in [k for k, age in enumerate(ages) if age == step]:
            saved[k] = game.save(k)
        game.step()
    for k, snapshot in saved.items():
        game.restore(k, snapshot)
    return game


def _measure_chunks(game: VecGame, seconds: float) -> list[PlayedCounts]:
    """Play on for CHUNKS times ``seconds``."""
    watch = StopWatch(game)
    for _ in range(10):
        watch.step(PlayedCounts())  # what follows a pause is slower
    tallies = []
    for chunk in range(CHUNKS):
        tally = PlayedCounts()
        with _stage(f"whole games, chunk {chunk + 1} of {CHUNKS}"):
            while tally.seconds < seconds:
                watch.step(tally)
        tallies.append(tally)
    return tallies


def _summary(tallies: Sequence[PlayedCounts], num_players: int) -> dict[str, Any]:
    """Return the median, the lowest and the highest of each of RATES, and all of them."""
    all_rates = [tally.rates(num_players) for tally in tallies]
    return {name: _spread([rates[name] for rates in all_rates]) for name in RATES}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    if not values:
        return {"median": None, "min": None, "max": None, "samples": []}
    return {
        "median": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "samples": list(values),
    }


@contextmanager
def _stage(what: str) -> Iterator[None]:
    """Say on stderr what is being measured."""
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"bench: {what:40}", end=end, file=sys.stderr, flush=True)
    yield
    if sys.stderr.isatty():
        print(" " * 47, end="\r", file=sys.stderr, flush=True)


# ---- starting up ---------------------------------------------------------------------------------

_START = """
import time
started = time.perf_counter()
import territorial
print(time.perf_counter() - started, flush=True)
game = territorial.VecGame(territorial.GameConfig(), num_games=1)
game.reset()
game.step()
print("stepped", flush=True)
"""


@dataclass
class _Starts:
    imports: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)


def _measure_starts(*, is_cold: bool) -> dict[str, Any]:
    """Return the seconds of ``import territorial``, to the first step, and of compiling."""
    starts = _Starts()
    with _stage("starting up"):
        for _ in range(1 + STARTS):  # the first one may have to compile what was not in use here
            _start_once(starts)
    return {
        "import_s": statistics.median(starts.imports[1:]),
        "warm_start_s": statistics.median(starts.steps[1:]),
        **_measure_compiling(is_cold=is_cold),
    }


def _measure_compiling(*, is_cold: bool) -> dict[str, Any]:
    """Return the seconds that compiling took and where they come from."""
    known = warmup.compile_seconds()
    if not JIT_ENABLED or (known is not None and not is_cold):
        origin = "measured when the cache was filled" if JIT_ENABLED else "NUMBA_DISABLE_JIT is set"
        return {"cold_start_s": None, "compile_s": known, "compile_origin": origin}
    cold = _Starts()
    with tempfile.TemporaryDirectory() as empty, warmup.progress("bench: compiling from nothing"):
        _start_once(cold, NUMBA_CACHE_DIR=empty)
        seconds = warmup.compile_seconds(Path(empty) / CACHE_DIR.name)
    return {
        "cold_start_s": cold.steps[0],
        "compile_s": seconds,
        "compile_origin": "measured in a fresh process with an empty cache",
    }


def _start_once(starts: _Starts, **environment: str) -> None:
    """Start a fresh Python that imports the package and plays one step; note how long that took."""
    home = str(Path(territorial.__file__).parents[1])
    path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", _START],
        env=os.environ | {"PYTHONPATH": path} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        importing = process.stdout.readline()
        is_stepped = process.stdout.readline().startswith("stepped")
        elapsed = time.perf_counter() - started
    if not is_stepped:
        raise RuntimeError("a fresh Python could not import territorial and play one step")
    starts.imports.append(float(importing))
    starts.steps.append(elapsed)


# ---- reporting -----------------------------------------------------------------------------------


def _text(result: Mapping[str, Any]) -> str:
    return "\n\n".join([_heading(result), _table(result), _footing(result)])


def _heading(result: Mapping[str, Any]) -> str:
    config, about, found = result["config"], result["machine"], result["versions"]
    observed = f"stacks of {result['frames']} boards" if result["observe"] else "no observations"
    return (
        f"{about['cpu']}, {about['usable_cores']} of {about['cores']} cores usable, "
        f"{about['system']}\n"
        + ", ".join(f"{name} {version}" for name, version in found.items())
        + f", rules {result['rules_version']}\n"
        f"{config['height']} x {config['width']}, {config['num_players']} seats "
        f"({result['line_up'] or 'own line-up'}), decisions every {config['decision_every']} "
        f"ticks, {result['num_games']} games, {result['num_threads']} thread(s), {observed}, "
        f"config {result['config_digest']}"
    )


def _table(result: Mapping[str, Any]) -> str:
    rows = {"whole games": result["spread"]}
    rows |= {f"ticks {name}": rates for name, rates in result["phases"].items()}
    lines = [
        f"{'':12} {'env steps/s':>12} {'(lowest - highest)':>21} {'ticks/s':>12} "
        f"{'agent-steps/s':>14} {'living only':>12}"
    ]
    lines += [f"{name:12} {_row(rates)}" for name, rates in rows.items()]
    return "\n".join(lines)


def _row(rates: Mapping[str, Mapping[str, Any]]) -> str:
    steps, ticks, seats, living = (rates[name] for name in RATES)
    if steps["median"] is None:
        return f"{'not reached':>12}"
    spread = f"({steps['min']:,.0f} - {steps['max']:,.0f})"
    return (
        f"{steps['median']:>12,.0f} {spread:>21} {ticks['median']:>12,.0f} "
        f"{seats['median']:>14,.0f} {living['median']:>12,.0f}"
    )


def _footing(result: Mapping[str, Any]) -> str:
    lines = [
        f"import territorial   {result['import_s']:.2f} s",
        f"start to first step  {result['warm_start_s']:.2f} s (compiled code in the cache)",
    ]
    if result["cold_start_s"] is not None:
        lines.append(f"the same, cold       {result['cold_start_s']:.1f} s")
    if result["compile_s"] is not None:
        lines.append(f"compiling            {result['compile_s']:.1f} s ({result['compile_origin']})")
    lines.append(f"memory of a game     {result['bytes_per_game'] / 1024:,.0f} KB")
    if result["resident_bytes"] is not None:
        lines.append(
            f"memory of this       {result['resident_bytes'] / 1e6:,.0f} MB ({result['resident_measure']})"
        )
    return "\n".join(lines)
