"""A league wired to RLlib: its table is in force in the very next game, and it is part of checkpoints."""

import os
import pickle
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pytest
from ray import tune
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure_league
from rllib_adapters.envs.agent_interface import SHARED
from rllib_adapters.envs.env_config import POOL
from rllib_adapters.league.callback import (
    LeagueCallback,
    league_callback_of,
    league_in,
)
from rllib_adapters.league.control import freeze, give_weights, set_league, weights_of
from territorial.league import (
    Gate,
    League,
    LeagueConfig,
    Learner,
    Opponents,
    SnapshotStore,
    StoreInUseError,
    UnknownSnapshotError,
)
from tests.league.support import Patient
from tests.rllib.support import (
    CONFIG,
    SmallModule,
    fill,
    league,
    small_config,
)

pytestmark = pytest.mark.usefixtures("running_ray")


def small_league(max_steps=1, own=()):
    parts = (Opponents(seats=3, strategy="pfsp"), Opponents(seats=1, strategy="uniform", among=("bots",)))
    main = Learner(name="main", seats=2, opponents=parts, gate=Gate(max_steps=max_steps))
    config = LeagueConfig(
        num_players=6, learners=(main,), bots=("banker", "novice", *own), capacity=3, eviction="oldest"
    )
    return League(config, rated=find_spec("openskill") is not None)


def league_config(store, league, runner="batched", runners=0, games=2, max_cycles=12):
    env = {"config": CONFIG, "frames": 1, "max_cycles": max_cycles}
    config = configure_league(PPOConfig(), env, league, store, module=SmallModule, runner=runner)
    config.env_runners(num_env_runners=runners, num_envs_per_env_runner=games, rollout_fragment_length="auto")
    config.training(train_batch_size_per_learner=48, minibatch_size=64, num_epochs=1)  # of up to 96 rows
    return config


@pytest.mark.parametrize("runner", ["batched", pytest.param("stock", marks=pytest.mark.verify)])
def test_games_gates_and_tables_follow_from_iterations(ends, tmp_path, runner):
    store = SnapshotStore(tmp_path)
    config = league_config(store, small_league(), runner)
    heard = []
    config.callbacks(on_train_result=lambda *, result, **_: heard.append(dict(result["league"])))
    algorithm = ends(config.build_algo())
    league = league_in(algorithm)
    assert store.names() == ["main-0"]
    np.testing.assert_equal(dict(store.load("main-0")), weights_of(algorithm, "main"))
    for i in range(1, 5):
        algorithm.train()
        assert algorithm.config.table.to_dict() == league.table().to_dict()
        assert f"main-{i}" in league.snapshots
    assert len(league.snapshots) == 3
    assert league.num_games == sum(one["games"] for one in heard) >= 8
    assert [one["frozen"] for one in heard] == [["main-1"], ["main-2"], ["main-3"], ["main-4"]]
    assert league.payoff.games("trainable:main", ["bot:banker-1", "bot:novice-1"]).sum() > 0
    assert len(league.history) == 4
    for row in league.history:  # of whom main has never met, there is no share of one half
        assert row["met"].keys() == row["above"].keys()
        assert all(games > 0 for games in row["met"].values())
    assert league.history[-1]["above"] == {
        name: round(one.above, 4) for name, one in league.met_bots().items()
    }
    assert store.names() == [f"main-{i}" for i in range(5)]
    assert league_callback_of(algorithm).clean({"main-1"}) == ["main-0"]
    assert store.names() == ["main-1", *sorted(league.snapshots)]
    give_weights(algorithm, "main", store.load("main-1"))
    acting, given = algorithm.env_runner.module["main"].get_state(), dict(store.load("main-1"))
    np.testing.assert_equal({name: acting[f"policy.{name}"] for name in given}, given)


def test_the_league_is_part_of_checkpoints(ends, tmp_path):
    algorithm = ends(league_config(tmp_path / "store", small_league()).build_algo())
    for _ in range(2):
        algorithm.train()
    league = league_in(algorithm)
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    kept, games, table = league.to_bytes().hex(), league.num_games, league.table().to_dict()
    algorithm.train()  # what is done after the checkpoint is not in it, and in nobody's way
    assert "main-3" in SnapshotStore(tmp_path / "store")
    algorithm.stop()
    (tmp_path / "store").rename(tmp_path / "moved")
    with pytest.raises(
        FileNotFoundError, match=r"store does not exist; a store that was moved .*\(path, store=folder"
    ):
        Algorithm.from_checkpoint(path)
    with pytest.raises(UnknownSnapshotError, match=r"'main-0', which is missing .*; a store that was moved"):
        Algorithm.from_checkpoint(path, store=str(tmp_path / "empty"))
    algorithm = ends(Algorithm.from_checkpoint(path, store=str(tmp_path / "moved")))
    league = league_in(algorithm)
    assert (league.to_bytes().hex(), algorithm.config.table.to_dict()) == (kept, table)
    algorithm.train()
    assert league.num_games > games
    assert league.steps == {"main": 3}
    opponents = algorithm.env_runner.module[POOL].opponents
    assert opponents.store.path == tmp_path / "moved"
    assert opponents.names, "snapshots of the store where it is now"


