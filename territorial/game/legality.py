"""What a launch needs and whether it is legal, for one launch and for arrays of them.

docs/rules.md has the rules under "Launches" and, for those that name an ally, under "Donations". Kernels
compile these formulas. From Python they take numbers, or arrays, which broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.config import GameConfig, Params
from territorial.jit.decorators import formula, quotient


@formula
def need_for(size: Any, pool: Any, params: Params | GameConfig) -> Any:
    """Return what a launch at a front of ``size`` cells needs beside the ``pool`` there; 0 for no front."""
    return (size > 0) * need_at_front(size, pool, params)


@formula
def need_at_front(size: Any, pool: Any, params: Params | GameConfig) -> Any:
    """Return the same where there is a front: ``size`` is at least 1."""
    layers = params.layer_cost * size + quotient(size, params.layer_growth_divisor)
    return np.maximum(1, layers - pool)


@formula
def largest_need(troops: Any, params: Params | GameConfig) -> Any:
    """Return the most that a launch of a player with ``troops`` at home may need."""
    return quotient(troops, params.need_divisor)


@formula
def is_legal(need: Any, largest: Any) -> Any:
    """Return whether a launch that needs ``need`` can be made, where it may need ``largest``."""
    return (need > 0) & is_affordable(need, largest)


@formula
def are_allies(p: Any, target: Any, team: Any, team_of_target: Any) -> Any:
    """Return whether ``p`` and ``target`` are two players of one team; neutral land is in team 0."""
    return (p != target) & (team == team_of_target)


@formula
def may_donate(troops: Any, ally_troops: Any, ally_land: Any, params: Params | GameConfig) -> Any:
    """Return whether a player with ``troops`` at home may give to an ally: one that is below its cap.

    Eliminated players have neither troops to give nor land, so that they are at their cap.
    """
    return (troops >= 1) & (ally_troops < params.hard_cap * ally_land)


@formula
def is_affordable(need: Any, largest: Any) -> Any:
    """Return the same where there is a front, so that something is needed."""
    return need <= largest
