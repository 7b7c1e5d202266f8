"""One browser for all tests, and films opened in it."""

import pytest

from territorial.render.web import write_page
from tests.browser import chromium
from tests.browser.games import full_game, small_game


@pytest.fixture(scope="session")
def browser():
    with chromium.Browser() as browser:
        yield browser


@pytest.fixture
def show(browser, tmp_path):
    """A function that opens a film from disk, waits until it has been loaded, and stops it at its start."""
    tabs = []

    def open_film(film, first="", **size):
        path = tmp_path / f"{len(tabs)}.html"
        write_page(path, film)
        tab = browser.open(path.as_uri(), first, **size)
        tabs.append(tab)
        tab.wait_for("page.film.isComplete || page.error !== null")
        tab.evaluate("page.play(false), page.seek(0), new Promise(requestAnimationFrame)")
        return tab

    yield open_film
    for tab in tabs:
        assert tab.complaints() == []
        assert {address.partition("#")[0] for address in tab.requests()} <= {
            (tmp_path / f"{n}.html").as_uri() for n in range(len(tabs))
        }
        tab.call("Page.close")


@pytest.fixture
def full(show):
    return show(full_game()[1])


@pytest.fixture
def small(show):
    return show(small_game()[1])
