"""Data sets in the layouts of other libraries, each written by the library that reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import reduce
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

# The packages that write each layout; the extra that installs them has the name of the layout.
LIBRARIES: Mapping[str, tuple[str, ...]] = {"huggingface": ("pyarrow",), "minari": ("minari", "h5py")}


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
    return {"recipe": asdict(dataset.manifest.recipe), "columns": dataset.manifest.columns}


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
    from pyarrow import FixedSizeListArray, array, parquet, table

    (folder / "data").mkdir(parents=True)
    for number, rows in enumerate(dataset):
        columns = {  # with a list of fixed length for each axis after the first
            name: reduce(FixedSizeListArray.from_arrays, column.shape[:0:-1], array(column.reshape(-1)))
            for name, column in rows._asdict().items()
        }
        # The library finds the files by these names.
        path = folder / "data" / f"train-{number:05}-of-{len(dataset):05}.parquet"
        parquet.write_table(table(columns), path)
    card = CARD.format(manifest=dataset.manifest, about=json.dumps(_about(dataset), indent=1))
    (folder / "README.md").write_text(card, encoding="utf-8")


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
    storage = MinariStorage.new(
        data, spaces.Dict(observation), spaces.Discrete(actions - NOT_SHOWN, start=NOT_SHOWN)
    )
    storage.update_metadata({"dataset_id": name, "minari_version": __version__} | _about(dataset))
    storage.update_episodes(_episodes(dataset))


def _episodes(dataset: Dataset) -> Iterator[Any]:
    """Yield the decisions of each seat in each game as Minari takes them, by game and seat.

    A row's reward is that of all steps up to the next row. Rows have no observation of the end, so the last
    one stands in for it; as all episodes are terminated, no learner takes a value from it.
    """
    from minari.data_collector import EpisodeBuffer

    recipe = dataset.manifest.recipe
    for rows in dataset:
        order = np.lexsort((rows.seat, rows.game))  # stable: ticks stay in their order
        changes = np.diff(rows.game[order]) | np.diff(rows.seat[order])
        for part in filter(len, np.split(order, np.flatnonzero(changes) + 1)):
            seen = Decisions._make(column[np.append(part, part[-1])] for column in rows)
            steps = np.diff(rows.tick[part] // recipe.config["decision_every"])
            yield EpisodeBuffer(
                seed=recipe.seed + int(seen.game[0]),
                observations={
                    "own": seen.own / np.float32(UNIT),
                    "pairs": seen.pairs / np.float32(UNIT),
                    "action_mask": seen.action_mask,
                },
                actions=seen.action[:-1].astype(np.int64),
                rewards=rows.returns[part] - np.append(seen.returns[1:-1] * recipe.discount**steps, 0),
                terminations=part == part[-1],
                truncations=np.zeros(len(part), np.bool_),
                infos={name: getattr(seen, name) for name in ("returns", "place", "tick", "seat", "game")},
            )
