"""``territorial info observation``: the layout that it explains."""

import json

from territorial.constants import OBS_VERSION
from territorial.observation.layout import (
    ARRAYS,
    BORDERS,
    GLOBALS,
    PLAYERS,
    ObsLayout,
)
from territorial.observation.pair_columns import PAIR_TABLES


def test_explain_names_every_array_and_every_column_with_its_unit_and_meaning(run):
    code, out, err = run("info", "observation")
    assert (code, err) == (0, "")
    lines = " ".join(out.split())
    for item in (*ARRAYS, *PLAYERS, *BORDERS, *GLOBALS):
        for text in (f" {item.name} ", item.unit, item.meaning):
            assert text in lines
    assert f"version {OBS_VERSION}" in lines


def test_explain_prints_the_columns_of_pairs_with_their_values_and_versions(done, result_of):
    out, _ = done("info", "observation")
    lines = [line.split() for line in out.splitlines()]
    for table in PAIR_TABLES.values():
        for i, one in enumerate(table):
            assert [str(i), one.name, *one.value.split(), str(one.version)] in lines
    columns = result_of("info", "observation")["pairs"]
    assert [one["name"] for one in columns["own"]] == [one.name for one in PAIR_TABLES["own"]]


def test_explain_gives_the_shapes_and_bytes_of_the_size_asked_for(run):
    _, out, _ = run(
        "info", "observation", "--height", "64", "--width", "50", "--num-players", "3", "--frames", "2"
    )
    assert "64 x 50 cells, 3 seats, 2 frames" in out
    for text in (
        "(F, B, H, ceil(W/8)) = (2, 3, 64, 7), 2,688 bytes",
        "(D,) = (200,), 800 bytes",
        "one number",
    ):
        assert text in out
    layout = ObsLayout(height=64, width=50, num_players=3, frames=2)
    assert json.loads(out.splitlines()[-1]) == layout.to_dict()


def test_explain_in_json_describes_a_layout_that_can_be_read_back(result_of):
    result = result_of(
        "info", "observation", "--width", "32", "--height", "48", "--num-players", "6", "--frames", "0"
    )
    layout = ObsLayout.from_dict(result["layout"])
    assert layout == ObsLayout(height=48, width=32, num_players=6, frames=0)
    assert [tuple(array["shape"]) for array in result["arrays"]] == [layout.shape(a.name) for a in ARRAYS]
    assert sum(array["bytes"] for array in result["arrays"]) == sum(layout.nbytes(a.name) for a in ARRAYS)
    assert [column["name"] for column in result["columns"]["borders"]] == [c.name for c in BORDERS]
