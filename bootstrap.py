#!/usr/bin/env python3
"""Sets the project up and runs a command in it: `python3 bootstrap.py run`; without arguments, the list.

Finds a Python that fits, makes `.venv`, installs what the command needs and hands over to it. Needs nothing
else, and no syntax newer than 3.6, so that an old Python gets as far as saying what is missing.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"
VERSIONS = ("3.13", "3.12", "3.11", "3.14")  # in order of preference: of 3.14 not all is tested
NOTEBOOKS = "python maintainers/notebooks.py --check"
COMMANDS = {  # extras to install, and steps: the first gets the arguments, and all run, whatever fails
    "run": ("", "python -m territorial demo --page --replay"),
    "test": ("dev", "python -m pytest -q -n auto --maxprocesses 4 --dist worksteal -o testpaths=tests"),
    "lint": ("dev", "ruff check .", "ruff format --check .", "mypy", "lint-imports"),
    "docs": ("docs", "sphinx-build -W --keep-going -q -b html docs build/docs", NOTEBOOKS),
    "bench": ("dev", "python -m pytest -o testpaths=benchmarks --benchmark-enable --benchmark-only"),
    "check": ("browser,dev,docs", "python maintainers/checks.py check"),
    "verify": ("dev", "python maintainers/checks.py verify"),
    "league": ("rllib", "territorial train runs/league --preset boards"),
}
PROBE = "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])\nimport venv, ensurepip"
QUIETLY = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "timeout": 60}
NO_PYTHON = """bootstrap: this project needs CPython 3.11 to 3.14 with the module venv; on PATH there is {}.
  Debian, Ubuntu:  sudo apt install python3.12 python3.12-venv
  macOS:           brew install python@3.12
  Windows:         winget install Python.Python.3.12
With one that lies elsewhere: /path/to/python3.12 bootstrap.py run"""


def candidates(venv):
    """Yield the programs that may be a Python: the running one first, then those on PATH."""
    yield sys.executable
    for name in ["python" + version for version in VERSIONS] + ["python3", "python"]:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, name + (".exe" if WINDOWS else ""))
            if os.access(path, os.X_OK) and venv not in Path(path).parents:
                yield path


def find_python(venv):
    """Return a Python to make the environment with; exit with what to install where there is none."""
    found = {}
    for path in candidates(venv):
        try:  # version managers leave shims that exist and fail
            done = subprocess.run([path, "-c", PROBE], **QUIETLY)
        except (OSError, subprocess.TimeoutExpired):
            continue
        name = done.stdout.decode().strip() + (" without venv" if done.returncode else "")
        if name in ["cpython " + version for version in VERSIONS[:3]]:
            return path
        found.setdefault(name, path)
    if "cpython 3.14" not in found:
        seen = ", ".join("{} ({})".format(*item) for item in found.items())
        sys.exit(NO_PYTHON.format(seen or "no Python that starts"))
    return found["cpython 3.14"]


def program(venv, name):
    """Return the path of a program of the environment."""
    return str(venv / "Scripts" / (name + ".exe") if WINDOWS else venv / "bin" / name)


def install(venv, extras):
    """Make the environment hold the core and ``extras``, doing nothing where it does."""
    stamp, constraints = venv / "bootstrap-installed", ROOT / ".ci" / "constraints.txt"
    inputs = [str(ROOT).encode(), (ROOT / "pyproject.toml").read_bytes(), constraints.read_bytes()]
    digest = hashlib.sha256(b"\0".join(inputs)).hexdigest()
    if venv.exists() and not stamp.exists():
        sys.exit(f"bootstrap: {venv} was not made by bootstrap.py: move or delete it, then try again")
    # An empty stamp is that of an interrupted installation, which can look whole and lack files.
    is_there = stamp.exists() and Path(program(venv, "python")).exists()
    before = stamp.read_text().split("\n") if is_there else [""]
    have = set(before[1:]) | {""}
    if before[:1] == [digest] and set(extras.split(",")) <= have:
        return
    if before == [""]:
        python = find_python(venv)
        shutil.rmtree(str(venv), ignore_errors=True)
        venv.mkdir()
        stamp.write_text("")
        subprocess.run([python, "-m", "venv", str(venv)], check=True)
    stamp.write_text("")
    wanted = sorted({*extras.split(","), *have} - {""})
    print(f"bootstrap: installing {extras or 'the core'} (the first time takes a minute or two)", flush=True)
    pip = [program(venv, "python"), "-m", "pip", "--disable-pip-version-check", "install", "--no-input"]
    # Without a ready-made numba, pip would try to build LLVM and fail with pages of output. Of all modules
    # few are ever imported, and Python compiles those.
    pip += ["--only-binary", "llvmlite,numba", "--no-compile", "--constraint", str(constraints)]
    if subprocess.call([*pip, "-e", f"{ROOT}[{','.join(wanted)}]" if wanted else str(ROOT)]):
        stamp.write_text("\n".join(before))  # pip came to an end and left what was there
        sys.exit("bootstrap: pip failed, as it says above; it reads HTTPS_PROXY, PIP_INDEX_URL and PIP_CERT")
    stamp.write_text("\n".join([digest, *wanted]))


def main(name="", *arguments):
    """Run the command ``name``; return the exit code, of steps the last that is not 0."""
    if name not in COMMANDS:
        print(f"usage: python3 bootstrap.py {'|'.join(COMMANDS)} [arguments]: see the Makefile")
        return 2
    # Else all processes of a league would compile the modules of torch and Ray anew: five seconds each.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    extras, *steps = COMMANDS[name]
    venv = ROOT / (".venv-rllib" if extras == "rllib" else ".venv")
    install(venv, extras)
    commands = [[program(venv, step.split()[0]), *shlex.split(step)[1:]] for step in steps]
    commands[0] += arguments
    os.chdir(str(ROOT))
    if len(commands) == 1 and not WINDOWS:
        os.execv(commands[0][0], commands[0])  # signals and the exit code need no passing on
    return max([subprocess.call(command) for command in commands], key=abs)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
