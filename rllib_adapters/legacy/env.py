"""The environment for the old stack, in which every observation is one row of bytes.

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

from rllib_adapters.envs.agent_interface import ByteBox
from rllib_adapters.envs.env_config import PACKED, EnvConfig
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from territorial.actions.encoding import num_targets
from territorial.constants import NUM_FRACTIONS
from territorial.observation.layout import ObsLayout


class LegacyEnv(TerritorialMultiAgentEnv):
    """A ``TerritorialMultiAgentEnv`` whose observations are uint8 (num_bytes,), see ``ByteRecord``.

    Seats are "agent", for RLlib's policies to play, whether they learn or not, or a bot of the engine. There
    is no league: on the old stack opponents are policies of their own. The episode ends with the
    game unless ``end_when`` says otherwise. Each agent has a copy of the board: 225 KB for 32 players on
    256 x 256 cells with four frames, 78 KB with one.
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None) -> None:
        options = EnvConfig.from_config(env_config)
        if options.league is not None:
            raise ValueError(
                "env_config has a league, which the old API stack does not support; use seats, "
                'each "agent" or a bot of the engine. SnapshotPolicy and BotPolicy play other '
                "seats"
            )
        if options.forms != (PACKED,):
            raise ValueError(f"obs is {options.obs!r}; on the old API stack it must be {PACKED!r}")
        super().__init__(options)
        self.record = ByteRecord(options.layout)
        box = ByteBox((self.record.num_bytes,))
        self.observation_spaces = dict.fromkeys(self.possible_agents, box)

    def _observe(self) -> dict[str, npt.NDArray[np.uint8]]:  # type: ignore[override]
        return {agent: self.record.pack(seen) for agent, seen in super()._observe().items()}


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
