"""``territorial clone`` where PyTorch is missing; tests/torch/test_cloning.py has what it does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from territorial import GameConfig
from territorial.cli import main
from territorial.datasets import make


def test_without_pytorch_it_says_what_to_install(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = GameConfig(height=24, width=24, num_players=2, max_ticks=100)
    make(tmp_path / "set", config, ["banker", "novice"], games=1, processes=1)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["clone", str(tmp_path / "set"), str(tmp_path / "clone")]) == 2
    assert "cloning needs PyTorch: pip install 'territorial-env[torch]'" in capsys.readouterr().err


def test_a_folder_without_a_data_set_is_named(capsys: Any, tmp_path: Path) -> None:
    assert main(["clone", str(tmp_path / "nothing"), str(tmp_path / "clone")]) == 2
    assert "argument DATASET: '" in capsys.readouterr().err
