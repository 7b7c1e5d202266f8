"""Evaluations whose ``env_config`` has entries of its own: the rest is that of the games that are trained."""

import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.league.control import set_league
from rllib_adapters.league.curriculum import set_env
from territorial.league import Group, LeagueTable, SnapshotStore
from tests.rllib.test_engine_seats import CONFIG, add, entries, in_engine, network_called, table

SEATS = ["agent", "agent", "banker", "novice", "banker", "novice"]
FIELD = LeagueTable([Group(2, {"trainable:main": 1}), Group(4, {"bot:turtle": 1})])


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path / "store")
    add(store, "strong", network=network_called("strong"))
    add(store, "later", policy="1", network=network_called("1"))
    return store


def config_of(store, own, **changes):
    """PPO against a snapshot, whose evaluations have the entries ``own``; all in this process."""
    env = {**entries(None, "strong"), "max_cycles": 6, **changes}
    config = configure(PPOConfig(), env, store=store, runner="batched", size="small")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=1, rollout_fragment_length=6)
    config.training(train_batch_size_per_learner=6, minibatch_size=8, num_epochs=1)
    config.evaluation(
        evaluation_interval=1,
        evaluation_num_env_runners=0,
        evaluation_duration=1,
        evaluation_config={"env_config": own},
    )
    return config


def evaluated(config):
    """The options of the games of evaluations."""
    return EnvConfig.from_config(config.get_evaluation_config_object().env_config)


def frozen_in(runner):
    """The snapshots in the engine's seats of a runner."""
    return in_engine(runner.env.game, 0)


@pytest.mark.usefixtures("running_ray")
def test_evaluations_follow_the_league_with_its_snapshots_and_keep_their_own_entries(ends, store):
    algorithm = ends(config_of(store, {"max_cycles": 3}).build_algo())
    algorithm.train()
    runner = algorithm.eval_env_runner
    assert runner.env.options.store.path == store.path
    assert runner.env.options.max_cycles == 3
    assert frozen_in(runner) == {"strong"}
    set_league(algorithm, table("later"))
    algorithm.train()
    store.remove("strong")
    algorithm.evaluate()
    assert frozen_in(runner) == {"later"}
    assert not runner.env.frozen.any()

    set_env(algorithm, config=CONFIG.replace(num_maps=2), max_cycles=8)
    assert algorithm.env_runner.env.options.max_cycles == 8
    assert (runner.env.options.max_cycles, runner.env.options.config.num_maps) == (3, 2)
    assert runner.env.options.store.path == store.path
    algorithm.train()


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize("own", [{"seats": SEATS}, {"league": FIELD}])
def test_evaluations_that_say_who_plays_do_not_follow(ends, store, own):
    algorithm = ends(config_of(store, own).build_algo())
    algorithm.train()
    before = algorithm.eval_env_runner.env.envs[0].league.to_json()
    set_league(algorithm, table("later"))
    algorithm.evaluate()
    assert algorithm.eval_env_runner.env.envs[0].league.to_json() == before
    assert frozen_in(algorithm.eval_env_runner) == set()


def test_entries_of_evaluations_take_the_place_of_those_that_are_trained(store):
    with_seats = evaluated(config_of(store, {"seats": SEATS, "max_cycles": None}))
    assert (with_seats.league, list(with_seats.seats), with_seats.max_cycles) == (None, SEATS, None)
    assert (with_seats.store, with_seats.obs) == (store, "pairs")
    with_league = evaluated(config_of(store, {"league": FIELD}, league=None, seats=SEATS))
    assert (with_league.seats, with_league.league) == (None, FIELD)
    assert with_league.max_cycles == 6
    with pytest.raises(TypeError, match=r"the field 'max_cycle' \(did you mean 'max_cycles'\?\)"):
        evaluated(config_of(store, {"max_cycle": 3}))


def test_snapshots_that_evaluations_alone_draw_are_refused_by_name(store):
    config = config_of(store, {"league": table("strong")}, league=FIELD)
    with pytest.raises(
        ValueError, match="the league of evaluation_config draws the snapshots strong, but that of the env_"
    ):
        config.get_evaluation_config_object().validate()
