"""Teams in a real browser: grouped standings, donations as arrows and in words, and a person who gives."""

import re

import numpy as np
import pytest

from territorial.browser.film import film_header, write_film
from territorial.render.board import VIEWS, player_colors, seen
from territorial.replay import Replay
from tests.browser.chromium import PHONE
from tests.browser.support import (
    assert_soon,
    board_of,
    evaluate,
    middle_of_element,
    pass_tick,
    pixels_of,
    rows_of,
    settle,
    spot_of,
    text_of,
)
from tests.play.sessions import SMALL, wait_for
from tests.replay.team_games import CONFIG, TEAMS, played

pytestmark = pytest.mark.browser

NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.fixture
def tab(show):
    _, frames, _ = played()
    return show(b"".join(write_film(film_header(CONFIG, NAMES, "teams", teams=TEAMS), frames)))


def gift_frame(least_tick=200):
    """The first frame from a tick on before which just one ally gave within the last 40 ticks."""
    _, frames, _ = played()
    for number in range(4, len(frames)):
        recent = [gift for frame in frames[number - 3 : number + 1] for gift in frame.gifts.tolist()]
        if frames[number].tick >= least_tick and len(recent) == 1 and len(frames[number].gifts):
            return frames[number]
    raise AssertionError("the game has no such gift")


def overlay_of(tab):
    return tab.evaluate("element('cells').toDataURL()")


# ---- watching --------------------------------------------------------------------------------------


def test_the_standings_are_grouped(tab):
    _, frames, _ = played()
    settle(tab, f"page.seek({frames[60].tick})")
    lines = tab.evaluate("[...document.querySelectorAll('.rows .row')].map((row) => row.textContent)")
    assert len(lines) == 9
    heads = [line for line in lines if "team" in line]
    land = {
        team: sum(frames[60].land[seat] for seat in range(6) if TEAMS[seat] == team) for team in (1, 2, 3)
    }
    order = sorted(land, key=lambda team: -land[team])
    assert [int(re.search(r"team (\d)", head)[1]) for head in heads] == order
    seats = [int(re.match(r"P(\d)", line)[1]) for line in lines if "team" not in line]
    assert [TEAMS[seat - 1] for seat in seats] == [team for team in order for _ in range(2)]
    assert f"{1000 * land[order[0]] // int((frames[60].owner != 255).sum()) / 10:.1f}%" in heads[0]
    assert text_of(tab, "#left") == "6 of 6 in 3 teams"
    assert "in 3 teams" in text_of(tab, "#about")
    assert tab.evaluate("getComputedStyle(document.querySelector('#manual .of-teams')).display") == "block"


def test_a_team_that_is_out_says_when_and_the_end_names_the_team(tab):
    game, frames, _ = played()
    settle(tab, f"page.seek({frames[-1].tick})")
    (winner,) = {TEAMS[seat - 1] for seat in range(1, 7) if game.state.doubled_place[0, seat] == 2}
    assert text_of(tab, "#status").startswith(f"The end: team {winner} is first with ")
    lines = tab.evaluate("[...document.querySelectorAll('.row.team')].map((row) => row.innerText)")
    out = [team for team in (1, 2, 3) if not frames[-1].alive[2 * team - 2 : 2 * team].any()]
    assert out
    for team in out:
        (line,) = [line for line in lines if f"team {team}" in line]
        assert "out at" in line
        assert f"{max(frames[-1].death_tick[2 * team - 2 : 2 * team]):,}" in line


def test_a_donation_is_an_arrow_and_a_line_of_text(tab):
    frame = gift_frame()
    ((giver, receiver, troops),) = frame.gifts.tolist()
    settle(tab, f"page.seek({frame.tick})")
    assert tab.evaluate("page.film.recentGifts(page.frame, GIFT_TICKS)") == [
        {"seat": giver, "target": receiver, "troops": troops, "tick": frame.tick}
    ]
    settle(tab, "page.toggle('names', false)")
    with_gift = overlay_of(tab)
    settle(tab, "page.overlay.gifts.draw = () => {}, page.toggle('names', true)")
    settle(tab, "page.toggle('names', false)")
    assert overlay_of(tab) != with_gift
    for seat, other, what in ((giver, receiver, "gives"), (receiver, giver, "is given by")):
        report = tab.evaluate(f"factsOf(page.film, page.board, page.frame, {seat})")
        assert f"{what}: P{other} {NAMES[other - 1]} {tab.evaluate(f'short({troops})')}" in report
        assert report[0].startswith(f"team {TEAMS[seat - 1]}: ")


def test_a_donation_fades_and_is_gone(tab):
    frame = gift_frame()
    later = next(f.tick for f in played()[1] if f.tick >= frame.tick + 40)
    settle(tab, f"page.seek({later})")
    recent = tab.evaluate("page.film.recentGifts(page.frame, GIFT_TICKS)")
    assert all(gift["tick"] > frame.tick for gift in recent)


def test_the_story_has_the_largest_gift_and_teams(tab):
    _, frames, _ = played()
    largest = max(gift[2] for frame in frames for gift in frame.gifts.tolist())
    highlights = [highlight["text"] for highlight in tab.evaluate("page.events.highlights(Infinity)")]
    (gift,) = [text for text in highlights if text.startswith("largest gift: ")]
    assert gift.endswith(tab.evaluate(f"short({largest})"))
    assert all(text.startswith("team ") for text in highlights if text.endswith("takes the lead"))


def test_arrows_walk_through_seats_and_not_through_teams(tab):
    settle(tab, "page.seek(600), page.follow(0)")
    followed = []
    for _ in range(6):
        settle(tab, "page.followNext(1)")
        followed.append(tab.evaluate("page.followed"))
    assert sorted(followed) == [1, 2, 3, 4, 5, 6]
    assert text_of(tab, "#followed .text").startswith(
        f"P{followed[-1]} {NAMES[followed[-1] - 1]} (team {TEAMS[followed[-1] - 1]}): "
    )


