"""Lowering of operations on several numbers at a time, and past the caches (``jit.simd``)."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from territorial.jit.lowering.operations import ENTRY, INT64, Memory, Vector, machine_code, same, spread
from territorial.jit.simd import (
    EIGHT,
    FLOAT_BYTES,
    LINE,
    SIXTEEN,
    add_float_products,
    add_products,
    added,
    address_of,
    all_is_written,
    at,
    columns_in,
    eight,
    float_at,
    half_at,
    halves_at,
    larger,
    no_cells,
    number_at,
    parts_of,
    put,
    put_at,
    put_between,
    put_float,
    put_half,
    put_past_caches,
    put_sums,
    put_turned,
    rounded,
    rows_above,
    rows_below,
    rows_in,
    stream,
    sums_at,
    total,
    with_counts,
    zeros,
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


# ---- lines of the cache ----------------------------------------------------------------------------

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


# ---- sums of products ------------------------------------------------------------------------------

HALF, WHOLE = ir.IntType(16), ir.IntType(32)
SUMS, PRODUCTS, HALVES = (
    ir.VectorType(WHOLE, SIXTEEN),
    ir.VectorType(WHOLE, 2 * SIXTEEN),
    ir.VectorType(HALF, 2 * SIXTEEN),
)
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, SIXTEEN)
SIXTEEN_SUMS = Vector("SixteenSums", SUMS)


def loaded(builder: Any, address: Any, kind: Any, align: int) -> Any:
    """Return what is at ``address``."""
    return builder.load(pointer_to(builder, address, kind), align=align)


def pointer_to(builder: Any, address: Any, kind: Any) -> Any:
    """Return a pointer to ``kind`` at ``address``, of which the compiler must not know how it was found.

    Of ``address + offset`` it may make an offset from the pointer ``offset``. Where that is 0 once a
    function is inlined, it takes the access for one through a null pointer, and drops it.
    """
    hidden = builder.asm(ir.FunctionType(WORD, [WORD]), "", "=r,0", [address], False)
    return builder.inttoptr(hidden, kind.as_pointer())


def _vector_at(builder: Any, pointer: Any, vector: int, kind: Any) -> Any:
    """Return a pointer to vector number ``vector`` of ``kind``, each of which has 64 bytes."""
    return builder.bitcast(builder.gep(pointer, [WORD(vector * SIXTEEN * 4)]), kind.as_pointer())


VOID = numba.types.void


def _every_other(builder: Any, products: Any, first: int) -> Any:
    places = [ir.Constant(WHOLE, i) for i in range(first, 2 * SIXTEEN, 2)]
    return builder.shuffle_vector(products, products, ir.Constant(SUMS, places))


@machine_code(address_of, INT64, ARRAY)
def _address_of(builder: Any, array: Memory) -> Any:
    return builder.ptrtoint(array.first, WORD)


@machine_code(sums_at, SIXTEEN_SUMS, INT64)
def _sums_at(builder: Any, address: Any) -> Any:
    return loaded(builder, address, SUMS, 4)


@machine_code(put_sums, VOID, INT64, SIXTEEN_SUMS)
def _put_sums(builder: Any, address: Any, sums: Any) -> None:
    builder.store(sums, pointer_to(builder, address, SUMS), align=4)


@machine_code(halves_at, SIXTEEN_SUMS, INT64)
def _halves_at(builder: Any, address: Any) -> Any:
    return builder.sext(loaded(builder, address, ir.VectorType(HALF, SIXTEEN), 2), SUMS)


@machine_code(zeros, SIXTEEN_SUMS)
def _zeros(_builder: Any) -> Any:
    return same(SUMS, 0)


@machine_code(added, SIXTEEN_SUMS, SIXTEEN_SUMS, SIXTEEN_SUMS)
def _added(builder: Any, sums: Any, others: Any) -> Any:
    return builder.add(sums, others)


@machine_code(larger, SIXTEEN_SUMS, SIXTEEN_SUMS, SIXTEEN_SUMS)
def _larger(builder: Any, sums: Any, others: Any) -> Any:
    return builder.select(builder.icmp_signed(">", sums, others), sums, others)


@machine_code(parts_of, SIXTEEN_SUMS, SIXTEEN_SUMS, INT64, INT64)
def _parts_of(builder: Any, sums: Any, number: Any, bits: Any) -> Any:
    wide = ir.VectorType(WORD, SIXTEEN)
    factor = builder.sext(spread(builder, builder.trunc(number, WHOLE), SUMS), wide)
    products = builder.mul(builder.sext(sums, wide), factor)
    return builder.trunc(builder.ashr(products, spread(builder, bits, wide)), SUMS)


@machine_code(half_at, INT64, INT64)
def _half_at(builder: Any, address: Any) -> Any:
    return builder.sext(loaded(builder, address, HALF, 2), WORD)


@machine_code(put_half, VOID, INT64, INT64)
def _put_half(builder: Any, address: Any, number: Any) -> None:
    builder.store(builder.trunc(number, HALF), pointer_to(builder, address, HALF), align=2)


@machine_code(number_at, INT64, INT64)
def _number_at(builder: Any, address: Any) -> Any:
    return loaded(builder, address, WORD, 8)


@machine_code(rounded, SIXTEEN_SUMS, SIXTEEN_SUMS, INT64)
def _rounded(builder: Any, sums: Any, shift: Any) -> Any:
    bits, one = builder.trunc(shift, WHOLE), ir.Constant(WHOLE, 1)
    half = builder.shl(one, builder.sub(bits, one))
    return builder.ashr(builder.add(sums, spread(builder, half, SUMS)), spread(builder, bits, SUMS))


@machine_code(put_between, VOID, INT64, SIXTEEN_SUMS, INT64, INT64)
def _put_between(builder: Any, address: Any, sums: Any, least: Any, most: Any) -> None:
    low, high = (spread(builder, builder.trunc(bound, WHOLE), SUMS) for bound in (least, most))
    raised = builder.select(builder.icmp_signed(">", sums, low), sums, low)
    lowered = builder.select(builder.icmp_signed("<", raised, high), raised, high)
    halves = builder.trunc(lowered, ir.VectorType(HALF, SIXTEEN))
    builder.store(halves, pointer_to(builder, address, halves.type), align=2)


@machine_code(float_at, numba.types.float32, INT64)
def _float_at(builder: Any, address: Any) -> Any:
    return loaded(builder, address, FLOAT, FLOAT_BYTES)


@machine_code(put_float, VOID, INT64, numba.types.float32)
def _put_float(builder: Any, address: Any, number: Any) -> None:
    builder.store(number, pointer_to(builder, address, FLOAT), align=FLOAT_BYTES)


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of sixteen rows of sixteen."""
    for bit in (1, 2, 4, 8):
        low = ir.Constant(SUMS, [i if not i & bit else SIXTEEN + i - bit for i in range(SIXTEEN)])
        high = ir.Constant(SUMS, [i + bit if not i & bit else SIXTEEN + i for i in range(SIXTEEN)])
        turned = list(rows)
        for i in range(SIXTEEN):
            if not i & bit:
                turned[i] = builder.shuffle_vector(rows[i], rows[i + bit], low)
                turned[i + bit] = builder.shuffle_vector(rows[i], rows[i + bit], high)
        rows = turned
    return rows


