"""Films: a plain decoder gives back what the writer was given; pages of films run nothing but their own."""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import territorial
from territorial.browser import web
from territorial.browser.film import LARGEST_TROOPS, film_header, show, write_film
from territorial.browser.web import page, write_page
from territorial.render import owner_colors, render_board, render_game
from territorial.replay import Frame, LiveGame
from tests.episodes import after_steps, begun
from tests.render.film_reader import programs, read_film
from tests.render.support import decode_png
from tests.replay.support import recorded_game

SMALL = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=1500)
SEATS = ("metronome", "banker", "turtle", "novice", "random")


def play(config=SMALL, seats=SEATS, seed=1, every=10):
    game = begun(
        territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False), seeds=[seed]
    )
    return list(LiveGame(game).frames(every))


def check(frames, decoded):
    assert len(frames) == len(decoded)
    for frame, found in zip(frames, decoded, strict=True):
        np.testing.assert_array_equal(np.array(found["owner"]), frame.owner)
        alike = {"tick": frame.tick, "troops": frame.troops.tolist(), "alive": frame.alive.tolist()}
        assert found | alike == found
        assert found["attacks"] == ([] if frame.attacks is None else frame.attacks.tolist())
        assert found["launches"] == ([] if frame.launches is None else frame.launches.tolist())
        cells = np.bincount(np.ravel(found["owner"]), minlength=256)
        np.testing.assert_array_equal(cells[1 : len(frame.land) + 1], frame.land)


def test_a_game_comes_back_as_it_was():
    frames = play()
    assert not frames[-1].alive.all()  # somebody has died
    assert {0, 2} <= {target for frame in frames for _, target, _ in frame.attacks.tolist()}
    assert {0, 2} <= {row[2] for frame in frames[1:] for row in frame.launches.tolist()}
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
    game = begun(territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False), seeds=[0])
    film = b"".join(write_film(film_header(config, seats, ""), LiveGame(game).frames(10)))
    assert 5000 < game.state.tick[0] < 5200
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
    header, _, _ = read_film(b"".join(write_film(film_header(SMALL, names, "<b>"), play()[:1])))
    assert (header["names"], json.loads(json.dumps(header))) == (names, header)
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
    ("frames", "message"),
    [
        ([frame(owner=np.zeros((56, 40), np.uint8))], r"shape \(56, 40\); this film has uint8, \(40, 56\)"),
        ([frame(owner=np.zeros((40, 56), np.int64))], "int64 array"),
        ([frame(troops=np.zeros((5, 1), np.int64))], r"troops .* is a int64 array of shape \(5, 1\)"),
        ([frame(alive=np.zeros(6, bool))], r"alive .* is a bool array of shape \(6,\)"),
        ([frame(tick=-1)], "the frame at tick -1 cannot be written: its tick must be 0 or more"),
        ([frame(troops=np.array([0, 0, -1, 0, 0]))], "its troops go from -1 to 0; they must be from 0 to"),
        ([frame(troops=np.full(5, LARGEST_TROOPS + 1))], f"they must be from 0 to {LARGEST_TROOPS}"),
        ([frame(owner=np.full((40, 56), 6, np.uint8))], "its owners go to 6; they must be 0 to 5, or 255"),
        ([], "no frame"),
        ([frame(), frame()], "its tick must be 1 or more"),
    ],
)
def test_frames_that_cannot_be_are_refused(frames, message):
    with pytest.raises(ValueError, match=message):
        list(write_film(film_header(SMALL, SEATS, ""), frames))


def between(text, before, after):
    """The one piece of ``text`` between two marks that stand there once each."""
    _, start, rest = text.partition(before)
    assert start, before
    inside, end, rest = rest.partition(after)
    assert end, after
    assert before not in rest
    return inside


def sha256(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.mark.parametrize("film", [b"", bytes(range(256))])
def test_the_policy_allows_the_pages_own_style_and_script_alone(film):
    text = page(film).decode()
    policy = between(text, 'http-equiv="Content-Security-Policy" content="', '"')
    connect = "'none'" if film else "'self'"
    style, script = between(text, "<style>", "</style>"), between(text, "<script>", "</script>")
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{sha256(style)}'; script-src 'sha256-{sha256(script)}'; "
        f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert len(style) > 1000
    assert len(script) > 10_000


def test_everything_is_in_the_page():
    text = page(b"film").decode()
    forbidden = (
        r"https?:|//[a-z]",  # addresses; comments have a blank there
        r"\bsrc=|@import|\bimport\b|url\(",
        r"@[A-Z]+@",
        r" (?:on[a-z]+|style)=",  # the policy would forbid them
    )
    assert re.findall("|".join(forbidden), text) == []
    assert re.findall(r'href="([^"]*)"', text) == ["data:,"]
    assert (text.count('"use strict";'), text.count("</script>")) == (1, 3)


def test_the_page_holds_the_film():
    film = bytes(range(256)) * 9
    held = between(page(film).decode(), '<script id="film" type="text/plain">', "</script>")
    assert base64.b64decode(held) == film
    assert between(page().decode(), '<script id="film" type="text/plain">', "</script>") == ""


def test_pages_are_small_and_are_written(tmp_path):
    size = write_page(tmp_path / "game.html", b"film")
    assert (tmp_path / "game.html").read_bytes() == page(b"film")
    assert size == len(page(b"film")) < 150_000


CONFIG = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=600)


@pytest.fixture(scope="module")
def replay():
    return recorded_game(CONFIG, SEATS, seed=1)[1]


class Elements(HTMLParser):
    """Names and attributes of all elements, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_a_replay_is_the_page_that_plays_it(replay):
    ((tag, attributes),) = Elements(replay._repr_html_()).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts allow-downloads"  # nothing of the notebook around it
    assert attributes["title"] == repr(replay)
    content = attributes["srcdoc"]
    film = base64.b64decode(re.search(r'<script id="film" type="text/plain">(.*?)</script>', content)[1])
    assert content.encode() == page(film)  # which loads nothing
    header, frames, is_whole = read_film(film)
    assert is_whole
    assert header["names"] == list(SEATS)
    assert [frame["tick"] for frame in frames] == [frame.tick for frame in replay.frames(10)]
    np.testing.assert_array_equal(
        frames[-1]["owner"], replay.seek(replay.num_ticks).state.owner[0, 1:-1, 1:-1]
    )


def test_a_film_that_is_too_large_is_a_line_that_says_so(replay, monkeypatch):
    monkeypatch.setattr(web, "LARGEST_FILM", 1000)
    text = replay._repr_html_()
    assert "its film is larger than the 1,000 bytes that a notebook shows" in text
    assert "territorial watch FILE --page game.html" in text
    assert len(text) < 500


def test_a_game_is_a_picture_of_it_as_it_stands():
    game = territorial.VecGame(CONFIG, 2, seats=SEATS, observe=False)
    assert game._repr_html_() is None  # there is none yet
    after_steps(game, 12, seeds=[1, 2])
    (_, attributes), _ = Elements(game._repr_html_()).found
    assert attributes["alt"] == "game 0 of 2 at tick 120"
    kind, _, data = attributes["src"].partition(",")
    assert kind == "data:image/png;base64"
    np.testing.assert_array_equal(decode_png(base64.b64decode(data)), render_game(game))
