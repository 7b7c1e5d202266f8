"""Lowering of writes past the caches (``jit.lines``)."""

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils

from territorial.jit.lines import LINE, all_is_written, put_past_caches, stream
from territorial.jit.lowering.operations import Memory, machine_code
from territorial.jit.lowering.simd import EIGHT_WORDS, VECTOR, place_in

BYTES = ir.IntType(8).as_pointer()
NUMBER = ir.IntType(64)
INT64, INTP = numba.types.int64, numba.types.intp


def _put_line(builder: Any, words: Any, pointer: Any) -> None:
    hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
    builder.store(words, pointer, align=LINE).set_metadata("nontemporal", hint)


@machine_code(put_past_caches, numba.types.void, INT64, EIGHT_WORDS)
def _put_past_caches(builder: Any, address: Any, words: Any) -> None:
    _put_line(builder, words, builder.inttoptr(address, VECTOR.as_pointer()))


@machine_code(stream, numba.types.void, numba.types.Array, INTP, INTP, INT64)
def _stream_lines(builder: Any, array: Memory, first: Any, count: Any, address: Any) -> None:
    width = array.kind.dtype.bitwidth // 8
    size = builder.mul(count, NUMBER(width))
    source = builder.bitcast(place_in(builder, array, first), BYTES)
    start = builder.add(address, builder.mul(first, NUMBER(width)))
    target = builder.inttoptr(start, BYTES)
    head = builder.and_(builder.neg(start), NUMBER(LINE - 1))
    head = builder.select(builder.icmp_unsigned("<", head, size), head, size)
    cgutils.raw_memcpy(builder, target, source, head, 1)
    lines = builder.udiv(builder.sub(size, head), NUMBER(LINE))
    to, of = (builder.bitcast(builder.gep(one, [head]), VECTOR.as_pointer()) for one in (target, source))
    with cgutils.for_range(builder, lines) as loop:
        words = builder.load(builder.gep(of, [loop.index]), align=1)
        _put_line(builder, words, builder.gep(to, [loop.index]))
    done = builder.add(head, builder.mul(lines, NUMBER(LINE)))
    rest = builder.sub(size, done)
    cgutils.raw_memcpy(builder, builder.gep(target, [done]), builder.gep(source, [done]), rest, 1)


@machine_code(all_is_written, numba.types.void)
def _all_is_written(builder: Any) -> None:
    builder.fence("seq_cst")
