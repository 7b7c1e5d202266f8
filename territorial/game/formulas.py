"""Formulas of launches and the counter RNG, for numbers and arrays.

docs/rules.md has the rules under "Launches" and, for those that name an ally, under "Donations". Kernels
compile these formulas. From Python they take numbers, or arrays, which broadcast.
"""

from typing import Any

import numpy as np

from territorial.config import GameConfig, Params
from territorial.config.draws import mix as mix_words
from territorial.constants import FRACTION_UNIT
from territorial.jit.decorators import formula, int64, njit, quotient

# ---- what a launch needs, and whether it is legal --------------------------------------------------


@formula
def need_for(size: Any, pool: Any, params: Params | GameConfig) -> Any:
    """Return the troops that a launch at ``size`` cells needs beside the ``pool``; 0 for no front."""
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


# ---- what a launch takes from a balance: a tax, and the troops that are sent -----------------------


@formula
def tax_on(troops: Any, params: Params | GameConfig) -> Any:
    """Return the troops that a launch of a player with ``troops`` at home destroys."""
    return params.launch_tax * troops // FRACTION_UNIT


@formula
def wanted_of(troops: Any, fraction: Any) -> Any:
    """Return ``fraction`` 1024ths of ``troops``."""
    return fraction * troops // FRACTION_UNIT


@formula
def fraction_for(amount: Any, troops: Any) -> Any:
    """Return the fewest 1024ths of ``troops`` that come to ``amount``; from 1 to all of them."""
    return np.maximum(1, np.minimum((amount * FRACTION_UNIT + troops - 1) // troops, FRACTION_UNIT))


@formula
def amount_sent(wanted: Any, least: Any, troops: Any, params: Params | GameConfig) -> Any:
    """Return the troops of a launch: the larger of ``wanted`` and ``least``, as far as the tax leaves it."""
    return np.minimum(troops - tax_on(troops, params), np.maximum(wanted, least))


# ---- the counter RNG: a number is a pure function of (seed, stream, tick, index) -------------------


mix = formula(mix_words)
"""The mixed word of one: kernels compile what numpy computes for arrays."""


@formula
def draw(seed: Any, stream: int, tick: Any, index: Any) -> Any:
    """Return H(seed, stream, tick, index): 64 random bits as uint64; ``stream``s are in constants."""
    z = mix(mix(seed) ^ np.uint64(stream))
    return mix(mix(z ^ np.uint64(tick)) ^ np.uint64(index))


@njit
def draw_below(bound: int, seed: Any, stream: int, tick: int, index: int) -> int:
    """Return a whole number from 0 to ``bound`` - 1 (bias below bound / 2**64), as int64."""
    return int64(draw(seed, stream, tick, index) % np.uint64(bound))


@njit
def sort_by_key(items: Any, keys: Any, count: int) -> None:
    """Sort the first ``count`` ``items`` by rising key: insertion sort, as there are few."""
    for i in range(1, count):
        item, key = items[i], keys[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            items[j + 1], keys[j + 1] = items[j], keys[j]
            j -= 1
        items[j + 1], keys[j + 1] = item, key
