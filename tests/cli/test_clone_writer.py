"""Two networks are not cloned in one folder at once."""

from types import SimpleNamespace

import pytest

from territorial.cli.clone import clone
from territorial.cli.options import UsageError
from territorial.files.locks import one_writer


def test_a_folder_that_another_process_clones_in_is_refused(tmp_path):
    pytest.importorskip("torch", reason="cloning needs PyTorch")
    data = SimpleNamespace(manifest=SimpleNamespace(recipe=SimpleNamespace(has_teams=False), rows=1))
    parsed = SimpleNamespace(folder=str(tmp_path), network_size="small", epochs=1)
    with (
        one_writer(tmp_path / ".writer"),
        pytest.raises(UsageError, match=r"another process clones .*\(process"),
    ):
        clone(parsed, data)
