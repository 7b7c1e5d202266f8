"""Functions that kernels call, compiled as far as a kernel needs them: to the code that LLVM optimises.

Numba optimises each function, with all that it calls in it, and makes machine code of it: at every level of
calls again. But nothing calls these functions except kernels, and a kernel is optimised as a whole. So both
are left out here, and the engine takes half the time.

That needs parts of numba that it does not promise to keep. With a numba that lacks one of them, functions
are compiled in numba's own way, and a warning says so.
"""

from __future__ import annotations

import warnings
from typing import Any

import numba

INNER_OPTIONS: dict[str, Any] = {}
"""The options of ``njit`` for functions that only kernels call; none with a numba that lacks a part."""

try:
    from llvmlite.binding import Linkage
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler_lock import require_global_compiler_lock
    from numba.core.cpu import CPUContext

    for _part, _names in {
        JITCodeLibrary: "_ensure_finalized _finalize_dynamic_globals _finalized _get_module_for_linking "
        "_raise_if_finalized enable_object_caching finalize",
        Compiler: "define_pipelines",
        CPUContext: "get_executable subtarget",
        _dynfunc: "make_function",
    }.items():
        for _name in _names.split():
            if not hasattr(_part, _name):
                raise ImportError(f"no {_part.__name__}.{_name}")
except ImportError as _error:
    warnings.warn(
        f"numba {numba.__version__} lacks a part that compiling in half the time needs ({_error}); "
        "territorial is tested with numba 0.61 to 0.68",
        RuntimeWarning,
        stacklevel=2,
    )
else:
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
                raise numba.errors.UnsupportedError(
                    f"{self.name}: functions in kernels cannot call each other"
                )
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

    INNER_OPTIONS["pipeline_class"] = _InnerCompiler
