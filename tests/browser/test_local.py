"""Pages that play a game on by themselves: the same games as here, and what a player does is a replay."""

import base64
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig, Recorder, VecGame
from territorial.bots import Network
from territorial.browser.commands import LEVELS, person_name
from territorial.browser.film import show, write_film
from territorial.browser.hosting import Hosting
from territorial.browser.page_image import LIBRARY
from territorial.browser.panels import agent_view
from territorial.browser.playable import playable
from territorial.browser.web import write_page
from territorial.config.map_names import ALL_MAPS
from territorial.evaluation import what_if
from territorial.maps import make_maps
from territorial.replay import Replay, file_format
from tests.bots.networks import TRAINED
from tests.browser.chromium import soon
from tests.browser.support import click, evaluate, press, rows_of, settle, text_of
from tests.hostile.mutate import mutated
from tests.hostile.test_maps_and_replays import forged_body, forged_columns, forged_header
from tests.replay.support import (
    body_of,
    changed,
    file_of,
    random_actions,
    random_setting,
    recorded_game,
    small_replay,
)
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

SHOWN = """page.film.ticks.map((tick, n) => [tick, Array.from(page.film.troops[n]).slice(1),
    page.film.gifts[n].map(({ seat, target, troops }) => [seat, target, troops])])"""
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
    def open_game(replay, **more):
        header, frames = show(replay, "a game")
        film = b"".join(write_film(header | more, frames))
        write_page(tmp_path / "game.html", film, playable(replay, {OWN.name: OWN}))
        tab = open_page((tmp_path / "game.html").as_uri())
        soon(tab, "page.film.isComplete && page.painter")
        return tab

    return open_game


def shown_of(replay):
    return [
        [frame.tick, frame.troops.tolist(), [] if frame.gifts is None else frame.gifts.tolist()]
        for frame in replay.frames(replay.config.decision_every)
    ]


def seeds(count):
    """Four for every run, and all others for `make verify`."""
    marks = [pytest.mark.quick] * 4 + [pytest.mark.verify] * (count - 4)
    return pytest.mark.parametrize("seed", [pytest.param(n, marks=mark) for n, mark in enumerate(marks)])


@seeds(300)
def test_games_end_in_the_page_as_they_were_recorded(opened, seed):
    replay = game_of(seed)
    tab = opened(replay)
    assert bytes(tab.evaluate(TO_THE_END)) == replay.digest


