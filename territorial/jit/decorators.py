"""Decorators of kernels, and operations on words and whole numbers.

``njit`` is for functions that other kernels call, ``kernel`` for the few that Python calls. Their machine
code comes from the library of this installation; where that has none, numba compiles them
(``territorial.jit.compiler``), and is imported only then. Both let other Python threads run meanwhile. With
``NUMBA_DISABLE_JIT=1`` both return the function itself and the word operations are plain Python, so every
kernel can be stepped through in a debugger.
"""

import importlib
import os
from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

import numpy as np

from territorial.jit.arguments import PYTHON_AT, BoundArguments, take_apart
from territorial.jit.library import FAILED, LEAST_RESULT, Entry, KernelCode, check_status, library

F = TypeVar("F", bound=Callable[..., Any])

JIT_ENABLED: bool = os.environ.get("NUMBA_DISABLE_JIT", "") in ("", "0")


def _compiler() -> Any:
    """Return the compiling module, which imports numba: 50 MB."""
    return importlib.import_module("territorial.jit.compiler")


class Compiled:
    """A function for kernels. Called from Python, by a test or at a prompt, it is compiled by itself.

    Numba takes it for a function that it has compiled, also in kernels of other packages.
    """

    def __init__(self, function: Callable[..., Any], *, is_inlined: bool = True) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.is_inlined = is_inlined

    def __call__(self, *arguments: Any) -> Any:
        """Call numba's compiled function."""
        return self.dispatcher(*arguments)

    def __get__(self, owner: Any, _kind: Any = None) -> Any:
        """Bind like a function that is an attribute of a class, so that Sphinx treats it as one."""
        return self if owner is None else MethodType(self, owner)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function."""
        return _compiler().dispatcher_of_part(self.py_func, is_inlined=self.is_inlined)

    @property
    def _numba_type_(self) -> Any:
        """The attribute that numba reads when another function uses this one."""
        return _compiler().type_of(self.dispatcher)


class _Formula(Compiled):
    """Arithmetic for kernels that Python calls as it is, for numbers and arrays."""

    def __call__(self, *arguments: Any) -> Any:
        """Compute it in Python."""
        with np.errstate(over="ignore"):  # numbers of 64 bits wrap, as they do in kernels
            return self.py_func(*arguments)


class Kernel(Compiled):
    """A kernel, taken from the library if its sources match."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for arguments like these."""
        if self.code is not None:
            word = self.code.call(id(arguments), PYTHON_AT)
            if word >= LEAST_RESULT:
                return self.code.read(word)
            if word >= FAILED:
                check_status(word - FAILED, self.code.call)
        found, words = self.find(arguments)
        return self.dispatcher(*arguments) if found is None else found.run(words)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function."""
        return _compiler().dispatcher_of_kernel(self.py_func)

    @cached_property
    def code(self) -> KernelCode | None:
        """The code of the kernel in the library."""
        return library().kernel(self.py_func)

    def find(self, arguments: tuple[Any, ...]) -> tuple[Entry | None, list[int]]:
        """Return the entry for ``arguments`` and these as words; None if numba is to compile the kernel."""
        signature: list[int | str] = []
        words: list[int] = []
        if self.code is None:
            return None, words
        try:
            take_apart(arguments, signature, words)
        except TypeError:
            return None, words
        return self.code.entries.get(tuple(signature)), words


def njit(function: F) -> F:
    """Compile ``function`` for use inside other kernels."""
    return cast(F, Compiled(function)) if JIT_ENABLED else function


def routine(function: F) -> F:
    """Compile ``function`` for use inside other kernels, which call it: for few numbers, and much to do.

    It is compiled once, however many places it is called from.
    """
    return cast(F, Compiled(function, is_inlined=False)) if JIT_ENABLED else function


def formula(function: F) -> F:
    """Return ``function`` for numbers and arrays in Python, and for kernels, which compile it.

    It must be arithmetic that both can do: no branches, ``np.maximum`` for ``max``, ``&`` for ``and``.
    Numbers of 64 bits wrap without a warning, as they do in kernels and arrays.
    """
    return cast(F, _Formula(function))


def kernel(function: F) -> F:
    """Compile ``function`` for calls from Python, without holding the GIL."""
    return cast(F, Kernel(function)) if JIT_ENABLED else function


def entry_of(compiled: Any, *arguments: Any) -> Callable[..., Any]:
    """Return the entry point of calls like this, which is compiled if necessary.

    To find out which of its signatures fits, a kernel looks at every argument on every call. The entry takes
    what it gets, so whatever else is passed to it corrupts memory. With ``NUMBA_DISABLE_JIT=1``: the kernel.
    """
    if not JIT_ENABLED:
        return cast(Callable[..., Any], compiled)
    found, _ = compiled.find(arguments)
    if found is None:
        return cast(Callable[..., Any], compiled.dispatcher.code_for(arguments).entry_point)
    is_bound = [*map(type, arguments)] == [BoundArguments]
    return cast(Callable[..., Any], found.call if is_bound else compiled)


def address_of(compiled: Any, *arguments: Any) -> int:
    """Return where a kernel lies for calls like this, as long as this process lives.

    For other kernels, which call it by ``call_at``. It is compiled if it has to be. With
    ``NUMBA_DISABLE_JIT=1``: 0.
    """
    if not JIT_ENABLED:
        return 0
    found, _ = compiled.find(arguments)
    return int(compiled.dispatcher.address(arguments) if found is None else found.address)


def arguments_of(bound: Any) -> Any:
    """Return the arguments that are bound, in a kernel."""
    return bound.arguments


def call_at(_address: Any, compiled: Any, bound: Any, numbers: Any) -> None:
    """Call the kernel ``compiled``, which lies at an address, with ``bound`` and ``numbers``, a tuple.

    RuntimeError if the address is 0. ``address_of`` gives the address for arguments like these.
    """
    compiled(bound, *numbers)


def quotient(number: Any, divisor: Any) -> Any:
    """Return number // divisor of whole numbers, or arrays of them, none negative, the divisor not 0.

    Where a division is made for every pair of players: for ``//`` the compiler has to correct what it
    rounds, as either may be negative, and that takes as long again.
    """
    return number // divisor


def popcount(word: Any) -> int:
    """Return the number of ones in a uint64."""
    return int(word).bit_count()


def lowest_bit(word: Any) -> int:
    """Return the index of the lowest one in a uint64, 64 if it is zero."""
    value = int(word) or 1 << 64
    return (value & -value).bit_length() - 1


def highest_bit(word: Any) -> int:
    """Return the index of the highest one in a uint64 that is not zero."""
    return int(word).bit_length() - 1


def float_of_bits(bits: Any) -> Any:
    """Return the float32 with the bits of an int32."""
    return np.int32(bits).view(np.float32)


ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)
TOP_BIT: Any = np.uint64(63)
"""uint64 constants: numba makes floats of an expression that mixes uint64 with int64."""

int64: Any = np.int64
"""Makes a signed whole number of a word, for numba; to a type checker it may be anything."""
