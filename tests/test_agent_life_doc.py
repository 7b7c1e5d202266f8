"""The page on the life of an agent: its Python runs, its picture is there."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "agent_life.md").read_text(encoding="utf-8")


def test_python_on_the_page_runs(capsys):
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    exec(compile(source, "agent_life.md", "exec"), {"__name__": "agent_life"})
    lived, steps = map(int, re.findall(r"\d+", capsys.readouterr().out))
    assert 0 < lived < steps


def test_the_files_that_the_page_links_to_are_there():
    linked = re.findall(r"\]\(([^):#]+)[^):]*\)", PAGE)
    assert "images/agent_life.png" in linked
    assert all((DOCS / target).is_file() for target in linked)
    assert (DOCS / "images/agent_life.png").stat().st_size < 100_000
