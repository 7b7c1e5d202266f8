"""A session: what it does with commands, also of teams, when the game goes on, and what it leaves."""

import json

import numpy as np
import pytest

import territorial
from territorial.bots import Network
from territorial.browser import session as session_module
from territorial.browser.commands import PANELS, PlayerCommand, Wish, WishError
from territorial.browser.session import RefusedError, Table
from territorial.browser.situation import earnings_of
from territorial.constants import FRACTIONS
from territorial.evaluation.what_if import CostlyLaunch
from territorial.replay import Replay
from tests.bots.networks import TRAINED
from tests.episodes import begun
from tests.play.sessions import (
    FREE,
    HOLD,
    NAMES,
    SEATS,
    SMALL,
    Clock,
    decide,
    launch,
    legal_in,
    now,
    session_of,
    wait_for,
)
from tests.render.film_reader import read_film
from tests.replay.test_branch import Chancy

LONG = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=6000, win_percent=99)
# With seed 8, these attack and eliminate a player that holds within 820 ticks of LONG.
DEADLY = ("agent", "turtle", "settler", "besieger")
TWO_AGENTS = ("agent", "agent", "turtle", "banker")


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(session_module, "time", clock)
    return clock


def launches_of(replay, seat):
    """Tick, target and fraction of the launches of a seat."""
    return [tuple(row) for row in replay.launches[replay.launches[:, 1] == seat][:, [0, 2, 3]].tolist()]


def play_shares(session, count=12):
    """Launch with one share after the other where that is legal; return the launches, as in a replay."""
    made = []
    for number in range(count):
        report, share = now(session), number % len(FRACTIONS)
        if legal := legal_in(report):
            decide(session, launch(legal[-1], share))
            made.append((report["tick"], legal[-1], FRACTIONS[share]))
        else:
            decide(session, HOLD)
    return made


# ---- decisions -------------------------------------------------------------------------------------


def test_every_launch_is_in_the_replay_with_its_fraction(save):
    with session_of(save) as session:
        made = play_shares(session)
    assert len(made) >= 8
    replay = Replay.load(save)
    assert launches_of(replay, 1) == made
    assert (replay.num_ticks, replay.is_over, replay.names, replay.seats[0]) == (120, False, NAMES, "agent")
    replay.verify()
    with pytest.raises(RefusedError, match="the session has ended"):
        session.submit(HOLD)


def test_troops_are_those_that_the_rules_take(save):
    """What the page shows beside a share is what the balance and the pool then are."""
    with session_of(save) as session:
        report = now(session)
        (free,) = (opening for opening in report["openings"] if opening["owner"] == FREE)
        amount = max(report["amounts"][6], free["least"])
        assert (report["troops"], report["amounts"][6], amount) == (512, 128, 128)
        assert report["amounts"][9] == 512 - 12 * 512 // 1024
        game = begun(territorial.VecGame(SMALL, 1, autoreset="disabled"), seeds=[3])
        game.tick(0, [(1, FREE, FRACTIONS[6])])
        assert game.state.troops[0, 1] == 512 - 12 * 512 // 1024 - amount
        assert game.state.pools[0, 1, FREE] == amount


def test_attacks_of_both_sides_are_told(save):
    with session_of(save, seats=DEADLY, config=LONG, seed=8) as session:
        report = [decide(session, launch(FREE, 3))]
        while not report[-1]["attackers"]:
            assert report[-1]["is_alive"]
            report.append(decide(session, HOLD))
    assert report[0]["attacks"]
    replay = Replay.load(save)
    for one in (report[0], report[-1]):
        pools = replay.game(one["tick"]).state.pools[0]
        assert dict(one["attacks"]) == {target: n for target, n in enumerate(pools[1].tolist()) if n}
        assert dict(one["attackers"]) == {seat: n for seat, n in enumerate(pools[:, 1].tolist()) if n}


@pytest.mark.parametrize(
    ("target", "reason"),
    [(1, "this is your own land"), (2, "P2 is too far: your land does not touch it"), (77, "P77 is too far")],
)
def test_what_is_not_legal_is_refused_with_the_reason_and_changes_nothing(save, target, reason):
    with session_of(save) as session:
        before = now(session)
        with pytest.raises(RefusedError, match=reason):
            session.submit(launch(target, 3))
        assert now(session) == before
        decide(session, HOLD)
    assert launches_of(Replay.load(save), 1) == []


