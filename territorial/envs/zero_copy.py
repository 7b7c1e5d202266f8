"""What ``zero_copy`` returns: read-only views of the engine's memory, made once and not in every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine.vec_game import VecGame
from territorial.envs.infos import agent_info, counts_of, write_places
from territorial.typing import Arrays


class EngineViews:
    """Observations and infos of a batch whose agents, ``seats`` (E, A), keep their seats.

    ``observation``: arrays that are made read-only here, and show at any time how the games stand.
    """

    def __init__(self, game: VecGame, observation: Arrays, seats: npt.NDArray[np.int64]) -> None:
        self.observation = observation
        self._game, self._seats = game, seats
        self._are_all = seats.shape[1] == game.config.num_players
        state = game.state
        ticks = np.broadcast_to(state.tick[:, None], seats.shape)
        counts = counts_of(game.config)
        self._counts = {name: getattr(state, field)[:, 1:] for name, field in counts.items()}
        self._counts |= {"place": ticks, "tick": ticks}  # place keeps its place here
        for array in (*observation.values(), *self._counts.values()):
            array.flags.writeable = False

    def info(self) -> dict[str, npt.NDArray[Any]]:
        """Return what ``agent_info`` would, views where all seats are agents; places are new at any time."""
        if not self._are_all:
            return agent_info(self._game, self._seats)
        places = np.empty(self._seats.shape)
        write_places(self._game.blocks.players, self._seats, places)
        return self._counts | {"place": places}
