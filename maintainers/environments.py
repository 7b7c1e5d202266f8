#!/usr/bin/env python3
"""The environments of the checks, each with the wheel of this checkout.

python maintainers/environments.py full ends     make these, or bring them up to date
python maintainers/environments.py constraints   write `.ci/constraints.txt` anew, with the newest releases
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "checks"
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
PINNED = ("torch==2.13.0", "ray==2.60.0", "gymnasium==1.2.2")
"""Not renewed: a newer torch brings gigabytes along, and RLlib pins gymnasium."""
APART = shutil.ignore_patterns("__pycache__", ".*cache", ".git", ".venv*", "build", "dist", "runs")
MAGENT = "magent2==0.3.4; python_version < '3.12'"
"""An environment of leagues that are not of this game; it brings pygame-ce, which connect four needs."""
EVERYTHING = "bench,league,rllib,sb3,tests,torch"


@dataclass(frozen=True)
class Environment:
    """What is installed beside the wheel; ``python`` makes it, and ``exempt`` packages have no constraint."""

    extras: str
    also: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    is_constrained: bool = True
    python: str = sys.executable


OLDEST_NUMPY = "numpy==2.0.2" if sys.version_info < (3, 13) else "numpy==2.1.0"

ENVIRONMENTS = {
    "full": Environment(
        EVERYTHING,
        ("datasets", "ipykernel", MAGENT, "minari[hdf5]", "ml_dtypes", "moviepy", "nbclient", "safetensors"),
    ),
    # The source's own environment has the newest numba and the oldest gymnasium: here are the other ends.
    "ends": Environment(
        "tests,bench",
        ("numba==0.61.0", OLDEST_NUMPY, "gymnasium==1.4.0"),
        exempt=("numba", "llvmlite", "numpy", "scipy", "gymnasium"),
    ),
    "newest": Environment("tests,bench,league", is_constrained=False),
    "leagues-of-others": Environment("rllib,tests,torch", (MAGENT, "open_spiel", "pymunk")),
    "oldest-ray": Environment("oldest-ray,tests,bench", exempt=("ray",)),
    "publishing": Environment("", ("twine", "check-wheel-contents", "check-jsonschema", "zizmor")),
} | {
    f"python{version}": Environment("tests,bench", python=f"python{version}")
    for version in ("3.11", "3.12", "3.13", "3.14")
}


def program(environment: str, name: str) -> Path:
    """Return the path of a program of an environment; "source" is the one bootstrap.py makes."""
    home = ROOT / ".venv" if environment == "source" else BUILT / environment
    return home / ("Scripts" if os.name == "nt" else "bin") / (name + (".exe" if os.name == "nt" else ""))


def make(name: str) -> None:
    """Bring an environment up to date: packages where what is asked for has changed, the wheel always."""
    environment, wheel = ENVIRONMENTS[name], built_wheel()
    known = "\n".join(path.read_text() for path in (CONSTRAINTS, ROOT / "pyproject.toml"))
    wanted = f"{environment}\n{sys.version}\n{ROOT}\n{known}"
    stamp = BUILT / name / "installed"
    done = stamp.read_text().split() if stamp.exists() else []
    digests = [hashlib.sha256(data).hexdigest() for data in (wanted.encode(), wheel.read_bytes())]
    if done == digests and environment.is_constrained:
        return  # the stamp stays as it is: parts that run beside this one read it
    if done[:1] != digests[:1] or not environment.is_constrained:
        shutil.rmtree(BUILT / name, ignore_errors=True)
        subprocess.run([environment.python, "-m", "venv", "--without-pip", BUILT / name], check=True)
        constraints = _constraints_of(name)
        extras = f"[{environment.extras}]" if environment.extras else ""
        _install(name, f"{wheel}{extras}", *environment.also, "--constraint", str(constraints))
    else:
        _install(name, str(wheel), "--no-deps", "--force-reinstall")
    stamp.write_text("\n".join(digests))


def _install(environment: str, *what: str) -> None:
    """Install with the pip of the source's environment; Python compiles what is imported alone."""
    pip = [program("source", "python"), "-m", "pip", "--python", program(environment, "python")]
    options = [
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--only-binary",
        "llvmlite,numba,numpy,scipy",
    ]
    subprocess.run([*pip, "install", *options, *what], check=True)


def _constraints_of(name: str) -> Path:
    """Write down the constraints of an environment; return the file."""
    environment, path = ENVIRONMENTS[name], BUILT / f"{name}-constraints.txt"
    lines = CONSTRAINTS.read_text().splitlines() if environment.is_constrained else []
    kept = [line for line in lines if line.split("==")[0] not in environment.exempt]
    path.write_text("\n".join(kept) + "\n")
    return path


def built_wheel() -> Path:
    """Return the wheel of the checkout, with the machine code of this system; it is built unless it is there.

    Built beside it is the sdist. The wheel is one without machine code where the checkout has none, or where
    TERRITORIAL_WHEEL says so.
    """
    from territorial.jit.library import FOLDER, system

    of_system = os.environ.get("TERRITORIAL_WHEEL", system() if FOLDER.exists() else "")
    sources = [path for name in ("territorial", "rllib_adapters") for path in (ROOT / name).rglob("*")]
    sources = [path for path in sources if of_system or FOLDER not in path.parents]
    sources += [ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE")]
    digest = hashlib.sha256()
    for path in sorted(path for path in sources if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(ROOT)}".encode() + path.read_bytes())
    folder = BUILT / "dist" / (of_system or "any") / digest.hexdigest()[:16]
    if not list(folder.glob("*.whl")):
        shutil.rmtree(folder.parent, ignore_errors=True)
        build = [program("source", "python"), "-m", "build", "--sdist", "--wheel", "--outdir", folder, ROOT]
        variables = os.environ | {"TERRITORIAL_WHEEL": of_system}
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL, env=variables)
    return next(folder.glob("*.whl"))


def tests_apart(name: str) -> Path:
    """Return a copy of the checkout without the packages, which are imported from the wheel there."""
    folder = BUILT / "work" / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, ignore=_kept_out)
    return folder


def _kept_out(folder: str, names: list[str]) -> set[str]:
    packages = {"territorial", "rllib_adapters"} if Path(folder) == ROOT else set()
    return APART(folder, names) | packages


def renew_constraints() -> None:
    """Write the constraints anew: what pip takes today for the source and what has no releases of its own."""
    folder = BUILT / "constraints"
    venv.create(folder, clear=True, with_pip=True)
    python = folder / program("source", "python").relative_to(ROOT / ".venv")
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    newest = ("full", "leagues-of-others", "publishing")
    also = [*PINNED, *(requirement for name in newest for requirement in ENVIRONMENTS[name].also)]
    subprocess.run([*pip, "install", "--quiet", f"{ROOT}[{EVERYTHING},browser,dev,docs]", *also], check=True)
    freeze = subprocess.run([*pip, "freeze"], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line.split("+")[0] for line in freeze.splitlines() if "==" in line]  # not "+cpu"
    CONSTRAINTS.write_text(
        "# What checks install, renewed by: python maintainers/environments.py constraints\n"
        + "\n".join(lines)
        + "\n"
    )
    shutil.rmtree(folder)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        renew_constraints() if name == "constraints" else make(name)
