"""The README does what it says: its Python runs, its commands exist, its table is what was measured."""

import importlib
import re
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


def readme_tables() -> ModuleType:
    return importlib.import_module("benchmarks.tables.__main__")
