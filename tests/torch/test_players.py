"""Snapshots in evaluations: they play as their networks do, share one, and hold no memory when it is over."""

import pickle

import numpy as np
import pytest

from territorial import Setting, evaluate
from territorial.evaluation.record import ResultsError
from territorial.league import SnapshotStore, UnknownSnapshotError
from territorial.nets import players
from territorial.nets.players import SnapshotPolicy
from territorial.observation.layout import ObsLayout
from tests.torch.support import SMALL, MeanTrunk, add_random

TRUNKS = {"MeanTrunk": MeanTrunk}
LAYOUT = ObsLayout(height=SMALL.height, width=SMALL.width, num_players=SMALL.num_players, frames=1)
SETTINGS = {"s": Setting(config=SMALL, seats=["agent", "agent", "novice", "novice", "banker"], max_cycles=60)}


def add(store, name, what, seed):
    add_random(store, name, LAYOUT, seed=seed, change=lambda bias: bias[what].fill_(50.0))


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path / "store")
    add(store, "holder", 0, 1)
    add(store, "expander", 1, 2)
    return store


def test_snapshots_do_as_their_weights_say_in_one_process_as_in_two(store):
    policies = {name: SnapshotPolicy(store, name, TRUNKS) for name in ("holder", "expander")}
    found = evaluate(policies, SETTINGS, 6, processes=1, progress=False)
    land = found.matrix("land").value[:, 0]
    assert land[1] > 2 * land[0]
    again = evaluate(policies, {**SETTINGS, "t": SETTINGS["s"]}, 6, processes=2, progress=False)
    assert [one for one in again.records if one.setting == "s"] == list(found.records)


def test_one_network_serves_all_and_nothing_stays_open(store):
    policies = {name: SnapshotPolicy(store, name, TRUNKS) for name in ("holder", "expander")}
    against = {
        "s": Setting(config=SMALL, seats=["agent", "holder", "holder", "expander", "banker"], max_cycles=9)
    }
    evaluate(policies, against, 2, processes=1, progress=False)
    _, policies = players._tables[str(store.path)]
    assert len(policies._kinds) == 1
    assert not policies.names


def test_policies_can_be_pickled_and_know_their_weights(store):
    policy = SnapshotPolicy(store, "holder", TRUNKS)
    assert pickle.loads(pickle.dumps(policy)).identity() == policy.identity()
    assert policy.identity() != SnapshotPolicy(store, "expander", TRUNKS).identity()
    assert policy.frames == 1
    with pytest.raises(UnknownSnapshotError, match="nobody"):
        SnapshotPolicy(store, "nobody", TRUNKS)


def test_other_weights_of_the_same_name_do_not_go_on_with_a_file(store, tmp_path):
    def run():
        policies = {"p": SnapshotPolicy(store, "holder", TRUNKS)}
        return evaluate(policies, SETTINGS, 1, processes=1, out=tmp_path / "out", progress=False)

    assert np.isfinite(run().matrix().value).all()
    run()
    store.remove("holder")
    add(store, "holder", 0, 3)
    with pytest.raises(ResultsError, match="holder"):
        run()
