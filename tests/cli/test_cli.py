"""The command line: what it prints and writes, and how it says no. Everything on boards of a few cells."""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

import territorial
from territorial import cli
from territorial.cli import bench
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
