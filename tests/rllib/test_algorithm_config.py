"""Settings: callbacks are the user's, foreign classes are refused, all is plain data."""

import json

import pytest
import yaml
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.learner import learner_group
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from rllib_adapters import configure
from rllib_adapters.algorithms import TerritorialPPO, TerritorialPPOConfig
from rllib_adapters.envs.env_config import EnvConfig
from territorial import GameConfig
from territorial.league import Group, LineUpDistribution
from territorial.maps import MapMix
from tests.league.support import Patient
from tests.rllib.support import (
    CONFIG,
    LEAGUE,
    SmallModule,
    env_config,
    fill,
    ppo,
    runner_of,
    small_config,
)
from tests.rllib.test_league import league_config, small_league


class Mine(RLlibCallback):
    """Callbacks of the user's own, of which ``configure`` knows nothing."""


@pytest.mark.parametrize("runner", ["stock", "batched"])
def test_rows_that_do_not_train_stay_in_the_runner_whatever_the_callbacks(tmp_path, runner):
    config = small_config(fill(tmp_path), runner=runner)
    config.callbacks(Mine, on_sample_end=lambda **_: None)
    config.multi_agent(policies_to_train=[])
    (episode, *_) = runner_of(config).sample(num_timesteps=2, random_actions=True)
    assert episode.env_steps() > 0
    assert not episode.agent_episodes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda config: config.env_runners(env_runner_cls=MultiAgentEnvRunner),
            r"env_runner_cls is .*; derive it from .*TerritorialEnvRunner or .*StockEnvRunner, and set it "
            r"with config.env_runners\(env_runner_cls=...\)",
        ),
        (
            lambda config: config.learners(learner_class=PPOTorchLearner),
            r"learner_class is .*; derive it from .*TerritorialPPOLearner, and set it with config.learners",
        ),
    ],
)
def test_classes_that_would_leave_out_what_must_run_are_refused_at_build(tmp_path, change, message):
    config = change(small_config(fill(tmp_path)))
    with pytest.raises(ValueError, match=message):
        config.build_algo()


def test_rllibs_own_algorithm_is_refused(tmp_path):
    config = small_config(fill(tmp_path))
    theirs = PPOConfig().update_from_dict(config.to_dict())  # by Tuner("PPO", param_space=config)
    with pytest.raises(ValueError, match=r"the algorithm is RLlib's own, .*Tuner\(config.algo_class, param_"):
        config.env_runner_cls(config=theirs, worker_index=0, num_workers=0)
    with pytest.raises(ValueError, match=r"the algorithm is RLlib's own"):
        config.copy().build_learner_group(rl_module_spec=config.rl_module_spec)  # by PPO(config=config)


def test_configurations_of_ones_own_are_derived_from_those_of_this_package(tmp_path):
    class Theirs(PPOConfig):
        pass

    class Ours(TerritorialPPOConfig):
        algorithm = type("Better", (TerritorialPPO,), {})

    given = PPOConfig().training(lr=0.125)
    made = configure(given, {"config": CONFIG}, module=SmallModule)
    assert (made.lr, made.algo_class) == (0.125, TerritorialPPO)
    ours = Ours()
    assert configure(ours, {"config": CONFIG}, module=SmallModule).algo_class.__name__ == "Better"
    assert given.env is ours.env is None, "what was given stays as it was"
    with pytest.raises(
        ValueError, match=r"the configuration is a .*Theirs for .*; derive the configuration from .*PPOConf"
    ):
        configure(Theirs(), {"config": CONFIG}, module=SmallModule)
    with pytest.raises(ValueError, match=r"derive .* and the algorithm from TerritorialPPO"):
        configure(PPOConfig(algo_class=type("Better", (PPO,), {})), {"config": CONFIG}, module=SmallModule)


# ---- plain data -----------------------------------------------------------------------------------


def test_settings_are_serialized_as_plain_data_and_make_the_same_games(tmp_path):
    table = LineUpDistribution(
        [Group(3, {"trainable:main": 1}), Group(3, {Patient(): 1, "snapshot:first": 1})]
    )
    game = CONFIG.replace(map=MapMix({"lakes": 2, "islands:count=4": 1}), rewards={"land": 1, "kills": 0.5})
    config = small_config(fill(tmp_path), env={"config": game, "league": table})
    config.callbacks(Mine, on_train_result=print)
    values = json.loads(json.dumps(config.serialize(), allow_nan=False))
    assert values["callbacks"].endswith("Mine")
    again = EnvConfig.from_config({**values["env_config"], "bots": [Patient()]})
    assert (again.config, again.table.to_dict()) == (game, table.to_dict())
    json.dumps(league_config(tmp_path / "other", small_league()).serialize())


def test_an_environment_may_be_configured_by_a_file():
    text = """
    config: {height: 32, width: 32, num_players: 6, map: islands, rewards: {land: 1}}
    bots: ["tests.league.support:Patient"]
    league:
      groups:
        - {seats: 2, players: {"trainable:main": 1}, together: false}
        - {seats: 4, players: {"bot:patient-1": 2, "bot:novice": 1}, together: false}
      shuffle: false
    max_cycles: 12
    """
    config = configure(PPOConfig(), yaml.safe_load(text), module=SmallModule)
    options = EnvConfig.from_config(config.env_config)
    assert options.config == GameConfig(
        height=32, width=32, num_players=6, map="islands", rewards={"land": 1}
    )
    assert options.table.names("bot") == ["novice", "patient-1"]
    bots = ["tests.league.support:Patient"]
    seats = {"config": {"num_players": 2}, "bots": bots, "seats": ["agent", "patient-1"]}
    assert isinstance(EnvConfig.from_config(seats).seats[1], Patient)


