"""``ShownInNotebooks``: base class of objects that notebooks display."""

from importlib import import_module


class ShownInNotebooks:
    """Base class of objects that notebooks show as HTML."""

    def _repr_html_(self) -> str | None:
        # The browser's layer lies above all that it shows, and a notebook alone needs it.
        return import_module("territorial.browser.web").html_of(self)
