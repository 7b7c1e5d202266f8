"""Settings: callbacks are the user's, all is plain data, and what cannot be is refused by its name."""

import json

import pytest
import torch
import yaml
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.algorithms.cql import CQLConfig
from ray.rllib.algorithms.marwil import MARWILConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.learner import learner_group
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner

from rllib_adapters import configure, configure_league
from rllib_adapters.algorithms import TerritorialPPO, TerritorialPPOConfig
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule
from territorial import GameConfig
from territorial.league import Group, League, LineUpDistribution
from territorial.maps import MapMix
from tests.league.support import Patient
from tests.rllib import kit
from tests.rllib.leagues import FORMS, FORMS_ENV, MIXTURE, MODULES
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


# ---- what cannot be ----------------------------------------------------------------------------------


OLD_STACK = {"enable_rl_module_and_learner": False, "enable_env_runner_and_connector_v2": False}
ENTRIES = [
    ({"config": {"hight": 32}}, "hight"),
    ({"config": 3}, "config is 3; it must be a territorial.GameConfig, or its fields"),
    (
        {"bots": [3]},
        "bots has the entry 3; it must be a territorial.bots.PythonBot or 'module:Class', a "
        "territorial.bots.Style or 'style:FILE', or a territorial.bots.Network or 'net:FILE'",
    ),
    (
        {"league": {"groups": [], "shuffle": False, "seats": 3}},
        "a line-up distribution has the field 'seats'; it must",
    ),
    (
        {"height": 32},
        "argument 'height'; .* a field of their config: {'config': {'height': ...}}",
    ),
    ({"reward_fn": len}, "'reward_fn'; .* {'config': {'rewards': ...}}"),
]
ENTRIES_OF_A_LEAGUE = [
    ({"league": None, "seats": ["agent"]}, "seats has 1 entries but num_players is 6"),
    ({"league": None, "seats": ["agent"] * 5 + ["bot"]}, r"seats\[5\] is 'bot'; it must be one of agent"),
    ({"league": None, "seats": ["novice"] * 6}, "no seat is called 'agent'"),
    ({"seats": ["agent"] * 6}, "seats and league both define the players"),
    (
        {"league": LineUpDistribution([Group(2, {"trainable:main": 1})])},
        "the line-up distribution has 2 seats",
    ),
    (
        {"league": LineUpDistribution([Group(6, {"bot:novice": 1})])},
        "no group .* has only players that are learned from",
    ),
    (
        {"league": LineUpDistribution([Group(6, {"trainable:pool": 1})])},
        "the league has trainable:pool; its name must .* not be 'pool'",
    ),
    (
        {"league": LineUpDistribution([Group(6, {"trainable:a/b": 1})])},
        "the league has trainable:a/b; its name must have letters",
    ),
    ({"frames": 0}, "frames is 0; it must be a whole number from 1 to 16"),
    ({"end_when": "never"}, "end_when is 'never'; it must be one of no_agents, game"),
    ({"max_cycles": 0}, "max_cycles is 0; it must be a whole number from 1"),
    ({"seat": 1}, r"unexpected keyword argument 'seat' \(did you mean 'seats'\?\)"),
    ({"config": 3}, "config is 3; it must be a"),
    ({"league": 3}, "league is 3; it must be a"),
]
ENTRIES_OF_ALL_FORMS = [
    (
        {"obs": {"main": "pairs", "scot": "packed", "rival": "packed"}},
        r"obs has the entry 'scot' \(did you mean 'scout'\?\); it must be a form for all",
    ),
    (
        {"obs": {"main": "pairs", "scout": "packed"}},
        "obs has no entry 'rival'; it must be a form for all .* or a dict with one for each of main, sc",
    ),
    (
        {"obs": {**FORMS, "scout": "both"}},
        r"obs\['scout'\] is 'both'; it must be one of packed, features, pooled, onehot, pairs$",
    ),
    ({"frozen_obs": "boards"}, "frozen_obs is 'boards'; it must be one of packed, .*, pairs, both$"),
    ({"action_format": "pair"}, "action_format is 'pair'"),
    (
        {"obs": "pair"},
        r"obs is 'pair' \(did you mean 'pairs'\?\); it must be one of packed, features",
    ),
    ({"num_candidates": 0}, "num_candidates is 0; it must be a whole number from 1 to 250"),
    ({"repeat": 0}, "repeat is 0; it must be a whole number"),
    (
        {"obs": dict.fromkeys(FORMS, "packed"), "action_format": "pairs"},
        "action_format is 'pairs' and obs is {'main': 'packed', .*; it must be one of multi_d",
    ),
    (
        {"obs": dict.fromkeys(FORMS, "packed"), "num_candidates": 3},
        "num_candidates is 3 and obs is {'main': 'pac",
    ),
]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        *ENTRIES,
        *((env_config(**changes), message) for changes, message in ENTRIES_OF_A_LEAGUE),
        *(({**FORMS_ENV, **changes}, message) for changes, message in ENTRIES_OF_ALL_FORMS),
    ],
)
def test_an_environment_that_cannot_be_is_refused_by_name(env, message):
    with pytest.raises((TypeError, ValueError), match=message):
        TerritorialMultiAgentEnv(env)


