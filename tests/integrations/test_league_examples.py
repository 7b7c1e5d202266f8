"""The examples of leagues and evaluations, with tiny numbers."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from territorial.league import SnapshotStore
from tests.integrations.support import refusal_of
from tests.league.support import manifest, tensors

pytestmark = pytest.mark.checkout
NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def as_in_their_folder(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    yield
    for name in ("coevolution", "curriculum", "tuned_bot", "torch_league", "ppo"):
        sys.modules.pop(name, None)


def test_settings_and_players_qualify_each_other(capsys):
    import coevolution

    found = coevolution.main(
        ["--generations", "1", "--episodes", "2", "--offspring", "1", "--processes", "1"]
    )
    assert 1 <= len(found) <= 5
    assert capsys.readouterr().out.count("Niche(") == len(found)


def test_a_ladder_is_climbed_by_fresh_games():
    import curriculum

    found = curriculum.main(["--generations", "2", "--episodes", "4", "--offspring", "1", "--mark", "0"])
    assert found.scenarios[0] == "a few novices"
    assert len(found.scenarios) >= 2
    assert found.policies[-1] == "first again"


@NEEDS_TORCH
def test_a_plain_loop_trains_a_league_and_goes_on(tmp_path, capsys):
    import torch_league

    options = ["--run", str(tmp_path), "--num-games", "2", "--rollout", "12"]
    torch_league.main([*options, "--iterations", "2"])
    league = torch_league.main([*options, "--iterations", "6"])
    assert (league.steps, list(league.snapshots)) == ({"main": 6}, ["main-0", "main-1"])
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"iteration {i}" for i in range(1, 7)
    ]
    assert (tmp_path / "league.npz").exists()


@NEEDS_TORCH
def test_a_plain_loop_does_not_begin_over_snapshots_of_something_else(tmp_path, capsys):
    import torch_league

    SnapshotStore(tmp_path / "snapshots").add("main-0", tensors(), manifest())
    assert "it is there already, and would be replaced" in refusal_of(
        capsys, torch_league, ["--run", str(tmp_path)]
    )
    assert SnapshotStore(tmp_path / "snapshots").manifest("main-0") == manifest()
