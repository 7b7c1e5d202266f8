"""Lowering: ``machine_code`` gives functions machine code of their own in kernels, for what Python lacks."""

import operator
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import (
    NativeValue,
    lower_builtin,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from territorial.jit.arguments import WORD_BYTES, BoundArguments
from territorial.jit.decorators import (
    arguments_of,
    call_at,
    float_of_bits,
    highest_bit,
    lowest_bit,
    popcount,
    quotient,
)
from territorial.jit.simd import (
    EIGHT,
    FLOAT_BYTES,
    LINE,
    SIXTEEN,
    add_float_products,
    add_products,
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
from territorial.jit.thread_pool import add, exchange, load, pause, replace

F = TypeVar("F", bound=Callable[..., Any])

ENTRY = None
"""To ``machine_code``: a number of the type that entries of the first argument have."""


class Memory(NamedTuple):
    """An array as generators of machine code see it: its type, and the address of its entries."""

    kind: Any
    first: Any


class Vector(numba.types.Type):
    """A numba type of several numbers that lie in one register; ``vector`` is LLVM's type of them."""

    def __init__(self, name: str, vector: Any) -> None:
        self.vector = vector
        super().__init__(name=name)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, of_type: Any) -> None:
        super().__init__(manager, of_type, of_type.vector)


def same(vector: Any, value: int) -> Any:
    """Return a constant of LLVM's type ``vector``, all entries of which are ``value``."""
    return ir.Constant(vector, [ir.Constant(vector.element, value)] * vector.count)


def spread(builder: Any, entry: Any, vector: Any) -> Any:
    """Return a vector of LLVM's type ``vector`` with ``entry`` in each place."""
    number, none = ir.IntType(32), ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(none, entry, ir.Constant(number, 0))
    return builder.shuffle_vector(first, none, same(ir.VectorType(number, vector.count), 0))


def machine_code(function: Any, result: Any, *kinds: Any) -> Callable[[F], F]:
    """Return a decorator for the generator of the machine code of ``function`` in kernels.

    That is given numba's builder and the arguments, arrays as ``Memory``, and returns the result. In Python,
    and with ``NUMBA_DISABLE_JIT=1``, ``function`` does what it says. ``result`` and ``kinds``: the types of
    what it returns and takes, or ENTRY; ``numba.types.Array`` for any array.
    """

    def registered(generate: F) -> F:
        @type_callable(function)
        def typer_of(_context: Any) -> Any:
            @wraps(function)
            def typer(*given: Any) -> Any:
                def meant(kind: Any, found: Any) -> Any:
                    return found if kind is numba.types.Array else given[0].dtype if kind is ENTRY else kind

                return meant(result, None)(*map(meant, kinds, given))

            return typer

        @lower_builtin(function, numba.types.VarArg(numba.types.Any))
        def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            given = [
                Memory(kind, context.make_array(kind)(context, builder, value).data)
                if isinstance(kind, numba.types.Array)
                else value
                for kind, value in zip(signature.args, args, strict=True)
            ]
            found = generate(builder, *given)
            return context.get_dummy_value() if signature.return_type == numba.types.none else found

        return generate

    return registered


# ---- words and whole numbers (``jit.decorators``) --------------------------------------------------


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


# ---- numbers that threads share (``jit.thread_pool``) ----------------------------------------------

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
        builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


# ---- bound arguments and calls by address (``jit.arguments``) --------------------------------------


class BoundArgumentsType(numba.types.Type):
    """The numba type of bound arguments; ``arguments`` is the type of the tuple."""

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        super().__init__(name=f"BoundArguments({arguments})")

    @property
    def key(self) -> Any:
        """Return the key of the type: names and the classes of the tuples."""
        return self.arguments


@register_model(BoundArgumentsType)
class _BoundModel(models.OpaqueModel):
    """The address of the arguments as the compiler knows them."""


@typeof_impl.register(BoundArguments)
def _type_of(bound: Any, _context: Any) -> Any:
    kind = numba.typeof(bound.arguments)
    context = cpu_target.target_context
    size = context.get_abi_sizeof(context.get_value_type(kind))
    if size != WORD_BYTES * bound.num_words:
        raise TypeError(
            f"{kind} has {size} bytes, not {bound.num_words} words; bind only arrays and numbers of 64 bits"
        )
    return BoundArgumentsType(kind)


@unbox(BoundArgumentsType)
def _unbox(_type: Any, bound: Any, context: Any) -> Any:
    address = context.pyapi.object_getattr_string(bound, "address")
    pointer = context.pyapi.long_as_voidptr(address)
    context.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred()))


@type_callable(arguments_of)
def _typer_of_arguments(_context: Any) -> Any:
    return lambda bound: bound.arguments if isinstance(bound, BoundArgumentsType) else None


