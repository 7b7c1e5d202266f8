"""Exported snapshots sit in the engine's seats: what they choose, and what is held as they come and go."""

import gc
from copy import deepcopy

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.envs import seating
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.league.control import network_of
from rllib_adapters.modules.frozen_pool import move_store
from rllib_adapters.modules.pairs import PairModule
from territorial.bots.network_file import assembled
from territorial.engine.players import ROOM
from territorial.league import SnapshotStore
from territorial.nets import PairPolicy
from tests.bots.networks import description, random_layers
from tests.rllib.leagues import add, entries, fill_pairs, network_called, policy_called, table
from tests.rllib.support import CONFIG


@pytest.fixture
def store(tmp_path):
    return fill_pairs(tmp_path / "store")


def hold(env):
    return np.zeros((env.num_envs, 6), np.int64)


# ---- who stays in the pool ---------------------------------------------------------------------------


def test_snapshots_without_a_network_act_in_the_pool(store):
    add(store, "older")
    for env in (
        TerritorialBatchEnv(entries(store, "older", "strong"), 2),
        TerritorialBatchEnv(entries(store, "strong", end_when="game"), 2),
        TerritorialBatchEnv(entries(None, "strong"), 2),
    ):
        env.reset(seed=2)
        for k, view in enumerate(env.envs):
            in_pool = [seat in ("agent", "external") for seat in env.game.seats_of(k)[2:5]]
            assert env.frozen[k, 2:5].tolist() == in_pool
            assert view.snapshots == {view.players[2 + i].name for i in range(3) if in_pool[i]}
        assert env.frozen.any()


def test_what_cannot_be_exported_says_why():
    class OwnModule(PairModule):
        architecture = "Mine"

    class OwnPolicy(PairPolicy):
        pass

    options = EnvConfig.from_config({"config": CONFIG, "obs": "pairs"})
    wide = EnvConfig.from_config({"config": CONFIG, "obs": "pairs", "num_candidates": 65})
    usual, large = policy_called("1"), deepcopy(policy_called("1"))
    large.score.weight.mul_(1e6)
    for module, policy, given, message in (
        (OwnModule, usual, options, "its architecture is 'Mine'"),
        (PairModule, OwnPolicy("small"), options, "the engine plays 'PairPolicy'"),
        (PairModule, usual, wide, "num_candidates is 65"),
        (PairModule, large, options, "saturate whole numbers"),
    ):
        assert message in network_of(module, policy, given)


def test_configure_takes_a_switch_and_refuses_another_word(tmp_path):
    env = entries(None, "strong")
    store = SnapshotStore(tmp_path)
    seated = configure(PPOConfig(), env, store=store)
    assert EnvConfig.from_config(seated.env_config).store is store
    pooled = configure(PPOConfig(), env, store=store, frozen_seats="pool")
    assert EnvConfig.from_config(pooled.env_config).store is None
    moved = SnapshotStore(tmp_path / "after")
    move_store(seated, moved)
    assert EnvConfig.from_config(seated.env_config).store is moved, "it is that of the games, too"
    with pytest.raises(ValueError, match="frozen_seats is 'python'; it must be one of engine, pool"):
        configure(PPOConfig(), env, store=store, frozen_seats="python")
    with pytest.raises(TypeError, match=r"store is 5; it must be a territorial\.league\.SnapshotStore"):
        EnvConfig(config=CONFIG, store=5)


# ---- coming and going --------------------------------------------------------------------------------


def test_a_game_plays_on_with_a_snapshot_that_is_removed(store):
    ends = []
    for removes in (False, True):
        env = TerritorialBatchEnv(entries(store, "strong", max_cycles=None), 1)
        env.reset(seed=4)
        env.envs[0].set_league(table("weak"))
        if removes:
            store.remove("strong")
        for _ in range(20):
            env.step(hold(env))
        ends.append(env.game.digest(0))
    assert ends[0] == ends[1]


def test_another_snapshot_of_the_name_is_another_network(store):
    env = TerritorialBatchEnv(entries(store, "strong", max_cycles=2), 1)
    env.reset(seed=4)
    before = env.game.seats_of(0)[2]
    env.envs[0].set_league(table("weak"))
    store.remove("strong")
    add(store, "strong", network=network_called("1"))
    env.envs[0].set_league(table("strong"))
    for _ in range(3):
        env.step(hold(env))
    after = env.game.seats_of(0)[2]
    assert after.split("@")[0] == before.split("@")[0]
    assert after != before


def test_nothing_grows_as_many_come_and_go(store):
    """Of hundreds that come and go, a process holds those of the table and what fits the engine's."""
    env = TerritorialBatchEnv(entries(store, "strong", "weak", max_cycles=2), 2)
    env.reset(seed=5)
    about, random = description(candidate_width=16, context_width=16), np.random.default_rng(0)
    for number in range(80):
        name, gone = f"main-{number}", f"main-{number - 2}"
        add(store, name, network=assembled(about, random_layers(about, random)))
        for view in env.envs:
            view.set_league(table("strong", name))
        if gone in store:
            store.remove(gone)
        for _ in range(3):
            env.step(hold(env))
        assert len(env._house._networks) <= 2
    gc.collect()
    assert 2 < len(env.game._players.bots) <= ROOM
    assert len(seating._open) <= ROOM


def test_environments_of_a_process_share_what_they_open(store):
    envs = [TerritorialBatchEnv(entries(store, "strong"), 1) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    first, second = (env._house.network("strong") for env in envs)
    assert first is second
