"""RLlib's settings of evaluations, with both runners: each works, or is refused before anything is built."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, set_league
from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.env_config import EnvConfig
from territorial.league import Group, LineUpDistribution, SnapshotStore
from tests.rllib.leagues import add, entries, in_engine, network_called, table
from tests.rllib.support import CONFIG, SmallModule, league, ppo

pytestmark = pytest.mark.usefixtures("running_ray")

RUNNERS = ("batched", "stock")
# Seconds after which it hangs.


def config_of(runner, config=PPOConfig, **evaluation):
    env = {"config": CONFIG, "league": league("bot:novice"), "frames": 1, "max_cycles": 5}
    own = configure(config(), env, module=SmallModule, runner=runner)
    own.env_runners(num_env_runners=0, rollout_fragment_length=12, num_envs_per_env_runner=2)
    own.training(train_batch_size_per_learner=24)
    if config is PPOConfig:
        own.training(minibatch_size=8, num_epochs=1)
    return own.evaluation(evaluation_interval=1, **evaluation)


def by_hand(algorithm, group):
    """A custom evaluation: a game on every runner."""
    is_local = group.num_remote_env_runners() == 0
    found = group.foreach_env_runner(
        lambda runner: (runner.sample(num_episodes=1), runner.get_metrics()), local_env_runner=is_local
    )
    algorithm.metrics.aggregate([metrics for _, metrics in found], key=("evaluation", "env_runners"))
    steps = sum(episode.env_steps() for episodes, _ in found for episode in episodes)
    return {}, steps, 2 * steps


# Evaluations in the driver, one after the other with training.
HERE = {
    "episodes": {"evaluation_duration": 3},
    "timesteps": {"evaluation_duration": 24, "evaluation_duration_unit": "timesteps"},
    "custom function": {"custom_evaluation_function": by_hand},
    "settings of its own": {
        "evaluation_duration": 3,
        "evaluation_config": {"explore": False, "num_envs_per_env_runner": 3},
    },
}

# Evaluations by two runners in processes of their own.
BESIDE = {
    **HERE,
    "more runners than episodes": {"evaluation_duration": 1},
    "parallel, episodes": {"evaluation_duration": 3, "evaluation_parallel_to_training": True},
    "parallel, auto": {
        "evaluation_duration": "auto",
        "evaluation_parallel_to_training": True,
        "evaluation_auto_duration_min_env_steps_per_sample": 40,
    },
    "parallel, timesteps, games that go on": {
        "evaluation_duration": 48,
        "evaluation_duration_unit": "timesteps",
        "evaluation_parallel_to_training": True,
        "evaluation_force_reset_envs_before_iteration": False,
    },
}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("settings", HERE.values(), ids=HERE)
def test_evaluations_in_the_driver(ends, runner, settings):
    check_two(ends(config_of(runner, **settings).build_algo()))


def check_two(algorithm):
    """Two iterations are evaluated."""
    for _ in range(2):
        found = algorithm.train()["evaluation"]["env_runners"]
        assert found["num_env_steps_sampled"] >= 5
        assert found["num_episodes"] >= 1
        assert found["episode_len_mean"] <= 5


@pytest.mark.verify
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    ("name", "config"), [*((name, PPOConfig) for name in BESIDE), ("parallel, auto", APPOConfig)]
)
def test_evaluations_beside_the_driver(ends, runner, name, config):
    config = config_of(runner, config, evaluation_num_env_runners=2, **BESIDE[name])
    algorithm, end, episodes = ends(config.build_algo()), time.monotonic() + 300, 0
    if config.evaluation_duration != "auto":
        check_two(algorithm)
        return
    while episodes < 2:  # what comes after the end of an iteration is dropped
        assert time.monotonic() < end, "it hangs"
        episodes += algorithm.train()["evaluation"].get("env_runners", {}).get("num_episodes", 0)


@pytest.fixture(scope="module", params=RUNNERS)
def runner(request, running_ray):
    config = config_of(request.param, evaluation_config={"seed": 3})
    runner = config.env_runner_cls(config=config.get_evaluation_config_object(), worker_index=0)
    yield runner
    runner.stop()


@pytest.mark.parametrize(
    ("asked", "least"),
    [
        ({"num_episodes": 0}, 0),  # a runner that has nothing to do
        ({"num_episodes": 3}, 5 * 3),
        ({"num_timesteps": 0}, 0),
        ({"num_timesteps": 7.5}, 8),  # of "auto"
        ({"num_timesteps": 30, "force_reset": True}, 30),
        ({"num_timesteps": 30}, 30),
        ({"num_episodes": 2, "force_reset": True}, 5 * 2),
    ],
    ids=str,
)
def test_all_that_evaluations_ask_runners_for(runner, asked, least):
    episodes = runner.sample(**asked)
    steps = sum(episode.env_steps() for episode in episodes)
    assert least <= steps <= least + 5 * 2
    runner.get_metrics()
    if "num_episodes" in asked:
        assert sum(episode.is_done for episode in episodes) == len(episodes) == asked["num_episodes"]


def test_a_sample_goes_on_in_another_thread_as_training_beside_evaluations_does(runner):
    runner.sample(num_timesteps=6, force_reset=True)
    with ThreadPoolExecutor() as thread:
        assert sum(one.env_steps() for one in thread.submit(runner.sample, num_timesteps=6).result()) >= 6


def hear(**_):
    """A callback."""


REFUSED = {
    "callback": (
        {"evaluation_config": {"callbacks_on_episode_start": hear}},
        "the configuration has a callback on_episode_start",
    ),
    "connector": (
        {"evaluation_config": {"_module_to_env_connector": hear}},
        "the configuration has a module_to_env_connector",
    ),
    "unit": (
        {"evaluation_duration_unit": "games"},
        "evaluation_duration_unit is 'games'; it must be one of episodes, timesteps",
    ),
    "environment": (
        {"evaluation_config": {"env": "CartPole-v1"}},
        "the env of evaluation_config is 'CartPole-v1'; it must be that of the configuration",
    ),
    "typing error": (
        {"evaluation_config": {"explor": False}},
        r"evaluation_config has the entry 'explor' \(did you mean 'explore'\?\)",
    ),
    "auto": ({"evaluation_duration": "auto"}, "`evaluation_duration=auto` not supported"),
    "parallel": ({"evaluation_parallel_to_training": True}, "`evaluation_parallel_to_training` can only be"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("runner", RUNNERS)
def test_what_cannot_be_is_refused_by_name_before_anything_is_built(runner, name):
    settings, message = REFUSED[name]
    config = config_of(runner, **settings)
    if name in ("callback", "connector") and runner == "stock":
        assert checked(config).env_runner_cls is config.env_runner_cls
        return
    with pytest.raises((ValueError, TypeError), match=message):
        checked(config)


def checked(config):
    """The settings of evaluations, after all that an algorithm checks before it builds anything."""
    config.validate()
    evaluation = config.get_evaluation_config_object()
    evaluation.validate()
    return evaluation


SEATS = ["agent", "agent", "banker", "novice", "banker", "novice"]
FIELD = LineUpDistribution([Group(2, {"trainable:main": 1}), Group(4, {"bot:turtle": 1})])


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path / "store")
    add(store, "strong", network=network_called("strong"))
    add(store, "later", policy="1", network=network_called("1"))
    return store


def against_a_snapshot(store, own, **changes):
    """PPO against a snapshot, whose evaluations have the entries ``own``; all in this process."""
    env = {**entries(None, "strong"), "max_cycles": 6, **changes}
    config = ppo(env, steps=6, games=1, store=store, runner="batched", size="small")
    return config.evaluation(
        evaluation_interval=1,
        evaluation_num_env_runners=0,
        evaluation_duration=1,
        evaluation_config={"env_config": own},
    )


def options_in(config):
    """The options of the games of evaluations."""
    return EnvConfig.from_config(config.get_evaluation_config_object().env_config)


def frozen_in(runner):
    """The snapshots in the engine's seats of a runner."""
    return in_engine(runner.env.game, 0)


