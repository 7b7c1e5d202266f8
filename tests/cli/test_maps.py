"""``territorial info maps``: lists, previews, pictures, files; and games on maps of all sorts."""

import struct

import numpy as np
import pytest

from territorial import GameConfig, LandMask, maps
from territorial.cli.maps import MapListing, draw_sheet
from territorial.config.map_names import KINDS, LANDS
from territorial.files.png import read_png

SMALL = ["--height", "32", "--width", "48"]
GAME = ["--num-players", "4", "--max-ticks", "50", "--no-picture"]


# ---- the list ----------------------------------------------------------------------------------------


def test_without_names_all_maps_are_listed_with_their_options(done):
    out, _ = done("info", "maps")
    for name, kind in (*KINDS.items(), *LANDS.items()):
        assert f"\n  {name:13} " in out
        for option in kind.options:
            assert option.meaning in out
    assert max(map(len, out.splitlines())) <= 130


def test_the_list_as_json(result_of):
    result = result_of("info", "maps")
    assert [kind["name"] for kind in result["kinds"]] == list(KINDS)
    assert next(kind for kind in result["kinds"] if kind["name"] == "islands")["options"][0] == {
        "name": "count",
        "default": "9",
        "allowed": "2 to 64",
        "meaning": "islands, about",
    }
    britain = next(one for one in result["lands"] if one["name"] == "britain")
    land, whole = (maps.land("britain", connected=connected).num_land for connected in (True, False))
    assert britain["in_play_percent_of_land"] == 1000 * land // whole / 10


# ---- looking at maps ---------------------------------------------------------------------------------


def test_a_map_is_shown_with_what_there_is_to_know(done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out, _ = done("info", "maps", "islands:count=3", *SMALL, "--map-seed", "7", "--num-maps", "2")
    facts = [line for line in out.splitlines() if line.startswith("islands:count=3 of map_seed ")]
    mask = maps.generate("islands:count=3", 32, 48, 7)
    share = 1000 * mask.num_land // (32 * 48) / 10
    assert facts[0] == (
        f"islands:count=3 of map_seed 7: 32 x 48, {mask.num_land:,} cells of land ({share:.1f} %), room for "
        f"{maps.capacity(mask)} spawns, digest {mask.hexdigest}"
    )
    assert facts[1].startswith("islands:count=3 of map_seed 8: ")
    drawn = [line for line in out.splitlines() if set(line) <= set("~.")]
    assert (len(drawn), set(map(len, drawn))) == (2 * 14, {40})


def test_the_facts_as_json(result_of):
    result = result_of("info", "maps", "world", "archipelago", "maze", "--height", "64", "--width", "64")
    world, archipelago, maze = result["maps"]
    assert world["map_seed"] is None
    assert world["regions"] > 1 < archipelago["regions"]
    assert world["unreachable_cells"] > 0 < archipelago["unreachable_cells"]
    assert (maze["regions"], maze["unreachable_cells"], maze["terrain"]) == (1, 0, "mountains")
    mask = maps.generate("maze", 64, 64, 0)
    assert (maze["digest"], maze["land_cells"]) == (mask.hexdigest, mask.num_land)
    assert maze["spawns"] == maps.capacity(mask)


# ---- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", maps.SUFFIXES)
def test_an_exported_map_comes_back_and_is_played_on(done, result_of, tmp_path, suffix):
    path = str(tmp_path / f"map{suffix}")
    out, _ = done("info", "maps", "maze", *SMALL, "--map-seed", "5", "--export", path)
    assert out.splitlines()[-1] == f"written: {path}"
    mask = maps.generate("maze", 32, 48, 5)
    assert maps.load(path) == mask
    (facts,) = result_of("info", "maps", path, "--num-players", "4")["maps"]
    assert (facts["digest"], facts["height"], facts["width"]) == (mask.hexdigest, 32, 48)
    result = result_of("demo", "--map", path, *GAME)
    expected = GameConfig.for_map(mask, num_players=4, max_ticks=50)
    assert (result["config_digest"], result["config"]["map"]) == (expected.hexdigest, mask.hexdigest)


def test_a_picture_has_a_tile_for_every_map(done, tmp_path):
    path = tmp_path / "sheet.png"
    done("info", "maps", "lakes", "maze", *SMALL, "--num-maps", "2", "--picture", str(path))
    pixels = read_png(path.read_bytes(), 16, 4096)
    # Four maps of 48 x 32 cells, five pixels each, in two columns.
    assert 2 * 240 < pixels.shape[1] < 2 * 240 + 100
    assert 2 * 160 < pixels.shape[0] < 2 * 160 + 150


def test_land_out_of_play_is_darker_in_a_picture():
    cells = np.zeros((16, 16), bool)
    cells[4:12, 2:10] = cells[4:8, 12:14] = True
    whole = LandMask.from_array(cells)
    image = draw_sheet([MapListing("A", None, whole, maps.largest_region(whole), "water")])
    scale, gap = 16, 12
    board = image[gap : gap + 256 : scale, gap : gap + 256 : scale].astype(int).sum(axis=2)
    assert board[5, 5] > board[5, 12] > board[0, 0]
    assert np.unique(board).size == 3


def test_a_picture_of_everything(result_of, tmp_path):
    path = tmp_path / "all.png"
    result = result_of("info", "maps", *SMALL, "--picture", str(path))
    assert ([one["name"] for one in result["maps"]], result["picture"]) == ([*KINDS, *LANDS], str(path))
    assert struct.unpack(">II", path.read_bytes()[16:24])[0] > 1000


def test_land_of_a_file_that_cannot_be_reached_can_be_blocked(done, result_of, tmp_path):
    path = tmp_path / "map.txt"
    path.write_text("\n".join(["." * 10 + "#" + "." * 5] * 16))
    assert "80 of 240 land cells cannot be reached" in done("info", "maps", str(path), code=2)[1]
    (facts,) = result_of("info", "maps", str(path), "--block-unreachable")["maps"]
    assert facts["land_cells"] == 160


def test_many_maps_tell_how_far_they_are(done, monkeypatch):
    monkeypatch.setattr("territorial.evaluation.progress.SHOW_EVERY", 0.0)
    _, err = done("info", "maps", "lakes", "maze", *SMALL, "--num-maps", "2")
    assert [line.rstrip() for line in err.splitlines()[1:3]] == [
        "2 maps made, now making lakes",
        "3 maps made, now making maze",
    ]


# ---- games on maps -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["islands:count=3", "iceland", "2*lakes + maze", "lakes+ europe"])
def test_games_are_played_on_maps_of_all_sorts(result_of, name):
    result = result_of("demo", "--map", name, *SMALL, *GAME)
    config = GameConfig(map=name, height=32, width=48, num_players=4, max_ticks=50)
    assert (result["config_digest"], result["config"]["map"]) == (config.hexdigest, config.map_name)
    info = (
        result_of("info", "--set", f"map={name}", *SMALL, "--num-players", "4", "--set", "num_maps=0")
        if name != "iceland"
        else result_of("info", "--set", f"map={name}")
    )
    assert info["config"]["map"] == config.map_name


# ---- refusals ----------------------------------------------------------------------------------------


def test_a_file_of_another_size_than_asked_for_is_refused(done, tmp_path):
    path = tmp_path / "map.txt"
    path.write_text("\n".join(["." * 20] * 16))
    _, err = done("demo", "--map", str(path), "--height", "32", *GAME, code=2)
    assert "map is 16 x 20 but height x width is 32 x 20" in err
