"""Replays and games in notebooks: a replay as the page that plays it, a game as a picture of it as it stands.

All that is shown is in the output itself, which asks for nothing. A replay's page lies in a frame of its
own, which may run the page's script and save pictures, and reaches nothing of the notebook around it.
"""

from __future__ import annotations

import base64
from html import escape

from territorial._notebooks import html_of
from territorial.engine.vec_game import VecGame
from territorial.files.png import png_file
from territorial.render.film import FilmWriter, film_header, usual_distance
from territorial.render.games import render_game
from territorial.render.web import page
from territorial.replay import Replay

LARGEST_FILM = 2**20
"""Bytes of a film that a notebook shows: all that it shows is saved in it. A game of 32 bots takes 0.1 MB."""
FRAME_HEIGHT = 620
"""Of what a replay is shown in, CSS pixels; it is as wide as the notebook."""


def replay_html(replay: Replay) -> str:
    """Return the page that plays ``replay`` as one element of HTML, or a line if its film is too large."""
    film = _film_of(replay)
    if film is None:
        return (
            f"<p>{escape(repr(replay))}: its film is larger than the {LARGEST_FILM:,} bytes that a notebook "
            "shows. <code>territorial watch FILE</code> shows the file of a replay, and "
            "<code>territorial watch FILE --page game.html</code> makes a page of it.</p>"
        )
    content = escape(page(film).decode(), quote=True)
    return (
        f'<iframe srcdoc="{content}" title="{escape(repr(replay))}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #8888"></iframe>'
    )


def _film_of(replay: Replay) -> bytes | None:
    """Return the film of ``replay``; None, as soon as that is known, if it is larger than LARGEST_FILM."""
    title = f"{replay.config.num_players} players, seed {replay.seed}"
    header = film_header(
        replay.config,
        replay.names,
        title,
        terrain=replay.terrain,
        map_kind=replay.map_kind,
        teams=replay.teams,
    )
    writer, pieces, size = FilmWriter(header), list[bytes](), 0
    for frame in replay.frames(usual_distance(replay.config)):
        pieces.append(writer.write(frame))
        size += len(pieces[-1])
        if size > LARGEST_FILM:
            return None
    return b"".join([*pieces, writer.close()])


def game_html(game: VecGame) -> str | None:
    """Return a picture of game 0 of ``game`` as it stands; None if no game has begun."""
    if not game.has_begun:
        return None
    picture = base64.b64encode(png_file(render_game(game))).decode()
    which = "the game" if game.num_games == 1 else f"game 0 of {game.num_games:,}"
    text = f"{which} at tick {int(game.state.tick[0]):,}"
    return (
        f'<img src="data:image/png;base64,{picture}" alt="{text}" style="max-width: 100%"><div>{text}</div>'
    )


def show_in_notebooks() -> None:
    """From now on replays and games show themselves where HTML is shown."""
    html_of.register(Replay, replay_html)
    html_of.register(VecGame, game_html)
