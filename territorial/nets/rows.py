"""What seats see, as the tensors that a ``BoardPolicy`` reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.actions.masks import pair_masks
from territorial.decode.numpy import Decoder
from territorial.observation.tables import Observations


def rows_of(
    seen: Observations, decoder: Decoder, games: npt.NDArray[Any], seats: npt.NDArray[Any]
) -> dict[str, Tensor]:
    """Return what ``seats`` of ``games``, (N,) each, see, copied; the rows of a game share its boards.

    ``decoder`` is one of the layout of ``seen``.
    """
    played, frame = np.unique(games, return_inverse=True)
    columns = {
        "observations": seen.planes[played],
        "players": seen.players[played],
        "borders": seen.borders[played],
        "globals": seen.globals[played],
        "seat": seats.astype(np.int32)[:, None],
        "action_mask": pair_masks(seen.masks, games, seats),
        "frame": frame[:, None],
    }
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in columns.items()}
