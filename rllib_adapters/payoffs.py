"""The payoff table of an iteration: who came in above whom in the games that ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS

from territorial.league import Payoffs

PAYOFFS = "payoffs"
"""The metric of batched runners: a list of ``Payoffs``, one a sample."""


def collected(result: Mapping[str, Any]) -> Payoffs:
    """Return what the batched runners saw in the iteration ``result``, or in ``result["evaluation"]``.

    The table is empty if no game ended, and for the stock runner, which keeps none.
    """
    table = Payoffs()
    parts = result.get(ENV_RUNNER_RESULTS, {}).get(PAYOFFS, ())
    for part in parts if isinstance(parts, (list, tuple)) else ():
        table.add(part)
    return table
