#!/usr/bin/env python3
"""Measures what two processes take that read one file of tensors, with each of several readers.

    python benchmarks/memory/shared_pages.py               a file of 256 MB, in a minute
    python benchmarks/memory/shared_pages.py --mb 16       a small one

The readers are territorial/files/safetensors.py and those of the library safetensors, for numpy and, where
torch is installed, for torch. Each of two processes opens the file, looks at every page and keeps the
tensors. While both do, the growth of each since before it opened the file is read from
/proc/self/smaps_rollup (Linux). Pss counts half of a page that both share, for each; Anonymous is what is in
no file, so that the system cannot take it back. The result goes to benchmarks/results/shared_pages.json.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from territorial.files import safetensors as own

RESULT = harness.RESULTS / "shared_pages.json"
ROLLUP = Path("/proc/self/smaps_rollup")
FIELDS = ("Pss", "Anonymous")
READERS_AT_ONCE = 2
TENSORS = 8
PAGE = 4096

Reader = Callable[[str], Any]


def read_own(path: str) -> Any:
    with open(path, "rb") as file:
        tensors = own.read(file)
    return tensors, look(tensors.arrays.values())


def read_numpy(path: str) -> Any:
    from safetensors.numpy import load_file

    tensors = load_file(path)
    return tensors, look(tensors.values())


def read_torch(path: str) -> Any:
    from safetensors.torch import load_file

    tensors = load_file(path)
    return tensors, look(tensor.numpy() for tensor in tensors.values())


READERS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "territorial.files.safetensors": (read_own, ()),
    "safetensors.numpy": (read_numpy, ("safetensors",)),
    "safetensors.torch": (read_torch, ("safetensors", "torch")),
}
"""What each needs."""


def look(arrays: Iterable[Any]) -> int:
    """Read a byte of every page and return their sum."""
    return sum(int(array.reshape(-1).view(np.uint8)[::PAGE].sum(dtype=np.int64)) for array in arrays)


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code: 0 if the reader of this package shares its pages."""
    parsed = parse(argv)
    if not ROLLUP.exists():
        raise SystemExit(f"{ROLLUP} is needed, which Linux has")
    result = report(parsed.mb)
    harness.write(parsed.json, result)
    shares = result["readers"]["territorial.files.safetensors"]["shares_pages"]
    print(f"own reader shares its pages: {'yes' if shares else 'NO'}; written to {parsed.json}")
    return 0 if shares else 1


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=int, default=256, help="size of the file (default 256)")
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def report(megabytes: int) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    readers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        write(path, megabytes)
        for name, (_, needs) in READERS.items():
            if missing := [module for module in needs if find_spec(module) is None]:
                print(f"{name:32}not measured: {', '.join(missing)} is not installed")
                continue
            grown = measure(name, path)
            mean = {field: sum(process[field] for process in grown) / len(grown) for field in FIELDS}
            readers[name] = {"processes": grown, "mean": mean, "shares_pages": shares(mean, path)}
            pss, anonymous = (mean[field] / 2**20 for field in FIELDS)
            print(f"{name:32}{pss:8.1f} MB of PSS each, {anonymous:8.1f} MB anonymous", flush=True)
        nbytes = path.stat().st_size
    return {
        "versions": harness.versions_of("safetensors", "torch"),
        "file_bytes": nbytes,
        "processes": READERS_AT_ONCE,
        "readers": readers,
    }


def write(path: Path, megabytes: int) -> None:
    """Write a file of float32 tensors, none of whose pages are alike."""
    rng = np.random.default_rng(0)
    shape = (megabytes * 2**20 // TENSORS // 4,)
    tensors = {f"tensor{i}": rng.random(shape, np.float32) for i in range(TENSORS)}
    with open(path, "wb") as file:
        file.writelines(own.pieces(tensors))


def measure(name: str, path: Path) -> list[dict[str, int]]:
    """Return by how many bytes each of the processes has grown while all of them keep the tensors."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(READERS_AT_ONCE)]
    processes = [context.Process(target=reader, args=(name, str(path), theirs)) for _, theirs in pipes]
    for process in processes:
        process.start()
    for step in ("read", "measure"):
        for ours, _ in pipes:
            ours.send(step)
        answers = [ours.recv() for ours, _ in pipes]
    for ours, _ in pipes:
        ours.send("end")
    for process in processes:
        process.join()
    return answers


def reader(name: str, path: str, pipe: Connection) -> None:
    """Read the file when told, tell by how much this process grew, and keep the tensors until the end."""
    read, needs = READERS[name]
    for module in needs:
        __import__(module)
    read_small(read)  # what a first call loads is no part of the file
    pipe.recv()
    before = memory()
    kept = read(path)
    pipe.send(None)
    pipe.recv()
    now = memory()
    pipe.send({field: now[field] - before[field] for field in FIELDS})
    pipe.recv()
    del kept


def read_small(read: Reader) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.safetensors"
        path.write_bytes(b"".join(own.pieces({"small": np.zeros(8, np.float32)})))
        read(str(path))


def memory() -> dict[str, int]:
    """Return what this process takes, in bytes, by the fields of smaps_rollup."""
    lines = (line.split() for line in ROLLUP.read_text(encoding="utf-8").splitlines()[1:])
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines}


def shares(mean: dict[str, float], path: Path) -> bool:
    """Say whether a process has far less of the file than a copy of its own."""
    return mean["Pss"] < 0.75 * path.stat().st_size and mean["Anonymous"] < 0.25 * path.stat().st_size


if __name__ == "__main__":
    sys.exit(main())
