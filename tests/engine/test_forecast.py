"""Forecasts: what a launch comes to in a copy of a game in which all others hold."""

import numpy as np
import pytest

import territorial
from territorial.constants import FRACTIONS
from territorial.observation.action_encoding import HOW_MUCH, WHAT, target_of_owner
from tests.bots.support import python_bot
from tests.episodes import after_steps

CONFIG = territorial.GameConfig(height=32, width=32, num_players=4, num_maps=0)


RARE = python_bot(lambda view: (0, 512), interval=70)


@pytest.mark.parametrize("autoreset", ["disabled", "same_step"])
@pytest.mark.parametrize("others", [["external"] * 3, ["banker", RARE, "upstart-1"]])
def test_a_forecast_is_what_comes_of_a_launch_where_all_others_hold(others, autoreset):
    batch = territorial.VecGame(CONFIG, 2, seats=["agent", *others], autoreset=autoreset, observe=False)
    game = after_steps(batch, 14, seed=3)
    before = game.digest(0)
    sizes, _, is_legal = game.fronts(0)
    for owner in np.flatnonzero(is_legal[1] & (sizes[1] > 0)).tolist():
        found, played = game.forecasts(0, 1, owner, FRACTIONS[6]), game.clone()
        played.change_seats(0, dict.fromkeys(range(1, 5), "external"))
        actions, taken = np.zeros((2, 4, 2), np.int64), int(played.state.taken[0, 1, owner])
        actions[0, 0, [WHAT, HOW_MUCH]] = target_of_owner(owner, 1, 4), 6
        for _ in range(found["ticks"] // CONFIG.decision_every):
            assert played.state.pools[0, 1, owner] or actions.any()
            played.step(actions)
            actions[:] = 0
        assert found["cells"] == played.state.taken[0, 1, owner] - taken
        assert found["troops"] == played.state.troops[0, 1]
        assert found["goes_on"] == bool(played.state.pools[0, 1, owner])
    assert found["cells"] > 0
    assert game.digest(0) == before
