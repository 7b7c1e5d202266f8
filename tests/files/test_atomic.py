"""Whole files are there whole or not at all: full disks, interrupts, two writers, links in their place."""

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

import territorial
from territorial import GameConfig, LandMask, Replay, Scenario, evaluate, maps
from territorial.bots import make as bot
from territorial.browser import web
from territorial.cli.options import UsageError, write_json
from territorial.evaluation.evaluate import Evaluation
from territorial.evaluation.plots import save_plots
from territorial.evaluation.record import GameRecord, ResultsError
from territorial.files import locks
from territorial.files.atomic import draft_of, write_file
from territorial.files.locks import one_writer
from territorial.league import League, LeagueConfig, Learner, SnapshotStore
from territorial.league.charts import draw_league
from territorial.league.checkpoints import Checkpoints
from territorial.league.store import only_writer
from territorial.render import write_gif, write_png
from territorial.replay import Checkpoint, Decisions
from territorial.training import make
from territorial.training.dataset import shard_name, write_shard
from tests.league.support import manifest

RANDOM = np.random.default_rng(0)
LAND = LandMask.from_array(RANDOM.random((64, 64)) < 0.9)
PICTURE = RANDOM.integers(0, 256, (60, 60, 3), np.uint8)
LEAGUE = League(
    LeagueConfig(num_players=2, learners=(Learner(name="main", seats=2),), bots=("banker",)), rated=False
)
LEAGUE.record(["trainable:main", "bot:banker"], [1, 2])
REPLAY = Replay(
    config=GameConfig(height=64, width=64, num_players=2, map=LAND),
    map_kind=None,
    terrain="mountains",
    seed=0,
    seats=("metronome-1", "banker-1"),
    names=("a", "b"),
    launches=np.zeros((0, 4), np.int32),
    checkpoints=(Checkpoint(0, bytes(8)),),
    num_ticks=0,
    is_over=False,
)
GAME = GameRecord(
    game=0,
    seed=0,
    seats=("a", "b"),
    places=(1.0, 2.0),
    died=(-1, 9),
    length=10,
    is_stopped=False,
    filled=-1,
    num_land=9,
    ticks=(10,),
    land=((9, 0),),
)

WRITERS = {
    **{f"map{end}": lambda path: maps.save(LAND, path) for end in maps.SUFFIXES},
    "picture.png": lambda path: write_png(path, PICTURE),
    "film.gif": lambda path: write_gif(path, [PICTURE, 255 - PICTURE]),
    "page.html": lambda path: web.write_page(path, b"film"),
    "game.replay": REPLAY.save,
    "league.npz": LEAGUE.save,
    "result.json": lambda path: write_json(str(path), {"numbers": [0] * 100}),
    "games.jsonl": Evaluation(["a"], ["b"], [GAME]).write,
    "payoff.png": lambda path: pytest.importorskip("matplotlib") and draw_league(LEAGUE, path.parent),
}
FULL = OSError(errno.ENOSPC, "No space left on device")

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither limits of files nor links")


@contextmanager
def no_room():
    """Let no file grow beyond 100 bytes, neither here nor in programs that are started."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextmanager
def failing(call, error):
    """Let a call of the system raise ``error``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, call, Mock(side_effect=error))
        yield


FAILURES = {
    "write": no_room,
    "flush": lambda: failing("fsync", FULL),
    "rename": lambda: failing("replace", PermissionError(errno.EACCES, "Permission denied")),
    "interrupt": lambda: failing("fsync", KeyboardInterrupt()),
}


