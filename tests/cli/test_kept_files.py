"""Files and folders that commands cannot write, or must not replace, are named before anything is played."""

import errno
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from territorial import Recorder, VecGame, cli, evaluate, maps
from territorial.cli import bench, league, main, replay
from territorial.config.land_mask import LandMask
from territorial.evaluation import workers
from territorial.evaluation.schedule import Scenario
from territorial.files import atomic
from territorial.training.dataset import shard_name
from tests.cli.test_dataset import SMALL as ROWS
from tests.replay.support import BOTS, SMALL, small_replay

TINY = ("--height", "24", "--width", "24", "--num-players", "3", "--max-ticks", "50")


def refused(capsys: Any, path: Path, content: bytes, *arguments: str) -> str:
    """Return what a command says that must leave ``content`` in a file; exit code 2."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert main([*map(str, arguments)]) == 2
    assert path.read_bytes() == content
    return str(capsys.readouterr().err)


# ---- folders -----------------------------------------------------------------------------------------


def test_a_data_set_is_not_made_over_another(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "folder" / shard_name(3)
    options = ("--games", "2", "--processes", "1", *ROWS)
    err = refused(capsys, path, b"rows", "dataset", str(path.parent), *options)
    assert f"argument FOLDER: {str(path)!r}: it is there already, and would be replaced" in err
    assert {file.name for file in path.parent.iterdir()} <= {path.name, ".writer"}


def test_plots_are_drawn_over_plots_alone(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib: the extra `league` has it")
    from territorial.evaluation.plots import save_plots

    for _ in range(2):
        save_plots(plt, {"places": plt.figure}, tmp_path)
    plt.figure().savefig(tmp_path / "places.png")
    before = (tmp_path / "places.png").read_bytes()
    with pytest.raises(FileExistsError, match=r"would be replaced.*places\.png"):
        save_plots(plt, {"places": plt.figure}, tmp_path)
    assert (tmp_path / "places.png").read_bytes() == before


# ---- files that options name -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("a.png", ("demo", *TINY, "--picture")),
        ("a.replay", ("demo", *TINY, "--no-picture", "--replay")),
        ("a.html", ("demo", *TINY, "--no-picture", "--page")),
        ("a.html", ("watch", *TINY, "--page")),
        ("a.jsonl", ("match", *TINY, "--records")),
        ("a.png", ("info", "maps", "europe", "--picture")),
        ("a.png", ("info", "maps", "europe", "--export")),
        ("a.npy", ("info", "maps", "europe", "--export")),
        ("a.txt", ("info", "maps", "europe", "--export")),
    ],
)
def test_a_file_of_another_kind_is_not_replaced(
    capsys: Any, tmp_path: Path, name: str, arguments: tuple[str, ...]
) -> None:
    err = refused(capsys, tmp_path / name, b"notes of a year", *arguments, str(tmp_path / name))
    assert f"argument {arguments[-1]}: {str(tmp_path / name)!r} is " in err
    assert re.search("is a file that is not .* and would be replaced|is not a file of games", err)


@pytest.mark.parametrize(
    "content",
    [
        b'{"format": "territorial games, version 1", "rules": 1}\n{"game": 0}\n',
        b'{\n "height": 96\n}\n',
        b'{\n  "format": 1,\n  "name": "main-0"\n}\n',
        b'{\n  "name": "my-style"\n}\n',
        b"a replay, say",
    ],
    ids=["records", "options of a run", "manifest", "style", "replay"],
)
def test_a_result_does_not_replace_files_of_the_library(capsys: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    assert "is a file that is not a result as JSON, and would be replaced" in refused(
        capsys, path, content, "info", "--json", str(path)
    )


@pytest.mark.parametrize("name", ["a.png", "a.npy", "a.txt"])
def test_a_file_of_the_same_kind_is_replaced(capsys: Any, tmp_path: Path, name: Any) -> None:
    maps.save(LandMask.from_array(np.ones((16, 16), bool)), tmp_path / name)
    assert main(["info", "maps", "europe", "--export", str(tmp_path / name)]) == 0
    assert maps.load(tmp_path / name).num_land > 16 * 16


def test_a_file_that_nobody_named_gets_a_new_name(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        assert main(["demo", "--seed", "7", "--replay", "--page", *TINY]) == 0
    out = capsys.readouterr().out
    files = {f"territorial-7{part}.{end}" for part in ("", "-2", "-3") for end in ("png", "replay", "html")}
    assert {path.name for path in tmp_path.iterdir()} == files
    assert all(name in out for name in files)
    for _ in range(2):
        assert main(["replay", "territorial-7.replay", "--at", "50"]) == 0
    assert (tmp_path / "territorial-7-50.png").exists()
    assert (tmp_path / "territorial-7-50-2.png").exists()


LITTLE = ["--height", "24", "--width", "24", "--num-players", "2", "--max-ticks", "20"]
FILES = [
    (["demo", *LITTLE], "--picture", "a.png"),
    (["demo", "--no-picture", *LITTLE], "--replay", "a.replay"),
    (["demo", "--no-picture", *LITTLE], "--page", "a.html"),
    (["demo", "--no-picture", *LITTLE], "--json", "a.json"),
    (["watch", *LITTLE], "--page", "a.html"),
    (["watch", *LITTLE], "--json", "a.json"),
    (["replay", "game.replay", "--at", "20"], "--picture", "a.png"),
    (["replay", "game.replay"], "--animation", "a.gif"),
    (["replay", "game.replay", "--verify"], "--json", "a.json"),
    (["match", *LITTLE], "--records", "a.jsonl"),
    (["match", *LITTLE], "--json", "a.json"),
    (["bench"], "--json", "a.json"),
    (["info", "maps", "lakes"], "--export", "a.txt"),
    (["info", "maps", "lakes"], "--picture", "a.png"),
    (["info", "maps", "lakes"], "--json", "a.json"),
    (["league", "show", "run"], "--json", "a.json"),
    (["info", "memory"], "--json", "a.json"),
    (["info"], "--json", "a.json"),
]


@pytest.fixture
def nothing_begins(tmp_path, monkeypatch):
    """Whatever takes time fails the test."""
    small_replay().save(tmp_path / "game.replay")
    monkeypatch.chdir(tmp_path)
    for place, name in ((VecGame, "__init__"), (maps, "generate"), (bench, "measure"), (league, "league_of")):
        monkeypatch.setattr(place, name, lambda *_, name=name, **__: pytest.fail(f"{name} was called"))
    monkeypatch.setattr(replay.Replay, "verify", lambda _: pytest.fail("it was played"))


@pytest.fixture
def read_only(monkeypatch):
    """A disk that is mounted to be read: root may not write there either, and permissions do not tell."""

    def refuse(*, dir):  # noqa: A002  # the name it has there
        raise OSError(errno.EROFS, "Read-only file system", os.path.join(dir, "tmp123"))

    monkeypatch.setattr(atomic.tempfile, "TemporaryFile", refuse)


@pytest.mark.parametrize(("command", "argument", "name"), FILES)
def test_a_folder_that_cannot_be_written_is_named_at_once(
    capsys, tmp_path, nothing_begins, read_only, command, argument, name
):
    assert cli.main([*command, argument, str(tmp_path / name)]) == 2
    verb = " ".join(word for word in command[:2] if word.isalpha())
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"territorial {verb}: error: argument {argument}: {str(tmp_path)!r}: Read-only file system"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["game.replay"]


def test_the_picture_that_is_left_without_being_asked_for_is_noticed_too(capsys, nothing_begins, read_only):
    assert cli.main(["demo", *LITTLE]) == 2
    assert "argument --picture: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["match", "league"])
def test_a_folder_for_plots_is_tried_out(capsys, tmp_path, nothing_begins, read_only, verb):
    pytest.importorskip("matplotlib")
    arguments = ["show", "run"] if verb == "league" else LITTLE
    assert cli.main([verb, *arguments, "--plots", str(tmp_path / "plots")]) == 2
    assert f"argument --plots: '{tmp_path}/plots': Read-only" in capsys.readouterr().err


def test_a_recorder_tries_its_folder_out_before_the_first_game(tmp_path, read_only):
    game = VecGame(SMALL, 1, seats=BOTS)
    with pytest.raises(OSError, match="Read-only file system") as refused:
        Recorder(game, tmp_path / "replays")
    assert refused.value.filename == str(tmp_path / "replays")
    Recorder(game).close()  # none is left behind


def test_an_evaluation_tries_its_file_out_before_the_first_game(tmp_path, monkeypatch, read_only):
    monkeypatch.setattr(workers.Processes, "__call__", lambda *_: pytest.fail("it was played"))
    scenario = Scenario(config=SMALL, seats=["agent", *BOTS[1:]])
    with pytest.raises(OSError, match="Read-only file system"):
        evaluate(["banker"], {"duel": scenario}, 1, out=tmp_path / "a.jsonl", processes=1)


@pytest.mark.skipif(sys.platform != "linux", reason="only there is a folder in which not even root can write")
def test_folders_are_really_tried_out(tmp_path):
    with pytest.raises(OSError) as refused:
        atomic.check_file("/proc/a.png")
    assert refused.value.filename == "/proc"
    atomic.check_file(tmp_path / "a.png")
    atomic.check_file("/dev/null")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root, and Windows, may write to any file")
def test_a_file_that_is_not_to_be_changed_is_named(capsys, tmp_path, nothing_begins):
    path = tmp_path / "a.json"
    path.write_text("{}")
    report = f"argument --json: {str(path)!r}: "
    for place, mode in ((path, stat.S_IRUSR), (tmp_path, 0)):  # then a folder that nobody may look into
        place.chmod(mode)
        assert cli.main(["info", "--json", str(path)]) == 2
        assert report in capsys.readouterr().err
    tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_opened_only_to_see_whether_it_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    atomic.check_file(tmp_path / "pipe")  # opening it would wait for a reader
