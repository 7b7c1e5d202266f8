#!/usr/bin/env python3
"""Measures what 1,000 snapshots of 5 million parameters take of a machine's memory, by the number of
processes that play with all of them.

    python benchmarks/memory/snapshots_at_scale.py            ten minutes; next to no disk
    python benchmarks/memory/snapshots_at_scale.py --capacity 100 --processes 1 2

Every process lets all snapshots act, one after the other, and keeps as many open as a runner does. Memory
that is in a file can be taken back by the system at any time. What it cannot take back is the sum over
processes of two things: their anonymous and shared pages (``Pss_Anon``, ``Pss_Shmem`` in /proc, Linux) and
their page tables (``VmPTE``).

The files of the snapshots are sparse, all zeros: they take memory as any other file does, a page for each
page that is read, and no disk. The result is benchmarks/results/snapshots_at_scale.json. The exit code is 1
if what 1,000 snapshots add in a process would be more than 1 GB in 384 of them, as the largest machines have
cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import goals, harness
from benchmarks.derived_figures import snapshots_on_the_largest_machine
from territorial import GameConfig, VecGame
from territorial.league import SnapshotStore
from territorial.snapshots.store import MANIFEST, WEIGHTS

RESULT = harness.RESULTS / "snapshots_at_scale.json"
MB, WIDTH = 2**20, 2048
LIMIT = goals.bound("snapshots_at_scale", "snapshots_on_the_largest_machine()")
CONFIG = GameConfig(height=96, width=96, num_players=12)


def filled_store(folder: str, count: int) -> int:
    """Fill a store, and return the bytes of the weights of a snapshot."""
    from territorial.nets.board_policy import BoardPolicy
    from territorial.nets.features import FeatureTrunk
    from territorial.nets.frozen import manifest_of

    layout = VecGame(CONFIG, 1, frames=1).layout
    policy = BoardPolicy(layout, CONFIG, FeatureTrunk(layout, CONFIG, width=WIDTH))
    zeros = {name: np.zeros(tuple(part.shape), np.float32) for name, part in policy.state_dict().items()}
    store = SnapshotStore(folder)
    store.add("s-0000", zeros, manifest_of(layout, "features", {"width": WIDTH}))
    first = Path(folder) / "s-0000"
    about, size = json.loads((first / MANIFEST).read_text()), (first / WEIGHTS).stat().st_size
    with (first / WEIGHTS).open("rb") as file:
        length = file.read(8)
        head = length + file.read(int.from_bytes(length, "little"))
    for i in range(count):
        path = Path(folder) / f"s-{i:04d}"
        path.mkdir(exist_ok=True)
        (path / MANIFEST).write_text(json.dumps({**about, "name": path.name}))
        with (path / WEIGHTS).open("wb") as file:
            file.write(head)
            file.truncate(size)
    return size


def play(folder: str, count: int, end: Any) -> None:
    """Open ``count`` snapshots, let each act, say so, and wait."""
    import torch

    from territorial.actions.masks import pair_masks
    from territorial.memory.heap import give_back
    from territorial.nets.features import FeatureTrunk
    from territorial.nets.frozen import FrozenPolicies

    torch.set_num_threads(1)
    game = VecGame(CONFIG, 1, frames=1)
    game.reset(0)
    layout, seen = game.layout, game.observations
    frozen = FrozenPolicies(SnapshotStore(folder), layout, CONFIG, {"features": FeatureTrunk})
    # The digests of all that data would only cost time here.
    frozen._verified |= {f"s-{i:04d}" for i in range(count)}
    mask = pair_masks(seen.masks, np.zeros(1, np.int64), np.ones(1, np.int64))
    rows = {
        "observations": seen.planes,
        "players": seen.players,
        "borders": seen.borders,
        "globals": seen.globals,
        "seat": np.ones((1, 1), np.int32),
        "action_mask": mask,
        "frame": np.zeros((1, 1), np.int64),
    }
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in rows.items()}
    for i in range(count):
        frozen.act([f"s-{i:04d}"], tensors)
    give_back()  # as runners do after each sample
    end.send(len(frozen._open))
    end.recv()


def memory_of(pid: int) -> dict[str, int]:
    """Return the bytes of a process that cannot be taken back, and those that are in files."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    lines += [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmPTE" in line]
    found = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    return {
        "unevictable": found["Pss_Anon"] + found["Pss_Shmem"] + found["VmPTE"],
        "page_tables": found["VmPTE"],
        "in_files": found["Pss_File"],
    }


def measured(folder: str, count: int, processes: int) -> dict[str, Any]:
    """Return what so many processes take together once each has played with ``count`` snapshots."""
    context = multiprocessing.get_context("spawn")
    began, pipes, workers = time.perf_counter(), [], []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        worker = context.Process(target=play, args=(folder, count, theirs), daemon=True)
        worker.start()
        pipes.append(ours)
        workers.append(worker)
    opened = [pipe.recv() for pipe in pipes]
    found = [memory_of(worker.pid) for worker in workers]
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join()
    sums = {key: sum(one[key] for one in found) for key in found[0]}
    return {
        "processes": processes,
        "snapshots": count,
        "opened": min(opened),
        "seconds": round(time.perf_counter() - began, 1),
        **sums,
    }


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--capacity", type=int, default=1000, help="snapshots that the league keeps (default %(default)s)"
    )
    parser.add_argument(
        "--processes",
        type=int,
        nargs="+",
        default=[1, 2, 4],
        help="worker processes that play the games (default %(default)s)",
    )
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    rows = []
    VecGame(CONFIG, 1, frames=1).reset(0)  # what compiles the engine would show in the first row alone
    with tempfile.TemporaryDirectory() as folder:
        size = filled_store(folder, parsed.capacity)
        on_disk = sum(os.stat(path).st_blocks * 512 for path in Path(folder).rglob("*"))
        for processes in parsed.processes:
            one, many = (measured(folder, count, processes) for count in (1, parsed.capacity))
            grown = many["unevictable"] - one["unevictable"]
            rows.append({**many, "with_one_snapshot": one["unevictable"], "grown": grown})
            print(
                f"{processes} processes, {parsed.capacity:,} snapshots of {size / MB:.0f} MB: "
                f"{grown / MB:+.0f} MB over one snapshot, {many['unevictable'] / MB:.0f} MB in all; "
                f"{many['in_files'] / MB:,.0f} MB in files; {many['seconds']:.0f} s",
                flush=True,
            )
    result = {
        "versions": harness.versions_of("torch"),
        "bytes_a_snapshot": size,
        "bytes_on_disk": on_disk,
        "rows": rows,
    }
    harness.write(parsed.json, result)
    return int(snapshots_on_the_largest_machine(result) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
