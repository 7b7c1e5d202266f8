#!/usr/bin/env python3
"""Checks the contents and sizes of wheels.

    python maintainers/wheel_contents.py                 the wheel below `build/checks`
    python maintainers/wheel_contents.py dist/*.whl

A wheel for one system has machine code for it, in libraries that give the kernels and ask for nothing.
"""

import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import lief
from environments import ROOT, built_wheel

LARGEST = 4 * 10**6
"""Bytes of a wheel at most."""
MACHINE_CODE, TABLE, OF_PAGES = "territorial/jit/machine_code/", "kernels.json", "web.wasm"
IMPORTS = 2
"""The number of the section of WebAssembly in which a library says what it asks for."""
OF_ZIG = {"__dso_handle", "_mh_dylib_header"}
"""What Zig's linker puts into each library for macOS."""
FORMATS = {"linux": "ELF", "darwin": "MACHO", "win32": "PE"}


def faults_of(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, for people."""
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    home = re.compile(r"(territorial|rllib_adapters|territorial_env-[^/]*\.dist-info)/")
    litter = re.compile(r"__pycache__|\.py[co]$|\.nb[ci]$|(^|/)tests?/|(^|/)\.")
    wanted = {
        f"{package}/{name}"
        for package in ("territorial", "rllib_adapters")
        for name in ("__init__.py", "py.typed")
    }
    wanted |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "territorial/browser/page").iterdir()}
    made = {name.removeprefix(MACHINE_CODE): archive.read(name) for name in names if MACHINE_CODE in name}
    return [
        *(f"{name} is too much" for name in names if not home.match(name) or litter.search(name)),
        *(f"{name} is missing" for name in sorted(wanted - set(names))),
        *["the licence is missing"] * (not any(name.endswith("licenses/LICENSE") for name in names)),
        *[f"{wheel.stat().st_size:,} bytes are over {LARGEST:,}"] * (wheel.stat().st_size > LARGEST),
        *machine_code_faults(wheel.stem.split("-")[-1], made),
    ]


def machine_code_faults(platform: str, made: dict[str, bytes]) -> list[str]:
    """Return what is wrong with the machine code in a wheel for a platform, given its files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    platforms = project["targets"]["wheel"]["hooks"]["custom"]["platforms"]
    system = next((system for system, name in platforms.items() if name == platform), None)
    table = json.loads(made.pop(TABLE, b'{"libraries": {}}'))
    if made.keys() != table["libraries"].keys():
        return [f"{sorted(made)} are not {sorted(table['libraries'])}, which {TABLE} names"]
    if OF_PAGES not in made or IMPORTS in wasm_sections(made.pop(OF_PAGES)):
        return [f"{OF_PAGES} is missing, or asks for something"]
    if system is None or not made:
        missing = [f"there is no library for {system}"] * (system is not None)
        return missing + [f"{name} is not for {platform}" for name in made]
    return [
        f"{name} {fault}"
        for name, content in made.items()
        for fault in library_faults(system, content, table["kernels"])
    ]


def wasm_sections(content: bytes) -> list[int]:
    """Return the numbers of the sections of WebAssembly, which stand behind eight bytes."""
    place, found = 8, []
    while place < len(content):
        found.append(content[place])
        size = shift = 0
        while True:  # LEB128
            place += 1
            size |= (content[place] & 127) << shift
            shift += 7
            if content[place] < 128:
                break
        place += 1 + size
    return found


def library_faults(system: str, content: bytes, of_files: dict[str, Any]) -> list[str]:
    """Return what is wrong with a library for a system, which has to give the kernels of a table."""
    lief.logging.disable()  # of what it expected in files that are fine
    name, processor = system.split("-")
    library: Any = lief.parse(content)
    form, kind = FORMATS[name], library.abstract.header.architecture.name
    exported = {one.name.removeprefix("_" * (form == "MACHO")) for one in library.exported_functions} - OF_ZIG
    kernels = [kernel for one in of_files.values() for kernel in one["kernels"].values()]
    symbols = [form["symbol"] for kernel in kernels for form in kernel["forms"]]
    wanted = {*symbols, *(f"{one}_code" for one in symbols), *(kernel["symbol"] for kernel in kernels)}
    asked = [one.name for one in library.imported_functions]
    asked += [] if form == "MACHO" else list(map(str, library.libraries))  # each names that of the system
    faults = [f"asks for {asked}"] * bool(asked)
    faults += [f"does not give {sorted(wanted - exported)}"] * bool(wanted - exported)
    faults += [f"gives {sorted(exported - wanted)}"] * bool(exported - wanted)
    if (library.format.name, kind) != (form, processor.upper()):
        faults.append(f"is {library.format.name} for {kind}")
    if system == "darwin-arm64" and not library.has_code_signature:
        faults.append("is not signed")
    return faults


def main() -> None:
    """Print how large the wheels are; raise SystemExit where one is not what it should be."""
    for wheel in [*map(Path, sys.argv[1:])] or [built_wheel()]:
        if faults := faults_of(wheel):
            raise SystemExit("\n".join([f"{wheel.name}:", *faults]))
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes, nothing missing, nothing unwanted")


if __name__ == "__main__":
    main()
