"""Arguments that a kernel gets with every call, unboxed once instead of every time.

To call a kernel, numba looks up the memory, the shape and the strides of every array that it is given. For
the hundred arrays of a step that takes 2 microseconds a call, ten times as long as the call itself.
``BoundArguments`` keeps what was found; a kernel that is given it reads the arguments with
``arguments_of``.

With ``NUMBA_DISABLE_JIT=1`` it just keeps the arguments.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numba
import numpy as np
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

from territorial.jit.decorators import JIT_ENABLED

Arguments = TypeVar("Arguments", bound=tuple[Any, ...])


class BoundArguments(Generic[Arguments]):
    """``arguments``, a named tuple of numbers, arrays and named tuples of such, for kernels.

    What is unboxed are the arrays, not what is in them: that may change, and is shared. Numbers are
    copied. Not for another process: make a new one there.

    ``hold`` is a kernel (arguments, memory) that calls ``keep`` with them. It stands beside the class of the
    arguments, as numba keeps with a compiled kernel where the classes of its arguments are.
    """

    def __init__(self, arguments: Arguments, hold: Callable[[Arguments, Any], None]) -> None:
        self.arguments = arguments  # so that their memory stays
        self.type: Any = type_of(arguments)
        """The type of the only argument that a kernel gets: what ``entry_of`` and ``is_ready`` ask for."""
        if JIT_ENABLED:
            context = cpu_target.target_context
            size = context.get_abi_sizeof(context.get_value_type(self.type.arguments))
            self._memory = np.zeros(size, np.uint8)
            hold(arguments, self._memory)
            self.address: int = self._memory.ctypes.data

    def __reduce__(self) -> Any:
        raise TypeError(
            "bound kernel arguments cannot be copied to another process; bind the arguments again there"
        )


if JIT_ENABLED:

    class BoundArgumentsType(numba.types.Type):
        """The numba type of what is held: ``arguments`` is theirs."""

        def __init__(self, arguments: Any) -> None:
            self.arguments = arguments
            super().__init__(name=f"BoundArguments({arguments})")

        @property
        def key(self) -> Any:
            """Return what makes two types one: not names alone, but the classes of the tuples."""
            return self.arguments

    def type_of(arguments: Any) -> Any:
        """Return the type that ``BoundArguments`` has for kernels."""
        return BoundArgumentsType(numba.typeof(arguments))

    @register_model(BoundArgumentsType)
    class _HeldModel(models.OpaqueModel):
        """The address of the arguments as the compiler knows them."""

    @typeof_impl.register(BoundArguments)
    def _type_of(held: Any, _context: Any) -> Any:
        return held.type

    @unbox(BoundArgumentsType)
    def _unbox(_type: Any, held: Any, context: Any) -> Any:
        address = context.pyapi.object_getattr_string(held, "address")
        pointer = context.pyapi.long_as_voidptr(address)
        context.pyapi.decref(address)
        return NativeValue(
            pointer, is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
        )

    @intrinsic
    def arguments_of(_context: Any, held: Any) -> Any:
        """Return the arguments that are held."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(held.arguments)
            return builder.load(builder.bitcast(args[0], kind.as_pointer()))

        return held.arguments(held), generate

    @intrinsic
    def call_at(_context: Any, address: Any, compiled: Any, held: Any, numbers: Any) -> Any:
        """Call the kernel ``compiled``, which lies at ``address``, with ``held`` and ``numbers``, a tuple.

        RuntimeError if the address is 0. ``address_of`` gives the address for these types.
        """
        kinds = [held, *map(numba.types.unliteral, numbers)]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            with builder.if_then(cgutils.is_null(builder, args[0]), likely=False):
                context.call_conv.return_user_exc(
                    builder, RuntimeError, ("a kernel is called before its address is known",)
                )
            function = context.call_conv.get_function_type(numba.types.none, kinds)
            called = builder.inttoptr(args[0], function.as_pointer())
            given = [args[2], *cgutils.unpack_tuple(builder, args[3])]
            status, _ = context.call_conv.call_function(builder, called, numba.types.none, kinds, given)
            with builder.if_then(status.is_error, likely=False):
                context.call_conv.return_status_propagate(builder, status)
            return context.get_dummy_value()

        return numba.types.void(address, compiled, held, numbers), generate

    @intrinsic
    def keep(_context: Any, arguments: Any, memory: Any) -> Any:
        """Write ``arguments`` into ``memory``, as they are in machine code."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[1])(context, builder, args[1])
            builder.store(args[0], builder.bitcast(array.data, args[0].type.as_pointer()))
            return context.get_dummy_value()

        return numba.types.void(arguments, memory), generate

else:

    def type_of(arguments: Any) -> Any:
        """Return None: nothing is compiled."""

    def arguments_of(held: Any) -> Any:
        """Return the arguments that are held."""
        return held.arguments

    def call_at(address: Any, compiled: Any, held: Any, numbers: Any) -> None:
        """Call ``compiled``."""
        compiled(held, *numbers)

    def keep(arguments: Any, memory: Any) -> None:
        """Write ``arguments`` into ``memory``: only where kernels are compiled."""
