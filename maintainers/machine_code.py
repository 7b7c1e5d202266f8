#!/usr/bin/env python3
"""Makes the machine code of all kernels ahead of time, for the wheels of every system.

    python maintainers/machine_code.py                    for this system and processor
    python maintainers/machine_code.py linux-arm64 ...    for others, by the names in TARGETS
    python maintainers/machine_code.py all                for all of them

A tour through the package shows with which arguments it calls its kernels. Numba compiles these for no processor
in particular, up to the point where LLVM begins to optimise; from there LLVM makes an object for each target, and
lld links the objects. Libraries need nothing but themselves. They lie in ``territorial/jit/machine_code``, beside
the table of what is in them; the same sources, numba and llvmlite give the same bytes.

Needs ziglang, which contains lld.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
NO_PROCESSOR = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "TERRITORIAL_MACHINE_CODE": "numba",
}


class Target(NamedTuple):
    """What objects are made for, and how they are linked."""

    triple: str
    cpu: str
    suffix: str
    features: str = ""


X86 = {"v2": "", "v3": "", "v4": "-prefer-256-bit"}
TARGETS = {
    f"linux-x86_64-{level}": Target("x86_64-unknown-linux-gnu", f"x86-64-{level}", ".so", more)
    for level, more in X86.items()
} | {"linux-arm64": Target("aarch64-unknown-linux-gnu", "generic", ".so")}


def main(names: list[str]) -> None:
    if not set(NO_PROCESSOR.items()) <= set(os.environ.items()):
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | NO_PROCESSOR | {"NUMBA_CACHE_DIR": cache, "PYTHONHASHSEED": "0"}
            sys.exit(subprocess.run([sys.executable, __file__, *names], env=environment).returncode)
    from territorial.jit.library import FOLDER, TABLE
    import machine_code_tour as tour

    began = time.perf_counter()
    kernels = tour.compiled()
    print(f"{len(kernels)} kernels compiled, {time.perf_counter() - began:.0f} s", flush=True)
    FOLDER.mkdir(exist_ok=True)
    libraries = {}
    for name in names:
        target = TARGETS[name]
        path = FOLDER / f"{name}{target.suffix}"
        link(target, kernels, path)
        libraries[path.name] = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        print(f"{path.name}: {path.stat().st_size:,} bytes, {time.perf_counter() - began:.0f} s", flush=True)
    (FOLDER / TABLE).write_text(json.dumps(tour.table(kernels, libraries), indent=1) + "\n")


def link(target: Target, kernels: list[Any], path: Path) -> None:
    """Make a library."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    codegen = cpu_target.target_context.codegen()
    codegen._tm = machine
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for number, text in [*[(k.symbol, k.module) for k in kernels]]:
            module = llvm.parse_bitcode(text)
            module.triple, module.data_layout = target.triple, str(machine.target_data)
            for passes in (dict(loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"), {}):
                manager, builder = codegen._module_pass_manager(**passes)
                manager.run(module, builder)
            module.verify()
            file = Path(folder, f"{number}.o")
            file.write_bytes(machine.emit_object(module))
            objects.append(str(file))
        command = [
            "ld.lld",
            "-shared",
            "--gc-sections",
            "--strip-all",
            "--build-id=none",
            "-o",
            str(path),
            *objects,
        ]
        subprocess.run([sys.executable, "-m", "ziglang", *command], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
