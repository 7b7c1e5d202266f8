"""The page of a film as one self-contained HTML file.

Its parts lie in ``page/``; they are put together here, and nothing else happens to them. The page
forbids itself, by its content security policy, all scripts but its own and every address but where it
came from; one that holds its film loads nothing at all.

A replay's page lies in a frame of a notebook that may run the page's script and save pictures, and reaches
nothing of the notebook around it. All that is shown is in the output itself.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from functools import singledispatch
from html import escape
from importlib.resources import files
from typing import Any

from territorial.browser.film import show, write_film
from territorial.engine.vec_game import VecGame
from territorial.files.atomic import write_file
from territorial.files.png import png_file
from territorial.render.games import render_game
from territorial.replay import Replay

SCRIPTS = {
    "": (
        "film.js",
        "colors.js",
        "density.js",
        "board.js",
        "labels.js",
        "attacks.js",
        "gifts.js",
        "overlay.js",
        "tip.js",
        "standings.js",
        "facts.js",
        "charts.js",
        "events.js",
        "timeline.js",
        "launches.js",
        "share.js",
        "page.js",
        "controls.js",
    ),
    "watch": ("advice.js", "agent_view.js", "moment.js"),
    "play": (
        "connection.js",
        "outlines.js",
        "advice.js",
        "agent_view.js",
        "forecast.js",
        "income.js",
        "feed.js",
        "shares.js",
        "start.js",
        "ending.js",
        "play.js",
    ),
    "served": ("served.js",),
    "local": (
        "engine.js",
        "situation.js",
        "observation.js",
        "replay_file.js",
        "costliest.js",
        "local.js",
        "drop.js",
    ),
}
"""Those of all pages, of one that shows a game, of one that plays a seat, of one whose game a server plays,
and of one that plays its game by itself; in the order in which they need each other."""


def page(film: bytes = b"", *, is_played: bool = False, engine: Mapping[str, Any] | None = None) -> bytes:
    """Return the page as UTF-8 HTML, with the bytes of a whole film or, without, to be served beside one.

    A page without a film asks for it under the name ``film`` where it came from itself. ``is_played``: the
    page plays a seat of the game too, and asks for ``seat`` and ``act`` there (``play_server``). ``engine``:
    what ``playable`` returns, by which the page plays on from any moment by itself; default None: it cannot.
    """
    is_local, plays = engine is not None, is_played or engine is not None
    does = {"": True, "watch": not is_played, "play": plays, "served": is_played, "local": is_local}
    scripts = dict.fromkeys(name for kind, is_so in does.items() if is_so for name in SCRIPTS[kind])
    style = _part("page.css") + (_part("play.css") if plays else "")
    script = "\n".join(['"use strict";', *map(_part, scripts)])
    parts = [*(["play.html"] if plays else []), *([] if is_played else ["watch.html"]), "agent_view.html"]
    text = _part("page.html")
    for mark, content in (
        ("@PANELS@", "".join(_part(name) for name in parts)),
        ("@POLICY@", _policy(style, script, "'none'" if film else "'self'", compiles=is_local)),
        ("@STYLE@", style),
        ("@SCRIPT@", script),
        ("@FILM@", base64.b64encode(film).decode()),
        ("@ENGINE@", "" if engine is None else json.dumps(engine).replace("<", "\\u003c")),
    ):
        before, after = text.split(mark)
        text = before + content + after
    return text.encode()


def write_page(path: str | os.PathLike[str], film: bytes, engine: Mapping[str, Any] | None = None) -> int:
    """Write a ``page`` that has its film to ``path``, to be opened from disk, and return its bytes."""
    content = page(film, engine=engine)
    write_file(path, content)
    return len(content)


def _part(name: str) -> str:
    return files("territorial.browser").joinpath("page", name).read_text(encoding="utf-8")


def _policy(style: str, script: str, connect: str, *, compiles: bool) -> str:
    """The content security policy: this style, this script, connections to ``connect``, and WebAssembly."""
    more = " 'wasm-unsafe-eval'" if compiles else ""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}{more}; "
        f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


LARGEST_FILM = 2**20
"""Bytes of a film that a notebook shows: all that it shows is saved in it. A game of 32 bots takes 0.1 MB."""
FRAME_HEIGHT = 620
"""Of what a replay is shown in, CSS pixels; it is as wide as the notebook."""


@singledispatch
def html_of(shown: object) -> str | None:
    """Return what notebooks show as HTML; None for what they show as text."""
    return None


@html_of.register
def replay_html(replay: Replay) -> str:
    """Return the page that plays ``replay`` as one element of HTML, or a line if its film is too large."""
    film = bytearray()
    for piece in write_film(*show(replay, f"{replay.config.num_players} players, seed {replay.seed}")):
        film += piece
        if len(film) > LARGEST_FILM:
            return (
                f"<p>{escape(repr(replay))}: its film is larger than the {LARGEST_FILM:,} bytes that a "
                "notebook shows. <code>territorial watch FILE</code> shows the file of a replay, and "
                "<code>territorial watch FILE --page game.html</code> makes a page of it.</p>"
            )
    content = escape(page(bytes(film)).decode(), quote=True)
    return (
        f'<iframe srcdoc="{content}" title="{escape(repr(replay))}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #8888"></iframe>'
    )


@html_of.register
def game_html(game: VecGame) -> str | None:
    """Return a picture of game 0 of ``game`` as it stands; None if no game has begun."""
    if not game.is_started:
        return None
    picture = base64.b64encode(png_file(render_game(game))).decode()
    which = "the game" if game.num_games == 1 else f"game 0 of {game.num_games:,}"
    text = f"{which} at tick {int(game.state.tick[0]):,}"
    return (
        f'<img src="data:image/png;base64,{picture}" alt="{text}" style="max-width: 100%"><div>{text}</div>'
    )
