"""Pickles and files of older revisions are loaded by this one."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial import Replay, Setting, VecGame
from territorial.league import League, SnapshotStore
from tests.older import make

pytestmark = pytest.mark.filterwarnings("ignore:.* is now :DeprecationWarning")

FOLDER = Path(__file__).parent / "before_rooms"
PICKLES, DIGESTS = pickle.loads((FOLDER / "pickles.pickle").read_bytes())


def test_everything_that_is_made_now_was_made_then():
    assert PICKLES.keys() == {*make.VALUES, *make.PLAYED, "Snapshot", "VecSnapshot"}


@pytest.mark.parametrize("name", make.VALUES)
def test_an_older_pickle_is_the_same_value(name):
    assert pickle.loads(PICKLES[name]) == make.VALUES[name]()


@pytest.mark.parametrize("name", make.PLAYED)
def test_an_older_pickle_plays_on_through_ends_and_resets(name):
    assert make.play(pickle.loads(PICKLES[name]), make.STEPS) == DIGESTS[name]


def test_an_older_saved_game_is_restored():
    game = make.begun(VecGame(make.CONFIG, 2, seats=make.SEATS))
    game.restore(1, pickle.loads(PICKLES["Snapshot"]))
    assert make.play(game, make.STEPS) == DIGESTS["Snapshot"]


def test_an_older_saved_game_of_a_vector_environment_is_restored():
    games = make.begun(make.vec(obs="features"))
    games.restore(0, pickle.loads(PICKLES["VecSnapshot"]))
    assert make.play(games, make.STEPS) == DIGESTS["VecSnapshot"]


def test_an_older_snapshot_is_read(tmp_path):
    shutil.copytree(FOLDER / "store", tmp_path / "store")
    store = SnapshotStore(tmp_path / "store")
    assert store.manifest("first") == make.MANIFEST
    weights = store.load("first")
    assert weights.keys() == make.WEIGHTS.keys()
    for name, tensor in make.WEIGHTS.items():
        np.testing.assert_array_equal(weights[name], tensor)


def test_an_older_league_goes_on():
    league = League.load(FOLDER / "league.league")
    assert league.to_bytes() == make.league().to_bytes()


def test_an_older_map_is_read():
    assert territorial.maps.load(FOLDER / "land.png") == make.mask()


def test_an_older_recording_is_played_and_verified():
    Replay.load(FOLDER / "game.replay").verify()


def test_an_older_evaluation_is_resumed(tmp_path):
    out = tmp_path / "evaluation.jsonl"
    shutil.copy(FOLDER / "evaluation.jsonl", out)
    before = out.read_bytes()
    setting = Setting(config=make.CONFIG, max_cycles=10)
    found = territorial.evaluate(
        ["banker", "novice"], {"small": setting}, episodes=2, out=out, processes=1, progress=False
    )
    assert found.matrix().games.sum() == 4
    assert out.read_bytes() == before, "games were played again"
