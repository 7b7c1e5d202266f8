"""Sight: what an agent on a seat is shown of a game, by name, for the page to show to people."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from territorial.actions.encoding import num_flat_actions, owner_of_target
from territorial.constants import NUM_FRACTIONS
from territorial.decode.numpy import NumpyDecoder
from territorial.engine.seats import EXTERNAL
from territorial.engine.vec_game import VecGame
from territorial.game.formulas import are_allies
from territorial.observation.pair_columns import OWN, pair_columns
from territorial.play.mirror import Mirror

KINDS, FIELDS = ("own", "free", "others", "blocked"), ("troops a cell", "attacked")
"""The semantic planes of one frame, as docs/observation.md has them under "Other forms"."""
DIGITS = 3

Look = Callable[[VecGame], dict[str, Any]]


def sight_of(game: VecGame, seat: int) -> Look:
    """Return what shows what an agent on ``seat`` of game 0 of ``game`` observes; ``game`` is not changed.

    Values that JSON has: ``legal``, owner codes of legal targets; ``num_legal`` and ``num_actions``, of
    actions given as one number; ``owners``, the C candidates of "pairs", with the ``fronts`` in cells and
    ``needs`` in troops of each; ``own`` and ``pairs``, rows of a name and its number, or C numbers;
    ``planes``, the pooled planes with ``names``, ``height``, ``width`` and their ``data``, a byte a number,
    base64 each.
    """
    mirror = Mirror(game, [EXTERNAL] * game.config.num_players, is_observed=True)

    def look(game: VecGame) -> dict[str, Any]:
        sizes, needs, is_legal = (pairs[seat] for pairs in game.fronts(0))
        seen = game.pairs([0], [seat])
        is_there = seen.targets[0] > 0
        owners = owner_of_target(seen.targets[0, is_there], seat, game.config.num_players)
        team = game.state.team[0]
        allies = are_allies(seat, np.arange(len(team)), team[seat], team)
        legal = np.flatnonzero(is_legal & ((sizes > 0) | allies))
        return {
            "legal": legal.tolist(),
            "num_legal": 1 + NUM_FRACTIONS * len(legal),
            "num_actions": num_flat_actions(game.config.num_players),
            "owners": owners.tolist(),
            "fronts": sizes[owners].tolist(),
            "needs": needs[owners].tolist(),
            "own": _named(OWN, seen.own[0]),
            "pairs": _named(pair_columns(teams=game.config.teams is not None), seen.pairs[0, is_there].T),
            "planes": _planes(mirror.of(game), seat),
        }

    return look


def _named(columns: Any, numbers: Any) -> list[tuple[str, Any]]:
    rounded = np.round(numbers.astype(np.float64), DIGITS).tolist()
    return [(column.name, number) for column, number in zip(columns, rounded, strict=True)]


def _planes(game: VecGame, seat: int) -> dict[str, Any]:
    seen = game.observations
    pooled = NumpyDecoder(game.layout, game.config).pooled(seen.planes, [seat], seen.players, seen.borders)[0]
    levels = np.round(255 * np.clip(pooled, 0, 1)).astype(np.uint8)
    return {
        "names": (*KINDS, *(("allies",) if game.layout.teams else ()), *FIELDS),
        "height": levels.shape[1],
        "width": levels.shape[2],
        "data": [base64.b64encode(level.tobytes()).decode() for level in levels],
    }
