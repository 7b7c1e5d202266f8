"""The browser: pages that show games, and servers on which people play."""

from territorial.browser.hosting import Hosted, HostingError, host

__all__ = ["Hosted", "HostingError", "host"]
