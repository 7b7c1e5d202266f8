"""Files of the weights of a ``PairPolicy`` as it learned them: to go on learning from.

``PairPolicy.export`` writes those that the engine plays, in whole numbers.
"""

from __future__ import annotations

import os

import torch

from territorial.config.validation import shown
from territorial.files import safetensors
from territorial.files.atomic import draft_of
from territorial.files.bounded import open_file
from territorial.nets.pair_network import PairNetwork
from territorial.observation.pair_columns import OWN, pair_columns

FORMAT = "territorial-pair-weights-1"


def write_weights(policy: PairNetwork, path: str | os.PathLike[str]) -> None:
    """Write the weights of a policy: the whole file, or none if that fails."""
    tensors = {name: part.detach().cpu().numpy() for name, part in policy.state_dict().items()}
    with draft_of(path) as draft, open(draft, "wb") as file:
        file.writelines(safetensors.pieces(tensors, metadata=_about(policy.size, policy.teams)))


def read_weights(path: str | os.PathLike[str]) -> tuple[str, bool, dict[str, torch.Tensor]]:
    """Return the size of the policy in a file, whether it is for teams, and copies of its weights by name.

    Raises:
        ValueError: it is no such file, it is damaged, or its columns are not those of this release.
        OSError: it cannot be read.

    """
    with open_file(path) as file:
        found = safetensors.read(file)
    size, teams = found.metadata.get("size", ""), found.metadata.get("teams") == "1"
    for name, wanted in _about(size, teams).items():
        if found.metadata.get(name) != wanted:
            raise ValueError(f"its {name} is {shown(found.metadata.get(name))}; it must be {shown(wanted)}")
    return size, teams, {name: torch.from_numpy(array.copy()) for name, array in found.arrays.items()}


def _about(size: str, teams: bool) -> dict[str, str]:
    """Return what the header of a file says."""
    tables = {"own": OWN, "pairs": pair_columns(teams=teams)}
    columns = {
        f"columns of {name}": " ".join(f"{one.name}:{one.version}" for one in table)
        for name, table in tables.items()
    }
    return {"format": FORMAT, "size": size, **columns, **({"teams": "1"} if teams else {})}
