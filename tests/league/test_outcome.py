"""The places of a game that ended or was left: those the engine gives, and those it would give."""

import numpy as np

from territorial import GameConfig, VecGame
from territorial.evaluation.outcome import known_places, places_now

CONFIG = GameConfig(height=24, width=24, num_players=6, max_ticks=300)


def test_a_game_left_standing_is_placed_as_the_engine_would_at_its_end():
    cut = VecGame(CONFIG.replace(max_ticks=1000), 1, seed=3, seats=["novice"] * 6, autoreset="disabled")
    over = VecGame(CONFIG, 1, seed=3, seats=["novice"] * 6, autoreset="disabled")
    cut.reset()
    over.reset()
    while not over.state.over[0]:
        cut.step()
        over.step()
    assert cut.state.tick[0] == over.state.tick[0] == 300
    wanted = over.state.place2[0, 1:] / 2
    assert (wanted > 0).all()
    np.testing.assert_array_equal(places_now(cut.state, 0), wanted)
    np.testing.assert_array_equal(places_now(over.state, 0), wanted)
    np.testing.assert_array_equal(known_places(over.state, 0), wanted)
    lives = cut.state.alive[0, 1:] != 0
    assert lives.sum() > 1
    np.testing.assert_array_equal(np.isnan(known_places(cut.state, 0)), lives)


def test_equals_share_the_mean_of_their_places_and_troops_decide_between_equal_land():
    game = VecGame(CONFIG, 1, seed=0, seats=["agent"] * 6, autoreset="disabled")
    game.reset()
    np.testing.assert_array_equal(places_now(game.state, 0), np.full(6, 3.5))

    class Standing:  # as of an engine: land and troops of five seats, the third of whom is out
        place2 = np.array([[0, 0, 0, 10, 0, 0]])
        team = np.arange(6)[None]
        land = np.array([[0, 10, 30, 0, 10, 10]])
        troops = np.array([[0, 7, 1, 0, 9, 7]])

    assert places_now(Standing, 0).tolist() == [3.5, 1.0, 5.0, 2.0, 3.5]
    assert np.isnan(known_places(Standing, 0)).tolist() == [True, True, False, True, True]
