"""How games begin and end: start card, play, end card, play again; by mouse, by keyboard and by touch."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial.replay import Replay
from tests.browser.chromium import PHONE, leave, soon
from tests.browser.support import board_of, box_of, middle_of_element, pass_tick, place_of, settle, text_of
from tests.play.test_session import DEADLY
from tests.play.test_session import LONG as DEADLY_CONFIG

pytestmark = pytest.mark.browser

SMALL = ["--height", "32", "--width", "32", "--num-players", "2", "--max-ticks", "300", "--pace", "1000"]
CARD = "page.game.now && !document.querySelector('#start fieldset').disabled"
NO_STORE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('it is off'); } })"


@contextmanager
def command(folder, *arguments):
    """Run `territorial play`, give the address of its page, and stop it."""
    program = [sys.executable, "-m", "territorial", "play", "--no-open", "--port", "0", *SMALL, *arguments]
    paths = {"PYTHONPATH": str(Path(territorial.__file__).parents[1])}
    with subprocess.Popen(
        program, cwd=folder, env=os.environ | paths, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process.stdout.readline().split()[2]
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 0


def by_mouse(tab, selector):
    tab.mouse.click(*middle_of_element(tab, selector))


def by_touch(tab, selector):
    tab.touchscreen.tap(*middle_of_element(tab, selector))


def by_keyboard(tab, selector):
    """Go to an element, with the arrows within a group, and press it unless that has chosen it."""
    for _ in range(20):
        kinds = tab.evaluate(f"[document.activeElement.type, document.querySelector({selector!r}).type]")
        if tab.evaluate(f"document.activeElement.matches({selector!r})"):
            break
        tab.keyboard.press("ArrowRight" if kinds == ["radio", "radio"] else "Shift+Tab")
    if kinds[0] != "radio":
        tab.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("press", "window"),
    [(by_mouse, {}), (by_keyboard, {}), (by_touch, PHONE)],
    ids=["mouse", "keyboard", "touch"],
)
def test_from_the_start_card_to_the_end_card_and_once_more(open_page, tmp_path, press, window):
    with command(tmp_path) as url:
        tab = open_page(url, **window)
        soon(tab, CARD)
        assert tab.evaluate("[page.game.now.tick, element('start').open]") == [0, True]
        press(tab, "#start [value=normal]")
        with tab.expect_event("load"):
            press(tab, "#start [type=submit]")
        soon(tab, "page.film.isComplete && element('ending').open")
        assert tab.evaluate("page.game.now.card.level") == "normal"
        assert text_of(tab, "#ending h2").startswith("The end: place ")
        assert " won, with " in text_of(tab, "#ending .text")
        saved = Path(text_of(tab, "#ending code"))
        with tab.expect_event("load"):
            press(tab, "#ending [value=next]")
        soon(tab, "page.film.isComplete && element('ending').open")
        assert tab.evaluate("[page.game.now.card.level, page.film.header.title.endsWith(', game 3')]") == [
            "hard",
            True,
        ]
        leave(tab)
    assert saved.parent == tmp_path
    assert Replay.load(saved).is_over
    assert len(list(tmp_path.glob("territorial-*.replay"))) == 2  # the first game was not begun


@pytest.mark.parametrize("first", ["", NO_STORE], ids=["remembered", "without a store"])
def test_the_card_begins_with_the_last_values_and_those_of_the_command_line(open_page, tmp_path, first):
    with command(tmp_path, "--seed", "5", "--pace", "step") as url:
        tab = open_page(url, first)
        soon(tab, CARD)
        form = "document.querySelector('#start form').elements"
        tab.evaluate(
            f"[{form}.level.value = 'hard', {form}.name.value = 'Ada', {form}.another.checked = false]"
        )
        with tab.expect_event("load"):
            tab.keyboard.press("Enter")
        soon(tab, "page.game?.now && page.painter && !element('start').open")
        assert tab.evaluate("[page.film.header.title, page.game.now.card.level]") == [
            "Ada, seed 5, game 2",
            "hard",
        ]
        assert tab.evaluate("remembered().level ?? null") == (None if first else "hard")
        tab.keyboard.press("r")
        pass_tick(
            tab,
            lambda: tab.evaluate(
                "element('resigning').returnValue = 'yes', element('resigning').close('yes')"
            ),
        )
        tab.keyboard.press("y")
        soon(tab, "element('start').open")
        assert tab.evaluate(f"[{form}.level.value, {form}.name.value, {form}.players.value]") == [
            "hard",
            "Ada",
            "2",
        ]
        leave(tab)


def test_one_sees_where_one_is_until_the_game_is_under_way(play):
    tab, _ = play(is_paused=True, config=territorial.GameConfig(height=128, width=128, num_players=4))
    settle(tab)
    row, column = np.argwhere(board_of(tab) == 1).mean(0)
    box = box_of(tab, "element('you')")
    np.testing.assert_allclose([box["x"], box["y"]], place_of(tab, row, column), atol=1)
    tab.keyboard.press("Space")
    tab.evaluate("page.game.setPace(1000)")
    soon(tab, "page.game.now.tick > MARKED_TICKS && element('you').hidden")


def test_the_end_card_says_by_whom_and_when_one_fell(play, tmp_path):
    tab, _ = play(seats=DEADLY, config=DEADLY_CONFIG, seed=2, pace=1000)
    soon(tab, "element('ending').open")
    replay = Replay.load(tmp_path / "game.replay")
    fall = tab.evaluate("fateOf(page.film, 1).fall")
    before, after = (replay.game(fall[name]).state for name in ("from", "until"))
    taken = after.taken[0, :, 1] - before.taken[0, :, 1]
    assert (fall["seat"], fall["cells"], fall["land"]) == (taken.argmax(), taken.max(), before.land[0, 1])
    assert text_of(tab, "#ending .fall").endswith(f"between ticks {fall['from']:,} and {fall['until']:,}.")
    soon(tab, "page.game.now.is_over && page.film.isComplete")
    end = Replay.load(tmp_path / "game.replay")
    state = end.game(end.num_ticks).state
    dead = [seat for seat in range(1, 5) if not state.alive[0, seat]]
    for seat in range(1, 5):
        killed = [one for one in dead if state.taken[0, seat, one] == state.taken[0, :, one].max()]
        assert tab.evaluate(f"killsOf(page.film, {seat})") == killed
    assert len(dead) > 1
