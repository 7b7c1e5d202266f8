"""Compiled code: machine code made ahead, and every use of numba's internals.

No other package imports numba or llvmlite. What numba does not promise to keep is listed here; each was
read in numba 0.61.0 and 0.68.1, the two ends of what is tested.

``numba.core.registry.CPUDispatcher`` (``compiler``)
    Its class is extended, and set on what ``njit`` returns. Without it: numba looks at each argument on every
    call, and inner functions get entries for Python. Public way: none.
``global_compiler_lock`` and ``llvmlite.binding.ffi.lib._lock`` (``compiler``)
    A fork waits for both. Without it: the new process waits for a thread that it does not have. Public way:
    none.
``_nrt``, ``forceinline``, ``no_cpython_wrapper``, ``no_cfunc_wrapper`` (``compiler``)
    Options of ``njit`` that its documentation leaves out. Without ``_nrt``, arrays are counted and a tick
    costs twice as much; without the others, compiling takes twice as long. Public way: none.
``pipeline_class`` of ``njit`` and ``overload``, ``numba.core.compiler.Compiler``,
``numba.core.compiler_lock.require_global_compiler_lock``, ``numba.core.cpu.CPUContext``,
``numba._dynfunc`` (``compiler``)
    A compiler that gives inner functions a library of their own kind, and ``subtarget(get_executable=)``.
    Without it: compiling takes twice as long. Public way: none.
``numba.core.codegen.JITCodeLibrary`` (``compiler``)
    ``finalize``, ``_get_module_for_linking``, ``_final_module``, ``_shared_module``, ``_linking_libraries``
    of the code of a function. Without it: the same. Public way: none.
``overloads``, ``entry_point``, ``targetctx``, ``targetoptions``, ``_cache`` of dispatchers (``compiler``)
    Whether machine code is loaded, and its entry. Without it: numba looks at every argument on every call,
    two microseconds for a step. Public way: ``Dispatcher.signatures`` tells what is loaded.
``library.get_pointer_to_function``, ``fndesc.llvm_func_name`` of machine code (``compiler``), and
``call_conv`` of contexts (``lowering``)
    Where a kernel lies, and how another one calls it there. Without it: the engine's step holds all of a
    reset and of networks, and compiling takes half as long again. Public way: ``cfunc``, without errors.
``numba.core.caching.FunctionCache``, ``CompileResultCacheImpl``, ``NullCache`` (``cache``)
    ``_impl``, ``_cache_path``, ``_cache_file`` and ``_index_key`` of numba's cache of a function. Without
    it: stale machine code after an edit in another file, nothing shared by two checkouts, and errors of
    damaged files. Public way: ``cache=True``.
``numba.config.USING_SVML`` (``cache``)
    Whether loops call Intel's library of mathematics, which machine code then needs. Without it: errors or
    other roundings where only some processes have the library. Public way: ``numba -s``.
``numba.core.serialize.dumps`` (``cache``)
    Pickles machine code as numba's own cache does. Public way: none.
``numba.core.cgutils`` (``lowering``)
    ``unpack_tuple``, ``for_range``, ``raw_memcpy`` and the like: what numba's
    manual uses in its own examples of extensions. Public way: llvmlite's builder, in more lines.
``numba.core.registry.cpu_target`` (``compiler``, ``lowering``)
    The size of a value in machine code, and registrations while numba compiles. Without it: arguments are
    unboxed in every call, two microseconds for a step. Public way: none.
"""
