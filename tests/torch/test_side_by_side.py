"""Snapshots that act side by side: one pass through the network, and each chooses what it chooses alone."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from territorial import GameConfig, VecGame
from territorial.league import MismatchError, SnapshotStore, UnknownSnapshotError
from territorial.nets import frozen, frozen_seats
from territorial.nets.board_policy import BoardPolicy, FeatureTrunk, ReferenceTrunk
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.players import rows_of
from territorial.nets.policy import Policy
from territorial.nets.side_by_side import NotSideBySideError, SideBySide
from tests.episodes import after_steps
from tests.torch.support import SMALL, MeanTrunk, keep, near_ties, seen_by, whole

CONFIG = GameConfig(height=32, width=40, num_players=6)


def seats_of_games():
    """Four games, and a row for each of four seats of the last three."""
    game = after_steps(VecGame(CONFIG, 4, frames=2, seats=["metronome"] * 5 + ["agent"]), 30, seed=5)
    games, seats = np.repeat([1, 2, 3], 4), np.tile([1, 3, 4, 6], 3)
    return game.layout, rows_of(game.observations, games, seats)


LAYOUT, SEEN = seats_of_games()
TRUNKS = {
    "features": lambda layout, config: FeatureTrunk(layout, config, width=16),
    "meanings": lambda layout, config: MeanTrunk(layout, config, "semantic"),
    "boards": MeanTrunk,
    "pooled": lambda layout, config: MeanTrunk(layout, config, "pooled"),
    "reference": ReferenceTrunk,
}
KINDS = tuple(TRUNKS)
MIXED = ("features-0", "boards-1", "meanings-2", "features-3", "pooled-1", "reference-0")


def add(store, kind, number, trunks):
    """Add a snapshot whose choices differ from those of all others."""
    torch.manual_seed(number)
    made = trunks[kind](LAYOUT, CONFIG)
    policy = made if isinstance(made, Policy) else BoardPolicy(LAYOUT, CONFIG, made)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    keep(store, f"{kind}-{number}", policy, LAYOUT, kind)
    return policy.eval()


@pytest.fixture(scope="module")
def league(tmp_path_factory):
    """A store with four snapshots of every kind, and their policies by name."""
    store = SnapshotStore(tmp_path_factory.mktemp("store"))
    return store, {f"{kind}-{i}": add(store, kind, i, TRUNKS) for kind in KINDS for i in range(4)}


def rows_at(seen, rows):
    return frozen_seats.rows_of(seen, torch.tensor(rows))


def alone(policies, names, seen):
    """The logits of every row, by the module that its snapshot was made of."""
    with torch.no_grad():
        return torch.cat([policies[name](rows_at(seen, [row]))[0] for row, name in enumerate(names)])


def together(players, names, seen, monkeypatch):
    """The actions of all rows, and their logits in the order of rows."""
    parts = []
    draw = Policy.draw
    monkeypatch.setattr(Policy, "draw", lambda self, *given: parts.append(given) or draw(self, *given))
    numbers = torch.linspace(0, 0.999, 2 * len(names), dtype=torch.float64).view(-1, 2)
    actions = players.act(names, seen, numbers)
    logits = torch.empty(len(names), parts[0][0].shape[1])
    for some, drawn in parts:
        logits[torch.searchsorted(numbers[:, 0].contiguous(), drawn[:, 0].contiguous())] = some
    return actions, logits, numbers


def check(policies, names, seen, players, monkeypatch):
    """Every row has the logits of its module and chooses what it chooses; count those nearer to a tie."""
    wanted = alone(policies, names, seen)
    actions, logits, numbers = together(players, names, seen, monkeypatch)
    torch.testing.assert_close(logits, wanted, rtol=1e-4, atol=1e-4)
    chosen = torch.cat(
        [policies[names[0]].draw(wanted[row : row + 1], numbers[row : row + 1]) for row in range(len(names))]
    )
    near = near_ties(wanted, numbers)
    assert torch.equal(actions[~near], chosen[~near])
    assert near.sum() <= 2


@pytest.mark.parametrize("rows", ["shared", "whole"])
@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_every_row_chooses_what_its_module_chooses(league, kind, rows, monkeypatch):
    store, policies = league
    names = list(MIXED) * 2 if kind == "mixed" else [f"{kind}-{i * i % 4}" for i in range(12)]
    players = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    seen = SEEN if rows == "shared" else whole(SEEN)
    for _ in range(2):  # first compared with each by itself, then without
        check(policies, names, seen, players, monkeypatch)
    expected = {"reference": [False], "mixed": [None, True, None, None, False]}.get(kind, [True])
    assert [one.acts_together for one in players.build.made.values()] == expected


def test_snapshots_come_and_go(league, monkeypatch):
    store, policies = league
    players = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    for playing in ([0, 1], [1, 2, 3], [3], [0, 2]):
        names = [f"{kind}-{playing[i % len(playing)]}" for i in range(6) for kind in ("features", "boards")]
        check(policies, names, SEEN, players, monkeypatch)
        players.keep(set(names))
        assert set(players.names) == set(names)  # nothing is held of the others


def counted(function, calls):
    return lambda *given, **named: calls.append(1) or function(*given, **named)


@pytest.mark.parametrize(("kind", "runs"), [("features", 1), ("boards", 1), ("reference", 3)])
def test_small_networks_run_once_and_decode_once(league, kind, runs, monkeypatch):
    store, _ = league
    players = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    names = [f"{kind}-{i % 3}" for i in range(12)]
    players.act(names, SEEN)
    network = players.build.made[f"{kind} []"].network
    forwards, features, owners = [], [], []
    monkeypatch.setattr(network, "forward", counted(network.forward, forwards))
    monkeypatch.setattr(network.decoder, "features", counted(network.decoder.features, features))
    monkeypatch.setattr(network.decoder, "owners", counted(network.decoder.owners, owners))
    players.act(names, SEEN)
    decodes = {"features": (1, 0), "boards": (1, 1), "reference": (3, 3)}[kind]
    assert (len(forwards), len(features), len(owners)) == (runs, *decodes)


def test_no_weight_is_copied(league, monkeypatch):
    store, _ = league
    players = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    given = []
    run = frozen_seats.SeatNetwork.run
    monkeypatch.setattr(frozen_seats.SeatNetwork, "run", lambda *all_: given.append(all_[1]) or run(*all_))
    names = [f"features-{i % 4}" for i in range(12)]
    for _ in range(2):
        players.act(names, SEEN)
    held = {id(part) for one in players._open.values() for part in one.weights.values()}
    for weights in given[-1].values():
        assert {id(part) for part in weights.members} <= held
    (kind,) = players.build.made.values()
    assert {part.device.type for part in kind.network.state_dict().values()} == {"meta"}  # it keeps none
    assert all(
        not part.numpy().flags.owndata for one in players._open.values() for part in one.weights.values()
    )


def test_what_acts_together_is_bounded(league, monkeypatch):
    store, policies = league
    players = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    names = [f"pooled-{i % 4}" for i in range(12)]
    players.act(names, SEEN)
    network = players.build.made["pooled []"].network
    assert network.bytes_of_row == 4 * 10 * 4 * 5
    monkeypatch.setattr(frozen_seats, "MAX_INPUT", 6 * network.bytes_of_row)
    forwards = []
    monkeypatch.setattr(network, "forward", counted(network.forward, forwards))
    check(policies, names, SEEN, players, monkeypatch)
    assert len(forwards) == 2  # two snapshots with three rows each at a time


# ---- networks of users ---------------------------------------------------------------------------------


class OwnTrunk(nn.Module):
    """A network of a user; ``way`` is what it does with its weights."""

    decoding, embedding_size = "features", 6

    def __init__(self, layout, config, way):
        super().__init__()
        self.way = way
        self.layer = nn.LazyLinear(6)
        self.layer(torch.zeros(1, FeatureTrunk(layout, config).layers[0].in_features))
        self.scale = nn.Parameter(torch.ones(6))
        self.norm = nn.LayerNorm(6)

    def forward(self, boards, features):
        return self.way(self, self.layer(features))


WAYS = {
    "norm": (lambda net, x: net.norm(x).relu(), None),
    "scale": (lambda net, x: x * net.scale + net.scale.exp(), None),
    "matmul": (lambda net, x: x @ net.layer.weight[:, :6].T.contiguous(), None),
    "pieces": (lambda net, x: functional.linear(x, net.layer.weight.chunk(2, 1)[0][:, :6]), None),
    "those that are there": (lambda net, x: net.norm(x[x[:, 0] < 1e9]), "depends on numbers"),
    "among rows": (lambda net, x: x - x.mean(0) + net.scale, "their logits differ by"),
    "weights with each other": (
        lambda net, x: torch.cat([net.scale, net.scale])[:6] + x,
        "cat with a list of weights",
    ),
    "other operations": (
        lambda net, x: torch.where(x > 0, x, net.scale),
        "calls where with rows and weights",
    ),
    "branches": (
        lambda net, x: x if bool(net.scale.sum() > 6) else -x,
        "differs between the weights|depends on numbers",
    ),
    "other batches": (lambda net, x: net.norm(torch.cat([x, x[:1]]))[:-1], "makes a batch of 13 of 12 rows"),
}


@pytest.mark.parametrize(("function", "reason"), WAYS.values(), ids=WAYS)
def test_networks_of_users_act_together_where_they_can(function, reason, tmp_path, monkeypatch):
    trunks = {"own": lambda layout, config: OwnTrunk(layout, config, function)}
    store = SnapshotStore(tmp_path)
    policies = {f"own-{i}": add(store, "own", i, trunks) for i in range(4)}
    players = FrozenSeats(store, LAYOUT, CONFIG, trunks)
    names = [f"own-{i % 4}" for i in range(12)]
    if reason is None:
        check(policies, names, SEEN, players, monkeypatch)
        check(policies, names, SEEN, players, monkeypatch)
        assert players.build.made["own []"].acts_together
        return
    with pytest.warns(UserWarning, match=f"snapshots of own .. act one by one: .*{reason}"):
        players.act(names, SEEN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        first = players.act(names, SEEN, torch.zeros((12, 2), dtype=torch.float64))
        assert torch.equal(first, players.act(names, SEEN, torch.zeros((12, 2), dtype=torch.float64)))
    assert players.build.made["own []"].acts_together is False


def test_weights_side_by_side_look_like_the_first():
    weights = SideBySide.of([torch.ones(3, 2), 2 * torch.ones(3, 2)], {4: [3, 1]})
    assert (weights.shape, weights.dtype, len(weights)) == ((3, 2), torch.float32, 3)
    assert functional.linear(torch.ones(4, 2), weights)[:, 0].tolist() == [2, 2, 2, 4]
    assert functional.linear(torch.ones(8, 2), weights)[:, 0].tolist() == [2, 2, 2, 2, 2, 2, 4, 4]
    with pytest.raises(NotSideBySideError, match="a tensor of as few axes as its weights"):
        torch.ones(4, 2) + weights


# ---- one after the other -----------------------------------------------------------------------------


FEW_LAYOUT, ONE_SEEN = seen_by(SMALL, [1, 2, 3, 4, 5])
ROW = {name: part[:1] for name, part in ONE_SEEN.items()}
BOTH_TRUNKS = {"reference": ReferenceTrunk, "mean": MeanTrunk}


def policy_that_always(what, trunk, settings=None):
    """A policy of the architecture ``trunk`` whose first head has a mind of its own."""
    policy = BoardPolicy(FEW_LAYOUT, SMALL, BOTH_TRUNKS[trunk](FEW_LAYOUT, SMALL, **(settings or {})))
    with torch.no_grad():
        policy.policy_head.bias[what] = 1000.0
    return policy


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path)
    keep(store, "holder", policy_that_always(0, "reference"), FEW_LAYOUT, "reference")
    keep(store, "expander", policy_that_always(1, "reference"), FEW_LAYOUT, "reference")
    keep(
        store,
        "small",
        policy_that_always(0, "mean", {"form": "pooled"}),
        FEW_LAYOUT,
        "mean",
        {"form": "pooled"},
    )
    return store


def test_those_who_act_seldom_are_closed_first(store, monkeypatch):
    monkeypatch.setattr(frozen, "MAX_OPEN", 2)
    players = FrozenSeats(store, FEW_LAYOUT, SMALL, BOTH_TRUNKS)
    for name in ("holder", "expander", "holder", "small"):
        players.act([name], ROW)
    assert [name for name, _ in players._open] == ["holder", "small"]
    players.close()
    assert players.act(["holder"], ROW).shape == (1, 2)


def test_who_plays_goes_on_when_it_is_removed_and_all_others_are_let_go_of(store):
    players = FrozenSeats(store, FEW_LAYOUT, SMALL, BOTH_TRUNKS)
    for name in ("expander", "small"):
        players.act([name], ROW)
    players.keep({"holder"}, ["small", "one that has not played"])
    assert [name for name, _ in players._open] == ["small", "holder"]
    for name in store.names():
        store.remove(name)
    assert players.act(["holder"], ROW)[0, 0] == 0
    with pytest.raises(UnknownSnapshotError, match="'expander'"):
        players.act(["expander"], ROW)
    with pytest.raises(UnknownSnapshotError, match="'nobody'"):
        players.keep({"nobody"})


def test_what_cannot_play_is_refused_by_name(store):
    players = FrozenSeats(store, FEW_LAYOUT, SMALL, {"mean": MeanTrunk})
    with pytest.raises(UnknownSnapshotError, match=r"'nobody'.*it has expander, holder, small"):
        players.act(["nobody"], ROW)
    with pytest.raises(MismatchError, match="architecture 'reference'; those known here are mean"):
        players.act(["holder"], ROW)


CANNOT = "mean cannot be built with the settings .*TypeError: "


@pytest.mark.parametrize(
    ("trunk", "about", "message"),
    [
        ("reference", {"num_players": 6}, "num_players is 6; here it must be"),
        ("reference", {"frames": 2}, "frames is 2; here it must be"),
        ("reference", {"height": 64}, "height is 64; here it must be"),
        ("reference", {"observation": "features"}, "observation is 'features'; here it must be"),
        ("mean", {}, "in loading state_dict for BoardPolicy: Missing key"),
        ("mean", {"architecture": "mean", "settings": {"form": [1]}}, f"{CANNOT}unhashable"),
        (
            "mean",
            {"architecture": "mean", "settings": {"colour": "red"}},
            f"{CANNOT}.*unexpected keyword argument 'colour'",
        ),
    ],
)
def test_a_snapshot_that_cannot_play_here_is_refused_by_its_name(store, trunk, about, message):
    keep(store, "strange", policy_that_always(0, trunk), FEW_LAYOUT, **{"architecture": "reference"} | about)
    players = FrozenSeats(store, FEW_LAYOUT, SMALL, BOTH_TRUNKS)
    with pytest.raises(MismatchError, match=message) as caught:
        players.act(["strange"] * 5, ONE_SEEN)
    assert "snapshot 'strange'" in str(caught.value)
