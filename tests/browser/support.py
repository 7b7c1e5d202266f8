"""What the tests do with a page, and what they read from it."""

import base64
from contextlib import contextmanager, suppress

import numpy as np

from territorial.browser.server import PageServer
from territorial.browser.web import page
from tests.browser.chromium import soon
from tests.play.sessions import now, wait_for
from tests.render.support import running


def assert_soon(look, wanted):
    """Assert that ``look()`` becomes ``wanted``: what one side does reaches the other some time later."""
    with suppress(AssertionError):
        wait_for(lambda: look() == wanted)
    assert look() == wanted


# Counts the pictures that a page asks for; `countPictures()` gives those of half a second and animations.
COUNT = """window.pictures = 0;
{
    const request = window.requestAnimationFrame.bind(window);
    window.requestAnimationFrame = (act) => request((now) => { pictures++; act(now); });
    window.countPictures = async () => {
        const before = pictures;
        for (let n = 0; n < 30; n++) await new Promise(request);
        return pictures - before + document.getAnimations().length;
    };
}"""


def stop_clock(tab):
    """Make what the page says for some seconds stay."""
    tab.evaluate("performance.now = () => 0, 0")


def settle(tab, expression="0"):
    """Evaluate, then wait until its effects have been shown."""
    tab.evaluate(expression)
    tab.evaluate(
        "page.hurry(), new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


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
    """The board as it is painted, uint8 (height, width, 3)."""
    # From a copy: the browser warns of what reads much from a canvas that is meant to be seen.
    width, height, data = tab.evaluate("""(() => {
        const { canvas } = page.painter, { width, height } = canvas;
        const copy = new OffscreenCanvas(width, height);
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        const bytes = context.getImageData(0, 0, width, height).data;
        return [width, height, btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))];
    })()""")
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3]


def board_of(tab):
    text, width = tab.evaluate(
        "[btoa(Array.from(page.board, (code) => String.fromCharCode(code)).join('')), page.painter.width]"
    )
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, width)


def place_of(tab, row, column):
    """The middle of a cell, in pixels of the window."""
    return tab.evaluate(
        f"[page.view.x + {column + 0.5} * page.view.scale + page.view.box.getBoundingClientRect().left, "
        f"page.view.y + {row + 0.5} * page.view.scale + page.view.box.getBoundingClientRect().top]"
    )


def box_of(tab, element="page.view.box"):
    """Where an element lies in the window."""
    return tab.evaluate(f"JSON.parse(JSON.stringify({element}.getBoundingClientRect()))")


def assert_in_the_middle(tab, seat):
    """Assert that the land of a seat is in the middle of the view, on a board 256 cells wide."""
    middle, box = tab.evaluate(f"centerOf(page.board, 256, {seat})"), box_of(tab)
    x, y = place_of(tab, middle["row"] - 0.5, middle["column"] - 0.5)
    assert abs(x - box["left"] - box["width"] / 2) < 5
    assert abs(y - box["top"] - box["height"] / 2) < 5


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


@contextmanager
def serving(feed, look=None):
    """Serve a film as it comes in, and give the address of its page."""
    with running(PageServer(page(), feed, look=look)) as server:
        yield server.url


# ---- games that are played --------------------------------------------------------------------------


def ready(tab):
    """Wait until the game has been shown as the session told it."""
    soon(tab, "page.game?.now && page.painter && page.frame >= 0 && page.tick === page.film.lastTick")
    soon(tab, "document.querySelector('#me b').textContent")  # by a timer, where the film begins late


def hear(tab, session):
    """Wait until the page shows what the session told last: before, it shows what it has asked for itself."""
    soon(tab, f"page.game.now.number >= {now(session)['number']}")
    settle(tab)


def pause(tab, session, *, is_paused):
    """Press the key that pauses, or lets go on, and wait until the session and the page have done so."""
    tab.keyboard.press("Space")
    assert_soon(lambda: now(session)["is_paused"], is_paused)
    hear(tab, session)


def pass_tick(tab, act):
    """Do ``act``, which makes a decision of a game that waits for it, and wait until that has been shown."""
    tick = tab.evaluate("page.game.now.tick")
    act()
    soon(tab, f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick")
    settle(tab)


def middle_of_element(tab, selector):
    """Return the place in the window where an element is, once it is shown."""
    return soon(
        tab,
        f"(box => box?.width && [box.x + box.width / 2, box.y + box.height / 2])"
        f"(document.querySelector({selector!r})?.getBoundingClientRect())",
    )


def press(tab, *keys, until=""):
    """Press keys one after another, then wait until an expression is true."""
    for key in keys:
        tab.keyboard.press(key)
    if until:
        soon(tab, until)


def click(tab, place, until=""):
    """Click on an element or a point of the window, then wait until an expression is true."""
    tab.mouse.click(*(middle_of_element(tab, place) if isinstance(place, str) else place))
    if until:
        soon(tab, until)


def tap(tab, place, until=""):
    """Touch an element or a point of the window, then wait until an expression is true."""
    tab.touchscreen.tap(*(middle_of_element(tab, place) if isinstance(place, str) else place))
    if until:
        soon(tab, until)


def evaluate(tab, expression, until):
    """Evaluate an expression, then wait until another one is true."""
    tab.evaluate(expression)
    soon(tab, until)


def spot_of(tab, owner):
    """A place of the window with a cell of ``owner``, nothing over it, and few other owners around."""
    board = board_of(tab)
    alike = np.pad(board == owner, 1)
    inner = sum(np.roll(alike, (dr, dc), (0, 1))[1:-1, 1:-1] for dr in (-1, 0, 1) for dc in (-1, 0, 1))
    cells = [cell for cell in np.argsort(-inner, axis=None, kind="stable") if board.flat[cell] == owner]
    places = (place_of(tab, *np.unravel_index(cell, board.shape)) for cell in cells)
    return next(
        (x, y) for x, y in places if tab.evaluate(f"document.elementFromPoint({x}, {y}) === element('cells')")
    )
