"""Lowering of atomic operations on shared numbers (``jit.thread_pool``)."""

from typing import Any

import numba
from llvmlite import ir
from numba.core.cgutils import get_or_insert_function

from territorial.jit.lowering.operations import Memory, machine_code
from territorial.jit.thread_pool import add, exchange, load, pause, replace

INT64, ARRAY = numba.types.int64, numba.types.Array
PAUSES: dict[str, tuple[Any, ...]] = {
    "x86_64": ("llvm.x86.sse2.pause",),
    **dict.fromkeys(("aarch64", "arm64"), ("llvm.aarch64.hint", 1)),
}


@machine_code(load, INT64, ARRAY)
def _load(builder: Any, array: Memory) -> Any:
    return builder.load_atomic(array.first, "acquire", 8)


@machine_code(exchange, INT64, ARRAY, INT64)
def _exchange(builder: Any, array: Memory, value: Any) -> Any:
    return builder.atomic_rmw("xchg", array.first, value, "seq_cst")


@machine_code(replace, numba.types.boolean, ARRAY, INT64, INT64)
def _replace(builder: Any, array: Memory, old: Any, new: Any) -> Any:
    return builder.extract_value(builder.cmpxchg(array.first, old, new, "seq_cst", "seq_cst"), 1)


@machine_code(add, INT64, ARRAY, INT64)
def _add(builder: Any, array: Memory, number: Any) -> Any:
    return builder.atomic_rmw("add", array.first, number, "seq_cst")


@machine_code(pause, numba.types.void)
def _pause(builder: Any) -> None:
    name, *numbers = PAUSES.get(builder.module.triple.partition("-")[0], ("",))
    if name:
        given = [ir.Constant(ir.IntType(32), number) for number in numbers]
        kind = ir.FunctionType(ir.VoidType(), [one.type for one in given])
        builder.call(get_or_insert_function(builder.module, kind, name), given)
