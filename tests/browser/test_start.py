"""How games begin and end: start card and end card; by mouse, keyboard and touch."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial.constants import FRACTIONS
from territorial.replay import Replay, ReplayPlayer
from tests.browser.chromium import PHONE, leave, soon
from tests.browser.support import (
    board_of,
    box_of,
    click,
    evaluate,
    place_of,
    press,
    tap,
    text_of,
)
from tests.browser.test_play_page import launches_of
from tests.play.sessions import FREE
from tests.play.test_session import DEADLY, LONG

pytestmark = pytest.mark.browser

STORED = "localStorage.territorial ??= JSON.stringify({ level: 'hard', players: 9, another: true })"
NO_STORE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('it is off'); } })"
# A page that has not begun anew and its server hear nothing of each other until the test calls `letGo()`.
HELD = """performance.getEntriesByType("navigation")[0].type === "navigate" && (
    window.fetch = ((send, gate) => async (...what) => (await gate, send(...what)))(
        fetch, new Promise((done) => { window.letGo = done; })));"""
ENDED = "page.film.isComplete && element('ending').open && [page.film.header.title, page.game.now.card.level]"


@contextmanager
def command(folder, *arguments):
    """Run `territorial play` on a small map; give its address and the list of what it says at last."""
    with subprocess.Popen(
        [
            *[sys.executable, "-m", "territorial", "play", "--no-open", "--port", "0", "--pace", "step"],
            *[
                *("--set", "height=32", "--set", "width=32", "--set", "max_ticks=300"),
                "--num-players",
                "2",
                "--seed",
                "7",
            ],
            *arguments,
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(territorial.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        said: list[str] = []
        try:
            yield re.search(r"http\S+", process.stdout.readline())[0], said
        finally:
            process.send_signal(signal.SIGINT)
            said += process.communicate()[1].splitlines()
    assert process.returncode == 0


def by_keyboard(tab, selector):
    """Go to an element, with the arrows within a group, and press it unless that has chosen it."""
    while not tab.evaluate(f"document.activeElement.matches({selector!r})"):
        kinds = tab.evaluate(f"[document.activeElement.type, document.querySelector({selector!r}).type]")
        tab.keyboard.press("ArrowRight" if kinds == ["radio", "radio"] else "Shift+Tab")
    if tab.evaluate("document.activeElement.type !== 'radio'"):
        tab.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("choose", "window", "first", "level"),
    [
        pytest.param(
            click,
            *({}, STORED, "hard"),
            marks=pytest.mark.quick,
        ),
        (by_keyboard, {}, STORED, "hard"),
        (
            tap,
            *(PHONE, NO_STORE, "easy"),
        ),
    ],
)
def test_from_the_start_card_to_the_end_card_and_once_more(open_page, tmp_path, choose, window, first, level):
    """By the command itself, which begins with what the browser remembers, but for what its options say."""
    with command(tmp_path) as (url, lines):
        tab = open_page(url, HELD + first, **window)
        soon(tab, "element('start').open")
        tab.keyboard.press("Escape")  # loses nothing while there is no game
        evaluate(
            tab,
            "letGo()",
            until="element('start').open && !document.querySelector('#start fieldset').disabled",
        )
        values = "page.start.form.elements.{0}.value".format
        assert tab.evaluate(f"[{values('level')}, {values('players')}, page.game.now.tick]") == [
            level,
            "2",
            0,
        ]
        tab.evaluate(f"{values('name')} = 'Ada'")
        choose(tab, "#start [value=normal]")
        with tab.expect_event("load"):
            choose(tab, "#start [type=submit]")
        soon(tab, "page.game?.now && page.painter && page.game.whyNot(0) === ''")
        press(tab, "n", until="page.game.now.tick > 0")
        tab.evaluate("page.game.setPace(1000)")
        assert soon(tab, ENDED) == ["You against 1 normal bot, game 2", "normal"]
        path = Path(text_of(tab, "#ending code"))
        assert re.match(r"(You win|The end: place 2).+ of the land\.", text_of(tab, "#ending"), re.DOTALL)
        with tab.expect_download() as download:
            choose(tab, "#ending a")
        assert download.value.suggested_filename == path.name
        assert Path(download.value.path()).read_bytes() == path.read_bytes()
        other = tab.evaluate("otherLevel(page.game)")
        with tab.expect_event("load"):
            choose(tab, "#ending [value=next]")
        assert soon(tab, ENDED) == [f"You against 1 {other} bot, game 3", other]
        press(tab, "y", until=f"element('start').open && {values('level')} === levelAfter(page.game)")
        assert "300" in text_of(tab, "#start .goal")
        leave(tab)
    replay = Replay.load(path)
    replay.verify()
    assert launches_of(replay) == [(0, FREE, FRACTIONS[6])]
    said = ["territorial play: stopped", f"territorial play: replay of {replay.num_ticks} ticks: {path.name}"]
    assert lines[-3:-1] == said
    assert (replay.is_over, replay.names[0], len(list(tmp_path.glob("*.replay")))) == (True, "Ada", 2)


@pytest.mark.parametrize("choose", [click, by_keyboard])
def test_a_game_is_watched_again_and_played_on_from_a_moment_of_it(open_page, tmp_path, choose):
    begun = "element('start').open && !document.querySelector('#start fieldset').disabled"
    playing = "page.game?.now && page.painter && !element('start').open && page.game.isInStep"
    with command(tmp_path, "--num-players", "4", "--level", "hard") as (url, _):
        tab = open_page(url, "localStorage.territorial ??= JSON.stringify({ another: false })")
        soon(tab, begun)
        choose(tab, "#start [type=submit]")
        soon(tab, playing)
        for tick in range(0, 60, 10):
            press(tab, "n" if tick == 0 else "h", until=f"page.game.now.tick > {tick}")
        evaluate(tab, "page.game.resign()", until="element('ending').open")
        path = text_of(tab, "#ending code")
        choose(tab, "#ending [value=again]")
        soon(tab, "!page.game && page.isPlaying")
        tab.evaluate("page.play(false); page.seek(50); page.follow(3)")
        soon(tab, "page.film.ticks[page.frame] === 50")
        with tab.expect_event("load"):
            choose(tab, "#play-on") if choose is click else press(tab, "j", until="true")
        soon(tab, f"{playing} && page.game.now.tick >= 50 && page.game.now.seat === 3")
        assert tab.evaluate("page.film.header.title").endswith("from tick 50, game 2")
        for _ in range(10):
            tick = tab.evaluate("page.game.now.tick")
            tab.evaluate("page.game.attack(page.game.now.openings.find((one) => !one.reason)?.owner ?? 0)")
            press(tab, "h", until=f"page.game.now.tick > {tick} || !page.game.now.is_alive")
        tab.evaluate("page.game.setPace(1000)")
        soon(tab, "page.film.isComplete && element('ending').open")
        branch = Replay.load(text_of(tab, "#ending code"))
        leave(tab)
    before = Replay.load(path)
    branch.verify()
    assert branch.seek(50).digest(0) == before.seek(50).digest(0)
    assert (branch.is_over, branch.players_at(50)[2], branch.changes[0].tick) == (True, "agent", 50)


def test_the_wait_takes_no_keys_and_a_refused_wish_keeps_what_was_typed(play):
    last = {"level": "easy", "players": 4, "map": "Atlantis", "name": "Ada", "seed": "3"}
    tab, _ = play(card=last | {"levels": ["easy"], "maps": ["Atlantis"], "given": {}}, is_paused=True)
    tab.evaluate(f"page.start.form.elements.name.value = 'Bea'; {HELD} 0")
    press(tab, "Enter", until="!document.querySelector('#start .waiting').hidden")
    for key in ("Space", "]", "Escape"):
        tab.keyboard.press(key)
    tab.evaluate("letGo()")
    assert "Map is 'Atlantis'" in soon(tab, "document.querySelector('#start .refused').textContent")
    assert tab.evaluate(
        "(({ now, start }) => [now.is_paused, now.pace, start.dialog.open, start.form.elements.name.value])"
        "(page.game)"
    ) == [True, "step", True, "Bea"]
    tab.context.close()  # the browser complains of an answer that refuses


def test_one_sees_where_one_is_until_the_game_is_under_way(play):
    tab, _ = play(is_paused=True, config=territorial.GameConfig(height=128, width=128, num_players=4))
    box, place = box_of(tab, "element('you')"), place_of(tab, *np.argwhere(board_of(tab) == 1).mean(0))
    np.testing.assert_allclose([box["x"], box["y"]], place, atol=1)
    tab.keyboard.press("Space")
    evaluate(
        tab, "page.game.setPace(1000)", until="page.game.now.tick > MARKED_TICKS && element('you').hidden"
    )


def test_the_end_card_says_what_was_best_before_and_the_result_chooses_the_level(play):
    levels = ["easy", "moderate", "normal"]
    card = {"level": "moderate", "levels": levels, "players": 4, "map": "lakes", "given": {}, "maps": []}
    tab, _ = play()
    tab.evaluate("page.game.now.number = Infinity")  # no other situation comes after it
    for title, place, tick, head, best, level in (
        ("1", 2, 90, "The end: place 2 of 4", "none", "easy"),
        ("2", 1, 90, "You win", "place 2", "normal"),
        ("2", 1, 90, "You win", "place 2", "normal"),  # as the page is loaded again
        ("3", 1, 80, "You win", "a win after 90 ticks", "normal"),
        ("4", 1.5, 300, "The end: place 1.5 of 4", "a win after 80 ticks", "easy"),
    ):
        now = {"title": title, "place": place, "tick": tick, "card": card, "is_over": True}
        tab.evaluate(f"Object.assign(page.game.now, {json.dumps(now)}), showEnding(page.game)")
        assert text_of(tab, "#ending h2") == head
        assert text_of(tab, "#ending .before") == f"Your best before, in such games: {best}."
        assert tab.evaluate("[levelAfter(page.game), remembered().level]") == [level, level]


def test_the_end_card_says_by_whom_and_when_one_fell(play, tmp_path):
    tab, _ = play(seats=DEADLY, config=LONG, seed=2, pace=1000)
    soon(tab, "page.game.now.is_over && page.film.isComplete && element('ending').open")
    replay, fall = Replay.load(tmp_path / "game.replay"), tab.evaluate("fateOf(page.film, 1).fall")
    ticks = fall["from"], fall["until"], replay.num_ticks
    before, after, end = (ReplayPlayer(replay).seek(tick).state for tick in ticks)
    taken = after.taken[0, :, 1] - before.taken[0, :, 1]
    assert (fall["seat"], fall["cells"], fall["land"]) == (taken.argmax(), taken.max(), before.land[0, 1])
    assert text_of(tab, "#ending .fall").endswith(f"between ticks {fall['from']:,} and {fall['until']:,}.")
    is_kill = (end.taken[0] == end.taken[0].max(0)) & (end.alive[0] == 0)
    kills = [[dead for dead in range(1, 5) if is_kill[seat, dead]] for seat in range(1, 5)]
    assert tab.evaluate("[1, 2, 3, 4].map((seat) => killsOf(page.film, seat))") == kills
    assert sum(map(len, kills)) > 1