def test_a_need_that_is_too_large_is_told_in_troops(save):
    with session_of(save) as session:
        report = now(session)
        while FREE in legal_in(report):  # all troops: the next front is too wide for what is left
            report = decide(session, launch(FREE, 9))
        reasons = {opening["owner"]: opening["reason"] for opening in report["openings"]}
        with pytest.raises(RefusedError) as refused:
            session.submit(launch(FREE, 0))
    assert str(refused.value) == reasons[FREE]
    assert reasons[FREE].startswith("needs ")
    assert reasons[FREE].endswith(f"at most {report['troops'] // 4:,}")


def test_another_choice_takes_the_place_of_the_first_and_hold_withdraws_it(save, clock):
    with session_of(save, pace=Clock.PACE) as session:
        session.submit(PlayerCommand("pause", is_on=True))
        session.submit(launch(FREE, 1))
        report = json.loads(session.submit(launch(FREE, 2)))
        assert report["queued"] == {"target": FREE, "share": 2}
        first = report["tick"]
        session.submit(PlayerCommand("pause"))
        clock.pass_decisions(session)
        report = json.loads(session.submit(PlayerCommand("pause", is_on=True)))
        assert report["queued"] is None
        if FREE in legal_in(report):
            session.submit(launch(FREE, 3))
        assert json.loads(session.submit(HOLD))["queued"] is None
        session.submit(PlayerCommand("pause"))
        clock.pass_decisions(session)
    assert launches_of(Replay.load(save), 1) == [(first, FREE, FRACTIONS[2])]


# ---- when the game goes on -------------------------------------------------------------------------


def test_it_stands_still_until_a_page_is_open_and_when_the_last_is_closed(save, clock):
    with session_of(save, pace=Clock.PACE, has_page=False) as session:
        clock.pass_in_vain(session)
        assert now(session)["tick"] == 0
        with session.page_open():
            with session.page_open():
                clock.pass_decisions(session)
            clock.pass_decisions(session, 4)
        wait_for(save.exists)  # a closed tab loses nothing
        assert Replay.load(save).num_ticks == 50
        clock.pass_in_vain(session)


def test_a_pause_stops_the_ticks_and_saves_and_the_first_game_may_begin_with_one(save, clock):
    with session_of(save, pace=Clock.PACE, is_paused=True) as session:
        clock.pass_in_vain(session)
        session.submit(PlayerCommand("pause"))
        clock.pass_decisions(session, 3)
        tick = json.loads(session.submit(PlayerCommand("pause", is_on=True)))["tick"]
        assert Replay.load(save).num_ticks == tick == 30
        session.submit(HOLD)
        clock.pass_in_vain(session)
        session.submit(PlayerCommand("pause"))
        clock.pass_decisions(session)


def test_a_game_that_waits_for_decisions_has_none_without_them(save, clock):
    with session_of(save) as session:
        clock.pass_in_vain(session)
        session.submit(PlayerCommand("pace", pace=Clock.PACE))
        clock.pass_decisions(session, 3)
        session.submit(PlayerCommand("pace"))
        clock.pass_in_vain(session)
        assert now(session)["tick"] == 30


# ---- the end ---------------------------------------------------------------------------------------


def test_a_whole_game_leaves_a_whole_film_and_a_replay(save):
    with session_of(save) as session:
        while not now(session)["is_over"]:
            if now(session)["is_alive"]:
                legal = legal_in(now(session))
                decide(session, launch(legal[0], 5) if legal else HOLD)
        report = now(session)
        for command in (HOLD, PlayerCommand("pause", is_on=True)):
            with pytest.raises(RefusedError, match="the game is over"):
                session.submit(command)
        header, frames, is_whole = read_film(b"".join(session.film.pieces()))
    assert is_whole
    assert (header["names"], header["title"]) == (list(NAMES), "a test")
    replay = Replay.load(save)
    replay.verify()
    assert replay.is_over
    assert [frame["tick"] for frame in frames] == list(range(0, replay.num_ticks + 1, 10))
    end = replay.seek(replay.num_ticks)
    assert (report["place"], report["replay"]) == (end.state.doubled_place[0, 1] / 2, str(save))


