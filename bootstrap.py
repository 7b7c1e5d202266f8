#!/usr/bin/env python3
"""Sets the project up and runs it: `python3 bootstrap.py run`; without arguments, the commands.

Finds a Python that the project supports, makes `.venv` with it, installs what the command needs and
hands over to it; arguments after the command are passed on. Nothing is installed while nothing has
changed. Uses the standard library alone and no syntax newer than Python 3.5, so that an old Python
gets as far as saying what is missing. pip's own settings (PIP_INDEX_URL, PIP_CONSTRAINT ...) apply.
"""

import collections
import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")  # of the command at work: see use_venv_for
VENVS = {"rllib": ".venv-rllib"}  # of extras that take a gigabyte
WINDOWS = os.name == "nt"

SUPPORTED = ((3, 13), (3, 12), (3, 11), (3, 14))  # in order of preference
UNTESTED = ((3, 14),)  # not all of it is tested: accepted, with a note

Command = collections.namedtuple("Command", "extra steps help")
# `extra` is what has to be installed beside the core; each step is a program of its .venv with its
# arguments; the first step gets the user's arguments as well. All steps run, whatever fails.
COMMANDS = {
    "run": Command(
        "", ["python -m territorial demo --animation --page --replay"], "play one whole game of bots"
    ),
    "test": Command(
        "dev",
        ["python -m pytest -q -n auto --maxprocesses 4 --dist worksteal -o testpaths=tests"],
        "run the core tests",
    ),
    "lint": Command(
        "dev",
        [
            "ruff check .",
            "ruff format --check .",
            "mypy",
            "lint-imports",
        ],
        "check style, types and layers",
    ),
    "docs": Command(
        "docs",
        [
            "sphinx-build -W --keep-going -q -b html docs build/docs",
            "python maintainers/notebooks.py --check",
        ],
        "build the documentation, build/docs/index.html",
    ),
    "bench": Command(
        "dev",
        ["python -m pytest -o testpaths=benchmarks --benchmark-enable --benchmark-only"],
        "time the benchmarks",
    ),
    "check": Command(
        "dev,docs", ["python maintainers/checks.py check"], "run all that a change has to pass: .ci/run"
    ),
    "verify": Command(
        "dev", ["python maintainers/checks.py verify"], "run the long checks; goes on if stopped"
    ),
    "league": Command(
        "rllib",
        ["territorial train runs/league --preset boards"],
        "train a league with RLlib at full size, in the folder runs/league",
    ),
    "clean": Command("", [], "remove .venv, builds and tool caches"),
}


class SetupError(Exception):
    """Something the user has to put right; the message says what and how."""


def say(text):
    """Print one message, at once and recognisable among the output of other programs."""
    print("bootstrap: " + text)
    sys.stdout.flush()


# --- Finding a Python -----------------------------------------------------------------------------

Interpreter = collections.namedtuple("Interpreter", "command version missing")

PROBE = """
import platform, sys
missing = []
for name in ("venv", "ensurepip"):
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
found = [platform.python_implementation(), "%d.%d" % sys.version_info[:2]] + missing
sys.stdout.write(" ".join(found))
"""


