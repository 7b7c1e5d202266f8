"""Films: a plain decoder gives back, bit for bit, what the writer was given, wherever a film is cut."""

import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import territorial
from territorial.render import owner_colors, render_board
from territorial.render.film import LARGEST_TROOPS, film_header, show, write_film
from territorial.replay import Frame, LiveGame
from tests.render.film_reader import programs, read_film

SMALL = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=1500)
SEATS = ("metronome", "banker", "turtle", "novice", "random")


def play(config=SMALL, seats=SEATS, seed=1, every=10):
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    return list(LiveGame(game).frames(every))


def check(frames, decoded):
    assert len(frames) == len(decoded)
    for frame, found in zip(frames, decoded, strict=True):
        np.testing.assert_array_equal(np.array(found["owner"]), frame.owner)
        alike = {"tick": frame.tick, "troops": frame.troops.tolist(), "alive": frame.alive.tolist()}
        assert found | alike == found
        assert found["attacks"] == ([] if frame.attacks is None else frame.attacks.tolist())
        cells = np.bincount(np.ravel(found["owner"]), minlength=256)
        np.testing.assert_array_equal(cells[1 : len(frame.land) + 1], frame.land)


def test_a_game_comes_back_as_it_was():
    frames = play()
    assert not frames[-1].alive.all()  # somebody has died
    assert {0, 2} <= {target for frame in frames for _, target, _ in frame.attacks.tolist()}
    header = film_header(SMALL, SEATS, "a title")
    film, stream = b"".join(write_film(header, frames)), zlib.decompressobj()
    found, decoded, is_whole = read_film(film)
    assert (found, is_whole) == (header, True)
    check(frames, decoded)
    stream.decompress(film)
    assert (stream.eof, stream.unused_data) == (True, b"")


def test_every_piece_shows_its_frame_at_once():
    frames = play()[:40]
    pieces = list(write_film(film_header(SMALL, SEATS, ""), frames))
    assert len(pieces) == 41
    for count in (1, 2, 17, 40):
        _, decoded, is_whole = read_film(b"".join(pieces[:count]))
        check(frames[:count], decoded)
        assert not is_whole


