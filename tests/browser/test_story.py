"""What happened when: marks, highlights, links to a moment, what is to come hidden, and live games."""

from itertools import pairwise

import numpy as np
import pytest

from territorial.browser.film import film_header, write_film
from territorial.browser.server import Feed
from territorial.browser.web import write_page
from tests.browser.chromium import leave, soon
from tests.browser.games import (
    FULL_SEATS,
    SMALL,
    SMALL_SEATS,
    full_game,
    small_game,
)
from tests.browser.support import (
    board_of,
    box_of,
    click,
    evaluate,
    press,
    serving,
    settle,
    stop_clock,
    text_of,
)

pytestmark = pytest.mark.browser


def name(seat):
    return f"P{seat} {FULL_SEATS[seat - 1]}"


def leads_of(frames):
    """Ticks and seats from which on somebody led in land for 100 ticks at least; among equals the former."""
    runs, first = [], 1
    for frame in frames:
        land = frame.land
        if land.max() > land[first - 1]:
            first = int(land.argmax()) + 1
        if not runs or runs[-1][1] != first:
            runs.append([frame.tick, first, frame.tick])
        runs[-1][2] = frame.tick
    long = [(begun, seat) for begun, seat, ended in runs if ended - begun >= 100]
    return [lead for n, lead in enumerate(long) if n == 0 or lead[1] != long[n - 1][1]]


def test_deaths_and_changes_of_leader_are_marked(full):
    frames, _ = full_game()
    settle(full)
    last = frames[-1]
    died = sorted((int(last.death_tick[p]), int(p) + 1) for p in np.flatnonzero(~last.alive))
    marks = full.evaluate("page.timeline.marks")
    assert [(mark["tick"], mark["seat"]) for mark in marks if not mark["isLead"]] == died
    assert [(mark["tick"], mark["seat"]) for mark in marks if mark["isLead"]] == leads_of(frames)
    assert len(leads_of(frames)) > 1
    tick, seat = died[-1]
    box = box_of(full, "element('marks')")
    x, y = box["left"] + 8 + (box["width"] - 16) * tick / last.tick, box["top"] + 8
    full.mouse.move(x, y)
    soon(full, f"element('tip').textContent === 'tick {tick:,}: {name(seat)} is out'")
    click(full, (x, y), until=f"page.tick === {tick}")


def test_highlights_are_the_largest_swing_and_the_closest_fight(full):
    frames, _ = full_game()
    highlights = full.evaluate("page.events.highlights(1e9)")
    assert all(a["tick"] <= b["tick"] for a, b in pairwise(highlights))
    texts = {
        text.partition(":")[0]: (tick, text)
        for tick, text in (highlight.values() for highlight in highlights)
    }
    gains = [  # of 100 ticks, ten frames; the last frame may come sooner
        (int(gain.max()), before.tick, int(gain.argmax()) + 1)
        for before, after in zip(frames, frames[10:], strict=False)
        if after.tick - before.tick == 100
        for gain in (after.land - before.land,)
    ]
    most = max(gain for gain, _, _ in gains)
    tick, seat = next((tick, seat) for gain, tick, seat in gains if gain == most)
    share = 1000 * most // int((frames[0].owner != 255).sum()) / 10
    assert texts["largest swing"] == (tick, f"largest swing: {name(seat)} gains {share:.1f}%")
    assert texts["closest fight"] == closest_fight(frames)
    assert highlights[-1] == {"tick": frames[-1].tick, "text": "the end"}
    evaluate(
        full,
        f"element('highlights').value = '{tick}', element('highlights').dispatchEvent(new Event('change'))",
        until=f"page.tick === {tick}",
    )


def closest_fight(frames):
    """The two seats of which the weaker took most from the other within 200 ticks, found frame by frame."""
    taken = []
    for before, after in pairwise(frames):
        changed = (before.owner != after.owner) & (before.owner > 0) & (after.owner > 0)
        table = np.zeros((33, 33), int)
        np.add.at(table, (after.owner[changed], before.owner[changed]), 1)
        taken.append((after.tick, table))
    best, found = 0, None
    for n, (tick, _) in enumerate(taken):
        first = next(m for m in range(n + 1) if tick - taken[m][0] <= 200)
        both = sum(table for _, table in taken[first : n + 1])
        weaker = np.minimum(both, both.T)
        if weaker.max() > best:
            best = int(weaker.max())
            a, b = np.argwhere(weaker == best)[0]
            found = (max(0, taken[first][0]), f"closest fight: {name(a)} and {name(b)}")
    return found


