"""Hatchling hook that puts the machine code into a wheel.

The variable ``TERRITORIAL_WHEEL`` names the system, such as "linux-x86_64"; ``maintainers/wheels.py`` sets
it. Without it the wheel is for every system, and numba compiles the kernels there.
"""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINE_CODE, TABLE = "territorial/jit/machine_code", "kernels.json"
VARIABLE = "TERRITORIAL_WHEEL"


class MachineCode(BuildHookInterface):  # type: ignore[type-arg]
    """The hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries of the system, and a table that names these alone."""
        system = os.environ.get(VARIABLE, "")
        if not system or version == "editable":
            return
        platforms = self.config["platforms"]
        folder = Path(self.root, MACHINE_CODE)
        table = json.loads((folder / TABLE).read_text()) if (folder / TABLE).exists() else {"libraries": {}}
        libraries = {name: one for name, one in table["libraries"].items() if name.startswith(system)}
        if system not in platforms or not libraries:
            raise ValueError(
                f"{VARIABLE} must be one of {', '.join(platforms)}, with a library in {folder} by "
                f"`python maintainers/machine_code.py`; got {system!r}"
            )
        self._written = TemporaryDirectory()
        own_table = Path(self._written.name, TABLE)
        own_table.write_text(json.dumps(table | {"libraries": libraries}) + "\n")
        build_data["tag"], build_data["pure_python"] = f"py3-none-{platforms[system]}", False
        build_data["force_include"] |= {
            str(path): f"{MACHINE_CODE}/{path.name}" for path in (own_table, *map(folder.joinpath, libraries))
        }

    def finalize(self, _version: str, build_data: dict[str, Any], _wheel: str) -> None:
        """Delete the table that was written for the wheel."""
        if not build_data["pure_python"]:
            self._written.cleanup()
