"""How games ended: kept alike by environments of both kinds, cut or left, and never too many."""

import math

import numpy as np
import pytest

from rllib_adapters.envs import outcomes
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from territorial.league import Outcome
from tests.rllib.support import CONFIG, env_config

SEED, GAMES = 5, 3


def batched(**changes):
    """The first games of some seeds, everybody holding, in one batch; by game."""
    env = TerritorialBatchEnv(env_config(end_when="no_agents", **changes), GAMES)
    env.reset(seed=SEED)
    found, seats = {}, np.zeros((GAMES, CONFIG.num_players, 2), np.int64)
    while len(found) < GAMES:
        playing = [view.players for view in env.envs]
        done = env.step(seats).done
        ended = env.outcomes.take()
        assert len(ended) == done.sum()
        for k, outcome in zip(np.flatnonzero(done).tolist(), ended, strict=True):
            assert outcome.players == tuple(map(str, playing[k]))
            found.setdefault(k, outcome)
    env.close()
    return [found[k] for k in range(GAMES)]


def one_by_one(**changes):
    """The same games, each in an environment of its own."""
    found = []
    for k in range(GAMES):
        env = TerritorialMultiAgentEnv(env_config(end_when="no_agents", **changes))
        env.reset(seed=SEED + k)
        while env.agents:
            env.step({agent: np.zeros(2, np.int64) for agent in env.agents})
        found += env.outcomes.take()
        assert env.outcomes.take() == []
        env.close()
    return found


@pytest.mark.parametrize("max_cycles", [None, 5])
def test_games_end_alike_in_a_batch_and_one_by_one(max_cycles):
    together, alone = batched(max_cycles=max_cycles), one_by_one(max_cycles=max_cycles)
    for one, other in zip(together, alone, strict=True):
        assert one.players == other.players
        np.testing.assert_array_equal(one.places, other.places)  # NaN equals NaN here
        known = [place for place in one.places if not math.isnan(place)]
        is_placed = len(known) == CONFIG.num_players
        assert not is_placed or sum(known) == sum(range(1, CONFIG.num_players + 1))
        assert is_placed or max_cycles is None, "a game that was cut places all"


def test_of_what_nobody_asks_for_the_newest_are_kept():
    class Standing:
        place2, team = np.array([[0, 2, 4]]), np.array([[0, 1, 2]])

    kept = outcomes.Outcomes()
    for i in range(outcomes.MOST + 10):
        kept.add([f"snapshot:{i}", "bot:banker"], Standing, 0, is_cut=False)
    taken = kept.take()
    assert len(taken) == outcomes.MOST
    assert taken[0] == Outcome(("snapshot:10", "bot:banker"), (1.0, 2.0))
    assert kept.take() == []
