"""``BoundArguments``: arguments of kernels as 64-bit words with a signature.

A kernel takes every array as 5 + 2 D words for D dimensions: two that are zero, the number of entries, the
bytes of one, its address, the shape and the strides. That is numba's layout of an array, and a tuple is what
its entries are, one after the other. So the words of a batch, which has a hundred arrays, are made once and
kept as ``BoundArguments``.
"""

import ctypes
import hashlib
import sys
from array import array
from typing import Any, Generic, TypeVar

import numpy as np

Arguments = TypeVar("Arguments", bound=tuple[Any, ...])

KINDS = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
SIZES = tuple(np.dtype(kind).itemsize for kind in KINDS)
_DTYPES = {np.dtype(kind): number for number, kind in enumerate(KINDS)}
_SCALARS: dict[type, int] = {
    bool: KINDS.index("?"),
    int: KINDS.index("i8"),
    float: KINDS.index("f8"),
} | {dtype.type: number for dtype, number in _DTYPES.items()}
# As which whole numbers the bits of others go into words.
_BITS: dict[type, Any] = {float: np.int64, np.float64: np.int64, np.float32: np.int32, np.uint64: np.int64}
WORD_BYTES = 8
IN_C_ORDER, IN_FORTRAN_ORDER, ARRAYS = 0x1, 0x2, 0x100
FLAGS = IN_C_ORDER | 0x100 | 0x400
"""Flags of arrays that tell forms apart: the latter two are whether an array is aligned, and writeable."""
# Of the whole numbers that Python gives to kernels as int64.
_LARGEST = 2**63 - 1
OBJECT_BYTES, TUPLE_BYTES, INT_IS_TAGGED, ARRAY, INT, FLOAT, FALSE, TRUE, DTYPES = range(9)
# What machine code knows of this Python and numpy, to read arguments by itself: in places as named above.
# These are how many bytes an object has that holds nothing, and a tuple; whether whole numbers hold a tag,
# not their number of digits; and the addresses of types, numbers, and each of the dtypes.
_PYTHON = array(
    "q",
    [
        object.__basicsize__,
        tuple.__basicsize__,
        sys.version_info >= (3, 12),
        *map(id, (np.ndarray, int, float, False, True, *_DTYPES)),
    ],
)
PYTHON_AT, _ = _PYTHON.buffer_info()


def take_apart(values: tuple[Any, ...], signature: list[int | str], words: list[int]) -> None:
    """Append the types of ``values`` to ``signature``, and their words to ``words``.

    TypeError for what machine code of the library does not take.
    """
    for value in values:
        kind = type(value)
        if kind is np.ndarray and value.dtype in _DTYPES:
            number, flags, shape = _DTYPES[value.dtype], value.flags.num, value.shape
            order = 0 if flags & IN_C_ORDER else flags & IN_FORTRAN_ORDER
            signature.append(number << 20 | len(shape) << 12 | order | flags & FLAGS)
            words += (0, 0, value.size, SIZES[number], value.ctypes.data, *shape, *value.strides)
        elif kind in _SCALARS and not (kind is int and not ~_LARGEST <= value <= _LARGEST):
            signature.append(_SCALARS[kind])
            words.append(int(np.asarray(value).view(_BITS[kind])) if kind in _BITS else int(value))
        elif kind is BoundArguments:
            signature.append(value.name)
            words.append(value.address)
        elif isinstance(value, tuple):
            signature.append(~len(value))
            take_apart(value, signature, words)
        else:
            raise TypeError(
                "arguments of machine code are arrays and numbers of at most 64 bits, and tuples of such, "
                f"not {value.dtype if kind is np.ndarray else kind.__name__}"
            )


def hash_of(signature: list[int | str]) -> str:
    """Return a name of a signature, the same in every process."""
    return hashlib.blake2b(repr(signature).encode(), digest_size=8).hexdigest()


class BoundArguments(Generic[Arguments]):
    """``arguments``, a named tuple of numbers, arrays and named tuples of such, for kernels.

    What is taken apart are the arrays, not what is in them: that may change, and is shared. Numbers are
    copied. Not for another process: make a new one there. TypeError for anything else.

    Attributes:
        address: where a kernel finds the arguments; ``territorial.jit.decorators.arguments_of`` reads them.
        name: what they are, for signatures.
        num_words: how many words they are.

    """

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments  # so that their memory stays
        signature: list[int | str] = []
        words = [0, 0, 0]  # the address of the arguments, and what a kernel writes: its result and error
        take_apart(arguments, signature, words)
        self.name = f"{type(arguments).__qualname__} {hash_of(signature)}"
        self.num_words = len(words) - 3
        self._words = np.array(words, np.int64)
        first = self._words.ctypes.data
        self._words[0] = self.address = first + 3 * WORD_BYTES
        self._as_parameter_ = ctypes.c_void_p(first)  # of a call that takes nothing else

    def __reduce__(self) -> Any:
        raise TypeError(
            "bound kernel arguments cannot be copied to another process; bind the arguments again there"
        )
