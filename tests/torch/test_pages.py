"""The Python of pages that need PyTorch runs, block after block."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

DOCS = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason=f"{DOCS} is not here")


def run(page, folder, monkeypatch):
    """Run the blocks of a page in a folder, and return their names."""
    monkeypatch.chdir(folder)
    torch.manual_seed(0)
    names = {"__name__": "page"}
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), names)
    return names


def test_networks_md(tmp_path, monkeypatch):
    names = run("networks.md", tmp_path, monkeypatch)
    assert names["logits"].shape == (2, 81)
    names["game"].reset(seed=0)
    assert names["game"].seats_of(0)[2:] == ("banker-1", "agent")
    assert sum(group.seats for group in names["table"].groups) == 8


def test_datasets_md(tmp_path, monkeypatch):
    run("datasets.md", tmp_path, monkeypatch)
    assert (tmp_path / "weights.safetensors").is_file()
    assert len(list((tmp_path / "games").iterdir())) > 0
