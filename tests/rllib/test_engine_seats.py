"""Bots in the engine's seats: exported snapshots, and custom bots, of which there is one for a name."""

import gc
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from ray import cloudpickle
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.envs.batch import TerritorialBatchEnv, _open
from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.modules.pairs import PairModule, network_of
from territorial.bots import FreeLand, Network, PythonBot, Style
from territorial.bots.network_file import assembled
from territorial.engine.players import ROOM
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.nets import PairPolicy
from tests.bots.networks import description, random_file, random_layers
from tests.episodes import begun
from tests.league.support import Patient
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


def test_configure_takes_a_switch(tmp_path):
    env = entries(None, "strong")
    store = SnapshotStore(tmp_path)
    seated = configure(PPOConfig(), env, store=store)
    assert EnvConfig.from_config(seated.env_config).store is store
    pooled = configure(PPOConfig(), env, store=store, frozen_seats="pool")
    assert EnvConfig.from_config(pooled.env_config).store is None
    moved = SnapshotStore(tmp_path / "after")
    seated.move_store(moved)
    assert EnvConfig.from_config(seated.env_config).store is moved, "it is that of the games, too"


# ---- coming and going --------------------------------------------------------------------------------


def test_a_game_plays_on_with_a_snapshot_that_is_removed(store):
    ends = []
    for removes in (False, True):
        env = begun(TerritorialBatchEnv(entries(store, "strong", max_cycles=None), 1), seed=4)
        env.envs[0].set_league(table("weak"))
        if removes:
            store.remove("strong")
        for _ in range(20):
            env.step(hold(env))
        ends.append(env.game.digest(0))
    assert ends[0] == ends[1]


def test_another_snapshot_of_the_name_is_another_network(store):
    env = begun(TerritorialBatchEnv(entries(store, "strong", max_cycles=2), 1), seed=4)
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
    env = begun(TerritorialBatchEnv(entries(store, "strong", "weak", max_cycles=2), 2), seed=5)
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
        assert len(env._registry._networks) <= 2
    gc.collect()
    assert 2 < len(env.game._players.bots) <= ROOM
    assert len(_open) <= ROOM


def test_environments_of_a_process_share_what_they_open(store):
    envs = [TerritorialBatchEnv(entries(store, "strong"), 1) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    first, second = (env._registry.network("strong") for env in envs)
    assert first is second


SEED, STEPS = 5, 25


class Settler(PythonBot):
    """Takes neutral land whenever it may."""

    name, interval = "settler-of-mine", 20

    def decide(self, view):
        return np.where(view.legal[:, 0], 0, -1), 64


STYLE = Style(name="style-of-mine", interval=20, free=FreeLand(send=6))


def table_of(*players, shuffle=True):
    groups = [Group(1, {"trainable:main": 1}), Group(5, dict.fromkeys(players, 1))]
    return LineUpDistribution(groups, shuffle)


def land_of(env):
    """The land of all seats after ``STEPS`` in which agents hold."""
    env.reset(seed=SEED)
    for _ in range(STEPS):
        env.step(np.zeros((1, CONFIG.num_players, 2), np.int64))
    return env.game.state.land[0].tolist()


@pytest.mark.parametrize(
    "players",
    [
        {"seats": ["agent", Settler(), "novice", Settler.name, "agent", "novice"], "bots": [Settler()]},
        {"seats": ["agent", STYLE, "novice", STYLE.name, "agent", "novice"], "bots": [STYLE]},
        None,
    ],
    ids=["seats", "style", "league"],
)
def test_custom_bots_play(players):
    options = {"config": CONFIG, "frames": 1, "end_when": "game"}
    options |= players or {"league": table_of(Settler(), Patient(), STYLE, "bot:novice")}
    if players:  # one bot for the name
        options["seats"][1] = options["bots"][0]
    env, names = TerritorialBatchEnv(options, 1), (Settler.name, STYLE.name)
    land = land_of(env)
    players = enumerate(env.envs[0].players, start=1)
    settled = [land[i] for i, player in players if player.name in names]
    assert min(settled) > 12, "they have been asked, and have taken land"


def test_a_table_that_is_sent_to_a_runner_brings_copies_of_its_bots():
    first = table_of(Settler(), "bot:novice")
    options = cloudpickle.loads(cloudpickle.dumps({"config": CONFIG, "frames": 1, "league": first}))
    env = TerritorialBatchEnv(options, 1)
    land = land_of(env)
    (view,) = env.envs
    view.set_league(cloudpickle.loads(cloudpickle.dumps(first)))
    assert land_of(env) == land
    view.set_league(cloudpickle.loads(cloudpickle.dumps(table_of(Patient(), Settler()))))
    env.reset(seed=SEED)
    assert {player.name for player in view.players} == {"main", "patient-1", Settler.name}


@pytest.fixture
def path(tmp_path):
    return str(random_file(tmp_path / "net.safetensors", 1, interval=20, temperature=4000).path)


def test_networks_play_however_they_are_named(path):
    drawn = Network(path, temperature=1.0)
    lands = []
    for players in (
        {"seats": ["agent", f"net:{path}", "novice", drawn, "agent", f"net:{path}"]},
        {"seats": ["agent", Network(path), "novice", drawn.name, "agent", Network(path)], "bots": [drawn]},
        {"league": table_of(f"bot:net:{path}", drawn)},
        {"league": table_of(f"bot:net:{path}", drawn).to_dict()},
    ):
        env = TerritorialBatchEnv({"config": CONFIG, "frames": 1, **players}, 1)
        lands.append(land_of(env))
        names = {player.name for player in env.envs[0].players}
        assert {Network(path).name, drawn.name} <= names
        assert EnvConfig.from_config(env.options.to_dict()).table == env.options.table
    assert lands[::2] == lands[1::2]


def test_what_runners_get_has_the_networks_by_their_whole_paths(path, monkeypatch):
    monkeypatch.chdir(Path(path).parent)
    seats = ["agent", "net:net.safetensors", *["agent"] * 4]
    shipped = cloudpickle.dumps(configure(PPOConfig(), {"config": CONFIG, "seats": seats}).env_config)
    monkeypatch.chdir("/")  # where a runner may be
    there = EnvConfig.from_config(cloudpickle.loads(shipped)).seats[1]
    assert (there.path, there.digest) == (Path(path), Network(path).digest)
    Path(path).unlink()
    with pytest.raises(FileNotFoundError, match=r"at its path wherever it plays: .*net\.safetensors"):
        cloudpickle.loads(shipped)
