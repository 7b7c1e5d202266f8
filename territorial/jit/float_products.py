"""Products of float32 matrices, sixteen sums at a time, as small networks need them on the processor.

Weights lie input by input, the outputs of each side by side, as ``put_turned`` writes them. A sum is that of
its products in the order of the inputs, whatever else is computed with it: the same row gives the same bits
among any others. Memory is named by address; nothing is bounds-checked. See ``products`` for whole numbers.

With ``NUMBA_DISABLE_JIT=1`` numpy computes the same, and rounds otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.jit.decorators import JIT_ENABLED, njit
from territorial.jit.products import SIXTEEN

FLOAT_BYTES = 4
LINE = SIXTEEN * FLOAT_BYTES
"""Bytes of sixteen numbers."""
NONE = np.float32(0)
"""What stands where there is no number."""

if JIT_ENABLED:
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    from territorial.jit.products import BlockOfSums, adding, loaded, pointer_to

    FLOAT = ir.FloatType()
    FLOATS = ir.VectorType(FLOAT, SIXTEEN)
    PLACE = ir.IntType(32)

    def _places(numbers: Any) -> Any:
        return ir.Constant(ir.VectorType(PLACE, SIXTEEN), [ir.Constant(PLACE, i) for i in numbers])

    def _read_input(builder: Any, place: Any) -> Any:
        """Return the number at ``place``, sixteen times."""
        number = builder.load(builder.bitcast(place, FLOAT.as_pointer()), align=FLOAT_BYTES)
        none = ir.Constant(FLOATS, ir.Undefined)
        first = builder.insert_element(none, number, ir.Constant(PLACE, 0))
        return builder.shuffle_vector(first, none, _places([0] * SIXTEEN))

    def _read_weights(builder: Any, place: Any) -> Any:
        return builder.load(builder.bitcast(place, FLOATS.as_pointer()), align=FLOAT_BYTES)

    def _with_product(builder: Any, sums: Any, weights: Any, inputs: Any) -> Any:
        """Return the sums with a product each, rounded once where the processor can."""
        kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
        name = "llvm.fmuladd.v16f32"
        add = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(add, [weights, inputs, sums])

    add_float_products = adding(BlockOfSums(FLOATS, _read_weights, _read_input, _with_product))
    """Adds products to a block of sums as ``add_products`` does, of one input at a time."""

    @intrinsic
    def float_at(_context: Any, address: Any) -> Any:
        """Return the float32 at ``address``."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return loaded(builder, args[0], FLOAT, FLOAT_BYTES)

        return numba.types.float32(numba.types.int64), generate

    @intrinsic
    def put_float(_context: Any, address: Any, number: Any) -> Any:
        """Write a float32 to ``address``."""

        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            builder.store(args[1], pointer_to(builder, args[0], FLOAT), align=FLOAT_BYTES)
            return context.get_dummy_value()

        return numba.types.void(numba.types.int64, numba.types.float32), generate

    def _turned(builder: Any, rows: list[Any]) -> list[Any]:
        """Return the columns of sixteen rows of sixteen."""
        for bit in (1, 2, 4, 8):
            low = _places([i if not i & bit else SIXTEEN + i - bit for i in range(SIXTEEN)])
            high = _places([i + bit if not i & bit else SIXTEEN + i for i in range(SIXTEEN)])
            turned = list(rows)
            for i in range(SIXTEEN):
                if not i & bit:
                    turned[i] = builder.shuffle_vector(rows[i], rows[i + bit], low)
                    turned[i + bit] = builder.shuffle_vector(rows[i], rows[i + bit], high)
            rows = turned
        return rows

    @intrinsic
    def put_turned(_context: Any, to: Any, to_step: Any, source: Any, source_step: Any) -> Any:
        """Write the columns of sixteen rows of sixteen float32 as rows, ``_step`` bytes after each other."""

        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            to, to_step, source, source_step = args

            def at(first: Any, step: Any, i: int) -> Any:
                return builder.add(first, builder.mul(step, ir.Constant(ir.IntType(64), i)))

            rows = [loaded(builder, at(source, source_step, i), FLOATS, FLOAT_BYTES) for i in range(SIXTEEN)]
            for i, column in enumerate(_turned(builder, rows)):
                builder.store(column, pointer_to(builder, at(to, to_step, i), FLOATS), align=FLOAT_BYTES)
            return context.get_dummy_value()

        return numba.types.void(*[numba.types.int64] * 4), generate

else:
    from territorial.jit.products import memory

    def add_float_products(rows: int, vectors: int, *numbers: int) -> None:
        """Add products to a block of sums as ``add_products`` does, of one input at a time."""
        sums, sums_step, weights, weights_step, inputs, inputs_step, count, _ = numbers
        outputs = vectors * SIXTEEN
        table = np.array([memory(weights + i * weights_step, np.float32, outputs) for i in range(count)])
        for r in range(rows):
            given = memory(inputs + r * inputs_step, np.float32, count)
            memory(sums + r * sums_step, np.float32, outputs)[:] += given @ table

    def float_at(address: int) -> Any:
        """Return the float32 at ``address``."""
        return memory(address, np.float32, 1)[0]

    def put_float(address: int, number: Any) -> None:
        """Write a float32 to ``address``."""
        memory(address, np.float32, 1)[0] = number

    def put_turned(to: int, to_step: int, source: int, source_step: int) -> None:
        """Write the columns of sixteen rows of sixteen float32 as rows, ``_step`` bytes after each other."""
        rows = np.array([memory(source + i * source_step, np.float32, SIXTEEN) for i in range(SIXTEEN)])
        for i in range(SIXTEEN):
            memory(to + i * to_step, np.float32, SIXTEEN)[:] = rows[:, i]


@njit
def turn_outputs(weights: int, weights_step: int, outputs: int, inputs: int, to: int, to_step: int) -> None:
    """Write the weights of the next sixteen outputs input by input; zeros for those that are not there.

    Args:
        weights: the address of those of the first, one after the other.
        weights_step: bytes from one output to the next.
        outputs: how many there are from the first on.
        inputs: how many weights each has.
        to: the address of what is written.
        to_step: bytes from one input to the next there.

    """
    if outputs >= SIXTEEN and inputs >= SIXTEEN:
        i = 0
        while i < inputs:
            i = min(i, inputs - SIXTEEN)
            put_turned(to + i * to_step, to_step, weights + i * FLOAT_BYTES, weights_step)
            i += SIXTEEN
        return
    for i in range(inputs):
        for o in range(SIXTEEN):
            source = weights + o * weights_step + i * FLOAT_BYTES
            put_float(to + i * to_step + o * FLOAT_BYTES, float_at(source) if o < outputs else NONE)