@seeds(44)
def test_a_game_that_is_taken_over_again_and_again_is_a_replay_each_time(opened, seed):
    """Four times: the second and third from one tick, the last from one after it."""
    replay, rng = game_of(seed), np.random.default_rng(seed)
    every = replay.config.decision_every
    first = int(rng.integers(0, -(-replay.num_ticks // every))) * every
    again = first // 2 // every * every
    tab, before = opened(replay), replay
    for tick, decisions in ((first, 40), (again, 9), (again, 9), (again + 4 * every, 1000)):
        tick = min(tick, (before.num_ticks - 1) // every * every)
        seat = int(rng.choice(np.flatnonzero(before.seek(tick).state.alive[0, 1:]) + 1))
        tab.evaluate("page.game?.watchAgain()")
        branch = Replay.from_bytes(base64.b64decode(tab.evaluate(PLAY, [tick, seat, decisions])))
        branch.verify()
        assert branch.seek(tick).digest(0) == before.seek(tick).digest(0)
        assert branch.players_at(tick)[seat - 1] == "agent"
        gone = {change.seat for change in (*replay.changes, *branch.changes)}
        for at in set(range(1, len(branch.seats) + 1)) - gone:
            assert branch.names[at - 1] == replay.names[at - 1]
        before = branch
    assert tab.evaluate(SHOWN) == shown_of(before)


@seeds(24)
def test_the_costliest_launch_is_that_of_python(opened, monkeypatch, seed):
    monkeypatch.setattr(what_if, "MOST_LAUNCHES", 8)  # which is quicker
    replay, rng = game_of(seed), np.random.default_rng(seed)
    tick = replay.num_ticks // 4 // replay.config.decision_every * replay.config.decision_every
    seat = int(rng.choice(np.flatnonzero(replay.seek(tick).state.alive[0, 1:]) + 1))
    tab = opened(replay)
    tab.evaluate("local.about.judging.seconds = 1e6")
    for _ in range(2):
        branch = Replay.from_bytes(base64.b64decode(tab.evaluate(PLAY, [tick, seat, 1000])))
        found = tab.evaluate("local.judged.then(() => page.game.now.costliest)")
        expected = what_if.costliest_launch(branch, seat, players={OWN.name: OWN}, seconds=1e6)
        assert found == (expected and expected._asdict())
        if not found:
            break
        tick = found["tick"]
        click(tab, "#ending [value=retry]", until=f"page.film.lastTick === {tick} && !local.isBusy")
        settle(tab)
        assert Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED))).digest == branch.seek(tick).digest(0)
        assert [tab.evaluate("page.game.now.seat"), text_of(tab, "#ending .costliest")] == [seat, ""]


def test_no_costliest_launch_is_looked_for_once_another_game_is_played(opened):
    tab = opened(recorded_game(seed=3)[1])
    tab.evaluate("Judge.prototype.costliest = function* () { for (;;) yield; }, 0")
    tab.evaluate(PLAY, [0, 1, 1000])
    assert tab.evaluate("playOnHere(10, 1).then(() => local.judged).then(() => local.costliest)") is None


@seeds(40)
def test_an_agent_sees_in_the_page_what_it_sees_here(opened, seed):
    replay = game_of(seed)
    tick = replay.num_ticks // 2 // replay.config.decision_every * replay.config.decision_every
    game = replay.seek(tick)
    seat = int(np.random.default_rng(seed).choice(np.flatnonzero(game.state.alive[0, 1:]) + 1))
    tab, wanted = opened(replay), agent_view(game, seat)(game)
    assert tab.evaluate(f"playOnHere({tick}, {seat})") == ""
    press(tab, "o", until="page.game.now.panels.agent_view && !element('agent_view').hidden")
    found = tab.evaluate("page.game.now.panels.agent_view")
    for name in ("own", "pairs"):
        names, numbers = zip(*found.pop(name), strict=True)
        expected_names, expected = zip(*wanted.pop(name), strict=True)
        assert names == expected_names
        np.testing.assert_allclose(np.array(numbers), np.array(expected), atol=0.00051)
    levels, expected = (
        np.array([list(base64.b64decode(text)) for text in view["planes"].pop("data")])
        for view in (found, wanted)
    )
    assert np.abs(levels - expected).max() <= 1  # halves are rounded up there, and to even numbers here
    wanted["planes"]["names"] = list(wanted["planes"]["names"])
    assert found == wanted
    press(tab, "o", until="element('agent_view').hidden")


def test_a_seat_is_played_on_to_the_end_by_keyboard(opened, tmp_path):
    replay = recorded_game(seats=("settler", "turtle", "champion", "novice"), seed=3)[1]
    tab = opened(
        replay, chances={"ticks": [0, 100, 200], "places": [[1, 2, 3, 4]] * 3, "games": 1, "agents": ""}
    )
    press(tab, "y")  # there is no next game
    settle(tab, "page.play(false); page.follow(1); page.seek(100)")
    press(tab, "j", until="page.game?.now?.seat === 1 && document.body.classList.contains('is-in-game')")
    assert tab.evaluate("[page.game.now.tick, page.game.now.is_paused]") == [100, True]
    assert text_of(tab, "#title") == "You from tick 100"
    assert "P1 person" in text_of(tab, "#me b")
    assert next(texts for _, kind, texts in rows_of(tab) if "is-own" in kind)[1] == "P1 person"
    assert tab.evaluate("page.film.header.chances.ticks") == [0, 100]  # those after it were of another game
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
    branch = Replay.load(Path(download.value.path()))
    branch.verify()
    assert branch.changes[0] == (100, 1, "agent")
    click(tab, "#ending [value=again]", until="!page.game && page.isPlaying")
    settle(tab, "page.play(false); page.follow(2); page.seek(100)")
    press(tab, "j", until="page.game?.now?.seat === 2")
    assert tab.evaluate("page.film.lastTick") == 100
    settle(tab)
    assert [seat for seat, kind, _ in rows_of(tab) if "is-own" in kind] == [2]


def test_what_cannot_be_played_on_is_said(opened):
    replay = recorded_game(seed=3)[1]
    tab = opened(replay)
    for tick in (replay.num_ticks, 55):
        assert tab.evaluate(f"playOnHere({tick}, 1)") == "Nobody decides at this moment."
    both = tab.evaluate("Promise.all([playOnHere(50, 1), playOnHere(50, 2)])")
    assert both == ["", "Another game is being prepared."]
    assert tab.evaluate("page.game.watchAgain(), playOnHere(50, 2)") == ""
    tab.evaluate("page.game.pause(), page.game.setPace(1000), page.game.resign(), page.game.watchAgain()")
    assert tab.evaluate("playOnHere(5, 2)") == "Nobody decides at this moment."
    soon(tab, "page.film.isComplete")  # the game before goes on
    tab = opened(replay)
    tab.evaluate("Engine.open = () => Promise.reject(new Error('no memory64')), 0")
    assert tab.evaluate("playOnHere(100, 1)").endswith("as Chrome and Firefox have (no memory64).")
    assert not tab.evaluate("page.game")


def new_page(
    open_page,
    path,
    first="",
    until="element('start').open && !document.querySelector('#start fieldset').disabled",
    **options,
):
    """Open a page of new games, whose start card waits."""
    shown, engine = Hosting(**options).page()
    write_page(path / "game.html", b"".join(write_film(*shown)), engine)
    tab = open_page((path / "game.html").as_uri(), first)
    soon(tab, until)
    return tab


def test_a_page_of_new_games_has_levels_and_begins_again(open_page, tmp_path):
    config = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 200}
    tab = new_page(open_page, tmp_path, config=config, level="easy", seat=2)
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


