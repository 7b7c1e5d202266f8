"""Kernels from the library and their arguments: the same results without numba, and no others taken."""

import ctypes
import gc
import importlib
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_features__

import territorial
from territorial.decode import store
from territorial.engine import step
from territorial.jit import thread_pool
from territorial.jit.arguments import KINDS, PYTHON_AT, BoundArguments, take_apart
from territorial.jit.decorators import JIT_ENABLED, Kernel, address_of, arguments_of, call_at, kernel
from territorial.jit.library import (
    CHOICE,
    FOLDER,
    LEAST_RESULT,
    MISMATCH,
    NUMBA,
    TABLE,
    Entry,
    Library,
    digest_of,
    levels,
)

ROOT = Path(territorial.__file__).parents[1]
FOUND = Library()
PLAYS = JIT_ENABLED and FOUND.kernel(step.step_games.py_func) is not None
WHY_NOT = FOUND.why_not or "NUMBA_DISABLE_JIT=1, or the machine code is of other sources: make it anew"
needs_the_library = pytest.mark.skipif(not PLAYS, reason=WHY_NOT)
# What stands in the place of numba where it must not be imported, by this process or another.
NO_NUMBA = "import os; os._exit(77)\n"


@pytest.fixture
def run(tmp_path):
    """Return what runs a program in a new process: of the package in ``root``, without numba or with it."""

    def run(program, *, choice="", root=ROOT, without_numba=True):
        for name in ("numba", "llvmlite"):
            (tmp_path / "without" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "without" / name / "__init__.py").write_text(NO_NUMBA)
        places = [str(root), *[str(tmp_path / "without")] * without_numba]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(places), CHOICE: choice}
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            env=environment | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


def from_library(kernel):
    """Return the kernel as it is where the library is in use, whatever this process was told to take."""
    made = Kernel(kernel.py_func)
    vars(made)["code"] = FOUND.kernel(kernel.py_func)
    return made


# ---- which library, and what it gives --------------------------------------------------------------

SMALL = "height=24, width=24, num_players=4, max_ticks=300"
USES = {
    "make_vec": f"""
import numpy as np, territorial
env = territorial.make_vec(2, {SMALL})
env.reset(seed=0)
env.step(np.zeros((2, 4), np.int64))
""",
    "parallel_env": f"""
import territorial
env = territorial.parallel_env({SMALL})
env.reset(seed=0)
env.step(dict.fromkeys(env.agents, 0))
""",
    "match": f"""
import territorial
territorial.match(["banker-1", "turtle-1", "champion-1", "drip-1"], territorial.GameConfig({SMALL}), 2)
""",
    "commands": """
from territorial.cli import main
assert not main(["info"])
assert not main(["demo", "--replay", "one.replay", "--page", "one.html", "--height", "32", "--width", "32"])
assert not main(["replay", "one.replay", "--verify"])
""",
    "games of other kinds": """
import territorial
config, seats = territorial.GameConfig(height=48, width=48, num_players=3), ["banker", "drip", "random"]
for games, options in [
    (2, dict(seats=["champion-1", *seats[1:]], num_threads=2)),
    (3, dict(seats=seats)),
    (2, dict(frames=4, autoreset="disabled")),
    (2, dict(observe=False, num_threads=2)),
    (1, dict(seats=["champion-1", *seats[1:]])),
]:
    game = territorial.VecGame(config, games, **options)
    game.reset(seed=games)
    game.step(hold=True)
    game.close()
""",
    "fork": f"""
import os, sys, territorial
game = territorial.VecGame(territorial.GameConfig({SMALL}), 2, num_threads=2)
game.reset(seed=0)
child = os.fork() if hasattr(os, "fork") else None
game.step(hold=True)
if child == 0:
    os._exit(0)
sys.exit(0 if child is None else os.waitpid(child, 0)[1])
""",
    "threads": """
import threading, numpy as np
from territorial.jit.thread_pool import ASLEEP, STATE, WIDTH, WORKING, are_working
states = np.zeros((2, WIDTH), np.int64)
states[1, STATE] = WORKING
thread = threading.Thread(target=are_working, args=(states, 2**62))
thread.start()
states[1, STATE] = ASLEEP  # comes to that only where the kernel lets other threads run
thread.join()
""",
}


@needs_the_library
@pytest.mark.parametrize("use", USES)
def test_numba_is_not_imported(use, run):
    run(USES[use])


