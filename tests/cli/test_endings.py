"""How commands end: nobody reads stdout, the disk behind it is full, it is closed, or Ctrl-C comes early."""

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import territorial
from territorial import cli
from territorial.cli import bench, league

HOME = str(Path(territorial.__file__).parents[1])
SMALL = ["--height", "24", "--width", "24", "--num-players", "2", "--max-ticks", "20"]
CONTEST = ["--games", "1", "--processes", "1", *SMALL]
ARGUMENTS = {
    "play": ["--no-open", "--port", "0", *(f"--set={field}" for field in ("height=24", "width=24"))],
    "demo": ["--no-picture", *SMALL],
    "watch": ["--page", "game.html", *SMALL],
    "replay": ["game.replay"],
    "dataset": ["rows", "--games", "1", *SMALL],
    "match": ["--seats", "banker,turtle", *CONTEST],
    "league show": ["run"],
    "whatif": ["game.replay", "--tick=0", "--seat=1", "--against=hold", "--games=2", "--processes=1"],
    "bench": [],
    "info maps": [],
}
needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
needs_signals = pytest.mark.skipif(
    os.name == "nt", reason="Ctrl-C is sent to whole consoles there, this one too"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("endings")
    assert cli.main(["demo", "--no-picture", "--replay", str(made / "game.replay"), *SMALL]) == 0
    return made


@pytest.fixture
def at_work(folder, monkeypatch):
    """A folder with all that the verbs need; what takes long in them is left out."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(league, "league_of", lambda path: (None, path))
    monkeypatch.setattr(league, "text_of", lambda *_: "nobody")
    monkeypatch.setattr(league, "result_of", lambda _: {})
    monkeypatch.setattr(bench, "measure", lambda *_: {name: [1.0] for name in bench.RATES})
    monkeypatch.setattr(sys, "path", [*sys.path])


def ending(capsys, monkeypatch, stdout, *arguments):
    """The exit code and the last line on stderr of a command; ``stdout`` None: nobody reads it."""
    if stdout is None:
        reader, stdout = os.pipe()
        os.close(reader)
    with open(stdout, "w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        code = cli.main([*arguments])
    err = capsys.readouterr().err
    assert "Traceback" not in err
    return code, err.splitlines()[-1]


def test_every_verb_is_here():
    assert {command.split()[0] for command in ARGUMENTS} == cli.VERBS.keys()


@needs_dev_full
@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_full_disk_behind_stdout_is_told(capsys, monkeypatch, at_work, command):
    report = f"territorial {command}: error: stdout cannot be written: No space left on device"
    assert ending(capsys, monkeypatch, "/dev/full", *command.split(), *ARGUMENTS[command]) == (1, report)


@pytest.mark.parametrize("command", ARGUMENTS)
def test_a_reader_that_has_left_is_told(capsys, monkeypatch, at_work, command):
    report = f"territorial {command}: whoever read stdout has left"
    assert ending(capsys, monkeypatch, None, *command.split(), *ARGUMENTS[command]) == (141, report)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"]])
def test_help_that_nobody_reads_ends_in_the_same_way(capsys, monkeypatch, arguments):
    code, report = ending(capsys, monkeypatch, None, *arguments)
    assert (code, report.partition(": ")[2]) == (141, "whoever read stdout has left")


@pytest.mark.parametrize("verb", cli.VERBS)
def test_a_closed_stdout_is_told_before_anything_is_done(capsys, monkeypatch, verb):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(cli, "_do", lambda arguments: pytest.fail("it went on"))
    assert cli.main([verb]) == 1
    monkeypatch.undo()
    assert capsys.readouterr().err == (
        f"territorial {verb}: error: stdout is closed; >/dev/null is for results that nobody reads\n"
    )


def test_a_closed_stderr_is_done_without(capsys, monkeypatch, at_work):
    monkeypatch.setattr(sys, "stderr", None)
    assert (cli.main(["demo", *ARGUMENTS["demo"]]), cli.main(["demo", "--height", "1"])) == (0, 2)
    sys.stderr.close()
    monkeypatch.undo()
    assert "ticks/s" in capsys.readouterr().out


def test_another_error_of_the_system_is_a_line_as_well(capsys, monkeypatch):
    for error in (OSError(5, "Input/output error", "some file"), BrokenPipeError(32, "Broken pipe")):
        monkeypatch.setattr(bench, "measure", Mock(side_effect=error))
        assert (cli.main(["bench"]), capsys.readouterr().err) == (1, f"territorial bench: error: {error}\n")


def test_a_wrong_argument_stays_the_reason_where_stdout_is_broken_too(capsys, monkeypatch):
    def half_done(parsed):
        sys.stdout.write("half a result")
        raise cli.options.UsageError("argument --records: the disk is full")

    monkeypatch.setattr(cli.info, "run", half_done)
    report = "territorial info: error: argument --records: the disk is full"
    assert ending(capsys, monkeypatch, None, "info") == (2, report)


# ---- processes ---------------------------------------------------------------------------------------


def shell(command, **environment):
    """What a shell does with ``command``, in which $T is the command line."""
    return subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"PYTHONPATH": HOME, "T": f"{sys.executable} -m territorial"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.skipif(os.name == "nt", reason="there is no sh")
def test_a_process_says_one_line_and_exits_with_its_code():
    """All at once, for they take a second each: codes, then what was said."""
    done = shell(
        "($T info; echo code $? >&2) | head -n 0;"
        "$T info >/dev/full; echo code $? >&2; $T info >&-; echo code $? >&2"
    )
    assert done.stdout == ""
    lines = [
        "territorial info: whoever read stdout has left",
        "code 141",
        "territorial info: error: stdout cannot be written: No space left on device",
        "code 1",
        "territorial info: error: stdout is closed; >/dev/null is for results that nobody reads",
        "code 1",
    ]
    if not Path("/dev/full").exists():
        del lines[2:4]
    assert done.stderr.splitlines() == lines


BOT = """
import os, signal
from territorial.bots import PythonBot
class Mine(PythonBot):
    name = "mine-1"
    def decide(self, view):
        os.kill(int(os.environ["MATCH"] or os.getppid()), getattr(signal, os.environ["SIGNAL"]))
        return -1, 1
"""


@needs_signals
@pytest.mark.parametrize(("name", "processes"), [("SIGINT", 1), ("SIGTERM", 1), ("SIGTERM", 2)])
def test_a_match_that_is_asked_to_end_says_so_in_two_lines(tmp_path, name, processes):
    (tmp_path / "mine.py").write_text(BOT)
    small = f"{' '.join(SMALL)} --max-ticks 300"
    options = f"--seats mine:Mine,turtle --games {2 * processes} --processes {processes} {small}"
    done = shell(
        f"cd {tmp_path} && MATCH={'$$' if processes == 1 else ''} exec $T match --quiet {options}",
        SIGNAL=name,
        MATCH="",
    )
    lost = f"0 of {2 * processes} games were played; with --records, the same command would resume"
    assert done.stderr.splitlines()[-2:] == ["territorial match: interrupted", lost]
    assert not [line for line in done.stderr.splitlines() if "Error" in line or "Warning" in line]
    assert (done.returncode, done.stdout) == (130, "")


def test_ctrl_c_while_verbs_of_others_are_loaded_is_an_interrupt_too(capsys, monkeypatch):
    monkeypatch.setattr(cli, "entry_points", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(["train"]) == 130
    assert re.fullmatch(r"territorial train: interrupted\n", capsys.readouterr().err)
