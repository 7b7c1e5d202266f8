"""Playing in a real browser: by mouse, by keyboard and by touch; what the page says, sends and shows."""

import base64
import re

import numpy as np
import pytest

import territorial
from territorial.bots import Network
from territorial.browser import session as session_module
from territorial.constants import BLOCKED, FRACTIONS
from territorial.evaluation.what_if import CostlyLaunch
from territorial.replay import Replay
from tests.bots.networks import TRAINED
from tests.browser.chromium import PHONE, leave, soon
from tests.browser.support import (
    COUNT,
    assert_soon,
    board_of,
    click,
    evaluate,
    hear,
    middle_of_element,
    pass_tick,
    pause,
    press,
    ready,
    settle,
    spot_of,
    tap,
    text_of,
)
from tests.play.mcp_clients import model_and_client
from tests.play.sessions import FREE, NAMES, SMALL, now, wait_for

pytestmark = pytest.mark.browser

# Not over while a page is late with what a test asks of it.
LONG = SMALL.replace(max_ticks=100_000, win_percent=99)
TWO = territorial.GameConfig(height=24, width=24, num_players=2, map="open", max_ticks=400)


@pytest.fixture
def replay_of(tmp_path):
    """A function that stops a game and returns its replay, which is verified."""

    def stop(game):
        leave(game.tab)
        game.session.stop()
        wait_for(lambda: game.session._is_ended)
        replay = Replay.load(tmp_path / "game.replay")
        replay.verify()
        return replay

    return stop


def launches_of(replay):
    """Tick, target and fraction of the player's launches."""
    return [tuple(row) for row in replay.launches[replay.launches[:, 1] == 1][:, [0, 2, 3]].tolist()]


def is_legal(tab, owner=FREE):
    return tab.evaluate(f"page.game.whyNot({owner}) === ''")


def hold_until_legal(tab, owner=FREE):
    while not is_legal(tab, owner):
        pass_tick(tab, lambda: tab.keyboard.press("h"))


# ---- by mouse --------------------------------------------------------------------------------------


@pytest.mark.quick
def test_a_click_on_free_land_becomes_a_launch_and_takes_cells(play, replay_of):
    tab, game = play()
    report = [text_of(tab, f"#me {part}") for part in ("b", ".facts", ".when")]
    assert report == ["P1 Ada", "12 cells, 512 troops", "tick 0 of 300, your turn"]
    x, y = spot_of(tab, FREE)
    tab.mouse.move(x, y)
    soon(tab, "element('tip').textContent.startsWith('free land: click to send 128 troops')")
    pass_tick(tab, lambda: tab.mouse.click(x, y))
    assert text_of(tab, "#under-way") == f"you attack free land with {now(game.session)['attacks'][0][1]}"
    for _ in range(3):
        pass_tick(tab, lambda: tab.keyboard.press("h"))
    land = int((board_of(tab) == 1).sum())
    assert land > 12
    assert text_of(tab, "#me .facts").startswith(f"{land} cells, ")
    assert text_of(tab, "#me .when") == "tick 40 of 300, your turn"
    assert tab.evaluate("document.querySelector('.row.is-own').dataset.seat") == "1"
    replay = replay_of(game)
    assert launches_of(replay) == [(0, FREE, FRACTIONS[6])]
    assert replay.seek(40).state.land[0, 1] == land


def test_a_click_that_is_not_legal_says_why_and_sends_nothing(play, replay_of):
    tab, game = play()
    for owner, reason in [(1, "this is your own land"), (3, "too far: your land does not touch it")]:
        tab.mouse.click(*spot_of(tab, owner))
        name = text_of(tab, f".row[data-seat='{owner}'] span:nth-child(3)")
        soon(tab, f"element('said').textContent === '{name}: {reason}.'")
    pass_tick(
        tab, lambda: (tab.keyboard.press("0"), tab.keyboard.press("n"))
    )  # leaves too few for the next front
    while is_legal(tab):
        pass_tick(tab, lambda: tab.keyboard.press("n"))
    refused = tab.evaluate("page.game.connection.send({ do: 'launch', target: 1, share: 0 })")
    assert refused == "This is your own land."  # which the session says, and the console does not
    posts = len(game.posts)
    tab.mouse.click(*spot_of(tab, FREE))
    (free,) = (one for one in now(game.session)["openings"] if one["owner"] == FREE)
    assert free["reason"].startswith("needs ")
    assert_soon(lambda: text_of(tab, "#said"), f"free land: {free['reason']}.")
    settle(tab)
    assert len(game.posts) == posts
    replay_of(game)


