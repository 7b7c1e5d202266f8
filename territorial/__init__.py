"""A fast simulator of a territorial conquest game for multi-agent reinforcement learning.

The public names import their modules when they are first asked for: a process that needs none of the engine,
such as one that trains a league of another environment, does not load it.
"""

from typing import TYPE_CHECKING

import territorial._registration  # noqa: F401  # gymnasium.make knows the environment then
from territorial._lazy import lazily
from territorial.constants import OBS_VERSION, RULES_VERSION, __version__

if TYPE_CHECKING:  # editors and type checkers do not run __getattr__
    from territorial import bots, maps
    from territorial.config import GameConfig
    from territorial.config.land_mask import LandMask
    from territorial.engine.saved_game import SavedGame
    from territorial.engine.seats import LINEUPS, LineUp
    from territorial.engine.vec_game import VecGame
    from territorial.envs.gymnasium import SeatEnv, SeatVectorEnv
    from territorial.envs.pettingzoo import TerritorialEnv, env, parallel_env
    from territorial.envs.vector import TerritorialVec, make_vec
    from territorial.evaluation.evaluate import Evaluation, evaluate
    from territorial.evaluation.match import Ranking, match
    from territorial.evaluation.schedule import Scenario
    from territorial.evaluation.what_if import WhatIf, what_if
    from territorial.replay import Recorder, Replay

__all__ = [
    "LINEUPS",
    "OBS_VERSION",
    "RULES_VERSION",
    "Evaluation",
    "GameConfig",
    "LandMask",
    "LineUp",
    "Ranking",
    "Recorder",
    "Replay",
    "SavedGame",
    "Scenario",
    "SeatEnv",
    "SeatVectorEnv",
    "TerritorialEnv",
    "TerritorialVec",
    "VecGame",
    "WhatIf",
    "__version__",
    "bots",
    "env",
    "evaluate",
    "make_vec",
    "maps",
    "match",
    "parallel_env",
    "what_if",
]

PUBLIC_PACKAGES = ("bots", "decode", "league", "maps", "render", "replay")
"""Packages that are public, as attributes as well; the docs use them."""

# The modules of the public names.
_HOMES = {
    "Evaluation": "territorial.evaluation.evaluate",
    "GameConfig": "territorial.config",
    "LINEUPS": "territorial.engine.seats",
    "LandMask": "territorial.config.land_mask",
    "LineUp": "territorial.engine.seats",
    "Ranking": "territorial.evaluation.match",
    "Recorder": "territorial.replay",
    "Replay": "territorial.replay",
    "SavedGame": "territorial.engine.saved_game",
    "Scenario": "territorial.evaluation.schedule",
    "SeatEnv": "territorial.envs.gymnasium",
    "SeatVectorEnv": "territorial.envs.gymnasium",
    "TerritorialEnv": "territorial.envs.pettingzoo",
    "TerritorialVec": "territorial.envs.vector",
    "VecGame": "territorial.engine.vec_game",
    "WhatIf": "territorial.evaluation.what_if",
    "env": "territorial.envs.pettingzoo",
    "evaluate": "territorial.evaluation.evaluate",
    "make_vec": "territorial.envs.vector",
    "match": "territorial.evaluation.match",
    "parallel_env": "territorial.envs.pettingzoo",
    "what_if": "territorial.evaluation.what_if",
}

__getattr__, __dir__ = lazily(__name__, __all__, _HOMES, PUBLIC_PACKAGES)
