"""The page in a real browser: it shows what was played, asks for nothing else, and is smooth."""

import re
import zlib
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from territorial.browser.film import LARGEST_TROOPS, film_header, write_film
from territorial.browser.film import show as film_show
from territorial.browser.panels import Moments
from territorial.browser.server import Feed
from territorial.browser.web import write_page
from territorial.render import owner_colors, render_board
from territorial.render.figures import percent
from territorial.replay import Frame
from tests.browser.chromium import soon
from tests.browser.games import (
    FULL_SEATS,
    SMALL,
    SMALL_SEATS,
    film_of,
    full_game,
    small_game,
)
from tests.browser.support import (
    COUNT,
    assert_in_the_middle,
    assert_soon,
    board_of,
    box_of,
    click,
    evaluate,
    middle_of,
    pixels_of,
    place_of,
    press,
    rows_of,
    serving,
    settle,
    spot_at,
    text_of,
)
from tests.replay.support import recorded_game

pytestmark = pytest.mark.browser


# ---- what is shown ---------------------------------------------------------------------------------


@pytest.mark.quick
def test_it_opens_from_disk_and_says_what_it_is(full):
    assert text_of(full, "#title") == full.evaluate("document.title") == "mixed-1, seed 0"
    assert text_of(full, "#about") == "32 players on 256 x 256 cells, lakes"
    assert text_of(full, "#clock") == "tick 0 of 5,066"
    assert len(rows_of(full)) == 32
    assert "that holds 90 % of the land" in text_of(full, "#manual")


@pytest.mark.quick
def test_any_moment_can_be_sought_back_and_forth(full):
    frames, _ = full_game()
    assert full.evaluate("page.film.length") == len(frames)
    for index in [*np.random.default_rng(0).integers(0, len(frames), 25), len(frames) - 1, 0, 1, 0]:
        settle(full, f"page.seek({frames[index].tick})")
        np.testing.assert_array_equal(board_of(full), frames[index].owner)
        assert text_of(full, "#clock") == f"tick {frames[index].tick:,} of 5,066"
        assert full.evaluate("Number(element('seek').value)") == frames[index].tick
    settle(full, "page.seek(1239)")  # between two frames: the one before
    assert text_of(full, "#clock") == "tick 1,230 of 5,066"


def test_whole_boards_that_change_are_found_too(show):
    """Boards of noise, so that the page keeps many of them and goes back to the nearest."""
    rng, frames = np.random.default_rng(1), []
    for number in range(40):
        owner = rng.choice(np.array([0, 1, 2, 3, 4, 5, 255], np.uint8), (40, 56))
        land = np.bincount(owner.ravel(), minlength=256)[1:6]
        frames.append(
            Frame(
                7 * number,
                owner,
                land,
                rng.choice(np.array([0, 1, 2**31, 2**32, LARGEST_TROOPS]), 5),
                rng.random(5) < 0.8,
            )
        )
    tab = show(film_of(SMALL, SMALL_SEATS, frames))
    for index in rng.integers(0, 40, 30):
        settle(tab, f"page.seek({7 * index})")
        np.testing.assert_array_equal(board_of(tab), frames[index].owner)
        found = tab.evaluate(
            "[[...page.film.land[page.frame]].slice(1, 6), [...page.film.troops[page.frame]].slice(1), "
            "[...page.film.alive[page.frame]].slice(1)]"
        )
        numbers = frames[index].land, frames[index].troops, frames[index].alive.astype(int)
        assert found == [one.tolist() for one in numbers]


def test_attacks_are_those_of_the_game(full):
    frames, _ = full_game()
    for index in (0, 3, 100, 300, len(frames) - 1):
        attacks = full.evaluate(f"page.film.attacks[{index}]")
        rows = [[attack[name] for name in ("seat", "target", "troops", "cells")] for attack in attacks]
        assert sorted(row[:3] for row in rows if row[2]) == frames[index].attacks.tolist()
        before, after = frames[max(0, index - 1)].owner, frames[index].owner
        is_taken = (before != after) & (after > 0)
        taken = Counter(zip(after[is_taken].tolist(), before[is_taken].tolist(), strict=True))
        assert {(seat, target): cells for seat, target, _, cells in rows if cells} == taken


