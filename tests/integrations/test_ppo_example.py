"""The PPO examples, of one seat and of a team, with tiny numbers: they run, and nothing illegal happens."""

import dataclasses

import pytest

from benchmarks import harness
from territorial import GameConfig, VecGame
from territorial.bots import Network
from territorial.files import safetensors
from tests.bots.networks import rows_of_games
from tests.integrations.support import refusal_of

pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.checkout


@pytest.fixture
def ppo():
    return harness.example("ppo")


@pytest.mark.parametrize("network", ["encode-once", "mlp", "features", "pairs"])
def test_it_trains_and_compares_without_one_illegal_launch(ppo, capsys, network):
    options = "--num-games 4 --rollout 16 --total-steps 192 --epochs 1 --minibatches 2 --eval-games 4"
    if network == "encode-once":
        harness.example("encode_once")  # which adds it
    result = ppo.main(["--network", network, *options.split()])
    assert result["illegal"] == 0
    assert all(1 <= result[name] <= 4 for name in ("trained", "untrained"))
    assert capsys.readouterr().out.count("iteration") == 3


def test_a_board_is_encoded_once_for_all_agents_of_its_game(ppo):
    args = ppo.Args(network="encode-once", num_players=3)
    policy = harness.example("encode_once").EncodeOncePolicy
    env, games = ppo.make(dataclasses.replace(args, network="mlp"), 4), []
    network = ppo.OnBoards(policy(env.game.layout, env.config))
    network.policy.trunk.register_forward_hook(lambda _, inputs, __: games.append(len(inputs[0])))
    seen, _ = env.reset(0)
    logits, values = network(seen)
    assert (games, len(logits), len(values)) == ([4], 8, 8)


def test_what_it_trained_on_pairs_is_saved_and_plays_in_the_engine(ppo, capsys, tmp_path, monkeypatch):
    small = GameConfig(height=32, width=32, num_players=4)
    rows = rows_of_games(600, ["novice", "banker", "turtle", "drip"], small)
    monkeypatch.setattr("territorial.nets.pair_export.calibration_rows", lambda: rows)
    ppo.main(
        [
            *[
                "--network",
                "pairs",
                "--num-games",
                "2",
                "--rollout",
                "4",
                "--total-steps",
                "8",
                "--eval-games",
                "2",
            ],
            "--save",
            str(tmp_path / "trained"),
        ]
    )
    assert "have the same greedy choice" in capsys.readouterr().out
    with open(tmp_path / "trained" / "weights.safetensors", "rb") as file:
        assert "policy.hold.bias" in safetensors.read(file).arrays
    network = Network(tmp_path / "trained" / "network.safetensors")
    assert network.interval == ppo.Args().decision_every
    game = VecGame(small, 1, seats=[network] * 4)
    game.reset(0)
    game.step(repeat=20)
    assert (game.state.land[0, 1:] > 0).all()


@pytest.mark.parametrize(
    ("name", "option", "value", "others"),
    [
        ("ppo", "network", "pair", "mlp, features, pairs"),
        ("teams_ppo", "critic", "board", "central, own"),
    ],
)
def test_a_network_or_critic_that_there_is_not_is_named(name, option, value, others):
    with pytest.raises(ValueError, match=f"{option} is {value!r}; it must be one of {others}"):
        harness.example(name).main([f"--{option}", value])


def test_advantages_stop_at_ends(ppo):
    torch = ppo.torch
    rewards, dones = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[0.0], [1.0], [0.0]])
    args = ppo.Args(gamma=0.5, gae_lambda=1.0)
    found = ppo.advantages_of(args, rewards, torch.zeros(3, 1), dones, torch.tensor([8.0]))
    assert found.flatten().tolist() == [1 + 0.5 * 2, 2, 4 + 0.5 * 8]


def test_what_was_trained_before_is_not_replaced(ppo, capsys, tmp_path):
    (tmp_path / "weights.safetensors").write_bytes(b"precious")
    assert "has weights.safetensors already; choose another folder" in refusal_of(
        capsys, ppo, ["--total-steps", "8", "--save", str(tmp_path)]
    )


# ---- a team --------------------------------------------------------------------------------------------


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
    assert (result["without, gifts"], capsys.readouterr().out.count("of launches,")) == (0, 3)


def test_gifts_are_rare_at_first(example, monkeypatch):
    monkeypatch.undo()
    args = example.TeamArgs(side=32, num_games=4, eval_games=8, max_ticks=400, critic="own")
    assert example.wins_of(args, example.Team(args, example.make(args, 1)), 1, gives=True)[2] < 0.1
