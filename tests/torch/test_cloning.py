"""Behaviour cloning of a PairPolicy: from a data set of decisions to a network."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import territorial
from territorial.cli import main
from territorial.nets import PairPolicy
from territorial.nets.cloning import CloneSettings, Cloning, is_held_out, usable
from territorial.training import Dataset, make

CONFIG = territorial.GameConfig(height=32, width=32, num_players=3, max_ticks=1000)
QUICK = CloneSettings(size="small", epochs=6, minibatch=128, learning_rate=3e-3)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Return decisions of sixty games of besiegers, those of thirty games in each file."""
    folder = tmp_path_factory.mktemp("set")
    make(folder, CONFIG, ["besieger"] * 3, games=60, games_per_shard=30, processes=1, every=50)
    return Dataset(folder)


def is_equal(one: PairPolicy, other: PairPolicy) -> bool:
    return all(torch.equal(part, other.state_dict()[name]) for name, part in one.state_dict().items())


@pytest.mark.verify
def test_a_policy_learns_to_decide_as_the_games_say(data: Dataset) -> None:
    cloning = Cloning(data, QUICK)
    before = cloning.agreement()
    after = cloning.run()
    assert before.rows == after.rows > 100
    assert after.cross_entropy < 0.75 * before.cross_entropy
    assert after.equal_targets > max(before.equal_targets, after.holds) + 0.05


@pytest.mark.verify
def test_values_learn_the_returns_unless_they_weigh_nothing(data: Dataset) -> None:
    def error(weight: float) -> float:
        cloning = Cloning(data, CloneSettings(**{**vars(QUICK), "value_weight": weight}))
        cloning.run()
        rows = data[0]
        own, pairs = (torch.from_numpy(array.astype(np.float32) / 4096) for array in (rows.own, rows.pairs))
        _, values = cloning.policy(own, pairs, torch.from_numpy(rows.action_mask))
        return float((values.detach() - torch.from_numpy(np.array(rows.returns))).square().mean())

    assert error(4.0) < 0.8 * error(0.0)


def test_held_out_games_are_not_learned_from(data: Dataset) -> None:
    cloning = Cloning(data, QUICK)
    learned = sum(len(rows.action) for rows in cloning._minibatches())
    held = cloning.agreement().rows
    every = np.concatenate([usable(shard, shard.game >= 0).action for shard in data])
    assert learned + held == len(every)
    games = np.concatenate([shard.game for shard in data])
    assert set(games[is_held_out(games)].tolist()) == {9, 19, 29, 39, 49, 59}


def test_rows_whose_action_was_not_possible_are_left_out(data: Dataset) -> None:
    shard = data[0]
    action = np.array(shard.action)
    action[:3] = -1
    rows = usable(shard._replace(action=action), np.ones(len(action), bool))
    assert len(rows.action) < len(action)
    assert (rows.mask[np.arange(len(rows.action)), rows.action] == 1).all()


def test_a_cloning_that_was_interrupted_ends_as_one_that_was_not(data: Dataset, tmp_path: Path) -> None:
    whole = Cloning(data, QUICK)
    before = whole.agreement()
    after = whole.run()
    assert before.rows == after.rows > 100
    assert after.cross_entropy < before.cross_entropy

    def stop(epoch: int, rows: int, loss: float) -> None:
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cloning(data, QUICK, tmp_path).run(stop)
    resumed = Cloning(data, QUICK, tmp_path)
    assert resumed.epochs == 2
    resumed.run()
    assert is_equal(whole.policy, resumed.policy)
    assert Cloning(data, QUICK, tmp_path).epochs == QUICK.epochs


def test_a_folder_with_another_cloning_is_refused(data: Dataset, tmp_path: Path) -> None:
    Cloning(data, QUICK, tmp_path)
    with pytest.raises(ValueError, match=r"seed is 3; the cloning in .* began with 0"):
        Cloning(data, CloneSettings(**{**vars(QUICK), "seed": 3}), tmp_path)
    (tmp_path / "settings.json").write_text("[]")
    with pytest.raises(ValueError, match=r"settings.json' does not hold the settings of a cloning"):
        Cloning(data, QUICK, tmp_path)


def test_data_that_nothing_can_be_learned_from_is_refused(tmp_path: Path) -> None:
    make(tmp_path, CONFIG, ["novice"] * 3, games=2, processes=1, every=50)
    with pytest.raises(ValueError, match="has 2 games; it must have at least 10"):
        Cloning(Dataset(tmp_path))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["columns"]["own"]["land"] = 999
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="has other columns than this release"):
        Cloning(Dataset(tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "size is 'huge'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"minibatch": 0}, "minibatch is 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"value_weight": -1.0}, "value_weight is -1.0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_cannot_be_are_refused(data: Dataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cloning(data, CloneSettings(**options))


def test_the_command_writes_both_forms_of_the_network(data: Dataset, tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "clone"
    arguments = ["clone", str(data.folder), str(folder), "--network-size", "small", "--epochs", "2"]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    cloning = Cloning(data, CloneSettings(size="small", epochs=2))
    assert result["agreement"] == cloning.run()._asdict()
    assert result["export"]["equal"] >= 0.9, "of 2 epochs, whose weights no test decides"
    assert is_equal(PairPolicy.load(folder / "weights.safetensors"), cloning.policy)
    game = territorial.VecGame(CONFIG, seats=[f"net:{folder / 'network.safetensors'}", "novice", "novice"])
    game.reset(seed=0)
    game.step()


# ---- files of weights --------------------------------------------------------------------------------


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"no weights")
    with pytest.raises(ValueError, match=r"weights.safetensors' does not hold the weights of a PairPolicy"):
        PairPolicy.load(path)
    policy = PairPolicy("small")
    policy.size = "standard"  # the file says another size than its tensors have
    policy.save(path)
    with pytest.raises(ValueError, match=r"does not hold the weights of a PairPolicy: [^$]*size mismatch"):
        PairPolicy.load(path)
    PairPolicy("small").export(path, least_equal=0)
    with pytest.raises(ValueError, match="its format is"):
        PairPolicy.load(path)
    with pytest.raises(FileNotFoundError):
        PairPolicy.load(tmp_path / "missing")
