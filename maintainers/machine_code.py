#!/usr/bin/env python3
"""Makes libraries of all kernels ahead of time, per processor level.

    python maintainers/machine_code.py native             for the processor at hand
    python maintainers/machine_code.py linux-x86_64-v3 linux-arm64
    python maintainers/machine_code.py native web         and the library of pages that play by themselves
    python maintainers/machine_code.py all                for wheels of all systems: maintainers/wheels.py

A walk through the package (``machine_code_tour.py``) shows with which arguments it calls its kernels. Numba
compiles these for no processor in particular, up to where LLVM begins to optimise. From there LLVM makes an
object of each kernel for each target, and a linker makes a library of the objects, which names nothing of the
system. The libraries lie in ``territorial/jit/machine_code``, beside the table of what is in them. Other
libraries there are deleted. One library takes two minutes. ziglang has linkers for all systems; to link for
Windows, whose assembly LLVM has to read, this must run on a processor of x86-64.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from machine_code_calls import Form, caller
from machine_code_of_macos import without_binder

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
    """What objects are made for, the command that links them, and the kernels; (): all."""

    triple: str
    processor: str
    link: tuple[str, ...]
    features: str = ""
    kernels: tuple[str, ...] = ()


# Linkers, and options before the name of the library.
ELF = ("ld.lld", "-shared", "--gc-sections", "--strip-all", "--build-id=none", "--no-undefined", "-o")
DLL = ("lld-link", "/dll", "/noentry", "/nodefaultlib", "/noimplib", "/brepro", "/opt:ref", "/out:")
MACH = ("cc", "-shared", "-nostdlib", "-s", "-Wl,-dead_strip", "-Wl,-install_name,territorial", "-target")
WASM = ("wasm-ld", "-mwasm64", "--no-entry", "--export-dynamic", "--gc-sections", "--strip-all", "-o")
ARM_MACH, X86_MACH = (*MACH, "aarch64-macos.11.0", "-o"), (*MACH, "x86_64-macos.10.13", "-o")
WIDE = "-prefer-256-bit"
"""With the registers of 512 bits, which LLVM leaves out for the sake of code that uses few of them."""
ICELAKE = f"{WIDE},+avx512bitalg,+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512vpopcntdq"
TO_V3 = (("v2", "x86-64-v2", ""), ("v3", "x86-64-v3", ""))
TO_ICELAKE = (*TO_V3, ("v4", "x86-64-v4", WIDE), ("icelake", "x86-64-v4", ICELAKE))
"""Levels of x86-64, see ``territorial.jit.library``: name, processor and features as LLVM has them."""
TARGETS = {
    **{
        f"linux-x86_64-{level}": Target("x86_64-unknown-linux-gnu", processor, ELF, features)
        for level, processor, features in TO_ICELAKE
    },
    "linux-arm64": Target("aarch64-unknown-linux-gnu", "generic", ELF),
    # Not "macosx": LLVM would call functions there that other systems lack. But x18 belongs to macOS.
    "darwin-arm64": Target("arm64-apple-none-macho", "apple-m1", ARM_MACH, "+reserve-x18"),
    **{
        f"darwin-x86_64-{level}": Target("x86_64-apple-none-macho", processor, X86_MACH)
        for level, processor, _ in TO_V3
    },
    **{
        f"win32-x86_64-{level}": Target("x86_64-pc-windows-msvc", processor, DLL, features)
        for level, processor, features in TO_ICELAKE
    },
    "web": Target(
        "wasm64-unknown-unknown",
        "generic",
        WASM,
        "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext",
        ("step_games", "ask_networks", "reset_game", "seat_players", "position_of", "observe_pairs"),
    ),
}
CALLED_BY_ADDRESS = ("reset_game", "ask_networks")
"""Kernels that others call by their addresses, see ``Batch.entries``."""
PAUSE = "pause_of_target"
PAUSES = {"x86": "llvm.x86.sse2.pause()", "arm": "llvm.aarch64.hint(i32 1)", "wasm": ""}
FOR_WINDOWS = r"""
@_fltused = hidden constant i32 0
module asm ".globl __chkstk"
module asm "__chkstk: push %rcx; push %rax; lea 24(%rsp), %rcx"
module asm "0: cmp $0x1000, %rax; jb 1f; sub $0x1000, %rcx; test %rcx, (%rcx); sub $0x1000, %rax; jmp 0b"
module asm "1: sub %rax, %rcx; test %rcx, (%rcx); pop %rax; pop %rcx; ret"
"""
"""What LLVM expects: a sign that there are floats, and what touches each page of a stack of RAX bytes."""


class Compiled(NamedTuple):
    """A kernel for arguments of one signature, as LLVM is to optimise it."""

    file: str
    name: str
    gives: str
    form: Form
    module: bytes


def compiled_kernels() -> list[Compiled]:
    """Return all kernels, in each form that the walk calls; in this process numba compiles them."""
    import llvmlite.binding as llvm
    import machine_code_tour
    import numba
    from numba.core.codegen import JITCodeLibrary

    from territorial.jit import decorators, lowering
    from territorial.jit.arguments import take_apart
    from territorial.jit.library import PACKAGE

    lowering.PAUSES = dict.fromkeys(lowering.PAUSES, (PAUSE,))
    harmless = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p).value
    llvm.add_symbol(PAUSE, harmless)  # on this walk
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


def called_by_kernels(triple: str) -> str:
    """Return, in LLVM's language, what kernels and LLVM call in each library, seen in it alone."""
    copies, fills = [], []
    for size in (64, 8, 1):
        bytes_, none = f"<{size} x i8>", f"<{size} x i32> zeroinitializer"
        copies.append(
            f"%place{size} = getelementptr i8, ptr %from, i64 %at{size}\n"
            f"%bytes{size} = load {bytes_}, ptr %place{size}, align 1"
        )
        fills.append(
            f"%byte{size} = trunc i32 %from to i8\n"
            f"%one{size} = insertelement {bytes_} poison, i8 %byte{size}, i64 0\n"
            f"%bytes{size} = shufflevector {bytes_} %one{size}, {bytes_} poison, {none}"
        )
    pause = PAUSES[next((kind for kind in ("x86", "wasm") if triple.startswith(kind)), "arm")]
    return "\n".join(
        [
            in_blocks("memcpy", "ptr", copies),
            in_blocks("memset", "i32", fills),
            f"declare void @{pause.replace(' 1', '')}" if pause else "",
            f"define hidden void @{PAUSE}() {{ {f'call void @{pause}' if pause else ''}\n ret void }}",
            FOR_WINDOWS if "windows" in triple else "",
        ]
    )


