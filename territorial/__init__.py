"""territorial-env: a fast simulator of a territorial conquest game for multi-agent reinforcement learning."""

from territorial import bots, maps
from territorial._version import __version__
from territorial.config import GameConfig
from territorial.constants import RULES_VERSION
from territorial.engine import Snapshot, VecGame
from territorial.env import TerritorialEnv, parallel_env
from territorial.landmask import LandMask
from territorial.obs_layout import OBS_VERSION
from territorial.replay import Recorder, Replay
from territorial.seats import LINEUPS, LineUp

__all__ = [
    "LINEUPS",
    "OBS_VERSION",
    "RULES_VERSION",
    "GameConfig",
    "LandMask",
    "LineUp",
    "Recorder",
    "Replay",
    "Snapshot",
    "TerritorialEnv",
    "VecGame",
    "__version__",
    "bots",
    "maps",
    "parallel_env",
]
