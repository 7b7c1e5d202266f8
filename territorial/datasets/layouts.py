"""Data sets in the layouts of other libraries, each written by the library that reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from gymnasium import spaces

from territorial.config.validation import one_of
from territorial.constants import NUM_FRACTIONS
from territorial.datasets.dataset import Dataset
from territorial.files.atomic import check_unused
from territorial.observation.pair_columns import UNIT
from territorial.replay import Decisions
from territorial.replay.decision_rows import NOT_SHOWN

LIBRARIES: Mapping[str, tuple[str, ...]] = {"huggingface": ("pyarrow",), "minari": ("minari", "h5py")}
"""The packages that write each layout; the extra that installs them has the name of the layout."""


def check_layout(folder: Path, layout: str) -> None:
    """Raise the error of :func:`export`, before there is anything to write."""
    for library in LIBRARIES[one_of("layout", layout, LIBRARIES)]:
        if find_spec(library) is None:
            raise ImportError(
                f"the layout {layout} needs {library}: pip install 'territorial-env[{layout}]' (or "
                f"'.[{layout}]' in the checkout)"
            )
    check_unused(folder, [layout])


def export(dataset: Dataset, layout: str) -> Path:
    """Write a data set in the layout of another library, into a folder of that name beside its shards.

    The folder is there whole or not at all. docs/datasets.md describes both layouts.

    Args:
        dataset: the data set, of which one shard at a time is in memory.
        layout: "huggingface", the rows in Parquet files, one per shard; or "minari", the decisions of each
            seat in each game as an episode.

    Returns:
        The new folder.

    Raises:
        ValueError: for another layout.
        ImportError: if its library is not installed; the message names the extra that installs it.
        FileExistsError: if there is such a folder already.

    """
    check_layout(dataset.folder, layout)
    with TemporaryDirectory(prefix=".draft-", dir=dataset.folder) as drafts:
        draft = Path(drafts, layout)
        (_write_minari if layout == "minari" else _write_huggingface)(dataset, draft)
        return draft.rename(dataset.folder / layout)


def _about(dataset: Dataset) -> dict[str, Any]:
    """Return what the rows of a data set follow from, and their columns."""
    manifest = dataset.manifest
    return {"recipe": asdict(manifest.recipe), "columns": manifest.columns}


# ---- Hugging Face ------------------------------------------------------------------------------------

CARD = """\
---
tags: [reinforcement-learning, imitation-learning]
---
# {manifest.rows:,} decisions in {manifest.games:,} games of territorial-env

Made by territorial-env {manifest.library}, whose `docs/datasets.md` describes the columns. `own` and `pairs`
are in {manifest.unit}ths.

```json
{about}
```
"""


def _write_huggingface(dataset: Dataset, folder: Path) -> None:
    """Write the rows of each shard as a Parquet file, and a card that describes them."""
    import pyarrow
    from pyarrow import parquet

    (folder / "data").mkdir(parents=True)
    for number, rows in enumerate(dataset):
        table = pyarrow.table({name: _nested(column, pyarrow) for name, column in rows._asdict().items()})
        name = f"train-{number:05}-of-{len(dataset):05}.parquet"  # by which the library finds the files
        parquet.write_table(table, folder / "data" / name)
    card = CARD.format(manifest=dataset.manifest, about=json.dumps(_about(dataset), indent=1))
    (folder / "README.md").write_text(card, encoding="utf-8")


def _nested(column: np.ndarray[Any, Any], pyarrow: Any) -> Any:
    """Return an array for Arrow, with a list of fixed length for each axis after the first."""
    nested = pyarrow.array(column.reshape(-1))
    for length in column.shape[:0:-1]:
        nested = pyarrow.FixedSizeListArray.from_arrays(nested, length)
    return nested


# ---- Minari ------------------------------------------------------------------------------------------


def _write_minari(dataset: Dataset, folder: Path) -> None:
    """Write the episodes of a data set, named after its folder, as version 0."""
    from minari import __version__
    from minari.dataset.minari_storage import MinariStorage

    name = f"{re.sub('[^-_a-zA-Z0-9]', '_', dataset.folder.resolve().name)}-v0"
    data = folder.absolute() / name / "data"  # a relative path would be joined to itself
    data.mkdir(parents=True)
    count, columns = dataset.manifest.recipe.num_candidates, dataset.manifest.columns
    actions, bound = 1 + NUM_FRACTIONS * count, 2**15 / UNIT
    observation = {
        "own": spaces.Box(-bound, bound, (len(columns["own"]),)),
        "pairs": spaces.Box(-bound, bound, (count, len(columns["pairs"]))),
        "action_mask": spaces.MultiBinary(actions),
    }
    action: spaces.Space[Any] = spaces.Discrete(actions - NOT_SHOWN, start=NOT_SHOWN)
    storage = MinariStorage.new(data, spaces.Dict(observation), action)
    storage.update_metadata({"dataset_id": name, "minari_version": __version__} | _about(dataset))
    storage.update_episodes(_buffers(dataset))


def _buffers(dataset: Dataset) -> Iterator[Any]:
    """Yield the episodes of a data set as Minari takes them.

    A row's reward is that of all steps up to the next row. Rows have no observation of the end, so the last
    one stands in for it; as all episodes are terminated, no learner takes a value from it.
    """
    from minari.data_collector import EpisodeBuffer

    recipe = dataset.manifest.recipe
    for rows in episodes(dataset):
        steps = np.diff(rows.tick // recipe.config["decision_every"])
        is_last = np.arange(len(rows.tick)) == len(rows.tick) - 1
        padded = Decisions._make(np.append(column, column[-1:], axis=0) for column in rows)
        yield EpisodeBuffer(
            seed=recipe.seed + int(rows.game[0]),
            observations={
                "own": padded.own / np.float32(UNIT),
                "pairs": padded.pairs / np.float32(UNIT),
                "action_mask": padded.action_mask,
            },
            actions=rows.action.astype(np.int64),
            rewards=rows.returns - np.append(rows.returns[1:] * recipe.discount**steps, 0),
            terminations=is_last,
            truncations=np.zeros_like(is_last),
            infos={name: getattr(padded, name) for name in ("returns", "place", "tick", "seat", "game")},
        )


def episodes(dataset: Dataset) -> Iterator[Decisions]:
    """Yield the decisions of one seat in one game after the other, in the order of games, then of seats."""
    for rows in dataset:
        order = np.lexsort((rows.seat, rows.game))  # stable: ticks stay in their order
        changes = np.diff(rows.game[order]) | np.diff(rows.seat[order])
        for part in np.split(order, np.flatnonzero(changes) + 1):
            if len(part):
                yield Decisions._make(column[part] for column in rows)