@posix
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", WRITERS)
def test_what_fails_leaves_the_good_file_and_nothing_else(name, failure, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    before = path.read_bytes()
    assert len(before) > 100
    with (
        pytest.raises((OSError, RuntimeError, UsageError, KeyboardInterrupt)) as caught,
        FAILURES[failure](),
    ):
        WRITERS[name](path)
    assert (caught.type is KeyboardInterrupt) == (failure == "interrupt")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


# ---- drafts --------------------------------------------------------------------------------------------


def test_two_threads_write_one_file_and_one_of_theirs_stays_whole(tmp_path):
    path, together, drafts = tmp_path / "league.npz", threading.Barrier(2), []

    def write(content):
        with draft_of(path) as draft:
            drafts.append(draft)
            with open(draft, "wb") as file:
                file.write(content[:5])
                together.wait()
                file.write(content[5:])

    with ThreadPoolExecutor(2) as writers:
        list(writers.map(write, (b"\1" * 10, b"\2" * 10)))
    assert len(set(drafts)) == 2
    assert path.read_bytes() in (b"\1" * 10, b"\2" * 10)
    assert os.listdir(tmp_path) == [path.name]


def test_no_pattern_finds_a_draft_and_its_name_is_never_too_long(tmp_path):
    path = tmp_path / ("é" * 100 + ".replay")
    with draft_of(path) as draft:
        draft.write_bytes(b"half")
        assert list(tmp_path.glob("*.replay")) == []
    assert list(tmp_path.glob("*.replay")) == [path]


def test_a_killed_process_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"good")
    program = (
        "import os, sys\nfrom territorial.files.atomic import draft_of\n"
        "with draft_of(sys.argv[1]) as draft:\n    draft.write_bytes(b'half')\n    os._exit(9)\n"
    )
    bare = (  # without the package's imports, which take longer than all the rest
        "import sys, types\npackage = sys.modules['territorial'] = types.ModuleType('territorial')\n"
        f"package.__path__ = [{str(Path(territorial.__file__).parent)!r}]\n"
    )
    assert subprocess.run([sys.executable, "-c", bare + program, str(path)]).returncode == 9
    assert path.read_bytes() == b"good"


def test_errors_name_the_file_and_not_its_draft(tmp_path):
    for path in (tmp_path / "none" / "a.txt", Path(__file__) / "a.txt"):
        with pytest.raises(OSError, match=r"No such file|Not a directory") as caught:
            write_file(path, b"x")
        assert caught.value.filename == str(path)
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"x")


