"""Custom bots in the environment of both runners: they play, and there is one bot for a name."""

from pathlib import Path

import numpy as np
import pytest
from ray import cloudpickle
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import EnvConfig
from territorial.bots import FreeLand, Network, PythonBot, Style
from territorial.league import Group, LeagueTable
from tests.bots.networks import random_file
from tests.rllib.support import CONFIG, Patient

SEED, STEPS = 5, 25


class Settler(PythonBot):
    """Takes neutral land whenever it may."""

    name, interval = "settler-of-mine", 20

    def decide(self, view):
        return np.where(view.legal[:, 0], 0, -1), 64


STYLE = Style(name="style-of-mine", interval=20, free=FreeLand(send=6))


def table(*players, shuffle=True):
    groups = [Group(1, {"trainable:main": 1}), Group(5, dict.fromkeys(players, 1))]
    return LeagueTable(groups, shuffle)


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
    options |= players or {"league": table(Settler(), Patient(), STYLE, "bot:novice")}
    if players:  # one bot for the name
        options["seats"][1] = options["bots"][0]
    env, names = TerritorialBatchEnv(options, 1), (Settler.name, STYLE.name)
    land = land_of(env)
    players = enumerate(env.envs[0].players, start=1)
    settled = [land[i] for i, player in players if player.name in names]
    assert min(settled) > 12, "they have been asked, and have taken land"


def test_a_table_that_is_sent_to_a_runner_brings_copies_of_its_bots():
    first = table(Settler(), "bot:novice")
    options = cloudpickle.loads(cloudpickle.dumps({"config": CONFIG, "frames": 1, "league": first}))
    env = TerritorialBatchEnv(options, 1)
    land = land_of(env)
    (view,) = env.envs
    view.set_league(cloudpickle.loads(cloudpickle.dumps(first)))
    assert land_of(env) == land
    view.set_league(cloudpickle.loads(cloudpickle.dumps(table(Patient(), Settler()))))
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
        {"league": table(f"bot:net:{path}", drawn)},
        {"league": table(f"bot:net:{path}", drawn).to_dict()},
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
    config = configure(PPOConfig(), {"config": CONFIG, "seats": seats})
    shipped = cloudpickle.dumps(config.env_config)
    monkeypatch.chdir("/")  # where a runner may be
    there = EnvConfig.from_config(cloudpickle.loads(shipped)).seats[1]
    assert (there.path, there.digest) == (Path(path), Network(path).digest)
    Path(path).unlink()
    with pytest.raises(FileNotFoundError, match=r"at its path wherever it plays: .*net\.safetensors"):
        cloudpickle.loads(shipped)
