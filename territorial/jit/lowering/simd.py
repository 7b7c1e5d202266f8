"""Lowering of operations on eight words at a time (``jit.simd``)."""

import operator
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from territorial.jit.lowering.operations import ENTRY, INT64, Memory, Vector, machine_code, same, spread
from territorial.jit.simd import (
    EIGHT,
    LINE,
    all_is_written,
    at,
    columns_in,
    eight,
    no_cells,
    put,
    put_at,
    put_past_caches,
    rows_above,
    rows_below,
    rows_in,
    stream,
    total,
    with_counts,
)

WORD = ir.IntType(64)
VECTOR = ir.VectorType(WORD, EIGHT)
EIGHT_WORDS = Vector("EightWords", VECTOR)


def _operation(operation: Any, name: str, others: tuple[Any, ...]) -> None:
    """Let numba compile ``operation`` of eight words with each of the types ``others``."""

    @type_callable(operation)
    def of_types(_context: Any) -> Any:
        def result(a: Any, b: Any) -> Any:
            return EIGHT_WORDS if a == EIGHT_WORDS and b in others else None

        return result

    for other in others:

        @lower_builtin(operation, EIGHT_WORDS, other)
        def generate(_context: Any, builder: Any, signature: Any, args: Any) -> Any:
            is_word = signature.args[1] != EIGHT_WORDS
            second = spread(builder, args[1], VECTOR) if is_word else args[1]
            return getattr(builder, name)(args[0], second)


for _operators, _instruction in (
    ((operator.and_, operator.iand), "and_"),
    ((operator.or_, operator.ior), "or_"),
    ((operator.xor, operator.ixor), "xor"),
):
    for _operator in _operators:
        _operation(_operator, _instruction, (EIGHT_WORDS, numba.types.uint64))
for _operator, _instruction in ((operator.lshift, "shl"), (operator.rshift, "lshr")):
    _operation(_operator, _instruction, (numba.types.uint64,))


@type_callable(operator.invert)
def _type_of_invert(_context: Any) -> Any:
    return lambda a: EIGHT_WORDS if a == EIGHT_WORDS else None