def test_blocked_cells_cannot_be_attacked(play):
    tab, game = play(config=territorial.GameConfig(height=64, width=64, num_players=4, max_ticks=300))
    reason = "water or mountains: no player can go there"
    tab.mouse.click(*spot_of(tab, BLOCKED))
    assert_soon(lambda: text_of(tab, "#said"), f"{reason}.")
    assert_soon(lambda: text_of(tab, "#tip"), reason)
    assert len(game.posts) == 0


def test_the_tip_is_a_line_beside_own_land_that_goes_when_the_pointer_rests(play):
    tab, _ = play(config=territorial.GameConfig(height=64, width=64, num_players=4, map="open"))
    pass_tick(tab, lambda: (tab.keyboard.press("0"), tab.keyboard.press("n")))
    for dx, dy in [(0, 0), (-40, -20), (30, 30), (-60, 60), (0, -100)]:
        x, y = spot_of(tab, 1)
        tab.mouse.move(x + dx, y + dy)
        assert soon(tab, "!element('tip').hidden && [element('tip').textContent.includes('\\n')]") == [False]
        assert tab.evaluate("page.ownCellsUnder(element('tip').getBoundingClientRect())") == 0
        soon(tab, "element('tip').hidden")


def test_a_target_that_is_out_is_said_to_be_out(play):
    tab, _ = play()
    tab.evaluate("page.game.target = 3, page.game.setShare(6)")
    assert text_of(tab, "#send") == f"P3 {NAMES[2]}: too far: your land does not touch it"
    tab.evaluate("page.film.alive[page.film.length - 1][3] = 0, page.game.setShare(6)")
    assert text_of(tab, "#send") == f"P3 {NAMES[2]}: out of the game"


def line_at(tab, row, column):
    """The colour and opacity of the outlines, uint8 (4,), at a point of the board in cells."""
    return tab.evaluate(f"""(() => {{
        const {{ x, y, scale, width, height }} = page.view, copy = new OffscreenCanvas(width, height);
        const context = copy.getContext("2d", {{ willReadFrequently: true }});
        page.game.outlines.draw(context, page.view, 1);
        return [...context.getImageData(x + {column} * scale, y + {row} * scale, 1, 1).data];
    }})()""")


def test_legal_targets_are_outlined(play):
    tab, _ = play()
    settle(tab)
    row, column = np.argwhere(board_of(tab) == 1)[-1]  # its lower side is a side to free land
    assert line_at(tab, row + 1, column + 0.5) == [255, 255, 255, 255]
    assert line_at(tab, row + 0.5, column + 0.5)[3] == 0
    while is_legal(tab):
        pass_tick(tab, lambda: (tab.keyboard.press("0"), tab.keyboard.press("n")))
    settle(tab)
    row, column = np.argwhere(board_of(tab) == 1)[-1]
    assert line_at(tab, row + 1, column + 0.5)[:3] == [0, 0, 0]  # only around own land


def test_small_land_has_a_ring_around_it(play):
    """So that the player finds it among all others."""
    tab, _ = play(config=territorial.GameConfig(height=128, width=128, num_players=4, map="open"))
    settle(tab)
    middle = tab.evaluate("centerOf(page.board, 128, 1)")
    ring = f"({middle['row']} + RING_RADIUS / page.view.scale)"
    color = bytes.fromhex(tab.evaluate("page.palette.texts[1]")[1:])
    assert line_at(tab, ring, middle["column"]) == [*color, 255]
    settle(tab, "page.view.zoom(6)")  # now it is large
    assert line_at(tab, ring, middle["column"])[3] == 0