def test_episodes_end_with_the_last_agent_that_learns_where_nothing_else_is_said():
    config = configure(PPOConfig(), {"config": CONFIG}, module=SmallModule)
    assert config.env_config == {"config": CONFIG, "end_when": "no_agents"}
    whole = configure(PPOConfig(), {"config": CONFIG, "end_when": "game"}, module=SmallModule)
    assert whole.env_config["end_when"] == EnvConfig().end_when == "game"


FIELD = LineUpDistribution(
    [Group(3, {"trainable:main": 1, "trainable:third": 0}), Group(3, {"bot:novice": 1})]
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frames": 3}, "^frames is 3, but configure.* modules for 2; pass this entry to configure"),
        ({"config": {"height": 48, "width": 32, "num_players": 6}}, "^height is 48, .* for 32;"),
        ({"config": CONFIG.replace(num_players=8)}, "^num_players is 8, .* for 6;"),
        ({"config": CONFIG.replace(teams=2)}, "^teams is True, .* for False;"),
        ({"config": CONFIG.replace(max_ticks=300)}, "^config.max_ticks is 300, .* for 400;"),
        ({"obs": "pairs"}, "^obs of trainable:main is 'pairs', .* for 'packed';"),
        ({"obs": {"main": "pairs"}}, "^obs of trainable:main is 'pairs', .* for 'packed';"),
        ({"league": FIELD}, "^obs of trainable:third is 'packed', .* for none;"),
        ({"league": LEAGUE}, "^frozen_obs of snapshots in the league is 'packed', .* for none;"),
        ({"max_cycles": 3, "league": FIELD.to_dict() | {"shuffle": True}}, "trainable:third"),
    ],
)
def test_games_that_were_changed_after_configure_are_refused_before_anything_is_built(changes, message):
    env = {"max_cycles": 9, "league": None, "seats": ["agent"] * 3 + ["banker"] * 3}
    config = ppo(env_config(**env), module=SmallModule)
    config.environment(env_config={"max_cycles": 5, "seats": ["agent"] * 2 + ["novice"] * 4})
    config.validate()
    config.environment(env_config={"seats": None, **changes})
    with pytest.raises(ValueError, match=message):
        config.validate()


@pytest.mark.parametrize("runner", ["stock", "batched"])
def test_what_rllib_has_not_for_these_games_is_refused_with_what_to_set_instead(runner):
    config = configure(PPOConfig(), env_config(league=FIELD), module=SmallModule, runner=runner)
    config.env_runners(gym_env_vectorize_mode="async")
    with pytest.raises(ValueError, match=r"'async'; it must be 'sync', .* num_env_runners sets"):
        config.validate()
    config.env_runners(gym_env_vectorize_mode="sync").framework("tf2")
    with pytest.raises(ValueError, match="framework is 'tf2'; it must be 'torch'"):
        config.validate()


# ---- minibatches ----------------------------------------------------------------------------------


def test_a_minibatch_is_counted_in_rows_of_agents():
    game = GameConfig(height=64, width=64, num_players=32)
    config = configure(PPOConfig(), {"config": game}, module=SmallModule)
    config.training(train_batch_size_per_learner=64, minibatch_size=64 * 32).validate()
    assert config.minibatch_size == 64 * 32
    for unit, message in (
        ("env_steps", "is 2049; a train batch has at most 2048 rows .*: 64 steps of up to 32 se"),
        ("agent_steps", "a train batch has at most 64 rows for a module: 64 agent steps"),
    ):
        config.multi_agent(count_steps_by=unit).training(minibatch_size=64 * 32 + 1)
        with pytest.raises(ValueError, match=message):
            config.validate()


def test_each_who_learns_has_rows_of_their_own_seats():
    seats = [Group(4, {"trainable:main": 1}), Group(2, {"trainable:rival": 1, "trainable:main": 0})]
    config = configure(PPOConfig(), env_config(league=LineUpDistribution(seats)), module=SmallModule)
    config.training(train_batch_size_per_learner=10, minibatch_size=40).validate()
    with pytest.raises(ValueError, match="at most 40 rows"):
        config.training(minibatch_size=41).validate()


@pytest.mark.parametrize(
    ("learners", "gpus", "backend"), [(2, 0.5, "gloo"), (2, 1, None), (1, 0.5, None), (2, 0, None)]
)
def test_learners_that_share_a_gpu_talk_through_gloo(monkeypatch, learners, gpus, backend):
    """Where it is None, RLlib chooses: NCCL on GPUs, which refuses two processes on one of them."""
    config = configure(PPOConfig(), {"config": CONFIG}, module=SmallModule)
    config.learners(num_learners=learners, num_gpus_per_learner=gpus)
    config.is_in_algorithm = True

    def made(backend_config, **_):
        raise RuntimeError(f"it is {backend_config.backend}")

    monkeypatch.setattr(learner_group, "RLlibBackendExecutor", made)
    before = learner_group._get_backend_config
    with pytest.raises(RuntimeError, match=f"it is {backend}"):
        config.build_learner_group(rl_module_spec=config.rl_module_spec)
    assert learner_group._get_backend_config is before