@machine_code(put_turned, VOID, INT64, INT64, INT64, INT64)
def _put_turned(builder: Any, to: Any, to_step: Any, source: Any, source_step: Any) -> None:
    def at(first: Any, step: Any, i: int) -> Any:
        return builder.add(first, builder.mul(step, WORD(i)))

    rows = [loaded(builder, at(source, source_step, i), FLOATS, FLOAT_BYTES) for i in range(SIXTEEN)]
    for i, column in enumerate(_turned(builder, rows)):
        builder.store(column, pointer_to(builder, at(to, to_step, i), FLOATS), align=FLOAT_BYTES)


# ---- blocks of sums ------------------------------------------------------------------------------


class BlockOfSums(NamedTuple):
    """How products are added to a block of sums: what is read, and how."""

    sums: Any
    """The type of sixteen sums."""
    weights: Callable[[Any, Any], Any]
    """Reads those of sixteen outputs, by builder and place."""
    inputs: Callable[[Any, Any], Any]
    """Reads what these are multiplied with."""
    added: Callable[[Any, Any, Any, Any], Any]
    """Returns sums with products of weights and inputs."""


def add_to_block(
    builder: Any, block: BlockOfSums, rows: int, vectors: int, args: Any, *, fetches: bool
) -> None:
    """Add the products of inputs and weights to sums, which stay in registers; see ``add_products``."""
    sums, sums_step, weights, weights_step, inputs, inputs_step, count, ahead = args
    before, byte = builder.block, ir.IntType(8)
    sums, weights, inputs = (pointer_to(builder, address, byte) for address in (sums, weights, inputs))
    row_places = [builder.gep(sums, [builder.mul(sums_step, WORD(r))]) for r in range(rows)]
    places = [_vector_at(builder, place, v, block.sums) for place in row_places for v in range(vectors)]
    begun = [builder.load(place, align=4) for place in places]
    body, after = (builder.append_basic_block(name) for name in ("products", "products.done"))
    builder.cbranch(builder.icmp_signed(">", count, WORD(0)), body, after)
    builder.position_at_end(body)
    left, weight, given = (builder.phi(one.type) for one in (count, weights, inputs))
    now = [builder.phi(block.sums) for _ in places]
    lines = [_vector_at(builder, weight, v, byte) for v in range(vectors)]
    read = [block.weights(builder, line) for line in lines]
    for line in lines if fetches else ():
        fetch_line(builder, builder.gep(line, [ahead]))
    found = []
    for r in range(rows):
        both = block.inputs(builder, builder.gep(given, [builder.mul(inputs_step, WORD(r))]))
        row = now[r * vectors : (r + 1) * vectors]
        found += [block.added(builder, one, of, both) for one, of in zip(row, read, strict=True)]
    fewer = builder.sub(left, WORD(1))
    later = fewer, builder.gep(weight, [weights_step]), builder.gep(given, [WORD(4)]), *found
    first = count, weights, inputs, *begun
    for phi, at_first, then in zip((left, weight, given, *now), first, later, strict=True):
        phi.add_incoming(at_first, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed(">", fewer, WORD(0)), body, after)
    builder.position_at_end(after)
    ended = [builder.phi(block.sums) for _ in places]
    for phi, at_first, then in zip(ended, begun, found, strict=True):
        phi.add_incoming(at_first, before)
        phi.add_incoming(then, body)
    for place, value in zip(places, ended, strict=True):
        builder.store(value, place, align=4)