@pytest.mark.usefixtures("running_ray")
def test_evaluations_follow_the_league_with_its_snapshots_and_keep_their_own_entries(ends, store):
    algorithm = ends(against_a_snapshot(store, {"max_cycles": 3}).build_algo())
    algorithm.train()
    runner = algorithm.eval_env_runner
    assert (runner.env.options.store.path, runner.env.options.max_cycles) == (store.path, 3)
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
    algorithm = ends(against_a_snapshot(store, own).build_algo())
    algorithm.train()
    before = algorithm.eval_env_runner.env.envs[0].league.to_json()
    set_league(algorithm, table("later"))
    algorithm.evaluate()
    assert algorithm.eval_env_runner.env.envs[0].league.to_json() == before
    assert frozen_in(algorithm.eval_env_runner) == set()


def test_entries_of_evaluations_take_the_place_of_those_that_are_trained(store):
    with_seats = options_in(against_a_snapshot(store, {"seats": SEATS, "max_cycles": None}))
    assert (with_seats.league, list(with_seats.seats), with_seats.max_cycles) == (None, SEATS, None)
    assert (with_seats.store, with_seats.obs) == (store, "pairs")
    with_league = options_in(against_a_snapshot(store, {"league": FIELD}, league=None, seats=SEATS))
    assert (with_league.seats, with_league.league, with_league.max_cycles) == (None, FIELD, 6)
    with pytest.raises(TypeError, match=r"keyword argument 'max_cycle' \(did you mean 'max_cycles'\?\)"):
        options_in(against_a_snapshot(store, {"max_cycle": 3}))


def test_snapshots_that_evaluations_alone_draw_are_refused_by_name(store):
    config = against_a_snapshot(store, {"league": table("strong")}, league=FIELD)
    with pytest.raises(
        ValueError, match="evaluation_config: frozen_obs of snapshots in the league is 'pairs', but conf"
    ):
        config.get_evaluation_config_object().validate()
