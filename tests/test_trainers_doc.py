"""The page on trainers does what it says: its Python runs, and its table of options is the real one."""

import ast
import re
from pathlib import Path

import pytest

from territorial.envs.options import CHOICES, OPTION_NAMES
from territorial.testing import TRAINERS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "trainers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", BLOCKS, ids=range(len(BLOCKS)))
def test_python_on_the_page_runs(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that it writes
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
        "MaskablePairActorCriticPolicy",
        "supersuit.",
        ".restore(",
    ):
        assert name in "".join(BLOCKS)


def test_the_options_are_those_there_are():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    assert {name for name, _ in rows} <= OPTION_NAMES
    values = {name: tuple(re.findall(r'"(\w+)"', value)) for name, value in rows}
    assert {name: value for name, value in values.items() if value} == CHOICES


@pytest.mark.checkout
@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.package)
def test_lines_of_examples_are_those_of_the_examples(trainer):
    name = f"examples/with_{trainer.package}.py"
    (lines,) = re.findall(rf"^```py\n# {re.escape(name)}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    source = {line.strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines()}
    assert [line for line in lines.splitlines() if line not in source] == []


@pytest.mark.checkout
@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.package)
def test_examples_do_as_the_table_says(trainer):
    source = (ROOT / f"examples/with_{trainer.package}.py").read_text(encoding="utf-8")
    (options,) = re.findall(r"^OPTIONS = (\{.*\})", source, re.MULTILINE)
    assert trainer.against(ast.literal_eval(options)) == []
