"""The README does what it says: its Python runs, its commands exist."""

import re
from pathlib import Path

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
