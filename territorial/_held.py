"""Arguments that a kernel gets with every call, taken apart once instead of every time.

To call a kernel, numba looks up the memory, the shape and the strides of every array that it is given. A
step has a hundred arrays, and looking them up took as long as a game does. ``Held`` keeps what was found; a
kernel that is given it gets at the arguments with ``arguments_of``.

With ``NUMBA_DISABLE_JIT=1`` it just keeps the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numba
import numpy as np
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

from territorial._jit import JIT_ENABLED

Arguments = TypeVar("Arguments", bound=tuple[Any, ...])


class Held(Generic[Arguments]):
    """``arguments``, a named tuple of numbers, arrays and named tuples of such, for kernels.

    What is taken apart are the arrays, not what is in them: that may change, and is shared. Numbers are
    copied. Not for another process: make it anew there.

    ``hold`` is a kernel (arguments, memory) that calls ``keep`` with them. It stands beside the class of the
    arguments, as numba keeps with a compiled kernel where the classes of its arguments are.
    """

    def __init__(self, arguments: Arguments, hold: Callable[[Arguments, Any], None]) -> None:
        self.arguments = arguments  # so that their memory stays
        if JIT_ENABLED:
            self.type = HeldType(numba.typeof(arguments))
            context = cpu_target.target_context
            size = context.get_abi_sizeof(context.get_value_type(self.type.arguments))
            self._memory = np.zeros(size, np.uint8)
            hold(arguments, self._memory)
            self.address: int = self._memory.ctypes.data

    def __reduce__(self) -> Any:
        raise TypeError("what is held for kernels belongs to this process: make it anew from the arguments")


if JIT_ENABLED:

    class HeldType(numba.types.Type):  # type: ignore[misc]
        """The numba type of what is held for kernels."""

        def __init__(self, arguments: Any) -> None:
            self.arguments = arguments
            super().__init__(name=f"Held({arguments})")

    @register_model(HeldType)
    class _HeldModel(models.OpaqueModel):  # type: ignore[misc]
        """The address of the arguments as the compiler knows them."""

    @typeof_impl.register(Held)  # type: ignore[untyped-decorator]
    def _type_of(held: Any, _context: Any) -> Any:
        return held.type

    @unbox(HeldType)  # type: ignore[untyped-decorator]
    def _unbox(_type: Any, held: Any, context: Any) -> Any:
        address = context.pyapi.object_getattr_string(held, "address")
        pointer = context.pyapi.long_as_voidptr(address)
        context.pyapi.decref(address)
        return NativeValue(
            pointer, is_error=cgutils.is_not_null(context.builder, context.pyapi.err_occurred())
        )

    @intrinsic  # type: ignore[untyped-decorator]
    def arguments_of(_context: Any, held: Any) -> Any:
        """Return the arguments that are held."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return builder.load(builder.bitcast(args[0], kind.as_pointer()))

        return held.arguments(held), generate

    @intrinsic  # type: ignore[untyped-decorator]
    def keep(_context: Any, arguments: Any, memory: Any) -> Any:
        """Write ``arguments`` into ``memory``, as they are in machine code."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[1])(context, builder, args[1])
            builder.store(args[0], builder.bitcast(array.data, args[0].type.as_pointer()))
            return context.get_dummy_value()

        return numba.types.void(arguments, memory), generate

else:

    def arguments_of(held: Any) -> Any:
        """Return the arguments that are held."""
        return held.arguments

    def keep(arguments: Any, memory: Any) -> None:
        """Write ``arguments`` into ``memory``: only where kernels are compiled."""