@lower_builtin(arguments_of, BoundArgumentsType)
def _arguments_of(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = context.get_value_type(signature.return_type)
    return builder.load(builder.bitcast(args[0], kind.as_pointer()))


@type_callable(call_at)
def _typer_of_call(_context: Any) -> Any:
    return lambda address, compiled, bound, numbers: numba.types.void


@lower_builtin(call_at, numba.types.VarArg(numba.types.Any))
def _call_at(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    with builder.if_then(cgutils.is_null(builder, args[0]), likely=False):
        context.call_conv.return_user_exc(
            builder, RuntimeError, ("a kernel is called before its address is known",)
        )
    kinds = [signature.args[2], *map(numba.types.unliteral, signature.args[3])]
    function = context.call_conv.get_function_type(numba.types.none, kinds)
    called = builder.inttoptr(args[0], function.as_pointer())
    given = [args[2], *cgutils.unpack_tuple(builder, args[3])]
    status, _ = context.call_conv.call_function(builder, called, numba.types.none, kinds, given)
    with builder.if_then(status.is_error, likely=False):
        context.call_conv.return_status_propagate(builder, status)
    return context.get_dummy_value()


# ---- eight words (``jit.simd``) --------------------------------------------------------------------

WORD = ir.IntType(64)
VECTOR = ir.VectorType(WORD, EIGHT)
EIGHT_WORDS = Vector("EightWords", VECTOR)


def _operation(operation: Any, name: str, vector: Vector, others: tuple[Any, ...]) -> None:
    """Let numba compile ``operation`` of a vector with each of the types ``others``: that, or one number."""

    @type_callable(operation)
    def of_types(_context: Any) -> Any:
        def result(a: Any, b: Any) -> Any:
            return vector if a == vector and b in others else None

        return result

    for other in others:

        @lower_builtin(operation, vector, other)
        def generate(_context: Any, builder: Any, signature: Any, args: Any) -> Any:
            is_one = signature.args[1] != vector
            second = spread(builder, args[1], vector.vector) if is_one else args[1]
            return getattr(builder, name)(args[0], second)


for _operators, _instruction in (
    ((operator.and_, operator.iand), "and_"),
    ((operator.or_, operator.ior), "or_"),
    ((operator.xor, operator.ixor), "xor"),
):
    for _operator in _operators:
        _operation(_operator, _instruction, EIGHT_WORDS, (EIGHT_WORDS, numba.types.uint64))
for _operator, _instruction in ((operator.lshift, "shl"), (operator.rshift, "lshr")):
    _operation(_operator, _instruction, EIGHT_WORDS, (numba.types.uint64,))


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
    mask = ir.Constant(ir.VectorType(WHOLE, EIGHT), [ir.Constant(WHOLE, i) for i in places])
    return builder.shuffle_vector(words, spread(builder, word, VECTOR), mask)


NUMBER, WORD_TYPE = numba.types.intp, numba.types.uint64


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
_operation(operator.add, "add", SIXTEEN_SUMS, (SIXTEEN_SUMS,))


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
    """How products are added to a block of sums: LLVM's types of what is read, and what is made of them."""

    sums: Any  # sixteen sums
    weights: Any  # the weights of sixteen outputs
    inputs: Any  # what these are multiplied with, each of them with the same
    align: int  # bytes, of weights and inputs
    added: Callable[[Any, Any, Any, Any], Any]  # returns sums with products of weights and inputs

    def read(self, builder: Any, place: Any, kind: Any) -> Any:
        """Return what of ``kind`` is at ``place``."""
        return builder.load(builder.bitcast(place, kind.as_pointer()), align=self.align)


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
    read = [block.read(builder, line, block.weights) for line in lines]
    for line in lines if fetches else ():
        fetch_line(builder, builder.gep(line, [ahead]))
    found = []
    for r in range(rows):
        place = builder.gep(given, [builder.mul(inputs_step, WORD(r))])
        one = spread(builder, block.read(builder, place, block.inputs), block.sums)
        both = builder.bitcast(one, block.weights)
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


def _with_products(builder: Any, sums: Any, weights: Any, inputs: Any) -> Any:
    """Return the sums with those of the products of pairs."""
    products = builder.mul(builder.sext(weights, PRODUCTS), builder.sext(inputs, PRODUCTS))
    both = builder.add(_every_other(builder, products, 0), _every_other(builder, products, 1))
    return builder.add(sums, both)


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


_adds(add_products, BlockOfSums(SUMS, HALVES, WHOLE, 2, _with_products))
_adds(add_float_products, BlockOfSums(FLOATS, FLOATS, FLOAT, FLOAT_BYTES, _with_float_product))