ALGORITHMS = [
    (SACConfig(), "the algorithm SAC cannot be configured: it learns a policy and two networks of val"),
    (CQLConfig(), "the algorithm CQL cannot be configured: it learns from recorded data"),
    (BCConfig(), "the algorithm BC cannot be configured: it learns from recorded data"),
    (MARWILConfig(), "the algorithm MARWIL cannot be configured: it learns from recorded data"),
    (AlgorithmConfig(), "cannot be configured: it was not tested .*; use PPO, IMPALA, APPO or DQN"),
    (PPOConfig().api_stack(**OLD_STACK), "the configuration is for the old API stack"),
]


@pytest.mark.parametrize(
    ("config", "env", "options", "message"),
    [
        *((config, env_config(), {}, message) for config, message in ALGORITHMS),
        (
            PPOConfig,
            {},
            {},
            "config is <class '.*PPOConfig'>; it must be a configuration of RLlib's",
        ),
        (PPOConfig(), CONFIG, {}, "env_config is GameConfig.*; it must be a dict of entries of EnvConfig"),
        (PPOConfig(), {}, {"obs": "pairs"}, "obs is an entry of the env_config"),
        (
            PPOConfig(),
            {},
            {"module": None, "hold_probabilty": 1},
            r"unexpected keyword argument 'hold_probabilty' \(did you mean 'hold_probability'\?\)",
        ),
        (
            PPOConfig(),
            {"config": CONFIG, "seats": ["agent"] * 6, "obs": "pairs"},
            {"module": int},
            r"the module of 'main' is .*; it must be a subclass of RLModule",
        ),
        (PPOConfig(), env_config(), {"store": None}, "store is None, but the league uses snapshots"),
        (
            PPOConfig(),
            env_config(),
            {"runner": "fast"},
            "runner is 'fast'; it must be one of batched, stock",
        ),
        (
            PPOConfig(),
            env_config(),
            {"frozen_seats": "python"},
            "frozen_seats is 'python'; it must be one of engine, pool",
        ),
        (
            PPOConfig(),
            env_config(league=MIXTURE),
            {"module": {"main": SmallModule}},
            "the modules are main; the learners of the league are main, pro",
        ),
        (
            PPOConfig(),
            env_config(league=MIXTURE),
            {"module": torch.nn.Linear},
            r"the module of 'main' is <class 'torch.*Linear'>; it must be a sub",
        ),
        (
            PPOConfig(),
            FORMS_ENV,
            {"module": {**MODULES, "main": SmallModule}},
            "the module of 'main' is .*SmallModule.*, which reads 'packed', but 'main' has obs",
        ),
        (
            PPOConfig(),
            FORMS_ENV,
            {"module": {**MODULES, "rival": PairModule}},
            "the module of 'rival' is .*PairModule.* of BoardModule, as 'rival' has obs='pac",
        ),
        (
            PPOConfig(),
            FORMS_ENV,
            {"module": {**MODULES, "main": TorchRLModule}},
            "TorchRLModule.* learns or is in .* subclass of BoardModule or PairModule",
        ),
        (
            PPOConfig(),
            {**FORMS_ENV, "frozen_obs": "packed"},
            {"module": MODULES, "architectures": [PairModule]},
            "PairModule.* learns or is in architectures, and .* a subclass of BoardModule",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(config, env, options, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        configure(config, env, **{"module": SmallModule, "store": str(tmp_path)} | options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: PairModule(model_config={"action_format": "discrete"}),
            "action_format is 'discrete'; a PairModule needs one of pairs, pairs_m",
        ),
        (
            lambda: settings_of(FORMS_ENV),
            "learner is None, and obs is .*; learner must be one of main, scout",
        ),
        (
            lambda: EnvConfig(config=CONFIG, store=5),
            r"store is 5; it must be a territorial\.league\.SnapshotStore",
        ),
        (
            lambda: configure_league(PPOConfig(), {}, League(kit.rules_of("four"), rated=False), "store"),
            "env of the league is 'four', and it must be 'territorial'",
        ),
        (
            lambda: configure_league(PPOConfig(), {}, small_league().config, "store"),
            "league is LeagueConfig.*; it must be a League",
        ),
        (
            lambda: configure_league(PPOConfig(), {}, small_league(), "store", start=3),
            "start is 3; it must be a file of weights",
        ),
    ],
)
def test_what_else_cannot_be_is_refused_by_name(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
