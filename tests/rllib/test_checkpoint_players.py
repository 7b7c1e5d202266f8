"""Modules of checkpoints as players: they do what their snapshots do, and what cannot play is refused."""

import json
import math
import pickle
import re
import shutil

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule

from rllib_adapters import CheckpointPolicy, freeze, policy_of
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule
from rllib_adapters.train.options import PRESETS
from territorial import VecGame, cli
from territorial.bots import Network
from territorial.league import SnapshotStore
from territorial.nets import PairPolicy, SnapshotPolicy
from territorial.nets.pair_export import rows_of_config
from territorial.nets.pair_policy import PairRows
from tests.rllib.support import CONFIG, SmallModule, ppo
from tests.rllib.test_train import SMALL

MODULES = "learner_group/learner/rl_module"
ENV = {"config": CONFIG, "seats": ["agent"] * 3 + ["banker"] * 3, "obs": "pairs", "repeat": 2}


FORMAT = {"action_format": "pairs_multi_discrete"}


class OwnModule(PairModule):
    """A module on pairs with a network of one's own."""

    architecture = "Own"

    @classmethod
    def make_policy(cls, model_config):
        return PairPolicy("small")

    @staticmethod
    def make_trunk(layout, config, **settings):
        return PairRows("small", has_two_parts=True)


def save(folder, kind=PairModule, catalog=None, change=None, **env):
    """Write a module with random weights as a checkpoint of an algorithm has it, and return it."""
    env = {**ENV, **env}
    made = TerritorialMultiAgentEnv(env)
    seen, actions = made.get_observation_space("player_0"), made.get_action_space("player_0")
    if catalog is not None:
        seen, actions = gym.spaces.Box(-1, 1, (4,)), gym.spaces.Discrete(2)
    settings = {"model_config": {} if catalog else settings_of(env), "catalog_class": catalog}
    module = kind(observation_space=seen, action_space=actions, **settings)
    if change is not None:
        next(module.parameters()).data.fill_(change)
    module.save_to_path(folder / MODULES / "main")
    (folder / "algorithm_state.pkl").write_bytes(pickle.dumps({} if catalog else {"games": env}))
    return module


def history(player, games, *, in_engine):
    """The digests of games at all their decisions; three seats are the player's."""
    seats = [player.network if in_engine else "agent"] * 3 + ["banker"] * 3
    game = VecGame(CONFIG, games, frames=max(1, player.frames), autoreset="disabled", seats=seats)
    game.reset(5)
    act = player.start(CONFIG, game.layout, 5)
    found = []
    while not game.state.over.all():
        lives = (game.state.alive[:, 1:4] != 0) & (game.state.over == 0)[:, None]
        where, actions = np.nonzero(lives), np.zeros((games, 6, 2), np.int64)
        if len(where[0]) and not in_engine:
            actions[where] = act(game, where[0], where[1] + 1)
        game.step(None if in_engine else actions)
        found.append([game.digest(k) for k in range(games)])
    player.stop()
    return found


@pytest.fixture
def learned(ends, tmp_path):
    """A snapshot, a checkpoint and the engine's file of one module that has learned."""
    algorithm = ends(ppo(ENV, size="small").build_algo())
    algorithm.train()
    store, rows = SnapshotStore(tmp_path / "store"), rows_of_config(CONFIG, 8)
    freeze(algorithm, store, "it")
    algorithm.save_to_path(str(tmp_path / "saved"))
    policy_of(algorithm).export(tmp_path / "it.safetensors", interval=20, temperature=1, rows=rows)
    return (
        SnapshotPolicy(store, "it"),
        CheckpointPolicy(tmp_path / "saved"),
        Network(tmp_path / "it.safetensors"),
    )


