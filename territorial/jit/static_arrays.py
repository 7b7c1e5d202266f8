"""Arrays whose shape the compiler knows: of each, only the address is at hand while a kernel runs.

An array as numba knows it is nine numbers, and a game has some thirty arrays: far more than there are
registers. A kernel spends a quarter of its time moving them about, and multiplies to find an entry. A
``SizedArray`` is an address and those lengths that differ from batch to batch; all others are part of its
type. So every size of board gets machine code of its own, which takes the compiler another 20 s.

Indices must not be negative: there is no counting from the end, and no check of any bound. What an ordinary
array can do beyond entries and rows of them (slices, arithmetic) does not compile.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from math import prod
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    lower_builtin,
    lower_getattr,
    models,
    register_model,
    type_callable,
)

Shape = tuple[int | None, ...]
INT = ir.IntType(64)


class SizedArray(types.Type):
    """The numba type of an array in C order; lengths that the compiler does not know are None."""

    def __init__(self, dtype: Any, shape: Shape) -> None:
        self.dtype, self.shape = dtype, shape
        super().__init__(name=f"SizedArray({dtype}, {shape})")

    @property
    def ndim(self) -> int:
        """Return how many axes it has."""
        return len(self.shape)

    def entry(self, num_indices: int) -> Any:
        """Return the type of what is at ``num_indices`` indices."""
        rest = self.shape[num_indices:]
        return SizedArray(self.dtype, rest) if rest else self.dtype


@register_model(SizedArray)
class _SizedModel(models.StructModel):
    """The address, and the lengths that are not part of the type."""

    def __init__(self, manager: Any, of_type: SizedArray) -> None:
        lengths = [(f"length{i}", types.intp) for i in range(of_type.ndim) if of_type.shape[i] is None]
        super().__init__(manager, of_type, [("data", types.CPointer(of_type.dtype)), *lengths])


def sized_type(arguments: Any, kind: Any, unknown_lengths: Mapping[str, int], path: str = "") -> Any:
    """Return ``kind``, the type of ``arguments``, with sized arrays in it; see ``bound_arguments.Held``."""
    if isinstance(kind, types.BaseNamedTuple):
        fields = zip(arguments, kind, arguments._fields, strict=True)
        parts = [sized_type(value, of, unknown_lengths, f"{path}{name}.") for value, of, name in fields]
        return types.NamedTuple(parts, kind.instance_class)
    name = path[:-1]
    number = unknown_lengths.get(name, unknown_lengths.get(name.split(".", 1)[0]))
    if number is None or not isinstance(kind, types.Array):
        return kind
    if kind.layout != "C" or not kind.mutable:
        raise TypeError(
            f"{name} is {kind}; it must be writable and in C order, because a specialised "
            "kernel has its shape compiled in"
        )
    return SizedArray(kind.dtype, (None,) * number + arguments.shape[number:])


def as_sized(context: Any, builder: Any, kind: Any, value: Any, sized: Any) -> Any:
    """Return the machine value of ``value``, which is of type ``kind``, as one of ``sized``."""
    if isinstance(sized, SizedArray):
        array = context.make_array(kind)(context, builder, value)
        return _made(context, builder, sized, array.data, cgutils.unpack_tuple(builder, array.shape))
    if isinstance(sized, types.NamedTuple):
        parts = [
            as_sized(context, builder, of, builder.extract_value(value, i), as_of)
            for i, (of, as_of) in enumerate(zip(kind, sized, strict=True))
        ]
        return context.make_tuple(builder, sized, parts)
    return value


def _made(context: Any, builder: Any, sized: SizedArray, data: Any, lengths: list[Any]) -> Any:
    """Return the machine value of ``sized``, which keeps those of its ``lengths`` that the type has not."""
    made = cgutils.create_struct_proxy(sized)(context, builder)
    made.data = data
    for i, length in enumerate(sized.shape):
        if length is None:
            setattr(made, f"length{i}", lengths[i])
    return made._getvalue()


def _lengths(context: Any, builder: Any, sized: SizedArray, value: Any) -> list[Any]:
    array = cgutils.create_struct_proxy(sized)(context, builder, value)
    return [
        getattr(array, f"length{i}") if length is None else ir.Constant(INT, length)
        for i, length in enumerate(sized.shape)
    ]


def address_of(context: Any, builder: Any, sized: SizedArray, value: Any) -> Any:
    """Return where an array begins."""
    return cgutils.create_struct_proxy(sized)(context, builder, value).data


def _pointer_to(context: Any, builder: Any, sized: SizedArray, value: Any, kind: Any, index: Any) -> Any:
    """Return the address of the first entry at ``index``, a number or a tuple of the type ``kind``."""
    kinds = kind if isinstance(kind, types.BaseTuple) else [kind]
    indices = cgutils.unpack_tuple(builder, index) if isinstance(kind, types.BaseTuple) else [index]
    lengths = _lengths(context, builder, sized, value)
    place: Any = ir.Constant(INT, 0)
    for axis, (of, number) in enumerate(zip(kinds, indices, strict=True)):
        wide = context.cast(builder, number, of, types.intp if of.signed else types.uintp)
        place = builder.add(place, builder.mul(wide, _product(builder, lengths[axis + 1 :])))
    return builder.gep(address_of(context, builder, sized, value), [place])


def _product(builder: Any, lengths: list[Any]) -> Any:
    known = prod(length.constant for length in lengths if isinstance(length, ir.Constant))
    product: Any = ir.Constant(INT, known)
    for length in lengths:
        if not isinstance(length, ir.Constant):
            product = builder.mul(product, length)
    return product


def _is_index(index: Any) -> bool:
    kinds = index if isinstance(index, types.BaseTuple) else [index]
    return all(isinstance(kind, types.Integer) for kind in kinds)


def _num_indices(index: Any) -> int:
    return len(index) if isinstance(index, types.BaseTuple) else 1


@type_callable(operator.getitem)
def _type_of_getitem(_context: Any) -> Any:
    def result(array: Any, index: Any) -> Any:
        is_entry = isinstance(array, SizedArray) and _is_index(index) and _num_indices(index) <= array.ndim
        return array.entry(_num_indices(index)) if is_entry else None

    return result


@type_callable(operator.setitem)
def _type_of_setitem(_context: Any) -> Any:
    def result(array: Any, index: Any, value: Any) -> Any:
        is_entry = isinstance(array, SizedArray) and _is_index(index) and _num_indices(index) == array.ndim
        return types.none if is_entry else None

    return result


def _getitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array_type, index_type = signature.args
    pointer = _pointer_to(context, builder, array_type, args[0], index_type, args[1])
    if not isinstance(signature.return_type, SizedArray):
        return context.unpack_value(builder, array_type.dtype, pointer)
    lengths = _lengths(context, builder, array_type, args[0])[_num_indices(index_type) :]
    return _made(context, builder, signature.return_type, pointer, lengths)


def _setitem(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array_type, index_type, value_type = signature.args
    pointer = _pointer_to(context, builder, array_type, args[0], index_type, args[1])
    value = context.cast(builder, args[2], value_type, array_type.dtype)
    context.pack_value(builder, array_type.dtype, value, pointer)
    return context.get_dummy_value()


for _index in (types.Integer, types.BaseTuple):
    lower_builtin(operator.getitem, SizedArray, _index)(_getitem)
    lower_builtin(operator.setitem, SizedArray, _index, types.Any)(_setitem)


@type_callable(len)
def _type_of_len(_context: Any) -> Any:
    return lambda array: types.intp if isinstance(array, SizedArray) else None


@lower_builtin(len, SizedArray)
def _len(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _lengths(context, builder, signature.args[0], args[0])[0]


@infer_getattr
class _Attributes(AttributeTemplate):
    key = SizedArray

    def resolve_shape(self, array: SizedArray) -> Any:
        return types.UniTuple(types.intp, array.ndim)

    def resolve_size(self, _array: SizedArray) -> Any:
        return types.intp


@lower_getattr(SizedArray, "shape")
def _shape(context: Any, builder: Any, sized: SizedArray, value: Any) -> Any:
    kind = types.UniTuple(types.intp, sized.ndim)
    return context.make_tuple(builder, kind, _lengths(context, builder, sized, value))


@lower_getattr(SizedArray, "size")
def _size(context: Any, builder: Any, sized: SizedArray, value: Any) -> Any:
    return _product(builder, _lengths(context, builder, sized, value))