def test_the_board_looks_as_in_the_pictures(small):
    frames, _ = small_game()
    size = small.evaluate("page.painter.size")
    for index in (0, 40, len(frames) // 2, len(frames) - 1, 3):
        settle(small, f"page.seek({frames[index].tick})")
        np.testing.assert_array_equal(
            pixels_of(small), render_board(frames[index].owner, 5, size, "mountains")
        )


def test_the_standings_are_those_of_the_game(full):
    frames, _ = full_game()
    for index in (0, 60, 200, len(frames) - 1):
        frame = frames[index]
        settle(full, f"page.seek({frame.tick})")
        land, troops, alive = frame.land.tolist(), frame.troops.tolist(), frame.alive
        living = sorted(np.flatnonzero(alive), key=lambda p: (-land[p], -troops[p], p))
        num_land, rows = int((frame.owner != 255).sum()), rows_of(full)
        assert [seat - 1 for seat, _, _ in rows[: len(living)]] == living
        for place, (seat, kind, texts) in enumerate(rows[: len(living)], start=1):
            share = 1000 * land[seat - 1] // num_land / 10
            assert texts[:3] == [str(place), f"P{seat} {FULL_SEATS[seat - 1]}", f"{share:.1f}%"]
            assert kind == "row"
        died, out = {p: int(frame.death_tick[p]) for p in np.flatnonzero(~alive)}, rows[len(living) :]
        assert [texts[1:] for _, _, texts in out] == [["out at", f"{died[seat - 1]:,}"] for seat, _, _ in out]
        assert all(a >= b for a, b in pairwise(died[seat - 1] for seat, _, _ in out))
        assert text_of(full, "#left") == f"{len(living)} of 32 players"
    settle(full, f"page.follow({out[-1][0]})")
    assert text_of(full, "#followed .text").endswith(f": out at tick {died[out[-1][0] - 1]:,}")


def test_a_share_is_rounded_as_python_does_it(small):
    rng = np.random.default_rng(0)
    wholes = rng.integers(1, 2**20, 3000)
    pairs = [
        [int(part), int(whole)] for whole in wholes for part in (rng.integers(0, whole + 1), whole - 1, whole)
    ]
    assert small.evaluate(f"{pairs}.map(([part, whole]) => percent(part, whole))") == [
        percent(part, whole) for part, whole in pairs
    ]


def test_charts_show_everybodys_land_and_troops(full):
    frames, _ = full_game()
    settle(full, "page.seek(3000)")
    box = box_of(full, "element('land').querySelector('canvas')")
    colors = {tuple(color) for color in owner_colors(32)[:33].tolist()}
    column = full.evaluate(
        "[canvas = page.charts[0].canvas] && [...canvas.getContext('2d').getImageData("
        "Math.round(canvas.width / 2), 0, 1, page.charts[0].height).data]"
    )
    seen = [tuple(column[at : at + 3]) for at in range(0, len(column), 4)]
    assert len(set(seen) & colors) > 5
    frame = frames[full.evaluate("page.film.frameAt(page.film.lastTick / 2)")]
    leader = int(frame.land.argmax())
    share = frame.land[leader] / (frame.owner != 255).sum()
    count = seen.count(tuple(owner_colors(32)[leader + 1].tolist()))
    assert abs(count - share * len(seen)) <= 2  # a band as wide as its share
    # a click goes there
    click(
        full,
        (box["left"] + box["width"] / 2, box["top"] + 20),
        until="Math.abs(page.tick - page.film.lastTick / 2) < 20",
    )
    full.mouse.move(box["left"] + box["width"] - 3, box["top"] + box["height"] - 30)
    assert "P6 metronome: " in soon(full, "!element('tip').hidden && element('tip').textContent")


def test_the_followed_player_s_launches_and_thoughts_are_shown_at_any_moment(open_page):
    replay = recorded_game(SMALL, ("champion", "banker", "turtle", "novice", "random"), seed=1)[1]
    header, frames = film_show(replay, "a game")
    feed = Feed()
    feed.append(b"".join(write_film(header | {"play_on": "territorial play --from 'a game.replay'"}, frames)))
    feed.close()
    rows = replay.launches[replay.launches[:, 1] == 1]
    (at, _, target, fraction), later = rows[1].tolist(), int(rows[2, 0])
    with serving(feed, Moments(lambda: replay).look) as url:
        tab = open_page(url)
        soon(tab, "page.film.isComplete && page.painter")
        assert tab.evaluate("element('launches').hidden && element('moment').hidden")
        settle(tab, f"page.play(false); page.follow(1); page.seek({at})")
        assert tab.evaluate("element('launches').ariaLabel") == f"launches of P1 champion-1: {len(rows)}"
        said, share = "document.querySelector('#moment .decided').textContent", f"{fraction / 10.24:.0f} %"
        whom = "free land" if target == 0 else f"P{target}"
        assert re.match(f"launches {fraction / 10.24:.1f}?.* % at {whom}", tab.evaluate(said)), share
        settle(tab, f"page.seek({at} + 10)")
        assert f"holds, and launches at tick {later:,}: " in tab.evaluate(said) or later == at + 10
        settle(tab, "page.seek(0)")
        press(tab, "p", until="document.querySelectorAll('#advice li').length > 1")
        assert text_of(tab, "#advice h2") == "What champion-1 would do"
        press(tab, "o", until="document.querySelectorAll('#agent_view .planes canvas').length === 6")
        assert " cells in " in text_of(tab, "#forecast")
        settle(tab, "page.follow(2)")
        soon(tab, "document.querySelector('#advice h2').textContent === 'What banker-1 would do'")
        press(tab, "o", until="element('agent_view').hidden")
        settle(tab, f"page.seek({at})")
        press(
            tab,
            "j",
            until=f"element('status').textContent.includes(\"--from 'a game.replay' --tick {at} --seat 2\")",
        )
        box = tab.evaluate("(({ left, top }) => [left, top])(element('launches').getBoundingClientRect())")
        settle(tab, "page.follow(1)")
        place = tab.evaluate(f"placeOf({at}, element('launches').clientWidth, page.film.lastTick)")
        tab.mouse.move(box[0] + place, box[1] + 10)
        assert f"tick {at:,}: " in soon(tab, "!element('tip').hidden && element('tip').textContent")
        settle(tab, f"page.seek({at}); page.hide()")
        assert soon(tab, "element('launches').ariaLabel.endsWith(': 1')")
        press(tab, "Escape", until="element('launches').hidden && element('moment').hidden")


def test_chances_are_a_curve_whose_largest_losses_are_read_and_gone_to(show):
    frames, film = small_game()
    header = film_header(SMALL, SMALL_SEATS, "chances", map_kind="mountains", terrain="mountains")
    places = [[1.0 + seat, 2.0, 1.0, 4.0, 5.0] for seat in (0, 0.5, 3, 3, 2, 4)]
    chances = {"agents": "champion-1", "games": 50, "ticks": [0, 100, 200, 300, 400, 500], "places": places}
    tab = show(b"".join(write_film(header | {"chances": chances}, frames)))
    assert "of 50 games from each moment; champion-1 plays on for agents" in text_of(tab, "#chances p")
    settle(tab, "page.follow(1)")
    items = "[...document.querySelectorAll('#chances li')].map((item) => item.textContent)"
    losses = [
        "ticks 100 to 200: from place 1.5 to 4.0",
        "ticks 400 to 500: from place 3.0 to 5.0",
        "ticks 0 to 100: from place 1.0 to 1.5",
    ]
    assert soon(tab, f"{items}.length === 3 && {items}") == losses
    for _ in range(60):  # by keyboard to the second of them
        if tab.evaluate(f"document.activeElement.textContent === {losses[1]!r}"):
            break
        tab.keyboard.press("Tab")
    press(tab, "Enter", until="page.tick === 400")
    settle(tab, "page.seek(250); document.querySelector('#hide').click()")
    assert soon(tab, f"{items}.length === 2 && {items}") == [losses[0], losses[2]]
    assert show(film).evaluate("element('chances').hidden")


# ---- playing ---------------------------------------------------------------------------------------


def test_it_plays_a_whole_game(show):
    tab = show(full_game()[1], COUNT)
    evaluate(tab, "page.setSpeed(800), page.play(true), pictures = 0", until="!page.isPlaying")
    assert text_of(tab, "#status") == "The end: P6 metronome is first with 90.1% of the land."
    assert text_of(tab, "#clock") == "tick 5,066 of 5,066"
    np.testing.assert_array_equal(board_of(tab), full_game()[0][-1].owner)
    assert tab.evaluate("pictures") > 60


def test_it_begins_to_play_by_itself(open_page, tmp_path):
    write_page(tmp_path / "game.html", small_game()[1])
    slow = "addEventListener('load', () => page.setSpeed(5))"  # 500 s, so that it is seen before its end
    tab = open_page((tmp_path / "game.html").as_uri(), slow)
    soon(tab, "page.tick > 1")
    assert tab.evaluate("document.body.classList.contains('is-playing')")


KEYS = [
    ("Space", "page.isPlaying && page.tick > 0"),
    ("Space", "!page.isPlaying"),
    ("End", "page.frame === page.film.length - 1"),
    (",", "page.frame === page.film.length - 2"),
    ("<", "page.frame === page.film.length - 12"),
    (".", "page.frame === page.film.length - 11"),
    ("Home", "page.frame === 0"),
    ("]", "page.speed === 400 && element('speed').value === '400'"),
    ("[", "page.speed === 200"),
    ("[", "page.speed === 100"),
    ("l", "page.followed === Number(document.querySelectorAll('.rows .row')[0].dataset.seat)"),
    ("PageDown", "page.followed === Number(document.querySelectorAll('.rows .row')[1].dataset.seat)"),
    ("PageUp", "page.followed === Number(document.querySelectorAll('.rows .row')[0].dataset.seat)"),
    ("m", "page.view.scale > fitted && (window.middle = page.view.x)"),
    ("ArrowLeft", "page.view.x === middle + PAN"),
    ("m", "page.view.x === middle"),
    ("Escape", "page.followed === 0"),
    ("w", "page.view.scale === fitted && page.view.isFitted"),
    ("+", "page.view.scale > fitted"),
    ("-", "page.view.scale === fitted && page.view.isFitted"),
    ("t", "document.documentElement.dataset.theme !== theme"),
    ("?", "element('manual').open"),
]
BUTTONS = [
    ("#forth", "page.frame === 1"),
    ("#back", "page.frame === 0"),
    ("#play", "page.isPlaying && page.frame > 0"),
    ("#play", "!page.isPlaying"),
    ("#seek", "Math.abs(page.tick - page.film.lastTick / 2) < 100"),
    ("#zoom [data-key='+']", "page.view.scale > fitted"),
    ("#zoom [data-key=w]", "page.view.scale === fitted"),
    (".rows .row", "page.followed"),
    ("#followed button", "!page.followed && element('followed').hidden"),
    ("#help", "element('manual').open"),
]
REMEMBER = "window.fitted = page.view.scale, window.theme = document.documentElement.dataset.theme"


@pytest.mark.quick
def test_keys(full):
    full.evaluate(REMEMBER)
    for key, is_done in KEYS:
        press(full, key, until=is_done)
    # belongs to the dialog
    press(full, "End", "Escape", until="!element('manual').open")
    assert full.evaluate("page.frame") == 0


def test_buttons(full):
    full.evaluate(REMEMBER)
    for selector, is_done in BUTTONS:
        click(full, selector, until=is_done)
    full.evaluate("element('manual').close()")
    full.evaluate("element('speed').value = '3200', element('speed').dispatchEvent(new Event('change'))")
    assert full.evaluate("page.speed") == 3200


def test_playing_again_at_the_end_begins_anew(small):
    settle(small, "page.seek(1e9)")
    evaluate(small, "page.speed = 0, page.play(true)", until="page.frame === 0")
    evaluate(small, "page.setSpeed(200)", until="page.frame > 0")


# ---- following, zooming ----------------------------------------------------------------------------


def test_a_click_on_the_board_follows_a_seat_and_pales_the_others(small):
    frames, _ = small_game()
    frame = frames[len(frames) // 3]
    settle(small, f"page.seek({frame.tick})")
    usual, seat = pixels_of(small), int(frame.land.argmax()) + 1
    row, column = middle_of(frame.owner, seat)
    click(small, place_of(small, row, column), until=f"page.followed === {seat}")
    settle(small)
    paled, size = pixels_of(small), small.evaluate("page.painter.size")
    is_own = np.kron(np.isin(frame.owner, [seat, 0, 255]), np.ones((size, size), bool))
    np.testing.assert_array_equal(paled[is_own], usual[is_own])
    assert (paled[~is_own] != usual[~is_own]).any(axis=1).all()
    share = 1000 * frame.land[seat - 1] // (frame.owner != 255).sum() / 10
    assert text_of(small, "#followed .text").startswith(
        f"P{seat} {SMALL_SEATS[seat - 1]}: {share:.1f}% of the land, "
    )
    assert [number for number, kind, _ in rows_of(small) if "is-followed" in kind] == [seat]
    # once more, and nobody is followed
    click(small, place_of(small, row, column), until="page.followed === 0")
    settle(small)
    np.testing.assert_array_equal(pixels_of(small), usual)


def test_the_followed_row_stays_in_sight(full):
    for tick in (0, 900, 6000, 1500, 100):
        settle(full, f"page.seek({tick}), page.followed || page.follow(27)")
        assert full.evaluate("""(() => {
            const row = document.querySelector(".is-followed").getBoundingClientRect();
            const list = element("standings").getBoundingClientRect();
            const head = document.querySelector(".row.head").getBoundingClientRect();
            return row.top >= head.bottom - 1 && row.bottom <= list.bottom + 1;
        })()""")


def test_pointing_at_the_board_and_at_the_standings_tells_who_it_is(small):
    frames, _ = small_game()
    frame = frames[len(frames) // 3]
    settle(small, f"page.seek({frame.tick})")
    kinds = {0: "free land", 255: "water or mountains", 3: "P3 turtle"}
    for code in (code for code in kinds if (frame.owner == code).any()):
        row, column = middle_of(frame.owner, code)
        small.mouse.move(*place_of(small, row, column))
        text = f"{kinds[code]} (row {row}, column {column})"
        soon(small, f"element('tip').textContent.split('\\n')[0] === {text!r} && !element('tip').hidden")
    seat, _, _ = rows_of(small)[1]
    x, y = small.evaluate(
        "[box = document.querySelectorAll('.rows .row')[1].getBoundingClientRect()] && "
        "[box.left + 50, box.top + 9]"
    )
    small.mouse.move(x, y)
    soon(small, f"page.hovered === {seat} && element('tip').hidden")


def test_zooming_keeps_what_is_under_the_pointer_and_dragging_moves_it(full):
    x, y = 270, 310
    spot = spot_at(full, x, y)
    full.mouse.move(x, y)
    for _ in range(4):
        full.mouse.wheel(0, -300)
    assert_soon(lambda: spot_at(full, x, y), pytest.approx(spot, abs=0.01))
    soon(full, "page.view.scale > 16")
    full.mouse.down()
    for step in range(1, 6):
        full.mouse.move(x - 10 * step, y + 4 * step)
    full.mouse.up()
    assert_soon(lambda: spot_at(full, x - 50, y + 20), pytest.approx(spot, abs=0.01))
    assert full.evaluate("page.followed") == 0  # that was no click
    for _ in range(9):
        full.mouse.wheel(0, 900)
    soon(full, "page.view.isFitted")


def test_the_view_moves_along_with_a_followed_seat_until_it_is_dragged(full):
    settle(full, "page.seek(2000), page.view.zoom(4), page.follow(6)")
    settle(full, "page.seek(4000)")
    assert_in_the_middle(full, 6)
    before = full.evaluate("[page.view.x, page.view.y]")
    evaluate(full, "page.setSpeed(1600), page.play(true)", until="page.tick > 4500")
    assert full.evaluate("[page.view.x, page.view.y]") != before
    full.evaluate("page.dragged(40, 0)")
    before = full.evaluate("[page.view.x, page.view.y]")
    soon(full, "!page.isPlaying")
    assert full.evaluate("[page.view.x, page.view.y]") == before


@pytest.mark.parametrize(("width", "height"), [(1600, 1000), (1280, 800), (800, 500), (390, 844)])
def test_it_fits_every_window(full, width, height):
    full.set_viewport_size({"width": width, "height": height})
    soon(full, "page.view.isFitted")
    settle(full)
    boxes = full.evaluate(
        "Object.fromEntries(['cells', 'view', 'play', 'seek', 'clock', 'title', 'speed'].map((id) => "
        "[id, JSON.parse(JSON.stringify(element(id).getBoundingClientRect()))]))"
    )
    cells, view = boxes["cells"], boxes["view"]
    assert max(cells["width"] - view["width"], cells["height"] - view["height"]) <= 0.5
    assert cells["width"] > 200
    for box in boxes.values():
        assert -0.5 <= box["left"] <= box["right"] <= width + 0.5
        assert box["bottom"] <= height + 0.5
    assert full.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark(full):
    """That letters can be read on it is found out by axe."""
    for theme, least, most in (("light", 200, 255), ("dark", 0, 60)):
        settle(full, f"page.setTheme('{theme}')")
        color = full.evaluate("getComputedStyle(document.body).backgroundColor")
        assert least <= np.mean([int(part) for part in re.findall(r"\d+", color)[:3]]) <= most


# ---- over HTTP -------------------------------------------------------------------------------------


# ---- films that are not as they should be ----------------------------------------------------------


def test_a_film_that_breaks_off_is_shown_as_far_as_it_goes(show):
    frames, _ = small_game()
    pieces = list(write_film(film_header(SMALL, SMALL_SEATS, ""), frames))
    tab = show(b"".join(pieces[:30]) + pieces[30][:3])
    assert tab.evaluate("page.film.length") == 30
    settle(tab, "page.seek(1e9)")
    assert text_of(tab, "#status").startswith("The film ends here: ")
    np.testing.assert_array_equal(board_of(tab), frames[29].owner)


@pytest.mark.parametrize("film", [b"no film", zlib.compress(b"\x02{]"), zlib.compress(b""), None])
def test_what_is_no_film_is_said_to_be_none(show, film):
    tab = show(small_game()[1][:9] if film is None else film)
    assert text_of(tab, "#status").startswith("Nothing can be shown: ")


def test_a_film_of_another_version_is_not_guessed_at(show):
    tab = show(
        b"".join(write_film((film_header(SMALL, SMALL_SEATS, "") | {"version": 6}), small_game()[0][:2]))
    )
    report = "Nothing can be shown: this page shows films of version 5, and this is territorial-film 6."
    assert text_of(tab, "#status") == report


def test_a_server_without_a_film_is_said_to_have_none(open_page):
    feed = Feed()
    feed.close(is_whole=False)
    with serving(feed) as url:
        tab = open_page(url)
        soon(tab, "page.error !== null")
        assert text_of(tab, "#status").startswith("Nothing can be shown: ")
        assert tab.page_errors() == []
        tab.context.close()  # it has said what it was refused


@pytest.mark.quick
def test_names_are_text(show):
    bad = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    frames, _ = small_game()
    tab = show(b"".join(write_film(film_header(SMALL, [bad] * 5, bad), frames[:5])))
    settle(tab, "page.follow(1)")
    assert text_of(tab, "#title") == bad
    assert text_of(tab, "#followed .text").startswith(f"P1 {bad}: ")
    assert rows_of(tab)[0][2][1].endswith(bad)
    assert tab.evaluate("document.querySelectorAll('img').length") == 0


def test_a_board_without_room_is_no_error(small):
    """Such as that of a page in a frame that has not been laid out yet."""
    settle(small, "element('view').style.display = 'none'")
    soon(small, "page.view.width === 0")
    settle(small, "page.seek(500)")
