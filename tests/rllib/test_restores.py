"""Checkpoints of one run, restored one after the other into an algorithm that is at another of them."""

import copy

import numpy as np
import pytest
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.env_config import MAIN, POOL, EnvConfig
from rllib_adapters.league.callback import league_callback_of, league_in
from rllib_adapters.league.control import set_league
from territorial.league import Group, LineUpDistribution, StoreInUseError
from tests.rllib.support import CONFIG, LEAGUE, SmallModule, league, ppo
from tests.rllib.test_league import league_config, small_league

pytestmark = pytest.mark.usefixtures("running_ray")

LAST = 3


@pytest.fixture(scope="module", params=["batched", "stock"])
def run(request, tmp_path_factory, running_ray):
    """An algorithm that trained ``LAST`` iterations, and by iteration its checkpoint and the weights in it.

    Every iteration freezes a snapshot, and games go on over its end.
    """
    folder = tmp_path_factory.mktemp("run")
    config = league_config(folder / "store", small_league(), request.param, max_cycles=18)
    config.evaluation(evaluation_interval=1000, evaluation_num_env_runners=0, evaluation_duration=1)
    algorithm = config.build_algo()
    kept = {}
    for i in range(1, LAST + 1):
        algorithm.train()
        path = algorithm.save_to_path(str(folder / f"checkpoint-{i}"))
        kept[i] = path, copy.deepcopy(algorithm.get_state()), weights_in(algorithm.learner_group)
    yield algorithm, kept
    algorithm.stop()


def weights_in(learner_group):
    return {key: np.array(part) for key, part in learner_group.get_weights([MAIN])[MAIN].items()}


def assert_plays_with(runner, weights):
    acting = runner.module[MAIN].get_state()
    np.testing.assert_equal(acting, {name: weights[name] for name in acting})


def as_folder(algorithm, kept, i):
    algorithm.restore_from_path(kept[i][0])


def as_state(algorithm, kept, i):
    algorithm.set_state(kept[i][1])


@pytest.mark.parametrize("restore", [as_folder, as_state])
@pytest.mark.parametrize("order", [(3, 2, 1), (1, 2, 3)])
def test_checkpoints_of_one_league_follow_each_other_in_one_algorithm(run, restore, order):
    algorithm, kept = run
    for i in order:
        restore(algorithm, kept, i)
        league = league_in(algorithm)
        games = league.num_games
        assert algorithm.config.table.to_dict() == league.table().to_dict()
        algorithm.evaluate()
        restore(algorithm, kept, i)
        result = algorithm.train()
        league = league_in(algorithm)
        assert league.steps == {"main": i + 1}
        assert league.num_games == games + result["league"]["games"]


@pytest.mark.parametrize("restore", [as_folder, as_state])
@pytest.mark.parametrize("i", [1, 3, 2])
def test_what_is_evaluated_is_what_was_restored(run, restore, i):
    algorithm, kept = run
    restore(algorithm, kept, 3)
    restore(algorithm, kept, i)
    weights = kept[i][2]
    np.testing.assert_equal(weights_in(algorithm.learner_group), weights)
    for runner in (algorithm.env_runner, algorithm.eval_env_runner):
        assert_plays_with(runner, weights)
    algorithm.evaluate()
    assert_plays_with(algorithm.eval_env_runner, weights)


@pytest.mark.parametrize("part", ["learner_group", f"learner_group/learner/rl_module/{MAIN}", None])
def test_runners_get_weights_that_are_given_alone_and_play_their_games_on(run, part):
    algorithm, kept = run
    as_folder(algorithm, kept, 3)
    algorithm.train()
    before = games_of(algorithm)
    if part is None:
        algorithm.set_weights({MAIN: kept[1][2]})
    else:
        algorithm.restore_from_path(f"{kept[1][0]}/{part}", component=part)
    for runner in (algorithm.env_runner, algorithm.eval_env_runner):
        assert_plays_with(runner, kept[1][2])
    assert games_of(algorithm) == before
    algorithm.train()


def games_of(algorithm):
    """Something that tells the games under way of a runner from others."""
    runner = algorithm.env_runner
    if hasattr(runner, "_rollout"):
        return [game.id_ for game in runner._rollout.games.values()]
    return [episode.id_ for episode in runner._ongoing_episodes]


