"""The environment for RLlib: who is shown, what is shared, how it ends, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest

from rllib_adapters.envs.agent_interface import SHARED, ByteBox
from rllib_adapters.envs.batch import TerritorialBatchEnv, outcome
from rllib_adapters.envs.single import TerritorialMultiAgentEnv, TerritorialTeamsEnv
from territorial import VecGame
from territorial.engine.batch_arrays import seed_of_episode
from territorial.league import Group, LineUpDistribution
from tests.episodes import begun, difference
from tests.rllib.support import CONFIG, LEAGUE, env_config, league, legal_action


def test_agents_and_frozen_seats_are_shown_and_bots_are_not():
    env = TerritorialMultiAgentEnv(env_config(end_when="no_agents"))
    assert env.possible_agents == [f"{kind}_{i}" for kind in ("player", "frozen") for i in range(6)]
    drawn = set()
    for seed in range(12):
        observations, infos = env.reset(seed=seed)
        assert list(observations) == env.agents == list(infos)
        seats = env.game.seats_of(0)
        frozen = {int(agent.split("_")[1]) for agent in env.agents if agent.startswith("frozen")}
        others = ("external" if i in frozen else "banker-1" for i in (2, 3, 4))
        assert seats == ("agent", "agent", *others, "metronome-1")
        names = {infos[f"frozen_{i}"]["opponent"] for i in frozen}
        assert names <= {"first", "second"}
        drawn |= names
    assert drawn == {"first", "second"}


def test_all_agents_see_the_very_same_arrays_and_every_step_has_new_ones():
    env = TerritorialMultiAgentEnv(env_config())
    before, _ = env.reset(seed=0)
    kept = {name: before["player_0"][name].copy() for name in SHARED}
    rng = np.random.default_rng(0)
    after = env.step({agent: legal_action(seen["action_mask"], rng) for agent, seen in before.items()})[0]
    for name in SHARED:
        assert len({id(seen[name]) for seen in after.values()}) == 1
        assert after["player_0"][name] is not before["player_0"][name]
        np.testing.assert_array_equal(before["player_0"][name], kept[name])
    spaces = (env.observation_spaces, env.action_spaces)
    assert [len(set(map(id, by_agent.values()))) for by_agent in spaces] == [1, 1]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "make",
    [
        lambda: TerritorialMultiAgentEnv(env_config()),
        lambda: TerritorialTeamsEnv({"config": CONFIG.replace(teams=2), "seats": ["agent"] * 6}),
    ],
    ids=["seats", "teams"],
)
def test_a_copy_has_a_game_of_its_own(make, copied):
    env, vec = make(), TerritorialBatchEnv(env_config(), 2)
    env.reset(seed=1)
    vec.reset(seed=1)
    actions = {agent: space.sample() for agent, space in env.action_spaces.items()}
    theirs = copied(env).step(actions)
    copied(vec).step(vec.holds())
    assert not getattr(env, "env", env).game.state.tick.any() | vec.game.state.tick.any()
    assert difference(theirs, env.step(actions)) is None


def test_spaces_are_small_when_they_travel():
    space = TerritorialMultiAgentEnv().observation_spaces["player_0"]
    assert (
        len(pickle.dumps(space)) < 100_000
    )  # half of one observation, four times less than of ordinary boxes
    box = ByteBox((4, 6, 256, 32))
    assert sum(getattr(box, name).base.nbytes for name in ("low", "high")) < 100
    assert pickle.loads(pickle.dumps(box)) == box
    contained = [box.contains(one) for one in (box.sample(), np.zeros((4, 6, 256, 31), np.uint8))]
    assert contained == [True, False]


def test_actions_and_leagues_that_do_not_fit_are_refused_by_name():
    env = begun(TerritorialMultiAgentEnv(env_config(max_cycles=1)), seed=0)
    holding = {agent: np.array([0, 0]) for agent in env.agents}
    with pytest.raises(ValueError, match="no action for 'player_0'"):
        env.step({})
    for bad in ([8, 0], [0, 10], [-1, 0], [0.0, 0.0], 3):
        with pytest.raises(ValueError, match=r"the action of 'player_1' is .*two whole numbers, from 0 to 7"):
            env.step(holding | {"player_1": np.asarray(bad)})
    more = LineUpDistribution([Group(3, {"trainable:new": 1}), Group(3, {"bot:novice": 1})])
    with pytest.raises(ValueError, match="the new league has trainable:new, which RLlib was built without"):
        env.set_league(more)
    env.step(holding)
    with pytest.raises(RuntimeError, match="no agent is left"):
        env.step({})


GAMES, STEPS, SEED = 3, 4, 5
OTHER = league("snapshot:third", "bot:novice", "bot:turtle-1")
ACTIONS = np.zeros((GAMES, 6, 2), np.int64)


@pytest.fixture
def batch():
    return begun(TerritorialBatchEnv(env_config(end_when="no_agents", max_cycles=STEPS), GAMES), seed=SEED)


def players_of(tables, k):
    """Return who plays the games of slot ``k`` if each is drawn as it begins, by the table of that moment."""
    random = np.random.default_rng(SEED + k)
    return [table.draw(random) for table in tables]


def played(batch):
    return [view.players for view in batch.envs]


def play_episode(batch):
    """Play until the games are over; the next step begins the next ones."""
    for _ in range(STEPS):
        assert not batch.step(ACTIONS).new_games.size
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
        while not (step := batch.step(ACTIONS)).new_games.size:
            pass
        assert step.new_games.tolist() == list(range(GAMES))
        assert played(batch) == [players_of(tables, k)[-1] for k in range(GAMES)]


def test_the_engine_begins_the_next_games_with_their_own_seeds_and_seats(batch, monkeypatch):
    monkeypatch.setattr(VecGame, "reset_game", lambda *_, **__: pytest.fail("a game was reset one by one"))
    for episode in range(3):
        seeds = [seed_of_episode(SEED + k, episode) for k in range(GAMES)]
        assert batch.game.state.seed.tolist() == seeds
        for k, view in enumerate(batch.envs):
            kinds = {"agent": "trainable", "external": "snapshot"}
            seated = [kinds.get(seat, "bot") for seat in batch.game.seats_of(k)]
            assert seated == [player.kind for player in view.players]
        play_episode(batch)
        batch.step(ACTIONS)


def test_seats_of_games_that_were_cut_have_places_and_those_of_games_that_were_left_have_none(batch):
    play_episode(batch)
    assert [game.players for game in batch.outcomes] == [tuple(map(str, who)) for who in played(batch)]
    assert [sum(game.places) for game in batch.outcomes] == [1 + 2 + 3 + 4 + 5 + 6] * GAMES
    left = outcome(played(batch)[0], batch.game.state, 0, is_cut=False)
    assert np.isnan(left.places).all()
