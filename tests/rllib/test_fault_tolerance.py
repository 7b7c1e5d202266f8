"""RLlib's fault-tolerance settings, with both runners, and evaluations on Ray: what fails, and goes on."""

import gc
import os
import signal
import time
from functools import partial

import numpy as np
import pytest
from ray.rllib.env.env_errors import StepFailedRecreateEnvError

from rllib_adapters import outcomes_of, set_league
from rllib_adapters.cluster import OnRay
from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.env_config import MAIN, POOL
from territorial import GameConfig, Scenario, evaluate
from territorial.bots import PythonBot
from territorial.evaluation.workers import PlayingError
from territorial.league import Group, LineUpDistribution, SnapshotStore
from tests.rllib.leagues import add, entries, in_engine, network_called, table
from tests.rllib.support import CONFIG, SmallModule, league, ppo, train_on

pytestmark = pytest.mark.usefixtures("running_ray")

RUNNERS = ("batched", "stock")


class Fails(PythonBot):
    """A bot that raises ``error`` in its decisions, where ``when(bot)`` says so, ``left`` times at most."""

    interval = CONFIG.decision_every  # it is asked in every step, at whatever tick it begins

    def __init__(self, name, when=lambda bot: bot.decisions >= 3, left=1, error=ArithmeticError):
        self.name, self.when, self.left, self.error, self.decisions = name, when, left, error, 0

    def decide(self, view):
        self.decisions += 1
        if self.left and self.when(self):
            self.left -= 1
            raise self.error(f"decision {self.decisions}")
        return -1, 1024


def config_of(runner, bot, **faults):
    env = {"config": CONFIG, "league": league(bot), "frames": 1, "max_cycles": 5}
    return ppo(env, module=SmallModule, runner=runner).fault_tolerance(**faults)


@pytest.fixture(scope="module", params=RUNNERS)
def algorithm(request, running_ray):
    """An algorithm whose games are made again when they fail."""
    algorithm = config_of(request.param, "bot:novice", restart_failed_sub_environments=True).build_algo()
    yield algorithm
    algorithm.stop()


def games_over(runner):
    """How many games of a runner are over that nobody has asked for."""
    env = runner.env
    batches = [env] if hasattr(env, "outcomes") else [one.unwrapped for one in env.envs]
    return sum(len(batch.outcomes) for batch in batches)


def test_games_that_fail_are_made_again_by_the_present_table(algorithm):
    failures = partial(algorithm.metrics.peek, ("env_runners", "num_env_step_failures"), default=0)
    before, first, bot = failures(), algorithm.env_runner.env, Fails("present-1")
    set_league(algorithm, league(bot))
    while bot.left:
        result = algorithm.train()
        assert result["env_runners"]["num_env_steps_sampled"] >= 24
    assert failures() == before + 1
    assert algorithm.env_runner.env is not first
    for env in algorithm.env_runner.env.envs:
        assert "present-1" in env.unwrapped.league.names("bot")


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_bot_that_fails_in_another_process_is_an_error_of_the_iteration(runner, ends):
    algorithm = ends(config_of(runner, Fails("afar")).env_runners(num_env_runners=1).build_algo())
    with pytest.raises(ValueError, match=r"ArithmeticError: decision \d+ \(.*test_fault_tolerance.py, line"):
        train_on(algorithm)


def test_a_table_that_other_processes_refuse_changes_nothing(ends):
    algorithm = ends(config_of("stock", "bot:novice").env_runners(num_env_runners=1).build_algo())
    before, too_many = algorithm.config.table, LineUpDistribution([Group(8, {"trainable:main": 1})])
    with pytest.raises(ValueError, match="8 seats"):
        set_league(algorithm, too_many)
    assert algorithm.config.table is before
    algorithm.train()


@pytest.mark.parametrize("error", [ArithmeticError, StepFailedRecreateEnvError])
@pytest.mark.parametrize("by", [{"num_timesteps": 80}, {"num_episodes": 5}])
def test_episodes_and_outcomes_of_before_stay_in_the_sample(algorithm, by, error, caplog):
    runner = algorithm.env_runner
    name = f"{error.__name__}-{'-'.join(by)}-1".replace("_", "-")
    bot = Fails(name, lambda _: games_over(runner) >= 2, error=error)
    set_league(algorithm, league(bot))
    outcomes_of(algorithm)
    episodes = runner.sample(force_reset=True, **by) if "num_timesteps" in by else runner.sample(**by)
    assert bot.left == 0
    ended = sum(episode.is_done for episode in episodes)
    assert ended >= by.get("num_episodes", 2)
    assert len({episode.id_ for episode in episodes}) == len(episodes)
    assert len(outcomes_of(algorithm)) >= ended
    assert any("failed" in one.getMessage() for one in caplog.records) == (error is ArithmeticError)