def test_an_interrupt_while_a_copy_is_kept_leaves_a_league_that_has_all_of_its_snapshots(
    tmp_path, monkeypatch
):
    league_callback = LeagueCallback(small_league(), SnapshotStore(tmp_path))
    before = league_callback.league.to_bytes()
    monkeypatch.setattr(league_callback, "_keep", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        league_callback._freeze(None, "main")
    assert league_callback.league.to_bytes() == before


def test_a_snapshot_that_is_not_there_is_refused_by_the_call_that_makes_one(ends, tmp_path):
    store = fill(tmp_path)
    algorithm = ends(small_config(store, runner="batched").build_algo())
    with pytest.raises(UnknownSnapshotError, match=r"freeze\(algorithm, store, 'third'\) adds one"):
        set_league(algorithm, league("snapshot:third"))
    store.remove("first")
    with pytest.raises(UnknownSnapshotError, match=r"freeze\(algorithm, store, 'first'\) adds one"):
        algorithm.train()
    freeze(algorithm, store, "first")
    algorithm.train()


def test_the_store_of_a_run_that_nobody_can_reach_is_free(tmp_path):
    first, second = (LeagueCallback(small_league(), SnapshotStore(tmp_path)) for _ in range(2))
    first.lock_store()
    with pytest.raises(StoreInUseError, match=r"algorithm\.stop\(\), or if no variable .* another folder"):
        second.lock_store()
    first.itself = first  # reached from nowhere but itself, as what a traceback has held
    del first
    second.lock_store()


def test_trials_of_tune_have_runs_of_their_own_and_go_on_where_they_failed(ends, tmp_path):
    config = league_config(tmp_path, small_league(own=[Patient()]))

    def fail_once(*, algorithm, **_):
        if algorithm.iteration == 2 and not (tmp_path / "failed").exists():
            (tmp_path / "failed").touch()
            os._exit(1)

    config.callbacks(on_train_result=fail_once)
    how = tune.RunConfig(
        storage_path=str(tmp_path / "results"),
        stop={"training_iteration": 3},
        failure_config=tune.FailureConfig(max_failures=1),
        checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        verbose=0,
    )
    found = tune.Tuner(
        config.algo_class,
        param_space=config,
        run_config=how,
        tune_config=tune.TuneConfig(num_samples=2, max_concurrent_trials=1),
    ).fit()
    assert [one.error for one in found] == [None, None]
    first, second = (ends(Algorithm.from_checkpoint(one.checkpoint.path)) for one in found)
    stores = [league_callback_of(one).store for one in (first, second)]
    assert all(store.manifest("main-3").metadata["run"] == store.path.name for store in stores)
    assert len({store.digest("main-3") for store in stores}) == 2
    second.set_state(first.get_state())  # as population-based training goes on from a better trial
    given = [(league_in(one).to_bytes(), one.config.table.to_dict()) for one in (first, second)]
    assert given[0] == given[1]
    assert "patient-1" in second.config.table.names("bot")
    assert len({store.digest("main-3") for store in stores}) == 1
    second.train()
    assert [league_in(one).steps for one in (first, second)] == [{"main": 3}, {"main": 4}]


@pytest.fixture
def store(tmp_path):
    return fill(tmp_path / "store")


def test_what_runners_ship_is_hardly_more_than_its_frames(ends, store):
    episodes, buffers = ends(small_config(store).build_algo()).env_runner.sample(), []
    shipped = len(pickle.dumps(episodes, protocol=5, buffer_callback=buffers.append))
    shipped += sum(len(buffer.raw()) for buffer in buffers)
    steps = [
        seen
        for episode in episodes
        for own in episode.agent_episodes.values()
        for seen in own.get_observations()
    ]
    frames = {id(seen[name]): seen[name].nbytes for seen in steps for name in SHARED}
    assert sum(frames.values()) < shipped < 1.2 * sum(frames.values()) + 1_500 * len(steps)
    assert shipped < sum(seen[name].nbytes for seen in steps for name in SHARED)


@pytest.mark.parametrize("kind", ["batched", "stock"])
def test_memory_is_given_back_after_sampling_learning_and_each_iteration(ends, kind, tmp_path, monkeypatch):
    given_back, places = [], ["league.runner", "learning.learners", "league.algorithm"]
    for place in places:
        monkeypatch.setattr(f"rllib_adapters.{place}.give_back", lambda place=place: given_back.append(place))
    algorithm = ends(small_config(fill(tmp_path), runner=kind).build_algo())
    for _ in range(2):
        algorithm.train()
    assert given_back == places * 2