CLOCKED = """[(() => {
    let now = 0, delays = [];
    performance.now = () => now;
    setTimeout = (_, delay) => delays.push(delay);
    local.post({ do: "pause", on: false });
    now = 300;
    local.post({ do: "aim", target: 0, share: 3 });
    local.post({ do: "show", panel: "advice", on: true });
    const { wait_ms: told } = local.game.now;
    local.post({ do: "pace", pace: 100 });
    return [...delays.slice(-3), told];
})()]"""


def test_what_a_player_looks_at_delays_no_decision(opened):
    """At 20 ticks a second there is one every 500 ms."""
    tab = opened(recorded_game(seed=3)[1])
    assert tab.evaluate("playOnHere(50, 1)") == ""
    assert tab.evaluate(CLOCKED) == [[200, 200, 100, 200]]


OTHER_PAGE = (
    """localStorage.setItem("territorial", JSON.stringify({ players: 32, map: "europe", level: "hard" }))"""
)
DEALT = {"height": 32, "width": 32, "num_players": 5, "teams": 2, "team_deal": "random", "max_ticks": 100}


def test_a_page_has_its_own_players_map_and_levels_whatever_others_had(open_page, tmp_path):
    config = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 100}
    tab = new_page(open_page, tmp_path, OTHER_PAGE, config=config, opponents=["turtle"])
    assert tab.evaluate("page.start.form.elements.level.value") == "as on the command line"
    assert tab.evaluate("document.querySelectorAll('#start [name=level]').length") == 1
    press(tab, "Enter", until="!element('start').open && !page.game.now.is_paused")


