"""The page: one file that asks for nothing and runs nothing but what is in it; and what notebooks show."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import territorial
from territorial.render import render_game, web
from territorial.render.web import SCRIPTS, page, write_page
from tests.episodes import after_steps
from tests.render.film_reader import read_film
from tests.render.support import decode_png
from tests.replay.support import recorded_game


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
    assert (text.count('"use strict";'), text.count("</script>")) == (len(SCRIPTS), 2)


def test_the_page_holds_the_film():
    film = bytes(range(256)) * 9
    held = between(page(film).decode(), '<script id="film" type="text/plain">', "</script>")
    assert base64.b64decode(held) == film
    assert between(page().decode(), '<script id="film" type="text/plain">', "</script>") == ""


def test_pages_are_small_and_are_written(tmp_path):
    size = write_page(tmp_path / "game.html", b"film")
    assert (tmp_path / "game.html").read_bytes() == page(b"film")
    assert size == len(page(b"film")) < 120_000


CONFIG = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=600)
SEATS = ("metronome", "banker", "turtle", "novice", "random")


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