def test_a_snapshot_that_is_frozen_again_after_a_restore_plays_with_its_new_weights(run):
    algorithm, kept = run
    opponents = algorithm.env_runner.module[POOL].opponents
    as_folder(algorithm, kept, 3)
    own = [Group(2, {"trainable:main": 1}), Group(3, {"snapshot:main-3": 1}), Group(1, {"bot:banker": 1})]
    set_league(algorithm, LineUpDistribution(own))
    algorithm.env_runner.sample(num_timesteps=60, force_reset=True)
    assert opponents.names == ["main-3"]
    as_folder(algorithm, kept, 2)
    algorithm.train()  # freezes another main-3
    set_league(algorithm, LineUpDistribution(own))
    algorithm.env_runner.sample(num_timesteps=60, force_reset=True)
    acting = opponents._open["main-3", opponents._last_device]
    stored = dict(algorithm.league_callback.store.load("main-3"))
    np.testing.assert_equal({name: acting.weights[name] for name in stored}, stored)


@pytest.mark.parametrize("run", ["batched"], indirect=True)
def test_checkpoints_of_one_run_are_open_side_by_side_and_the_first_that_trains_writes(run, ends):
    writer, kept = run
    writer.train()
    first, second = (ends(Algorithm.from_checkpoint(kept[i][0])) for i in (1, 2))
    for i, algorithm in ((1, first), (2, second)):
        algorithm.evaluate()
        assert_plays_with(algorithm.eval_env_runner, kept[i][2])
        for write in (algorithm.train, league_callback_of(algorithm).clean):
            with pytest.raises(StoreInUseError, match="another run writes to the store"):
                write()
        np.testing.assert_equal(weights_in(algorithm.learner_group), kept[i][2])
    league_callback_of(writer).release()  # as its end does
    second.train()
    with pytest.raises(StoreInUseError, match="another run writes to the store"):
        first.train()
    second.stop()
    first.train()
    assert league_in(first).steps == {"main": 2}


@pytest.mark.parametrize("runner", ["batched", "stock"])
def test_games_and_table_of_a_checkpoint_come_back_into_an_algorithm_that_has_others(ends, tmp_path, runner):
    env = {"config": CONFIG, "league": league("bot:banker"), "frames": 1, "max_cycles": 18}
    algorithm = ends(ppo(env, games=1, module=SmallModule, runner=runner).build_algo())
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    set_league(algorithm, league("bot:turtle"))
    if runner == "batched":
        set_env(algorithm, config=CONFIG.replace(map="islands"), max_cycles=5)
    algorithm.restore_from_path(path)
    assert algorithm.config.table.to_dict() == league("bot:banker").to_dict()
    options = EnvConfig.from_config(algorithm.config.env_config)
    assert (options.config, options.max_cycles) == (CONFIG, 18)
    playing = algorithm.env_runner.env.envs[0].unwrapped
    assert (playing.league.to_dict(), playing.options.max_cycles) == (league("bot:banker").to_dict(), 18)
    with pytest.raises(Exception, match="the new league has snapshots, which RLlib was built without"):
        set_league(algorithm, LEAGUE)
    assert algorithm.config.table.to_dict() == league("bot:banker").to_dict()
    algorithm.train()


@pytest.mark.verify
@pytest.mark.parametrize("algorithm_config", [PPOConfig, APPOConfig])
def test_runners_in_processes_of_their_own_get_the_restored_weights(ends, tmp_path, algorithm_config):
    env = {"config": CONFIG, "league": league("bot:banker"), "frames": 1, "max_cycles": 18}
    config = configure(algorithm_config(), env, module=SmallModule, runner="batched")
    config.env_runners(num_env_runners=1, rollout_fragment_length=12, create_local_env_runner=False)
    config.evaluation(evaluation_interval=1000, evaluation_num_env_runners=1, evaluation_duration=1)
    config.training(train_batch_size_per_learner=12)
    config.reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=24)
    if algorithm_config is PPOConfig:
        config.training(minibatch_size=8, num_epochs=1)
    algorithm = ends(config.build_algo())
    algorithm.train()
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    for _ in range(3):
        algorithm.train()
    algorithm.restore_from_path(path)
    found = [
        one
        for group in (algorithm.env_runner_group, algorithm.eval_env_runner_group)
        for one in group.foreach_env_runner(sample_and_report, local_env_runner=False)
    ]
    weights = weights_in(algorithm.learner_group)
    assert len(found) == 2
    for acting in found:
        np.testing.assert_equal(acting, {name: weights[name] for name in acting})


def sample_and_report(runner):
    """The weights of a runner after a sample, before which APPO's ask for newer ones."""
    runner.sample(num_timesteps=2)
    return {key: np.array(part) for key, part in runner.module[MAIN].get_state().items()}
