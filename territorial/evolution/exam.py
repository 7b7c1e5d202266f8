"""How strong a style is, on maps and seeds that its evolution had not: in fields of bots that are dealt anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from territorial.bots.style import Style
from territorial.config import GameConfig
from territorial.evaluation.play import play_games
from territorial.evaluation.pool import Play
from territorial.evaluation.schedule import Fixture
from territorial.evaluation.statistics import Estimate, mean_of, wilson
