"""Players of the next game are drawn ahead, and drawn again if the league changes before it begins."""

import numpy as np
import pytest

from rllib_adapters.envs import outcomes
from rllib_adapters.envs.batch import TerritorialBatchEnv
from territorial import VecGame
from territorial.engine.episode_seeds import seed_of_episode
from territorial.league import Outcome
from tests.rllib.support import LEAGUE, env_config, league

GAMES, STEPS, SEED = 3, 4, 5
OTHER = league("snapshot:third", "bot:novice", "bot:turtle-1")
ACTIONS = np.zeros((GAMES, 6, 2), np.int64)


@pytest.fixture
def batch():
    env = TerritorialBatchEnv(env_config(end_when="no_agents", max_cycles=STEPS), GAMES)
    env.reset(seed=SEED)
    return env


def players_of(tables, k):
    """Return who plays the games of slot ``k`` if each is drawn as it begins, by the table of that moment."""
    random = np.random.default_rng(SEED + k)
    return [table.draw(random) for table in tables]


def played(batch):
    return [view.players for view in batch.envs]


def play_episode(batch):
    """Play until the games are over; the next step begins the next ones."""
    for _ in range(STEPS):
        assert not batch.step(ACTIONS).begun.size
    assert batch.learners.any() == batch.frozen.any() == False  # noqa: E712 - arrays have their own


@pytest.mark.parametrize("moment", ["begun", "within", "over"])
def test_a_new_league_draws_the_very_next_games_with_the_same_numbers(batch, moment):
    if moment == "within":
        batch.step(ACTIONS)
    if moment == "over":
        play_episode(batch)
    before = played(batch)
    for view in batch.envs:
        view.set_league(OTHER)
    assert played(batch) == before == [players_of([LEAGUE], k)[0] for k in range(GAMES)]
    for tables in ([LEAGUE, OTHER], [LEAGUE, OTHER, OTHER]):
        while not (step := batch.step(ACTIONS)).begun.size:
            pass
        assert step.begun.tolist() == list(range(GAMES))
        assert played(batch) == [players_of(tables, k)[-1] for k in range(GAMES)]


def test_tables_that_change_often_leave_no_trace_but_the_last(batch):
    for table in (OTHER, LEAGUE, OTHER, LEAGUE):
        for view in batch.envs:
            view.set_league(table)
    while not batch.step(ACTIONS).begun.size:
        pass
    assert played(batch) == [players_of([LEAGUE, LEAGUE], k)[1] for k in range(GAMES)]


def test_the_engine_begins_the_next_games_with_their_own_seeds_and_seats(batch, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a game was reset one by one")

    monkeypatch.setattr(VecGame, "reset_game", refuse)
    for episode in range(3):
        seeds = [seed_of_episode(SEED + k, episode) for k in range(GAMES)]
        assert batch.game.state.seed.tolist() == seeds
        for k, view in enumerate(batch.envs):
            kinds = {"agent": "trainable", "external": "snapshot"}
            seated = [kinds.get(seat, "bot") for seat in batch.game.seats_of(k)]
            assert seated == [player.kind for player in view.players]
        play_episode(batch)
        batch.step(ACTIONS)


def test_a_position_in_a_game_that_is_over_does_not_let_it_go_on(batch):
    play_episode(batch)
    owner = batch.game.state.owner[0, 1:-1, 1:-1].copy()
    batch.game.set_position(0, owner)
    step = batch.step(ACTIONS)
    assert step.begun.tolist() == list(range(GAMES))
    assert batch.game.state.tick.tolist() == [0] * GAMES


SEED, GAMES = 5, 3


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
