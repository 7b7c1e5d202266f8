"""Lowering of sums of products, sixteen at a time (``jit.products``)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba.extending import lower_builtin, type_callable

from territorial.jit.lowering.operations import Memory, Vector, machine_code, same, spread
from territorial.jit.lowering.simd import fetch_line
from territorial.jit.products import (
    FLOAT_BYTES,
    SIXTEEN,
    add_float_products,
    add_products,
    added,
    address_of,
    float_at,
    half_at,
    halves_at,
    larger,
    number_at,
    parts_of,
    put_between,
    put_float,
    put_half,
    put_sums,
    put_turned,
    rounded,
    sums_at,
    zeros,
)

HALF, NUMBER = ir.IntType(16), ir.IntType(32)
SUMS, PRODUCTS, HALVES = (
    ir.VectorType(NUMBER, SIXTEEN),
    ir.VectorType(NUMBER, 2 * SIXTEEN),
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
    number = ir.IntType(64)
    hidden = builder.asm(ir.FunctionType(number, [number]), "", "=r,0", [address], False)
    return builder.inttoptr(hidden, kind.as_pointer())


def _int(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


def _moved(builder: Any, pointer: Any, vector: int, kind: Any) -> Any:
    """Return a pointer to vector number ``vector`` of ``kind``, each of which has 64 bytes."""
    return builder.bitcast(builder.gep(pointer, [_int(vector * SIXTEEN * 4)]), kind.as_pointer())


INT64, VOID = numba.types.int64, numba.types.void


def _widened(builder: Any, halves: Any) -> Any:
    return builder.sext(halves, PRODUCTS)


def _every_other(builder: Any, products: Any, first: int) -> Any:
    places = [ir.Constant(NUMBER, i) for i in range(first, 2 * SIXTEEN, 2)]
    return builder.shuffle_vector(products, products, ir.Constant(SUMS, places))


@machine_code(address_of, INT64, numba.types.Array)
def _address_of(builder: Any, array: Memory) -> Any:
    return builder.ptrtoint(array.first, ir.IntType(64))


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
    wide = ir.VectorType(ir.IntType(64), SIXTEEN)
    factor = builder.sext(spread(builder, builder.trunc(number, NUMBER), SUMS), wide)
    products = builder.mul(builder.sext(sums, wide), factor)
    return builder.trunc(builder.ashr(products, spread(builder, bits, wide)), SUMS)


@machine_code(half_at, INT64, INT64)
def _half_at(builder: Any, address: Any) -> Any:
    return builder.sext(loaded(builder, address, HALF, 2), ir.IntType(64))


@machine_code(put_half, VOID, INT64, INT64)
def _put_half(builder: Any, address: Any, number: Any) -> None:
    builder.store(builder.trunc(number, HALF), pointer_to(builder, address, HALF), align=2)


@machine_code(number_at, INT64, INT64)
def _number_at(builder: Any, address: Any) -> Any:
    return loaded(builder, address, ir.IntType(64), 8)


@machine_code(rounded, SIXTEEN_SUMS, SIXTEEN_SUMS, INT64)
def _rounded(builder: Any, sums: Any, shift: Any) -> Any:
    bits, one = builder.trunc(shift, NUMBER), ir.Constant(NUMBER, 1)
    half = builder.shl(one, builder.sub(bits, one))
    return builder.ashr(builder.add(sums, spread(builder, half, SUMS)), spread(builder, bits, SUMS))


@machine_code(put_between, VOID, INT64, SIXTEEN_SUMS, INT64, INT64)
def _put_between(builder: Any, address: Any, sums: Any, least: Any, most: Any) -> None:
    low, high = (spread(builder, builder.trunc(bound, NUMBER), SUMS) for bound in (least, most))
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
        return builder.add(first, builder.mul(step, _int(i)))

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
    row_places = [builder.gep(sums, [builder.mul(sums_step, _int(r))]) for r in range(rows)]
    places = [_moved(builder, place, v, block.sums) for place in row_places for v in range(vectors)]
    begun = [builder.load(place, align=4) for place in places]
    body, after = (builder.append_basic_block(name) for name in ("products", "products.done"))
    builder.cbranch(builder.icmp_signed(">", count, _int(0)), body, after)
    builder.position_at_end(body)
    left, weight, given = (builder.phi(one.type) for one in (count, weights, inputs))
    now = [builder.phi(block.sums) for _ in places]
    lines = [_moved(builder, weight, v, byte) for v in range(vectors)]
    read = [block.weights(builder, line) for line in lines]
    for line in lines if fetches else ():
        fetch_line(builder, builder.gep(line, [ahead]))
    found = []
    for r in range(rows):
        both = block.inputs(builder, builder.gep(given, [builder.mul(inputs_step, _int(r))]))
        row = now[r * vectors : (r + 1) * vectors]
        found += [block.added(builder, one, of, both) for one, of in zip(row, read, strict=True)]
    fewer = builder.sub(left, _int(1))
    later = fewer, builder.gep(weight, [weights_step]), builder.gep(given, [_int(4)]), *found
    first = count, weights, inputs, *begun
    for phi, at_first, then in zip((left, weight, given, *now), first, later, strict=True):
        phi.add_incoming(at_first, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed(">", fewer, _int(0)), body, after)
    builder.position_at_end(after)
    ended = [builder.phi(block.sums) for _ in places]
    for phi, at_first, then in zip(ended, begun, found, strict=True):
        phi.add_incoming(at_first, before)
        phi.add_incoming(then, body)
    for place, value in zip(places, ended, strict=True):
        builder.store(value, place, align=4)


def _read_weights(builder: Any, place: Any) -> Any:
    return _widened(builder, builder.load(builder.bitcast(place, HALVES.as_pointer()), align=2))


def _read_pair(builder: Any, place: Any) -> Any:
    """Return the two inputs at ``place``, sixteen times."""
    number = builder.load(builder.bitcast(place, NUMBER.as_pointer()), align=2)
    return _widened(builder, builder.bitcast(spread(builder, number, SUMS), HALVES))


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
