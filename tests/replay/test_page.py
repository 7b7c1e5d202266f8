"""docs/replays.md is true: its examples run and its parser reads a file."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.replay.support import small_replay

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs/replays.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", BLOCKS, ids=lambda source: source.split("\n")[1][:30])
def test_python_on_the_page_runs(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "docs/replays.md", "exec"), {"__name__": "page"})


def test_the_first_example_leaves_a_file_for_every_game(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(BLOCKS[0], {})
    names = [path.name for path in tmp_path.glob("replays/*")]
    assert len(names) >= 16, "500 steps are two games in each of 8 places, and a third begun"
    assert all(re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{16}\.replay", name) for name in names)


def test_the_parser_reads_a_file():
    replay = small_replay()
    (source,) = [block for block in BLOCKS if "def parse(" in block]
    names: dict = {}
    exec(source, names)
    header, land, launches, checkpoints = names["parse"](replay.to_bytes())
    assert (header["seats"], header["seed"]) == (list(replay.seats), replay.seed)
    assert np.array_equal(land, replay.land.to_array())
    assert launches == [tuple(row) for row in replay.launches.tolist()]
    assert checkpoints == list(replay.checkpoints)
    assert len(launches) > 20
    assert len(checkpoints) == 3
