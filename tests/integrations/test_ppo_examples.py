"""The PPO examples with tiny numbers: on pairs in two processes, of one seat, and of a team."""

import csv
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import Network
from tests.bots.networks import rows_of_games

pytest.importorskip("torch", reason="PyTorch is not installed")

import dataclasses

import pytest

from benchmarks import harness
from territorial.files import safetensors
from tests.integrations.support import refusal_of
from tests.torch.test_pair_policy import inputs, policy_of

pytestmark = pytest.mark.checkout

TINY = {
    "size": "small",
    "height": 16,
    "width": 16,
    "num_players": 4,
    "seats": "2",
    "num_games": 4,
    "full_games": 0,
    "slow": 0.0,
    "rollout": 4,
    "max_ticks": 400,
    "minibatch": 16,
    "capacity": 2,
    "freeze_every": 1,
}


@pytest.fixture
def pairs_ppo(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import pairs_ppo

    small = GameConfig(height=32, width=32, num_players=4)
    rows = rows_of_games(200, ["novice", "banker", "turtle", "drip"], small)
    monkeypatch.setattr(pairs_ppo, "calibration_rows", lambda: rows)  # those of the library take seconds
    yield pairs_ppo
    sys.modules.pop("pairs_ppo", None)


@pytest.fixture
def one_process(pairs_ppo, monkeypatch):
    """Play in this process, whenever a rollout is asked for."""

    class Pipe:
        orders, games = (), None

        def send(self, order):
            self.orders = (*self.orders, order)

        def recv(self):
            order, *self.orders = self.orders
            self.games = self.games or pairs_ppo.AllGames(self.settings, order, 0)
            policy = pairs_ppo.PairPolicy(self.settings.size)
            return self.games.rollout(policy, order)._replace(seconds=0.001)

    @contextmanager
    def player(settings, seed):
        pipe = Pipe()
        pipe.settings = settings
        yield pipe

    monkeypatch.setattr(pairs_ppo, "player", player)
    return pairs_ppo


def options(folder, **changed):
    values = TINY | {"save": folder} | changed
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]


def order_of(pairs_ppo, tmp_path, **changed):
    run = pairs_ppo.PairRun(pairs_ppo.Settings(**TINY | {"save": str(tmp_path)} | changed))
    return run, run.order()


def games_of(pairs_ppo, order, **changed):
    """Return the only games of a run, which are small."""
    (games,) = pairs_ppo.AllGames(pairs_ppo.Settings(**TINY | {"save": "x"} | changed), order, 0).kinds
    return games


# ---- whole runs ------------------------------------------------------------------------------------------


def test_two_processes_train_and_the_engine_plays_the_network(pairs_ppo, tmp_path, capsys):
    run = pairs_ppo.main(options(tmp_path, updates=2))
    assert run.league.steps == {"main": 2}
    assert "a second of processor" in capsys.readouterr().out
    average = run.trainee.average.state_dict()
    written = pairs_ppo.PairPolicy.load(tmp_path / "weights.safetensors").state_dict()
    assert all(np.array_equal(written[name], part) for name, part in average.items())
    network = Network(tmp_path / "network.safetensors")
    game = VecGame(GameConfig(height=16, width=16, num_players=4), 1, 0, seats=[network] * 4, observe=False)
    game.reset()
    game.step(repeat=20)
    assert network.interval == 50
    assert (game.state.land[0, 1:] > 0).all()