def test_a_game_begins_on_the_map_that_is_chosen(open_page, tmp_path):
    config = {"height": 48, "width": 40, "num_players": 3, "max_ticks": 100, "map": "islands", "map_seed": 5}
    tab = new_page(open_page, tmp_path, config=config, seat=2)
    names = tab.evaluate("[...page.start.form.elements.map.options].map(({ value }) => value)")
    assert {"islands", "mountains", "europe"} <= set(names) <= set(ALL_MAPS)
    for name in ("mountains", "europe", "islands"):
        tab.evaluate(
            f"local.post({{ do: 'new', level: 'easy', players: 3, map: '{name}', name: 'A', seed: '4' }})"
        )
        tab.evaluate("local.post({ do: 'pace', pace: 'step' })")
        tab.evaluate("local.post({ do: 'launch', target: 0, share: 3 })")
        soon(tab, "page.game.now.tick > 0")
        replay = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
        replay.verify()
        assert replay.land == make_maps(GameConfig(**config | {"map": name}))[0]
        assert (
            show(replay, "")[0].items()
            >= tab.evaluate("(({ map, colors }) => ({ map, colors }))(page.film.header)").items()
        )


NAMES = [
    "Ada",
    " Ada  Bo ",
    "Turtle",
    "",
    "  ",
    "a\u200db",
    "a\u2028b",
    "a\u00a0b",
    "a\tb",
    "x" * 65,
    "\U0001f980",
]


def test_teams_names_and_seats_are_those_that_the_replay_has(open_page, tmp_path):
    tab = new_page(open_page, tmp_path, config=DEALT, level="easy", seat=2)
    for name in NAMES:
        wish = f"{{do: 'new', level: 'easy', players: 5, name: {json.dumps(name)}, seed: null}}"
        said = tab.evaluate(f"local.post({wish})")
        try:
            assert (said, tab.evaluate("local.header.names[1]")) == ("", person_name(name))
        except ValueError:
            assert said.startswith("Name is ")
    deals = set()
    for seed in range(6):
        assert tab.evaluate(f"local.post({{...local.card, do: 'new', seed: '{seed}'}})") == ""
        replay = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
        header = show(replay, "")[0]
        for name in ("teams", "colors", "border_colors", "names"):
            assert tab.evaluate(f"page.film.header.{name}") == header[name], (seed, name)
        assert tab.evaluate("[...page.film.teams.map(({ seats }) => seats), page.film.attacks[0]]") == [
            *([seat for seat, team in enumerate(replay.teams, start=1) if team == one] for one in (1, 2)),
            [],  # as in the first frame of films
        ]
        deals.add(replay.teams)
        settle(tab)
        assert {seat: texts[0] for seat, _, texts in rows_of(tab) if seat > 0} == {  # but for those of teams
            seat: f"P{seat} {name}" for seat, name in enumerate(replay.names, start=1)
        }
    assert len(deals) > 1


def test_a_game_that_is_over_is_played_on_from_the_page_of_new_games(open_page, tmp_path):
    config = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 100}
    tab = new_page(open_page, tmp_path, config=config, name="Ada")
    press(tab, "Enter", until="!element('start').open && !page.game.now.is_paused")
    for seat in (2, 3):
        tab.evaluate("page.game.setPace(1000), page.game.now.is_paused && page.game.pause()")
        soon(tab, "element('ending').open")
        click(tab, "#ending [value=again]", until="!page.game && page.isPlaying")
        settle(tab, f"page.play(false); page.follow({seat}); page.seek(50)")
        assert tab.evaluate("document.querySelectorAll('#play-on').length") == 1
        press(tab, "j", until=f"page.game?.now?.seat === {seat}")
    replay = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
    replay.verify()
    assert replay.names[:3] == ("champion-1", "champion-1", "Ada")


