"""Memory and cores in containers that stand here as folders, and what is said where memory is short."""

import math
import os
import warnings
from pathlib import Path

import gymnasium
import pytest

from territorial import cli, env, make_vec, parallel_env
from territorial.files.cores import usable_cores
from territorial.files.room import check_room, free_memory

MB = 10**6
MEMINFO = "MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\n"
STAT = "cache 9\ninactive_file 1000\ntotal_inactive_file 1000\n"


def contain(folder, own, mounts, files):
    """Write what a process sees of control groups: its own, where they are mounted, and their files."""
    (folder / "cgroup").write_text(own)
    lines = ["1 0 8:1 / / rw - ext4 /dev/sda1 rw", "2 1 0:5 / /proc rw master:3 shared:9 - proc proc rw"]
    for point, (root, kind) in mounts.items():
        (folder / point).mkdir(parents=True)
        name, options = kind.split()
        lines.append(f"9 1 0:9 {root} {folder / point} rw,nosuid shared:4 - {name} {name} {options}")
    (folder / "mountinfo").write_text("\n".join(lines) + "\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")


def group(limit, used, version=2):
    names = (
        ("memory.max", "memory.current")
        if version == 2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    return {names[0]: limit, names[1]: used, "memory.stat": STAT}


@pytest.mark.parametrize(
    ("own", "kind", "groups", "expected"),
    [
        pytest.param("0::/a/b\n", "cgroup2 rw", {}, 600 * 1024, id="no limit"),
        pytest.param("0::/a/b\n", "cgroup2 rw", {"a/b": group("max", 7)}, 600 * 1024, id="max"),
        pytest.param("0::/a/b\n", "cgroup2 rw", {"a/b": group(90_000, 50_000)}, 41_000, id="its own"),
        pytest.param(
            "0::/a/b\n", "cgroup2 rw", {"a": group(9_000, 5_000), "a/b": group("max", 0)}, 5_000, id="above"
        ),
        pytest.param(
            "0::/a/b\n", "cgroup2 rw", {"a/b": group(10**9, 0)}, 600 * 1024, id="more than there is"
        ),
        pytest.param(
            "4:memory:/a\n0::/\n", "cgroup rw,memory", {"a": group(9_000, 4_000, 1)}, 6_000, id="version 1"
        ),
        pytest.param("4:cpu:/a\n", "cgroup rw,cpu", {"a": group(9_000, 4_000, 1)}, 600 * 1024, id="another"),
    ],
)
def test_limits_of_containers_count(tmp_path, own, kind, groups, expected):
    (tmp_path / "self").mkdir()
    (tmp_path / "meminfo").write_text(MEMINFO)
    of_groups = {f"g/{folder}/{file}": text for folder in groups for file, text in groups[folder].items()}
    contain(tmp_path / "self", own, {"g": ("/", kind)}, of_groups)
    assert free_memory(tmp_path / "self") == expected


def test_a_system_that_does_not_tell_has_no_limit(tmp_path):
    assert free_memory(tmp_path / "self") == math.inf


GAME = {"num_players": 8, "height": 64, "width": 64}
# Bytes of the planes of one agent.
ROW = 9 * 4 * 64 * 64
ONEHOT = GAME | {"obs": "onehot"}
MAKERS = {
    "make_vec": (lambda: make_vec(50, **ONEHOT), 400 * ROW),
    "parallel_env": (lambda: parallel_env(**ONEHOT), 8 * ROW),
    "env": (lambda: env(**ONEHOT), 8 * ROW),
    "gymnasium.make": (lambda: gymnasium.make("territorial/Territorial-v0", **ONEHOT), ROW),
    "gymnasium.make_vec": (
        lambda: gymnasium.make_vec("territorial/Territorial-v0", 8, **ONEHOT),
        5 * 8 * ROW,
    ),
    "features": (lambda: make_vec(50, obs="features", **GAME), 50 * 8_000),
    "pairs": (lambda: make_vec(50, obs="pairs", **GAME), 50 * 7_000),
    "packed": (lambda: make_vec(50, **GAME), 50 * 8_000),
}


@pytest.mark.parametrize(("make", "least"), MAKERS.values(), ids=MAKERS)
def test_what_takes_much_is_told_once_and_what_takes_more_than_there_is_is_an_error(make, least, monkeypatch):
    asked = []

    def room(free):
        monkeypatch.setattr("territorial.files.room.free_memory", lambda: free)

    monkeypatch.setattr("territorial.envs.vector.check_room", lambda *given: asked.append(given))
    make()
    monkeypatch.undo()
    what, most, cure = asked[-1]
    assert least <= most
    assert ("obs='packed'" in cure) == ("onehot" in what)
    room(most - 1)
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(MemoryError, match=f"{most / MB:,.0f} MB of memory"),
    ):
        make()
    room(1.5 * most)
    with pytest.warns(UserWarning, match="fewer games take less") as warned:
        make()
    assert len(warned) == 1
    room(2.1 * most)
    with warnings.catch_warnings(action="error"):
        make()