@pytest.mark.parametrize("runner", RUNNERS)
def test_without_restarts_an_error_is_raised_and_everything_ends_quietly(runner, monkeypatch):
    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    algorithm = config_of(runner, Fails("ends-1"), restart_failed_sub_environments=False).build_algo()
    with pytest.raises((ArithmeticError, RuntimeError)) as raised:
        train_long(algorithm)
    assert "decision 3" in (str(raised.value), str(raised.value.__cause__))
    algorithm.stop()
    algorithm.stop()
    algorithm.env_runner.env.close()
    del algorithm, raised
    gc.collect()
    assert unraisable == []


def train_long(algorithm):
    for _ in range(100):
        algorithm.train()


OTHER_GAMES = CONFIG.replace(map="islands", win_percent=60)
# Seconds after which it hangs.
PATIENCE = 300


def report(runner):
    """Of a runner: its process, games and tables, the snapshots in the engine, and those in the pool."""
    return {
        "pid": os.getpid(),
        "games": runner.env.game.config,
        "tables": {view.league.to_json() for view in runner.env.envs},
        "in_engine": {name for k in range(len(runner.env.envs)) for name in in_engine(runner.env.game, k)},
        "in_pool": {name for view in runner.env.envs for name in view.snapshots},
        "opened": runner.module[POOL].opponents.names,
        "weights": {key: np.array(part) for key, part in runner.module[MAIN].get_state().items()},
    }


def runner_of(algorithm):
    """What is ``report`` of the only runner; None while there is none."""
    group = algorithm.env_runner_group
    found = group.foreach_env_runner(report, local_env_runner=False) if group.healthy_worker_ids() else []
    return found[0] if found else None


@pytest.mark.usefixtures("running_ray")
def test_a_runner_that_is_restarted_has_the_present_snapshots_in_the_engines_seats(ends, tmp_path):
    store = SnapshotStore(tmp_path)
    add(store, "strong", network=network_called("strong"))
    env = {**entries(None, "strong"), "max_cycles": 6}
    config = ppo(env, steps=6, store=store, runner="batched", size="small")
    config.env_runners(num_env_runners=1, create_local_env_runner=False)
    config.fault_tolerance(
        restart_failed_env_runners=True,
        delay_between_env_runner_restarts_s=0,
        env_runner_health_probe_timeout_s=PATIENCE,
    )
    algorithm = ends(config.build_algo())
    algorithm.train()
    add(store, "later", policy="1", network=network_called("1"))
    set_league(algorithm, table("later"))
    set_env(algorithm, config=OTHER_GAMES)
    store.remove("strong")  # the first table's: whoever went back to it would find nothing
    before = runner_of(algorithm)
    os.kill(before["pid"], signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while (now := runner_of(algorithm)) is None or now["pid"] == before["pid"]:
        assert time.monotonic() < end, "the runner is not back"
        algorithm.train()
    algorithm.train()
    now = runner_of(algorithm)
    assert (now["tables"], now["games"]) == ({table("later").to_json()}, OTHER_GAMES)
    assert (now["in_engine"], now["in_pool"], now["opened"]) == ({"later"}, set(), [])
    weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
    np.testing.assert_equal({name: now["weights"][name] for name in weights}, weights)


# ---- evaluations on Ray ------------------------------------------------------------------------------


SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=400)
SCENARIOS = {"s": Scenario(config=SMALL, seats=["agent", "banker", "novice", "random"])}


class Fragile(PythonBot):
    """Ends its process the first time that it is asked."""

    name = "fragile"

    def __init__(self, path):
        self.path = path

    def decide(self, view):
        if not self.path.exists():
            self.path.write_text("gone")
            os._exit(1)
        return -1, 1024


def test_a_cluster_plays_what_one_process_plays(tmp_path):
    policies = {"a": "banker", "b": "metronome", "c": "turtle"}
    here = evaluate(policies, SCENARIOS, 20, processes=1, progress=False)
    there = evaluate(policies, SCENARIOS, 20, play=OnRay(2), progress=False, out=tmp_path / "trials.jsonl")
    assert there.records == here.records


def test_what_was_lost_with_an_actor_is_played_again(tmp_path):
    policies = {"fragile": Fragile(tmp_path / "was here")}
    found = evaluate(policies, SCENARIOS, 20, play=OnRay(2), progress=False)
    assert (tmp_path / "was here").exists()
    assert len(found.records) == 20


class Failing(PythonBot):
    """Fails at its twentieth decision."""

    name = "failing-1"

    def decide(self, view):
        if view.ticks[0] >= 200:
            raise ArithmeticError("no more")
        return -1, 1024


@pytest.mark.verify
def test_what_went_wrong_on_a_cluster_comes_out_of_it(tmp_path):
    with pytest.raises(PlayingError, match=r"^ArithmeticError: no more \(.*test_fault_tolerance.py, line"):
        evaluate([Failing()], SCENARIOS, 4, play=OnRay(1), progress=False)
