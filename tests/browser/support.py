"""What the tests do with a page, and what they read from it."""

import base64
from contextlib import suppress

import numpy as np

from tests.play.sessions import wait_for


def assert_soon(look, wanted):
    """Assert that ``look()`` becomes ``wanted``: what one side does reaches the other some time later."""
    with suppress(AssertionError):
        wait_for(lambda: look() == wanted)
    assert look() == wanted


def stop_clock(tab):
    """Make what the page says for some seconds stay."""
    tab.evaluate("performance.now = () => 0, 0")


def settle(tab, expression="0"):
    """Evaluate, then wait until its effects have been shown."""
    tab.evaluate(expression)
    tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def text_of(tab, selector):
    return tab.evaluate(f"document.querySelector({selector!r}).textContent").strip()


def rows_of(tab):
    """The standings as (seat, class, texts), from the top."""
    rows = tab.evaluate(
        "[...document.querySelectorAll('.rows .row')].map((row) => "
        "[Number(row.dataset.seat), row.className, [...row.children].map((child) => child.textContent)])"
    )
    return [(seat, kind, [text for text in texts if text]) for seat, kind, texts in rows]


def pixels_of(tab):
    """The canvas as uint8 (height, width, 3)."""
    # From a copy: the browser warns of what reads much from a canvas that is meant to be seen.
    width, height, data = tab.evaluate("""(() => {
        const { width, height } = element("cells"), copy = new OffscreenCanvas(width, height);
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(element("cells"), 0, 0);
        const bytes = context.getImageData(0, 0, width, height).data;
        return [width, height, btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))];
    })()""")
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3]


def board_of(tab, config):
    text = tab.evaluate("btoa(Array.from(page.board, (code) => String.fromCharCode(code)).join(''))")
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(config.height, config.width)


def place_of(tab, row, column):
    """The middle of a cell, in pixels of the window."""
    return tab.evaluate(
        f"[page.view.x + {column + 0.5} * page.view.scale + page.view.box.getBoundingClientRect().left, "
        f"page.view.y + {row + 0.5} * page.view.scale + page.view.box.getBoundingClientRect().top]"
    )


def middle_of(owner, seat):
    """Some cell well within a seat's land."""
    cells = np.argwhere(owner == seat)
    return min(cells.tolist(), key=lambda cell: np.abs(cells - cell).sum())


def spot_at(tab, x, y):
    """The row and column under a point of the window, with fractions."""
    return tab.evaluate(
        "[box = page.view.box.getBoundingClientRect()] && "
        f"[({y} - box.top - page.view.y) / page.view.scale, ({x} - box.left - page.view.x) / page.view.scale]"
    )
