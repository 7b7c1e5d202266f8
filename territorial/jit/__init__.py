"""Compiled code: all that relies on numba beyond its public decorators.

No other package imports numba or llvmlite. What numba does not promise to keep is listed here; each was
read in numba 0.61.0 and 0.68.1, the two ends of what is tested.

``numba.core.registry.CPUDispatcher`` (``decorators``)
    Its ``compile`` is extended, so that one process compiles a kernel while others wait, and its class is
    set on what ``njit`` returns. Without it: every process compiles for itself. Public way: none.
``numba.core.compiler_lock.global_compiler_lock`` (``decorators``)
    Taken before the lock of the cache, as numba does where a kernel calls another. Without it: two threads
    that compile wait for each other and never end. Public way: none.
``global_compiler_lock`` and ``llvmlite.binding.ffi.lib._lock`` (``decorators``)
    A fork waits for both. Without it: the new process waits for a thread that it does not have. Public way:
    none.
``_nrt``, ``forceinline``, ``no_cpython_wrapper``, ``no_cfunc_wrapper`` (``decorators``)
    Options of ``njit`` that its documentation leaves out. Without ``_nrt``, arrays are counted and a tick
    costs twice as much; without the others, compiling takes twice as long. Public way: none.
``pipeline_class`` of ``njit`` and ``overload``, ``numba.core.compiler.Compiler``,
``numba.core.compiler_lock.require_global_compiler_lock``, ``numba.core.cpu.CPUContext``,
``numba._dynfunc`` (``decorators``)
    A compiler that gives inner functions a library of their own kind, and ``subtarget(get_executable=)``.
    Without it: compiling takes twice as long. Public way: none.
``numba.core.codegen.JITCodeLibrary`` (``decorators``)
    ``finalize``, ``_get_module_for_linking``, ``_final_module``, ``_shared_module``, ``_linking_libraries``
    of the code of a function. Without it: the same. Public way: none.
``overloads``, ``entry_point``, ``targetctx``, ``targetoptions``, ``_cache`` of dispatchers (``decorators``)
    Whether machine code is loaded, and its entry. Without it: numba looks at every argument on every call,
    two microseconds for a step. Public way: ``Dispatcher.signatures`` tells what is loaded.
``library.get_pointer_to_function``, ``fndesc.llvm_func_name`` of machine code (``decorators``), and
``call_conv`` of contexts (``bound_arguments``)
    Where a kernel lies, and how another one calls it there. Without it: the engine's step holds all of a
    reset and of networks, and compiling takes half as long again. Public way: ``cfunc``, without errors.
``numba.core.event`` (``decorators``, ``warmup``)
    Tells when a kernel is compiled; described in numba's developer manual alone. Without it: no line on
    stderr says what a first step waits for. Public way: none.
``numba.core.caching.FunctionCache``, ``CompileResultCacheImpl``, ``NullCache`` (``cache``)
    ``_impl``, ``_cache_path``, ``_cache_file`` and ``_index_key`` of numba's cache of a function. Without
    it: stale machine code after an edit in another file, nothing shared by two checkouts, and errors of
    damaged files. Public way: ``cache=True``.
``numba.config.USING_SVML`` (``cache``)
    Whether loops call Intel's library of mathematics, which machine code then needs. Without it: errors or
    other roundings where only some processes have the library. Public way: ``numba -s``.
``numba.core.serialize.dumps`` (``cache``)
    Pickles machine code as numba's own cache does. Public way: none.
``numba.core.cgutils`` (``bound_arguments``, ``lines``, ``simd``, ``thread_pool``)
    ``unpack_tuple``, ``for_range``, ``raw_memcpy`` and the like: what numba's
    manual uses in its own examples of extensions. Public way: llvmlite's builder, in more lines.
``numba.core.registry.cpu_target`` (``bound_arguments``)
    The size of a value in machine code. Without it: arguments are unboxed in every call, two microseconds
    for a step. Public way: none.
"""
