"""Where compiled kernels are kept: by the state of all sources, and never in a folder others could write."""

import ast
import errno
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import pytest

import territorial
from territorial import GameConfig, VecGame, jit
from territorial.config import make_params
from territorial.game.rules import attack_step
from territorial.game.scratch import make_work
from territorial.game.state import game_of
from territorial.jit import cache as _cache
from territorial.jit import decorators as _jit

PACKAGE = Path(territorial.__file__).parent
PRINT_CACHE = "from territorial.jit.decorators import CACHE_DIR; print(CACHE_DIR)"


def cache_of(**environment):
    """Return the cache folder that a new process with these environment variables chooses."""
    names = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PRINT_CACHE],
        env=inherited | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return Path(done.stdout.strip())


def test_a_numba_that_lacks_what_is_extended_is_named_with_what_to_install():
    program = (
        "import numba.core.registry as registry; del registry.CPUDispatcher; "
        "import territorial.jit.decorators"
    )
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"ImportError: territorial cannot extend numba {numba.__version__}" in last
    assert "pip install 'numba>=" in last


@pytest.mark.checkout
def test_the_error_and_the_metadata_name_the_same_releases():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (wanted,) = (one for one in project["project"]["dependencies"] if one.startswith("numba"))
    assert f"'{wanted}'" in Path(_jit.__file__).read_text(encoding="utf-8")


def test_the_cache_lies_where_numba_is_told_in_a_folder_named_by_the_sources(tmp_path):
    folder = cache_of(NUMBA_CACHE_DIR=str(tmp_path))
    assert folder == tmp_path / f"kernels-{_cache.source_digest()}"
    assert folder.is_dir()


def test_another_installation_of_the_same_sources_has_a_cache_of_its_own(tmp_path):
    copied_package(tmp_path)
    there = cache_of(NUMBA_CACHE_DIR=str(tmp_path), PYTHONPATH=str(tmp_path))
    assert there.parent == tmp_path
    assert there.name != f"kernels-{_cache.source_digest()}"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG_CACHE_HOME is for Linux")
def test_without_a_place_to_write_the_cache_is_private_to_the_process_and_still_named_by_the_sources():
    unusable = {"XDG_CACHE_HOME": os.devnull + "/nothing"}
    first, second = cache_of(**unusable), cache_of(**unusable)
    assert first != second
    assert first.name == second.name == f"kernels-{_cache.source_digest()}"
    assert not first.parent.exists()


def kernel_files(package):
    """Return the files of ``package`` in which kernels are defined."""
    return [
        path for path in package.rglob("*.py") if any(map(is_kernel, ast.walk(ast.parse(path.read_text()))))
    ]


def is_kernel(node):
    decorators = getattr(node, "decorator_list", [])
    return bool({ast.unparse(decorator) for decorator in decorators} & {"njit", "kernel", "intrinsic"})


def test_all_kernels_lie_in_packages_that_the_digest_of_the_sources_covers():
    files = kernel_files(PACKAGE)
    assert {path.name for path in files} >= {"rules.py", "board.py", "fronts.py", "decide.py", "blocks.py"}
    covered = {PACKAGE / name for name in _cache.PACKAGES_WITH_KERNELS}
    assert [path for path in files if path.parent not in covered] == []


def test_an_edit_in_any_file_of_the_packages_with_kernels_is_another_digest(tmp_path):
    package = copied_package(tmp_path) / "territorial"
    files = [path for name in _cache.PACKAGES_WITH_KERNELS for path in (package / name).glob("*.py")]
    assert {path.relative_to(package) for path in kernel_files(package)} <= {
        path.relative_to(package) for path in files
    }
    before = _cache.source_digest(package)
    for path in files:
        source = path.read_bytes()
        path.write_bytes(source + b"# edited\n")
        assert _cache.source_digest(package) != before, path
        path.write_bytes(source)
    assert _cache.source_digest(package) == before


def test_a_kernel_file_under_another_name_is_another_digest(tmp_path):
    package = copied_package(tmp_path) / "territorial"
    before = _cache.source_digest(package)
    rules = next(package.rglob("rules.py"))
    rules.rename(rules.with_name("laws.py"))
    assert _cache.source_digest(package) != before


def test_another_setting_of_a_bot_is_another_version_of_the_sources(tmp_path):
    """Kernels hold the settings as constants, though the file that has them knows nothing of numba."""
    there = cache_of(NUMBA_CACHE_DIR=str(tmp_path), PYTHONPATH=str(copied_package(tmp_path / "a")))
    package = copied_package(tmp_path / "a")
    styles = package / "territorial" / "bots" / "styles.py"
    styles.write_text(styles.read_text().replace("interval=70", "interval=80", 1))
    assert cache_of(NUMBA_CACHE_DIR=str(tmp_path), PYTHONPATH=str(package)).name != there.name


def copied_package(folder):
    """Return ``folder`` with a copy of the package in it."""
    target = folder / "territorial"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return folder


