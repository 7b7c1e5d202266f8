"""The tour."""

import sys
from typing import Any, NamedTuple
import numba, numpy as np
import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from territorial.jit import decorators, compiler
from territorial.jit.arguments import take_apart
from territorial.jit.library import PACKAGE
from territorial.jit.sources import SOURCES
from pathlib import Path

FOUND: dict[Any, Any] = {}
MODULES: dict[str, bytes] = {}


def find(self, arguments):
    signature, words = [], []
    try:
        take_apart(arguments, signature, words)
        FOUND.setdefault((self, tuple(signature)), tuple(map(numba.typeof, arguments)))
    except KeyError as e:
        print("not for the library:", self.__name__, e)
    return None, words


def optimise(self):
    MODULES[self.name] = self._final_module.as_bitcode()
    return ORIGINAL(self)


decorators.Kernel.find = find
ORIGINAL = JITCodeLibrary._optimize_final_module
JITCodeLibrary._optimize_final_module = optimise


class Made(NamedTuple):
    file: str
    name: str
    symbol: str
    takes: tuple
    gives: str
    module: bytes


def compiled():
    walk()
    made = []
    for (kernel, signature), types in sorted(
        FOUND.items(), key=lambda one: (one[0][0].__module__, one[0][0].__name__, repr(one[0][1]))
    ):
        code = kernel.dispatcher.overloads[types]
        symbol = f"k{len(made)}"
        file = Path(kernel.py_func.__code__.co_filename).relative_to(PACKAGE).as_posix()
        gives = {"none": "none", "int64": "int64", "bool": "bool", "float64": "float64"}[
            str(code.signature.return_type)
        ]
        made.append(Made(file, kernel.__name__, symbol, signature, gives, own_module(code, symbol)))
    return made


def own_module(code, symbol):
    module = llvm.parse_bitcode(MODULES[code.library.name])
    name = code.fndesc.llvm_func_name
    convention = code.library._codegen  # noqa
    context = numba.core.registry.cpu_target.target_context
    kinds = context.call_conv.get_function_type(code.signature.return_type, code.signature.args).args
    texts = [text_of(kind) for kind in kinds[2:]]
    n = len(texts)
    lines = [
        f"declare i32 @{symbol}_code({', '.join(['ptr', 'ptr', *texts])})",
        f"define i32 @{symbol}(ptr %words) {{",
    ]
    given = []
    for i, kind in enumerate(texts):
        lines += [
            f"%p{i} = getelementptr i64, ptr %words, i64 {i}",
            f"%a{i} = load {kind}, ptr %p{i}, align 8",
        ]
        given.append(f"{kind} %a{i}")
    lines += [
        f"%r = getelementptr i64, ptr %words, i64 {n}",
        f"%e = getelementptr i64, ptr %words, i64 {n + 1}",
    ]
    lines += [f"%s = call i32 @{symbol}_code({', '.join(['ptr %r', 'ptr %e', *given])})", "ret i32 %s", "}"]
    module.get_function(name).name = f"{symbol}_code"
    module.link_in(llvm.parse_assembly("\n".join(lines)))
    for one in [*module.functions, *module.global_variables]:
        if one.name not in (symbol, f"{symbol}_code") and not one.is_declaration:
            one.linkage = llvm.Linkage.internal
    for one in (symbol, f"{symbol}_code"):
        module.get_function(one).linkage = llvm.Linkage.external
    return module.as_bitcode()


def text_of(kind):
    from llvmlite import ir

    return "ptr" if isinstance(kind, ir.PointerType) else str(kind)


def table(made, libraries):
    from territorial.constants import __version__

    kernels = {}
    for one in made:
        of_file = kernels.setdefault(
            one.file, {"sources": SOURCES.digest(str(PACKAGE / one.file)), "kernels": {}}
        )
        of_file["kernels"].setdefault(one.name, []).append(
            {"symbol": one.symbol, "takes": one.takes, "gives": one.gives}
        )
    return {"version": __version__, "libraries": libraries, "kernels": kernels}


def walk():
    import territorial

    e = territorial.make_vec(2, height=32, width=32, num_players=4) if 0 else territorial.make_vec(2)
    e.reset(seed=0)
    e.step(np.zeros((2, 32), int))
