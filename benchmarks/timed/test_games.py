"""Fronts, maps and the beginnings of games against the clock.

Run once as tests in the ordinary way; `make bench` times them. `territorial bench` and
`benchmarks/envs/vector_cost.py` time steps.
"""

from itertools import count

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import territorial
from benchmarks.harness import note_rate
from territorial.config.map_names import KINDS

SEATS = territorial.LINEUPS["mixed-1"].seats


@pytest.mark.benchmark(group="sizes of all fronts of a board")
def test_fronts_on_bit_planes(benchmark: BenchmarkFixture) -> None:
    """At tick 1,000, when most seats live and touch."""
    game = territorial.VecGame(territorial.GameConfig(), 1, seats=SEATS, autoreset="disabled", observe=False)
    game.reset(seeds=[0])
    game.step(repeat=100)
    sizes = benchmark(game.fronts, 0)[0]
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
    assert not game.state.tick.any()
