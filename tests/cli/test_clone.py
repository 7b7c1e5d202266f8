"""What ``territorial clone`` refuses; tests/torch/test_cloning.py has what it does."""

import sys
from types import SimpleNamespace

import pytest

from territorial import GameConfig
from territorial.cli.clone import clone
from territorial.cli.options import UsageError
from territorial.files.locks import one_writer
from territorial.training import make

DATA = SimpleNamespace(manifest=SimpleNamespace(recipe=SimpleNamespace(has_teams=False), rows=1))


def refused(folder, message):
    pytest.importorskip("torch", reason="cloning needs PyTorch")
    with pytest.raises(UsageError, match=message):
        clone(SimpleNamespace(folder=str(folder), network_size="small", epochs=1), DATA)


def test_without_pytorch_it_says_what_to_install(done, tmp_path, monkeypatch):
    config = GameConfig(height=24, width=24, num_players=2, max_ticks=100)
    make(tmp_path / "set", config, ["banker", "novice"], games=1, processes=1)
    monkeypatch.setitem(sys.modules, "torch", None)
    _, err = done("clone", tmp_path / "set", tmp_path / "clone", code=2)
    assert "cloning needs PyTorch: pip install 'territorial-env[torch]'" in err


def test_a_folder_that_another_process_clones_in_is_refused(tmp_path):
    with one_writer(tmp_path / ".writer"):
        refused(tmp_path, r"another process writes there \(process \d+ on ")


@pytest.mark.parametrize("name", [".writer", "settings.json", "weights.safetensors", "network.safetensors"])
def test_links_in_the_places_of_its_files_are_refused(tmp_path, name):
    (tmp_path / name).symlink_to(tmp_path / "outside")
    refused(tmp_path, f"{name}': it is a link")
    assert not (tmp_path / "outside").exists()
