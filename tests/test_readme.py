"""The README does what it says: its Python runs, its commands exist, its table is what was measured."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from territorial import cli

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text() if (ROOT / "README.md").exists() else ""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", blocks("python"), ids=lambda source: source.split("\n")[2][:40])
def test_python_in_the_readme_runs(source, capsys):
    if "import torch\n" in source:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    exec(compile(source, "README.md", "exec"), {"__name__": "readme"})


def test_there_is_python_in_the_readme_for_both_interfaces():
    source = "".join(blocks("python"))
    assert "territorial.make_vec" in source
    assert "territorial.parallel_env" in source


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`territorial (\w+)[` ]", README))))
def test_commands_in_the_readme_exist(verb):
    assert verb in cli.VERBS or verb == cli.TRAIN.name


@pytest.mark.parametrize(("name", "most"), [("play", 200_000), ("game", 3_000_000)])
def test_the_pictures_are_small_enough_for_a_repository(name, most):
    assert (ROOT / f"docs/images/{name}.png").stat().st_size < most


def test_the_readme_is_read_in_a_few_minutes():
    assert len(README.splitlines()) < 145
    assert "`territorial play`" in README.split("## ")[0], "on the first screen"


def test_the_tables_are_those_of_the_results(capsys):
    assert readme_tables().main(["--check"]) == 0


def test_rates_are_rounded_to_three_digits():
    rounded = readme_tables().rounded
    assert [rounded(x) for x in (912_345.6, 91_268.2, 1_234_567, 999.4, 12)] == [
        "912,000",
        "91,300",
        "1,230,000",
        "999",
        "12",
    ]


def test_each_table_has_one_place():
    filled = readme_tables().filled
    assert filled("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb", "x", "new").splitlines()[2] == "new"
    with pytest.raises(ValueError, match="<!-- y:begin -->"):
        filled("no markers", "y", "new")


def test_the_shape_of_games_is_written_down(tmp_path, capsys):
    path = tmp_path / "shape.json"
    assert script("benchmarks/bots/mixed_shape.py").main(["--games", "3", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    assert result["games"] == 3
    assert sum(bot["win_share"] for bot in result["bots"].values()) == pytest.approx(1)
    mean = sum(bot["seats"] * bot["mean_place"] for bot in result["bots"].values()) / 32
    assert mean == pytest.approx(33 / 2)
    assert result["length"]["min"] <= result["length"]["quartile_1"] <= result["length"]["max"]
    assert "games over" in capsys.readouterr().out


def test_what_a_frame_store_takes_is_written_down(tmp_path, capsys):
    path = tmp_path / "store.json"
    arguments = ["--size", "small", "--steps", "8000", "--json", str(path)]
    assert script("benchmarks/decode/frame_store.py").main(arguments) == 0
    result = json.loads(path.read_text())
    assert result["game_steps"] == 8000
    assert result["games_ended"] > 0
    assert result["boards_compared"] == 256
    assert 0 < result["bytes_per_game_step"] < result["forms"]["bit planes"] / 4
    assert result["readings"][-1]["store_bytes"] == pytest.approx(8000 * result["bytes_per_game_step"])
    assert "games over" in capsys.readouterr().out


def test_how_fast_pictures_come_is_written_down(tmp_path, capsys):
    path = tmp_path / "render.json"
    code = script("benchmarks/media/render_speed.py").main(["--size", "small", "--json", str(path)])
    result = json.loads(path.read_text())
    decides = result["rates"][result["decides"]]
    assert code == (0 if decides["per_s"] >= 200 else 1)
    assert decides["size"] == "192 x 384 pixels"
    assert min(rate["per_s"] for rate in result["rates"].values()) > 0
    assert 10_000 < result["videos"]["apng"]["bytes"] < 1_000_000
    assert "a second wanted" in capsys.readouterr().out


def test_what_replays_take_is_written_down(tmp_path, capsys):
    path = tmp_path / "replay.json"
    arguments = ["--size", "small", "--steps", "4000", "--json", str(path)]
    assert script("benchmarks/media/replay_cost.py").main(arguments) == 0
    result = json.loads(path.read_text())
    bots, busy = result["games"].values()
    assert bots["ticks"] >= 600
    assert bots["bytes"] < busy["bytes"] < result["limits"]["bytes"]
    assert busy["launches"] == busy["ticks"] // 10 * 8
    for case in result["recording"].values():
        assert case["games_recorded"] > 0
        assert case["forms"]["not recorded"]["cost_us"] == 0
    assert "launches" in capsys.readouterr().out


def readme_tables() -> ModuleType:
    return importlib.import_module("benchmarks.tables.__main__")


def script(name: str) -> ModuleType:
    path = ROOT / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module
