"""Hatchling hook that puts the machine code into a wheel.

The variable ``TERRITORIAL_WHEEL`` names the system, such as "linux-x86_64"; ``maintainers/wheels.py`` sets
it. Without it the wheel is for every system, and numba compiles the kernels there. The library of pages is in
all of them.
"""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINE_CODE, TABLE, OF_PAGES = "territorial/jit/machine_code", "kernels.json", "web.wasm"
VARIABLE = "TERRITORIAL_WHEEL"


class MachineCode(BuildHookInterface):  # type: ignore[type-arg]
    """The hook."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the libraries of the system, and a table that names these alone."""
        self._written = TemporaryDirectory()
        if version == "editable":
            return
        system, platforms = os.environ.get(VARIABLE, ""), self.config["platforms"]
        folder = Path(self.root, MACHINE_CODE)
        table = json.loads((folder / TABLE).read_text()) if (folder / TABLE).exists() else {"libraries": {}}
        wanted = (OF_PAGES, system or OF_PAGES)
        libraries = {name: one for name, one in table["libraries"].items() if name.startswith(wanted)}
        if system and (system not in platforms or not libraries.keys() - {OF_PAGES}):
            raise ValueError(
                f"{VARIABLE} must be one of {', '.join(platforms)}, with a library in {folder} by "
                f"`python maintainers/machine_code.py`; got {system!r}"
            )
        if not libraries:  # of a checkout in which none has been made
            return
        own_table = Path(self._written.name, TABLE)
        own_table.write_text(json.dumps(table | {"libraries": libraries}) + "\n")
        if system:
            build_data["tag"], build_data["pure_python"] = f"py3-none-{platforms[system]}", False
        build_data["force_include"] |= {
            str(path): f"{MACHINE_CODE}/{path.name}" for path in (own_table, *map(folder.joinpath, libraries))
        }

    def finalize(self, _version: str, _build_data: dict[str, Any], _wheel: str) -> None:
        """Delete the table that was written for the wheel."""
        self._written.cleanup()
