"""``machine_code``: gives a Python function machine code of its own in kernels; and what that works on."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numba
from llvmlite import ir
from numba.extending import lower_builtin, models, register_model, type_callable

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