@pytest.mark.parametrize("games", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_a_checkpoint_plays_the_games_of_the_snapshot_and_of_the_exported_network(learned, games):
    snapshot, checkpoint, exported = learned
    assert checkpoint.network.digest == snapshot.network.digest == exported.digest
    for in_engine in (True, False):
        of_snapshot = history(snapshot, games, in_engine=in_engine)
        assert history(checkpoint, games, in_engine=in_engine) == of_snapshot
    sent = pickle.loads(pickle.dumps(checkpoint))
    assert (sent.identity(), sent.player_name) == (checkpoint.identity(), checkpoint.player_name)


@pytest.mark.parametrize(
    ("kind", "env"), [(SmallModule, {"obs": "packed", "frames": 2}), (OwnModule, {}), (PairModule, FORMAT)]
)
def test_modules_of_all_kinds_play_the_games_of_their_snapshots(tmp_path, kind, env):
    module, store = save(tmp_path / "saved", kind, **env), SnapshotStore(tmp_path / "store")
    weights = {key: part.numpy() for key, part in module.policy.state_dict().items()}
    store.add("it", weights, kind.manifest(settings_of({**ENV, **env})))
    snapshot = SnapshotPolicy(store, "it", {kind.architecture: kind.make_trunk})
    checkpoint = CheckpointPolicy(tmp_path / "saved")
    assert history(checkpoint, 3, in_engine=False) == history(snapshot, 3, in_engine=False)


def spoil(folder, what):
    """Make what cannot play of a folder that has the checkpoint of a module."""
    main = folder / MODULES / "main"
    if what == "pool":
        shutil.copytree(main, main.with_name("pool"))
    elif what == "without weights":
        (main / "module_state.pkl").write_bytes(pickle.dumps({}))
    elif what == "of another Ray":
        (main / "class_and_ctor_args.pkl").write_bytes(b"cray.rllib.nowhere\nThing\n.")
        about = json.loads((main / "metadata.json").read_text())
        (main / "metadata.json").write_text(json.dumps({**about, "ray_version": "3.1.0"}))
    elif what != "whole":
        shutil.rmtree(folder)
        (folder / ("policies" if what == "of the old stack" else "other")).mkdir(parents=True)


@pytest.mark.parametrize(
    ("saved", "what", "module", "message"),
    [
        (
            {},
            "empty",
            "",
            "'{}' is no checkpoint of an algorithm; it must be what `algorithm.save_to_path` of the new",
        ),
        ({}, "of the old stack", "", "'{}' is of RLlib's old API stack; it must be"),
        ({}, "whole", ":second", "module 'second' of the checkpoint '{}' is none that learns; .* are main$"),
        ({}, "pool", ":pool", "module 'pool' .* is none that learns; those that learn are main$"),
        (
            {},
            "of another Ray",
            "",
            "cannot be read here; Ray 3.1.0 wrote it: ModuleNotFoundError: .*nowhere",
        ),
        ({}, "without weights", "", "cannot be read here; .* it lacks the weights policy"),
        ({"change": math.nan}, "whole", ":main", "'{}' is not finite; no snapshot can play it"),
        (
            {"kind": DefaultPPOTorchRLModule, "catalog": PPOCatalog},
            "whole",
            "",
            "module 'main' of the checkpoint '{}' is a DefaultPPOTorchRLModule; it must be a BoardModule or",
        ),
        (
            {"kind": SmallModule, "obs": "packed", "frames": 2},
            "whole",
            "",
            "checkpoint:{}:main: snapshot 'main': height is 32; here it must be 40",
        ),
    ],
)
def test_what_cannot_play_is_refused_in_a_sentence(capsys, tmp_path, saved, what, module, message):
    folder = tmp_path / "it"
    save(folder, **saved)
    spoil(folder, what)
    game = ("--height", "40", "--width", "40", "--num-players", "4", "--games", "1")
    assert cli.main(["match", "--seats", f"checkpoint:{folder}{module},turtle", *game]) == 2
    assert re.search(message.replace("{}", re.escape(str(folder))), capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.usefixtures("no_ray")
@pytest.mark.parametrize("preset", PRESETS)
def test_what_every_preset_has_learned_plays_matches(capsys, tmp_path, preset):
    seats = ("--agent-seats", "2", "--snapshot-seats", "1", "--bot-seats", "1", "--env-runners", "0")
    options = [part for part in SMALL if part not in ("--preset", "quick")]
    assert cli.main(["train", str(tmp_path), "--preset", preset, *options, *seats, "--iterations", "1"]) == 0
    (checkpoint,) = (tmp_path / "checkpoints").glob("checkpoint-*1/algorithm")
    players = ("--seats", f"snapshot:last,checkpoint:{checkpoint}", "--store", str(tmp_path / "snapshots"))
    game = ("--height", "24", "--width", "24", "--num-players", "4", "--max-ticks", "200")
    assert cli.main(["match", *players, *game, "--games", "2", "--processes", "1"]) == 0
    assert "snapshot:last@" in capsys.readouterr().out
