"""Playing the environment at random."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial import TerritorialEnv, parallel_env
from territorial.bots import HOLD_ALL
from territorial.envs.options import CHOICES
from tests.bots.support import python_bot

SMALL = {"height": 24, "width": 24, "num_players": 4}
FORMATS = CHOICES["action_format"]
# Every form of observations with two formats of actions, and every format with two forms at least.
OBS_AND_FORMATS = [
    (obs, FORMATS[(i + j) % len(FORMATS)]) for i, obs in enumerate(CHOICES["obs"]) for j in (0, 2)
]


# A bot in Python that does nothing; a step of several decisions is several calls with it.
SLEEPER = python_bot(lambda view: (HOLD_ALL, 1), "sleeper", 10)


def small_env(**changes: Any) -> TerritorialEnv:
    """A game for four on 24 x 24 cells, which is over in some hundred steps."""
    return parallel_env(**(SMALL | {"max_ticks": 1500} | changes))


def random_actions(
    observations: dict[str, Any], agents: list[str], rng: np.random.Generator
) -> dict[str, int]:
    """Legal launches three times in ten, else holding."""
    actions = {}
    for agent in agents:
        legal = np.flatnonzero(observations[agent]["action_mask"])
        actions[agent] = int(rng.choice(legal)) if rng.random() < 0.3 else 0
    return actions


def legal_choices(masks: npt.NDArray[Any], rng: np.random.Generator, holds: float = 0) -> npt.NDArray[Any]:
    """A legal action for each of the masks, by chance, of which a part ``holds``."""
    drawn = np.where(masks == 1, rng.random(masks.shape), -1).argmax(-1)
    return np.where(rng.random(drawn.shape) < holds, 0, drawn)


def play(env: TerritorialEnv, observations: dict[str, Any], rng_seed: int) -> Iterator[tuple[Any, ...]]:
    """Play to the end; yield (actions, *what step returned) of every step."""
    rng = np.random.default_rng(rng_seed)
    while env.agents:
        actions = random_actions(observations, env.agents, rng)
        results = env.step(actions)
        observations = results[0]
        yield actions, *results
