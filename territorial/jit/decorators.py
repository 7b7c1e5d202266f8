"""The one place that knows numba: decorators, and operations on words and whole numbers.

``njit`` is for functions that other kernels call, ``kernel`` for the few that Python calls: those
are cached on disk and let other Python threads run meanwhile. With ``NUMBA_DISABLE_JIT=1`` both
return the function itself and the word operations are plain Python, so every kernel can be stepped
through in a debugger.

Both compile without numba's runtime (``_nrt=False``): arrays are not reference counted, which halves
the cost of a tick, and whatever would allocate memory does not compile. In return no kernel may return
an array to Python, and a kernel must not call code compiled in the ordinary way that keeps arrays.

Inner functions are always inlined: the arrays of a game are some two hundred numbers, and a call that
hands them over on the stack takes 100 ns, as long as finding a front. They are compiled as far as a kernel
needs them, to the code that LLVM optimises. Numba would optimise each function, with all that it calls in it,
and make machine code of it: at every level of calls again. But nothing calls these functions except kernels,
and a kernel is optimised as a whole. So both are left out here, and the engine takes half the time.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from llvmlite.binding.ffi import lib as llvm

try:  # numba does not promise to keep these
    from llvmlite.binding import Linkage
    from numba import _dynfunc
    from numba.core import event
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_lock import global_compiler_lock, require_global_compiler_lock
    from numba.core.registry import CPUDispatcher
    from numba.extending import lower_builtin, overload, type_callable
except ImportError as _error:
    raise ImportError(
        f"territorial cannot extend numba {numba.__version__} ({_error}); it is tested with numba 0.61 "
        "to 0.68: pip install 'numba>=0.61,<0.69'"
    ) from _error

from territorial.files.locks import finished_before_forks
from territorial.jit.cache import cache_of

F = TypeVar("F", bound=Callable[..., Any])

JIT_ENABLED: bool = not numba.config.DISABLE_JIT

finished_before_forks(llvm._lock)  # of every call of LLVM's, also by who holds no other lock
finished_before_forks(global_compiler_lock)  # a fork takes the one first that was named last, as numba does


RECURSION = ".numba.unresolved$"
"""How numba names what leads to the machine code of a function that is not compiled yet."""


class _InnerLibrary(JITCodeLibrary):
    """The code of a function, which is optimised in that of a kernel alone."""

    _shared_module: Any

    def finalize(self) -> None:
        """Take no more code; what it calls is linked where a kernel needs it."""
        require_global_compiler_lock()
        self._raise_if_finalized()
        if any(variable.name.startswith(RECURSION) for variable in self._final_module.global_variables):
            raise numba.errors.UnsupportedError(f"{self.name}: functions in kernels cannot call each other")
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code of the function and of all that it calls.

        Callers come first: the linker leaves out a function that nothing calls so far.
        """
        if self._shared_module is None:
            self._ensure_finalized()
            called: list[Any] = []
            self._list_called(called, {self})
            module = self._own_module()
            for library in reversed(called):
                is_inner = isinstance(library, _InnerLibrary)
                module.link_in(
                    library._own_module() if is_inner else library._get_module_for_linking().clone()
                )
            self._shared_module = module
        return self._shared_module

    def _own_module(self) -> Any:
        """Return a copy of the code without what it calls, which several kernels may have."""
        module = self._final_module.clone()
        for function in module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        return module

    def _list_called(self, called: list[Any], seen: set[Any]) -> None:
        """Append the libraries of all that it calls and that are not ``seen``, callers last."""
        for library in self._linking_libraries:
            if library not in seen:
                seen.add(library)
                if isinstance(library, _InnerLibrary):
                    library._list_called(called, seen)
                called.append(library)


def _entry(library: Any, description: Any, environment: Any) -> Any:
    """Return what stands for the function in numba's tables; it cannot be called."""
    library._ensure_finalized()
    module, name = description.lookup_module(), description.qualname.split(".")[-1]
    return _dynfunc.make_function(module, name, "", 0, environment, (library,))


class _InnerCompiler(Compiler):
    """Compiles a function for kernels."""

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            state.targetctx = state.targetctx.subtarget(get_executable=_entry)
        return super().define_pipelines()


class _InnerDispatcher(CPUDispatcher):
    """A function compiled without an entry for Python, which halves the time that compiling takes.

    Called from Python all the same, by a test or at a prompt, it compiles a copy with an entry.
    """

    def __call__(self, *args: Any) -> Any:
        if not hasattr(self, "_with_entry"):
            self._with_entry = numba.njit(self.py_func, **_OPTIONS)
        return self._with_entry(*args)