def test_a_check_says_both_amounts(monkeypatch):
    monkeypatch.setattr("territorial.files.room.free_memory", lambda: 3_000 * MB)
    with pytest.raises(MemoryError, match="boards take 4,000 MB of memory, and 3,000 MB are free; take less"):
        check_room("boards", 4_000 * MB, "take less")


# ---- cores -------------------------------------------------------------------------------------------


V1, V2 = "cgroup rw,cpu,cpuacct", "cgroup2 rw"


def one(folder, quota):
    """Return the files of a group of version 1, with a period of a tenth of a second."""
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": 100_000}


HYBRID = "4:cpu,cpuacct:/a/b\n3:cpuset:/c\n0::/user\n"
CONTAINER = "4:cpu,cpuacct:/docker/7\n0::/docker/7\n"


@pytest.mark.parametrize(
    ("own", "mounts", "files", "expected"),
    [
        pytest.param("0::/a/b\n", {"g": ("/", V2)}, {"g/a/b/cpu.max": "200000 100000"}, 2, id="its own"),
        pytest.param(
            "0::/a/b\n",
            {"g": ("/", V2)},
            {"g/a/b/cpu.max": "max 100000", "g/a/cpu.max": "300000 100000"},
            3,
            id="the one above",
        ),
        pytest.param(
            "0::/a/b\n",
            {"g": ("/", V2)},
            {"g/a/b/cpu.max": "900000 100000", "g/a/cpu.max": "400000 100000", "g/c/cpu.max": "1 100000"},
            4,
            id="the smallest, and none of another group",
        ),
        pytest.param("0::/\n", {"g": ("/", V2)}, {"g/cpu.max": "150000 100000"}, 2, id="one and a half"),
        pytest.param("0::/\n", {"g": ("/", V2)}, {"g/cpu.max": "1000 100000"}, 1, id="a part of one"),
        pytest.param("0::/\n", {"g": ("/", V2)}, {"g/cpu.max": "max 100000"}, 64, id="none"),
        pytest.param("0::/\n", {"g": ("/", V2)}, {"g/cpu.max": "7000000 100000"}, 64, id="above the host"),
        pytest.param("0::/\n", {"g": ("/", V2)}, {"g/cpu.max": "torn"}, 64, id="no numbers"),
        pytest.param("0::/a/b\n", {"g": ("/", V2)}, {}, 64, id="no controller"),
        pytest.param(HYBRID, {"g": ("/", V1)}, one("g/a/b", 200_000), 2, id="version 1, its own"),
        pytest.param(
            HYBRID,
            {"g": ("/", V1)},
            one("g/a/b", -1) | one("g/a", 300_000),
            3,
            id="version 1, the one above",
        ),
        pytest.param(HYBRID, {"g": ("/", V1)}, one("g/a/b", -1), 64, id="version 1, none"),
        pytest.param(
            HYBRID,
            {"cpu": ("/", V1), "set": ("/", "cgroup rw,cpuset"), "all": ("/", V2)},
            one("cpu/a", 500_000) | {"all/a/cpu.max": "100000 100000"} | one("set/a", 100_000),
            5,
            id="both versions, each with its own path",
        ),
        pytest.param(CONTAINER, {"g": ("/docker/7", V1)}, one("g", 200_000), 2, id="version 1, container"),
        pytest.param(
            "0::/docker/7/a\n",
            {"g": ("/docker/7", V2)},
            {"g/a/cpu.max": "max 100000", "g/cpu.max": "200000 100000"},
            2,
            id="a group within a container",
        ),
        pytest.param(
            "0::/../../b\n",
            {"g": ("/", V2)},
            {"g/cpu.max": "200000 100000"},
            2,
            id="outside of its namespace",
        ),
    ],
)
def test_quotas_of_control_groups_count(tmp_path, monkeypatch, own, mounts, files, expected):
    """On a host of 64 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    contain(tmp_path, own, mounts, files)
    assert usable_cores(tmp_path) == expected


def test_a_system_without_control_groups_has_all_cores(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert usable_cores(tmp_path) == 3


def test_nobody_asks_for_cores_while_parsers_are_built(monkeypatch):
    def asked(*_):
        pytest.fail("the cores were asked for")

    monkeypatch.setattr(os, "sched_getaffinity", asked, raising=False)
    monkeypatch.setattr(os, "cpu_count", asked)
    monkeypatch.setattr(Path, "read_bytes", asked)
    cli.make_parser()
    assert cli.main(["dataset", "--help"]) == 0