def test_a_page_of_new_games_says_for_good_why_it_cannot_play(open_page, tmp_path):
    tab = new_page(
        open_page,
        tmp_path,
        "WebAssembly.instantiate = () => Promise.reject(new Error('none'))",
        "page.painter && element('status').textContent.startsWith('This browser cannot')",
        config={"height": 32, "width": 32, "num_players": 4},
    )
    settle(tab, "performance.now = () => 1e9")
    assert text_of(tab, "#status").endswith("as Chrome and Firefox have (none).")


# ---- files of replays ---------------------------------------------------------------------------------

DROP = """async (text) => {
    const data = Uint8Array.from(atob(text), (one) => one.charCodeAt(0)), transfer = new DataTransfer();
    transfer.items.add(new File([data], "game.replay"));
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
    while (local.isBusy) await new Promise((done) => setTimeout(done, 5));
    return element("status").textContent;
}"""


def drop(tab, data):
    """Drop a file on the page, and return what it says; nothing for a game that it shows."""
    said = tab.evaluate(DROP, base64.b64encode(data).decode())
    return said if said.startswith("This file is not shown: ") else ""


def another_game(replay, seed):
    """A game of the size and rules of another one, on a map of its own, with players of all kinds."""
    rng, config = np.random.default_rng(seed), replay.config
    seats = rng.choice(["agent", "external", "champion", "settler", "turtle"], config.num_players).tolist()
    seats[seed % len(seats)] = Chancy() if seed % 2 else OWN
    config = config.replace(map="lakes", map_seed=seed)
    game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    with Recorder(game, checkpoint_every=50) as recorder:
        game.reset(seeds=[2**64 - 1 - seed])
        for n in range(int(rng.integers(10, 60))):
            if n % 9 == 8:
                game.change_seats(
                    0, {int(rng.integers(1, len(seats) + 1)): str(rng.choice(["banker", "agent"]))}
                )
            if not game.state.over[0]:
                game.step(random_actions(game, rng, 0.3))
        return recorder.replay()


@seeds(44)
def test_a_replay_that_is_dropped_is_shown_and_played_on(opened, seed):
    replay = game_of(seed)
    other, tab = another_game(replay, seed), opened(replay)
    assert drop(tab, other.to_bytes()) == ""
    every = other.config.decision_every
    assert tab.evaluate(SHOWN) == shown_of(other)
    tick = other.num_ticks // 2 // every * every
    seat = int(np.flatnonzero(other.seek(tick).state.alive[0, 1:])[-1]) + 1
    branch = Replay.from_bytes(base64.b64decode(tab.evaluate(PLAY, [tick, seat, 20])))
    branch.verify()
    tab.evaluate("local.now.is_over || page.game.resign(), page.game.watchAgain()")
    assert branch.land == other.land
    assert branch.seek(tick).digest(0) == other.seek(tick).digest(0)
    assert drop(tab, replay.to_bytes()) == ""  # while the game is watched
    assert tab.evaluate("page.film.header.title").endswith(f"seed {replay.seed}")


def bombs(replay):
    """Files that claim or hold more than there can be, and headers that are hard to read."""
    data = replay.to_bytes()
    body = body_of(data)
    header = file_format.unpack(data).header
    for length, stream in (
        (2**32 - 1, zlib.compress(body)),
        (file_format.MAX_BODY, zlib.compress(bytes(2**26), 9)),
        (len(body), zlib.compress(body + bytes(2**26), 9)),
        (len(body), zlib.compress(body) + bytes(9)),
    ):
        yield file_of(b"", length=length, stream=stream)
    deep = b"[" * 100_000 + b"]" * 100_000
    texts = (deep, b'{"config":' + deep + b"}", b"\xff", b"{}", b"null", b"[]", b"NaN", b" " * 2**19)
    fields = (
        *({"ticks": 0.5}, {"seed": 2**64}, {"seed": 1e19}),
        *({"names": ["<b>" * 30] * 4}, {"changes": [[0, 9, "x"]]}),
    )
    for text in (*texts, *(json.dumps(header | one).encode() for one in fields)):
        parts = (text, *file_format.unpack(data)[1:])
        yield file_of(b"".join(struct.pack("<I", len(part)) + part for part in parts))
    for part in ("land", "launches", "checkpoints"):
        yield changed(replay, part, lambda section: bytes(2**22))
        yield changed(replay, part, lambda section: b"")
    yield changed(replay, "land", lambda section: bytes(len(section)))
    yield bytes(2**20)
    yield b""


