"""Lowering of operations on words and whole numbers (``jit.decorators``)."""

from typing import Any

import numba
from llvmlite import ir

from territorial.jit.decorators import float_of_bits, highest_bit, lowest_bit, popcount, quotient
from territorial.jit.lowering.operations import machine_code


@machine_code(popcount, numba.types.int64, numba.types.uint64)
def _popcount(builder: Any, word: Any) -> Any:
    return builder.ctpop(word)


@machine_code(lowest_bit, numba.types.int64, numba.types.uint64)
def _lowest_bit(builder: Any, word: Any) -> Any:
    return builder.cttz(word, ir.Constant(ir.IntType(1), 0))


@machine_code(highest_bit, numba.types.int64, numba.types.uint64)
def _highest_bit(builder: Any, word: Any) -> Any:
    zeros = builder.ctlz(word, ir.Constant(ir.IntType(1), 0))
    return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)


@machine_code(float_of_bits, numba.types.float32, numba.types.int32)
def _float_of_bits(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, ir.FloatType())


@machine_code(quotient, numba.types.int64, numba.types.int64, numba.types.int64)
def _quotient(builder: Any, number: Any, divisor: Any) -> Any:
    return builder.udiv(number, divisor)
