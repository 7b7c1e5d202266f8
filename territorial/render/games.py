"""Render modes of environments: picture, text or window."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any, TextIO

import numpy.typing as npt

from territorial._log import is_terminal
from territorial.config.map_names import Terrain
from territorial.config.validation import one_of, raised_as
from territorial.engine.seats import shown_names
from territorial.engine.vec_game import VecGame
from territorial.render.ansi import TextRenderer, color_depth_of
from territorial.render.board import Image, Owners
from territorial.render.renderer import Renderer
from territorial.replay.frames import teams_in

_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


class Screen:
    """Shows the pictures of one game as they come, at most ``fps`` a second: it waits where they are more.

    A window is opened for the first picture where there is a display and this is the main thread; closing it
    ends the show and nothing else. Without a display the game is drawn as text on the terminal that standard
    output is; where it is none, nothing is shown, and one warning says so. The other arguments are those of
    ``Renderer``.
    """

    def __init__(
        self,
        num_players: int,
        *,
        names: Sequence[str] | None = None,
        fps: float = 20,
        teams: Sequence[int] | None = None,
    ) -> None:
        self._arguments: dict[str, Any] = {"num_players": num_players, "names": names, "teams": teams}
        self._pause = 1 / fps
        self._due = 0.0
        self._is_started = False
        self._place: _Window | _Terminal | None = None

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
    ) -> None:
        """Show a picture; arguments as for ``Renderer.draw``."""
        if not self._is_started:
            self._place, self._is_started = _find_place(self._arguments), True
        time.sleep(max(0.0, self._due - time.monotonic()))
        self._due = time.monotonic() + self._pause
        if self._place is not None:
            self._place.show(owner, land, troops, tick=tick, terrain=terrain)

    def close(self) -> None:
        """End the show; another picture would begin a new one."""
        if self._place is not None:
            self._place.close()
        self._place, self._is_started = None, False

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_place": None, "_is_started": False}  # a copy has a window of its own


def _find_place(arguments: dict[str, Any]) -> _Window | _Terminal | None:
    """Return where pictures are shown; None, with a warning, if that is nowhere."""
    if _has_display():
        try:
            return _Window(arguments)
        except (ImportError, RuntimeError):  # a Python without Tk, or a display that does not answer
            pass
    if is_terminal(sys.stdout):
        return _Terminal(arguments, sys.stdout)
    warnings.warn(
        'render_mode is "human", but there is neither a display nor a terminal, so nothing '
        'is shown. Use "rgb_array" or "ansi" and save what render() returns; '
        "territorial.render.write_gif makes animations of pictures",
        stacklevel=2,
    )
    return None


def _has_display() -> bool:
    """Tell whether a window may be tried; where there is no display at all that could end the process."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if sys.platform == "win32":
        return True
    if sys.platform == "darwin":
        return "SSH_CONNECTION" not in os.environ
    return bool(os.environ.get("DISPLAY"))


class _Window:
    def __init__(self, arguments: dict[str, Any]) -> None:
        import tkinter  # part of Python, but some systems leave it out

        self._renderer = Renderer(**arguments)
        with raised_as(RuntimeError, "", tkinter.TclError):
            self._root = tkinter.Tk()
        self._tk = tkinter
        self._root.title("territorial")
        self._root.protocol("WM_DELETE_WINDOW", self.close)
        self._sheet = tkinter.Label(self._root, borderwidth=0)
        self._sheet.pack()
        self._is_open = True

    def show(self, owner: Owners, land: npt.ArrayLike, troops: npt.ArrayLike, **about: Any) -> None:
        if not self._is_open:
            return
        picture = self._renderer.draw(owner, land, troops, **about)
        data = b"P6 %d %d 255\n" % (picture.shape[1], picture.shape[0]) + picture.tobytes()
        self._photo = self._tk.PhotoImage(master=self._root, data=data, format="PPM")
        self._sheet.configure(image=self._photo)
        self._root.update()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._root.destroy()