def _read_weights(builder: Any, place: Any) -> Any:
    return builder.sext(builder.load(builder.bitcast(place, HALVES.as_pointer()), align=2), PRODUCTS)


def _read_pair(builder: Any, place: Any) -> Any:
    """Return the two inputs at ``place``, sixteen times."""
    number = builder.load(builder.bitcast(place, WHOLE.as_pointer()), align=2)
    return builder.sext(builder.bitcast(spread(builder, number, SUMS), HALVES), PRODUCTS)


def _with_products(builder: Any, sums: Any, weights: Any, inputs: Any) -> Any:
    products = builder.mul(weights, inputs)
    both = builder.add(_every_other(builder, products, 0), _every_other(builder, products, 1))
    return builder.add(sums, both)


def _read_input(builder: Any, place: Any) -> Any:
    """Return the float32 at ``place``, sixteen times."""
    number = builder.load(builder.bitcast(place, FLOAT.as_pointer()), align=FLOAT_BYTES)
    return spread(builder, number, FLOATS)


def _read_float_weights(builder: Any, place: Any) -> Any:
    return builder.load(builder.bitcast(place, FLOATS.as_pointer()), align=FLOAT_BYTES)


def _with_float_product(builder: Any, sums: Any, weights: Any, inputs: Any) -> Any:
    """Return the sums with a product each, rounded twice: not every processor could round once."""
    return builder.fadd(sums, builder.fmul(weights, inputs))


def _adds(function: Any, block: BlockOfSums) -> None:
    """Let ``function`` add products to such a block; how large that is are literals in kernels."""

    @type_callable(function)
    def typer_of(_context: Any) -> Any:
        def typer(
            rows: Any,
            vectors: Any,
            s: Any,
            s_step: Any,
            w: Any,
            w_step: Any,
            i: Any,
            i_step: Any,
            n: Any,
            ahead: Any,
        ) -> Any:
            if not all(isinstance(one, numba.types.Literal) for one in (rows, vectors)):
                return None  # numba asks again with the literals
            kept = ahead if isinstance(ahead, numba.types.Literal) else INT64
            return VOID(rows, vectors, *[INT64] * 7, kept)

        return typer

    @lower_builtin(function, numba.types.VarArg(numba.types.Any))
    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, vectors, *_, ahead = signature.args
        fetches = getattr(ahead, "literal_value", None) != 0
        add_to_block(builder, block, rows.literal_value, vectors.literal_value, args[2:], fetches=fetches)
        return context.get_dummy_value()


_adds(add_products, BlockOfSums(SUMS, _read_weights, _read_pair, _with_products))
_adds(add_float_products, BlockOfSums(FLOATS, _read_float_weights, _read_input, _with_float_product))