_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy"}
_INNER: dict[str, Any] = {
    "pipeline_class": _InnerCompiler,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class _KernelDispatcher(CPUDispatcher):
    """A kernel that one process compiles while the others wait, to load what it has written then."""

    def compile(self, sig: Any) -> Any:
        if is_ready(self, sig):
            return super().compile(sig)
        with (
            event.trigger_event(WAIT, {"dispatcher": self}),
            global_compiler_lock,
            _one_at_a_time(self._cache),
        ):
            return super().compile(sig)


WAIT = "territorial:wait"
"""The event (``numba.core.event``) of waiting for a kernel: it is compiled here, or by another process."""


def is_ready(compiled: Any, types: tuple[Any, ...]) -> bool:
    """Return whether the machine code of a kernel for arguments of these types is loaded, or on disk."""
    if not JIT_ENABLED or types in compiled.overloads:
        return True
    return bool(compiled._cache.has(types, compiled.targetctx))


COLLECTING = (100_000, 50, 1000)
"""The thresholds of Python's garbage collector while kernels are compiled."""
_compiling = 0
"""How many kernels this process compiles: one, and those that it calls. Numba's lock guards it."""


@contextmanager
def _one_at_a_time(cache: Any) -> Iterator[None]:
    """Keep out all processes that compile into the same folder; where nothing can be locked, all do at once.

    The thread must hold numba's lock: numba takes it first where a kernel that is compiled calls another.
    Numba keeps most of what it makes meanwhile, so Python's garbage collector is called more seldom than it
    would be by itself: it takes a tenth of the time.
    """
    global _compiling
    with ExitStack() as stack:
        if not _compiling:
            with suppress(OSError):
                stack.enter_context(cache.locked())
            stack.callback(gc.set_threshold, *gc.get_threshold())
            gc.set_threshold(*COLLECTING)
        _compiling += 1
        try:
            yield
        finally:
            _compiling -= 1


def njit(function: F) -> F:
    """Compile ``function`` for use inside other kernels."""
    if not JIT_ENABLED:
        return function
    compiled: Any = numba.njit(function, **_INNER, **_OPTIONS)
    compiled.__class__ = _InnerDispatcher
    return cast(F, compiled)


def routine(function: F) -> F:
    """Compile ``function`` for use inside other kernels, which call it: for few numbers, and much to do.

    It is compiled once, however many places it is called from.
    """
    if not JIT_ENABLED:
        return function
    compiled: Any = numba.njit(function, **{**_INNER, "forceinline": False}, **_OPTIONS)
    compiled.__class__ = _InnerDispatcher
    return cast(F, compiled)


def formula(function: F) -> F:
    """Return ``function`` for numbers and arrays in Python, and for kernels, which compile it.

    It must be arithmetic that both can do: no branches, ``np.maximum`` for ``max``, ``&`` for ``and``.
    Numbers of 64 bits wrap without a warning, as they do in kernels and arrays.
    """

    @wraps(function)
    def plain(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*arguments)

    if JIT_ENABLED:
        overload(plain, jit_options=_INNER | _OPTIONS, strict=False)(lambda *_: function)
    return cast(F, plain)


def kernel(function: F) -> F:
    """Compile ``function`` for calls from Python: cached on disk, without holding the GIL."""
    compiled: Any = numba.njit(function, nogil=True, **_OPTIONS)
    if JIT_ENABLED:
        compiled.__class__ = _KernelDispatcher
        compiled._cache = cache_of(function)
    return cast(F, compiled)


def entry_of(compiled: Any, *types: Any) -> Callable[..., Any]:
    """Return what a kernel calls in the end for arguments of these types; it is compiled if it has to be.

    To find out which of its signatures fits, numba looks at every argument on every call. The entry takes
    what it gets, so whatever else is passed to it corrupts memory. With ``NUMBA_DISABLE_JIT=1``: the kernel.
    """
    if not JIT_ENABLED:
        return cast(Callable[..., Any], compiled)
    if types not in compiled.overloads:
        compiled.compile(types)
    return cast(Callable[..., Any], compiled.overloads[types].entry_point)


def types_of(*arguments: Any) -> tuple[Any, ...]:
    """Return the types that kernels know ``arguments`` by."""
    return tuple(map(numba.typeof, arguments)) if JIT_ENABLED else ()


def address_of(compiled: Any, *types: Any) -> int:
    """Return where a kernel lies for arguments of these types, as long as this process lives.

    For other kernels, which call it by ``call_at`` of ``territorial.jit.bound_arguments``. It is compiled if
    it has to be. With ``NUMBA_DISABLE_JIT=1``: 0.
    """
    entry_of(compiled, *types)
    if not JIT_ENABLED:
        return 0
    code = compiled.overloads[types]
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


def quotient(number: Any, divisor: Any) -> Any:
    """Return number // divisor of whole numbers, or arrays of them, none negative, the divisor not 0.

    Where a division is made for every pair of players: for ``//`` the compiler has to correct what it
    rounds, as either may be negative, and that takes as long again.
    """
    return number // divisor


ENTRY = None
"""To ``machine_code``: a number of the type that entries of the first argument have."""


class Memory(NamedTuple):
    """What generators of machine code are given of an array: its type, and where its entries begin."""

    kind: Any
    first: Any


def machine_code(function: Any, result: Any, *kinds: Any) -> Callable[[F], F]:
    """Return a decorator for what writes the machine code of ``function`` in kernels.

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
    """Return the float32 whose bits are those of an int32."""
    return np.int32(bits).view(np.float32)


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


ZERO: Any = np.uint64(0)
ONE: Any = np.uint64(1)
TOP_BIT: Any = np.uint64(63)
"""uint64 constants: numba makes floats of an expression that mixes uint64 with int64."""

int64: Any = np.int64
"""Makes a signed whole number of a word, for numba; to a type checker it may be anything."""
