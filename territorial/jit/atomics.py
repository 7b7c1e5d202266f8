"""Numbers that several threads change: operations that no other thread comes between.

All are on the first entry of an int64 array. What a thread wrote before one of them (``load`` apart) is seen
by the code that finds its result there.
"""

from __future__ import annotations

import threading
from typing import Any

import numba
from llvmlite import ir
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

from territorial.jit.decorators import JIT_ENABLED

if JIT_ENABLED:

    def _first_of(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    @intrinsic
    def load(_context: Any, array: Any) -> Any:
        """Return the number; what another thread wrote before it can be read from now on."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load_atomic(_first_of(context, builder, signature, args), "acquire", 8)

        return numba.types.int64(array), generate

    @intrinsic
    def exchange(_context: Any, array: Any, _value: Any) -> Any:
        """Write ``value`` and return what was there."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw(
                "xchg", _first_of(context, builder, signature, args), args[1], "seq_cst"
            )

        return numba.types.int64(array, numba.types.int64), generate

    @intrinsic
    def replace(_context: Any, array: Any, _old: Any, _new: Any) -> Any:
        """Write ``new`` where ``old`` is; return whether it was."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.cmpxchg(
                _first_of(context, builder, signature, args), args[1], args[2], "seq_cst", "seq_cst"
            )
            return builder.extract_value(found, 1)

        return numba.types.boolean(array, numba.types.int64, numba.types.int64), generate

    @intrinsic
    def add(_context: Any, array: Any, _number: Any) -> Any:
        """Add ``number`` and return what was there."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw("add", _first_of(context, builder, signature, args), args[1], "seq_cst")

        return numba.types.int64(array, numba.types.int64), generate

    @intrinsic
    def pause(_context: Any) -> Any:
        """Let the other thread of this core have it for a moment, where there is a way to say so."""

        def generate(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
            processor = builder.module.triple.partition("-")[0]
            if processor == "x86_64":
                kind = ir.FunctionType(ir.VoidType(), [])
                builder.call(get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
            elif processor in ("aarch64", "arm64"):
                kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)])
                hint = get_or_insert_function(builder.module, kind, "llvm.aarch64.hint")
                builder.call(hint, [ir.Constant(ir.IntType(32), 1)])  # YIELD
            return context.get_dummy_value()

        return numba.types.void(), generate

else:
    _one = threading.Lock()

    def load(array: Any) -> int:
        """Return the number."""
        return int(array[0])

    def exchange(array: Any, value: int) -> int:
        """Write ``value`` and return what was there."""
        with _one:
            found, array[0] = int(array[0]), value
            return found

    def replace(array: Any, old: int, new: int) -> bool:
        """Write ``new`` where ``old`` is; return whether it was."""
        with _one:
            is_there = bool(array[0] == old)
            if is_there:
                array[0] = new
            return is_there

    def add(array: Any, number: int) -> int:
        """Add ``number`` and return what was there."""
        with _one:
            array[0] += number
            return int(array[0]) - number

    def pause() -> None:
        """Do nothing."""
