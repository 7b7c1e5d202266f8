"""The page on trainers does what it says: its Python runs, and its table of options is the real one."""

import re
from pathlib import Path

import pytest

from territorial.env_options import CHOICES, OPTION_NAMES

PAGE = (Path(__file__).parents[1] / "docs" / "trainers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", BLOCKS, ids=range(len(BLOCKS)))
def test_python_on_the_page_runs(source):
    for library in ("sb3_contrib", "stable_baselines3", "supersuit"):
        if library in source:
            pytest.importorskip(library, reason=f"{library} is not installed")
    exec(compile(source, "trainers.md", "exec"), {"__name__": "trainers"})


def test_there_is_python_for_every_interface():
    for name in (
        "parallel_env(",
        "territorial.make_vec(",
        "gymnasium.make(",
        "gymnasium.make_vec(",
        "MaskableVecEnv(",
        "board_policy(",
        "supersuit.",
        ".restore(",
    ):
        assert name in "".join(BLOCKS)


def test_the_options_are_those_there_are():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    assert {name for name, _ in rows} <= OPTION_NAMES
    values = {name: tuple(re.findall(r'"(\w+)"', value)) for name, value in rows}
    assert {name: value for name, value in values.items() if value} == CHOICES
