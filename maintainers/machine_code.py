#!/usr/bin/env python3
"""Makes the machine code of all kernels ahead of time, as a library for each level of processors.

    python maintainers/machine_code.py linux-x86_64-v3
    python maintainers/machine_code.py linux-x86_64-v2 linux-x86_64-v3 linux-x86_64-v4

A walk through the package (``machine_code_tour.py``) shows with which arguments it calls its kernels. Numba
compiles these for no processor in particular, up to where LLVM begins to optimise. From there LLVM makes an
object of each kernel for each target, and lld links the objects. The libraries lie in
``territorial/jit/machine_code``, beside the table of what is in them. It takes two minutes, and needs
ziglang, which contains lld.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from machine_code_calls import Form, caller

ROOT = Path(__file__).resolve().parents[1]
NO_PROCESSOR = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_DISABLE_INTEL_SVML": "1",
    "TERRITORIAL_MACHINE_CODE": "numba",
    "PYTHONHASHSEED": "0",
}
"""Variables with which numba compiles the same on every machine."""


class Target(NamedTuple):
    """What objects are made for."""

    triple: str
    processor: str
    features: str = ""


X86_64 = "x86_64-unknown-linux-gnu"
TARGETS = {
    "linux-x86_64-v2": Target(X86_64, "x86-64-v2"),
    "linux-x86_64-v3": Target(X86_64, "x86-64-v3"),
    # With the registers of 512 bits, which LLVM leaves out for the sake of code that uses few of them.
    "linux-x86_64-v4": Target(X86_64, "x86-64-v4", "-prefer-256-bit"),
}


class Compiled(NamedTuple):
    """A kernel for arguments of one signature, as LLVM is to optimise it."""

    file: str
    name: str
    gives: str
    form: Form
    module: bytes


def compiled_kernels() -> list[Compiled]:
    """Return all kernels, in each form that the walk calls; in this process numba compiles them."""
    import machine_code_tour
    import numba
    from numba.core.codegen import JITCodeLibrary

    from territorial.jit import decorators
    from territorial.jit.arguments import take_apart
    from territorial.jit.library import PACKAGE

    called: dict[Any, Any] = {}
    modules: dict[int, Any] = {}
    optimise = JITCodeLibrary._optimize_final_module

    def find(kernel: Any, arguments: tuple[Any, ...]) -> tuple[None, list[int]]:
        signature: list[int | str] = []
        take_apart(arguments, signature, [])
        called.setdefault((kernel, tuple(signature)), tuple(map(numba.typeof, arguments)))
        return None, []

    def keep(library: Any) -> None:
        modules[id(library)] = library, library._final_module.as_bitcode()
        optimise(library)

    JITCodeLibrary._optimize_final_module, decorators.Kernel.find = keep, find
    machine_code_tour.walk()
    in_order = sorted(called, key=lambda one: (one[0].__module__, one[0].__name__, repr(one[1])))
    kernels = []
    for kernel, signature in in_order:
        code = kernel.dispatcher.overloads[called[kernel, signature]]
        file = Path(kernel.py_func.__code__.co_filename).relative_to(PACKAGE).as_posix()
        symbol, gives = f"k{len(kernels)}", str(code.signature.return_type)
        form = Form(symbol, argument_types(code), signature)
        module = exported(modules[id(code.library)][1], code, form)
        kernels.append(Compiled(file, kernel.__name__, gives, form, module))
    return kernels


def argument_types(code: Any) -> list[str]:
    """Return the types that a kernel takes its arguments as, behind where it writes its result and errors."""
    from llvmlite import ir
    from numba.core.registry import cpu_target

    convention = cpu_target.target_context.call_conv
    found = convention.get_function_type(code.signature.return_type, code.signature.args).args[2:]
    return ["ptr" if isinstance(kind, ir.PointerType) else str(kind) for kind in found]


def exported(module: bytes, code: Any, form: Form) -> bytes:
    """Return the module of a kernel with two functions and no more that others can call.

    That named by the symbol takes its arguments as words of 64 bits, behind which it writes the result; the
    other takes them as numba passes them.
    """
    import llvmlite.binding as llvm

    count, inner = len(form.kinds), form.code
    lines = [f"declare i32 @{inner}({', '.join(['ptr', 'ptr', *form.kinds])})"]
    lines += [f"define i32 @{form.symbol}(ptr %words) {{"]
    for i in range(count + 2):
        lines.append(f"%p{i} = getelementptr i64, ptr %words, i64 {i}")
    lines += [f"%a{i} = load {kind}, ptr %p{i}, align 8" for i, kind in enumerate(form.kinds)]
    given = ", ".join(
        [f"ptr %p{count}", f"ptr %p{count + 1}", *(f"{k} %a{i}" for i, k in enumerate(form.kinds))]
    )
    lines += [f"%status = call i32 @{inner}({given})", "ret i32 %status", "}"]
    linked = llvm.parse_bitcode(module)
    linked.get_function(code.fndesc.llvm_func_name).name = inner
    linked.link_in(llvm.parse_assembly("\n".join(lines)))
    for one in [*linked.functions, *linked.global_variables]:
        if not one.is_declaration:
            is_called = one.name in (form.symbol, inner)
            one.linkage = llvm.Linkage.external if is_called else llvm.Linkage.internal
    return bytes(linked.as_bitcode())


def callers_of(kernels: list[Compiled]) -> dict[tuple[str, str, str], list[Form]]:
    """Return the forms of each kernel, by its file, name and result."""
    found: dict[tuple[str, str, str], list[Form]] = {}
    for one in kernels:
        found.setdefault((one.file, one.name, one.gives), []).append(one.form)
    return found


def make_library(target: Target, kernels: list[Compiled], path: Path) -> None:
    """Optimise all kernels for a target as numba does, and link them."""
    import llvmlite.binding as llvm
    from numba.core.registry import cpu_target

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.processor, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
    codegen = cpu_target.target_context.codegen()
    codegen._tm = machine  # of which its passes ask what instructions cost
    cheap: dict[str, Any] = {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}
    modules = {kernel.form.symbol: llvm.parse_bitcode(kernel.module) for kernel in kernels}
    for (_, name, _), forms in callers_of(kernels).items():
        modules[name] = llvm.parse_assembly(caller(name, forms))
    with tempfile.TemporaryDirectory() as folder:
        objects = [Path(folder, f"{symbol}.o") for symbol in modules]
        for module, file in zip(modules.values(), objects, strict=True):
            module.triple, module.data_layout = target.triple, str(machine.target_data)
            for options in (cheap, {}):
                manager, builder = codegen._module_pass_manager(**options)
                manager.run(module, builder)
            module.verify()
            file.write_bytes(machine.emit_object(module))
        options = ["-shared", "--gc-sections", "--strip-all", "--build-id=none"]
        lld = [sys.executable, "-m", "ziglang", "ld.lld", *options, "-o"]
        subprocess.run([*lld, str(path), *map(str, objects)], check=True)


def table_of(kernels: list[Compiled], libraries: list[Path]) -> dict[str, Any]:
    """Return what ``territorial.jit.library`` reads: which kernels the libraries have, made from what."""
    from territorial.constants import __version__
    from territorial.jit.library import PACKAGE
    from territorial.jit.sources import SOURCES

    files: dict[str, Any] = {}
    for (file, name, gives), forms in callers_of(kernels).items():
        sources = SOURCES.digest(str(PACKAGE / file))
        of_file = files.setdefault(file, {"sources": sources, "kernels": {}})
        found = [{"symbol": form.symbol, "takes": form.takes} for form in forms]
        of_file["kernels"][name] = {"symbol": name, "gives": gives, "forms": found}
    digests = {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in libraries
    }
    return {"version": __version__, "libraries": digests, "kernels": files}


def main(names: list[str]) -> None:
    """Make the libraries of these targets, in a process that compiles for no processor in particular."""
    if not NO_PROCESSOR.items() <= os.environ.items():
        with tempfile.TemporaryDirectory() as cache:
            variables = os.environ | NO_PROCESSOR | {"NUMBA_CACHE_DIR": cache}
            raise SystemExit(subprocess.run([sys.executable, __file__, *names], env=variables).returncode)
    from territorial.jit.library import FOLDER, TABLE

    began = time.perf_counter()
    kernels = compiled_kernels()
    print(f"{len(kernels)} kernels compiled, {time.perf_counter() - began:.0f} s", flush=True)
    FOLDER.mkdir(exist_ok=True)
    libraries = [FOLDER / f"{name}.so" for name in names]
    for name, path in zip(names, libraries, strict=True):
        make_library(TARGETS[name], kernels, path)
        print(f"{path.name}: {path.stat().st_size:,} bytes, {time.perf_counter() - began:.0f} s", flush=True)
    (FOLDER / TABLE).write_text(json.dumps(table_of(kernels, libraries), indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="+", choices=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    main(parser.parse_args().targets)
