"""Frozen policies: what they choose, what they refuse, and that their weights are the store's."""

import pytest
import torch

from territorial.league import MismatchError, SnapshotStore, UnknownSnapshotError
from territorial.nets import frozen
from territorial.nets.board_policy import BoardPolicy, ReferenceTrunk
from territorial.nets.frozen_seats import FrozenSeats
from tests.torch.support import SMALL, MeanTrunk, keep, seen_by

LAYOUT, SEEN = seen_by(SMALL, [1, 2, 3, 4, 5])
ROW = {name: part[:1] for name, part in SEEN.items()}
TRUNKS = {"reference": ReferenceTrunk, "mean": MeanTrunk}


def policy_that_always(what, trunk, settings=None):
    """A policy of the architecture ``trunk`` whose first head has a mind of its own."""
    policy = BoardPolicy(LAYOUT, SMALL, TRUNKS[trunk](LAYOUT, SMALL, **(settings or {})))
    with torch.no_grad():
        policy.policy_head.bias[what] = 1000.0
    return policy


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path)
    keep(store, "holder", policy_that_always(0, "reference"), LAYOUT, "reference")
    keep(store, "expander", policy_that_always(1, "reference"), LAYOUT, "reference")
    keep(
        store, "small", policy_that_always(0, "mean", {"form": "pooled"}), LAYOUT, "mean", {"form": "pooled"}
    )
    return store


def test_those_who_act_seldom_are_closed_first(store, monkeypatch):
    monkeypatch.setattr(frozen, "MAX_OPEN", 2)
    players = FrozenSeats(store, LAYOUT, SMALL, TRUNKS)
    for name in ("holder", "expander", "holder", "small"):
        players.act([name], ROW)
    assert [name for name, _ in players._open] == ["holder", "small"]
    players.close()
    assert players.act(["holder"], ROW).shape == (1, 2)


def test_who_plays_goes_on_when_it_is_removed_and_all_others_are_let_go_of(store):
    players = FrozenSeats(store, LAYOUT, SMALL, TRUNKS)
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
    players = FrozenSeats(store, LAYOUT, SMALL, {"mean": MeanTrunk})
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
    keep(store, "strange", policy_that_always(0, trunk), LAYOUT, **{"architecture": "reference"} | about)
    players = FrozenSeats(store, LAYOUT, SMALL, TRUNKS)
    with pytest.raises(MismatchError, match=message) as caught:
        players.act(["strange"] * 5, SEEN)
    assert "snapshot 'strange'" in str(caught.value)
