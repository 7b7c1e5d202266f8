"""Data sets in the layouts of other libraries, read back by these libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.datasets import Dataset, DatasetError, export, make
from territorial.datasets import layouts as written
from territorial.replay import Decisions

CONFIG = territorial.GameConfig(height=24, width=24, num_players=3, max_ticks=400, rewards={"survival": 1})
DISCOUNT = 0.99


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    options: dict[str, Any] = {"games_per_shard": 2, "discount": DISCOUNT, "num_candidates": 2}
    make(tmp_path, CONFIG, ["banker", "metronome", "random"], games=3, processes=1, **options)
    return Dataset(tmp_path)


def needed(layout: str) -> tuple[Any, ...]:
    """Return the libraries that write and read a layout; skip the test without them."""
    names = {*written.LIBRARIES[layout], {"huggingface": "datasets", "minari": "minari"}[layout]}
    why = f"not installed: the extra `{layout}` has it"
    return tuple(pytest.importorskip(name, reason=f"{name} is {why}") for name in sorted(names))


def rows_of(dataset: Dataset) -> Decisions:
    return Decisions(*map(np.concatenate, zip(*dataset, strict=True)))


def test_datasets_reads_the_rows(dataset: Dataset, tmp_path: Path) -> None:
    datasets, _ = needed("huggingface")
    folder, rows = export(dataset, "huggingface"), rows_of(dataset)
    read = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert read.column_names == list(rows._fields)
    for name, column in rows._asdict().items():
        found = read.with_format("numpy", dtype=column.dtype)[:][name]
        assert found.shape == column.shape
        assert (found == column).all()
    assert dataset.manifest.recipe.config_digest in (folder / "README.md").read_text()


def test_minari_reads_the_decisions_of_each_seat_as_an_episode(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, minari = needed("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(export(dataset, "minari")))
    (name,), rows = minari.list_local_datasets(), rows_of(dataset)
    read = minari.load_dataset(name)
    players = sorted({*zip(rows.game.tolist(), rows.seat.tolist(), strict=True)})
    assert (len(read), read.total_steps) == (len(players), len(rows.tick))
    for episode, (game, seat) in zip(read, players, strict=True):
        own = Decisions(*(column[(rows.game == game) & (rows.seat == seat)] for column in rows))
        seen = episode.observations
        assert (seen["own"][:-1] * 4096 == own.own).all()
        assert (seen["pairs"][:-1] * 4096 == own.pairs).all()
        assert (seen["action_mask"][:-1] == own.action_mask).all()
        assert (episode.actions == own.action).all()
        for info in ("returns", "place", "tick"):
            assert (episode.infos[info][:-1] == getattr(own, info)).all()
        for number, action in enumerate(episode.actions):
            assert action in read.action_space
            assert {part: seen[part][number] for part in seen} in read.observation_space
        steps = (own.tick - own.tick[0]) // CONFIG.decision_every
        assert (episode.rewards * DISCOUNT**steps).sum() == pytest.approx(own.returns[0], rel=1e-5)
        assert np.flatnonzero(episode.terminations).tolist() == [len(own.tick) - 1]
        assert not episode.truncations.any()
    assert [one["seed"] for one in read.storage.get_episode_metadata(range(len(read)))] == [
        dataset.manifest.recipe.seed + game for game, _ in players
    ]


@pytest.mark.parametrize("layout", list(written.LIBRARIES))
def test_a_layout_is_written_whole_or_not_at_all(
    dataset: Dataset, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(written, "find_spec", lambda _: None)
        with pytest.raises(ImportError, match=rf"territorial-env\[{layout}\]"):
            export(dataset, layout)
    needed(layout)
    (dataset.folder / dataset.manifest.shards[-1].file).unlink()
    before = sorted(dataset.folder.iterdir())
    with pytest.raises(DatasetError, match="is missing"):
        export(dataset, layout)
    assert sorted(dataset.folder.iterdir()) == before
    (dataset.folder / layout).mkdir()
    (dataset.folder / layout / "mine").touch()
    with pytest.raises(FileExistsError, match="it is there already"):
        export(dataset, layout)
