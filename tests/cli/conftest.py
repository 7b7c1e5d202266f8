"""Commands that are run in this process."""

import json

import pytest

from territorial import cli


@pytest.fixture
def run(capsys):
    """Return what runs a command, and returns its exit code, what it printed, and what it said on stderr."""

    def run(*arguments):
        code = cli.main([*map(str, arguments)])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def result_of(run):
    """Return what runs a command that has to succeed, and returns the JSON that it printed."""

    def result_of(*arguments):
        code, out, _ = run(*arguments, "--json")
        assert code == 0
        return json.loads(out)

    return result_of
