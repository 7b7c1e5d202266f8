"""The page that plays a film in a browser: one HTML file, everything it needs within.

Its parts lie in ``page/``; they are put together here, and nothing else happens to them. The page
forbids itself, by its content security policy, all scripts but its own and every address but where it
came from; one that holds its film loads nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files

from territorial.files.atomic import write_file

SCRIPTS = (
    "film.js",
    "colors.js",
    "board.js",
    "labels.js",
    "attacks.js",
    "gifts.js",
    "overlay.js",
    "tip.js",
    "standings.js",
    "facts.js",
    "charts.js",
    "chronicle.js",
    "timeline.js",
    "share.js",
    "page.js",
    "controls.js",
)
"""In the order in which they need each other."""
PLAY_SCRIPTS = ("orders.js", "outlines.js", "advice.js", "sight.js", "play.js")
"""What comes after them in a page that plays a seat."""


def page(film: bytes = b"", *, is_played: bool = False) -> bytes:
    """Return the page as UTF-8 HTML, with the bytes of a whole film or, without, to be served beside one.

    A page without a film asks for it under the name ``film`` where it came from itself. ``is_played``: the
    page plays a seat of the game too, and asks for ``seat`` and ``act`` there, which territorial.play serves.
    """
    scripts = (*SCRIPTS, *PLAY_SCRIPTS) if is_played else SCRIPTS
    style = _part("page.css") + (_part("play.css") if is_played else "")
    script = "\n".join(_part(name) for name in scripts)
    text = _part("page.html")
    for mark, content in (
        ("@PLAY@", _part("play.html") if is_played else ""),
        ("@POLICY@", _policy(style, script, "'none'" if film else "'self'")),
        ("@STYLE@", style),
        ("@SCRIPT@", script),
        ("@FILM@", base64.b64encode(film).decode()),
    ):
        before, after = text.split(mark)
        text = before + content + after
    return text.encode()


def write_page(path: str | os.PathLike[str], film: bytes) -> int:
    """Write the page with ``film`` to ``path``, to be opened from disk, and return its bytes."""
    content = page(film)
    write_file(path, content)
    return len(content)


def _part(name: str) -> str:
    return files("territorial.render").joinpath("page", name).read_text(encoding="utf-8")


def _policy(style: str, script: str, connect: str) -> str:
    """The content security policy: this style, this script, and connections to ``connect``."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
