"""Several people in one session: a seat and a token each, one clock, and pauses by consent."""

import json
from contextlib import ExitStack

import pytest

import territorial
from territorial.constants import FRACTIONS
from territorial.play.commands import PlayerCommand, Wish
from territorial.play.session import RefusedError, Table
from territorial.replay import Replay
from tests.play.sessions import HOLD, SMALL, Clock, launch, now, served, session_of, wait_for
from tests.play.test_play_server import PAGE, post

SEATS, NAMES = ("agent", "agent", "turtle", "banker"), ("Ada", "Bob", "turtle", "banker")
TWO = {"people": (1, 2), "seats": SEATS, "names": NAMES}
HOST, GUEST = 0, 1
PAUSE, GO_ON = PlayerCommand("pause", is_on=True), PlayerCommand("pause")


@pytest.fixture
def two(save):
    """A session of two people, each with a page, that waits for their decisions."""
    with session_of(save, **TWO) as session, session.page_open(GUEST):
        yield session


def test_a_command_is_of_the_seat_of_its_token_and_all_are_waited_for(save):
    options = TWO | {"people": (1, 2, 0), "page": PAGE, "save": save}
    with served(**options) as game, game.session.page_open(GUEST):
        paths = [f"/{token}/" for token in game.server.tokens]
        assert len(set(paths)) == 3
        attack = b'{"do": "launch", "target": 0, "share": %d}'
        told = json.loads(post(game, attack % 3, path=paths[GUEST])[2])
        assert (told["person"], told["seat"], told["queued"]) == (GUEST, 2, {"target": 0, "share": 3})
        assert [one["has_decided"] for one in told["people"]] == [False, True, False]
        assert (now(game.session)["queued"], now(game.session)["tick"]) == (None, 0)
        assert post(game, attack % 5, path=paths[HOST])[0] == 200
        wait_for(lambda: now(game.session, GUEST)["tick"] == 10)
        status, _, text = post(game, attack % 5, path=paths[2])
        assert (status, json.loads(text)) == (409, {"error": "you are a spectator"})
        assert post(game, attack % 5, path="/" + paths[HOST][1:5] + paths[GUEST][5:])[0] == 403
    replay = Replay.load(save)
    assert replay.launches.tolist()[:2] == [[0, 1, 0, FRACTIONS[5]], [0, 2, 0, FRACTIONS[3]]]
    assert replay.names == NAMES


@pytest.mark.parametrize(
    ("asked", "is_paused"),
    [
        ([(HOST, PAUSE)], False),
        ([(HOST, PAUSE), (GUEST, PAUSE)], True),
        ([(HOST, PAUSE), (HOST, GO_ON), (GUEST, PAUSE)], False),  # it was withdrawn
        ([(HOST, PAUSE), (GUEST, PAUSE), (HOST, GO_ON)], False),  # either goes on
        ([(HOST, PAUSE), (GUEST, PAUSE), (HOST, GO_ON), (HOST, PAUSE)], False),  # and cannot stop it again
        ([(HOST, PAUSE), (GUEST, PlayerCommand("resign"))], True),  # who has resigned is not asked
    ],
)
def test_a_game_is_paused_while_all_want_that(two, asked, is_paused):
    for person, command in asked:
        two.submit(command, person)
    assert [now(two, person)["is_paused"] for person in (HOST, GUEST)] == [is_paused] * 2


def test_who_leaves_is_not_waited_for_and_may_come_back(save):
    with session_of(save, **TWO) as session, ExitStack() as page:
        page.enter_context(session.page_open(GUEST))
        session.submit(HOLD)
        assert now(session)["tick"] == 0
        page.close()
        wait_for(lambda: now(session)["tick"] == 10)
        assert [one["is_here"] for one in now(session)["people"]] == [True, False]
        session.submit(PAUSE)
        assert now(session)["is_paused"]
        with session.page_open(GUEST):
            session.submit(GO_ON, GUEST)
            session.submit(launch(0, 4), GUEST)
            session.submit(HOLD)
            wait_for(lambda: now(session)["tick"] == 20)
    launches = Replay.load(save).launches
    assert launches[launches[:, 1] <= 2].tolist() == [[10, 2, 0, FRACTIONS[4]]]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (PlayerCommand("pace", pace=1000), "Ada is the host, who alone begins games and changes the pace"),
        (PlayerCommand("new", wish=Wish(None, 4, None, "Bob", None)), "Ada is the host"),
        (GO_ON, "pauses are up to those who still play"),
        (HOLD, "you have resigned"),
    ],
)
def test_what_a_guest_who_has_resigned_cannot_do(two, command, reason):
    two.submit(PlayerCommand("resign"), GUEST)
    with pytest.raises(RefusedError, match=reason):
        two.submit(command, GUEST)


def test_the_host_begins_the_game_of_those_who_are_in_the_lobby(save, monkeypatch):
    clock, wishes = Clock(), []
    monkeypatch.setattr("territorial.play.session.time", clock)

    def make(wish):
        wishes.append(wish)
        game = territorial.VecGame(SMALL, 1, seats=SEATS, autoreset="disabled", observe=False)
        game.reset(seeds=[3])
        names, seats = (NAMES, (1, 2, 3)) if wish is None else ((wish.name, "Eve", *NAMES[2:]), (1, 2, 0))
        return Table(game, seats, names, save, f"game {len(wishes)}", card={})

    begin = PlayerCommand("new", wish=Wish("easy", 4, None, "Ada", 3))
    with session_of(save, make=make, people=(1, 2, 3), pace=Clock.PACE, is_paused=True) as session:
        with pytest.raises(RefusedError, match="Ada, the host, begins the game"):
            session.submit(GO_ON, GUEST)
        with session.page_open(GUEST):
            told = json.loads(session.submit(PlayerCommand("ready", name="Eve", is_on=True), GUEST))
            assert [(one["name"], one["is_ready"]) for one in told["people"]][1] == ("Eve", True)
            session.submit(begin)
            assert wishes[1].others == ("Eve", None)
            assert [(one["seat"], one["is_ready"]) for one in now(session)["people"]] == [
                (1, False),
                (2, False),
                (0, False),
            ]
            assert now(session, 2)["seat"] == 0
            assert clock.pass_decisions(session)["tick"] == 10
            session.submit(PlayerCommand("resign"))
            with pytest.raises(RefusedError, match="the game is still played by Eve"):
                session.submit(begin)
            session.submit(PlayerCommand("resign"), GUEST)
            assert json.loads(session.submit(begin))["title"] == "game 3"
