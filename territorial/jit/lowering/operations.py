"""``machine_code``: gives a Python function machine code of its own in kernels.

Here are those on words, on numbers that threads share, and on bound arguments.
"""

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
