"""Moments of a watched game: what its players would do, and what an agent sees, at any decision."""

import json

import numpy as np
import pytest

import territorial
from territorial import Recorder
from territorial.bots import Network
from territorial.browser.panels import ADVICE, AGENT_VIEW, Moments, agent_view
from tests.bots.networks import TRAINED
from tests.episodes import advance, begun
from tests.replay.support import random_actions, recorded_game

CONFIG = territorial.GameConfig(height=40, width=40, num_players=6, max_ticks=900, teams=3)
OWN = Network(TRAINED / "network.safetensors")
SEATS = ("champion", "banker", "agent", OWN, "settler", "besieger")


@pytest.fixture(scope="module")
def replay():
    rng = np.random.default_rng(0)
    return recorded_game(CONFIG, SEATS, seed=3, actions=lambda game: random_actions(game, rng, 0.1))[1]


def test_each_seat_is_advised_by_its_own_player_and_an_agent_by_the_champion(replay):
    look = Moments(lambda: replay, {OWN.name: OWN}).look
    names = ["champion-1", "banker-1", "champion-1", OWN.name, "settler-1", "besieger-1"]
    for tick, (seat, name) in [(200, one) for one in enumerate(names, start=1)]:
        found = look(tick, seat, ADVICE)
        assert found == json.loads(json.dumps(found))
        assert (found["name"], sum(option["part"] for option in found["options"])) == (name, pytest.approx(1))
        assert (len(found["options"]) > 1) == (name in ("champion-1", OWN.name))
    assert Moments(lambda: replay).look(200, 4, ADVICE)["name"] == "champion-1"


def test_a_forecast_is_of_the_likeliest_attack_while_all_others_hold(replay):
    look, found = Moments(lambda: replay).look, 0
    for tick in range(50, 400, 50):
        game = replay.game(tick, seats=dict.fromkeys(range(1, 7), "external"), players={OWN.name: OWN})
        foreseen = look(tick, 1, ADVICE)["forecast"]
        if foreseen is None:
            continue
        owner = foreseen["owner"]
        taken = game.state.taken[0, 1, owner].copy()
        launch = [(tick, 1, owner, foreseen["fraction"])]
        game.play(0, launch, tick + foreseen["ticks"])
        assert game.state.taken[0, 1, owner] - taken == foreseen["cells"]
        found += 1
    assert found > 2


def test_an_agent_sees_there_what_it_saw(replay):
    game = replay.seek(300)
    assert Moments(lambda: replay).look(300, 2, AGENT_VIEW) == agent_view(game, 2)(game)


def test_a_game_that_is_still_played_shows_the_same(replay):
    game = begun(territorial.VecGame(CONFIG, 1, seats=["champion", "settler"] * 3, observe=False), seeds=[7])
    with Recorder(game) as recorder:
        live = Moments(recorder.replay)
        advance(game, 60)
        at_200 = live.look(200, 1, ADVICE)
        digest = game.digest(0)
        whole = Moments(recorder.replay).look(200, 1, ADVICE)
    assert (at_200, game.digest(0)) == (whole, digest)
    assert at_200["options"]


def test_who_has_nothing_to_decide_has_nothing_to_show_and_what_is_not_there_is_refused(replay):
    look, deadly = Moments(lambda: replay).look, recorded_game(seed=3)[1]
    end = deadly.seek(deadly.num_ticks).state
    dead = int(end.alive[0, 1:].argmin()) + 1
    assert not end.alive[0, dead]
    last = (deadly.num_ticks - 1) // 10 * 10
    assert end.death_tick[0, dead] <= last
    for panel in (ADVICE, AGENT_VIEW):
        assert Moments(lambda: deadly).look(last, dead, panel) is None
        assert look(replay.num_ticks, 1, panel) is None  # the game is over
    for tick, seat, message in (
        (0, 0, "seat is 0; the game has the seats 1 to 6"),
        (0, 7, "seat is 7"),
        (10**6, 1, "tick is"),
    ):
        with pytest.raises(ValueError, match=message):
            look(tick, seat, ADVICE)