def test_who_clicks_goes_on_with_the_keys_of_the_game(play):
    tab, game = play()
    pass_tick(tab, lambda: click(tab, "#hold"))
    tick = tab.evaluate("page.game.now.tick")
    pause(tab, game.session, is_paused=True)
    pause(tab, game.session, is_paused=False)
    assert len(game.posts) == 3  # space has not held once more
    assert tab.evaluate("page.game.now.tick") == tick
    choose = "pace.value = 'step', pace.dispatchEvent(new Event('change', { bubbles: true }))"
    click(tab, "#pace")
    assert tab.evaluate("document.activeElement === element('pace')")
    tab.evaluate(f"[pace = element('pace')] && ({choose})")
    assert tab.evaluate("document.activeElement === document.body")
    pass_tick(tab, lambda: tab.keyboard.press("h"))
    for _ in range(40):
        if tab.evaluate("document.activeElement === element('pace')"):
            break
        tab.keyboard.press("Tab")
    tab.evaluate(f"[pace = element('pace')] && ({choose})")
    assert tab.evaluate("document.activeElement === element('pace')")  # by keyboard, it keeps the focus


def test_titles_name_keys_that_there_are(play):
    tab, _ = play()
    seen = "[...document.querySelectorAll('[title]')].filter((one) => one.offsetParent)"
    titles = f"{seen}.map(({{ title }}) => title)"
    for _ in ("playing", "watching again"):
        named = re.findall(r"\((.+?)\)", " ".join(tab.evaluate(titles)))
        assert len(named) > 5
        keys = {" " if key == "space" else key if len(key) > 1 else key.lower() for key in named}
        assert keys <= set(tab.evaluate("Object.keys(keysOf(page))"))
        if tab.evaluate("Boolean(page.game)"):
            # Of the others all have one meaning, on whatever page.
            assert (
                tab.evaluate("Object.keys(page.game.keys).filter((key) => key in keysOf({})).sort().join()")
                == " ,?,[,]"
            )
            press(tab, "b", until="!page.layers.names")
        tab.evaluate("page.game?.watchAgain()")


def test_a_picture_is_copied_and_that_is_said(play):
    tab, _ = play()
    tab.evaluate("navigator.clipboard.write = async (items) => { window.copied = items.length; }; 0")
    click(
        tab,
        "#picture",
        until="window.copied === 1 && element('said').textContent === 'The picture has been copied.'",
    )
    assert tab.evaluate(
        "element('link').offsetParent === null"
    )  # whose moments a game that is played has not


def test_the_buttons_do_what_their_keys_do(play, replay_of):
    tab, game = play()
    evaluate(
        tab,
        "element('share').value = 1, element('share').dispatchEvent(new Event('input'))",
        until="document.querySelector('#game output').textContent === '3.1 % = 16'",
    )
    (free,) = now(game.session)["openings"]
    assert free["least"] > 16  # raised to what a launch needs
    assert text_of(tab, "#send") == f"send {free['least']} to free land"
    pass_tick(tab, lambda: click(tab, "#send"))
    pass_tick(tab, lambda: click(tab, "#hold"))
    click(tab, "#pause", until="element('pause').textContent === 'go on'")
    click(tab, "#pause", until="element('pause').textContent === 'pause'")
    hold_until_legal(tab)
    tick = now(game.session)["tick"]
    pass_tick(tab, lambda: click(tab, "#openings button[data-owner='0']"))
    assert launches_of(replay_of(game)) == [(0, FREE, 32), (tick, FREE, 32)]


