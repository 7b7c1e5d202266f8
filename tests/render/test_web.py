"""The page: one file, whole, that asks for nothing and runs nothing but what is in it."""

import base64
import hashlib
import re

import pytest

from territorial.render.web import SCRIPTS, page, write_page


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
    assert re.findall(r"https?:|//[a-z]", text) == []  # no addresses; comments have a blank there
    assert re.findall(r"\bsrc=|@import|\bimport\b|url\(", text) == []
    assert re.findall(r'href="([^"]*)"', text) == ["data:,"]
    assert re.findall(r"@[A-Z]+@", text) == []
    assert re.findall(r" (?:on[a-z]+|style)=", text) == []  # the policy would forbid them
    assert text.count('"use strict";') == len(SCRIPTS)
    assert text.count("</script>") == 2


def test_the_page_holds_the_film():
    film = bytes(range(256)) * 9
    held = between(page(film).decode(), '<script id="film" type="text/plain">', "</script>")
    assert base64.b64decode(held) == film
    assert between(page().decode(), '<script id="film" type="text/plain">', "</script>") == ""


def test_the_page_is_small():
    assert len(page()) < 120_000


def test_pages_are_written(tmp_path):
    size = write_page(tmp_path / "game.html", b"film")
    assert (tmp_path / "game.html").read_bytes() == page(b"film")
    assert size == len(page(b"film"))
