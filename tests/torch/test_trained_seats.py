"""benchmarks/bots/trained_seats.py: what RLlib trained takes seats of an exam, in games of any size."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
trained_seats = pytest.importorskip("benchmarks.bots.trained_seats", reason="the benchmarks are not here")

from benchmarks.bots import road_folders  # noqa: E402 - only where they are
from benchmarks.bots.exam_games import ActingSeat, ExamField, Examiner, all_of  # noqa: E402 - only where they are
from territorial import GameConfig  # noqa: E402
from territorial.bots import Network  # noqa: E402
from territorial.league import Manifest, SnapshotStore  # noqa: E402
from territorial.nets import PairPolicy  # noqa: E402
from territorial.nets.encode_once import EncodeOncePolicy  # noqa: E402
from territorial.nets.frozen import manifest_of  # noqa: E402
from territorial.observation.layout import ObsLayout  # noqa: E402

pytestmark = pytest.mark.checkout

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=300)
OTHER = GameConfig(height=32, width=40, num_players=6, max_ticks=300)


def weights_of(policy):
    return {name: part.numpy() for name, part in policy.state_dict().items()}


@pytest.mark.parametrize("size", ["tables", "small"])
def test_a_network_that_reads_tables_or_boards_plays_games_of_any_size(tmp_path, size):
    layout = ObsLayout(height=24, width=24, num_players=4, frames=1)
    store = SnapshotStore(tmp_path / "store")
    policy = EncodeOncePolicy(layout, SMALL, size=size, hold_probability=0.1)
    about = manifest_of(layout, "EncodeOnceModule", {"size": size})
    store.add("last", weights_of(policy), about)
    seat = trained_seats.seat_of_snapshot(store, "last", tmp_path, interval=50, temperature=1.0)
    assert isinstance(seat, ActingSeat)
    assert seat.interval == 50
    examiner = Examiner(1)
    for config in (SMALL, OTHER, SMALL):
        found = examiner.play(seat, ExamField(config, 2, all_of("novice-1")), 2)
        assert found.places.shape == (2, config.num_players)
    again = examiner.play(seat, ExamField(SMALL, 2, all_of("novice-1")), 2)
    assert np.array_equal(found.places, again.places)
    sizes = SnapshotStore(tmp_path / "sizes")
    assert sorted(name.partition("-")[2] for name in sizes.names()) == ["24-24-4", "32-40-6"]
    store.remove("last")
    store.add("last", {name: 30 * part for name, part in weights_of(policy).items()}, about)
    other = examiner.play(seat, ExamField(SMALL, 2, all_of("novice-1")), 2)
    assert not np.array_equal(found.ticks, other.ticks) or not np.array_equal(found.places, other.places)


def test_a_network_on_pairs_is_one_of_the_engine(tmp_path):
    store, policy = SnapshotStore(tmp_path / "store"), PairPolicy("small")
    about = Manifest(
        architecture="PairPolicy",
        observation="pairs",
        action_format="pairs",
        height=24,
        width=24,
        num_players=4,
        frames=0,
        settings={"size": "small"},
    )
    store.add("last", weights_of(policy), about)
    seat = trained_seats.seat_of_snapshot(store, "last", tmp_path, interval=20, temperature=1.0)
    assert isinstance(seat, Network)
    assert (seat.interval, seat.temperature) == (20, 1.0)


def test_an_untrained_road_has_all_that_is_read_of_one(tmp_path):
    road = tmp_path / "road"
    road_folders.make_untrained(road)
    assert [point.what for point in road_folders.points_of(road)] == ["clone", "network", "network"]
    assert PairPolicy.load(road / "clone" / "weights.safetensors").size == "standard"
    assert road_folders.preparation(road) == pytest.approx(0.3)
    assert road_folders.seed_of(road) == 0
