"""The Python in docs/decoding.md runs."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[1] / "docs/decoding.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_there_are_blocks_for_numpy_and_for_pytorch():
    assert ["import torch\n" in block for block in BLOCKS] == [False, True]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs(number, capsys):
    source = BLOCKS[number]
    if "import torch\n" in source:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    exec(compile(source, str(PAGE), "exec"), {"__name__": "page"})
    (shape,) = re.findall(r"# \(([\d, ]+)\)", source)
    assert re.findall(r"\d+", capsys.readouterr().out) == shape.split(", ")  # PyTorch has brackets of its own