class _Terminal:
    def __init__(self, arguments: dict[str, Any], stream: TextIO) -> None:
        self._arguments, self._stream = arguments, stream
        self._can_move = os.environ.get("TERM") != "dumb"
        self._colors = color_depth_of(stream)
        self._size = (0, 0)

    def show(self, owner: Owners, land: npt.ArrayLike, troops: npt.ArrayLike, **about: Any) -> None:
        size = shutil.get_terminal_size()
        if size != self._size:  # begin again
            self._size, columns, lines = size, max(20, size.columns), max(8, size.lines)
            self._renderer = TextRenderer(
                **self._arguments, columns=columns, lines=lines, colors=self._colors
            )
            self._stream.write("\x1b[2J" if self._can_move else "")  # clears the screen
        text = self._renderer.draw(owner, land, troops, **about)
        if self._can_move:
            text = _HOME + text.replace("\n", f"{_REST_OF_LINE}\n") + _REST_OF_LINE + _REST_OF_SCREEN
        else:
            text += "\n"
        self._stream.write(text)
        self._stream.flush()

    def close(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


RENDER_MODES = ("ansi", "human", "rgb_array")
"""What the option ``render_mode`` of environments may be, beside None."""
RENDER_FPS = 20
"""Pictures a second: of "human", and of recordings made by wrappers."""

GameRenderer = Renderer | TextRenderer | Screen
"""What draws one game after its fashion."""


def make_renderer(
    render_mode: str,
    num_players: int,
    names: Sequence[str],
    fps: float,
    teams: Sequence[int] | None = None,
) -> GameRenderer:
    """Return a renderer for one of the RENDER_MODES; ``fps`` are pictures per second for "human"."""
    one_of("render_mode", render_mode, RENDER_MODES)
    if render_mode == "human":
        return Screen(num_players, names=names, fps=fps, teams=teams)
    kind = TextRenderer if render_mode == "ansi" else Renderer
    return kind(num_players, names=names, teams=teams)


class BatchRenderer:
    """Renderers of the games of a batch, made on demand, in one of the RENDER_MODES or None."""

    def __init__(self, render_mode: str | None) -> None:
        self.render_mode = render_mode
        self._of_game: dict[int, tuple[object, GameRenderer]] = {}

    def draw(self, game: VecGame, k: int) -> Image | str | None:
        """Draw game ``k`` and return the result; RuntimeError without a render mode or a game."""
        if self.render_mode is None:
            choices = " or ".join(f'"{mode}"' for mode in RENDER_MODES)
            raise RuntimeError(f"render_mode is None; make the environment with render_mode={choices}")
        if not game.is_started:
            raise RuntimeError("there are no games yet; call reset() first")
        names, teams = shown_names(game.seats_of(k)), teams_in(game, k)
        if k not in self._of_game or self._of_game[k][0] != (names, teams):
            self.close(k)
            renderer = make_renderer(self.render_mode, len(names), names, RENDER_FPS, teams)
            self._of_game[k] = (names, teams), renderer
        return draw_game(self._of_game[k][1], game, k)

    def close(self, k: int | None = None) -> None:
        """Release the renderer of game ``k``, or all."""
        for i in [i for i in self._of_game if k in (None, i)]:
            self._of_game.pop(i)[1].close()


def draw_game(renderer: GameRenderer, game: VecGame, k: int = 0) -> Any:
    """Let ``renderer`` draw game ``k`` as it stands, and return that."""
    state = game.state
    owner = state.owner[k, 1:-1, 1:-1]
    land, troops = state.land[k, 1:], state.troops[k, 1:]
    return renderer.draw(owner, land, troops, tick=int(state.tick[k]), terrain=game.terrain_name(k))


def render_game(
    game: VecGame,
    k: int = 0,
    *,
    scale: int | None = None,
    names: Sequence[str] | None = None,
    labels: bool = True,
    panel: bool = True,
) -> Image:
    """Return a picture of game ``k`` as it stands, uint8 (h, w, 3); options as for ``Renderer``.

    ``names`` are those of the seats unless given. For an animation keep a ``Renderer`` and draw with that.
    """
    renderer = Renderer(
        game.config.num_players,
        names=shown_names(game.seats_of(k)) if names is None else names,
        scale=scale,
        labels=labels,
        panel=panel,
        teams=teams_in(game, k),
    )
    return draw_game(renderer, game, k)
