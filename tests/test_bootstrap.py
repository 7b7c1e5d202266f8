"""bootstrap.py: finds a Python, installs only what changed, says plainly what is missing."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "bootstrap.py"

pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(os.name == "nt", reason="the stand-ins for programs are shell scripts"),
]


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    """The script as a module, at work in an empty project."""
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text("dependencies = []\n")
    monkeypatch.setattr(module, "ROOT", str(project))
    monkeypatch.setattr(module, "VENV", str(project / ".venv"))
    return module


@pytest.fixture
def on_path(tmp_path, monkeypatch, bootstrap):
    """Put shell scripts on an otherwise empty PATH: `on_path("python3.12", "echo ...")`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(bootstrap.sys, "executable", "")

    def add(name, body, to=folder):
        return program(to / name, body)

    return add


def program(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def python_that_says(text):
    return f"echo {text}"


COMPLETE_311 = python_that_says("CPython 3.11")
COMPLETE_312 = python_that_says("CPython 3.12")
BROKEN_SHIM = "echo 'command not found' >&2; exit 127"


# --- Finding a Python -----------------------------------------------------------------------------


def test_the_python_that_runs_the_tests_is_recognised(bootstrap):
    found = bootstrap.probe([sys.executable])
    assert found.version == sys.version_info[:2]


def test_a_shim_that_exists_but_fails_is_passed_over(bootstrap, on_path):
    on_path("python3.13", BROKEN_SHIM)
    good = on_path("python3.12", COMPLETE_312)
    assert bootstrap.find_python() == [str(good)]


def test_a_shim_does_not_hide_a_python_of_the_same_name_further_down_the_path(
    bootstrap, on_path, tmp_path, monkeypatch
):
    on_path("python3.11", BROKEN_SHIM)
    good = on_path("python3.11", COMPLETE_311, to=tmp_path / "second")
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep + str(tmp_path / "second"))
    assert bootstrap.find_python() == [str(good)]


def test_the_running_python_comes_first_if_it_is_supported(bootstrap, on_path, monkeypatch):
    on_path("python3.13", python_that_says("CPython 3.13"))
    running = on_path("running", COMPLETE_311)
    monkeypatch.setattr(bootstrap.sys, "executable", str(running))
    assert bootstrap.find_python() == [str(running)]


def test_a_tested_python_is_preferred_to_a_newer_one_that_runs_already(bootstrap, on_path, monkeypatch):
    running = on_path("python3.14", python_that_says("CPython 3.14"))
    monkeypatch.setattr(bootstrap.sys, "executable", str(running))
    good = on_path("python3.11", COMPLETE_311)
    assert bootstrap.find_python() == [str(good)]


def test_an_untested_python_is_taken_with_a_note_where_there_is_no_other(bootstrap, on_path, capsys):
    newest = on_path("python3.14", python_that_says("CPython 3.14"))
    assert bootstrap.find_python() == [str(newest)]
    assert "3.14, with which only the core has been tested" in capsys.readouterr().out


def test_an_incomplete_python_is_passed_over_for_a_complete_one(bootstrap, on_path):
    on_path("python3.12", python_that_says("CPython 3.12 ensurepip"))
    good = on_path("python3.11", COMPLETE_311)
    assert bootstrap.find_python() == [str(good)]


def test_an_incomplete_python_alone_gets_the_name_of_the_package_that_completes_it(bootstrap, on_path):
    on_path("python3.12", python_that_says("CPython 3.12 ensurepip"))
    with pytest.raises(bootstrap.SetupError, match=r"(?s)ensurepip.*install python3.12-venv"):
        bootstrap.find_python()


def test_without_any_python_the_message_says_what_is_needed_and_what_was_found(bootstrap, on_path):
    old = on_path("python3", python_that_says("CPython 3.8"))
    on_path("python", python_that_says("PyPy 3.11"))
    with pytest.raises(bootstrap.SetupError) as error:
        bootstrap.find_python()
    assert "needs CPython 3.11, 3.12 or 3.13" in str(error.value)
    assert f"{old} is 3.8" in str(error.value)


