"""Files of a folder that have fixed names are its own: through a link nothing outside is written."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from territorial import GameConfig
from territorial.datasets import make
from territorial.datasets.dataset import shard_name, write_shard
from territorial.evaluation.charts import save_plots
from territorial.evaluation.results import playing_into
from territorial.evolution import Evolution, EvolutionSettings
from territorial.evolution.evolve import write
from territorial.files.locks import one_writer
from territorial.league import SnapshotStore
from territorial.league.writer import only_writer
from territorial.replay import Decisions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")

CONFIG = GameConfig(height=24, width=24, num_players=4, max_ticks=100)
EVOLUTION = Evolution.begun(EvolutionSettings(config=CONFIG, population=12, games_per_style=1))
ROWS = Decisions(*[np.zeros(1, np.int32)] * len(Decisions._fields))
PICTURE = SimpleNamespace(savefig=lambda draft, **_: draft.write_bytes(b"picture"))
PLOTS = SimpleNamespace(close=lambda _: None)


def begun(folder):
    make(folder, CONFIG, ["banker"] * 4, games=1, play=lambda *_: ())


def held(context):
    with context:
        pass


WRITERS = {
    "of a store": (".writer", lambda folder: held(only_writer(folder))),
    "in a store": (".lock", lambda folder: held(SnapshotStore(folder)._changing())),
    "of an evolution": ("lock", lambda folder: held(one_writer(folder / "lock"))),
    "evolution": ("evolution.json", lambda folder: write(folder, EVOLUTION)),
    "style": ("style.json", lambda folder: write(folder, EVOLUTION)),
    "of games": ("games.jsonl.lock", lambda folder: held(playing_into(folder / "games.jsonl"))),
    "of a data set": (".writer", begun),
    "manifest": ("manifest.json", begun),
    "shard": (shard_name(0), lambda folder: write_shard(folder, 0, 0, [ROWS])),
    "plot": ("land.png", lambda folder: save_plots(PLOTS, {"land": lambda: PICTURE}, folder)),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_in_the_place_of_a_file_with_a_fixed_name_is_refused(writer, tmp_path):
    name, writes = WRITERS[writer]
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    writes(folder)
    (folder / name).rename(outside)
    before = outside.stat().st_ino, outside.read_bytes()
    (folder / name).symlink_to(outside)
    with pytest.raises(OSError, match="it is a link; remove it") as caught:
        writes(folder)
    assert caught.value.filename == str(folder / name)
    assert (outside.stat().st_ino, outside.read_bytes()) == before