@lower_builtin(operator.invert, EIGHT_WORDS)
def _invert(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
    return builder.not_(args[0])


def place_in(builder: Any, array: Memory, i: Any) -> Any:
    """Return the address of entry ``i`` of an array, counted through all its axes, in machine code."""
    if array.kind.layout != "C":
        raise numba.errors.NumbaTypeError(f"{array.kind} is not in C order, in which places are counted")
    return builder.gep(array.first, [i])


def fetch_line(builder: Any, pointer: Any) -> None:
    """Write the prefetch of the line at ``pointer`` into the second-level cache."""
    number, to_read, second_cache, data = ir.IntType(32), 0, 2, 1
    place = builder.bitcast(pointer, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
    builder.call(prefetch, [place, *map(number, (to_read, second_cache, data))])


def _reduced(builder: Any, name: str, result: Any, words: Any) -> Any:
    """Return LLVM's reduction ``name`` of eight words."""
    kind = ir.FunctionType(result, [VECTOR])
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{EIGHT}i64"), [words]
    )


def _moved(builder: Any, words: Any, word: Any, places: list[int]) -> Any:
    """Return eight words of eight and one more, which is word 8 of ``places``."""
    number = ir.IntType(32)
    mask = ir.Constant(ir.VectorType(number, EIGHT), [ir.Constant(number, i) for i in places])
    return builder.shuffle_vector(words, spread(builder, word, VECTOR), mask)


ARRAY, NUMBER, WORD_TYPE = numba.types.Array, numba.types.intp, numba.types.uint64


@machine_code(at, ENTRY, ARRAY, NUMBER)
def _at(builder: Any, array: Memory, i: Any) -> Any:
    return builder.load(place_in(builder, array, i))


@machine_code(put_at, numba.types.void, ARRAY, NUMBER, ENTRY)
def _put_at(builder: Any, array: Memory, i: Any, value: Any) -> None:
    builder.store(value, place_in(builder, array, i))


@machine_code(eight, EIGHT_WORDS, ARRAY, NUMBER)
def _eight(builder: Any, words: Memory, place: Any) -> Any:
    return builder.load(builder.bitcast(place_in(builder, words, place), VECTOR.as_pointer()), align=8)


@machine_code(put, numba.types.void, ARRAY, NUMBER, EIGHT_WORDS)
def _put(builder: Any, words: Memory, place: Any, value: Any) -> None:
    pointer = builder.bitcast(place_in(builder, words, place), VECTOR.as_pointer())
    builder.store(value, pointer, align=words.kind.dtype.bitwidth // 8)


@machine_code(rows_above, EIGHT_WORDS, EIGHT_WORDS, WORD_TYPE)
def _rows_above(builder: Any, value: Any, word: Any) -> Any:
    return _moved(builder, value, word, [8, 0, 1, 2, 3, 4, 5, 6])


@machine_code(rows_below, EIGHT_WORDS, EIGHT_WORDS, WORD_TYPE)
def _rows_below(builder: Any, value: Any, word: Any) -> Any:
    return _moved(builder, value, word, [1, 2, 3, 4, 5, 6, 7, 8])


@machine_code(no_cells, EIGHT_WORDS)
def _no_cells(_builder: Any) -> Any:
    return same(VECTOR, 0)


@machine_code(with_counts, EIGHT_WORDS, EIGHT_WORDS, EIGHT_WORDS)
def _with_counts(builder: Any, sums: Any, cells: Any) -> Any:
    return builder.add(sums, _reduced(builder, "ctpop", VECTOR, cells))


@machine_code(total, numba.types.int64, EIGHT_WORDS)
def _total(builder: Any, sums: Any) -> Any:
    return _reduced(builder, "vector.reduce.add", WORD, sums)


@machine_code(rows_in, numba.types.uint64, EIGHT_WORDS)
def _rows_in(builder: Any, cells: Any) -> Any:
    used = builder.icmp_unsigned("!=", cells, same(VECTOR, 0))
    return builder.zext(builder.bitcast(used, ir.IntType(EIGHT)), WORD)


@machine_code(columns_in, numba.types.uint64, EIGHT_WORDS)
def _columns_in(builder: Any, cells: Any) -> Any:
    return _reduced(builder, "vector.reduce.or", WORD, cells)


BYTES = ir.IntType(8).as_pointer()


def _put_line(builder: Any, words: Any, pointer: Any) -> None:
    hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
    builder.store(words, pointer, align=LINE).set_metadata("nontemporal", hint)


@machine_code(put_past_caches, numba.types.void, INT64, EIGHT_WORDS)
def _put_past_caches(builder: Any, address: Any, words: Any) -> None:
    _put_line(builder, words, builder.inttoptr(address, VECTOR.as_pointer()))


@machine_code(stream, numba.types.void, numba.types.Array, NUMBER, NUMBER, INT64)
def _stream_lines(builder: Any, array: Memory, first: Any, count: Any, address: Any) -> None:
    width = array.kind.dtype.bitwidth // 8
    size = builder.mul(count, WORD(width))
    source = builder.bitcast(place_in(builder, array, first), BYTES)
    start = builder.add(address, builder.mul(first, WORD(width)))
    target = builder.inttoptr(start, BYTES)
    head = builder.and_(builder.neg(start), WORD(LINE - 1))
    head = builder.select(builder.icmp_unsigned("<", head, size), head, size)
    cgutils.raw_memcpy(builder, target, source, head, 1)
    lines = builder.udiv(builder.sub(size, head), WORD(LINE))
    to, of = (builder.bitcast(builder.gep(one, [head]), VECTOR.as_pointer()) for one in (target, source))
    with cgutils.for_range(builder, lines) as loop:
        words = builder.load(builder.gep(of, [loop.index]), align=1)
        _put_line(builder, words, builder.gep(to, [loop.index]))
    done = builder.add(head, builder.mul(lines, WORD(LINE)))
    rest = builder.sub(size, done)
    cgutils.raw_memcpy(builder, builder.gep(target, [done]), builder.gep(source, [done]), rest, 1)


@machine_code(all_is_written, numba.types.void)
def _all_is_written(builder: Any) -> None:
    builder.fence("seq_cst")