@needs_the_library
@pytest.mark.checkout
def test_the_blocks_of_the_readme_import_no_numba(run):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "import torch" not in block]
    assert len(blocks) >= 2
    for block in blocks:
        run(block)


PLAY = f"""
import hashlib, numpy as np, territorial
for teams in (None, 2):
    config = territorial.GameConfig({SMALL}, teams=teams, handicap=True)
    seats = ["agent", "champion-1", "banker", "random"]
    game = territorial.VecGame(config, 2, seats=seats, num_threads=2)
    game.reset(seed=1)
    for _ in range(40):  # some games end, and others begin
        game.step(hold=True)
    print(*[game.digest(k) for k in range(2)])
    for form in ("features", "pairs"):
        env = territorial.make_vec(2, config=config, obs=form)
        seen = env.reset(seed=2)[0]
        hashed = hashlib.blake2b()
        for i in range(20):
            masks = env.action_masks().reshape(2, 4, -1)
            seen = env.step(masks.cumsum(-1).argmax(-1) if i % 3 else masks.argmax(-1))[0]
            for name in sorted(seen):
                hashed.update(np.ascontiguousarray(seen[name]).tobytes())
        print(form, hashed.hexdigest())
for name, lineup in territorial.LINEUPS.items():
    config = territorial.GameConfig(teams=4 if "teams" in name else None, handicap=True)
    for seats in (lineup.seats, ("champion-1", "upstart-1", *lineup.seats[2:])):
        game = territorial.VecGame(config, 125, seats=seats, num_threads=2, autoreset="disabled")
        game.reset(seed=7)
        while not game.state.over.all():
            game.step(repeat=100)
        print(name, *[game.digest(k).hex() for k in range(125)])
"""


@needs_the_library
@pytest.mark.slow
def test_a_thousand_games_and_observations_are_the_same_from_every_level_and_from_numba(run):
    table = json.loads((FOLDER / TABLE).read_text())["libraries"]
    choices = [level[1:] for level in levels() if any(level in name for name in table)]
    played = {choice: run(PLAY, choice=choice).stdout for choice in choices}
    assert set(played.values()) == {run(PLAY, choice=NUMBA, without_numba=False).stdout}


def test_a_level_is_that_of_the_processor_or_chosen(monkeypatch):
    if not levels()[-1]:
        pytest.skip("libraries for this kind of processor have no levels")
    for feature in __cpu_features__:
        monkeypatch.setitem(__cpu_features__, feature, True)
    assert levels() == ["-icelake", "-v4", "-v3", "-v2"]
    for feature in ("AVX512_ICL", "AVX512F", "X86_V4"):
        if feature in __cpu_features__:
            monkeypatch.setitem(__cpu_features__, feature, False)
    assert levels() == ["-v3", "-v2"]
    for feature in ("AVX2", "X86_V3"):
        if feature in __cpu_features__:
            monkeypatch.setitem(__cpu_features__, feature, False)
    assert levels() == ["-v2"]
    path = Library().path
    assert path is None or "-v2" in path.name
    assert not Library(chosen="v3").path, "this processor cannot run it"
    assert "v3" in Library(chosen="v3").why_not
    assert NUMBA in Library(chosen=NUMBA).why_not
    monkeypatch.setitem(sys.modules, "numpy._core._multiarray_umath", SimpleNamespace())
    monkeypatch.setitem(__cpu_features__, "X86_V3", True)
    assert levels() == ["-v2"], "numpy does not say more"


@pytest.mark.parametrize("choice", ["v1", "V3", "none", " "])
def test_a_choice_that_is_none_is_named_with_those_that_are(choice):
    with pytest.raises(ValueError, match=f"{CHOICE} must be .*'v2', .*'{NUMBA}'.*; got '{choice}'"):
        Library(chosen=choice)


# ---- what is not as it was made ----------------------------------------------------------------------