def test_what_waits_is_told_as_it_was_chosen_and_can_be_undone(play, replay_of):
    tab, game = play(pace=20, config=LONG)
    soon(tab, "page.game.now.tick >= 10")  # there is a replay from then on
    pause(tab, game.session, is_paused=True)
    tab.evaluate("page.game.setShare(9)")
    amount = tab.evaluate("short(page.game.amount(NEUTRAL))")
    tab.evaluate("page.game.attack(NEUTRAL)")
    waiting = f"Sends {amount} to free land when the game goes on"
    soon(tab, f"element('said').textContent === '{waiting}'")
    evaluate(
        tab,
        "page.game.setShare(0), page.game.choose(NEUTRAL)",
        until=f"element('said').textContent === '{waiting}'",
    )
    tab.mouse.click(*middle_of_element(tab, "#undo"))
    assert_soon(lambda: now(game.session)["queued"], None)
    soon(tab, "element('undo').hidden && element('said').textContent === ''")
    assert launches_of(replay_of(game)) == []


def test_a_game_stands_still_behind_a_dialog_and_in_a_hidden_tab(play):
    tab, game = play(pace=20, config=LONG)
    tab.keyboard.press("?")
    assert_soon(lambda: now(game.session)["is_paused"], True)
    hear(tab, game.session)
    tab.keyboard.press("Escape")
    assert_soon(lambda: now(game.session)["is_paused"], False)
    hear(tab, game.session)
    tab.evaluate(
        "Object.defineProperty(document, 'hidden', { value: true }), "
        "document.dispatchEvent(new Event('visibilitychange')), 0"
    )
    assert_soon(lambda: now(game.session)["is_paused"], True)
    soon(tab, "element('said').textContent === 'Paused while you were away; space goes on.'")


def test_pages_of_one_seat_know_of_each_other(play, open_page):
    tab, game = play()
    other = open_page(game.server.url)
    ready(other)
    for one in (tab, other):
        soon(one, "document.querySelector('#me .when').textContent.includes('2 pages play this seat')")
    leave(other)
    soon(tab, "!document.querySelector('#me .when').textContent.includes('pages')")


def test_a_server_that_is_silent_or_gone_is_noticed(play):
    tab, game = play()
    # nine seconds pass whenever the page looks at the time
    evaluate(
        tab,
        "[page.clock = performance.now, page.ahead = 0] && "
        "(performance.now = () => page.clock.call(performance) + (page.ahead += 9000), 0)",
        until="document.body.classList.contains('is-lost')",
    )
    assert text_of(tab, "#said").startswith("The server has not answered for ")
    evaluate(
        tab,
        "performance.now = page.clock, 0",
        until="!document.body.classList.contains('is-lost') && element('said').textContent === ''",
    )
    game.session.stop()
    soon(tab, "document.body.classList.contains('is-lost')")
    soon(tab, "element('said').textContent === 'Lost connection to the game: the server has stopped.'")
    tab.close()  # before it is asked whether anything was complained of: its film has broken off


# ---- by keyboard -----------------------------------------------------------------------------------


@pytest.mark.quick
def test_each_key_has_its_fraction(play, replay_of):
    tab, game = play()
    made = []
    for key, fraction in zip("1234567890", FRACTIONS, strict=True):
        hold_until_legal(tab)
        press(tab, key, until=f"page.game.share === {FRACTIONS.index(fraction)}")
        assert tab.evaluate("element('share').value") == str(FRACTIONS.index(fraction))
        tick = now(game.session)["tick"]
        pass_tick(tab, lambda: tab.keyboard.press("n"))
        made.append((tick, FREE, fraction))
    tab.mouse.move(*middle_of_element(tab, "#view"))
    tab.keyboard.down("Shift")
    for act, share in (
        (lambda: tab.keyboard.press("q"), 8),
        (lambda: tab.keyboard.press("e"), 9),
        (lambda: tab.mouse.wheel(0, 240), 5),
        (lambda: [tab.mouse.wheel(0, -50) for _ in range(3)], 7),  # a touchpad turns it by less at a time
    ):
        act()
        soon(tab, f"page.game.share === {share}")
    tab.keyboard.up("Shift")
    assert tab.evaluate("page.view.isFitted")
    assert launches_of(replay_of(game)) == made


