"""``ShownInNotebooks``: base class of objects that notebooks display."""

from functools import singledispatch


@singledispatch
def html_of(shown: object) -> str | None:
    """Return ``shown`` as HTML, or None; ``territorial.browser.web`` defines how."""
    return None


class ShownInNotebooks:
    """Base class of objects that notebooks show as HTML."""

    def _repr_html_(self) -> str | None:
        return html_of(self)