def test_the_python_inside_the_environment_is_never_used_to_remake_it(bootstrap, on_path, monkeypatch):
    inside = Path(bootstrap.VENV, "bin")
    on_path("python3.12", COMPLETE_312, to=inside)
    monkeypatch.setenv("PATH", str(inside), prepend=os.pathsep)
    with pytest.raises(bootstrap.SetupError, match="none is on PATH"):
        bootstrap.find_python()


# --- Installing -----------------------------------------------------------------------------------


class Machine:
    """Stands in for all that bootstrap.py starts; its environments hold stand-in programs."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.made = 0
        self.installed = []
        self.commands = []
        self.pip = lambda: 0

    def run(self, command):
        if "venv" in command:
            self.made += 1
            program(Path(self.bootstrap.in_venv("python")), COMPLETE_312)
            Path(self.bootstrap.VENV, "pyvenv.cfg").write_text("version = 3.12.0\n")
            return 0
        self.commands.append(command)
        self.installed.append(command[-1].replace(self.bootstrap.ROOT, "project"))
        return self.pip()


@pytest.fixture
def machine(bootstrap, monkeypatch):
    machine = Machine(bootstrap)
    monkeypatch.setattr(bootstrap, "run", machine.run)
    monkeypatch.setattr(bootstrap, "find_python", lambda: ["python3.12"])
    return machine


def test_nothing_is_installed_twice(bootstrap, machine):
    bootstrap.install("dev")
    bootstrap.install("dev")
    assert (machine.made, machine.installed) == (1, ["project[dev]"])


def test_the_core_is_there_once_the_extras_are(bootstrap, machine):
    bootstrap.install("dev")
    bootstrap.install("")
    assert machine.installed == ["project[dev]"]


def test_rllib_has_an_environment_of_its_own_and_all_have_known_releases(bootstrap, machine):
    for extra, name in (("rllib", ".venv-rllib"), ("dev", ".venv")):
        bootstrap.use_venv_for(extra)
        assert bootstrap.venv_name() == name
        bootstrap.install(extra)
        assert bootstrap.constraints_path() in machine.commands[-1]
    assert machine.made == 2


def test_another_release_in_the_constraints_is_installed(bootstrap, machine):
    bootstrap.install("dev")
    path = Path(bootstrap.constraints_path())
    path.parent.mkdir()
    path.write_text("numpy==2.4.6\n")
    bootstrap.install("dev")
    assert machine.installed == ["project[dev]"] * 2


def test_extras_are_added_to_the_core_and_remembered_beside_it(bootstrap, machine):
    for extra in ("", "dev", "", "dev"):
        bootstrap.install(extra)
    assert (machine.made, machine.installed) == (1, ["project", "project[dev]"])


def test_changed_dependencies_are_installed_into_the_same_environment(bootstrap, machine):
    bootstrap.install("dev")
    Path(bootstrap.ROOT, "pyproject.toml").write_text("dependencies = ['numpy']\n")
    bootstrap.install("dev")
    assert (machine.made, machine.installed) == (1, ["project[dev]"] * 2)


def test_a_changed_interpreter_is_noticed(bootstrap, machine):
    bootstrap.install("")
    Path(bootstrap.VENV, "pyvenv.cfg").write_text("version = 3.12.9\n")
    bootstrap.install("")
    assert machine.installed == ["project"] * 2


def test_an_interrupted_installation_begins_anew(bootstrap, machine):
    def interrupt():
        raise KeyboardInterrupt

    machine.pip = interrupt
    with pytest.raises(KeyboardInterrupt):
        bootstrap.install("")
    machine.pip = lambda: 0
    bootstrap.install("")
    assert machine.made == 2
    bootstrap.install("")
    assert machine.installed == ["project"] * 2


def test_an_environment_whose_python_is_gone_is_made_anew(bootstrap, machine):
    bootstrap.install("")
    os.remove(bootstrap.in_venv("python"))
    bootstrap.install("")
    assert machine.made == 2


def test_a_failed_download_is_explained_and_leaves_the_installed_core_usable(bootstrap, machine):
    bootstrap.install("")

    def no_network():
        Path(bootstrap.VENV, "pip.log").write_text("NewConnectionError: failed to resolve")
        return 1

    machine.pip = no_network
    with pytest.raises(bootstrap.SetupError, match="index could not be reached"):
        bootstrap.install("dev")
    bootstrap.install("")
    assert machine.installed == ["project", "project[dev]"]


def test_a_python_without_fitting_packages_is_explained(bootstrap):
    message = bootstrap.pip_failed("ERROR: No matching distribution found for numba", 1)
    assert "no version of a dependency fits" in message


def test_an_environment_made_by_somebody_else_is_not_deleted(bootstrap, machine):
    Path(bootstrap.VENV).mkdir()
    Path(bootstrap.VENV, "precious").touch()
    with pytest.raises(bootstrap.SetupError, match="was not made by"):
        bootstrap.install("")
    assert Path(bootstrap.VENV, "precious").exists()


def test_a_second_bootstrap_leaves_the_first_one_alone(bootstrap, machine):
    Path(bootstrap.VENV).mkdir()
    Path(bootstrap.unfinished_path()).write_text(str(os.getppid()))
    with pytest.raises(bootstrap.SetupError, match="is installing into"):
        bootstrap.install("")


# --- Running --------------------------------------------------------------------------------------


def test_a_command_that_a_signal_killed_ends_as_in_a_shell(bootstrap):
    assert bootstrap.run(["/bin/sh", "-c", "exit 3"]) == 3
    assert bootstrap.run(["/bin/sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM


def ready_project(folder, body):
    """A copy of the script beside an environment that counts as installed; its Python is `body`."""
    copy = folder / "bootstrap.py"
    copy.write_bytes(SCRIPT.read_bytes())
    (folder / "pyproject.toml").write_text("")
    program(folder / ".venv" / "bin" / "python", body)
    stamp = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); import bootstrap as b;"
        "b.write(b.stamp_path(), b.digest() + '\\n')"
    )
    subprocess.run([sys.executable, "-c", stamp], check=True)
    return [sys.executable, str(copy)]


def test_arguments_and_the_exit_code_are_passed_on(tmp_path):
    command = ready_project(tmp_path, 'echo "$@"; exit 7')
    done = subprocess.run([*command, "run", "--seed", "5"], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "-m territorial demo --animation --page --replay --seed 5"
    assert done.returncode == 7


def test_an_interrupt_sent_to_the_script_reaches_the_command(tmp_path):
    command = ready_project(
        tmp_path, "trap 'exit 5' INT; echo ready; for i in $(seq 6000); do sleep 0.05; done"
    )
    with subprocess.Popen(
        [*command, "run"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while process.stdout.readline() != "ready\n":
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=300) == 5
        finally:
            process.kill()


def test_an_unknown_command_is_answered_with_the_list_of_commands():
    done = subprocess.run([sys.executable, SCRIPT, "tset"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no command 'tset'" in done.stderr
    assert "run the core tests" in done.stderr


def test_every_step_runs_in_its_turn_and_the_first_failure_is_told(bootstrap, machine, monkeypatch, capsys):
    started = []

    def run(command):
        started.append(command)
        return 3 if command[0].endswith("mypy") else 0

    bootstrap.install("dev")
    monkeypatch.setattr(bootstrap, "run", run)
    assert bootstrap.main(["lint", "-x"]) == 3
    assert started[0][-1] == "-x"
    assert len(started) == len(bootstrap.COMMANDS["lint"].steps)
    out = capsys.readouterr().out
    assert f"step 3 of {len(started)}: mypy\n" in out
    assert "FAILED: mypy\n" in out
