"""A person in a team: who is an ally is told, and a launch at one is a donation."""

import numpy as np
import pytest

from territorial.browser.session import RefusedError
from territorial.constants import FRACTIONS
from territorial.replay import Replay
from tests.play.sessions import HOLD, SMALL, decide, launch, now, session_of

TEAMS = SMALL.replace(teams=(1, 2, 1, 2), max_ticks=600)
ALLY, ENEMY = 3, 2


def test_allies_are_told_and_are_no_openings(save):
    with session_of(save, config=TEAMS) as session:
        report = now(session)
        assert report["allies"] == [{"owner": ALLY, "attackers": 0, "reason": ""}]
        while report["is_alive"] and not report["is_over"]:
            assert ALLY not in {opening["owner"] for opening in report["openings"]}
            report = decide(session, HOLD)


def test_a_launch_at_an_ally_gives_what_the_page_shows(save):
    with session_of(save, config=TEAMS) as session:
        amount = now(session)["amounts"][6]
        decide(session, launch(ALLY, 6))
    replay = Replay.load(save)
    replay.verify()
    assert replay.launches[replay.launches[:, 1] == 1].tolist() == [[0, 1, ALLY, FRACTIONS[6]]]
    (gift,) = (frame.gifts for frame in replay.frames(10) if len(frame.gifts))
    assert gift.tolist() == [[1, ALLY, amount]]


def test_the_most_attacked_ally_is_the_first(save):
    config = TEAMS.replace(num_players=6, teams=(1, 1, 1, 2, 2, 2), max_ticks=1500)
    seats, names = ("agent", "novice", "novice", "metronome", "metronome", "metronome"), tuple("abcdef")
    seen = 0
    with session_of(save, config=config, seats=seats, names=names) as session:
        report = now(session)
        while report["is_alive"] and not report["is_over"]:
            attackers = [ally["attackers"] for ally in report["allies"]]
            assert attackers == sorted(attackers, reverse=True)
            seen += max(attackers, default=0) > 0
            report = decide(session, HOLD)
        pools = session._game.state.pools[0]
        assert [ally["attackers"] for ally in report["allies"]] == [
            pools[:, ally["owner"]].sum() for ally in report["allies"]
        ]
    assert seen


def test_an_ally_that_is_full_is_refused_with_the_reason(save):
    config = TEAMS.replace(hard_cap=10, soft_cap=5, starting_troops=512)
    with session_of(save, config=config) as session:
        (ally,) = now(session)["allies"]
        assert ally["reason"] == "has all the troops that its land can hold"
        with pytest.raises(RefusedError, match="has all the troops"):
            session.submit(launch(ALLY, 6))


def test_enemies_are_as_before(save):
    with session_of(save, config=TEAMS) as session, pytest.raises(RefusedError, match="too far"):
        session.submit(launch(ENEMY, 6))


def test_what_an_agent_sees_counts_donations(save):
    with session_of(save, config=TEAMS, advisor="turtle") as session:
        game = session._game
        seen = session.table.panels["agent_view"](game)
        is_legal = game.fronts(0)[2][1]
        assert ALLY in seen["legal"]
        assert seen["num_legal"] == 1 + len(FRACTIONS) * len(seen["legal"])
        assert set(seen["legal"]) <= set(np.flatnonzero(is_legal).tolist())
