"""The README does what it says: its Python runs, its commands exist, its table is what was measured."""

import importlib.util
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
    exec(compile(source, "README.md", "exec"), {"__name__": "readme"})


def test_there_is_python_in_the_readme_for_both_interfaces():
    source = "".join(blocks("python"))
    assert "territorial.VecGame" in source
    assert "territorial.parallel_env" in source


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`territorial (\w+)[` ]", README))))
def test_commands_in_the_readme_exist(verb):
    assert verb in cli.VERBS


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_files_that_the_readme_links_to_exist(target):
    assert (ROOT / target).is_file()


def test_the_picture_is_small_enough_for_a_repository():
    assert (ROOT / "docs/images/play.png").stat().st_size < 200_000


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


def readme_tables() -> ModuleType:
    path = ROOT / "benchmarks" / "readme_tables.py"
    spec = importlib.util.spec_from_file_location("readme_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