def test_a_run_resumes_where_it_was(one_process, tmp_path, capsys):
    first = one_process.main(options(tmp_path, updates=3))
    weights = first.trainee.weights()
    resumed = one_process.PairRun(one_process.Settings(**TINY | {"save": str(tmp_path), "updates": 3}))
    assert resumed.updates == 3
    assert resumed.seconds == first.seconds > 0
    assert resumed.played == first.played > 0
    assert resumed.league.to_bytes() == first.league.to_bytes()
    assert all(np.array_equal(part, weights[name]) for name, part in resumed.trainee.weights().items())
    longer = one_process.main(options(tmp_path, updates=5))
    updates = [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if "update" in line]
    assert (updates, list(longer.league.snapshots)[-1]) == ([f"update {i}" for i in range(1, 6)], "main-5")
    curve = list(csv.DictReader((tmp_path / "progress.csv").read_text().splitlines()))
    assert [line["update"] for line in curve] == ["1", "2", "3", "4", "5"]
    assert int(curve[-1]["agent_steps"]) == longer.played > int(curve[2]["agent_steps"]) == first.played
    kept = {path.stem for path in (tmp_path / "snapshots").iterdir()}
    assert set(longer.league.snapshots) <= kept
    assert "main-0" not in kept, "no checkpoint needs it"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seats": "2,4"}, "seats is '2,4'; it must be whole numbers from 1 to 3, one or more"),
        ({"full_seats": "many"}, "full_seats is 'many'; it must be whole numbers from 1 to 31, one or more"),
        ({"interval": 15}, "interval is 15; it must be a multiple of 10"),
        ({"interval": 60, "slow": 0.5}, "interval is 60; it must be a multiple of 50"),
        ({"start": "missing.safetensors"}, "missing.safetensors"),
        ({"share": 1.5}, "share is 1.5; it must"),
        ({"size": "huge"}, "size is 'huge'"),
        ({"map": "moon"}, "map is 'moon'"),
        ({"opponents": "nobody"}, "nobody"),
        ({"save": ""}, "save is empty"),
    ],
)
def test_an_option_that_cannot_be_is_named_before_anything_is_written(
    pairs_ppo, tmp_path, capsys, changed, message
):
    folder = tmp_path / "run"
    assert message in refusal_of(capsys, pairs_ppo, options(folder, **changed))
    assert not folder.exists()


def test_a_run_that_began_otherwise_is_left_alone(one_process, tmp_path, capsys):
    one_process.main(options(tmp_path, updates=1))
    assert "seats is '1'; the run in" in refusal_of(
        capsys, one_process, options(tmp_path, updates=2, seats=1)
    )
    assert one_process.main(options(tmp_path, updates=2)).updates == 2
    (tmp_path / "settings.json").write_text("{")
    assert "settings.json' does not hold the settings of a run" in refusal_of(
        capsys, one_process, options(tmp_path, updates=3)
    )


def test_a_run_begins_with_weights_of_a_file_and_needs_it_no_more(one_process, tmp_path, capsys):
    policy = one_process.PairPolicy("small")
    policy.save(tmp_path / "start.safetensors")
    folder, start = tmp_path / "run", tmp_path / "start.safetensors"
    run = one_process.PairRun(one_process.Settings(**TINY | {"save": str(folder), "start": str(start)}))
    wanted = {name: part.numpy() for name, part in policy.state_dict().items()}
    for found in (run.trainee.policy, run.trainee.average):
        assert all(np.array_equal(part.numpy(), wanted[name]) for name, part in found.state_dict().items())
    again = options(folder, updates=1, start=start)
    one_process.main(again)
    start.unlink()
    assert one_process.main([*again, "--updates=2"]).updates == 2
    one_process.PairPolicy("standard").save(tmp_path / "large.safetensors")
    assert "large.safetensors' has weights of size 'standard'" in refusal_of(
        capsys, one_process, options(tmp_path / "other", start=tmp_path / "large.safetensors")
    )


# ---- parts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("interval", "ticks"), [(50, [50, 50, 50, 50]), (20, [20, 50, 20, 50])])
def test_games_of_all_kinds_run_side_by_side(pairs_ppo, tmp_path, interval, ticks):
    """It decides as often as asked, and never more often than bots: ``ticks`` are those of a decision."""
    _, order = order_of(pairs_ppo, tmp_path)
    kinds = {"full_games": 2, "full_seats": "3", "slow": 0.5, "interval": interval}
    games = pairs_ppo.AllGames(pairs_ppo.Settings(**TINY | {"save": "x"} | kinds), order, 0)
    configs = [kind.env.game.config for kind in games.kinds]
    found = [(config.height, config.num_players, config.decision_every) for config in configs]
    assert found == [(16, 4, 10), (16, 4, 50), (256, 32, 10), (256, 32, 50)]
    assert [kind.env.num_envs for kind in games.kinds] == [2, 2, 1, 1]
    rows, played, *_ = games.rollout(pairs_ppo.PairPolicy("small"), order)
    assert 0 < len(rows["action"]) <= played <= TINY["rollout"] * (4 * 2 + 2 * 3)
    played = [int(kind.env.game.state.tick[0]) for kind in games.kinds]
    assert played == [TINY["rollout"] * each for each in ticks]


