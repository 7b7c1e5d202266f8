"""docs/where-40-gb-went.md: its Python runs, its numbers are those of the code."""

import re
from pathlib import Path

import pytest

from territorial.memory.plan import MB
from territorial.memory.predict import predict
from territorial.memory.setup import Setup

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/where-40-gb-went.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""


@pytest.mark.parametrize("source", re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
def test_its_python_runs(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(source, str(PAGE), "exec"), {"__name__": "page"})


def test_the_numbers_in_its_text_are_those_of_the_league():
    plan = predict(Setup(), "one-hot")
    amounts = {item.name: item.nbytes for item in plan.items}
    policies = 1 + 32 + 32
    assert f"{amounts['dummy batches'] / 33 / 2**30:.1f} GB of dummy batch a policy" in TEXT
    assert f"the spaces: {amounts['spaces'] / policies / MB:.0f} MB" in TEXT
    assert f"are {amounts['weights'] / 33 / MB:.0f} MB" in TEXT
