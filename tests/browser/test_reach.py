"""The page can be used with any pointer, by keyboard alone, and in windows that are low or narrow."""

import numpy as np
import pytest

from tests.browser.chromium import PHONE, soon
from tests.browser.games import SMALL_SEATS, full_game, small_game
from tests.browser.support import (
    assert_in_the_middle,
    box_of,
    middle_of,
    place_of,
    press,
    rows_of,
    settle,
    tap,
)

pytestmark = pytest.mark.browser


def cell_that_changes(frames):
    """A cell that is free land in an early frame and somebody's in a later one, and both frames."""
    early, late = frames[3], frames[len(frames) // 2]
    changed = np.argwhere((early.owner == 0) & (late.owner > 0) & (late.owner < 255))
    return (*changed[len(changed) // 2].tolist(), early, late)


def test_the_tip_tells_of_the_moment_that_is_shown(small):
    row, column, early, late = cell_that_changes(small_game()[0])
    settle(small, f"page.seek({early.tick})")
    small.mouse.move(*place_of(small, row, column))
    soon(small, "element('tip').textContent.startsWith('free land')")
    seat = int(late.owner[row, column])
    settle(small, f"page.seek({late.tick})")  # the pointer rests
    soon(small, f"element('tip').textContent.startsWith('P{seat} {SMALL_SEATS[seat - 1]}')")
    press(small, "Home", until="element('tip').textContent.startsWith('free land')")


def test_the_tip_tells_of_what_lies_under_a_resting_pointer_after_a_zoom(small):
    box = box_of(small)
    x, y = box["left"] + box["width"] / 4, box["top"] + box["height"] / 2
    small.mouse.move(x, y)
    soon(small, "!element('tip').hidden")
    press(small, "+", "+")
    settle(small)
    spot = small.evaluate(f"page.view.cellAt({x - box['left']}, {y - box['top']})")
    soon(small, f"element('tip').textContent.includes('(row {spot['row']}, column {spot['column']})')")


def test_a_followed_seat_stays_in_the_middle_when_a_paused_game_is_zoomed(full):
    settle(full, "page.seek(2000), page.follow(7)")
    for _ in range(4):
        full.keyboard.press("+")
    settle(full)
    assert_in_the_middle(full, 7)


@pytest.mark.parametrize(("width", "height"), [(844, 390), (1280, 560), (390, 844), (1440, 900)])
def test_nothing_covers_a_control(full, width, height):
    full.set_viewport_size({"width": width, "height": height})
    settle(full)
    covered = full.evaluate("""[...document.querySelectorAll("button:not(.row), select")]
        .filter((control) => {
            const { left, top, width, height } = control.getBoundingClientRect();
            const seen = document.elementFromPoint(left + width / 2, top + height / 2);
            return width > 0 && !control.contains(seen);
        }).map((control) => control.id || control.value)""")
    assert covered == []


def test_the_standings_are_reached_and_used_by_keyboard(full):
    settle(full, "page.seek(1500), element('help').focus()")
    for _ in range(12):
        full.keyboard.press("Tab")
        if full.evaluate("document.activeElement.matches('.rows .row')"):
            break
    seats = [seat for seat, _, _ in rows_of(full)]
    focused = "Number(document.activeElement.dataset.seat)"
    assert full.evaluate(focused) == seats[0]
    press(full, "Enter", until=f"page.followed === {seats[0]}")
    assert full.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    press(full, "ArrowDown", "ArrowDown", until=f"page.followed === {seats[2]} && {focused} === {seats[2]}")
    settle(full, "page.seek(5000)")  # the rows change places, and the focus stays
    assert full.evaluate(focused) == seats[2]
    full.keyboard.press("Tab")
    assert not full.evaluate("document.activeElement.matches('.rows .row')")  # one stop, not 32
    full.keyboard.press("Shift+Tab")
    assert full.evaluate(focused) == seats[2]
    press(full, "Space", until="page.followed === 0")


@pytest.mark.parametrize(("width", "height"), [(390, 844), (844, 390)])
def test_fingers_find_targets_of_44_pixels(show, width, height):
    full = show(full_game()[1], width=width, height=height, is_touched=True)
    settle(full, "page.follow(3)")
    small = full.evaluate("""[...document.querySelectorAll("button, select, input")].map((control) => {
        const { width, height } = control.getBoundingClientRect();
        return [control.id || control.className || control.value, width, height];
    }).filter(([, width, height]) => width && (width < 43.9 || height < 43.9))""")
    assert small == []
    assert full.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "height"), [(390, 844), (844, 390)])
def test_following_moves_the_list_and_leaves_the_board(show, width, height):
    full = show(full_game()[1], width=width, height=height, is_touched=True)
    settle(full, "page.seek(5000)")
    top = "element('view').getBoundingClientRect().top"
    before, last = full.evaluate(top), rows_of(full)[-1][0]
    settle(full, f"page.follow({last})")
    assert full.evaluate(top) == before
    assert full.evaluate("""(() => {
        const { top, bottom } = document.querySelector(".is-followed").getBoundingClientRect();
        const { top: first, bottom: last } = document.querySelector("aside").getBoundingClientRect();
        return top >= first && bottom <= last + 1;
    })()""")


def test_a_finger_follows_who_it_taps(show):
    frames, film = small_game()
    small, frame = show(film, **PHONE), frames[len(frames) // 3]
    settle(small, f"page.seek({frame.tick})")
    seat = int(frame.land.argmax()) + 1
    tap(small, place_of(small, *middle_of(frame.owner, seat)), until=f"page.followed === {seat}")
