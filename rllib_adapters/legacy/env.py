"""The environment for the old stack: every observation is one row of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rllib_adapters.envs.env_config import PACKED, EnvConfig
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.envs.spaces import ByteBox
from rllib_adapters.legacy.record import ByteRecord


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
