"""Compiles kernels by numba if no shipped library fits the machine.

No other package imports numba or llvmlite, and nothing here does before it has to compile.

Without numba's runtime (``_nrt=False``) arrays are not reference counted, which halves the cost of a tick,
and whatever would allocate memory does not compile. In return no kernel may return an array to Python, and a
kernel must not call code compiled in the ordinary way that keeps arrays.

Inner functions are always inlined: the arrays of a game are some two hundred numbers, and a call that
hands them over on the stack takes 100 ns, as long as finding a front. They are compiled as far as a kernel
needs them, to the code that LLVM optimises. Numba would optimise each function, with all that it calls in it,
and make machine code of it: at every level of calls again. But nothing calls these functions except kernels,
and a kernel is optimised as a whole. So both are left out here, and the engine takes half the time.
"""

from typing import Any

import numba
from llvmlite.binding.ffi import lib as llvm

try:  # numba does not promise to keep these
    from llvmlite.binding import Linkage
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_lock import global_compiler_lock, require_global_compiler_lock
    from numba.core.registry import CPUDispatcher, cpu_target
except ImportError as _error:
    raise ImportError(
        f"territorial cannot extend numba {numba.__version__} ({_error}); it is tested with numba 0.61 "
        "to 0.68: pip install 'numba>=0.61,<0.69'"
    ) from _error

from territorial.files.locks import finished_before_forks
from territorial.jit import lowering  # noqa: F401 - registered
from territorial.jit.cache import cache_of

finished_before_forks(llvm._lock)  # of every call of LLVM's, also by who holds no other lock
finished_before_forks(global_compiler_lock)  # a fork takes the one first that was named last, as numba does

RECURSION = ".numba.unresolved$"
"""How numba names what leads to the machine code of a function that is not compiled yet."""


class _InnerLibrary(JITCodeLibrary):
    """The code of a function, which is optimised in that of a kernel alone."""

    _shared_module: Any

    def finalize(self) -> None:
        """Take no more code; called functions are linked where a kernel needs them."""
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
        """Return a copy of the code without called functions, which several kernels may share."""
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
    """Return the stand-in of the function in numba's tables; it cannot be called."""
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
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


class _KernelDispatcher(CPUDispatcher):
    """A kernel, for arguments by their values: the types that numba has for them decide."""

    def code_for(self, arguments: tuple[Any, ...]) -> Any:
        """Return the machine code; it is compiled if it has to be."""
        types = tuple(map(numba.typeof, arguments))
        if types not in self.overloads:
            self.compile(types)
        return self.overloads[types]

    def address(self, arguments: tuple[Any, ...]) -> int:
        """Return where the machine code lies."""
        code = self.code_for(arguments)
        return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


def dispatcher_of_part(function: Any, *, is_inlined: bool) -> Any:
    """Return numba's dispatcher of a function that kernels call."""
    compiled: Any = numba.njit(function, **_INNER, **_OPTIONS, forceinline=is_inlined)
    compiled.__class__ = _InnerDispatcher
    return compiled


def dispatcher_of_kernel(function: Any) -> Any:
    """Return numba's dispatcher of a kernel, which is cached on disk."""
    compiled: Any = numba.njit(function, nogil=True, **_OPTIONS)
    compiled.__class__, compiled._cache = _KernelDispatcher, cache_of(function)
    return compiled


def type_of(compiled: Any) -> Any:
    """Return numba's type of a compiled function, even while numba compiles another one."""
    cpu_target.typing_context.refresh()  # operations may have been registered meanwhile
    cpu_target.target_context.refresh()
    return numba.typeof(compiled)
