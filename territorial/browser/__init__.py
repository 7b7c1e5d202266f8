"""The browser: pages that show games, and a person at a seat of one; one thread owns the game."""

from territorial.browser.hosting import Hosted, HostingError, host

__all__ = ["Hosted", "HostingError", "host"]