LIBRARY = FOUND.path.name if FOUND.path else ""
DAMAGES = {
    "a bit": {LIBRARY: lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]},
    "cut": {LIBRARY: lambda content: content[: len(content) // 2]},
    "emptied": {LIBRARY: lambda content: b""},
    "another kernel": {LIBRARY: bytes, TABLE: lambda content: content.replace(b'"k1"', b'"k2"')},
    "another version": {TABLE: lambda content: content.replace(b'"version": "', b'"version": "0')},
    "no JSON": {TABLE: lambda content: content[:-100]},
}


def damage(folder, kind):
    """Change the files in ``folder``; return that which is to blame."""
    for name, change in DAMAGES[kind].items():
        (folder / name).write_bytes(change((folder / name).read_bytes()))
    return str(folder / next(iter(DAMAGES[kind])))


@needs_the_library
def test_what_is_no_library_though_its_digest_says_so_is_not_used(tmp_path, caplog):
    folder, no_library = Path(shutil.copytree(FOLDER, tmp_path / "machine_code")), b"no library"
    table = json.loads((folder / TABLE).read_text())
    table["libraries"][LIBRARY] = digest_of(no_library, table["kernels"])
    (folder / TABLE).write_text(json.dumps(table))
    (folder / LIBRARY).write_bytes(no_library)
    assert Library(folder).path is None
    assert LIBRARY in caplog.text


@needs_the_library
@pytest.mark.parametrize("kind", DAMAGES)
def test_a_library_that_is_not_as_it_was_made_is_named_once_and_not_used(kind, tmp_path, caplog):
    folder = Path(shutil.copytree(FOLDER, tmp_path / "machine_code"))
    to_blame, found = damage(folder, kind), Library(folder)
    assert found.path is None
    (said,) = caplog.messages
    assert said.startswith("numba compiles kernels")
    assert said.endswith(f": {found.why_not}")
    assert found.why_not.startswith(to_blame)
    assert found.kernel(step.step_games.py_func) is None


WHO_MADE = """
import numpy as np
from territorial.engine.step import find_bad_action
from territorial.envs.infos import write_numbers
from territorial.jit.library import library
from territorial.jit.thread_pool import WIDTH, are_working

are_working(np.zeros((2, WIDTH), np.int64), 0)
print(find_bad_action(np.full((1, 2, 2), 99)))
print(*["numba" if "dispatcher" in vars(one) else "library" for one in (are_working, find_bad_action)])
print(0 if write_numbers.code is None else len(write_numbers.code.entries))
print(*library().changed())
"""


@needs_the_library
@pytest.mark.parametrize(
    ("edited", "makers"), [("", "numba numba"), ("engine/step", "library numba"), ("envs/infos", None)]
)
def test_what_the_library_cannot_give_numba_compiles(edited, makers, tmp_path, run):
    package = shutil.copytree(
        ROOT / "territorial", tmp_path / "territorial", ignore=shutil.ignore_patterns("__pycache__")
    )
    if edited:
        with open(f"{package}/{edited}.py", "a") as file:
            file.write("# edited\n")
    else:
        damage(Path(package, "jit", "machine_code"), "a bit")
    done = run(WHO_MADE, root=tmp_path, without_numba=makers is None)
    bad, made_by, of_infos, changed = done.stdout.splitlines()
    assert not edited or f"{edited}.py" in changed.split()
    assert (bad, made_by) == ("0", makers or "library library")
    assert int(of_infos) == int(edited == "engine/step") or edited != "envs/infos"
    assert done.stderr.count("numba compiles kernels") == (makers is not None)
    assert ("it is damaged" in done.stderr) == (not edited)


# ---- arguments ---------------------------------------------------------------------------------------


class Own(np.ndarray):
    """Numba may make something else of it."""


GOOD = np.array([[[1, 2], [3, 9]]])
OTHERS = {
    "dtype": GOOD.astype(np.int32),
    "unsigned": GOOD.astype(np.uint64),
    "byte order": GOOD.astype(">i8"),
    "dimensions": GOOD[0],
    "more dimensions": GOOD[None],
    "layout": np.asfortranarray(np.repeat(GOOD, 2, axis=0)),
    "strides": np.repeat(GOOD, 2, axis=2)[..., ::2],
    "backwards": GOOD[:, ::-1],
    "read-only": np.frombuffer(GOOD.tobytes(), np.int64).reshape(GOOD.shape),
    "unaligned": np.frombuffer(bytearray(33), np.int64, 4, 1).reshape(GOOD.shape),
    "subclass": GOOD.view(Own),
    "objects": GOOD.astype(object),
    "list": GOOD.tolist(),
    "number": 3,
    "nothing": None,
}


@needs_the_library
@pytest.mark.parametrize("kind", OTHERS)
def test_machine_code_gets_no_array_that_it_was_not_made_for(kind):
    kernel, good = from_library(step.find_bad_action), (GOOD,)
    assert kernel.find(good)[0] is not None
    assert kernel.code.call(id(good), PYTHON_AT) >= LEAST_RESULT
    for arguments in ((OTHERS[kind],), (GOOD, GOOD), ()):
        assert kernel.find(arguments)[0] is None
        assert kernel.code.call(id(arguments), PYTHON_AT) == MISMATCH


@needs_the_library
def test_arrays_of_any_size_and_results_are_those_of_python():
    bad_action, are_working = from_library(step.find_bad_action), from_library(thread_pool.are_working)
    wrong = GOOD.repeat(3, axis=0)
    wrong[2, 1, 0] = 9
    for actions in (GOOD, wrong, GOOD[:0], np.zeros((1, 0, 2), np.int64)):
        assert bad_action(actions) == step.find_bad_action.py_func(actions)
    states = np.zeros((2, thread_pool.WIDTH), np.int64)
    assert are_working(states, 0) is False
    states[1, thread_pool.STATE] = thread_pool.WORKING
    for turns in (0, True - 1, np.int64(0), -(2**62)):
        assert are_working(states, turns) is True
        assert are_working(states[:1], turns) is False


@needs_the_library
@pytest.mark.parametrize(
    "number", [0, 1, -1, 256, 257, -(2**30) + 1, 2**30 - 1, 2**30, 2**31, -(2**62), 2**62]
)
def test_numbers_of_any_size_are_read(number):
    find_bad_change = from_library(store.find_bad_change)
    shapes, kinds = ((1, 3), (1, 3), 1), next(iter(find_bad_change.code.entries))
    arrays = [np.full(shape, 3, KINDS[kind >> 20]) for shape, kind in zip(shapes, kinds, strict=False)]
    for one in arrays:  # as in a store, which gives nothing else to the kernel
        one.flags.writeable = False
    given = (*arrays, number, 3)
    assert find_bad_change(*given) == store.find_bad_change.py_func(*given)
    is_read = find_bad_change.code.call(id(given), PYTHON_AT) != MISMATCH
    assert is_read == (abs(number) < 2**30)


def test_what_differs_for_numba_differs_for_the_library():
    values = [False, (), ((),), 0, 0.0, np.float32(0), np.uint64(0), np.int8(0), (0,), (0, 0), ((0,), 0)]
    arrays = [np.zeros(shape, dtype) for dtype in "?bhilBHILfd" for shape in ((), 3, (2, 2), (1,) * 16)]
    arrays += [np.frombuffer(one.tobytes(), one.dtype).reshape(one.shape) for one in arrays]
    signatures = [signature_of((value,)) for value in [*values, *arrays]]
    assert len({*signatures}) == len(signatures)


def signature_of(values):
    signature = []
    take_apart(values, signature, [])
    return tuple(signature)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 2**200, 1j, "1", None])
