"""The parser on docs/replays.md reads a file."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.replay.support import small_replay

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs/replays.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


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