@posix
def test_links_permissions_and_devices_are_what_they_were(tmp_path):
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, b"new")
    assert link.is_symlink()
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    write_file(os.devnull, b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@posix
def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        found = reader.submit(pipe.read_bytes)
        write_file(pipe, b"content")
    assert found.result() == b"content"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everything")
def test_a_file_that_may_not_be_written_stays(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"good")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        write_file(path, b"new")
    assert path.read_bytes() == b"good"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_device_is_an_error_and_stays_a_device():
    with pytest.raises(OSError, match="No space left"):
        write_file("/dev/full", b"x")
    with pytest.raises(UsageError, match="'/dev/full': No space left"):
        write_json("/dev/full", {})
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


CONFIG = GameConfig(height=24, width=24, num_players=2, max_ticks=100)
ROWS = Decisions(*[np.zeros(100, np.int32)] * len(Decisions._fields))
SCENARIOS = {"s": Scenario(config=CONFIG, seats=["agent", "novice"])}

MORE_WRITERS = {
    "plain.txt": lambda path: write_file(path, bytes(1000)),
    "style.json": bot("banker").style.save,
    "store": lambda path: SnapshotStore(path).add("main", {"w": np.zeros(100)}, manifest()),
    "set": lambda path: make(path, CONFIG, ["banker"] * 2, games=1, processes=1),
    shard_name(0): lambda path: write_shard(path, 0, [ROWS]),
    "trials.jsonl": lambda path: evaluate(["banker"], SCENARIOS, 1, out=path, processes=1, progress=False),
}


@posix
@pytest.mark.parametrize("name", [*WRITERS, *MORE_WRITERS])
def test_a_file_for_which_there_is_no_room_is_named_and_leaves_nothing(name, tmp_path):
    path = tmp_path / name
    with pytest.raises((OSError, RuntimeError, UsageError, ResultsError)) as caught, no_room():
        (WRITERS | MORE_WRITERS)[name](path)
    assert "File too large" in str(caught.value)
    assert str(path) in str(caught.value)
    assert "->" not in str(caught.value)  # a second name, which rename has
    assert name not in WRITERS or os.listdir(tmp_path) == []


@posix
@pytest.mark.parametrize("name", ["plain.txt", "store"])
def test_a_file_that_does_not_reach_the_disk_is_named(name, tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, failing("fsync", FULL):
        MORE_WRITERS[name](tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


@posix
def test_a_file_that_cannot_be_locked_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_lock", Mock(side_effect=OSError(errno.EIO, os.strerror(errno.EIO))))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)) as caught:
        one_writer(tmp_path / "lock").__enter__()
    assert caught.value.filename == str(tmp_path / "lock")


DRAWN = SimpleNamespace(savefig=lambda draft, **_: draft.write_bytes(b"picture"))


def begun(folder):
    make(folder, CONFIG, ["banker"] * 2, games=1, play=lambda *_: ())


def held(context):
    with context:
        pass


WRITERS_OF_FIXED_NAMES = {
    "of a store": (".writer", lambda folder: held(only_writer(folder))),
    "in a store": (".lock", lambda folder: held(SnapshotStore(folder)._changing())),
    "of a data set": (".writer", begun),
    "manifest": ("manifest.json", begun),
    "shard": (shard_name(0), lambda folder: write_shard(folder / shard_name(0), 0, [ROWS])),
    "plot": (
        "land.png",
        lambda folder: save_plots(SimpleNamespace(close=lambda _: None), {"land": lambda: DRAWN}, folder),
    ),
}


@posix
@pytest.mark.parametrize(("name", "writes"), WRITERS_OF_FIXED_NAMES.values(), ids=WRITERS_OF_FIXED_NAMES)
def test_a_link_in_the_place_of_a_file_with_a_fixed_name_is_refused(name, writes, tmp_path):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    writes(folder)
    (folder / name).rename(outside)
    before = outside.stat().st_ino, outside.read_bytes()
    (folder / name).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link, where a file is to be") as caught:
        writes(folder)
    assert caught.value.filename == str(folder / name)
    assert (outside.stat().st_ino, outside.read_bytes()) == before


def checkpoint(folder, step=1):
    Checkpoints(folder, keep=1).write(step, lambda folder: (folder / "weights").write_bytes(b"w"))


FIXED_FOLDERS = {
    "store": ("runs", lambda folder: SnapshotStore(folder / "runs")),
    "what comes to a store": (".unfinished", MORE_WRITERS["store"]),
    "what is replaced in a store": (".replaced", MORE_WRITERS["store"]),
    "checkpoints": ("runs", lambda folder: checkpoint(folder / "runs")),
    "what comes to checkpoints": (".unfinished", checkpoint),
    "a checkpoint": ("checkpoint-00000001", checkpoint),
    "what leaves checkpoints": (".leaving-00000001", lambda folder: [checkpoint(folder, n) for n in (1, 2)]),
    "damaged": (
        "damaged-00000001",
        lambda folder: (checkpoint(folder), Checkpoints(folder).set_aside(1)),
    ),
    "folder of a data set": ("runs", lambda folder: begun(folder / "runs")),
}
THINGS = {
    "a file": lambda path: path.write_bytes(b"notes"),
    "a folder": lambda path: (path / "notes").mkdir(parents=True),
    "a link": lambda path: path.symlink_to("nowhere"),
    "a pipe or a device": lambda path: os.mkfifo(path),
}


@posix
@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("writer", [*FIXED_FOLDERS, *WRITERS_OF_FIXED_NAMES])
def test_whatever_lies_at_a_fixed_name_is_named_and_stays(writer, thing, tmp_path):
    name, writes = (FIXED_FOLDERS | WRITERS_OF_FIXED_NAMES)[writer]
    if thing == ("a folder" if writer in FIXED_FOLDERS else "a file"):
        return  # it is used
    path = tmp_path / "folder" / name
    path.parent.mkdir()
    THINGS[thing](path)
    before = path.lstat()
    with pytest.raises(
        OSError, match=f"it is {thing}(, where a .* is to be; move it away|; remove it)"
    ) as caught:
        writes(path.parent)
    assert str(path) in str(caught.value)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    path.rename(tmp_path / "away")
    for one in path.parent.glob("checkpoint-*"):  # what was written all the same
        shutil.rmtree(one)
    writes(path.parent)
