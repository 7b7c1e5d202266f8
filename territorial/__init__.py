"""territorial-env: a fast simulator of a territorial conquest game for multi-agent reinforcement learning."""

import territorial._interrupts  # noqa: F401  # first of all: the rest takes time

# isort: split
from typing import TYPE_CHECKING

from territorial import bots, maps
from territorial._version import __version__
from territorial.config import GameConfig
from territorial.constants import RULES_VERSION
from territorial.engine import Snapshot, VecGame
from territorial.envs.pettingzoo import TerritorialEnv, parallel_env
from territorial.gymnasium_envs import SeatEnv, SeatVectorEnv
from territorial.landmask import LandMask
from territorial.league.evaluation import Evaluation, evaluate
from territorial.league.trials import Setting
from territorial.obs_layout import OBS_VERSION
from territorial.replay import Recorder, Replay
from territorial.seats import LINEUPS, LineUp
from territorial.vector import TerritorialVec, VecSnapshot, make_vec

if TYPE_CHECKING:  # type checkers do not know that the module can be called
    from territorial.envs.pettingzoo import env
else:
    from territorial import env

__all__ = [
    "LINEUPS",
    "OBS_VERSION",
    "RULES_VERSION",
    "Evaluation",
    "GameConfig",
    "LandMask",
    "LineUp",
    "Recorder",
    "Replay",
    "SeatEnv",
    "SeatVectorEnv",
    "Setting",
    "Snapshot",
    "TerritorialEnv",
    "TerritorialVec",
    "VecGame",
    "VecSnapshot",
    "__version__",
    "bots",
    "env",
    "evaluate",
    "make_vec",
    "maps",
    "parallel_env",
]
