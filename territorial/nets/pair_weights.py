"""Files of the weights of a ``PairPolicy`` as it learned them: to go on learning from.

``PairPolicy.export`` writes those that the engine plays, in whole numbers.
"""

from __future__ import annotations

import os

import torch
from torch import nn

from territorial.config.validation import shown
from territorial.files import safetensors
from territorial.files.atomic import draft_of
from territorial.files.bounded import open_file
from territorial.observation.pair_columns import PAIR_TABLES

FORMAT = "territorial-pair-weights-1"


def write_weights(policy: nn.Module, size: str, path: str | os.PathLike[str]) -> None:
    """Write the weights of a policy of this size: the whole file, or none if that fails."""
    tensors = {name: part.detach().cpu().numpy() for name, part in policy.state_dict().items()}
    with draft_of(path) as draft, open(draft, "wb") as file:
        file.writelines(safetensors.pieces(tensors, metadata=_about(size)))


def read_weights(path: str | os.PathLike[str]) -> tuple[str, dict[str, torch.Tensor]]:
    """Return the size of the policy in a file, and copies of its weights by name.

    Raises:
        ValueError: it is no such file, it is damaged, or its columns are not those of this release.
        OSError: it cannot be read.

    """
    with open_file(path) as file:
        found = safetensors.read(file)
    size = found.metadata.get("size", "")
    for name, wanted in _about(size).items():
        if found.metadata.get(name) != wanted:
            raise ValueError(f"its {name} is {shown(found.metadata.get(name))}; it must be {shown(wanted)}")
    return size, {name: torch.from_numpy(array.copy()) for name, array in found.arrays.items()}


def _about(size: str) -> dict[str, str]:
    """Return what the header of a file says."""
    columns = {
        f"columns of {name}": " ".join(f"{one.name}:{one.version}" for one in table)
        for name, table in PAIR_TABLES.items()
    }
    return {"format": FORMAT, "size": size, **columns}
