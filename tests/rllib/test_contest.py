"""Snapshots of RLlib modules in matches: the reference network by itself, others by their class."""

import pytest

from rllib_adapters.modules.board import ReferenceModule, settings_of
from territorial import GameConfig
from territorial.evaluation.contests import match
from territorial.league import SnapshotStore
from territorial.nets import SnapshotPolicy


class OtherModule(ReferenceModule):
    """The same network under another name."""


@pytest.mark.verify  # as networks of users do: tests/torch/test_contestants.py
@pytest.mark.parametrize(
    ("module", "trunks"), [(ReferenceModule, {}), (OtherModule, {"OtherModule": OtherModule.make_trunk})]
)
def test_a_frozen_module_plays_in_a_match(module, trunks, tmp_path):
    config = GameConfig(height=32, width=32, num_players=3, max_ticks=200)
    settings = settings_of({"config": config})
    weights = module.make_policy(settings).state_dict()
    store = SnapshotStore(tmp_path)
    store.add("mine", {name: part.numpy() for name, part in weights.items()}, module.manifest(settings))
    mine = SnapshotPolicy(store, "mine", trunks)
    (record,) = match([mine, "turtle", mine], config, 1, processes=1, progress=False).records
    assert record.seats == (mine.player_name, "turtle-1", mine.player_name)
    assert record.length == 200 or not record.is_stopped
