"""What the tests of hostile files share: files that count what is read of them, and peaks of memory."""

import io
import os
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

MB = 2**20
# Damaged files of a kind: in every run, and in `make verify`.
FEW, MANY = 100, 10_000

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes in folders")
amounts = pytest.mark.parametrize("amount", [FEW, pytest.param(MANY, marks=pytest.mark.verify)])


class Counted(io.BytesIO):
    """Bytes as a file that counts how many are read of it."""

    nbytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.nbytes += len(data)
        return data


def peak_of(call: Callable[[], Any]) -> int:
    """Return the most bytes that were allocated at once while ``call`` ran, whatever error it raised."""
    tracemalloc.start()
    try:
        call()
    except Exception:  # which one is asked elsewhere
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def assert_loads_or_refused(
    load: Callable[[bytes], object],
    change: Callable[[bytes, int], bytes],
    whole: bytes,
    amount: int,
    *,
    errors: type[Exception] | tuple[type[Exception], ...] = ValueError,
    least: float = 0.5,
) -> None:
    """The file loads; damaged copies load or are refused with a text, at least this share of them."""
    load(whole)
    refused = 0
    for seed in range(amount):
        damaged = change(whole, seed)
        try:
            load(damaged)
        except BaseException as error:
            error.add_note(f"copy {seed} of {len(damaged):,} bytes: {damaged[:200]!r}")
            if not isinstance(error, errors) or not str(error):
                raise
            refused += 1
    assert refused > least * amount


def chunk(kind: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG file with its checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def nested(depth: int, text: str = "1") -> str:
    """Return a JSON text of lists within lists."""
    return "[" * depth + text + "]" * depth
