"""Showing games to people: a window where there is a display, else a terminal, else a warning."""

import copy
import io
import os
import pickle
import sys
import threading
import types
import warnings
from unittest import mock

import numpy as np
import pytest

from territorial.render import Renderer, Screen, TextRenderer
from territorial.render import games as screen_module
from tests.render.support import land_of, random_board

OWNER = random_board(30, 40, 3)
FRAME = (OWNER, land_of(OWNER, 3), np.array([5, 6, 7]))


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding="utf-8", is_terminal=True):
        super().__init__(io.BytesIO(), encoding=encoding, newline="")
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


def fake_tk(*, works=True):
    """Return what stands in for tkinter, and knows what was done with it."""
    tk = mock.MagicMock(TclError=type("TclError", (Exception,), {}))
    if not works:
        tk.Tk.side_effect = tk.TclError("couldn't connect to display")
    return tk


@pytest.fixture(autouse=True)
def no_display(monkeypatch):
    """No test opens a window, wherever it runs."""
    monkeypatch.setattr(screen_module, "_has_display", lambda: False)
    monkeypatch.setattr(screen_module.time, "sleep", lambda seconds: None)


def print_to(stream, monkeypatch):
    """Let ``stream`` be the standard output; pytest puts back its own if it is set in ``sys`` itself."""
    monkeypatch.setattr(screen_module, "sys", types.SimpleNamespace(stdout=stream, platform=sys.platform))
    return stream


@pytest.fixture
def terminal(monkeypatch):
    stream = print_to(Terminal(), monkeypatch)
    monkeypatch.setattr(screen_module.shutil, "get_terminal_size", lambda: os.terminal_size((70, 30)))
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return stream


def test_without_a_display_the_terminal_shows_the_game(terminal):
    screen = Screen(3, names=["a", "b", "c"])
    screen.draw(*FRAME, tick=1)
    screen.draw(*FRAME, tick=2)
    screen.close()
    expected = [
        TextRenderer(3, names=["a", "b", "c"], columns=70, lines=30, colors="24bit").draw(*FRAME, tick=tick)
        for tick in (1, 2)
    ]
    text = terminal.text()
    assert text.startswith("\x1b[2J\x1b[H")
    assert text.count("\x1b[2J") == 1
    first, second = text.removeprefix("\x1b[2J\x1b[H").removesuffix("\n").split("\x1b[H")
    assert first.replace("\x1b[K", "").removesuffix("\x1b[J") == expected[0]
    assert second.replace("\x1b[K", "").removesuffix("\x1b[J") == expected[1]
    assert len(first.split("\n")) <= 30


def test_a_terminal_of_another_size_is_begun_anew(terminal, monkeypatch):
    screen = Screen(3)
    screen.draw(*FRAME)
    monkeypatch.setattr(screen_module.shutil, "get_terminal_size", lambda: os.terminal_size((5, 3)))
    screen.draw(*FRAME)
    assert terminal.text().count("\x1b[2J") == 2


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_text_line_by_line(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    Screen(3).draw(*FRAME, tick=1)
    assert "\x1b" not in terminal.text()
    assert terminal.text().startswith("tick 1")


def test_a_terminal_without_half_blocks_gets_signs(monkeypatch, terminal):
    stream = print_to(Terminal("ascii"), monkeypatch)
    Screen(3).draw(*FRAME)
    assert "38;2" not in stream.text()
    assert "111" in stream.text()


@pytest.mark.parametrize("has_stdout", [True, False])
def test_without_display_and_terminal_one_warning_names_the_alternatives(monkeypatch, has_stdout):
    stream = print_to(Terminal(is_terminal=False), monkeypatch)
    if not has_stdout:
        monkeypatch.setattr("sys.stdout", None)
    screen = Screen(3)
    with pytest.warns(UserWarning, match='neither a display nor a terminal.*"rgb_array" or "ansi"'):
        screen.draw(*FRAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        screen.draw(*FRAME)
        screen.close()
    assert stream.text() == ""


def test_with_a_display_a_window_shows_the_picture_until_it_is_closed(monkeypatch):
    tk = fake_tk()
    window = tk.Tk.return_value
    monkeypatch.setitem(sys.modules, "tkinter", tk)
    monkeypatch.setattr(screen_module, "_has_display", lambda: True)
    screen = Screen(3)
    screen.draw(*FRAME, tick=4)
    picture = Renderer(3).draw(*FRAME, tick=4)
    data = b"P6 %d %d 255\n" % (picture.shape[1], picture.shape[0]) + picture.tobytes()
    tk.PhotoImage.assert_called_once_with(master=window, data=data, format="PPM")
    name, press_close = window.protocol.call_args.args
    assert name == "WM_DELETE_WINDOW"
    press_close()
    screen.draw(*FRAME)
    screen.close()
    assert (window.destroy.call_count, tk.Tk.call_count, tk.PhotoImage.call_count) == (1, 1, 1)
    screen.draw(*FRAME)
    assert tk.Tk.call_count == 2
    screen.close()


@pytest.mark.parametrize("tk", [fake_tk(works=False), None], ids=["no answer", "no tkinter"])
def test_a_display_that_does_not_answer_is_none(tk, monkeypatch, terminal):
    monkeypatch.setitem(sys.modules, "tkinter", tk)
    monkeypatch.setattr(screen_module, "_has_display", lambda: True)
    Screen(3).draw(*FRAME, tick=1)
    assert "tick 1" in terminal.text()


def test_where_windows_are_tried(monkeypatch):
    monkeypatch.undo()
    has_display = screen_module._has_display
    cases = [
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {}, False),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "x"}, False),
        ("win32", {}, True),
    ]
    for platform, environ, expected in cases:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(screen_module.sys, "platform", platform)
            patch.setattr(screen_module.os, "environ", environ)
            assert has_display() is expected
            answers = []
            thread = threading.Thread(target=lambda answers=answers: answers.append(has_display()))
            thread.start()
            thread.join()
            assert answers == [False]


def test_pictures_come_at_most_so_many_a_second(monkeypatch, terminal):
    clock, slept = [100.0], []
    monkeypatch.setattr(screen_module.time, "monotonic", lambda: clock[0])

    def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(screen_module.time, "sleep", sleep)
    screen = Screen(3, fps=10)
    for busy in (0.0, 0.03, 0.5, 0.0):
        clock[0] += busy
        screen.draw(*FRAME)
    assert slept == pytest.approx([0, 0.07, 0, 0.1])


def test_copies_show_for_themselves(terminal):
    screen = Screen(3)
    screen.draw(*FRAME)
    for other in (copy.deepcopy(screen), pickle.loads(pickle.dumps(screen))):
        other.draw(*FRAME)
    assert terminal.text().count("\x1b[2J") == 3
