"""What cannot be is refused by name before anything is built: entries of environments, and settings."""

import pytest
import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.algorithms.cql import CQLConfig
from ray.rllib.algorithms.marwil import MARWILConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from rllib_adapters import configure, configure_league
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule
from territorial.league import Group, League, LineUpDistribution
from tests.rllib import kit
from tests.rllib.leagues import FORMS, FORMS_ENV, MODULES
from tests.rllib.mixture import MIXTURE
from tests.rllib.support import CONFIG, SmallModule, env_config

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
        (PPOConfig(), {}, {"obs": "pairs"}, "obs is an entry of the env_config"),
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
    ],
)
def test_what_else_cannot_be_is_refused_by_name(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
