"""``ShownInNotebooks``: base class of objects that notebooks display."""

from functools import singledispatch


@singledispatch
def html_of(shown: object) -> str | None:
    """Return ``shown`` as HTML, None for what has none; ``territorial.browser.web`` says what has."""
    return None


class ShownInNotebooks:
    """A base class of what a notebook shows as HTML."""

    def _repr_html_(self) -> str | None:
        return html_of(self)