@pytest.mark.quick
def test_a_pause_stops_the_ticks(play):
    tab, game = play(pace=20, config=LONG)
    soon(tab, "page.game.now.tick >= 30")
    pause(tab, game.session, is_paused=True)
    tick = now(game.session)["tick"]
    assert text_of(tab, "#pause") == "go on"
    is_sent = is_legal(tab)
    tab.keyboard.press("n")  # waits for the game to go on
    if is_sent:
        soon(tab, "element('said').textContent.endsWith('when the game goes on')")
    tab.keyboard.press("]")
    assert_soon(lambda: now(game.session)["pace"], 40)  # some turns of the session later
    assert now(game.session)["tick"] == tick
    assert_soon(lambda: tab.evaluate("page.film.lastTick"), tick)
    pause(tab, game.session, is_paused=False)
    soon(tab, f"page.game.now.tick > {tick}")


@pytest.mark.quick
def test_nothing_is_painted_where_nothing_moves(play):
    """Of 30 pictures that the browser could show, the page draws none, and no style animates any."""
    card = {"level": "easy", "players": 4, "map": "lakes", "name": "Ada", "seed": "3"} | {
        "levels": ["easy"],
        "maps": ["lakes"],
        "given": {},
    }
    tab, game = play({"first": COUNT}, is_paused=True, config=LONG, card=card, pace=20)
    veil = "getComputedStyle(page.game.veil).display + page.game.veil.textContent"
    begins, goes_on = (f"press space, or tap here, to {what}" for what in ("begin", "go on"))
    for act, seen in (
        (lambda: soon(tab, "element('start').open"), "none"),
        (lambda: tab.keyboard.press("Escape"), f"gridThe game has not begun{begins}"),
        (lambda: (tab.keyboard.press("Space"), soon(tab, "page.game.now.tick > 20")), "none"),
        (lambda: pause(tab, game.session, is_paused=True), f"gridPaused{goes_on}"),
        (lambda: (tab.reload(), ready(tab)), f"gridPaused{goes_on}"),
    ):
        act()
        soon(tab, f"({veil}).startsWith({seen!r})")
        assert_soon(lambda: tab.evaluate("page.game.now.is_paused && countPictures()") or 0, 0)
    click(tab, "#veil button", until=f"({veil}).startsWith('none') && !page.game.now.is_paused")


def test_the_pace_can_be_changed(play):
    tab, game = play(pace=40, config=LONG)
    for key, pace in [("]", 80), ("]", 160), ("[", 80), ("[", 40), ("[", 20)]:
        press(tab, key, until=f"page.game.now.pace === {pace} && element('pace').value === '{pace}'")
    tab.evaluate("element('pace').value = 'step', element('pace').dispatchEvent(new Event('change'))")
    assert_soon(lambda: now(game.session)["pace"], "step")
    hear(tab, game.session)
    tab.evaluate("page.game.keys[']'](), page.game.keys[']'](), 0")  # twice before there is an answer
    assert_soon(lambda: now(game.session)["pace"], 40)
    assert_soon(lambda: tab.evaluate("[page.game.now.pace, element('pace').value]"), [40, "40"])


def test_to_resign_is_asked_once(play):
    tab, game = play()
    press(tab, "r", until="element('resigning').open")
    # no command while the page asks
    # "play on" has the focus
    press(tab, "n", "Enter", until="!element('resigning').open")
    assert len(game.posts) == 0
    press(tab, "r", until="element('resigning').open")
    press(tab, "Tab", "Enter")
    assert_soon(lambda: now(game.session)["has_resigned"], True)
    soon(tab, "page.game.now.has_resigned && page.film.lastTick >= 30")  # bots play on


def play_out(tab, hold, attack):
    """Play until the game or the player's part in it is over; return who was attacked."""
    targets = set()
    while not tab.evaluate("page.game.now.is_over || !page.game.now.is_alive"):
        owner = next((owner for owner in (2, FREE) if is_legal(tab, owner)), None)
        if owner is None:
            pass_tick(tab, hold)
        else:
            attack(owner)
            targets.add(owner)
    return targets


