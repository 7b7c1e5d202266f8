"""Memory that is free, in containers that stand here as folders, and what is said where it is short."""

import math
import warnings

import gymnasium
import pytest

import territorial
from territorial.files.room import check_room, free_memory

MB = 10**6
MEMINFO = "MemTotal: 900 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\n"
STAT = "cache 9\ninactive_file 1000\ntotal_inactive_file 1000\n"


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
    process = tmp_path / "proc" / "self"
    process.mkdir(parents=True)
    name, options = kind.split()
    (process / "cgroup").write_text(own)
    (process / "mountinfo").write_text(
        f"9 1 0:9 / {tmp_path / 'g'} rw,nosuid shared:4 - {name} {name} {options}\n"
    )
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO)
    for folder, files in groups.items():
        (tmp_path / "g" / folder).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (tmp_path / "g" / folder / file).write_text(f"{text}\n")
    assert free_memory(process) == expected


def test_a_system_that_does_not_tell_has_no_limit(tmp_path):
    assert free_memory(tmp_path / "self") == math.inf


GAME = {"num_players": 8, "height": 64, "width": 64}
ROW = 9 * 4 * 64 * 64
"""Bytes of the planes of one agent."""
ONEHOT = GAME | {"obs": "onehot"}
MAKERS = {
    "make_vec": (lambda: territorial.make_vec(50, **ONEHOT), 400 * ROW),
    "parallel_env": (lambda: territorial.parallel_env(**ONEHOT), 8 * ROW),
    "env": (lambda: territorial.env(**ONEHOT), 8 * ROW),
    "gymnasium.make": (lambda: gymnasium.make("territorial/Territorial-v0", **ONEHOT), ROW),
    "gymnasium.make_vec": (
        lambda: gymnasium.make_vec("territorial/Territorial-v0", 8, **ONEHOT),
        5 * 8 * ROW,
    ),
    "features": (lambda: territorial.make_vec(50, obs="features", **GAME), 50 * 8_000),
    "pairs": (lambda: territorial.make_vec(50, obs="pairs", **GAME), 50 * 7_000),
    "packed": (lambda: territorial.make_vec(50, **GAME), 50 * 8_000),
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