@settings(max_examples=30)
@given(st.data())
def test_any_boards_in_any_order_come_back(data):
    height, width, seats = data.draw(st.integers(16, 20)), data.draw(st.integers(16, 70)), 3
    config = territorial.GameConfig(height=height, width=width, num_players=seats)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    frames, tick = [], 0
    for _ in range(data.draw(st.integers(1, 5))):
        coarse = rng.choice(np.array([0, 1, 2, 3, 255], np.uint8), (height, -(-width // 9)))
        owner = np.repeat(coarse, 9, axis=1)[:, :width].copy()
        land = np.array([(owner == seat).sum() for seat in (1, 2, 3)])
        troops = rng.integers(0, data.draw(st.sampled_from([2, 300, LARGEST_TROOPS + 1])), 3)
        pools = rng.integers(0, data.draw(st.sampled_from([2, LARGEST_TROOPS + 1])), (4, 4))
        pools[0] = pools[range(4), range(4)] = 0
        seats_, targets = np.nonzero(pools)
        attacks = np.stack([seats_, targets, pools[seats_, targets]], axis=1)
        frames.append(Frame(tick, owner, land, troops, rng.random(3) < 0.5, None, attacks))
        tick += int(rng.integers(1, 10_000))
    _, decoded, is_whole = read_film(b"".join(write_film(film_header(config, "abc", ""), frames)))
    assert is_whole
    check(frames, decoded)


def test_a_game_of_32_bots_at_full_size_takes_less_than_120_kb():
    config = territorial.GameConfig()
    seats = territorial.LINEUPS["mixed-1"].seats
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[0])
    film = b"".join(write_film(film_header(config, seats, ""), LiveGame(game).frames(10)))
    assert 6000 < game.state.tick[0] < 6200
    assert len(film) < 120_000


@pytest.mark.parametrize(
    ("changes", "distance"),
    [({}, 10), ({"decision_every": 1}, 5), ({"max_ticks": 1}, 10), ({"max_ticks": 1_000_000}, 500)],
)
def test_long_games_are_shown_in_fewer_frames(changes, distance):
    config = territorial.GameConfig(**changes)
    about = {"names": ["a"] * 32, "terrain": "water", "map_kind": None, "teams": None}
    game = SimpleNamespace(config=config, frames=lambda every: every, **about)
    assert [show(game, "")[1], show(game, "", 7)[1]] == [distance, 7]
    assert config.max_ticks / distance <= 2000


def test_the_colours_are_those_of_the_pictures():
    for terrain in ("water", "mountains"):
        header = film_header(SMALL, SEATS, "", terrain=terrain)
        colors = owner_colors(5, terrain)[[0, 1, 2, 3, 4, 5, 255]]
        assert header["colors"] == [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in colors.tolist()]
        for code, text in zip([1, 2, 3, 4, 5, 255], header["border_colors"][1:], strict=True):
            picture = render_board(np.array([[code, code, 0]], np.uint8), 5, 8, terrain)
            assert text == "#" + bytes(picture[4, 15].tolist()).hex()  # the right side of the second cell
    assert header["border_colors"][0] == header["colors"][0]  # free land has no borders


def test_headers_are_json_whatever_the_names():
    names = ["</script><script>alert(1)</script>", "\u2028\"'", "é" * 40, "", "x"]
    film = b"".join(write_film(film_header(SMALL, names, "<b>"), play()[:1]))
    header, _, _ = read_film(film)
    assert header["names"] == names
    assert json.loads(json.dumps(header)) == header
    with pytest.raises(ValueError, match="names has 4 entries but num_players is 5"):
        film_header(SMALL, names[:4], "")


@pytest.mark.checkout
def test_the_programs_of_the_page_make_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for source in programs():
        exec(source, names)
    assert (tmp_path / "four.html").stat().st_size > 50_000
    assert next(names["read_film"](names["film"])) == names["header"]


# ---- what is refused -------------------------------------------------------------------------------


def frame(**changes):
    owner = np.zeros((40, 56), np.uint8)
    owner[0, :3] = 1, 2, 255
    land, five = np.array([1, 1, 0, 0, 0]), np.arange(5)
    return Frame(0, owner, land, five, five > 1)._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"owner": np.zeros((56, 40), np.uint8)}, r"shape \(56, 40\); this film has uint8, \(40, 56\)"),
        ({"owner": np.zeros((40, 56), np.int64)}, "int64 array"),
        ({"troops": np.zeros((5, 1), np.int64)}, r"troops .* is a int64 array of shape \(5, 1\)"),
        ({"alive": np.zeros(6, bool)}, r"alive .* is a bool array of shape \(6,\)"),
        ({"tick": -1}, "the frame at tick -1 cannot be written: its tick must be 0 or more"),
        ({"troops": np.array([0, 0, -1, 0, 0])}, "its troops go from -1 to 0; they must be from 0 to"),
        ({"troops": np.full(5, LARGEST_TROOPS + 1)}, f"they must be from 0 to {LARGEST_TROOPS}"),
        ({"owner": np.full((40, 56), 6, np.uint8)}, "its owners go to 6; they must be 0 to 5, or 255"),
    ],
)  # fmt: skip
def test_frames_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        next(write_film(film_header(SMALL, SEATS, ""), [frame(**changes)]))


@pytest.mark.parametrize(
    ("frames", "message"), [([], "no frame"), ([frame(), frame()], "its tick must be 1 or more")]
)
def test_a_film_has_frames_one_after_another(frames, message):
    with pytest.raises(ValueError, match=message):
        list(write_film(film_header(SMALL, SEATS, ""), frames))