def test_bots_play_on_after_the_players_death(save, clock):
    with session_of(save, pace=Clock.PACE, seats=DEADLY, config=LONG, seed=8) as session:
        while now(session)["is_alive"] and not now(session)["is_over"]:
            clock.pass_decisions(session)
        died = now(session)
        assert not died["is_over"], "the player, who holds all the time, was not eliminated"
        assert died["place"] == 4
        replay = Replay.load(save)
        assert replay.num_ticks == died["tick"]
        alive = [replay.game(tick).state.alive[0, 1] for tick in (replay.num_ticks - 10, replay.num_ticks)]
        assert alive == [1, 0]
        session.submit(PlayerCommand("pace"))  # nothing is waited for
        clock.seconds += 1
        wait_for(lambda: now(session)["tick"] > died["tick"])
        with pytest.raises(RefusedError, match="you are out of the game"):
            session.submit(launch(FREE, 0))


def test_who_has_resigned_decides_no_more_and_bots_play_on(save, clock):
    with session_of(save) as session:
        decide(session, launch(FREE, 3))
        report = json.loads(session.submit(PlayerCommand("resign")))
        assert report["has_resigned"]
        assert Replay.load(save).num_ticks == report["tick"] == 10
        clock.seconds += 1
        wait_for(lambda: now(session)["tick"] > report["tick"])
        with pytest.raises(RefusedError, match="you have resigned"):
            session.submit(HOLD)
    assert launches_of(Replay.load(save), 1) == [(0, FREE, FRACTIONS[3])]


def test_a_spectator_has_no_decisions_and_no_panels(save, clock):
    seats = ("novice", "novice", "turtle", "banker")
    with session_of(save, pace=Clock.PACE, seat=0, seats=seats) as session:
        clock.pass_decisions(session, 3)
        with pytest.raises(RefusedError, match="you are a spectator"):
            session.submit(launch(FREE, 3))
        for panel in PANELS:
            with pytest.raises(RefusedError, match=f"this game has no {panel} to show"):
                show(session, panel)
        session.submit(PlayerCommand("pause", is_on=True))
    Replay.load(save).verify()


def test_a_replay_that_cannot_be_written_does_not_end_the_game(save):
    path = save.parent / "later" / "game.replay"
    with session_of(path) as session:
        decide(session, HOLD)
        session.submit(PlayerCommand("pause", is_on=True))
        assert isinstance(session.save_error, OSError)
        assert now(session)["replay"] is None
        session.submit(PlayerCommand("pause"))
        decide(session, HOLD)
        path.parent.mkdir()
    assert session.save_error is None
    assert Replay.load(path).num_ticks == 20


def test_an_error_ends_the_session_and_the_game_is_saved(save):
    def fail(game):
        if game.state.tick[0] == 20:
            raise ZeroDivisionError
        return 0, 0

    with session_of(save, seats=TWO_AGENTS, policies={2: fail}) as session:
        decide(session, HOLD)
        decide(session, HOLD)
        session.submit(HOLD)
        wait_for(lambda: session.error is not None and session._is_ended)
    assert isinstance(session.error, ZeroDivisionError)
    assert Replay.load(save).num_ticks == 20
    with pytest.raises(ConnectionAbortedError):
        list(session.film.pieces())


# ---- the next game ---------------------------------------------------------------------------------


def test_the_next_game_begins_once_one_is_out_and_its_page_is_open_and_both_are_saved(save, clock):
    def make(wish):
        path = save.with_name(wish.name if wish else "first")
        if path.name == "none":
            raise WishError("there is no room")
        game = begun(
            territorial.VecGame(SMALL, 1, seats=SEATS, autoreset="disabled", observe=False), seeds=[3]
        )
        return Table(game, 1, NAMES, path, path.name, card={})

    wished, none = (PlayerCommand("new", wish=Wish(None, 4, None, name, None)) for name in ("next", "none"))
    with session_of(save, make=make) as session:
        decide(session, HOLD)
        with pytest.raises(RefusedError, match="resign to end this one"):
            session.submit(wished)
        session.submit(PlayerCommand("resign"))
        with pytest.raises(WishError, match="no room"):
            session.submit(none)
        report = json.loads(session.submit(wished))
        assert (report["title"], report["tick"], report["has_resigned"]) == ("next", 0, False)
        session.submit(PlayerCommand("pace", pace=Clock.PACE))
        clock.pass_in_vain(session)  # the page that is open is that of the game before
        with session.page_open():
            clock.pass_decisions(session)
    found = {path: Replay.load(path).num_ticks for path in session.replays}
    assert (
        found
        == session.replays
        == {save.with_name("first"): found[save.with_name("first")], save.with_name("next"): 10}
    )


