"""Checkpoints: whole or not at all, wherever the process is stopped and whatever the disk says."""

import errno
import hashlib
import json
import os
import subprocess
import sys

import pytest

from territorial.snapshots.checkpoints import CheckpointError, Checkpoints

WRITER = """
import itertools, os, sys
from territorial.snapshots.checkpoints import Checkpoints

def fill(text):
    def fill_in(folder):
        (folder / "inner").mkdir()
        (folder / "weights").write_text(text * 1000)
        (folder / "inner" / "league").write_text(text * 10)
    return fill_in

def killed_at(last):
    calls = itertools.count(1)
    def counted(function):
        def call(*args, **kwargs):
            if next(calls) == last:
                os._exit(9)  # as if the process were killed: nothing is cleaned up
            return function(*args, **kwargs)
        return call
    for name in ("mkdir", "rename", "fsync", "rmdir", "unlink", "open"):
        setattr(os, name, counted(getattr(os, name)))

for last in itertools.count(1):
    Checkpoints(f"{sys.argv[1]}/{last}").write(1, fill("1"))
    child = os.fork()
    if not child:
        killed_at(last)
        Checkpoints(f"{sys.argv[1]}/{last}", keep=1).write(2, fill("2"))
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, flush=True)
    if code != 9:
        break
"""


def fill_with(text):
    def fill(folder):
        (folder / "inner").mkdir()
        (folder / "weights").write_text(text * 1000)
        (folder / "inner" / "league").write_text(text * 10)

    return fill


def content(folder):
    return (folder / "weights").read_text()[0] + (folder / "inner" / "league").read_text()[0]


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run", keep=2)
    assert checkpoints.latest() is None
    for step in (1, 5, 12):
        folder = checkpoints.write(step, fill_with(str(step % 10)))
    assert folder == checkpoints.latest() == tmp_path / "run" / "checkpoint-00000012"
    assert (checkpoints.steps(), content(folder)) == ([5, 12], "22")
    assert sorted(os.listdir(tmp_path / "run")) == ["checkpoint-00000005", "checkpoint-00000012"]
    with pytest.raises(FileExistsError, match="step 12"):
        checkpoints.write(12, fill_with("x"))


def bare_python(program, *arguments):
    """Run a program that imports ``territorial.snapshots`` and little else."""
    return subprocess.run(
        [sys.executable, "-S", "-c", BARE + program, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="counts calls of the system that Windows does not make")
def test_a_process_killed_at_any_call_leaves_the_last_complete_one(tmp_path):
    *killed, finished = map(int, bare_python(WRITER, str(tmp_path)).stdout.split())
    assert (finished, set(killed)) == (0, {9})
    assert len(killed) >= 15
    found = set()
    for number in range(1, len(killed) + 2):
        checkpoints = Checkpoints(tmp_path / str(number))
        latest = checkpoints.latest()
        found.add(content(latest))
        assert content(latest) == latest.name[-1] * 2
        checkpoints.write(3, fill_with("3"))  # whatever was left behind is in nobody's way
        assert content(checkpoints.latest()) == "33"
    assert found == {"11", "22"}


BARE = """
import sys, types
package = types.ModuleType("territorial")  # without its imports, which take longer than all the rest
import importlib.util
for part in sys.path:
    import os.path
    if os.path.isdir(os.path.join(part, "territorial", "snapshots")):
        package.__path__ = [os.path.join(part, "territorial")]
        sys.modules["territorial"] = package
        for room in ("config", "snapshots"):
            module = sys.modules[f"territorial.{room}"] = types.ModuleType(f"territorial.{room}")
            module.__path__ = [os.path.join(part, "territorial", room)]
        break
numpy = types.ModuleType("numpy")
numpy.bool_ = bool
sys.modules["numpy"] = numpy
"""


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("when", ["filling", "sealing"])
def test_a_full_disk_is_said_and_leaves_the_one_before(tmp_path, monkeypatch, number, when):
    checkpoints = Checkpoints(tmp_path)
    first = checkpoints.write(1, fill_with("1"))
    before = files(tmp_path)

    def full(*_):
        raise OSError(number, os.strerror(number))

    def fill(folder):
        fill_with("2")(folder)
        if when == "filling":
            full()
        monkeypatch.setattr("os.fsync", full)

    with pytest.raises(
        CheckpointError, match=r"step 2 .* the disk is full; the last complete one is"
    ) as caught:
        checkpoints.write(2, fill)
    assert caught.value.errno == number
    assert (files(tmp_path), checkpoints.latest(), content(first)) == (before, first, "11")


def test_contents_list_all_files(tmp_path):
    folder = Checkpoints(tmp_path).write(1, fill_with("1"))
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("inner/league", "weights")
    }
    listed = {"inner/league": [10, digests["inner/league"]], "weights": [1000, digests["weights"]]}
    assert json.loads((folder / "contents.json").read_text()) == listed
