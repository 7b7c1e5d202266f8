"""``territorial info observation``: its layout is that of a game, its costs are those of real arrays."""

import json
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import territorial
from territorial import cli
from territorial.cli import obs_tables
from territorial.cli.obs_tables import CHANGED_PERCENT, GAME_STEPS, in_bytes, markdown, num_features
from territorial.decode import feature_names
from territorial.decode.store import STORED, FrameStore
from territorial.observation.layout import (
    ARRAYS,
    BORDERS,
    GLOBALS,
    NEW_GAME,
    OBS_VERSION,
    PLAYERS,
    ObsLayout,
    array_called,
)
from territorial.observation.pair_columns import PAIR_TABLES


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["info", "observation", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    return json.loads(out)


# ---- what it holds -----------------------------------------------------------------------------------


def test_explain_names_every_array_and_every_column_with_its_unit_and_meaning(capsys):
    code, out, err = run(capsys, "--explain")
    assert (code, err) == (0, "")
    lines = " ".join(out.split())
    for item in (*ARRAYS, *PLAYERS, *BORDERS, *GLOBALS):
        assert f" {item.name} " in lines
        assert item.unit in lines
        assert item.meaning in lines
    assert f"version {OBS_VERSION}" in lines


def test_explain_prints_the_columns_of_pairs_with_their_values_and_versions(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    for table in PAIR_TABLES.values():
        for i, one in enumerate(table):
            assert [str(i), one.name, *one.value.split(), str(one.version)] in lines
    columns = as_json(capsys)["pairs"]
    assert [one["name"] for one in columns["own"]] == [one.name for one in PAIR_TABLES["own"]]


def test_explain_gives_the_shapes_and_bytes_of_the_size_asked_for(capsys):
    _, out, _ = run(capsys, "--side", "64", "--width", "50", "--num-players", "3", "--frames", "2")
    assert "64 x 50 cells, 3 seats, 2 frames" in out
    for text in (
        "(F, B, H, ceil(W/8)) = (2, 3, 64, 7), 2,688 bytes",
        "(D,) = (200,), 800 bytes",
        "one number",
    ):
        assert text in out
    layout = ObsLayout(height=64, width=50, num_players=3, frames=2)
    assert json.loads(out.splitlines()[-1]) == layout.to_dict()


def test_explain_in_json_describes_a_layout_that_can_be_read_back(capsys):
    result = as_json(capsys, "--side", "32", "--height", "48", "--num-players", "6", "--frames", "0")
    layout = ObsLayout.from_dict(result["layout"])
    assert layout == ObsLayout(height=48, width=32, num_players=6, frames=0)
    assert [tuple(array["shape"]) for array in result["arrays"]] == [layout.shape(a.name) for a in ARRAYS]
    assert sum(array["bytes"] for array in result["arrays"]) == sum(layout.nbytes(a.name) for a in ARRAYS)
    assert [column["name"] for column in result["columns"]["borders"]] == [c.name for c in BORDERS]


# ---- what it costs -----------------------------------------------------------------------------------


def test_memory_prints_every_form_and_what_it_assumes(capsys):
    size = ("--num-players", "32", "--side", "256", "--frames", "4")
    code, out, err = run(capsys, "--memory", *size, "--num-games", "64", "--rollout", "128")
    assert (code, err) == (0, "")
    assert "8,192 game steps, 262,144 agent steps" in out
    cells = {line.split("  ")[1]: line.split() for line in out.splitlines() if line.startswith("  ")}
    assert list(cells) == ["form", *(form.name for form in obs_tables.forms())]
    assert cells["packed stack"][2:8] == ["192", "KB", "24.0", "MB", "1.50", "GB"]
    assert cells["one-hot"][1:7] == ["264", "MB", "33.0", "GB", "2.06", "TB"]
    assert f"{CHANGED_PERCENT} % of the cells (354)" in out
    assert "measured" in out
    assert f"every {GAME_STEPS} steps" in out


def test_the_bytes_are_those_of_arrays_of_that_form(capsys):
    config = territorial.GameConfig(height=50, width=64, num_players=5)
    layout = ObsLayout(height=50, width=64, num_players=5, frames=2)
    options = ("--height", "50", "--width", "64", "--num-players", "5", "--frames", "2", "--num-games", "3")
    result = as_json(capsys, "--memory", *options, "--rollout", "7", "--changed", "1")
    found = {form["name"]: form["bytes_per_game_step"] for form in result["forms"]}
    planes = np.zeros((2, 3, 50, 8), np.uint8)
    assert planes.shape == layout.shape("planes")
    assert found["packed stack"] == planes.nbytes
    assert found["packed frame"] == planes[0].nbytes
    assert found["features"] == np.zeros((5, len(feature_names(config))), np.float32).nbytes
    assert found["pooled"] == np.zeros((5, 10, 7, 8), np.float32).nbytes
    assert found["one-hot"] == np.zeros((5, 12, 50, 64), np.int8).nbytes
    assert found["flattened"] == 4 * found["one-hot"]
    assert found["delta"] == 4 + 32 * 5
    game = territorial.VecGame(config, 1)
    tables = game.reset()
    named = [tables.players, tables.borders, tables.globals, tables.masks]
    assert found["tables"] == sum(array.nbytes for array in named)


@pytest.mark.parametrize(("key_every", "keys"), [("64", 1), ("20", 1), ("8", 3)])
def test_a_rollout_is_its_steps_and_a_store_has_whole_frames_at_fixed_distances(capsys, key_every, keys):
    result = as_json(capsys, "--memory", "--num-games", "10", "--rollout", "20", "--key-every", key_every)
    for form in result["forms"]:
        frame = 6 * 256 * 32 if form["name"] == "frame store" else 0
        step = form["bytes_per_game_step"] - frame / int(key_every)
        assert form["bytes_per_game"] == pytest.approx(20 * step + keys * frame)
        assert form["bytes"] == pytest.approx(10 * form["bytes_per_game"])


def test_a_frame_store_takes_what_is_said():
    layout = ObsLayout(height=64, width=64, num_players=6)
    changed, games, steps = 20, 2, 64
    store = FrameStore(layout, games, key_every=16)
    arrays = {name: np.zeros((games, *layout.shape(name)), array_called(name).dtype) for name in STORED}
    arrays["delta_index"][:, :changed] = np.arange(changed)
    for step in range(steps):
        arrays["delta_count"][:] = changed if step else NEW_GAME
        store.append(SimpleNamespace(**arrays))
    (form,) = [form for form in obs_tables.forms(100 * changed / 64**2, 16) if form.name == "frame store"]
    later_games = games * steps * layout.nbytes("planes") / GAME_STEPS  # none here
    kept = pickle.loads(pickle.dumps(store)).nbytes  # without room to spare
    assert kept == pytest.approx(form.total(layout, games, steps) - later_games, rel=0.05)


def test_what_is_assumed_is_about_what_happens_in_a_game_of_bots():
    config = territorial.GameConfig()
    seats = territorial.LINEUPS["mixed-1"].seats
    game = territorial.VecGame(config, 2, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[0, 1])
    before, changed, steps = game.state.owner.copy(), 0, 0
    while not game.state.over.all():
        steps += int((game.state.over == 0).sum())
        game.step()
        now = game.state.owner
        changed += int((now != before).sum())
        before = now.copy()
    share = 100 * changed / steps / (config.height * config.width)
    assert pytest.approx(share, rel=0.25) == CHANGED_PERCENT
    assert pytest.approx(steps / 2, rel=0.25) == GAME_STEPS


@pytest.mark.parametrize("players", [2, 32, 250])
def test_features_are_counted_as_the_decoder_counts_them(players):
    config = territorial.GameConfig(num_players=players)
    layout = ObsLayout(height=256, width=256, num_players=players)
    assert num_features(layout) == len(feature_names(config))


# ---- text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "0.98 KB"),
        (1024, "1.00 KB"),
        (49_152, "48.0 KB"),
        (196_608, "192 KB"),
        (2.25 * 2**20, "2.25 MB"),
        (1100 * 2**40, "1.07 PB"),
        (5e6 * 2**50, "5000000 PB"),
    ],
)
def test_sizes_have_three_digits(number, text):
    assert in_bytes(number) == text