def test_a_link_leads_to_a_tick_and_a_seat(open_page, tmp_path):
    write_page(tmp_path / "game.html", full_game()[1])
    tab = open_page((tmp_path / "game.html").as_uri() + "#t=1600&follow=7")
    soon(tab, "page.film.isComplete && page.tick === 1600 && page.followed === 7 && !page.isPlaying")
    assert text_of(tab, "#clock") == "tick 1,600 of 5,066"
    evaluate(tab, "location.hash = '#t=320'", until="page.tick === 320 && page.followed === 7")
    tab.evaluate("location.hash = '#t=x&follow=99'")  # neither is there
    settle(tab)
    assert tab.evaluate("[page.tick, page.followed]") == [320, 7]
    settle(tab, "page.seek(905)")
    stop_clock(tab)
    press(tab, "k", until="location.hash === '#t=900&follow=7'")
    assert "moment" in soon(tab, "!element('status').hidden && element('status').textContent")


def test_what_is_to_come_can_be_hidden(full):
    settle(full, "page.seek(1500)")
    full.keyboard.press("f")
    settle(full)
    assert text_of(full, "#clock") == "tick 1,500"
    assert full.evaluate("element('hide').getAttribute('aria-pressed')") == "true"
    assert full.evaluate("Number(element('seek').max)") == 10_000  # as long as the game might have been
    assert all(mark["tick"] <= 1500 for mark in full.evaluate("page.timeline.marks"))
    options = full.evaluate("[...element('highlights').options].slice(1).map(({ value }) => Number(value))")
    assert options
    assert max(options) <= 1500
    # Right of the present the charts are empty; the order of the bands is that of now.
    empty = """page.charts.slice(0, 2).map(({ canvas, context, width, height, plot }) => {
        const x = Math.ceil(canvas.width * 0.16), ratio = canvas.width / plot.clientWidth;
        const { data } = context.getImageData(x, 0, canvas.width - x, Math.round(height * ratio));
        return new Set(new Uint32Array(data.buffer)).size;
    })"""
    land, _ = full.evaluate(empty)
    assert land == 1
    assert full.evaluate("page.charts[0].order") == full.evaluate("page.film.standings(page.frame)")
    settle(full, "page.seek(3000)")
    assert max(mark["tick"] for mark in full.evaluate("page.timeline.marks")) > 1500
    full.evaluate("element('hide').click()")
    settle(full)
    assert full.evaluate("page.charts[0].order") == full.evaluate("page.film.standings(page.film.length - 1)")
    assert text_of(full, "#clock") == "tick 3,000 of 5,066"


@pytest.mark.quick
def test_at_the_live_end_one_stays_there_until_one_goes_elsewhere(open_page):
    frames, _ = small_game()
    pieces, feed = write_film(film_header(SMALL, SMALL_SEATS, "live"), frames), Feed()

    def send(count):
        for _ in range(count):
            feed.append(next(pieces))

    with serving(feed) as url:
        tab = open_page(url)
        tab.evaluate("page.speed = 0")  # so that it gets to the end by what is tested alone
        send(20)
        soon(tab, "page.film.length === 20 && !element('live').hidden")
        settle(tab, "page.seek(0)")  # where it is live already if the first frame came in alone
        assert not tab.evaluate("page.isLive")
        evaluate(tab, "element('live').click()", until="page.isLive && page.frame === 19")
        np.testing.assert_array_equal(board_of(tab), frames[19].owner)
        assert tab.evaluate("page.isPlaying")  # it waits
        soon(tab, "element('status').textContent === 'Live: the game is being played.'")
        assert tab.evaluate("element('live').getAttribute('aria-pressed')") == "true"
        send(40)
        soon(tab, "page.frame === 59")
        press(tab, ",", until="page.frame === 58 && !page.isLive && !page.isPlaying")
        send(10)
        soon(tab, "page.film.length === 70")
        settle(tab)
        assert tab.evaluate("page.frame") == 58  # looking back is not disturbed
        press(tab, "End", until="page.isLive && page.frame === 69")
        send(len(frames) - 70 + 1)  # and the end
        feed.close()
        soon(tab, "page.film.isComplete && !page.isPlaying && element('live').hidden")
        assert text_of(tab, "#status").startswith("The end: P")
        assert {request.url for request in tab.requests()} == {url, f"{url}film"}
        leave(tab)
