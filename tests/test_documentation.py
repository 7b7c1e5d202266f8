"""The documentation has a place for every page; `make docs` checks links and markup."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

DOCS = Path(__file__).parents[1] / "docs"


def test_every_page_has_one_place_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```{toctree}\n(.*?)^```", index, re.DOTALL | re.MULTILINE)
    listed = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(set(pages) - {"index"})
