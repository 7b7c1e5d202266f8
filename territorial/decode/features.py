"""Feature vectors: the tables of a game, rotated to each agent and scaled, with one gather."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import ego_owners
from territorial.config import GameConfig
from territorial.decode.layout import (
    REVERSE,
    ROUNDING,
    columns_of,
    feature_names,
    limits,
    per_number,
    scales,
)
from territorial.files.arrays import WritableArrays
from territorial.typing import Floats32


class FeatureDecoder(WritableArrays):
    """Turns the tables of a game into one feature vector per agent, each as that agent sees it.

    Args:
        config: of the game.
        seats: the seats, 1..P, to decode for, A of them; None: all, in order.

    The vector of a seat, float32 (N,), every number scaled to about 0..1 (see ``Column.scale``):

    ========  ===============  ====================================================================
    part      length           content
    ========  ===============  ====================================================================
    globals   G                the columns of ``observation.layout.GLOBALS``
    players   P * C            all columns of ``observation.layout.PLAYERS`` for each player in ego order:
                               the agent itself, then the seats that follow its own
    borders   (P + 1) * (B+4)  for neutral land, then each player in ego order: all columns of
                               ``observation.layout.BORDERS`` from the agent to that owner, then front,
                               pool, log_pool and taken from that owner to the agent
    ========  ===============  ====================================================================

    ``names`` lists all N features by name. What points from neutral land to a player or from the agent to
    itself is always 0; it stays in, so that the borders are a regular (P+1, 10) table. In games with teams
    players and borders have one more column each, ``team`` and ``ally``.

    """

    def __init__(self, config: GameConfig, seats: Sequence[int] | None = None) -> None:
        players = config.num_players
        chosen = range(1, players + 1) if seats is None else seats
        for seat in chosen:
            if not 1 <= seat <= players:
                raise ValueError(f"seats has {seat}; this game has the seats 1 to {players}")
        self.names = feature_names(config)
        self.index = _gather_index(config, np.array(list(chosen), np.intp))
        """intp (A, N): where in ``state`` each feature of each seat decoded for lies."""
        self.scale: Floats32 = per_number(scales(config), config).astype(np.float32)
        """float32 (S,): the factors of the numbers of ``state``."""
        self.reverse = np.array(REVERSE, np.int64)
        """int64: the columns of borders that are given in both directions."""
        exact = per_number(scales(config), config) * per_number(limits(config), config)
        self.state_high: Floats32 = (exact * (1 + ROUNDING)).astype(np.float32)
        """float32 (S,): what the numbers of ``state`` cannot exceed; the least of all is 0."""
        # Every seat's vector has the same columns in the same places.
        of_one = _gather_index(config, np.ones(1, np.intp))[0]
        self.feature_scale: Floats32 = self.scale[of_one]
        """float32 (N,): the factors of the features."""
        self.high: Floats32 = self.state_high[of_one]
        """float32 (N,): what the features cannot exceed; the least of all is 0."""

    @property
    def num_features(self) -> int:
        """N, the length of a feature vector."""
        return len(self.names)

    def state(self, players: Floats32, borders: Floats32, globals_: Floats32) -> Floats32:
        """Return a new float32 (..., S): the tables end to end and scaled, in absolute seat order.

        Arguments: as for calling the decoder. ``layout.state_names`` lists the numbers.
        """
        lead = globals_.shape[:-1]
        flat = np.concatenate([globals_, players.reshape(*lead, -1), borders.reshape(*lead, -1)], axis=-1)
        flat *= self.scale
        return flat

    def __call__(self, players: Floats32, borders: Floats32, globals_: Floats32) -> Floats32:
        """Return a new float32 (..., A, N): the feature vectors of all seats decoded for.

        ``players``: float32 (..., P, columns); ``borders``: (..., columns, P+1, P+1); ``globals_``:
        (..., columns): one game, or a batch of games as ``VecGame`` returns it.
        """
        features: Floats32 = self.state(players, borders, globals_).take(self.index, axis=-1)
        return features


def _gather_index(config: GameConfig, seats: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return where in the tables, laid end to end, each feature of each seat lies: (A, N)."""
    num_players = config.num_players
    num_globals, num_of_player, num_of_pair = (
        len(columns_of(config)[table]) for table in ("globals", "players", "borders")
    )
    ego = ego_owners(num_players)[seats - 1]  # (A, P+1), neutral land first
    me = seats[:, None, None]
    width = num_players + 1
    first_border = num_globals + num_players * num_of_player

    def borders(columns: Sequence[int], p: Any, t: Any) -> npt.NDArray[np.intp]:
        start = first_border + np.array(columns, np.intp) * width * width
        pairs: npt.NDArray[np.intp] = start + p * width + t
        return pairs

    shared = np.broadcast_to(np.arange(num_globals), (len(seats), num_globals))
    players = num_globals + (ego[:, 1:, None] - 1) * num_of_player + np.arange(num_of_player)
    there = borders(range(num_of_pair), me, ego[:, :, None])
    back = borders(REVERSE, ego[:, :, None], me)
    pairs = np.concatenate([there, back], axis=-1)
    parts = [shared, players.reshape(len(seats), -1), pairs.reshape(len(seats), -1)]
    return np.concatenate(parts, axis=1).astype(np.intp)