def test_a_number_that_has_not_64_bits_is_not_wrapped(number):
    with pytest.raises(TypeError, match="numbers of at most 64 bits"):
        take_apart(((1, number),), [], [])
    with pytest.raises(TypeError, match="numbers of at most 64 bits"):
        BoundArguments((np.zeros(2), number))


# ---- a library in Python -----------------------------------------------------------------------------


def entry_to(function, gives):
    """Return the entry of a kernel that is a function of the address of its words, and returns a status."""
    return Entry({"k": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(function)}, "shown", gives, "k")


@pytest.mark.parametrize(
    ("gives", "result", "bits"),
    [
        ("none", None, 7),
        ("bool", True, 1),
        ("int64", -5, 2**64 - 5),
    ],
)
def test_numbers_come_to_kernels_and_from_them_as_they_are(gives, result, bits):
    given = (True, -3, 2**63 - 1, 2.5, np.float32(1.5), np.uint64(2**64 - 1), np.int8(-1), np.bool_(1))
    expected = [1, 2**64 - 3, 2**63 - 1, 0x4004000000000000, 0x3FC00000, 2**64 - 1, 2**64 - 1, 1]
    found = []

    def called(address):
        words = (ctypes.c_uint64 * 10).from_address(address)
        found[:] = words[:8]
        words[8], words[9] = bits, 1
        return -2 if result is None else 0

    words = []
    take_apart(given, [], words)
    assert (entry_to(called, gives).run(words), found) == (result, expected)


