"""The page passes axe, and can be used with any pointer, by keyboard alone, in low and narrow windows."""

import numpy as np
import pytest

from tests.browser import chromium
from tests.browser.chromium import PHONE, soon
from tests.browser.games import SMALL_SEATS, full_game, small_game
from tests.browser.support import (
    assert_in_the_middle,
    box_of,
    evaluate,
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


# ---- axe ---------------------------------------------------------------------------------------------


NAMELESS = """[...document.querySelectorAll("dialog, canvas")].filter((one) => !one.ariaLabel
    && !document.getElementById(one.getAttribute("aria-labelledby"))?.textContent
    && !(one.id === "ending" && !one.open)).map((one) => one.outerHTML.slice(0, 60))"""


@pytest.fixture(scope="module")
def axe():
    return pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="axe-core is not installed: the extra `browser` has it",
    ).Axe()


@pytest.fixture(params=[pytest.param("desktop", marks=pytest.mark.quick), "phone"])
def device(request):
    """The window of a device."""
    return chromium.PHONE if request.param == "phone" else {}


def grave_findings(tab, axe, moment):
    """What axe finds serious or critical, in both themes: moment, theme, rule, and where and why.

    And the dialogs and canvases without a name, which it does not ask for.
    """
    found = [(moment, "both", "no name", html) for html in tab.evaluate(NAMELESS)]
    for theme in ("light", "dark"):
        settle(tab, f"page.setTheme('{theme}')")
        answer = axe.run(tab).response
        assert "button-name" in {rule["id"] for rule in answer["passes"]}  # it has looked at something
        found += [
            (moment, theme, finding["id"], node["target"], node["failureSummary"])
            for finding in answer["violations"]
            if finding["impact"] in ("serious", "critical")
            for node in finding["nodes"]
        ]
    return found


def shown(findings):
    """Findings as text, a line each."""
    return "\n".join(" | ".join(map(str, finding)).replace("\n", " ") for finding in findings)


def test_axe_finds_what_is_wrong(small, axe):
    small.evaluate(
        "element('help').style.color = 'var(--line)', "
        "['aria-label', 'title'].forEach((name) => element('back').removeAttribute(name))"
    )
    assert {(theme, rule) for _, theme, rule, *_ in grave_findings(small, axe, "start")} == {
        (theme, rule) for theme in ("light", "dark") for rule in ("button-name", "color-contrast")
    }


def test_watching_has_no_grave_finding(show, axe, device):
    tab, found = show(full_game()[1], **device), []
    for moment, script in {
        "start": "page.seek(0)",
        "middle": "page.seek(1500)",
        "following": "page.follow(7)",
        "end": "page.seek(page.film.lastTick)",
        "manual": "element('manual').showModal()",
    }.items():
        settle(tab, script)
        found += grave_findings(tab, axe, moment)
    assert found == [], shown(found)


def test_playing_has_no_grave_finding(play, axe, device):
    tab, _ = play(device, advisor="upstart-1")
    found = grave_findings(tab, axe, "start")
    for _ in range(8):
        tick = tab.evaluate("page.game.now.tick")
        evaluate(
            tab,
            "page.game.whyNot(0) ? page.game.hold() : page.game.attack(0)",
            until=f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick",
        )
    settle(tab)
    found += grave_findings(tab, axe, "middle")
    for panel in ("advice", "agent_view"):
        settle(tab, f"page.game.toggle('{panel}')")
        soon(tab, f"!element('{panel}').hidden")
        found += grave_findings(tab, axe, panel)
    for dialog in ("rules", "resigning"):
        settle(tab, f"element('{dialog}').showModal()")
        found += grave_findings(tab, axe, dialog)
        tab.evaluate(f"element('{dialog}').close()")
    # the bots play on at once
    evaluate(tab, "page.game.resign()", until="element('ending').open && page.film.isComplete")
    settle(tab)
    found += grave_findings(tab, axe, "end card")
    settle(tab, "element('ending').close()")
    found += grave_findings(tab, axe, "after the end")
    assert found == [], shown(found)
