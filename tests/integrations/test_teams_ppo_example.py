"""The example that trains a team, with tiny numbers: both critics run, and gifts are counted."""

import pytest

from benchmarks import harness

pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.checkout


@pytest.fixture
def example(monkeypatch):
    module = harness.example("teams_ppo")
    monkeypatch.setattr(module, "GIFT_BIAS", 0.0)  # an untrained network then gives
    return module


@pytest.mark.parametrize("critic", ["own", "central"])
def test_it_trains_a_team_and_compares_games_with_and_without_gifts(example, capsys, critic):
    options = (
        "--side 32 --num-games 4 --rollout 16 --total-steps 192 --epochs 1 --eval-games 4 --max-ticks 400"
    )
    result = example.main(["--critic", critic, *options.split()])
    assert 0 <= result["with gifts"] <= 1
    assert result["with gifts, gifts"] > 0.1
    assert result["without, gifts"] == 0
    assert capsys.readouterr().out.count("of launches,") == 3


def test_gifts_are_rare_at_first(example, monkeypatch):
    monkeypatch.undo()
    args = example.TeamArgs(side=32, num_games=4, eval_games=8, max_ticks=400, critic="own")
    team = example.Team(args, example.make(args, 1))
    assert example.wins_of(args, team, 1, gives=True)[2] < 0.1


def test_a_critic_that_there_is_not_is_named(example):
    with pytest.raises(ValueError, match="critic is 'board'; it must be one of central, own"):
        example.main(["--critic", "board"])
