"""Data sets in the layouts of other libraries, read back by these libraries."""

from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial.datasets import Dataset, DatasetError, export, layouts, make
from territorial.replay import Decisions

datasets = pytest.importorskip("datasets", reason="the extra `huggingface` is not installed")
pytest.importorskip("h5py", reason="the extra `minari` is not installed")
minari = pytest.importorskip("minari", reason="the extra `minari` is not installed")
CONFIG = territorial.GameConfig(height=24, width=24, num_players=3, max_ticks=400, rewards={"survival": 1})


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    make(
        tmp_path,
        CONFIG,
        ["banker", "metronome", "random"],
        games=3,
        games_per_shard=2,
        discount=0.99,
        num_candidates=2,
        processes=1,
    )
    return Dataset(tmp_path)


def rows_of(dataset: Dataset) -> Decisions:
    return Decisions(*map(np.concatenate, zip(*dataset, strict=True)))


def test_datasets_reads_the_rows(dataset: Dataset, tmp_path: Path) -> None:
    folder, rows = str(export(dataset, "huggingface")), rows_of(dataset)
    read = datasets.load_dataset(folder, split="train", cache_dir=str(tmp_path / "cache"))
    assert read.column_names == list(rows._fields)
    for name, column in rows._asdict().items():
        np.testing.assert_array_equal(read.with_format("numpy", dtype=column.dtype)[:][name], column)


def test_minari_reads_the_decisions_of_each_seat_as_an_episode(dataset: Dataset) -> None:
    read, rows = minari.MinariDataset(next(export(dataset, "minari").glob("*-v0/data"))), rows_of(dataset)
    players = sorted({*zip(rows.game.tolist(), rows.seat.tolist(), strict=True)})
    assert (len(read), read.total_steps) == (len(players), len(rows.tick))
    for episode, (game, seat) in zip(read, players, strict=True):
        own = Decisions._make(column[(rows.game == game) & (rows.seat == seat)] for column in rows)
        seen, steps = episode.observations, (own.tick - own.tick[0]) // CONFIG.decision_every
        for number in range(len(own.tick)):
            assert {name: seen[name][number] for name in seen} in read.observation_space
        assert all(action in read.action_space for action in episode.actions)
        given = {"action": episode.actions} | {name: seen[name][:-1] * 4096 for name in ("own", "pairs")}
        given |= {name: episode.infos[name][:-1] for name in ("returns", "place", "tick", "seat", "game")}
        for name, column in own._asdict().items():
            np.testing.assert_array_equal(given[name], column)
        np.testing.assert_array_equal(seen["action_mask"][:-1], own.action_mask)
        assert (episode.rewards * 0.99**steps).sum() == pytest.approx(own.returns[0], rel=1e-5)
        assert np.flatnonzero(episode.terminations).tolist() == [len(own.tick) - 1]


@pytest.mark.parametrize("layout", layouts.LIBRARIES)
def test_a_layout_is_written_whole_or_not_at_all(
    dataset: Dataset, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(layouts, "find_spec", lambda _: None)
        with pytest.raises(ImportError, match=rf"territorial-env\[{layout}\]"):
            export(dataset, layout)
    (dataset.folder / dataset.manifest.shards[-1].file).unlink()
    before = sorted(dataset.folder.iterdir())
    with pytest.raises(DatasetError, match="is missing"):
        export(dataset, layout)
    assert sorted(dataset.folder.iterdir()) == before
    (dataset.folder / layout / "mine").mkdir(parents=True)
    with pytest.raises(FileExistsError, match="it is there already"):
        export(dataset, layout)