@pytest.mark.parametrize("failing", ["_make", "_save"])
def test_who_asked_for_a_game_that_fails_is_told_that_the_session_has_ended(save, monkeypatch, failing):
    with session_of(save, card={}) as session:
        monkeypatch.setattr(session, failing, lambda *_: save.read_bytes())  # which is not there
        with pytest.raises(RefusedError, match="the session has ended"):
            session.submit(PlayerCommand("new", wish=Wish(None, 4, None, "Ada", None)))
        assert isinstance(wait_for(lambda: session.error), OSError)


# ---- panels ----------------------------------------------------------------------------------------


def show(session, panel, is_on=True):
    """Open or close a panel, and return what the session then tells of panels."""
    return json.loads(session.submit(PlayerCommand("show", panel=panel, is_on=is_on)))["panels"]


def test_open_panels_are_shown_and_others_are_not_asked(save):
    asked = []
    panels = {name: lambda game, name=name: asked.append(name) or int(game.state.tick[0]) for name in PANELS}
    with session_of(save, panels=panels) as session:
        assert now(session)["panels"] == {}
        decide(session, HOLD)
        assert asked == []
        assert show(session, "advice") == {"advice": 10}
        assert show(session, "agent_view") == {"advice": 10, "agent_view": 10}
        assert decide(session, HOLD)["panels"] == {"advice": 20, "agent_view": 20}
        assert asked == ["advice", "agent_view"] * 2  # once a tick each, however often it is told
        assert show(session, "advice", is_on=False) == {"agent_view": 20}
        session.submit(PlayerCommand("resign"))
        assert now(session)["panels"] == {"agent_view": None}  # there is nothing to decide


@pytest.mark.parametrize("advisor", ["upstart-1", Network(TRAINED / "network.safetensors")])
def test_panels_do_not_change_the_game(save, advisor):
    digests = []
    for has_panels in (False, True):
        with session_of(save, advisor=advisor) as session:
            for panel in PANELS if has_panels else ():
                show(session, panel)
            play_shares(session)
            assert set(now(session)["panels"]) == set(PANELS if has_panels else ())
        replay = Replay.load(save)
        replay.verify()
        digests.append((replay.digest, replay.launches.tolist()))
    assert digests[0] == digests[1]


def test_earnings_are_what_the_engine_pays():
    game = begun(territorial.VecGame(LONG.replace(win_percent=100), 1, autoreset="disabled"), seeds=[3])
    for tick in range(3000):  # until the land that was taken is full
        report, state = earnings_of(game, 1), game.state
        paid, troops = int(state.interest[0, 1] + state.income[0, 1]), int(state.troops[0, 1])
        game.tick(0, [(1, FREE, 300)] if tick % 20 == 0 and tick < 400 else [])
        due = sum(
            report[name] for name in ("interest", "income") if (tick + 1) % report[f"{name}_every"] == 0
        )
        assert state.interest[0, 1] + state.income[0, 1] - paid == min(due, report["most"] - troops)
    assert report["most"] == game.state.troops[0, 1] > 30_000


@pytest.mark.parametrize(
    ("seats", "policies", "is_judged"),
    [
        (SEATS, {}, True),
        (("agent", "novice", Network(TRAINED / "network.safetensors"), "banker"), {}, True),
        (("agent", "agent", "turtle", "banker"), {2: lambda game: (0, 0)}, False),
        (("agent", Chancy(), "turtle", "banker"), {}, False),
    ],
)
def test_who_is_done_is_told_of_the_costliest_launch(tmp_path, monkeypatch, seats, policies, is_judged):
    judged = []

    def judge(replay, seat, *, players):
        judged.append((replay.num_ticks, seat, set(players)))
        return CostlyLaunch(10, 0, 512, 1.5, 3.0, 48, 20)

    monkeypatch.setattr(session_module, "costliest_launch", judge)
    bots = {one.name: one for one in seats if not isinstance(one, str)}
    made = {"seats": seats, "policies": policies, "players": bots, "config": SMALL.replace(max_ticks=30)}
    with session_of(tmp_path / "game.replay", **made) as session:
        for _ in range(3):
            assert now(session)["costliest"] is None
            decide(session, HOLD)
        if is_judged:
            wait_for(lambda: now(session)["costliest"])
            assert now(session)["costliest"]["launched"] == 3.0
    assert judged == [(30, 1, set(bots))] * is_judged


# ---- teams -------------------------------------------------------------------------------------------


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
