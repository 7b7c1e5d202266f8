"""A command is carried out or refused, never both, whenever the game is late with its answer."""

import json
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from territorial.play import session as session_module
from territorial.play.commands import PlayerCommand
from territorial.play.session import BusyError
from tests.play.sessions import HOLD, now, session_of, wait_for

TWO_AGENTS = ("agent", "agent", "turtle", "banker")
RESIGN = PlayerCommand("resign")


def test_a_command_that_was_refused_as_the_game_was_late_is_not_carried_out(save, monkeypatch):
    stuck, go_on = threading.Event(), threading.Event()

    def choose(game):
        stuck.set()
        return go_on.wait() and (0, 0)

    with session_of(save, seats=TWO_AGENTS, policies={2: choose}) as session:
        session.submit(HOLD)
        stuck.wait()
        with monkeypatch.context() as patch:
            patch.setattr(session_module, "ANSWER_SECONDS", 0)
            with pytest.raises(BusyError, match="has not answered for 0 s"):
                session.submit(RESIGN)
        go_on.set()
        assert not json.loads(session.submit(HOLD))["has_resigned"]  # commands are done in their order


def test_the_answer_to_a_command_that_has_begun_is_waited_for(save, monkeypatch):
    begun, is_late = threading.Event(), threading.Event()

    class LateFuture(Future):
        """One whose time is over when the command has begun."""

        def result(self, timeout=None):
            if timeout is not None:
                begun.wait()
                raise TimeoutError
            is_late.set()
            return super().result()

    def look(game):
        begun.set()
        is_late.wait()
        return "seen"

    with session_of(save, panels={"advice": look}) as session:
        monkeypatch.setattr(session_module, "Future", LateFuture)
        try:
            told = json.loads(session.submit(PlayerCommand("show", panel="advice", is_on=True)))
        finally:
            is_late.set()
    assert told["panels"] == {"advice": "seen"}


def test_a_command_that_was_done_as_the_session_ended_is_not_refused(save):
    with session_of(save) as session:
        inbox = session._inbox

        def put(pending):
            inbox.put(pending)
            if pending is not None:
                pending.answer.result()
                session.stop()
                wait_for(lambda: session._is_ended)

        session._inbox = SimpleNamespace(put=put, get=inbox.get, empty=inbox.empty)
        assert json.loads(session.submit(RESIGN))["has_resigned"]


def test_who_waits_for_a_command_that_fails_is_told_that_the_session_has_ended(save, monkeypatch):
    """Without a time-out, which a machine that is busy may need."""
    monkeypatch.setattr(session_module, "ANSWER_SECONDS", None)

    def fail(game):
        raise ZeroDivisionError

    with session_of(save, panels={"advice": fail}) as session:
        with pytest.raises(session_module.RefusedError, match="the session has ended"):
            session.submit(PlayerCommand("show", panel="advice", is_on=True))
        wait_for(lambda: session._is_ended)
    assert isinstance(session.error, ZeroDivisionError)
    assert now(session)["panels"] == {}