def test_tables_in_markdown():
    lines = markdown(("a", "b"), [("1", "2"), ("3", "4")], "lr").splitlines()
    assert lines == ["| a | b |", "|---|--:|", "| 1 | 2 |", "| 3 | 4 |"]


# ---- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--side", "8"], ["--side", "'8'", "16 to 1024"]),
        (["--height", "2000"], ["--height", "'2000'", "16 to 1024"]),
        (["--num-players", "1"], ["--num-players", "'1'", "2 to 250"]),
        (["--frames", "17"], ["--frames", "'17'", "0 to 16"]),
        (["--memory", "--frames", "0"], ["--frames", "0 leaves boards out", "1 to 16"]),
        (["--memory", "--num-games", "0"], ["--num-games", "'0'", "1 to 1000000"]),
        (["--memory", "--rollout", "x"], ["--rollout", "'x'"]),
        (["--memory", "--changed", "101"], ["--changed", "'101'", "0 to 100"]),
        (["--memory", "--changed", "nan"], ["--changed", "'nan'", "0 to 100"]),
        (["--memory", "--explain"], ["--explain", "--memory"]),
        (["--memory", "--key-every", "0"], ["--key-every", "'0'", "1 to 1000000"]),
        (["--key-every", "4"], ["--key-every", "only with --memory"]),
        (["--num-games", "4"], ["--num-games", "only with --memory"]),
        (["--explain", "--changed", "1"], ["--changed", "only with --memory"]),
        (["--json", "/no/such/folder/a.json"], ["--json", "no such folder"]),
    ],
)
def test_a_wrong_argument_is_named_with_its_value_and_range(capsys, arguments, parts):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    for part in parts:
        assert part in err.splitlines()[-1]