def entries(kernels: list[Compiled]) -> str:
    """Return numbers that say where functions are that are called by address, which a page cannot ask for."""
    lines = []
    for form in (one.form for one in kernels if one.name in CALLED_BY_ADDRESS):
        lines.append(f"declare i32 @{form.code}({', '.join(['ptr', 'ptr', *form.kinds])})")
        lines.append(f"@{form.symbol}_address = constant i64 ptrtoint (ptr @{form.code} to i64)")
    return "\n".join(lines)


def in_blocks(name: str, takes: str, makes: list[str]) -> str:
    """Return a function that writes the ``bytes`` that it makes, in blocks of 64, of 8 and of 1."""
    lines = [f'define hidden ptr @{name}(ptr %to, {takes} %from, i64 %count) nounwind "no-builtins" {{']
    lines += ["begin:", "br label %next64"]
    before, at = "begin", "0"
    for size, smaller, made in zip((64, 8, 1), (8, 1, 0), makes, strict=True):
        lines += [
            f"next{size}:",
            f"%at{size} = phi i64 [ {at}, %{before} ], [ %end{size}, %block{size} ]",
            f"%end{size} = add i64 %at{size}, {size}",
            f"%fits{size} = icmp ule i64 %end{size}, %count",
            f"br i1 %fits{size}, label %block{size}, label %next{smaller}",
            f"block{size}:",
            made,
            f"%to{size} = getelementptr i8, ptr %to, i64 %at{size}",
            f"store <{size} x i8> %bytes{size}, ptr %to{size}, align 1",
            f"br label %next{size}",
        ]
        before, at = f"next{size}", f"%at{size}"
    return "\n".join([*lines, "next0:", "ret ptr %to", "}"])


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
    llvm.initialize_native_asmparser()
    is_page = target.triple.startswith("wasm")
    reloc = "static" if is_page else "pic"
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.processor, features=target.features, opt=3, reloc=reloc, codemodel="default"
    )
    codegen = cpu_target.target_context.codegen()
    codegen._tm = machine  # of which its passes ask what instructions cost
    cheap: dict[str, Any] = {"loop_vectorize": False, "slp_vectorize": False, "opt": 0, "cost": "cheap"}
    kernels = [one for one in kernels if one.name in target.kernels or not target.kernels]
    modules = {kernel.form.symbol: llvm.parse_bitcode(kernel.module) for kernel in kernels}
    if is_page:
        modules["entries"] = llvm.parse_assembly(entries(kernels))
    for (_, name, _), forms in {} if is_page else callers_of(kernels).items():
        modules[name] = llvm.parse_assembly(caller(name, forms))
    modules["called"] = llvm.parse_assembly(called_by_kernels(target.triple))
    with tempfile.TemporaryDirectory() as folder:
        objects = [f"{symbol}.o" for symbol in modules]
        for module, name in zip(modules.values(), objects, strict=True):
            for function in module.functions:
                seen = llvm.Linkage.external, llvm.Visibility.default
                if not function.is_declaration and (function.linkage, function.visibility) == seen:
                    function.storage_class = "dllexport"  # which Windows asks for
            for variable in module.global_variables:
                if variable.linkage == llvm.Linkage.common:
                    variable.linkage = llvm.Linkage.weak_any  # all that WebAssembly has
            module.triple, module.data_layout = target.triple, str(machine.target_data)
            for options in (cheap, {}):
                manager, builder = codegen._module_pass_manager(**options)
                manager.run(module, builder)
            module.verify()
            Path(folder, name).write_bytes(machine.emit_object(module))
        *link, output = target.link
        made = [f"{output}{path.name}"] if output.endswith(":") else [output, path.name]
        subprocess.run([sys.executable, "-m", "ziglang", *link, *made, *objects], check=True, cwd=folder)
        path.unlink(missing_ok=True)  # a process may have it loaded: in another file's place, not over it
        library = Path(folder, path.name).read_bytes()
        path.write_bytes(without_binder(library) if target.link[0] == "cc" else library)


