"""One browser for all tests, and pages opened in it: films from disk, and games that are played."""

from contextlib import ExitStack

import pytest

from territorial.browser.web import page, write_page
from tests.browser import chromium
from tests.browser.chromium import leave, open_tab, soon
from tests.browser.games import full_game, small_game
from tests.browser.support import ready
from tests.play.sessions import served


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("playwright", reason="Playwright is not installed: the extra `browser` has it")
    if chromium.find() is None:
        pytest.skip(f"none of {', '.join(chromium.NAMES)} is installed")
    with chromium.started() as browser:
        yield browser


@pytest.fixture
def open_page(browser):
    """A function that opens an address in a tab, which may not complain until the test leaves it."""
    tabs = []

    def open_one(url, first="", **window):
        tabs.append(open_tab(browser, url, first, **window))
        return tabs[-1]

    yield open_one
    for tab in tabs:
        if not tab.is_closed():
            leave(tab)


@pytest.fixture
def show(open_page, tmp_path):
    """A function that opens a film from disk, waits until it has been loaded, and stops it at its start."""
    tabs = {}

    def open_film(film, first="", **window):
        path = tmp_path / f"{len(tabs)}.html"
        write_page(path, film)
        tab = open_page(path.as_uri(), first, **window)
        tabs[path.as_uri()] = tab
        soon(tab, "page.film.isComplete || page.error !== null")
        tab.evaluate("page.play(false), page.seek(0), new Promise(requestAnimationFrame)")
        return tab

    yield open_film
    for url, tab in tabs.items():
        assert {request.url.partition("#")[0] for request in tab.requests()} == {url}


@pytest.fixture
def full(show):
    return show(full_game()[1])


@pytest.fixture
def small(show):
    return show(small_game()[1])


@pytest.fixture
def play(open_page, tmp_path):
    """A function that opens the page of a new game, and gives its tab and its session's server."""
    with ExitStack() as stack:

        def open_game(window=None, **options):
            playing = served(tmp_path / "game.replay", page(is_played=True), has_page=False, **options)
            game = stack.enter_context(playing)
            game.posts = []
            tab = game.tab = open_page(game.server.url, **(window or {}))
            # Once the game is stopped, the page complains of its film, which breaks off.
            stack.callback(lambda: tab.is_closed() or leave(tab))
            tab.on(  # but for those that only ask for a forecast
                "request",
                lambda request: (
                    game.posts.append(request)
                    if "/act" in request.url and '"aim"' not in request.post_data
                    else None
                ),
            )
            ready(tab)
            return tab, game

        yield open_game
