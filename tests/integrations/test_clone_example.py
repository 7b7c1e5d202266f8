"""The example that clones players: from a data set of decisions to a network that plays as they do."""

import json

import numpy as np
import pytest

import territorial
from benchmarks import harness
from territorial.training import Dataset, make
from tests.integrations.support import refusal_of
from tests.torch.reproducible import need, same_numbers_on_one_thread  # noqa: F401 - a fixture of all tests

need("torch", "torch")

import torch  # noqa: E402 - only where it is installed

from territorial.nets import PairPolicy  # noqa: E402

pytestmark = pytest.mark.checkout

CONFIG = territorial.GameConfig(height=32, width=32, num_players=3, max_ticks=1000)
QUICK = ["--network-size", "small", "--epochs", "6", "--minibatch", "128", "--learning-rate", "0.003"]


@pytest.fixture
def example():
    return harness.example("clone")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return decisions of sixty games of besiegers, those of thirty games in each file."""
    folder = tmp_path_factory.mktemp("set")
    make(folder, CONFIG, ["besieger"] * 3, games=60, games_per_shard=30, processes=1, every=50)
    return Dataset(folder)


def test_a_clone_decides_as_its_players_and_plays(example, data, tmp_path, capsys):
    example.main([str(data.folder), str(tmp_path), *QUICK])
    assert "in whole numbers: " in capsys.readouterr().out
    found = example.agreement(PairPolicy.load(tmp_path / "weights.safetensors"), data).float()
    equal, targets, holds = found.mean(0).tolist()
    untrained = example.agreement(PairPolicy("small"), data).float()[:, 1].mean()
    assert len(found) > 100
    assert targets > max(untrained, holds) + 0.05
    assert equal > holds
    game = territorial.VecGame(CONFIG, seats=[f"net:{tmp_path / 'network.safetensors'}", "novice", "novice"])
    game.reset(seed=0)
    game.step()


def test_a_run_that_was_interrupted_ends_as_one_that_was_not(example, data, tmp_path, monkeypatch, capsys):
    whole, parts, learn, number = tmp_path / "whole", tmp_path / "parts", example.learn, iter(range(99))

    def stop(*arguments):
        if next(number) == 20:
            raise KeyboardInterrupt
        return learn(*arguments)

    options = [*QUICK[:2], "--epochs", "3", *QUICK[4:]]
    example.main([str(data.folder), str(whole), *options])
    monkeypatch.setattr(example, "learn", stop)
    with pytest.raises(KeyboardInterrupt):
        example.main([str(data.folder), str(parts), *options])
    assert not (parts / "weights.safetensors").exists()
    monkeypatch.setattr(example, "learn", learn)
    example.main([str(data.folder), str(parts), *options])
    one, other = (PairPolicy.load(folder / "weights.safetensors").state_dict() for folder in (whole, parts))
    assert all(torch.equal(part, other[name]) for name, part in one.items())
    command = [str(data.folder), str(parts), *options, "--seed", "3"]
    assert "seed is 3; " in refusal_of(capsys, example, command)


def test_held_out_games_and_actions_that_were_not_possible_are_not_learned_from(example, data):
    learned = sum(len(rows.action) for rows in example.minibatches(data, 128, 0, 0))
    held = len(example.agreement(PairPolicy("small"), data))
    every = [example.usable(shard, shard.game >= 0) for shard in data]
    assert learned + held == sum(len(rows.action) for rows in every)
    held_out = {int(game) for shard in data for game in shard.game[example.is_held_out(shard)]}
    assert held_out == {9, 19, 29, 39, 49, 59}
    action = np.array(data[0].action)
    action[:3] = -1
    rows = example.usable(data[0]._replace(action=action), data[0].game >= 0)
    assert len(rows.action) <= len(action) - 3
    assert (rows.action_mask[np.arange(len(rows.action)), rows.action] == 1).all()


def test_what_cannot_be_learned_from_or_written_is_refused(example, data, tmp_path, capsys):
    few, clone = tmp_path / "few", tmp_path / "clone"
    make(few, CONFIG, ["novice"] * 3, games=2, processes=1, every=50)
    assert "has 2 games; it must have at least 10" in refusal_of(capsys, example, [str(few), str(clone)])
    path = few / "manifest.json"
    manifest = json.loads((data.folder / "manifest.json").read_text())
    manifest["columns"]["own"]["land"] = 999
    path.write_text(json.dumps(manifest))
    assert "has other columns than this release" in refusal_of(capsys, example, [str(few), str(clone)])
    (clone / "weights.safetensors").write_bytes(b"mine")
    assert "it is there already" in refusal_of(capsys, example, [str(data.folder), str(clone)])
    command = [str(data.folder), str(tmp_path / "other"), "--network-size", "huge"]
    assert "size is 'huge'" in refusal_of(capsys, example, command)
    assert list((tmp_path / "other").iterdir()) == []