COUNT_COMPILATIONS = """
import sys

sys.path.insert(0, sys.argv[1])
import slow_kernel

result = slow_kernel.add_up(3)
print(sum(slow_kernel.add_up.stats.cache_misses.values()), result)
"""
SLOW_KERNEL = """
from territorial.jit.decorators import kernel

@kernel
def add_up(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_of_many_processes_that_need_a_kernel_one_compiles_it(tmp_path):
    (tmp_path / "slow_kernel.py").write_text(SLOW_KERNEL)
    command = [sys.executable, "-c", COUNT_COMPILATIONS, str(tmp_path)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(PACKAGE.parent)
    workers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    printed = sorted(worker.communicate(timeout=240)[0].strip() for worker in workers)
    assert printed == ["0 3"] * 3 + ["1 3"]


ADD_ONE = """
from territorial.jit.decorators import kernel

@kernel
def add_one(number):
    return number + 1
"""
CALL = """
import sys
from numba import types
from territorial.jit.decorators import is_ready

sys.path.insert(0, sys.argv[1])
from twice import add_one

print(is_ready(add_one, (types.float64,)), *(add_one(eval(number)) for number in sys.argv[2:]))
"""


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_code_that_is_missing_is_compiled_and_code_for_other_arguments_never_run(tmp_path):
    (tmp_path / "twice.py").write_text(ADD_ONE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(PACKAGE.parent)

    def call(*numbers):
        command = [sys.executable, "-c", CALL, str(tmp_path), *numbers]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    assert call("1", "1.5") == "False 2 2.5"
    assert call("1", "1.5") == "True 2 2.5"
    of_whole_numbers, of_floats = sorted(
        (tmp_path / "cache").rglob("*.nbc"), key=lambda path: path.stat().st_mtime_ns
    )
    of_floats.unlink()  # as if the process had been killed before it was written
    assert call("1") == "False 2"
    of_floats.write_bytes(of_whole_numbers.read_bytes())
    assert call("1.5") == "True 2.5"
    assert call("1", "1.5") == "True 2 2.5"


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
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
def test_damaged_files_of_the_cache_are_compiled_anew(damage, tmp_path, capfd):
    kernel = kernel_in(tmp_path)
    assert kernel(1) == 2
    (path,) = kernel._cache._cache_file._folder.glob(f"{kernel._cache._cache_file._name}.*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    again = kernel_in(tmp_path)
    assert again(1) == 2
    assert sum(again.stats.cache_misses.values()) == 1
    third = kernel_in(tmp_path)
    assert third(1) == 2
    assert sum(third.stats.cache_hits.values()) == 1  # what was compiled anew took the place of the damaged
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_code_of_which_not_even_the_machine_code_links_is_compiled_anew(tmp_path, monkeypatch):
    kernel = kernel_in(tmp_path)
    assert kernel(1) == 2
    again = kernel_in(tmp_path)

    def rebuild(*_):
        raise RuntimeError("cannot link")

    monkeypatch.setattr(again._cache._impl, "rebuild", rebuild)
    assert again(1) == 2


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_on_a_full_disk_what_was_compiled_is_used(tmp_path, monkeypatch, capfd):
    def is_full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    kernel = kernel_in(tmp_path)
    monkeypatch.setattr(_cache, "write_file", is_full)
    assert kernel(1) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be saved in" in said
    assert "No space left on device" in said


def test_without_any_folder_to_write_to_kernels_work(tmp_path):
    if not hasattr(os, "geteuid") or not Path("/dev/null").exists():
        pytest.skip("this system has no /dev/null")
    environment = os.environ | dict.fromkeys(("NUMBA_CACHE_DIR", "TMPDIR", "HOME"), "/dev/null")
    environment["PYTHONPATH"] = str(PACKAGE.parent)
    program = """
import tempfile
def mkdtemp(*args, **keywords): raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.mkdtemp = mkdtemp
from numba.core import caching
caching.CompileResultCacheImpl._locator_classes = caching.CompileResultCacheImpl._locator_classes[:1]
from territorial.jit.decorators import kernel
namespace = {}
print(kernel(eval("lambda number: number + 1"))(1))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout.strip() == "2"


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


@pytest.mark.skipif(not _jit.JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_kernels_count_no_references_and_allocate_nothing():
    """Compiled without numba's runtime: a tick would otherwise spend half its time on reference counts."""
    config = GameConfig(height=16, width=16, num_players=2)
    game = VecGame(config, 1)
    game.reset()
    step = numba.njit(attack_one.py_func, **_jit._OPTIONS)
    step(game.blocks, make_params(config), make_work(config, logs_changes=True))
    code = step.inspect_llvm(step.signatures[0])
    assert "define" in code
    for of_the_runtime in ("NRT_incref", "NRT_decref", "NRT_MemInfo_alloc"):
        assert of_the_runtime not in code


@_jit.njit
def attack_one(state, params, work):
    attack_step(game_of(state, 0), params, work, 1)


def imports_of(path):
    """Return the full names of what a file imports."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def test_what_numba_does_not_promise_is_used_in_one_package_and_listed_there():
    listed = jit.__doc__
    for path in PACKAGE.rglob("*.py"):
        names = [name for name in imports_of(path) if name.startswith(("numba", "llvmlite"))]
        if path.parent.name != "jit":
            assert names == [], path
            continue
        for name in names:
            if name.startswith("numba.core.") and not name.startswith("numba.core.cgutils."):
                assert name in listed or name.rsplit(".", 1)[1] in listed, f"{path} imports {name}"
                assert f"``{path.stem}``" in listed, path