def table_of(kernels: list[Compiled], libraries: list[Path]) -> dict[str, Any]:
    """Return what ``territorial.jit.library`` reads: which kernels the libraries have, made from what."""
    from territorial.constants import __version__
    from territorial.jit.library import PACKAGE, SOURCES, digest_of

    files: dict[str, Any] = {}
    for (file, name, gives), forms in callers_of(kernels).items():
        sources = SOURCES.digest(str(PACKAGE / file))
        of_file = files.setdefault(file, {"sources": sources, "kernels": {}})
        found = [{"symbol": form.symbol, "takes": form.takes} for form in forms]
        of_file["kernels"][name] = {"symbol": name, "gives": gives, "forms": found}
    digests = {path.name: digest_of(path.read_bytes(), files) for path in libraries}
    return {"version": __version__, "libraries": digests, "kernels": files}


def main(names: list[str]) -> None:
    """Make the libraries of these targets, in a process that compiles for no processor in particular."""
    if not NO_PROCESSOR.items() <= os.environ.items():
        with tempfile.TemporaryDirectory() as cache:
            variables = os.environ | NO_PROCESSOR | {"NUMBA_CACHE_DIR": cache}
            raise SystemExit(subprocess.run([sys.executable, __file__, *names], env=variables).returncode)
    from territorial.jit.library import FOLDER, SUFFIXES, TABLE, levels, system

    native = [f"{system()}{level}" for level in levels()]
    names = list(TARGETS) if "all" in names else [native[0] if name == "native" else name for name in names]
    began = time.perf_counter()
    kernels = compiled_kernels()
    print(f"{len(kernels)} kernels compiled, {time.perf_counter() - began:.0f} s", flush=True)
    FOLDER.mkdir(exist_ok=True)
    libraries = [FOLDER / f"{name}{SUFFIXES.get(name.partition('-')[0], '.so')}" for name in names]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        targets = [TARGETS[name] for name in names]
        for path, _ in zip(
            libraries, pool.map(make_library, targets, repeat(kernels), libraries), strict=True
        ):
            seconds = time.perf_counter() - began
            print(f"{path.name}: {path.stat().st_size:,} bytes, {seconds:.0f} s", flush=True)
    table = FOLDER / TABLE
    table.write_text(json.dumps(table_of(kernels, libraries), indent=1) + "\n")
    for path in {*FOLDER.iterdir()} - {table, *libraries}:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    choices = ["native", "all", *TARGETS]
    parser.add_argument("targets", nargs="+", choices=choices, metavar="TARGET", help=", ".join(choices))
    main(parser.parse_args().targets)
