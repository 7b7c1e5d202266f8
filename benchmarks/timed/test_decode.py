"""The decoders against the clock: one-hot planes of 16 agents, and what one would write without them.

Run once as tests in the ordinary way; `make bench` times them. `extra_info` holds the gigabytes a second
that follow from the median. `benchmarks/decode/decode_speed.py` writes the ratios.
"""

import numpy as np
import pytest

from benchmarks.decode import decode_speed
from territorial.decode.numpy import Decoder

PART = slice(32, 48)
"""Agents of one game."""
BOARDS = ("owners", "semantic", "pooled")


@pytest.fixture(scope="module")
def batch():
    return decode_speed.observations()


@pytest.fixture(scope="module")
def out():
    return decode_speed.room()


@pytest.fixture(scope="module")
def expected(batch):
    decoder = Decoder(decode_speed.LAYOUT)
    return decoder.onehot(batch.planes, batch.seats[PART], batch.games[PART], dtype=np.float16)


def note_rate(benchmark, nbytes):
    """Put the bytes over the median time into the benchmark's extra_info, unless nothing is timed."""
    if benchmark.stats is not None:
        benchmark.extra_info["rate"] = f"{nbytes / benchmark.stats.stats.median / 1e9:.2f} GB/s"


def run(benchmark, way, out, expected):
    """Time ``way``, which writes all of ``out``."""
    out.fill(77)
    benchmark.pedantic(way, (PART,), rounds=5)
    assert np.array_equal(out, expected)
    note_rate(benchmark, out.nbytes)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
def test_onehot_the_naive_way(benchmark, batch, out, expected):
    run(benchmark, decode_speed.naive(batch, out), out, expected)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
def test_onehot_with_numpy(benchmark, batch, out, expected):
    run(benchmark, decode_speed.with_numpy(batch, out), out, expected)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
@pytest.mark.parametrize("use_kernels", [True, False], ids=["kernels", "tensor-operations"])
def test_onehot_with_torch(benchmark, batch, out, expected, use_kernels):
    pytest.importorskip("torch", reason="PyTorch is not installed: the extra `torch` has it")
    run(benchmark, decode_speed.with_torch(batch, out, use_kernels=use_kernels), out, expected)


@pytest.mark.benchmark(group="one-hot planes of 16 agents")
def test_refilling_the_memory_of_onehot_planes(benchmark, out):
    out.fill(77)
    benchmark.pedantic(out.fill, (0,), rounds=5)
    assert not out.any()
    note_rate(benchmark, out.nbytes)


@pytest.mark.benchmark(group="other ways to see the boards of 32 agents of a game")
@pytest.mark.parametrize("method", BOARDS)
def test_other_boards(benchmark, batch, method):
    agents = slice(32, 64)
    decoder = Decoder(decode_speed.LAYOUT, decode_speed.CONFIG)
    arguments = [batch.planes, batch.seats[agents]]
    if method != "owners":
        arguments += [batch.players, batch.borders]
    seen = benchmark(getattr(decoder, method), *arguments, batch.games[agents], chunk=32)
    assert len(seen) == 32
    assert seen.any()
    note_rate(benchmark, seen.nbytes)
