"""Lowering of bound arguments and of calls by address (``jit.arguments``)."""

from typing import Any

import numba
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
from territorial.jit.decorators import arguments_of, call_at


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
