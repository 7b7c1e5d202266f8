"""The page on testing does what it says: its Python runs, its table lists the checks there are."""

import re
from pathlib import Path

import pytest

from territorial.testing import CHECKS
from territorial.testing.stacks import ParallelStack, SingleStack, VectorStack

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
KINDS = {
    "all": (ParallelStack, SingleStack, VectorStack),
    "PettingZoo": (ParallelStack,),
    "one agent": (SingleStack,),
    "all but vectors": (ParallelStack, SingleStack),
}


@pytest.mark.parametrize(
    "source", re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE), ids=["stack", "games"]
)
def test_python_on_the_page_runs(source):
    exec(compile(source, "testing.md", "exec"), {"__name__": "__main__"})


def test_the_table_lists_all_checks():
    rows = re.findall(r"^\| (.*) \| (.*) \|$", PAGE, re.MULTILINE)[1:]
    assert [(name, KINDS[kinds]) for name, kinds in rows] == [(check.name, check.kinds) for check in CHECKS]
