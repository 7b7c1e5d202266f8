"""bootstrap.py: finds a Python, installs what changed, says what is missing, and hands over."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = sys.executable
SCRIPT = Path(__file__).parents[1] / "bootstrap.py"

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(os.name == "nt", reason="the stand-ins for programs are shell scripts"),
]


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The script as a module, at work in an empty project, with an empty PATH."""
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tmp_path / "project"
    (project / ".ci").mkdir(parents=True)
    (project / ".ci" / "constraints.txt").touch()
    (project / "pyproject.toml").write_text("dependencies = []\n")
    monkeypatch.setattr(module, "ROOT", project)
    monkeypatch.setattr(module.sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}{os.pathsep}{tmp_path / 'second'}")
    return module


def program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def says(version, code=0):
    return f"echo {version}; exit {code}"


@pytest.mark.parametrize(
    ("unfit", "name", "code", "wanted"),
    [
        ("first/python3.14", "cpython 3.14", 0, "first/python3.14"),  # where there is no other
        ("first/python3.13", "cpython 3.13", 0, "running"),  # it comes first
        ("first/python3.13", "", 127, "first/python3.12"),  # a shim that exists and fails
        ("first/python3.12", "", 127, "second/python3.12"),
        ("first/python3.13", "cpython 3.13", 1, "first/python3.12"),  # it lacks venv
        ("first/python3.13", "pypy 3.13", 0, "first/python3.12"),
        ("first/python3.14", "cpython 3.14", 0, "first/python3.12"),  # it is the last choice
    ],
)
def test_the_python_that_fits_is_found(bootstrap, tmp_path, monkeypatch, unfit, name, code, wanted):
    program(tmp_path / unfit, says(name, code))
    if wanted != unfit:
        program(tmp_path / wanted, says("cpython 3.12"))
    monkeypatch.setattr(bootstrap.sys, "executable", str(tmp_path / "running"))
    assert bootstrap.find_python(bootstrap.ROOT / ".venv") == str(tmp_path / wanted)


def test_without_any_the_message_says_what_is_needed_and_what_was_found(bootstrap, tmp_path, monkeypatch):
    program(tmp_path / "first/python3", says("cpython 3.8"))
    program(tmp_path / "first/python3.12", says("cpython 3.12", 1))
    inside = bootstrap.ROOT / ".venv" / "bin"
    program(inside / "python3.11", says("cpython 3.11"))
    monkeypatch.setenv("PATH", str(inside), prepend=os.pathsep)
    with pytest.raises(SystemExit) as error:
        bootstrap.find_python(bootstrap.ROOT / ".venv")
    for part in ("needs CPython 3.11 to 3.14", "cpython 3.8 (", "cpython 3.12 without venv ("):
        assert part in str(error.value)
    assert "apt install python3.12-venv" in str(error.value).replace("python3.12 ", "")


@pytest.fixture
def install(bootstrap, monkeypatch):
    """Install extras; pip and venv only note what they were asked for."""
    done = []

    def make(command, **_):
        program(Path(command[-1], "bin", "python"), says("cpython 3.12"))
        done.append("venv")

    def pip(command):
        done.append(command[-1].replace(str(bootstrap.ROOT), "project"))
        return install_extras.pip()

    def install_extras(extras):
        done.clear()
        bootstrap.install(bootstrap.ROOT / ".venv", extras)
        return [*done]

    install_extras.pip = lambda: 0
    monkeypatch.setattr(bootstrap, "find_python", lambda venv: "python3.12")
    monkeypatch.setattr(bootstrap.subprocess, "run", make)
    monkeypatch.setattr(bootstrap.subprocess, "call", pip)
    return install_extras


def test_what_is_there_is_not_installed_again(bootstrap, install):
    done = [install(extras) for extras in ("", "dev", "dev,docs", "", "docs")]
    assert done == [["venv", "project"], ["project[dev]"], ["project[dev,docs]"], [], []]
    for name in ("pyproject.toml", ".ci/constraints.txt"):
        (bootstrap.ROOT / name).write_text("other\n")
        assert install("") == ["project[dev,docs]"]
    (bootstrap.ROOT / ".venv/bin/python").unlink()
    assert install("") == ["venv", "project"]


def test_an_interrupted_installation_begins_anew_and_a_failed_download_leaves_what_was_there(install):
    install("")
    install.pip = lambda: 1
    with pytest.raises(SystemExit, match="pip failed"):
        install("dev")
    assert install("") == []
    install.pip = lambda: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        install("dev")
    install.pip = lambda: 0
    assert install("") == ["venv", "project"]


def test_an_environment_of_somebody_else_is_not_removed(bootstrap, install):
    (bootstrap.ROOT / ".venv").mkdir()
    (bootstrap.ROOT / ".venv/precious").touch()
    with pytest.raises(SystemExit, match="was not made by"):
        install("")
    assert (bootstrap.ROOT / ".venv/precious").exists()


def ready(bootstrap, programs):
    """Put programs into an environment to which nothing is to be installed."""
    for name, body in programs.items():
        program(bootstrap.ROOT / ".venv/bin" / name, body)
    bootstrap.install = lambda venv, extras: None


def test_all_steps_run_and_a_failure_is_the_exit_code(bootstrap, monkeypatch, capfd):
    ready(bootstrap, {"ruff": "echo $@", "mypy": "exit 3", "lint-imports": "echo layers"})
    monkeypatch.chdir(bootstrap.ROOT)
    assert bootstrap.main("lint", "-x") == 3
    assert capfd.readouterr().out == "check . -x\nformat --check .\nlayers\n"


def test_arguments_signals_and_the_exit_code_are_passed_on(bootstrap):
    ready(bootstrap, {"python": "/bin/sleep 300 & trap 'kill $!; exit 5' INT; echo $@; wait $!"})  # no PATH
    script = bootstrap.ROOT / "bootstrap.py"
    script.write_text(SCRIPT.read_text().replace("    install(venv, extras)\n", ""))
    with subprocess.Popen([PYTHON, script, "run", "--seed", "5"], stdout=-1, text=True) as process:
        try:
            assert process.stdout.readline() == "-m territorial demo --page --replay --seed 5\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=300) == 5
        finally:
            process.kill()


def test_an_unknown_command_is_answered_with_those_there_are():
    done = subprocess.run([PYTHON, SCRIPT, "tset"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "run|test|lint" in done.stdout
