"""Taking over a seat at a moment of a recorded game, and of the last game of a session."""

from contextlib import contextmanager

import pytest

from territorial.browser.commands import PlayerCommand, TakeOver, WishError, read_command
from territorial.browser.hosting import Hosted, Hosting, HostingError
from territorial.browser.session import RefusedError
from territorial.replay import Replay
from tests.play.sessions import HOLD, SMALL, legal_in, now, wait_for
from tests.replay.support import recorded_game
from tests.replay.test_branch import Chancy

CONFIG = SMALL.replace(max_ticks=300, map="open")
RESIGN = PlayerCommand("resign")


@contextmanager
def hosted_of(**options):
    """A hosted game, of which a page is open."""
    with Hosted(Hosting(pace="step", **options), port=0) as hosted:
        wait_for(lambda: hosted.session.situations.count)
        with hosted.session.page_open():
            hosted.session.submit(PlayerCommand("pause"))
            yield hosted.session


def play_on(session, ticks):
    """Attack whoever can be attacked, and hold where nobody can, for so many ticks or to the end."""
    end = now(session)["tick"] + ticks
    while (report := now(session))["tick"] < end and report["is_alive"] and not report["is_over"]:
        legal = legal_in(report)
        session.submit(PlayerCommand("launch", target=legal[0], share=6) if legal else HOLD)
        wait_for(lambda tick=report["tick"]: now(session)["tick"] > tick)
    return now(session)


def last_replay(session):
    """The replay of the present game, which is saved and verified."""
    session._save()
    replay = Replay.load(session.table.save)
    replay.verify()
    return replay


def test_a_game_goes_on_from_a_moment_of_itself_and_of_its_branch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with hosted_of(config=CONFIG, seed=3, level="easy") as session:
        play_on(session, 120)
        session.submit(RESIGN)
        first = last_replay(session)
        files = set(session.replays)
        for tick, seat in ((50, 1), (70, 3)):
            assert session.submit(PlayerCommand("take_over", wish=TakeOver(tick, seat)))
            with session.page_open():  # that of the next page
                report = now(session)
                assert (report["tick"], report["seat"], report["is_alive"]) == (tick, seat, True)
                assert report["title"].startswith(f"person from tick {tick}, game ")
                play_on(session, 200)
                session.submit(RESIGN)
            branch = last_replay(session)
            assert branch.seek(50).digest(0) == first.seek(50).digest(0)
            assert branch.players_at(branch.num_ticks)[seat - 1] == "agent"
            assert (branch.launches[:, 1] == seat).sum() > 0
            files.add(session.table.save)
        assert branch.players_at(branch.num_ticks)[0] == "champion-1"  # for the seat that was left
        assert len(files) == 3


def test_a_recorded_game_is_taken_over_with_its_own_players(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bot = Chancy()
    before = recorded_game(CONFIG, ("settler", bot, "agent", "champion"), seed=5)[1]
    with hosted_of(before=before, tick=40, seat=1, opponents=[bot]) as session:
        play_on(session, 50)
        branch = last_replay(session)
    assert branch.players_at(40) == ("agent", "chancy-1", "champion-1", "champion-1")
    assert branch.names == ("person", before.names[1], "champion-1", before.names[3])
    assert branch.seek(40).digest(0) == before.seek(40).digest(0)
    for options, message in (
        ({"tick": 45}, "tick: tick is 45; it must be a multiple of 10"),
        ({"seat": 9}, "tick: a seat is 9; it must be"),
        ({"level": "easy", "opponents": []}, "before: a recorded game; it has its own config and bots"),
        ({"config": {"num_players": 4}}, "before: a recorded game; it has its own config and bots"),
        ({"spectate": True}, "before: .*the person takes over a seat"),
        ({"opponents": []}, "tick: seat 2 was played by 'chancy-1', which is no bot of the library"),
    ):
        with pytest.raises(HostingError, match=message):
            Hosted(Hosting(**{"before": before, "tick": 40, "opponents": [bot], **options}), port=0)


def test_a_spectator_takes_over_a_seat(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with hosted_of(config=CONFIG, seed=3, level="easy", spectate=True) as session:
        wait_for(lambda: now(session)["is_over"])
        assert now(session)["costliest"] is None
        session.submit(PlayerCommand("take_over", wish=TakeOver(50, 2)))
        with session.page_open():
            assert (now(session)["tick"], now(session)["seat"]) == (50, 2)
            play_on(session, 30)
        assert last_replay(session).players_at(50)[1] == "agent"


def test_what_cannot_be_taken_over_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with hosted_of(config=CONFIG, seed=3, level="easy") as session:
        play_on(session, 50)
        with pytest.raises(RefusedError, match="there is no other game yet"):
            session.submit(PlayerCommand("take_over", wish=TakeOver(10, 1)))
        session.submit(RESIGN)
        wrong = ((15, 1, "a multiple of 10"), (20, 9, "a seat is 9"), (9_000, 1, "tick is 9000"))
        for tick, seat, message in wrong:
            with pytest.raises(WishError, match=message):
                session.submit(PlayerCommand("take_over", wish=TakeOver(tick, seat)))
        assert session.submit(PlayerCommand("take_over", wish=TakeOver(20, 1)))
    for text, message in (
        (b'{"do": "take_over", "tick": -1, "seat": 1}', "tick is -1; it must be"),
        (b'{"do": "take_over", "tick": 10, "seat": 0}', "seat is 0; it must be"),
        (b'{"do": "take_over", "tick": 10}', "the command take_over has no 'seat'"),
    ):
        with pytest.raises(ValueError, match=message):
            read_command(text)