@pytest.mark.parametrize("status", [-1, -3, 1, 17])
def test_a_kernel_that_fails_is_an_error_with_its_name(status):
    failing = entry_to(lambda address: status, "none")
    for call in (
        lambda: failing.run([]),
        lambda: thread_pool.ThreadPool(1, 1).run(failing.call, [BoundArguments((1,))]),
        lambda: thread_pool.ThreadPool(2, 2).run(failing.call, [BoundArguments((1,))] * 2),
    ):
        with pytest.raises(RuntimeError, match=f"kernel shown failed with status {status}"):
            call()


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing has an address with NUMBA_DISABLE_JIT=1")
def test_a_step_that_fails_is_an_error_of_the_caller():
    game = territorial.VecGame(territorial.GameConfig(height=24, width=24, num_players=2), 1)
    game.reset(seed=0)
    game._calls.batch(0).entries[0] = 0
    with pytest.raises(RuntimeError, match=r"failed with status|before its address is known"):
        game.reset(seed=1)


def test_what_a_kernel_returns_is_not_written_over_what_is_bound():
    bound = BoundArguments((5, np.arange(3), 2.5))
    kept = (ctypes.c_uint64 * bound.num_words).from_address(bound.address)
    before = [*kept]

    def called(address):
        words = (ctypes.c_uint64 * 3).from_address(address)
        assert words[0] == bound.address
        words[1], words[2] = 99, 98
        return 0

    entry_to(called, "none").call(bound)
    assert ([*kept], before[0]) == (before, 5)


# ---- kernels of a user's own -------------------------------------------------------------------------

OWN = """
import numba, numpy as np
from territorial.observation.action_encoding import what_of
from territorial.jit.library import library
from territorial.jit.thread_pool import WIDTH, are_working, call_all, queues_of, take

@numba.njit
def taken(queues, states, number):
    count = 0
    while take(queues, 0) >= 0:
        count += 1
    return count, are_working(states, 0), what_of(number)

states = np.zeros((2, WIDTH), np.int64)
print(taken(queues_of(0, 5), states, 23), what_of(23))
print(call_all(states, np.zeros(2, np.int64)), "dispatcher" in vars(call_all), library().path is not None)
"""


@needs_the_library
def test_a_kernel_of_a_users_own_calls_ours_while_the_library_is_in_use(run):
    first, second = run(OWN, without_numba=False).stdout.splitlines()
    counts, what = first.rsplit(maxsplit=1)
    assert counts == f"(5, False, {what})"
    assert second.split()[1:] == ["False", "True"]


# ---- wheels ------------------------------------------------------------------------------------------

LIBRARIES = sorted(FOLDER.glob("*-*")) or [None]
MADE = ["linux-x86_64-v2.so", "linux-x86_64-v3.so", "linux-arm64.so", "win32-x86_64-v2.dll"]


