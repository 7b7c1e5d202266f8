"""Where compiled kernels are kept: by what they are compiled from, never in a folder others could write."""

import ast
import errno
import importlib
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import numba
import pytest

import territorial
from territorial import GameConfig, VecGame
from territorial.config import make_params
from territorial.game.rules import attack_step
from territorial.game.scratch import make_work
from territorial.game.state import game_of
from territorial.jit import cache as _cache
from territorial.jit import compiler as _compiler
from territorial.jit import decorators as _jit
from territorial.jit.library import CHOICE, NUMBA, Sources, imports_in

PACKAGE = Path(territorial.__file__).parent
needs_the_compiler = pytest.mark.skipif(
    not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1"
)


def printed_by(program, *arguments, cache, root=PACKAGE.parent, **variables):
    """Return the words that a Python prints that runs ``program`` with numba and a cache of its own."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(root)}
    environment |= {CHOICE: NUMBA} | variables
    command = [sys.executable, "-P", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split()


def test_a_numba_that_lacks_what_is_extended_is_named_with_what_to_install():
    program = (
        "import numba.core.registry as registry; del registry.CPUDispatcher; import territorial.jit.compiler"
    )
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, timeout=300)
    last = f"ImportError: territorial cannot extend numba {numba.__version__}.*pip install 'numba>=.*"
    assert re.fullmatch(last, done.stderr.splitlines()[-1])


def test_code_that_calls_a_library_of_mathematics_is_not_that_of_a_numba_without_it(monkeypatch):
    monkeypatch.setattr(numba.config, "USING_SVML", not numba.config.USING_SVML)
    spec = importlib.util.spec_from_file_location("cache_of_another", _cache.__file__)
    of_another = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(of_another)
    assert of_another.VERSIONS != _cache.VERSIONS


# ---- what kernels are compiled from --------------------------------------------------------------


def test_what_the_files_of_the_package_import_of_it_is_found_as_the_parser_finds_it():
    for path in PACKAGE.rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, path
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        of_package = {name.partition(".")[2] for name in names if name.split(".")[0] == "territorial"}
        assert of_package <= {name.lstrip(".") for name in imports_in(path.read_bytes())}, path


def test_an_edit_is_another_digest_where_a_kernel_reaches_it_and_nowhere_else(tmp_path):
    package = copied_package(tmp_path) / "territorial"

    def digest_of(module):
        return Sources(package, started=sys.maxsize).digest(str(package / f"{module}.py"))

    steps, boards = digest_of("engine/step"), digest_of("decode/boards")
    for module in ("game/rules", "bots/styles", "jit/lowering", "engine/step", "engine/__init__"):
        path = package / f"{module}.py"
        source = path.read_bytes()
        path.write_bytes(source + b"# edited\n")
        assert digest_of("engine/step") != steps, module
        path.write_bytes(source)
    assert digest_of("engine/step") == steps
    for module in ("envs/gymnasium", "envs/__init__", "cli/bench", "league/league", "engine/vec_game"):
        with open(package / f"{module}.py", "a") as file:
            file.write("# edited\n")
    assert digest_of("engine/step") == steps
    (package / "game" / "rules.py").write_text("import territorial.cli.bench\n")
    assert digest_of("engine/step") != steps
    assert digest_of("decode/boards") == boards


def test_what_was_edited_since_this_process_has_the_code_is_not_kept(tmp_path):
    package = copied_package(tmp_path) / "territorial"
    kernels = str(package / "engine" / "step.py")
    rules = package / "game" / "rules.py"
    sources = Sources(package)
    assert sources.digest(kernels) is not None
    rules.write_text(rules.read_text() + "# edited\n")
    assert sources.digest(kernels) is None
    assert Sources(package, started=0).digest(kernels) is None, "edited before it was read"


def test_a_kernel_of_another_package_is_not_kept(tmp_path):
    (tmp_path / "own.py").touch()
    assert Sources().digest(str(tmp_path / "own.py")) is None


def test_a_package_behind_a_link_is_the_same_package(tmp_path):
    package = copied_package(tmp_path / "real") / "territorial"
    link = tmp_path / "territorial"
    link.symlink_to(package, target_is_directory=True)
    found = {
        Sources(one, started=sys.maxsize).digest(str(other / "engine" / "step.py"))
        for one in (package, link)
        for other in (package, link)
    }
    assert len(found) == 1
    assert None not in found


def copied_package(folder):
    """Return ``folder`` with a copy of the package in it."""
    target = folder / "territorial"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return folder


# ---- what is not used any more ---------------------------------------------------------------------


@needs_the_compiler
def test_kernels_of_sources_of_long_ago_are_removed_when_one_is_kept(tmp_path):
    names = ["step-0123456789abcdef", "step-fedcba9876543210", "kernels-2"]
    for name, days in zip(names, (31, 29, 31), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "code.nbc").touch()
        os.utime(tmp_path / name, (0, time.time() - days * 24 * 60 * 60))
    assert kernel_in(tmp_path)(1) == 2
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {*names[1:], "kept", "one.py"}


# ---- what numba compiles, and keeps ----------------------------------------------------------------


CALLING_KERNEL = """
from territorial.jit.decorators import kernel

