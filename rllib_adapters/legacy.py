"""RLlib's old API stack: environment, model and snapshots of this game in small memory.

docs/old_api_stack.md is the guide. It is for users who cannot leave the old stack yet: the new one shares
frames and weights, which this cannot.
Every observation is one row of bytes. A ``Dict`` would be flattened to float32: a byte of eight cells would
take four, and with a one-hot board a cell would take 132 times four.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from torch import Tensor, nn

from rllib_adapters.envs.agent_interface import ByteBox
from rllib_adapters.envs.env_config import PACKED, EnvConfig
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.old_stack import SnapshotPolicy, shared
from rllib_adapters.modules.board import BoardModule, ReferenceModule
from rllib_adapters.modules.frozen_pool import opponents_of
from territorial.constants import NUM_FRACTIONS
from territorial.nets.frozen import FrozenPolicies
from territorial.observation.action_encoding import num_targets
from territorial.observation.layout import ObsLayout

# ---- the environment -----------------------------------------------------------------------------


class LegacyEnv(TerritorialMultiAgentEnv):
    """A ``TerritorialMultiAgentEnv`` with observations uint8 (num_bytes,), see ``ByteRecord``.

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
        self._fields: dict[str, Any] = dict(self.dtype.fields or {})  # copies of bots have it
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


# ---- the model -----------------------------------------------------------------------------------


class BoardModel(TorchModelV2, nn.Module):
    """A custom model over the observations of ``LegacyEnv``::

        config.training(model={
            "custom_model": BoardModel,
            "custom_model_config": {"module": MyModule, **settings_of(env_config)},
        })

    ``module`` is the class that brings the network: the very ``BoardModule`` that the new stack takes, so
    that weights and snapshots are the same in both. The other entries are its ``model_config``.
    """

    def __init__(
        self,
        obs_space: Any,
        action_space: Any,
        num_outputs: int,
        model_config: dict[str, Any],
        name: str,
        *,
        module: type[BoardModule] = ReferenceModule,
        **settings: Any,
    ) -> None:
        TorchModelV2.__init__(self, obs_space, action_space, num_outputs, model_config, name)
        nn.Module.__init__(self)
        self.policy = module.make_policy(settings)
        self.record = ByteRecord(self.policy.layout)
        self._embedding: Tensor | None = None

    def forward(
        self, input_dict: dict[str, Any], state: list[Any], seq_lens: Any
    ) -> tuple[Tensor, list[Any]]:
        """Return masked logits, float32 (N, P + 12), and the state, which is none."""
        seen = self.record.tensors(input_dict["obs"])
        seen["seat"] = seen["seat"].clamp(min=1)  # the rows with which RLlib tries a policy are all zero
        logits, self._embedding = self.policy(seen)
        return logits, state

    def value_function(self) -> Tensor:
        """Return float32 (N,): the values of the rows of the last ``forward``."""
        if self._embedding is None:
            raise RuntimeError("value_function() was called before forward(); call forward() first")
        return self.policy.values(self._embedding)


class BoardSnapshotPolicy(SnapshotPolicy):
    """Plays a snapshot of a ``BoardModule``.

    Its ``config`` must have ``pool``, what ``pool_settings`` returns; and ``snapshot``, the name, which
    ``play`` changes.
    """

    def players(self) -> FrozenPolicies:
        """Return the process's only players for the pool's settings."""
        pool = self.config["pool"]
        self.record = ByteRecord(ObsLayout.from_dict(pool["layout"]))
        names = [module.architecture for module in pool["architectures"]]
        key = f"{pool['store'].path} {pool['layout']} {pool['config'].hexdigest} {names}"
        return shared(key, lambda: opponents_of(pool))

    def read(self, rows: npt.NDArray[np.uint8]) -> dict[str, Tensor]:
        """Return the tensors of records."""
        return self.record.tensors(super().read(rows))