@pytest.mark.parametrize("amount", [25, pytest.param(500, marks=pytest.mark.verify)])
def test_a_damaged_replay_that_is_dropped_is_refused_or_the_game_that_it_says(opened, amount):
    replay = small_replay()
    whole, tab = replay.to_bytes(), opened(replay)
    assert drop(tab, whole) == ""
    kinds = (mutated, forged_body, forged_header, forged_columns)
    copies = [*bombs(replay), *(change(whole, seed) for change in kinds for seed in range(amount))]
    refused = 0
    for number, damaged in enumerate(copies):
        said = drop(tab, damaged)
        refused += said.endswith(".")
        if not said and b'"x": 1, "x": 2' not in body_of(damaged):  # of two of a name, pages take the last
            Replay.from_bytes(damaged).verify()
            assert tab.evaluate("page.film.header.names") == list(Replay.from_bytes(damaged).names), number
    assert refused > 0.6 * len(copies)
    assert drop(tab, whole) == ""


OVER = """(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([], "x"));
    document.dispatchEvent(new DragEvent("dragover", { dataTransfer }));
    window.asked = 0;
    HTMLInputElement.prototype.click = () => { asked++; };
})()"""


def test_a_replay_is_chosen_by_keyboard_and_new_games_have_the_map_of_the_page(open_page, tmp_path):
    config = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 100}
    tab = new_page(open_page, tmp_path, config=config, seed=4, level="hard")
    press(tab, "Enter", until="!element('start').open && !page.game.now.is_paused")
    tab.evaluate("page.game.setPace(1000)")
    soon(tab, "element('ending').open")
    own = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
    other = another_game(own, 5)
    (tmp_path / "other.replay").write_bytes(other.to_bytes())
    click(tab, "#ending [value=again]", until="!page.game && page.isPlaying")
    tab.evaluate(OVER)
    assert tab.evaluate("getComputedStyle(element('drop')).display") == "grid"
    press(tab, "u")
    click(tab, "#open", until="asked === 2")
    tab.set_input_files("[type=file]", tmp_path / "other.replay")
    soon(tab, f"page.film.header.title.endsWith('seed {other.seed}') && !local.isBusy")
    assert tab.evaluate("page.film.lastTick") == other.num_ticks
    assert tab.evaluate("page.film.numLand") == other.num_land
    tab.evaluate("page.play(false), page.follow(1), page.seek(0)")
    press(tab, "j", until="page.game?.now?.seat === 1")
    wrong = recorded_game(own.config.replace(num_players=3), ("agent",) * 3, steps=2)[1].to_bytes()
    tab.evaluate("local.post({ do: 'pause', on: false }), local.post({ do: 'pace', pace: 1000 })")
    soon(tab, "local.now.is_over")
    tab.evaluate("page.game.watchAgain()")
    reason = "its field num_players is 3; games of this page have 4."
    assert drop(tab, wrong) == f"This file is not shown: {reason}"
    tab.evaluate("page.start.again('hard')")
    soon(tab, "page.game && page.film.header.title.includes('hard bot')")
    begun = Replay.from_bytes(base64.b64decode(tab.evaluate(SAVED)))
    begun.verify()
    assert begun.land == own.land
