"""How many cores a process may use, in containers that stand here as folders."""

import os
from pathlib import Path

import pytest

from territorial import cli
from territorial.files.cores import usable_cores

V1, V2 = "cgroup rw,cpu,cpuacct", "cgroup2 rw"


@pytest.fixture
def cores(tmp_path, monkeypatch):
    """Return what counts the cores of a process in such groups, on a host of 64 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)

    def count(own, mounts, files):
        (tmp_path / "cgroup").write_text(own)
        lines = ["1 0 8:1 / / rw - ext4 /dev/sda1 rw", "2 1 0:5 / /proc rw master:3 shared:9 - proc proc rw"]
        for point, (root, kind) in mounts.items():
            (tmp_path / point).mkdir(parents=True)
            name, options = kind.split()
            lines.append(f"9 1 0:9 {root} {tmp_path / point} rw,nosuid shared:4 - {name} {name} {options}")
        (tmp_path / "mountinfo").write_text("\n".join(lines) + "\n")
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")
        return usable_cores(tmp_path)

    return count


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
def test_quotas_of_control_groups_count(cores, own, mounts, files, expected):
    assert cores(own, mounts, files) == expected


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
