"""What ``territorial clone`` refuses of a folder: that of another process, and links in it."""

from types import SimpleNamespace

import pytest

from territorial.cli.clone import clone
from territorial.cli.options import UsageError
from territorial.files.locks import one_writer

DATA = SimpleNamespace(manifest=SimpleNamespace(recipe=SimpleNamespace(has_teams=False), rows=1))

pytest.importorskip("torch", reason="cloning needs PyTorch")


def refused(folder, message):
    with pytest.raises(UsageError, match=message):
        clone(SimpleNamespace(folder=str(folder), network_size="small", epochs=1), DATA)


def test_a_folder_that_another_process_clones_in_is_refused(tmp_path):
    with one_writer(tmp_path / ".writer"):
        refused(tmp_path, r"another process writes there \(process \d+ on ")


@pytest.mark.parametrize("name", [".writer", "settings.json", "weights.safetensors", "network.safetensors"])
def test_links_in_the_places_of_its_files_are_refused(tmp_path, name):
    (tmp_path / name).symlink_to(tmp_path / "outside")
    refused(tmp_path, f"{name}': it is a link")
    assert not (tmp_path / "outside").exists()
