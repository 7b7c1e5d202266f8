"""The page on rewards does what it says: its Python runs, and its parts are those there are."""

import re
from pathlib import Path

import pytest

from territorial.config.rewards import PARTS, TEAM_PARTS, ZERO_SUM

PAGE = (Path(__file__).parents[1] / "docs" / "rewards.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", BLOCKS, ids=["weights", "function"])
def test_python_on_the_page_runs(source):
    exec(compile(source, "rewards.md", "exec"), {"__name__": "rewards"})


def test_the_parts_on_the_page_are_those_there_are():
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE) == [
        tuple(part) for part in (*PARTS, *TEAM_PARTS)
    ]
    assert f"`{ZERO_SUM}`" in PAGE
