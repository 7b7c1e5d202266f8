"""The Chromium that is installed, driven by Playwright, which brings no browser of its own."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# How long to wait for anything: against hanging, however slow the machine is.
SECONDS = 300
PHONE: dict[str, Any] = {"width": 390, "height": 844, "is_touched": True}


def find() -> str | None:
    """Return the program to start, or None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def started() -> Iterator[Browser]:
    """Give a browser that ends with the block."""
    from playwright.sync_api import sync_playwright  # whether there is a browser is asked without it

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=find()) as browser:
        yield browser


def open_tab(
    browser: Browser,
    url: str,
    first: str = "",
    *,
    width: int = 1280,
    height: int = 800,
    is_touched: bool = False,
) -> Page:
    """Return a page at ``url``; the script ``first`` runs in it before anything else.

    Its window has this size in CSS pixels, and may be the screen of a phone that is touched.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        device_scale_factor=1 + is_touched,
        has_touch=is_touched,
        is_mobile=is_touched,
    )
    context.set_default_timeout(1000 * SECONDS)
    context.add_init_script(first)
    tab = context.new_page()
    tab.goto(url)
    return tab


def soon(tab: Page, expression: str) -> Any:
    """Return the value of a JavaScript expression once it is true.

    Playwright's own ``wait_for_function`` evaluates text in the page later, which these pages do not allow.
    """
    until = time.monotonic() + SECONDS
    while not (value := tab.evaluate(expression)):
        assert time.monotonic() < until, f"not true after {SECONDS} s: {expression}"
        tab.wait_for_timeout(20)
    return value


def leave(tab: Page) -> None:
    """Close a page, which may not have said anything in the console, nor have refused or failed."""
    said = [message.text for message in tab.console_messages()] + [str(error) for error in tab.page_errors()]
    tab.context.close()
    assert said == []