def test_a_whole_game_by_keyboard_alone(play, replay_of):
    tab, game = play(config=TWO, seats=("agent", "novice"))
    tab.keyboard.press("7")

    def attack(owner):
        for _ in range(40 if owner else 0):
            if tab.evaluate("document.activeElement.dataset.owner") == str(owner):
                break
            tab.keyboard.press("Tab")
        pass_tick(tab, lambda: tab.keyboard.press("Enter" if owner else "n"))

    assert play_out(tab, lambda: tab.keyboard.press("h"), attack) >= {2, FREE}
    soon(tab, "element('ending').open")
    report = now(game.session)
    assert text_of(tab, "#ending h2") == {1: "You win", 2: "The end: place 2 of 2"}[report["place"]]
    assert text_of(tab, "#ending code") == report["replay"]
    ticks = report["tick"]
    tab.evaluate("page.speed = 0")  # so that it never plays to the end
    for key in ("Shift+Tab", "Shift+Tab", "Enter"):  # from "close" to "watch again"
        tab.keyboard.press(key)
    soon(tab, "!page.game && !document.body.classList.contains('is-in-game') && page.isPlaying")
    soon(tab, "page.frame === 0 && document.activeElement === document.body")  # no longer the button
    # keys are those of watching
    press(tab, "Space", until="!page.isPlaying")
    press(tab, "End", until=f"page.film.ticks[page.frame] === {ticks}")
    replay = replay_of(game)
    assert (replay.num_ticks, replay.is_over) == (ticks, True)
    assert {target for _, target, _ in launches_of(replay)} == {FREE, 2}


def test_the_end_card_names_the_costliest_launch_and_leads_back_to_it(play, monkeypatch):
    found = CostlyLaunch(tick=10, target=FREE, fraction=384, held=1.25, launched=1.9, games=48, endings=30)
    monkeypatch.setattr(session_module, "costliest_launch", lambda *_, **__: found)
    tab, _ = play(config=TWO.replace(max_ticks=30), seats=("agent", "novice"))
    for _ in range(3):
        pass_tick(tab, lambda: tab.keyboard.press("h"))
    soon(tab, "!document.querySelector('#ending [value=retry]').hidden")
    said = text_of(tab, "#ending .costliest")
    assert ": tick 10, 38 % at free land: from place 1.3 to 1.9 (means of 48 games," in said
    with tab.expect_request("**/act") as asked:
        click(tab, "#ending [value=retry]", until="!element('ending').open")
    assert asked.value.post_data_json == {"do": "take_over", "tick": 10, "seat": 1}


# ---- by touch --------------------------------------------------------------------------------------


def test_a_whole_game_by_taps_on_a_phone(play, replay_of):
    tab, game = play(config=TWO, seats=("agent", "novice"), window=PHONE)

    def touching(selector):
        return lambda: tap(tab, selector)

    def attack(owner):
        posts = len(game.posts)
        tap(tab, spot_of(tab, owner), until=f"page.game.target === {owner}")
        assert len(game.posts) == posts  # chosen, and not yet sent
        pass_tick(tab, touching("#send"))

    assert play_out(tab, touching("#hold"), attack) >= {2, FREE}
    soon(tab, "element('ending').open")
    tab.evaluate("page.speed = 0")  # so that it never plays to the end
    tap(tab, "#ending button[value='again']", until="!page.game && page.isPlaying")
    replay = replay_of(game)
    assert replay.is_over
    assert {target for _, target, _ in launches_of(replay)} == {FREE, 2}


@pytest.mark.parametrize(("width", "height"), [(390, 844), (360, 640), (844, 390)])
def test_what_is_touched_is_large_enough(play, width, height):
    tab, _ = play({"width": width, "height": height, "is_touched": True})
    sizes = tab.evaluate(
        "[...document.querySelectorAll('button, select, input')].filter((one) => one.offsetParent && "
        "!one.closest('dialog')).map((one) => [one.id || one.title || one.textContent, "
        "one.getBoundingClientRect().width, one.getBoundingClientRect().height])"
    )
    assert len(sizes) > 8
    assert [size for size in sizes if min(size[1:]) < 44] == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    shown = tab.evaluate(
        "['view', 'share', 'send', 'pause'].map((id) => element(id).getBoundingClientRect().bottom)"
    )
    if height > width:
        assert max(shown) <= height  # without scrolling


