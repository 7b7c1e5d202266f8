"""Arguments that a kernel gets with every call, taken apart once instead of every time.

To call a kernel, numba looks up the memory, the shape and the strides of every array that it is given. For a
step those are a hundred arrays, and took as long as a game does. ``Held`` keeps what was found; a kernel
that is given it gets at the arguments with ``arguments_of``.

With ``NUMBA_DISABLE_JIT=1`` it just keeps the arguments.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

from territorial._jit import JIT_ENABLED, kernel

Arguments = TypeVar("Arguments", bound=tuple[Any, ...])


class Held(Generic[Arguments]):
    """``arguments``, a named tuple of numbers, arrays and named tuples of such, for kernels.

    What is taken apart are the arrays, not what is in them: that may change, and is shared. Numbers are
    copied. Not for another process: make it anew there.
    """

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments  # so that their memory stays
        if JIT_ENABLED:
            self.type = HeldType(numba.typeof(arguments))
            context = cpu_target.target_context
            size = context.get_abi_sizeof(context.get_value_type(self.type.arguments))
            self._memory = np.zeros(size, np.uint8)
            _hold(arguments, self._memory)
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
    def _write(_context: Any, arguments: Any, memory: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[1])(context, builder, args[1])
            builder.store(args[0], builder.bitcast(array.data, args[0].type.as_pointer()))
            return ir.Constant(ir.IntType(64), 0)

        return numba.types.int64(arguments, memory), generate

    @kernel
    def _hold(arguments: Any, memory: Any) -> None:
        _write(arguments, memory)

else:

    def arguments_of(held: Any) -> Any:
        """Return the arguments that are held."""
        return held.arguments
