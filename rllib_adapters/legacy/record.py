"""An observation as one row of bytes, which the old stack passes on as it is.

A ``Dict`` would be flattened to float32: a byte of eight cells would take four, and with a one-hot board a
cell would take 132 times four.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.actions.encoding import num_targets
from territorial.constants import NUM_FRACTIONS
from territorial.observation.layout import ObsLayout

TORCH_DTYPES = {"float32": torch.float32, "int32": torch.int32, "uint8": torch.uint8, "int8": torch.int8}


class ByteRecord:
    """The layout of the bytes of one observation of ``TerritorialMultiAgentEnv``.

    ``dtype`` is that of a numpy record with the observation's keys; ``num_bytes`` its size.
    """

    def __init__(self, layout: ObsLayout) -> None:
        num_choices = num_targets(layout.num_players) + NUM_FRACTIONS
        self.dtype = np.dtype(  # what has four bytes comes first, so that it lies where it can be read
            [
                ("players", np.float32, layout.shape("players")),
                ("borders", np.float32, layout.shape("borders")),
                ("globals", np.float32, layout.shape("globals")),
                ("seat", np.int32, (1,)),
                ("observations", np.uint8, layout.shape("planes")),
                ("action_mask", np.int8, (num_choices,)),
            ]
        )
        self.num_bytes = self.dtype.itemsize
        self._fields: Mapping[str, Any] = self.dtype.fields or {}
        self.names = tuple(self._fields)

    def pack(self, seen: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.uint8]:
        """Return an observation as new uint8 (num_bytes,)."""
        record = np.empty(1, self.dtype)
        for name in self.names:
            record[name][0] = seen[name]
        return record.view(np.uint8)

    def arrays(self, rows: npt.NDArray[np.uint8]) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of uint8 (N, num_bytes), each (N, ...), as views where numpy can."""
        records = np.ascontiguousarray(rows).view(self.dtype)[:, 0]
        return {name: records[name] for name in self.names}

    def tensors(self, rows: Tensor) -> dict[str, Tensor]:
        """Return the tensors of uint8 (N, num_bytes), each (N, ...), on the device of ``rows``."""
        if rows.dtype != torch.uint8 or rows.dim() != 2 or rows.shape[1] != self.num_bytes:
            raise ValueError(
                f"the observations have the shape {tuple(rows.shape)} and the type "
                f"{rows.dtype}; they must be (N, {self.num_bytes}) of torch.uint8, as "
                "LegacyEnv returns them"
            )
        tensors = {}
        for name in self.names:
            kind, offset = self._fields[name][:2]
            base, shape = kind.subdtype or (kind, ())
            part = rows[:, offset : offset + kind.itemsize].clone(memory_format=torch.contiguous_format)
            tensors[name] = part.view(TORCH_DTYPES[base.name]).reshape(len(rows), *shape)
        return tensors