def probe(command):
    """Return the CPython that `command` (a list) starts, or None if it starts none.

    A file named python3.12 is no promise: version managers leave shims that exist and fail.
    """
    try:
        process = subprocess.Popen(
            [*command, "-c", PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        output = process.communicate(timeout=30)[0].decode("utf-8", "replace").split()
        major, minor = output[1].split(".")
        version = (int(major), int(minor))
    except subprocess.TimeoutExpired:
        process.kill()
        return None
    except (OSError, ValueError, IndexError):
        return None
    if process.returncode != 0 or output[0] != "CPython":
        return None
    return Interpreter(command, version, output[2:])


def candidates():
    """Yield the commands that may start a Python: the running one first, then those on PATH."""
    if sys.executable:
        yield [sys.executable]
    versions = ["{}.{}".format(*version) for version in SUPPORTED]
    if WINDOWS:
        for version in versions:
            yield ["py", "-" + version]
    names = ["python" + version for version in versions] + ["python3", "python"]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    for name in names:
        for folder in folders:
            path = os.path.join(folder, name + (".exe" if WINDOWS else ""))
            if folder and os.access(path, os.X_OK):
                yield [path]


def find_python():
    """Return the command of the best Python for .venv; raise SetupError if there is none."""
    seen, usable, incomplete, others = set(), [], [], []
    for command in candidates():
        inside = os.path.abspath(command[0]).startswith(VENV + os.sep)
        if inside or tuple(command) in seen:
            continue  # .venv cannot be remade with its own Python
        seen.add(tuple(command))
        python = probe(command)
        if python is None:
            continue
        if python.version not in SUPPORTED:
            others.append(python)
        elif python.missing:
            incomplete.append(python)
        elif python.version in UNTESTED:
            usable.append(python)
        else:
            return python.command
    if usable:
        say("using Python {}.{}, with which only the core has been tested".format(*usable[0].version))
        return usable[0].command
    raise SetupError(no_python(incomplete, others))


def no_python(incomplete, others):
    """Say what was found instead of a usable Python, and how to get one."""
    if incomplete:
        python = incomplete[0]
        version = "{}.{}".format(*python.version)
        return (
            "Python {0} at {1} lacks the module {2}, which is needed to make .venv.\n"
            "  Debian, Ubuntu:  sudo apt install python{0}-venv\n"
            "  elsewhere:       install a complete Python {0}\n"
            "Then give the same command again."
        ).format(version, " ".join(python.command), " and ".join(python.missing))
    found = ["{} is {}.{}".format(" ".join(p.command), *p.version) for p in others]
    return (
        "this project needs CPython 3.11, 3.12 or 3.13 (of 3.14 the core is tested); none is on PATH.\n"
        "  found:           {}\n"
        "  Debian, Ubuntu:  sudo apt install python3.12 python3.12-venv\n"
        "  Fedora:          sudo dnf install python3.12\n"
        "  macOS:           brew install python@3.12\n"
        "  Windows:         winget install Python.Python.3.12\n"
        "If you have one elsewhere:  /path/to/python3.12 bootstrap.py test"
        "  (or: make PYTHON=/path/to/python3.12 test)"
    ).format("; ".join(found) or "no Python that starts")


# --- Installing -----------------------------------------------------------------------------------


def use_venv_for(extra):
    """Point everything below at the environment that `extra` is installed in."""
    global VENV
    VENV = os.path.join(ROOT, VENVS.get(extra, ".venv"))


def venv_name():
    """Return what the user knows the environment as."""
    return os.path.basename(VENV)


def in_venv(program):
    """Return the path of a program of the environment."""
    if WINDOWS:
        return os.path.join(VENV, "Scripts", program + ".exe")
    return os.path.join(VENV, "bin", program)


def constraints_path():
    """Return the file with one known release of everything that is installed."""
    return os.path.join(ROOT, ".ci", "constraints.txt")


def stamp_path():
    """Return the file that says what .venv holds: a digest, then one extra a line."""
    return os.path.join(VENV, "bootstrap-installed")


def unfinished_path():
    """Return the file that exists while .venv is being changed: the number of the process."""
    return os.path.join(VENV, "bootstrap-unfinished")


def read(path):
    """Return the text of a file, or None if there is none."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return None


def write(path, text):
    """Make `text` the content of a file."""
    with open(path, "w") as file:
        file.write(text)


def digest():
    """Name everything that an installation depends on: dependencies, interpreter, place."""
    parts = [
        read(os.path.join(ROOT, "pyproject.toml")) or "",
        read(constraints_path()) or "",
        read(os.path.join(VENV, "pyvenv.cfg")) or "",
        ROOT,  # an editable install that was copied elsewhere still points to the old place
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()


def installed_extras():
    """Return the extras ("" is the core) that .venv has for the present pyproject.toml."""
    lines = (read(stamp_path()) or "").split("\n")
    whole = os.path.exists(in_venv("python")) and not os.path.exists(unfinished_path())
    if not whole or lines[0] != digest():
        return []
    return lines[1:]


def is_running(process_id):
    """Tell whether a process of that number lives, where that can be told."""
    if WINDOWS or not process_id.isdigit():
        return False
    try:
        os.kill(int(process_id), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def remove_broken_venv():
    """Leave .venv either absent or fit to be installed into; raise SetupError if it is not ours."""
    if not os.path.lexists(VENV):
        return
    owner = read(unfinished_path())
    if owner is not None and owner != str(os.getpid()) and is_running(owner):
        raise SetupError(
            "another bootstrap.py (process {0}) is installing into {1}. Wait for it to end;\n"
            "if it is something else by that number, delete {1} and try again.".format(owner, venv_name())
        )
    # What an interrupted pip leaves behind can look installed and lack files: begin again.
    if owner is None:
        python = probe([in_venv("python")])
        if python is not None and python.version in SUPPORTED and has_pip():
            return
        if read(stamp_path()) is None:
            raise SetupError(
                "{} was not made by bootstrap.py and has no Python 3.11 to 3.14 with pip.\n"
                "Move or delete it, then give the same command again.".format(venv_name())
            )
    say("the last installation is incomplete, or its Python is missing; making {} again".format(venv_name()))
    try:
        shutil.rmtree(VENV)
    except OSError as error:
        raise SetupError(
            "{} could not be removed ({}).\n"
            "Is a program of it still running? End that, then give the same command again.".format(
                venv_name(), error
            )
        ) from error


def has_pip():
    """Tell whether .venv can install anything."""
    with open(os.devnull, "w") as nowhere:
        command = [in_venv("python"), "-m", "pip", "--version"]
        return subprocess.call(command, stdout=nowhere, stderr=nowhere) == 0


def install(extra):
    """Make .venv hold the core and `extra`, doing nothing where it already does."""
    have = set(installed_extras())
    wanted = set(extra.split(","))
    if wanted <= have:
        return
    remove_broken_venv()
    if not os.path.isdir(VENV):
        python = find_python()
        say("making {} with {}".format(venv_name(), " ".join(python)))
        os.mkdir(VENV)
        write(unfinished_path(), str(os.getpid()))
        if run([*python, "-m", "venv", VENV]) != 0:
            raise SetupError("the environment could not be made; the lines above say why")
    write(unfinished_path(), str(os.getpid()))
    target = "{}[{}]".format(ROOT, extra) if extra else ROOT
    say("installing {} (the first time takes a minute or two)".format(extra or "the core"))
    log = os.path.join(VENV, "pip.log")
    if os.path.exists(log):
        os.remove(log)
    options = ["--disable-pip-version-check", "--no-input", "--log", log]
    # Without a ready-made numba, pip would try to build LLVM and fail with pages of output.
    options += ["--only-binary", "llvmlite,numba"]
    options += [
        "--constraint",
        constraints_path(),
    ]  # one known release of everything
    code = run([in_venv("python"), "-m", "pip", "install", *options, "-e", target])
    if code != 0:
        os.remove(unfinished_path())  # pip came to an end by itself and left nothing half-done
        raise SetupError(pip_failed(read(log) or "", code))
    write(stamp_path(), "\n".join([digest(), *sorted({"", *wanted, *have})]))
    os.remove(unfinished_path())


NETWORK_SIGNS = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Read timed out",
    "ProxyError",
    "SSLError",
    "Connection aborted",
    "Network is unreachable",
)


def pip_failed(log, code):
    """Say in plain words why pip gave up."""
    if any(sign in log for sign in NETWORK_SIGNS):
        return (
            "the package index could not be reached, so nothing could be installed.\n"
            "  Check the connection; behind a proxy set HTTPS_PROXY, for a mirror PIP_INDEX_URL,\n"
            "  for a company certificate PIP_CERT. Then give the same command again."
        )
    if "No matching distribution found" in log:
        return (
            "no version of a dependency fits this Python and machine (named above).\n"
            "  Try another Python: delete {}, then /path/to/python3.12 bootstrap.py ..."
        ).format(venv_name())
    return "pip failed with code {}; its last lines are above, the rest in {}".format(
        code, os.path.join(venv_name(), "pip.log")
    )


# --- Running --------------------------------------------------------------------------------------


def run(command):
    """Run a command in the project's folder, wait for its end and return its exit code.

    Ctrl-C reaches the command by itself, as it reaches everything on the terminal: wait for it to
    stop in its own way, then stop too.
    """
    process = subprocess.Popen(command, cwd=ROOT)
    interrupted = False
    try:
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:
                interrupted = True
    finally:
        if process.poll() is None:
            process.terminate()
    if interrupted:
        raise KeyboardInterrupt
    return 128 - code if code < 0 else code  # killed by a signal: as a shell says it


def hand_over(command):
    """Become the command, so that signals and the exit code need no passing on."""
    if WINDOWS:  # where exec would leave the terminal to both
        sys.exit(run(command))
    os.chdir(ROOT)
    os.execv(command[0], command)


def clean():
    """Remove what the commands of this file have made."""
    names = [".venv", *VENVS.values(), "build", "dist", ".benchmarks", ".hypothesis", ".import_linter_cache"]
    names += [".mypy_cache", ".pytest_cache", ".ruff_cache"]
    paths = [os.path.join(ROOT, name) for name in names]
    for package in ("territorial", "rllib_adapters", "tests", "benchmarks"):
        for folder, folders, _ in os.walk(os.path.join(ROOT, package)):
            paths += [os.path.join(folder, name) for name in folders if name == "__pycache__"]
    for path in paths:
        if os.path.islink(path):
            os.unlink(path)
        elif os.path.isdir(path):
            say("removing " + os.path.relpath(path, ROOT))
            shutil.rmtree(path)


def usage():
    """Return the list of commands."""
    lines = ["usage: python3 bootstrap.py COMMAND [arguments of the command]", ""]
    lines += ["  {:8}{}".format(name, command.help) for name, command in COMMANDS.items()]
    return "\n".join(lines)


def main(arguments):
    """Do what the first argument says; return the exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        print("bootstrap: there is no command {!r}\n\n{}".format(name, usage()), file=sys.stderr)
        return 2
    if name == "clean":
        clean()
        return 0
    use_venv_for(COMMANDS[name].extra)
    install(COMMANDS[name].extra)
    steps = [shlex.split(step) for step in COMMANDS[name].steps]
    steps[0] += rest
    worst, failed = 0, []
    for number, step in enumerate(steps, 1):
        of = "" if len(steps) == 1 else "step {} of {}: ".format(number, len(steps))
        say(of + " ".join(step))
        command = [in_venv(step[0]), *step[1:]]
        if len(steps) == 1:
            hand_over(command)
        code = run(command)
        if code != 0:
            failed.append(" ".join(step))
        worst = code or worst
    if len(steps) > 1:
        say("FAILED: " + "; ".join(failed) if failed else "all {} steps done".format(len(steps)))
    return worst


def _terminate(*_):
    sys.exit(143)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminate)
    try:
        sys.exit(main(sys.argv[1:]))
    except SetupError as error:
        print("bootstrap: {}".format(error), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nbootstrap: stopped; give the same command again to continue", file=sys.stderr)
        sys.exit(130)