@pytest.mark.parametrize(("width", "height"), [(1100, 700), (1366, 650), (1366, 768), (1440, 900)])
def test_nothing_is_cut_off_or_covered_in_a_window(play, width, height):
    tab, _ = play(
        config=territorial.GameConfig(max_ticks=300),
        seats=("agent", *["novice"] * 31),
        names=("Ada", *["novice"] * 31),
    )
    tab.set_viewport_size({"width": width, "height": height})
    tab.evaluate(
        "page.game.target = 9, page.game.now.openings.length = 1;"
        "page.game.now.number = Infinity;"  # no other situation comes after it
        "for (let n = 2; n < 18; n++) page.game.now.openings.push({ owner: n, cells: 9, reason: '' })"
    )
    settle(tab, "page.game.setShare(6)")
    chart = "element('land')"
    assert tab.evaluate(f"!{chart}.offsetParent || {chart}.getBoundingClientRect().bottom <= innerHeight")
    assert tab.evaluate("element('standings').offsetHeight") >= 120
    if width / height > 16 / 9:  # two columns
        rows = tab.evaluate(
            "[...document.querySelectorAll('.rows .row')].map((row) => row.getBoundingClientRect().bottom)"
        )
        assert sum(bottom <= height for bottom in rows) >= 27
        assert tab.evaluate("element('news').clientHeight") >= 120  # a heading and four lines
    assert tab.evaluate("element('openings').children.length") == 17  # all can be reached by keyboard
    right = "page.view.box.getBoundingClientRect().left + page.view.x + 256 * page.view.scale"
    assert tab.evaluate(f"{right} <= element('zoom').getBoundingClientRect().left")


# ---- together --------------------------------------------------------------------------------------


def test_a_page_that_is_loaded_again_joins_at_the_present_tick(play):
    tab, game = play()
    for _ in range(5):
        pass_tick(tab, lambda: tab.keyboard.press("h"))
    tab.reload()
    ready(tab)
    assert tab.evaluate("[page.game.now.tick, page.film.lastTick, page.film.ticks[page.frame]]") == [50] * 3
    np.testing.assert_array_equal(board_of(tab), game.session._game.state.owner[0, 1:-1, 1:-1])
    hold_until_legal(tab)
    pass_tick(tab, lambda: tab.keyboard.press("n"))
    assert now(game.session)["attacks"]


@pytest.mark.quick
def test_the_page_asks_its_own_server_alone(play):
    tab, game = play()
    pass_tick(tab, lambda: tab.keyboard.press("h"))
    url = game.server.url
    assert {request.url for request in tab.requests()} == {url, f"{url}film", f"{url}seat", f"{url}act"}


def test_a_page_shows_the_game_of_a_model(play, replay_of):
    with model_and_client() as (model, client):
        tab, game = play(
            seat=0,
            seats=(model, "novice", "turtle", "banker"),
            names=("model", *NAMES[1:]),
            players={"model": model},
        )
        assert text_of(tab, "#me b") == "You watch"
        found = client.call("decide", target=FREE, percent=50, wait=5)
        soon(tab, f"page.game.now.tick === {found['tick']} && page.game.isInStep")
        assert_soon(lambda: np.bincount(board_of(tab).ravel(), minlength=256)[:5].tolist(), found["land"])
        assert found["land"][1] > 12
        assert launches_of(replay_of(game)) == [(0, FREE, 512)]


