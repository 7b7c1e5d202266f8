"""What players look at: densities, forecasts, attacks on them, who falls, and shares of their own on keys."""

import pytest

from territorial.browser.commands import PlayerCommand
from tests.browser.chromium import PHONE, soon
from tests.browser.games import full_game
from tests.browser.support import assert_soon, click, middle_of_element, pass_tick, press, ready, settle
from tests.browser.test_play_page import TWO, is_legal
from tests.play.test_session import DEADLY, LONG

pytestmark = pytest.mark.browser


@pytest.mark.quick
def test_densities_are_read_and_seen_in_the_standings_and_on_labels(full):
    frame = full_game()[0][100]
    settle(full, f"page.seek({frame.tick})")
    chips, labels = full.evaluate("""[
        [...document.querySelectorAll(".rows .row:not(.is-out)")].map(({ dataset, lastChild: chip }) =>
            [dataset.seat - 1, chip.textContent, DENSITY_COLORS.indexOf(chip.dataset.fill)]),
        element("cells").toDataURL()]""")
    exact = {seat: frame.troops[seat] / frame.land[seat] for seat in frame.alive.nonzero()[0].tolist()}
    assert {seat: text for seat, text, _ in chips} == {
        seat: f"{int(10 * value) / 10:.1f}" if value < 9.95 else str(int(value))
        for seat, value in exact.items()
    }
    levels = [level for seat, _, level in sorted(chips, key=lambda chip: exact[chip[0]])]
    assert 0 <= levels[0] < sorted(levels)[len(levels) // 2] < levels[-1] == max(levels), levels
    settle(full, "element('density').click()")
    assert full.evaluate("element('cells').toDataURL()") != labels


@pytest.mark.quick
@pytest.mark.parametrize(("owner", "begin"), [(0, 0), (2, 600)], ids=["free land", "a player"])
def test_a_forecast_comes_true_where_all_others_hold(play, owner, begin):
    tab, game = play(config=TWO.replace(max_ticks=2000, win_percent=100), seats=("agent", "agent"))
    while tab.evaluate("page.game.now.tick") < begin or not is_legal(tab, owner):
        pass_tick(tab, lambda: tab.keyboard.press("n" if is_legal(tab) else "h"))
    tab.evaluate(
        f"[page.game.choose({owner}), element('share').value = 9] && "
        "element('share').dispatchEvent(new Event('input'))"
    )
    text = soon(tab, "element('forecast').textContent")  # none until it is known
    found, state = tab.evaluate("page.game.now.panels.forecast"), game.session._game.state
    end, taken = int(state.tick[0]) + found["ticks"], int(state.taken[0, 1, owner])
    pass_tick(tab, lambda: click(tab, "#send"))
    while tab.evaluate("page.game.now.tick") < end:
        pass_tick(tab, lambda: tab.keyboard.press("h"))
    assert [found["cells"], found["troops"]] == [state.taken[0, 1, owner] - taken, state.troops[0, 1]]
    assert text.startswith(
        f"takes {found['cells']} cells in {found['ticks']} ticks{' and ends that player' if owner else ''}\n"
    )
    soon(tab, f"{owner} === 0 || element('feed').lastChild?.textContent.includes('You have conquered P2 ')")


AIM_OF_ANOTHER_PAGE = PlayerCommand("aim", share=7, is_on=True, panel="forecast")


@pytest.mark.quick
def test_only_the_newest_aim_is_told_and_launches_do_not_wait_and_pages_share_a_session(play):
    tab, game = play()
    soon(tab, "element('forecast').textContent && !page.game.forecast.isAsking")
    tab.evaluate("""(() => {
        const { fetch } = window, answer = new Promise((done) => { page.letAnswer = done; });
        page.posts = [];
        window.fetch = async (name, options) => {
            const { do: kind, share } = JSON.parse(options.body);
            page.posts.push(`${kind} ${share}`);
            if (kind === "aim") await answer;
            return fetch(name, options);
        };
        for (const share of [5, 4, 5, 2, 1, 3]) page.game.setShare(share);
        page.game.attack(0);
    })()""")
    assert soon(tab, "page.game.now.tick && page.posts") == ["aim 5", "launch 3"]
    soon(tab, "[page.letAnswer()] && page.game.now.panels.forecast.share === 3")
    game.session.submit(AIM_OF_ANOTHER_PAGE)
    pass_tick(tab, lambda: tab.keyboard.press("h"))
    assert_soon(lambda: game.session.person.aim.share, 3)  # it is asked for again, once a decision
    game.session.submit(AIM_OF_ANOTHER_PAGE)
    posts = "page.game.now.panels.forecast.share === 7 && element('forecast').textContent && page.posts"
    assert soon(tab, posts) == ["aim 5", "launch 3", "aim 3", "hold undefined", "aim 3"]


@pytest.mark.parametrize("window", [{}, PHONE], ids=["by keyboard", "by touch"])
def test_an_attack_is_marked_and_told_and_shown_where_it_is(play, window):
    tab, _ = play(window, config=LONG, seats=DEADLY, seed=8)
    while not tab.evaluate("page.view.zoom(4), page.game.now.attackers.length"):
        pass_tick(tab, lambda: tab.evaluate("page.game.hold()"))
    soon(
        tab,
        "[`${page.game.name(page.game.now.attackers[0][0])} attacks you with `].every((text) => "
        "element('alarm').textContent.startsWith(text) && "
        "element('feed').lastChild.textContent.includes(text)) && element('alarm').offsetParent && "
        "document.body.classList.contains('is-attacked') && "
        "element('feed').role === 'log' && element('feed').ariaLive === 'polite' && "
        "element('income').innerText.includes('▲ full: nothing more is paid') && "
        "document.documentElement.scrollWidth <= innerWidth && "
        "[element('feed').scrollIntoView(), element('feed').lastChild.focus()]",
    )
    (
        tab.touchscreen.tap(*middle_of_element(tab, "#feed :last-child"))
        if window
        else tab.keyboard.press("Enter")
    )
    soon(tab, "[1, 4].includes(page.board[page.view.cellAt(page.view.width / 2, page.view.height / 2).cell])")
    while tab.evaluate("page.game.now.is_alive"):
        pass_tick(tab, lambda: tab.evaluate("page.game.hold()"))
    soon(tab, "element('feed').lastChild.textContent.includes('You are out: P')")


@pytest.mark.parametrize(
    "first",
    ["", "Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })"],
    ids=["kept", "storage denied"],
)
def test_number_keys_send_what_the_player_sets(play, first):
    tab, _ = play({"first": first})
    for change, share in (
        (lambda: [*map(tab.keyboard.press, ("?", "Shift+Tab", "Shift+Tab", "ArrowUp", "Escape"))], 8),
        (lambda: (tab.reload(), ready(tab)), 9 if first else 8),
        (
            lambda: [*map(tab.keyboard.press, ("?", "Shift+Tab", "Space", "Escape"))],
            9,
        ),  # from "close" to "reset"
    ):
        change()
        soon(tab, "document.activeElement === document.body")
        press(tab, "0", until=f"page.game.share === {share}")
