"""Times the decoders: one-hot planes of 16 agents, and other forms.

Run once as tests in the ordinary way; `make bench` times them. `extra_info` holds the gigabytes a second
that follow from the median.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import territorial
from benchmarks.harness import note_rate
from territorial.decode.numpy import Decoder
from territorial.observation.layout import ObsLayout

CONFIG = territorial.GameConfig()
LAYOUT = ObsLayout(height=CONFIG.height, width=CONFIG.width, num_players=CONFIG.num_players, frames=4)
GAMES = 8
START = 100
"""Decisions played before the boards are taken: tick 1,000, when most seats live and touch."""
PART = slice(32, 48)
"""Agents of one game."""
BOARDS = ("owners", "semantic", "pooled")


class SeenGames(NamedTuple):
    """Observations of GAMES games, and all their seats as the agents that see them."""

    planes: npt.NDArray[np.uint8]
    players: npt.NDArray[np.float32]
    borders: npt.NDArray[np.float32]
    seats: npt.NDArray[np.int64]
    games: npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def batch():
    seats = territorial.LINEUPS["mixed-1"].seats
    game = territorial.VecGame(CONFIG, GAMES, seats=seats, autoreset="disabled", frames=LAYOUT.frames)
    game.reset(seeds=list(range(GAMES)))
    for _ in range(START):
        game.step()
    seen, players = game.observations, LAYOUT.num_players
    everyone = np.tile(np.arange(1, players + 1), GAMES)
    # PyTorch warns of arrays that are not to be written to, so the planes are copied.
    planes = seen.planes.copy()
    return SeenGames(planes, seen.players, seen.borders, everyone, np.repeat(np.arange(GAMES), players))


@pytest.fixture(scope="module")
def out():
    owners = LAYOUT.num_players + 1
    shape = (PART.stop - PART.start, LAYOUT.frames * owners, LAYOUT.height, LAYOUT.width)
    return np.full(shape, 1, np.float16)


@pytest.fixture(scope="module")
def expected(batch):
    decoder = Decoder(LAYOUT)
    return decoder.onehot(batch.planes, batch.seats[PART], batch.games[PART], dtype=np.float16)


def run(benchmark, decode, out, expected):
    """Time ``decode``, which writes all of ``out``."""
    out.fill(77)
    benchmark.pedantic(decode, rounds=5)
    assert np.array_equal(out, expected)
    note_rate(benchmark, out.nbytes / 1e9, "GB/s")


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
def test_onehot_with_numpy(benchmark, batch, out, expected):
    decoder, given = Decoder(LAYOUT), (batch.planes, batch.seats[PART], batch.games[PART])
    run(benchmark, lambda: decoder.onehot(*given, dtype=np.float16, out=out), out, expected)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
@pytest.mark.parametrize("use_kernels", [True, False], ids=["kernels", "tensor-operations"])
def test_onehot_with_torch(benchmark, batch, out, expected, use_kernels):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
    from territorial.decode.torch import Decoder as TorchDecoder

    decoder = TorchDecoder(LAYOUT, use_kernels=use_kernels)
    given = [torch.from_numpy(part) for part in (batch.planes, batch.seats[PART], batch.games[PART])]
    result = torch.from_numpy(out)
    run(benchmark, lambda: decoder.onehot(*given, dtype=torch.float16, out=result), out, expected)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
def test_refilling_the_memory_of_onehot_planes(benchmark, out):
    out.fill(77)
    benchmark.pedantic(out.fill, (0,), rounds=5)
    assert not out.any()
    note_rate(benchmark, out.nbytes / 1e9, "GB/s")


@pytest.mark.benchmark(group="other ways to see the boards of 32 agents of a game")
@pytest.mark.parametrize("method", BOARDS)
def test_other_boards(benchmark, batch, method):
    agents = slice(32, 64)
    decoder = Decoder(LAYOUT, CONFIG)
    arguments = [batch.planes, batch.seats[agents]]
    if method != "owners":
        arguments += [batch.players, batch.borders]
    seen = benchmark(getattr(decoder, method), *arguments, batch.games[agents])
    assert len(seen) == 32
    assert seen.any()
    note_rate(benchmark, seen.nbytes / 1e9, "GB/s")