def test_games_without_teams_have_no_word_of_them(small):
    settle(small, "page.seek(500)")
    assert small.evaluate("document.querySelectorAll('.row.team').length") == 0
    assert len(rows_of(small)) == 5
    assert small.evaluate("getComputedStyle(document.querySelector('#manual .of-teams')).display") == "none"


# ---- playing ---------------------------------------------------------------------------------------

TEAM_GAME = SMALL.replace(teams=(1, 2, 1, 2), max_ticks=600)
ALLY, ENEMY = 3, 2


def gifts_in(path):
    wait_for(path.exists)
    return [tuple(row) for row in Replay.load(path).launches[:, [1, 2, 3]].tolist() if row[:2] == [1, ALLY]]


def test_who_is_an_ally_is_said(play):
    tab, _ = play(config=TEAM_GAME)
    assert text_of(tab, "#me b") == "P1 Ada, team 1"
    (ally,) = tab.evaluate(
        "[...document.querySelectorAll('#allies button')].map((button) => button.innerText)"
    )
    assert "P3 turtle" in ally
    assert tab.evaluate(f"page.game.hint({ALLY})").startswith("your ally; click to give ")
    assert tab.evaluate(f"page.game.hint({ENEMY})") == "too far: your land does not touch it"
    assert tab.evaluate("document.querySelectorAll('.row.team.is-own').length") == 1


@pytest.mark.parametrize("way", [pytest.param("click", marks=pytest.mark.quick), "key", "list"])
def test_an_ally_is_given_troops(play, tmp_path, way):
    tab, _ = play(config=TEAM_GAME)
    amount = tab.evaluate(f"page.game.amount({ALLY})")
    assert text_of(tab, "#allies button span:last-child").endswith("troops")

    def give():
        if way == "click":
            tab.mouse.click(*spot_of(tab, ALLY))
        elif way == "key":
            tab.keyboard.press("g")
        else:
            tab.evaluate("document.querySelector('#allies button').focus()")
            tab.keyboard.press("Enter")

    pass_tick(tab, give)
    settle(tab)
    assert text_of(tab, "#under-way .is-gift") == f"you gave P3 turtle {amount}"
    tab.evaluate("page.game.pause()")
    assert gifts_in(tmp_path / "game.replay") == [(1, ALLY, 256)]


def test_a_tap_chooses_an_ally_and_the_button_gives(play):
    tab, _ = play(PHONE, config=TEAM_GAME)
    tab.touchscreen.tap(*spot_of(tab, ALLY))
    amount = tab.evaluate(f"page.game.amount({ALLY})")
    assert_soon(lambda: text_of(tab, "#send"), f"give {amount} to P3 turtle")
    assert tab.evaluate("page.game.now.tick") == 0
    settle(tab, "element('send').scrollIntoView()")
    pass_tick(tab, lambda: tab.touchscreen.tap(*middle_of_element(tab, "#send")))
    settle(tab)
    assert text_of(tab, "#under-way .is-gift") == f"you gave P3 turtle {amount}"


def test_an_ally_that_is_full_says_why_not(play):
    tab, _ = play(config=TEAM_GAME.replace(hard_cap=10, soft_cap=5))
    reason = "has all the troops that its land can hold"
    assert tab.evaluate(f"page.game.hint({ALLY})") == reason
    tab.keyboard.press("g")
    assert_soon(lambda: text_of(tab, "#said"), f"P3 turtle: {reason}.")
    assert tab.evaluate("page.game.now.tick") == 0


def test_own_land_and_that_of_allies_have_patterns_for_eyes_of_every_kind_and_labels_have_teams(play):
    tab, _ = play(config=TEAM_GAME)
    evaluate(
        tab,
        "[page.texts = [], page.overlay.labels.context.fillText = (text) => page.texts.push(text), "
        "page.toggle('density')]",
        until="page.texts.some((text) => text.startsWith('T1 P3')) && page.painter.patterns[1]",
    )
    settle(tab)
    pixels, size = pixels_of(tab), tab.evaluate("page.painter.size")
    owner = board_of(tab).repeat(size, 0).repeat(size, 1)
    ink = np.array(tab.evaluate("[...page.painter.ink]"), np.uint32).view(np.uint8).reshape(-1, 4)[:, :3]
    parts = [(pixels[owner == seat] == ink[seat]).all(1).mean() for seat in (1, ALLY, ENEMY, 4)]
    assert 0.15 < parts[0] < 0.3
    assert 0.02 < parts[1] < 0.1
    assert parts[2:] == [0, 0]
    colors = np.vstack(
        [player_colors(250), *(player_colors(250, np.arange(250) % n + 1) for n in (2, 5, 50))]
    )
    inks = np.array(
        tab.evaluate(
            "(words) => words.map(inkOf)",
            ((colors.astype(np.uint32) << (0, 8, 16)).sum(1) | 255 << 24).tolist(),
        ),
        np.uint32,
    )
    for view in VIEWS:
        light, dark = (seen(rgb, view)[:, 0] for rgb in (colors, inks.view(np.uint8).reshape(-1, 4)[:, :3]))
        assert np.abs(light - dark).min() > 15, view  # of 100, from black to white


def test_games_without_teams_have_no_list_of_allies(play):
    tab, _ = play(config=SMALL)
    assert tab.evaluate("element('allies').getClientRects().length") == 0
    tab.keyboard.press("g")
    assert_soon(lambda: text_of(tab, "#said"), "You have no ally to give to.")
