"""The engine, environments in Python dicts and maps against the clock.

Run once as tests in the ordinary way; `make bench` times them. `extra_info` holds the rate that
follows from the median, with its goal where there is one.
"""

from itertools import count

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import territorial
from benchmarks.harness import note_rate
from territorial.cli.bench import new_games, spread_out
from territorial.config.map_names import KINDS
from territorial.constants import NEUTRAL
from tests.twin import ReferenceGame

CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
TWIN_TICKS = 12
"""Ticks that the reference plays: enough for every player's first attack step."""


def full_swing(num_games: int, *, observe: bool = False) -> territorial.VecGame:
    """Return a batch with games at all points of their lives, as in a long run."""
    return spread_out(new_games(CONFIG, SEATS, num_games, frames=4 if observe else None))


@pytest.mark.benchmark(group="environment steps, whole games, one core")
@pytest.mark.parametrize(
    ("num_games", "observe", "goal"),
    [(16, False, 125_000), (64, False, 100_000), (1, False, None), (16, True, 125_000)],
    ids=["16-games", "64-games", "one-game", "16-games-observed"],
)
def test_step(benchmark: BenchmarkFixture, num_games: int, observe: bool, goal: float | None) -> None:
    game = full_swing(num_games, observe=observe)
    before = int(game.state.tick.sum())
    benchmark(game.step)
    assert int(game.state.tick.sum()) != before
    note_rate(benchmark, num_games, "environment steps/s", goal)


@pytest.mark.benchmark(group="one whole game of 32 bots")
def test_one_game_from_its_first_tick_to_its_last(benchmark: BenchmarkFixture) -> None:
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, autoreset="disabled", observe=False)

    def play() -> int:
        game.reset(seeds=[0])
        while not game.step()[-1]["ended"][0]:
            pass
        return int(game.state.tick[0])

    ticks = benchmark(play)
    assert ticks > 1000
    note_rate(benchmark, ticks, "ticks/s")


@pytest.mark.benchmark(group="reset")
def test_reset_of_16_games(benchmark: BenchmarkFixture) -> None:
    game = territorial.VecGame(CONFIG, 16, seats=SEATS, observe=False)
    benchmark(game.reset, 7)
    assert not game.state.tick.any()
    note_rate(benchmark, 16, "resets/s")


# ---- the opening, by the engine and in plain Python ------------------------------------------------

EVERYBODY_GROWS = [(p, NEUTRAL, 512) for p in range(1, CONFIG.num_players + 1)]


@pytest.mark.benchmark(group="the first ticks of a game")
def test_opening_by_the_engine(benchmark: BenchmarkFixture) -> None:
    game = territorial.VecGame(CONFIG, 1, observe=False)
    game.reset(seeds=[0])
    start = game.save(0)

    def play() -> None:
        game.restore(0, start)
        for tick in range(TWIN_TICKS):
            game.tick(0, EVERYBODY_GROWS if tick == 0 else ())

    benchmark(play)
    assert game.digest(0) == play_twin(new_twin()).digest()
    note_rate(benchmark, TWIN_TICKS, "ticks/s, one call a tick")


@pytest.mark.benchmark(group="the first ticks of a game")
def test_opening_by_the_slow_twin(benchmark: BenchmarkFixture) -> None:
    """What the rules cost in plain Python, cell by cell."""
    benchmark.pedantic(play_twin, setup=lambda: ((new_twin(),), {}), rounds=2)
    note_rate(benchmark, TWIN_TICKS, "ticks/s")


def new_twin() -> ReferenceGame:
    return ReferenceGame(CONFIG, territorial.VecGame(CONFIG, 1, observe=False).maps[0], 0)


def play_twin(twin: ReferenceGame) -> ReferenceGame:
    for tick in range(TWIN_TICKS):
        twin.step_tick(EVERYBODY_GROWS if tick == 0 else ())
    return twin


# ---- all fronts of a board ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded() -> territorial.VecGame:
    """A game at tick 1,000, when most seats live and touch."""
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, autoreset="disabled", observe=False)
    game.reset(seeds=[0])
    for _ in range(100):
        game.step()
    return game


@pytest.mark.benchmark(group="sizes of all fronts of a board")
def test_fronts_on_bit_planes(benchmark: BenchmarkFixture, crowded: territorial.VecGame) -> None:
    sizes = benchmark(crowded.fronts, 0)[0]
    assert sizes.any()
    note_rate(benchmark, 1, "boards/s")


@pytest.mark.benchmark(group="generating a map, 256 x 256")
@pytest.mark.parametrize("kind", [*KINDS, "maze:count=400", "islands:symmetry=quarter_turn"])
def test_generate(benchmark: BenchmarkFixture, kind: str) -> None:
    seeds = count()
    mask = benchmark(lambda: territorial.maps.generate(kind, 256, 256, next(seeds)))
    assert mask.num_land > 0


@pytest.mark.benchmark(group="reading a map, 256 x 256")
def test_land(benchmark: BenchmarkFixture) -> None:
    assert benchmark(territorial.maps.land, "europe").num_land == 35_874


@pytest.mark.benchmark(group="beginning 16 games, 256 x 256, 32 seats")
@pytest.mark.parametrize("num_maps", [1, 16, 0])
def test_reset(benchmark: BenchmarkFixture, num_maps: int) -> None:
    config = territorial.GameConfig(num_maps=num_maps)
    game = territorial.VecGame(config, 16, seats=SEATS, observe=False)
    benchmark(game.reset)
    assert game.state.tick.max() == 0


STEPS_GOAL = 6000
"""Environment steps a second of a 256 x 256 game with 32 living agents, observations and masks included."""

STEPS = 40


def test_steps_of_32_agents_with_feature_observations(benchmark):
    env = territorial.parallel_env(obs="features")
    rng = np.random.default_rng(0)
    # Opening moves of one game, all legal: chosen beforehand, so that only the environment is timed.
    script = []
    observations, _ = env.reset(seed=0)
    for _ in range(STEPS):
        legal = {agent: np.flatnonzero(seen["action_mask"]) for agent, seen in observations.items()}
        script.append(
            {agent: int(rng.choice(legal[agent])) if rng.random() < 0.1 else 0 for agent in env.agents}
        )
        observations, *_ = env.step(script[-1])
    assert len(env.agents) == 32  # no agent has died: every step timed serves all of them

    def play():
        for actions in script:
            env.step(actions)

    benchmark.pedantic(play, setup=lambda: env.reset(seed=0) and None, rounds=30, warmup_rounds=1)
    note_rate(benchmark, STEPS, "environment steps/s", STEPS_GOAL)
