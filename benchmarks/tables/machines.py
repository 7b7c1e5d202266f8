"""On what the figures of a table were measured: one machine, and it is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MixedMachinesError(ValueError):
    """The results of one table come from several machines, whose figures cannot be compared."""


def cpu_of(*results: Mapping[str, Any]) -> str:
    """Return the processor that all ``results`` were measured on; MixedMachinesError if there are several."""
    found = {result["machine"]["cpu"] for result in results}
    if len(found) > 1:
        raise MixedMachinesError(
            f"one table has figures of {' and of '.join(sorted(found))}: measure them again on one"
        )
    (cpu,) = found
    return str(cpu)


def line_about(result: Mapping[str, Any]) -> str:
    """Return the sentence below a table that names its machine."""
    cpu = cpu_of(result)
    return "The machine is not on file." if cpu == "unknown" else f"Measured on {cpu}."
