"""Commands from pages: what is read, and that each is carried out or refused, never both."""

import json
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from territorial.browser import session as session_module
from territorial.browser.commands import LARGEST_COMMAND, PlayerCommand, Wish, read_command
from territorial.browser.session import BusyError
from tests.play.sessions import HOLD, now, session_of, wait_for


def wish(**changes):
    """The command for a next game."""
    fields = {"level": "easy", "players": 32, "map": "lakes", "name": "Ada", "seed": str(2**64 - 1)}
    return json.dumps({"do": "new"} | fields | changes)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('{"do": "launch", "target": 4, "share": 7}', PlayerCommand("launch", target=4, share=7)),
        ('{"share": 0, "target": 0, "do": "launch"}', PlayerCommand("launch")),
        ('{"do": "hold"}', PlayerCommand("hold")),
        ('{"do": "pause", "on": true}', PlayerCommand("pause", is_on=True)),
        ('{"do": "pause", "on": false}', PlayerCommand("pause")),
        ('{"do": "pace", "pace": 40}', PlayerCommand("pace", pace=40)),
        ('{"do": "pace", "pace": "step"}', PlayerCommand("pace")),
        ('{"do": "resign"}', PlayerCommand("resign")),
        ('{"do": "show", "panel": "advice", "on": true}', PlayerCommand("show", is_on=True, panel="advice")),
        ('{"do": "show", "panel": "agent_view", "on": false}', PlayerCommand("show", panel="agent_view")),
        (wish(), PlayerCommand("new", wish=Wish("easy", 32, "lakes", "Ada", 2**64 - 1))),
        (wish(level=None, map=None, seed=None), PlayerCommand("new", wish=Wish(None, 32, None, "Ada", None))),
    ],
)
def test_what_a_command_says(text, command):
    assert read_command(text.encode()) == command


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is not JSON"),
        ("[]", "it must be a JSON object"),
        ("{}", "do is None; it must be one of launch, aim, hold, pause, pace, resign, show"),
        ('{"do": ["hold"]}', "it must be one of launch"),
        ('{"do": "fly"}', "do is 'fly'"),
        ('{"do": "launch", "target": 4}', "the command launch has no 'share'"),
        ('{"do": "hold", "target": 4}', "the command hold has the field 'target'"),
        ('{"do": "launch", "target": 4, "share": 10}', "share is 10; it must be a whole number from 0 to 9"),
        ('{"do": "launch", "target": -1, "share": 0}', "target is -1; it must be a whole number"),
        ('{"do": "launch", "target": true, "share": 0}', "target is True; it must be a whole number"),
        ('{"do": "launch", "target": "4", "share": 0}', "target is '4'; it must be a whole number"),
        ('{"do": "launch", "target": 4.5, "share": 0}', "target is 4.5; it must be a whole number"),
        ('{"do": "pause", "on": 1}', "on is 1; it must be True or False"),
        (
            '{"do": "show", "panel": "all", "on": true}',
            "panel is 'all'; it must be one of advice, agent_view",
        ),
        (
            '{"do": "show", "panel": ["agent_view"], "on": true}',
            "panel is ['agent_view'] (did you mean",
        ),
        ('{"do": "pace", "pace": 0}', "pace is 0; it must be a whole number from 1 to 1000"),
        ('{"do": "pace", "pace": 1001}', "pace is 1001"),
        (
            wish(level="hardest"),
            "level is 'hardest' (did you mean 'hard'?); it must be one of easy, moderate",
        ),
        (wish(players=1), "players is 1; it must be a whole number from 2 to 250"),
        (wish(map="../lakes.png"), "map is '../lakes.png'"),
        (wish(name=""), "name is ''; it must be a string of 1 to 64 printable characters"),
        (wish(name="   "), "name is ''; it must be a string of 1 to 64 printable characters"),
        (wish(name="Champion-1"), "name is 'Champion-1', which is the name of a bot; choose another name"),
        (wish(seed=7.5), "seed is 7.5; it must be the text of a whole number from 0 to 2**64 - 1"),
        ('{"do": "hold", "do": "resign"}', "occurs twice"),
        (json.dumps({"do": "hold" + " " * LARGEST_COMMAND}), "it must have at most 1,024"),
        ("[" * 10 + "]" * 10, "it must be a JSON object"),
    ],
)
def test_what_is_no_command_is_refused_with_the_reason(text, reason):
    with pytest.raises((TypeError, ValueError)) as error:
        read_command(text.encode())
    assert reason in str(error.value)


RESIGN = PlayerCommand("resign")


def test_a_command_that_was_refused_as_the_game_was_late_is_not_carried_out(save, monkeypatch):
    stuck, go_on = threading.Event(), threading.Event()

    def choose(game):
        stuck.set()
        return go_on.wait() and (0, 0)

    with session_of(save, seats=("agent", "agent", "turtle", "banker"), policies={2: choose}) as session:
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
            report = json.loads(session.submit(PlayerCommand("show", panel="advice", is_on=True)))
        finally:
            is_late.set()
    assert report["panels"] == {"advice": "seen"}


def test_a_command_that_was_done_as_the_session_ended_is_not_refused(save):
    with session_of(save) as session:
        inbox = session._inbox

        def put(pending):
            inbox.put(pending)
            if pending is not None:
                pending[1].result()
                session.stop()
                wait_for(lambda: session._is_ended)

        session._inbox = SimpleNamespace(put=put, get=inbox.get, empty=inbox.empty)
        assert json.loads(session.submit(RESIGN))["has_resigned"]


def test_who_waits_for_a_command_that_fails_is_told_that_the_session_has_ended(save, monkeypatch):
    """Without a time-out, which a machine that is busy may need."""
    monkeypatch.setattr(session_module, "ANSWER_SECONDS", None)

    with session_of(save, panels={"advice": Mock(side_effect=ZeroDivisionError)}) as session:
        with pytest.raises(session_module.RefusedError, match="the session has ended"):
            session.submit(PlayerCommand("show", panel="advice", is_on=True))
        wait_for(lambda: session._is_ended)
    assert isinstance(session.error, ZeroDivisionError)
    assert now(session)["panels"] == {}
