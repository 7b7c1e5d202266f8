"""Pages that play a game on by themselves: the same games as here, and what a player does is a replay."""

import base64
from pathlib import Path

import numpy as np
import pytest

from territorial.bots import Network
from territorial.browser.commands import LEVELS
from territorial.browser.film import show, write_film
from territorial.browser.hosting import Hosting
from territorial.browser.page_image import LIBRARY
from territorial.browser.playable import playable
from territorial.browser.web import write_page
from territorial.replay import Replay
from tests.bots.networks import TRAINED
from tests.browser.chromium import soon
from tests.browser.support import click, evaluate, press, settle, text_of
from tests.replay.support import random_actions, random_setting, recorded_game
from tests.replay.test_branch import Chancy

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not LIBRARY.exists(),
        reason="there is no library of pages; `python maintainers/machine_code.py native web` makes it",
    ),
]

OWN = Network(TRAINED / "network.safetensors")
MIXES = ({}, {"teams": 2}, {"handicap": True}, {"teams": 2, "team_deal": "random", "num_maps": 2})
TO_THE_END = """async () => {
    const engine = await Engine.open(JSON.parse(element("engine").textContent));
    const seats = engine.field("seats");
    const driven = page.film.launches.flatMap((launches, seat) =>
        (seats[seat] === BigInt(engine.codes.page) ? launches.map((launch) => ({ seat, ...launch })) : []));
    while (!engine.isOver) engine.step(driven.filter(({ tick }) => tick === engine.tick));
    return Array.from(digestOf(BigInt(engine.template.header.seed), engine.position()));
}"""
PLAY = """async ([tick, seat, decisions]) => {
    const refused = await playOnHere(tick, seat), wait = () => new Promise((done) => setTimeout(done));
    if (refused) return refused;
    await local.post({ do: "pause", on: false });
    await local.post({ do: "pace", pace: "step" });
    for (let n = 0; n < decisions && local.now.is_alive && !local.now.is_over; n++) {
        const { tick: before, openings, allies } = local.now;
        const all = [...openings, ...allies].filter(({ reason }) => !reason);
        const one = all[n % Math.max(1, all.length)];
        await local.post(one && n % 3 ? { do: "launch", target: one.owner, share: n % 10 } : { do: "hold" });
        while (local.now.tick === before) await wait();
    }
    await local.post({ do: "pause", on: true });
    return btoa(String.fromCharCode(...await local.replay()));
}"""

SAVED = "(async () => btoa(String.fromCharCode(...await local.replay())))()"


def game_of(seed):
    """A recorded game of any size, map and players, and those that the library does not have."""
    rng = np.random.default_rng(seed)
    config, seats = random_setting(rng)
    config = config.replace(max_ticks=int(rng.integers(100, 900)), launch_delay=0, **MIXES[seed % 4])
    bots = ["champion", OWN, "agent", Chancy(), "upstart"]
    for at in rng.permutation(len(seats))[: 1 + seed % 3].tolist():
        seats[at] = bots[(seed + at) % len(bots)]
    return recorded_game(config, seats, seed, actions=lambda game: random_actions(game, rng, 0.2))[1]


@pytest.fixture
def opened(open_page, tmp_path):
    def open_game(replay):
        film = b"".join(write_film(*show(replay, "a game")))
        write_page(tmp_path / "game.html", film, playable(replay, {OWN.name: OWN}))
        tab = open_page((tmp_path / "game.html").as_uri())
        soon(tab, "page.film.isComplete && page.painter")
        return tab

    return open_game


def check_end(opened, seed):
    replay = game_of(seed)
    tab = opened(replay)
    assert bytes(tab.evaluate(TO_THE_END)) == replay.digest
    tab.close()