def test_spectators_watch_bots_and_can_pause(play):
    tab, game = play(seat=0, seats=("novice", "novice", "turtle", "banker"), pace=20, config=LONG)
    soon(tab, "page.game.now.tick >= 20")
    assert text_of(tab, "#me b") == "You watch"
    click(tab, spot_of(tab, 2), until="page.followed === 2")
    press(tab, "n", until="element('said').textContent === 'free land: you are a spectator.'")
    pause(tab, game.session, is_paused=True)
    assert len(game.posts) == 1


# ---- panels ----------------------------------------------------------------------------------------


def bars_of(tab):
    """What the panel of advice says: texts and widths in per cent, from the top."""
    return tab.evaluate(
        "[...document.querySelectorAll('#advice li')].map(({ children: [, what, track, number] }) => "
        "[what.textContent, number.textContent, track.firstChild.style.width])"
    )


def test_the_advisor_is_asked_by_a_key_and_shown_as_bars(play, replay_of):
    tab, game = play(advisor=Network(TRAINED / "network.safetensors"))
    assert "advice" not in now(game.session)["panels"]
    pass_tick(tab, lambda: tab.keyboard.press("n"))
    press(tab, "p", until="!element('advice').hidden")
    for _ in range(12):
        report = now(game.session)["panels"]["advice"]
        settle(tab)
        bars, options = bars_of(tab), report["options"]
        assert len(bars) == min(6, len(options))
        assert bars[0][0].startswith("hold" if options[0]["owner"] == -1 else "")
        assert float(bars[0][2][:-1]) == pytest.approx(100 * options[0]["part"], abs=0.01)
        assert bars[0][1] == f"{int(1000 * options[0]['part']) / 10:.1f}%"
        pass_tick(tab, lambda: tab.keyboard.press("h"))
    assert text_of(tab, "#advice h2").startswith("What net:")
    assert tab.evaluate("element('advise').getAttribute('aria-pressed')") == "true"
    press(tab, "p", until="element('advice').hidden")
    assert "advice" not in now(game.session)["panels"]
    assert launches_of(replay_of(game)) == [(0, FREE, FRACTIONS[6])]


def test_the_view_of_an_agent_is_shown_by_a_key(play):
    tab, game = play(advisor="upstart-1", config=territorial.GameConfig(height=40, width=40, num_players=4))
    for _ in range(3):
        pass_tick(tab, lambda: tab.keyboard.press("n") if is_legal(tab) else tab.keyboard.press("h"))
    press(
        tab,
        "o",
        until="!element('agent_view').hidden && document.querySelectorAll('#agent_view canvas').length === 6",
    )
    settle(tab)
    report = now(game.session)["panels"]["agent_view"]
    rows = tab.evaluate(
        "[...document.querySelectorAll('#agent_view .pairs tbody tr')].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))"
    )
    assert rows[0] == ["front, cells", *(f"{front:,}" for front in report["fronts"])]
    assert [row[0] for row in rows[2:]] == [name for name, _ in report["pairs"]]
    assert [float(text) for text in rows[5][1:]] == pytest.approx(report["pairs"][3][1], abs=0.0051)
    assert text_of(tab, "#agent_view .mask").startswith(
        f"{report['num_legal']} of 51 actions are legal: hold"
    )
    level = tab.evaluate(
        "[...document.querySelector('#agent_view canvas').getContext('2d').getImageData(0, 0, 5, 5).data]"
        ".filter((_, i) => i % 4 === 0)"
    )
    assert bytes(level) == base64.b64decode(report["planes"]["data"][0])
    assert max(level) > 0
    press(tab, "o", until="element('agent_view').hidden")


def test_panels_are_opened_by_taps_and_stay_open_when_the_page_is_loaded_again(play):
    tab, game = play(advisor=Network(TRAINED / "network.safetensors"), window=PHONE)  # a long name
    for button, panel in (("advise", "advice"), ("see", "agent_view")):
        tap(tab, f"#{button}", until=f"!element('{panel}').hidden")
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    tab.reload()
    ready(tab)
    soon(tab, "!element('advice').hidden && !element('agent_view').hidden")
    assert set(now(game.session)["panels"]) == {"advice", "agent_view", "forecast"}
