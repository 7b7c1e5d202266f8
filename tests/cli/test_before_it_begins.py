"""Files that cannot be written are noticed before anything is played; argument and folder are named."""

import errno
import os
import stat
import sys

import pytest

from territorial import Recorder, VecGame, cli, evaluate, maps
from territorial.cli import bench, league, replay
from territorial.evaluation import pool
from territorial.evaluation.schedule import Setting
from territorial.files import atomic
from tests.replay.support import BOTS, SMALL, small_replay

LITTLE = ["--height", "24", "--width", "24", "--num-players", "2", "--max-ticks", "20"]
FILES = [
    (["demo", *LITTLE], "--picture", "a.png"),
    (["demo", "--no-picture", *LITTLE], "--animation", "a.apng"),
    (["demo", "--no-picture", *LITTLE], "--replay", "a.replay"),
    (["demo", "--no-picture", *LITTLE], "--page", "a.html"),
    (["demo", "--no-picture", *LITTLE], "--json", "a.json"),
    (["watch", *LITTLE], "--page", "a.html"),
    (["watch", *LITTLE], "--json", "a.json"),
    (["replay", "game.replay", "--at", "20"], "--picture", "a.png"),
    (["replay", "game.replay"], "--animation", "a.apng"),
    (["replay", "game.replay", "--verify"], "--json", "a.json"),
    (["match", *LITTLE], "--records", "a.jsonl"),
    (["match", *LITTLE], "--json", "a.json"),
    (["bench", *LITTLE], "--json", "a.json"),
    (["info", "maps", "lakes"], "--export", "a.txt"),
    (["info", "maps", "lakes"], "--picture", "a.png"),
    (["info", "maps", "lakes"], "--json", "a.json"),
    (["league", "show", "run"], "--json", "a.json"),
    (["bench", "--warmup"], "--json", "a.json"),
    (["info", "observation"], "--json", "a.json"),
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
    path = tmp_path / name
    assert cli.main([*command, argument, str(path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"territorial {command[0]}: error: argument {argument}: {str(tmp_path)!r}: Read-only file system"
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
    monkeypatch.setattr(pool.Processes, "__call__", lambda *_: pytest.fail("it was played"))
    setting = Setting(config=SMALL, seats=["agent", *BOTS[1:]])
    with pytest.raises(OSError, match="Read-only file system"):
        evaluate(["banker"], {"duel": setting}, 1, out=tmp_path / "a.jsonl", processes=1)


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
    told = f"argument --json: {str(path)!r}: "
    for place, mode in ((path, stat.S_IRUSR), (tmp_path, 0)):  # then a folder that nobody may look into
        place.chmod(mode)
        assert cli.main(["info", "--json", str(path)]) == 2
        assert told in capsys.readouterr().err
    tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_opened_only_to_see_whether_it_can_be(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    atomic.check_file(tmp_path / "pipe")  # opening it would wait for a reader