def check_taken_over(opened, seed):
    replay, rng = game_of(seed), np.random.default_rng(seed)
    every = replay.config.decision_every
    tick = int(rng.integers(0, -(-replay.num_ticks // every))) * every
    alive = np.flatnonzero(replay.seek(tick).state.alive[0, 1:]) + 1
    tab = opened(replay)
    first = Replay.from_bytes(base64.b64decode(tab.evaluate(PLAY, [tick, int(rng.choice(alive)), 40])))
    again = tick // 2 // every * every
    seat = int(rng.choice(np.flatnonzero(replay.seek(again).state.alive[0, 1:]) + 1))
    second = Replay.from_bytes(base64.b64decode(tab.evaluate(PLAY, [again, seat, 1000])))
    for branch, since in ((first, tick), (second, again)):
        branch.verify()
        assert branch.seek(since).digest(0) == replay.seek(since).digest(0)
    assert second.players_at(again)[seat - 1] == "agent"
    tab.close()


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(4))
def test_games_end_in_the_page_as_they_were_recorded(opened, seed):
    check_end(opened, seed)


@pytest.mark.verify
def test_three_hundred_games_end_in_the_page_as_they_were_recorded(opened):
    for seed in range(300):
        check_end(opened, seed)


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(4))
def test_a_game_that_is_taken_over_twice_is_a_replay_each_time(opened, seed):
    check_taken_over(opened, seed)


@pytest.mark.verify
def test_forty_games_that_are_taken_over_twice_are_replays(opened):
    for seed in range(4, 44):
        check_taken_over(opened, seed)


def test_a_seat_is_played_on_to_the_end_by_keyboard(opened, tmp_path):
    replay = recorded_game(seats=("settler", "turtle", "champion", "novice"), seed=3)[1]
    tab = opened(replay)
    settle(tab, "page.play(false); page.follow(1); page.seek(100)")
    press(tab, "j", until="page.game?.now?.seat === 1 && document.body.classList.contains('is-in-game')")
    assert tab.evaluate("[page.game.now.tick, page.game.now.is_paused]") == [100, True]
    assert text_of(tab, "#title") == "You from tick 100"
    assert "P1 person" in text_of(tab, "#me b")
    press(tab, "p", until="document.querySelectorAll('#advice li').length === 1")
    assert text_of(tab, "#advice h2") == "What champion-1 would do"
    press(tab, "n", until="page.game.now.queued !== null || page.game.said")
    soon(tab, "page.game.forecast.text(page.game.target) !== '' || page.game.whyNot(page.game.target)")
    tab.evaluate("page.game.setPace(1000)")
    press(tab, "Space", until="page.game.now.tick > 150")
    soon(tab, "element('ending').open")
    with tab.expect_download() as download:
        click(tab, "#ending a")
    assert download.value.suggested_filename == "territorial-3-100.replay"
    path = Path(download.value.path())
    branch = Replay.load(path)
    branch.verify()
    assert branch.changes[0] == (100, 1, "agent")
    click(tab, "#ending [value=again]", until="!page.game && page.isPlaying")
    settle(tab, "page.play(false); page.follow(2); page.seek(100)")
    press(tab, "j", until="page.game?.now?.seat === 2")
    assert tab.evaluate("page.film.lastTick") == 100


def test_what_cannot_be_played_on_is_said(opened):
    replay = recorded_game(seed=3)[1]
    tab = opened(replay)
    for tick, seat, reason in (
        (replay.num_ticks, 1, "Nobody decides at this moment."),
        (55, 1, "Nobody decides at this moment."),
    ):
        assert tab.evaluate(f"playOnHere({tick}, {seat})") == reason
    both = tab.evaluate("Promise.all([playOnHere(50, 1), playOnHere(50, 2)])")
    assert both == ["", "Another game is being prepared."]
    assert tab.evaluate("page.game.watchAgain(), playOnHere(50, 2)") == ""
    tab = opened(replay)
    tab.evaluate("Engine.open = () => Promise.reject(new Error('no memory64')), 0")
    assert tab.evaluate("playOnHere(100, 1)").endswith("as Chrome and Firefox have (no memory64).")
    assert not tab.evaluate("page.game")


def test_a_page_of_new_games_has_levels_and_begins_again(open_page, tmp_path):
    config = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 200}
    shown, engine = Hosting(config=config, level="easy", seat=2).page()
    write_page(tmp_path / "game.html", b"".join(write_film(*shown)), engine)
    tab = open_page((tmp_path / "game.html").as_uri())
    begun = "element('start').open && !document.querySelector('#start fieldset').disabled"
    soon(tab, begun)
    assert tab.evaluate("page.start.form.elements.players.closest('label').hidden")
    press(tab, "Enter", until="!element('start').open && !page.game.now.is_paused")
    played = []
    for level in ("easy", "champion", "hard"):
        if played:
            is_new = f"!element('start').open && page.film.header.title.includes('{level} bot')"
            evaluate(tab, f"page.start.again('{level}')", until=is_new)
        tab.evaluate("page.game.setPace(1000)")
        press(tab, "n", until="page.game.now.tick > 0")
        soon(tab, "element('ending').open")
        replay = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
        replay.verify()
        assert (replay.seats[1], replay.names[1], replay.changes) == ("agent", "person", ())
        assert replay.seats[2:] + replay.seats[:1] == (LEVELS[level] * 2)[:3]
        played.append(replay)
        tab.evaluate("element('ending').close()")
    assert len({replay.seed for replay in played}) == 3
    assert len({replay.land for replay in played}) == 1
    game = played[0].game(0)  # with those who sat there
    assert game.seats_of(0) == played[0].seats
