"""What launches take from a balance: a tax, and the troops that are sent; for one launch and for arrays.

docs/rules.md has the rule under "Launches". Kernels compile these formulas. From Python they take numbers, or
arrays, which broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.config import GameConfig, Params
from territorial.constants import FRACTION_UNIT
from territorial.jit.decorators import formula


@formula
def tax_on(troops: Any, params: Params | GameConfig) -> Any:
    """Return what a launch of a player with ``troops`` at home destroys."""
    return params.launch_tax * troops // FRACTION_UNIT


@formula
def wanted_of(troops: Any, fraction: Any) -> Any:
    """Return what ``fraction`` 1024ths of ``troops`` come to."""
    return fraction * troops // FRACTION_UNIT


@formula
def fraction_for(amount: Any, troops: Any) -> Any:
    """Return the fewest 1024ths of ``troops`` that come to ``amount``; from 1 to all of them."""
    return np.maximum(1, np.minimum((amount * FRACTION_UNIT + troops - 1) // troops, FRACTION_UNIT))


@formula
def amount_sent(wanted: Any, least: Any, troops: Any, params: Params | GameConfig) -> Any:
    """Return what a launch sends: ``wanted``, or ``least`` if that is more, as far as the tax leaves it."""
    return np.minimum(troops - tax_on(troops, params), np.maximum(wanted, least))
