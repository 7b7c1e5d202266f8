"""Names of agents and of modules: a name always says which module acts, as RLlib's episodes remember it."""

from __future__ import annotations

from typing import Any

MAIN, POOL = "main", "pool"
"""The modules: the one that learns by default, and the one that plays all frozen seats."""

AGENT_PREFIX, FROZEN_PREFIX = "player_", "frozen_"


def learner_name(player: str, i: int) -> str:
    """Return the agent that plays seat ``i``, 0.., for ``trainable:PLAYER``.

    It is ``player_i`` for "main", and ``PLAYER:player_i`` for all others.
    """
    return f"{AGENT_PREFIX}{i}" if player == MAIN else f"{player}:{AGENT_PREFIX}{i}"


def frozen_name(i: int) -> str:
    """Return the agent that plays seat ``i``, 0.., for whatever snapshot is drawn."""
    return f"{FROZEN_PREFIX}{i}"


def module_of(agent_id: str, episode: Any = None, **_: Any) -> str:
    """Return which module acts for an agent; this is RLlib's mapping function."""
    player, _colon, seat = agent_id.rpartition(":")
    return player or (POOL if seat.startswith(FROZEN_PREFIX) else MAIN)