def test_rows_that_are_kept_stand_for_all(pairs_ppo):
    rng = np.random.default_rng(0)
    rows = {
        "action": np.arange(20_000),
        "gain": rng.standard_normal(20_000),
        "logp": np.log(rng.random(20_000)),
    }
    kept = pairs_ppo.kept(rows, 0.35, rng)
    assert 0.33 * 20_000 < len(kept["action"]) <= 0.37 * 20_000
    assert kept["weight"].sum() == pytest.approx(20_000, rel=0.05)
    assert kept["weight"] @ kept["gain"] ** 2 == pytest.approx((rows["gain"] ** 2).sum(), rel=0.05)
    assert np.abs(kept["gain"]).mean() > 1.2 * np.abs(rows["gain"]).mean()
    assert len(pairs_ppo.kept(rows, 1.0, rng)["action"]) == 20_000


@pytest.mark.parametrize(("interval", "gamma"), [(50, 0.9), (10, 0.9**0.2)])
def test_advantages_are_those_of_a_plain_loop(pairs_ppo, tmp_path, interval, gamma):
    """The discount is that of 50 ticks, so what is far counts less however often it decides."""
    _, order = order_of(pairs_ppo, tmp_path)
    games = games_of(pairs_ppo, order, num_games=1, seats="1", gamma=0.9, interval=interval)
    rng = np.random.default_rng(0)
    values, rewards = rng.random(5).astype(np.float32), rng.random(5).astype(np.float32)
    steps = [
        {
            "rows": {"value": values[t : t + 1], "t": np.array([t])},
            "alive": np.array([[True]]),
            "reward": rewards[t : t + 1, None],
            "end": np.array([[t == 2]]),
        }
        for t in range(5)
    ]
    rows = games._with_advantages(steps, np.array([[0.5]], np.float32))
    wanted, following, running = np.zeros(5), 0.5, 0.0
    for t in reversed(range(5)):
        goes_on = t != 2
        running = rewards[t] + gamma * (following + 0.95 * running) * goes_on - values[t]
        wanted[t], following = running, values[t]
    found = rows["target"] - rows["value"]
    np.testing.assert_allclose(found[np.argsort(rows["t"])], wanted, rtol=1e-5)


def test_what_gains_becomes_likelier_and_the_average_follows(pairs_ppo, tmp_path):
    """From fixed weights, and rows of which every second one launched."""
    run, _ = order_of(pairs_ppo, tmp_path, share=1.0, average=0.9, entropy=0.0)
    run.trainee.begin_with(policy_of())
    own, pairs, mask = (part.numpy() for part in inputs(64))
    mask[:] = 1  # so that all can launch
    launches = np.arange(64) % 2 == 1
    rows = {"own": own, "pairs": pairs, "action_mask": mask, "action": launches.astype(np.int64)}
    rows |= {name: np.zeros(64, np.float32) for name in ("target", "value")}
    rows |= {"weight": np.ones(64, np.float32), "gain": np.where(launches, 1, -1).astype(np.float32)}
    tensors = [pairs_ppo.torch.from_numpy(part) for part in (own, pairs, mask)]

    def logits(policy):
        return policy(*tensors)[0].detach()

    first = logits(run.trainee.policy)
    rows["logp"] = first[np.arange(64), rows["action"]].numpy()
    for _ in range(5):
        run.trainee.update(rows, 0.0)

    def shares(found):
        return 1 - found[:, 0].exp().mean().item()

    assert shares(logits(run.trainee.policy)) > shares(logits(run.trainee.average)) > shares(first)


# ---- of one seat and of a team -----------------------------------------------------------------------


pytest.importorskip("torch", reason="PyTorch is not installed")


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
