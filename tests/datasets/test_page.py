"""docs/datasets.md says what a data set is."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial.training import Dataset, make
from territorial.training.dataset import Recipe, Shard

pytestmark = pytest.mark.checkout

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
CONFIG = territorial.GameConfig(height=24, width=24, num_players=2, max_ticks=200)


def test_arrays_shapes_dtypes_and_bytes_are_those_of_the_page(tmp_path: Path) -> None:
    make(tmp_path, CONFIG, ["banker", "novice"], games=1, num_candidates=5, processes=1)
    rows = Dataset(tmp_path)[0]
    table = re.findall(r"^\| `(\w+)` \| \(N,([^)]*)\) \| (\w+) \|", PAGE, re.MULTILINE)
    assert [name for name, *_ in table] == list(rows._fields)
    for name, axes, dtype in table:
        array = getattr(rows, name)
        assert array.dtype == dtype
        assert ",".join(map(str, array.shape[1:])) == axes.strip().replace("C", "5").replace(" ", "")
    assert sum(array.itemsize * int(np.prod(array.shape[1:])) for array in rows) == 98 + 52 * 5
    assert "A row takes 98 + 52 C bytes, which is 514 with 8 candidates" in PAGE
    assert 98 + 52 * 8 == 514


def test_fields_of_the_manifest_are_those_of_the_page(tmp_path: Path) -> None:
    make(tmp_path, CONFIG, ["banker", "novice"], games=1, processes=1)
    text = PAGE.partition("The manifest is a JSON object:")[2].partition("\n- A file is there")[0]
    named = set(re.findall(r"`(\w+)`", text))
    fields = {field.name for field in dataclasses.fields(Recipe)} - {"config_digest"}
    written = json.loads((tmp_path / "manifest.json").read_text())
    assert named == fields | set(written) | set(Shard._fields) | {"own", "pairs"}
    assert (written["is_complete"], written["rules"]) == (True, territorial.RULES_VERSION)
    assert list(written["columns"]["own"])[:2] == ["land", "crowding"]
    assert (written["recipe"]["seats"], written["columns"]["pairs"]["there"]) == (["banker", "novice"], 1)