@pytest.fixture
def load(monkeypatch):
    """Return what imports a program of maintainers."""
    interface = SimpleNamespace(BuildHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", interface)
    monkeypatch.syspath_prepend(ROOT / "maintainers")
    return importlib.import_module


def build(load, root, version="standard"):
    """Return the tag and the machine code of a wheel by the hook that builds it, and what its table names."""
    hook, data = load("wheel_hook").MachineCode(), {"tag": None, "pure_python": True, "force_include": {}}
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    hook.root, hook.config = str(root), targets["wheel"]["hooks"]["custom"]
    hook.initialize(version, data)
    files = {Path(place).name: Path(path) for path, place in data["force_include"].items()}
    named = json.loads(files[TABLE].read_text())["libraries"].keys() if files else None
    hook.finalize(version, data, "")
    return data["tag"], {*files}, named


@pytest.mark.checkout
@pytest.mark.parametrize(
    ("system", "platform", "libraries"),
    [
        ("linux-x86_64", "manylinux_2_28_x86_64", {*MADE[:2]}),
        ("linux-arm64", "manylinux_2_28_aarch64", {MADE[2]}),
        ("win32-x86_64", "win_amd64", {MADE[3]}),
        ("darwin-arm64", None, None),
        ("linux", None, None),
    ],
)
def test_a_wheel_for_a_system_has_its_libraries_alone(
    system, platform, libraries, load, tmp_path, monkeypatch
):
    (tmp_path / "territorial" / "jit" / "machine_code").mkdir(parents=True)
    table = json.dumps({"libraries": dict.fromkeys(MADE, ""), "kernels": {}})
    (tmp_path / "territorial" / "jit" / "machine_code" / TABLE).write_text(table)
    assert build(load, tmp_path) == (None, set(), None)
    monkeypatch.setenv("TERRITORIAL_WHEEL", system)
    assert build(load, tmp_path, "editable") == (None, set(), None)
    if platform:
        assert build(load, tmp_path) == (f"py3-none-{platform}", libraries | {TABLE}, libraries)
    else:
        with pytest.raises(ValueError, match=f"TERRITORIAL_WHEEL must be .*{system!r}"):
            build(load, tmp_path)


@pytest.mark.checkout
@pytest.mark.skipif(LIBRARIES == [None], reason="this checkout has no machine code")
@pytest.mark.parametrize("path", LIBRARIES, ids=lambda path: path and path.name)
def test_a_library_gives_its_kernels_and_asks_for_nothing(path, load):
    pytest.importorskip("lief")
    faults_of, system = load("wheel_contents").library_faults, "-".join(path.stem.split("-")[:2])
    kernels, content = json.loads((FOLDER / TABLE).read_text())["kernels"], path.read_bytes()
    more = {"more.py": {"kernels": {"more": {"symbol": "more", "forms": []}}}}
    assert faults_of(system, content, kernels) == []
    assert faults_of(system, content, kernels | more) == ["does not give ['more']"]
    assert faults_of("linux-x86_64" if "arm64" in system else "linux-arm64", content, kernels)


# ---- arguments that are bound ------------------------------------------------------------------------


class Part(NamedTuple):
    """A part of the arguments."""

    rate: float
    table: np.ndarray


class Whole(NamedTuple):
    """The arguments of ``weigh``."""

    count: int
    part: Part
    out: np.ndarray


@kernel
def weigh(bound):
    """Write rate * table of the first ``count`` rows."""
    whole = arguments_of(bound)
    for i in range(whole.count):
        for j in range(whole.part.table.shape[1]):
            whole.out[i, j] = whole.part.rate * whole.part.table[i, j]


def test_arrays_are_shared_and_numbers_copied():
    table, out = np.arange(12.0).reshape(4, 3), np.full((4, 3), -1.0)
    bound = BoundArguments(Whole(3, Part(0.5, table), out))
    weigh(bound)
    np.testing.assert_array_equal(out, [[0, 0.5, 1], [1.5, 2, 2.5], [3, 3.5, 4], [-1, -1, -1]])
    table += 2
    weigh(bound)
    np.testing.assert_array_equal(out[0], [1, 1.5, 2])


def test_memory_stays_as_long_as_it_is_held():
    bound, other = (
        BoundArguments(Whole(2, Part(1.0, np.full((2, 5), value)), np.zeros((2, 5)))) for value in (3.0, 7.0)
    )
    gc.collect()
    _ = [np.full((2, 5), 99.0) for _ in range(100)]
    weigh(bound)
    weigh(other)
    assert (bound.arguments.out == 3).all()
    assert (other.arguments.out == 7).all()


def test_it_does_not_go_to_other_processes():
    with pytest.raises(TypeError, match="cannot be copied to another process"):
        pickle.dumps(BoundArguments(Whole(1, Part(1.0, np.zeros((1, 1))), np.zeros((1, 1)))))


# ---- calls by address ----------------------------------------------------------------------------


@kernel
def add_row(bound, row, factor):
    """Add ``factor`` times a row of the table to that of ``out``; an error for a row that is not there."""
    whole = arguments_of(bound)
    if row >= whole.count:
        raise IndexError("no such row")
    for j in range(whole.out.shape[1]):
        whole.out[row, j] += factor * whole.part.table[row, j]


@kernel
def add_rows(bound, address, first, end):
    """Add twice the rows [first, end)."""
    for row in range(first, end):
        call_at(address, add_row, bound, (row, 2.0))


def test_a_kernel_called_by_address_gets_what_is_held_and_its_errors_come_back():
    table, out = np.arange(12.0).reshape(4, 3), np.ones((4, 3))
    bound = BoundArguments(Whole(3, Part(0.5, table), out))
    address = address_of(add_row, bound, 0, 2.0)
    add_rows(bound, address, 1, 3)
    np.testing.assert_array_equal(out, [[1, 1, 1], [7, 9, 11], [13, 15, 17], [1, 1, 1]])
    with pytest.raises(IndexError, match="no such row"):
        add_rows(bound, address, 2, 4)
    np.testing.assert_array_equal(out[2:], [[25, 29, 33], [1, 1, 1]])
