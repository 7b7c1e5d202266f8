"""The command line: what it prints and writes, how it says no, and how it ends. All on small boards."""

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import territorial
from territorial import cli
from territorial.cli import bench, league
from territorial.cli.bench import RATES
from territorial.cli.options import config_of
from tests.render.support import decode_png

SMALL = ["--height", "32", "--width", "48", "--num-players", "4", "--max-ticks", "200"]


def fresh_python(program: str) -> str:
    """Run a program in a fresh Python on this very package, and return what it printed."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(Path(territorial.__file__).parents[1])},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


# ---- play ------------------------------------------------------------------------------------------


def test_play_prints_progress_standings_and_speed_and_leaves_a_picture(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, err = done("demo", "--seed", "5", *SMALL)
    assert "tick 200 of 200 [####################]    4 alive  leader P" in err
    assert done("demo", "--seed", "5", "--quiet", "--no-picture", *SMALL)[1] == ""
    assert "error: argument --height" in done("demo", "--quiet", "--height", "1", code=2)[1]
    assert len([line for line in out.splitlines() if " P" in line]) == 4
    for text in ("ticks/s", "agent-steps/s", "picture: territorial-5.png"):
        assert text in out
    height, width, _ = decode_png((tmp_path / "territorial-5.png").read_bytes()).shape
    assert width > 1000
    assert height > 500


def test_play_leaves_a_page_if_asked_for_one(run, done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out, _ = done("demo", "--no-picture", "--page", "--seed", "5", *SMALL)
    assert out.endswith("\n\npage: territorial-5.html\n")
    assert run("watch", "--page", "other.html", "--seed", "5", *SMALL)[0] == 0
    assert Path("territorial-5.html").read_bytes() == Path("other.html").read_bytes()
    result = json.loads(run("demo", "--no-picture", "--page", "a.html", *SMALL, "--json")[1])
    assert result["page"] == "a.html"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "other.html", "territorial-5.html"]
    _, err = done("demo", "--no-picture", "--page", "no/such/a.html", *SMALL, code=2)
    assert "no/such': No such file or directory" in err


def test_play_tells_json_its_game(result_of, tmp_path):
    picture = tmp_path / "a.png"
    arguments = ["demo", "--seed", "3", "--seats", "banker,turtle", "--picture", str(picture), *SMALL]
    first = result_of(*arguments)
    assert (first["ticks"], first["env_steps"], first["config"]["height"]) == (200, 20, 32)
    assert (first["picture"], first["seats"]) == (str(picture), ["banker-1", "turtle-1"] * 2)
    assert [row["bot"] for row in sorted(first["standings"], key=lambda r: r["seat"])] == [
        "banker",
        "turtle",
        "banker",
        "turtle",
    ]
    assert [row["place"] for row in first["standings"]] == sorted(row["place"] for row in first["standings"])
    assert set(RATES) <= set(first)


def test_json_is_written_over_json_and_into_empty_files(run, tmp_path):
    path = tmp_path / "file"
    for before in (b"", b"{}"):
        path.write_bytes(before)
        assert run("info", "--json", str(path))[0] == 0
        assert json.loads(path.read_text())["rules_version"] == territorial.RULES_VERSION


def test_set_reaches_every_field():
    def config_with(*assignments):
        extra = [part for assignment in assignments for part in ("--set", assignment)]
        return config_of(cli.make_parser().parse_args(["demo", "--num-players", "4", *extra]))

    given = ([], ["teams=none"], ["teams=2"], ["teams=1, 2,2,1", "team_spawns=together"])
    assert [config_with(*one).teams for one in given] == [None, None, 2, (1, 2, 2, 1)]
    config = config_with("deaths=false", "cadence_land=5,6,7", "launch_tax=20", "rewards=land=2")
    assert (config.deaths, config.cadence_land, config.launch_tax) == (False, (5, 6, 7), 20)
    assert config.rewards == (("land", 2.0),)
    assert config_with("teams=3", "team_deal=random").team_deal == "random"


def test_a_long_list_of_standings_is_cut_and_says_so(run):
    size = ["--height", "64", "--width", "64", "--num-players", "60", "--max-ticks", "20"]
    _, out, _ = run("demo", "--no-picture", *size)
    assert "... and 30 more" in out


# ---- bench -----------------------------------------------------------------------------------------


def test_bench_writes_all_figures_and_prints_them(done, tmp_path):
    path = tmp_path / "bench.json"
    arguments = ["bench", "--seconds", "0.1", "--num-games", "3", "--threads", "2", "--observe"]
    for field in ("height=32", "width=48", "num_players=4", "max_ticks=1500"):
        arguments += ["--set", field]
    arguments += ["--json", str(path)]
    out, err = done(*arguments)
    found = json.loads(path.read_text())
    for name in RATES:
        samples = found["samples"][name]
        assert 0 < min(samples) <= found[name] <= max(samples)
        assert len(samples) == 7
        assert f"{name.removesuffix('_per_s').replace('_', ' ')} a second" in out
    assert 1 <= found["agent_steps_per_s"] / found["env_steps_per_s"] <= 4, "of living seats alone"
    assert found["bytes_per_game"] > 4 * 34 * 8
    assert set(found["versions"]) >= {"territorial-env", "python", "numpy", "numba", "llvmlite"}
    assert set(found["machine"]) >= {"cpu", "cores", "usable_cores", "system"}
    config = territorial.GameConfig(height=32, width=48, num_players=4, max_ticks=1500)
    assert (found["config_digest"], found["num_games"], found["num_threads"]) == (config.hexdigest, 3, 2)
    assert "3 games, 2 thread(s), stacks of 4 boards" in out
    assert "chunk 7 of 7" in err


def test_games_of_a_measurement_are_at_points_of_their_lives_evenly_apart():
    config = territorial.GameConfig(height=32, width=32, num_players=2)
    ticks = bench.spread_out(bench.new_games(config, ("random",) * 2, 4)).state.tick
    assert (np.diff(ticks) < 0).all()
    assert len(set(np.diff(ticks).tolist())) == 1


# ---- info ------------------------------------------------------------------------------------------


def test_info_tells_versions_bots_and_defaults(run, done):
    out, _ = done("info")
    for text in (territorial.__version__, "metronome", "mixed-1", "launch_tax", "mountains", "1024ths"):
        assert text in out
    result = json.loads(run("info", "--json")[1])
    installed = {"torch", "ray"} & importlib.metadata.packages_distributions().keys()
    assert {"torch", "ray"} & result["versions"].keys() == installed
    assert result["machine_code"] or result["compiled_by_numba_because"]
    assert result["config_digest"] == territorial.GameConfig().hexdigest
    library = territorial.bots
    assert set(result["bots"]) == {*library.NAMES, *library.LEARNED, *library.GIVERS}
    assert (len(result["line_ups"]["mixed-1"]), result["env_options"]["agent_death"]) == (32, "remove")
    assert "decisions after which agents are truncated; at least 1; None: never" in out


# ---- errors and the rest ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "module", "option", "size"),
    [
        (["bench", "--num-games", "1000000"], "cli.bench", "--num-games", "1,000,000 games"),
        (["demo", "--no-picture"], "browser.hosting", "--height", "256 x 256"),
        (["play", "--no-open", "--port", "0"], "browser.hosting", "--num-players", "256 x 256"),
    ],
)
def test_a_size_that_memory_cannot_hold_is_named(done, monkeypatch, command, module, option, size):
    monkeypatch.setattr(f"territorial.{module}.VecGame", Mock(side_effect=MemoryError))
    _, err = done(*command, code=2)
    for part in (f"argument {option}", size, "not enough memory"):
        assert part in err.splitlines()[-1]


@pytest.mark.parametrize(
    "verb", [[], ["demo"], ["watch"], ["replay"], ["bench"], ["info"], ["info", "memory"]]
)
def test_help_has_examples(done, verb):
    out, _ = done(*verb, "--help")
    assert "examples:" in out
    assert "  territorial " in out


def test_other_packages_can_add_verbs(run, done, monkeypatch):
    points = [
        EntryPoint("greet", f"{__name__}:Greet", cli.ENTRY_POINTS),
        EntryPoint("broken", "no_such_module_at_all:x", cli.ENTRY_POINTS),
    ]
    monkeypatch.setattr(cli, "entry_points", lambda group: points)
    assert run("greet") == (7, "hello\n", "")
    _, err = done("broken", "--any", "thing", code=2)
    assert "broken (no_such_module_at_all:x) cannot be loaded: No module named 'no_such_module_at_all'" in err
    assert "broken" in run("--help")[1]
    assert run("info", "--json")[2] == ""  # not even looked at


@pytest.mark.parametrize("arguments", [[], ["--help"], ["runs/first", "--preset", "quick"]])
def test_train_without_its_extra_says_what_to_install(done, monkeypatch, arguments):
    for name in [name for name in sys.modules if name.partition(".")[0] == "rllib_adapters"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(cli, "entry_points", lambda group: ())  # as in a checkout that is not installed
    monkeypatch.setattr(importlib.metadata, "version", _version_without_ray)
    _, err = done("train", *arguments, code=2)
    assert "pip install 'territorial-env[rllib]'" in err
    assert "make league" in err


def _version_without_ray(name: str, find=importlib.metadata.version) -> str:
    if name in ("ray", "torch"):
        raise importlib.metadata.PackageNotFoundError(name)
    return find(name)


class Greet:
    @staticmethod
    def add_parser(verbs: argparse._SubParsersAction) -> None:
        verbs.add_parser("greet").set_defaults(run=Greet.run)

    @staticmethod
    def run(parsed: argparse.Namespace) -> int:
        sys.stdout.write("hello\n")
        return 7


def test_an_interrupt_ends_with_130_and_no_traceback(done, monkeypatch):
    monkeypatch.setattr(bench, "measure", Mock(side_effect=KeyboardInterrupt))
    assert "interrupted" in done("bench", code=130)[1]


def test_the_package_pulls_in_nothing_heavy_and_is_a_command():
    heavy = {"torch", "ray", "matplotlib", "PIL", "imageio", "psutil", "pytest"}
    program = (
        "import runpy, sys, territorial, territorial.cli; print(*sys.modules); "
        "sys.argv[1:] = ['info', '--json']; runpy.run_module('territorial', run_name='__main__')"
    )
    modules, _, result = fresh_python(program).partition("\n")
    assert heavy.isdisjoint(modules.split())
    assert json.loads(result)["versions"]["territorial-env"] == territorial.__version__


# ---- how commands end --------------------------------------------------------------------------------


HOME = str(Path(territorial.__file__).parents[1])
TINY = ["--height", "24", "--width", "24", "--num-players", "2", "--max-ticks", "20"]
CONTEST = ["--games", "1", "--processes", "1", *TINY]
ARGUMENTS = {
    "play": ["--no-open", "--port", "0", *(f"--set={field}" for field in ("height=24", "width=24"))],
    "demo": ["--no-picture", *TINY],
    "watch": ["--page", "game.html", *TINY],
    "replay": ["game.replay"],
    "dataset": ["rows", "--games", "1", *TINY],
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
    assert cli.main(["demo", "--no-picture", "--replay", str(made / "game.replay"), *TINY]) == 0
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


@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error", "some file"), BrokenPipeError(32, "Broken pipe")]
)
def test_another_error_of_the_system_is_a_line_as_well(capsys, monkeypatch, error):
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
    small = f"{' '.join(TINY)} --max-ticks 300"
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
