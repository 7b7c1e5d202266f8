"""Sixteen sums at a time: products of pairs of int16, added up as int32, as networks in the engine need them.

Weights lie in memory so that one instruction takes 32 of them: for every pair of inputs, the two weights of
each output side by side, int16[pair][output][2]. Processors have had that instruction since MMX
(``pmaddwd``), the newest add its result to the sums as well; elsewhere the compiler makes several of it.

Compilers find this for loops over arrays of whole numbers only where they know all lengths and that no
arrays overlap. Memory is named by address, as weights may lie in a mapped file; nothing is bounds-checked.
Sums must stay within int32.

With ``NUMBA_DISABLE_JIT=1`` the sixteen sums are a numpy array.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic, models, register_model

from territorial.jit.decorators import JIT_ENABLED

SIXTEEN = 16

if JIT_ENABLED:
    import numba

    HALF, NUMBER = ir.IntType(16), ir.IntType(32)
    SUMS, PRODUCTS, HALVES = (
        ir.VectorType(NUMBER, SIXTEEN),
        ir.VectorType(NUMBER, 2 * SIXTEEN),
        ir.VectorType(HALF, 2 * SIXTEEN),
    )

    class SixteenSums(numba.types.Type):
        """The numba type of sixteen sums."""

        def __init__(self) -> None:
            super().__init__(name="SixteenSums")

    SIXTEEN_SUMS = SixteenSums()

    @register_model(SixteenSums)
    class _SixteenSumsModel(models.PrimitiveModel):
        def __init__(self, manager: Any, of_type: Any) -> None:
            super().__init__(manager, of_type, SUMS)

    def _same(value: int) -> Any:
        return ir.Constant(SUMS, [ir.Constant(NUMBER, value)] * SIXTEEN)

    def _spread(builder: Any, number: Any) -> Any:
        """Return ``number`` sixteen times."""
        none = ir.Constant(SUMS, ir.Undefined)
        first = builder.insert_element(none, number, ir.Constant(NUMBER, 0))
        return builder.shuffle_vector(first, none, _same(0))

    def _loaded(builder: Any, address: Any, kind: Any, align: int) -> Any:
        return builder.load(builder.inttoptr(address, kind.as_pointer()), align=align)

    def _every_other(builder: Any, products: Any, first: int) -> Any:
        places = [ir.Constant(NUMBER, i) for i in range(first, 2 * SIXTEEN, 2)]
        return builder.shuffle_vector(products, products, ir.Constant(SUMS, places))

    @intrinsic
    def address_of(_context: Any, array: Any) -> Any:
        """Return the address of the first entry of an array, as int64."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return builder.ptrtoint(data, ir.IntType(64))

        return numba.types.int64(array), generate

    @intrinsic
    def sums_at(_context: Any, address: Any) -> Any:
        """Return the sixteen int32 from ``address`` on."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return _loaded(builder, args[0], SUMS, 4)

        return SIXTEEN_SUMS(numba.types.int64), generate

    @intrinsic
    def put_sums(_context: Any, address: Any, sums: Any) -> Any:
        """Write sixteen sums to ``address``, as int32."""

        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            builder.store(args[1], builder.inttoptr(args[0], SUMS.as_pointer()), align=4)
            return context.get_dummy_value()

        return numba.types.void(numba.types.int64, SIXTEEN_SUMS), generate

    @intrinsic
    def pair_at(_context: Any, address: Any) -> Any:
        """Return the two int16 from ``address`` on, as one int32 that means nothing as a number."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return _loaded(builder, args[0], NUMBER, 2)

        return numba.types.int32(numba.types.int64), generate

    @intrinsic
    def number_at(_context: Any, address: Any) -> Any:
        """Return the int64 at ``address``."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return _loaded(builder, args[0], ir.IntType(64), 8)

        return numba.types.int64(numba.types.int64), generate

    @intrinsic
    def with_products(_context: Any, sums: Any, address: Any, pair: Any) -> Any:
        """Return ``sums`` with the products of a pair and sixteen pairs of weights at ``address`` added."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            weights = builder.sext(_loaded(builder, args[1], HALVES, 2), PRODUCTS)
            inputs = builder.sext(builder.bitcast(_spread(builder, args[2]), HALVES), PRODUCTS)
            products = builder.mul(weights, inputs)
            both = builder.add(_every_other(builder, products, 0), _every_other(builder, products, 1))
            return builder.add(args[0], both)

        return SIXTEEN_SUMS(SIXTEEN_SUMS, numba.types.int64, numba.types.int32), generate

    @intrinsic
    def rounded(_context: Any, sums: Any, shift: Any) -> Any:
        """Return ``(sums + 2 ** (shift - 1)) >> shift``; ``shift`` is 1 to 31."""

        def generate(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            shift = builder.trunc(args[1], NUMBER)
            one = ir.Constant(NUMBER, 1)
            half = builder.shl(one, builder.sub(shift, one))
            return builder.ashr(builder.add(args[0], _spread(builder, half)), _spread(builder, shift))

        return SIXTEEN_SUMS(SIXTEEN_SUMS, numba.types.int64), generate

    @intrinsic
    def put_between(_context: Any, address: Any, sums: Any, most: Any) -> Any:
        """Write sixteen sums to ``address`` as int16: those below 0 as 0, those above ``most`` as that."""

        def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            most = _spread(builder, builder.trunc(args[2], NUMBER))
            is_above = builder.icmp_signed(">", args[1], _same(0))
            rectified = builder.select(is_above, args[1], _same(0))
            is_within = builder.icmp_signed("<", rectified, most)
            halves = builder.trunc(builder.select(is_within, rectified, most), ir.VectorType(HALF, SIXTEEN))
            builder.store(halves, builder.inttoptr(args[0], halves.type.as_pointer()), align=2)
            return context.get_dummy_value()

        return numba.types.void(numba.types.int64, SIXTEEN_SUMS, numba.types.int64), generate

else:

    def _memory(address: int, dtype: Any, count: int) -> Any:
        size = np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_ubyte * (count * size)).from_address(int(address)), dtype)

    def address_of(array: Any) -> int:
        """Return the address of the first entry of an array, as int64."""
        return int(array.ctypes.data)

    def sums_at(address: int) -> Any:
        """Return the sixteen int32 from ``address`` on."""
        return _memory(address, np.int32, SIXTEEN).copy()

    def put_sums(address: int, sums: Any) -> None:
        """Write sixteen sums to ``address``, as int32."""
        _memory(address, np.int32, SIXTEEN)[:] = sums

    def pair_at(address: int) -> Any:
        """Return the two int16 from ``address`` on."""
        return _memory(address, np.int16, 2).astype(np.int32)

    def number_at(address: int) -> int:
        """Return the int64 at ``address``."""
        return int(_memory(address, np.int64, 1)[0])

    def with_products(sums: Any, address: int, pair: Any) -> Any:
        """Return ``sums`` with the products of a pair and sixteen pairs of weights at ``address`` added."""
        weights = _memory(address, np.int16, 2 * SIXTEEN).reshape(SIXTEEN, 2).astype(np.int32)
        return sums + weights @ pair

    def rounded(sums: Any, shift: int) -> Any:
        """Return ``(sums + 2 ** (shift - 1)) >> shift``; ``shift`` is 1 to 31."""
        return (sums + np.int32(1 << (shift - 1))) >> np.int32(shift)

    def put_between(address: int, sums: Any, most: int) -> None:
        """Write sixteen sums to ``address`` as int16: those below 0 as 0, those above ``most`` as that."""
        _memory(address, np.int16, SIXTEEN)[:] = np.clip(sums, 0, most)
