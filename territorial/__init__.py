"""A fast simulator of a territorial conquest game for multi-agent reinforcement learning."""

import territorial._interrupts  # noqa: F401  # first of all: the rest takes time

# isort: split
from territorial import bots, maps
from territorial.browser.web import show_in_notebooks
from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import RULES_VERSION, __version__
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import LINEUPS, LineUp
from territorial.engine.vec_game import VecGame
from territorial.envs.gymnasium import SeatEnv, SeatVectorEnv
from territorial.envs.pettingzoo import TerritorialEnv, env, parallel_env
from territorial.envs.vector import TerritorialVec, make_vec
from territorial.evaluation.evaluate import Evaluation, evaluate
from territorial.evaluation.match import Ranking, match
from territorial.evaluation.schedule import Scenario
from territorial.observation.layout import OBS_VERSION
from territorial.replay import Recorder, Replay

show_in_notebooks()

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
    "__version__",
    "bots",
    "env",
    "evaluate",
    "make_vec",
    "maps",
    "match",
    "parallel_env",
]

PUBLIC_PACKAGES = ("decode", "league", "render", "replay")
"""Packages to be imported by their own names, beside those in ``__all__``; the docs use them."""


def __dir__() -> list[str]:
    """Return the public names, for tab completion."""
    return sorted((*__all__, *PUBLIC_PACKAGES))