@kernel
def inner(n):
    return n + 1

@kernel
def outer(n):
    return 2 * inner(n)
"""
CALL_AT_ONCE = """
import sys, threading
import numba

sys.path.insert(0, sys.argv[1])
from calling_kernel import inner, outer

@numba.njit
def ordinary(n):  # holds numba's lock when it comes to the kernel
    return inner(n)

found = {}
def call(name, function, number):
    found[name] = function(number)

threads = [
    threading.Thread(target=call, args=(i, function, number), daemon=True)
    for i, (function, number) in enumerate([(outer, 1), (ordinary, 1.5), (outer, 2.5), (inner, 3)])
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(300)
print(*(found.get(i) for i in range(4)))
"""


@needs_the_compiler
def test_kernels_that_call_kernels_compile_in_several_threads_at_once(tmp_path):
    (tmp_path / "calling_kernel.py").write_text(CALLING_KERNEL)
    assert printed_by(CALL_AT_ONCE, tmp_path, cache=tmp_path / "cache") == ["4", "2.5", "7.0", "4"]


CALL_INNER = """
import sys
sys.path.insert(0, sys.argv[1])
import numba
from inner_functions import doubled, half, plus_one, sums, twice_the_root

@numba.njit(_nrt=False)
def ordinary(n):
    return sums(n)

print(sums(6), ordinary(6), plus_one(1), half(7), twice_the_root(16.0))
"""
INNER_FUNCTIONS = """
import numpy as np
from territorial.jit.decorators import formula, kernel, njit, quotient, routine

@njit
def plus_one(n):
    return min(n, 10**6) + 1

@routine
def doubled(n):
    return plus_one(n) + max(plus_one(n), 0)

@formula
def half(n):
    return n // 2

@njit
def twice_the_root(x):
    return 2 * np.sqrt(x)

@kernel
def sums(n):
    return doubled(n) + half(n) + plus_one(n) + quotient(n, 2) + int(twice_the_root(4.0))
"""


@needs_the_compiler
def test_functions_within_kernels_can_be_called_from_python_and_from_ordinary_code(tmp_path):
    (tmp_path / "inner_functions.py").write_text(INNER_FUNCTIONS)
    assert printed_by(CALL_INNER, tmp_path, cache=tmp_path) == ["31", "31", "2", "3", "8.0"]


@_jit.njit
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@_jit.njit
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@needs_the_compiler
def test_functions_that_call_each_other_are_refused_within_kernels():
    """One of them would need machine code of its own, and there is none."""
    kernel = numba.njit(lambda n: is_even(n), **_compiler._OPTIONS)
    with pytest.raises(numba.errors.NumbaError, match="cannot call each other"):
        kernel(3)


ADD_ONE = """
from pathlib import Path
from territorial.jit.cache import KernelCache
from territorial.jit.decorators import kernel

@kernel
def add_one(number):
    return number + 1

add_one.dispatcher._cache = KernelCache(add_one.py_func, Path(__file__).parent / "kept")
"""


@needs_the_compiler
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: bytes(len(content)),
        lambda content: content[: len(content) // 2],
        lambda content: content[:-200] + bytes([content[-200] ^ 1]) + content[-199:],
        lambda content: forged(b"no pickle"),
        lambda content: forged(pickle.dumps((1, 2))),
        lambda content: forged(pickle.dumps((1, 2, 3))),
    ],
    ids=["emptied", "zeroed", "cut", "a bit", "no pickle", "too short", "of another function"],
)
def test_damaged_files_of_the_cache_are_compiled_anew(damage, tmp_path, capfd, caplog, monkeypatch):
    monkeypatch.setattr(_cache, "say_that_numba_compiles", lambda why: None)
    kernel = kernel_in(tmp_path)
    assert kernel(1) == 2
    files = kernel.dispatcher._cache._cache_file
    (path,) = files._folder.glob(f"{files._name}.*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    again = kernel_in(tmp_path)
    assert (again(1), sum(again.dispatcher.stats.cache_misses.values())) == (2, 1)
    third = kernel_in(tmp_path)
    assert third(1) == 2
    assert sum(third.dispatcher.stats.cache_hits.values()) == 1  # what took the place of the damaged
    assert (capfd.readouterr().err, caplog.messages) == ("", [])


@needs_the_compiler
def test_code_of_which_not_even_the_machine_code_links_is_compiled_anew(tmp_path, monkeypatch):
    assert kernel_in(tmp_path)(1) == 2
    again = kernel_in(tmp_path)

    monkeypatch.setattr(
        again.dispatcher._cache._impl, "rebuild", Mock(side_effect=RuntimeError("cannot link"))
    )
    assert again(1) == 2


@needs_the_compiler
def test_on_a_full_disk_what_was_compiled_is_used(tmp_path, monkeypatch, caplog):
    kernel = kernel_in(tmp_path)
    is_full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path))
    monkeypatch.setattr(_cache, "write_file", Mock(side_effect=is_full))
    assert kernel(1) == 2
    assert re.fullmatch(r".*cannot be saved in.*No space left on device.*", "".join(caplog.messages))


@needs_the_compiler
@pytest.mark.parametrize("place", [".", "*.nbc"])
def test_what_lies_where_compiled_code_is_kept_is_named_and_hinders_nothing(tmp_path, caplog, place):
    kernel = kernel_in(tmp_path)
    assert kernel(1) == 2
    kept, name = kernel.dispatcher._cache._cache_file._folder, kernel.dispatcher._cache._cache_file._name
    (path,) = [kept] if place == "." else kept.glob(place.replace("*", f"{name}*"))
    for one in kept.glob(f"{name}*"):
        one.unlink()
    path.rename(tmp_path / "away") if path.exists() else None
    path.write_text("notes") if place == "." else path.mkdir()
    assert kernel_in(tmp_path)(1) == 2
    said = f".*cannot be saved in {str(path)!r} \\(it is a (file|folder), where a .* move it away\\).*"
    assert re.fullmatch(said, "".join(caplog.messages))
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="this system has no /dev/null")
def test_without_any_folder_to_write_to_kernels_work(tmp_path):
    program = """
from territorial.jit.decorators import kernel
namespace = {}
print(kernel(eval("lambda number: number + 1"))(1))
"""
    assert printed_by(program, cache="/dev/null", TMPDIR="/dev/null", HOME="/dev/null") == ["2"]


def forged(payload):
    return _cache._digest(payload) + payload


def kernel_in(folder):
    """Return the kernel of a module in ``folder``, as a new process would have it."""
    path = folder / "one.py"
    if not path.exists():
        path.write_text(ADD_ONE)
    spec = importlib.util.spec_from_file_location("one", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.add_one


@needs_the_compiler
def test_kernels_count_no_references_and_allocate_nothing():
    """Compiled without numba's runtime: a tick would otherwise spend half its time on reference counts."""
    config = GameConfig(height=16, width=16, num_players=2)
    game = VecGame(config, 1)
    game.reset()
    attack = numba.njit(attack_one.py_func, **_compiler._OPTIONS)
    attack(game.blocks, make_params(config), make_work(config, logs_changes=True))
    code = attack.inspect_llvm(attack.signatures[0])
    assert "define" in code
    assert re.findall("NRT_incref|NRT_decref|NRT_MemInfo_alloc", code) == []


@_jit.njit
def attack_one(state, params, work):
    attack_step(game_of(state, 0), params, work, 1)
