"""Commands that are run in this process."""

import json

import pytest

from territorial import cli


@pytest.fixture
def run(capsys):
    """Return what runs a command, and returns its exit code, what it printed, and what it said on stderr."""

    def run(*arguments):
        return (cli.main([*map(str, arguments)]), *capsys.readouterr())

    return run


@pytest.fixture
def done(run):
    """Return what runs a command that has to end with a code, and returns what it printed and said."""

    def done(*arguments, code=0):
        found, *said = run(*arguments)
        assert found == code
        return said

    return done


@pytest.fixture
def result_of(done):
    """Return what runs a command that has to succeed, and returns the JSON that it printed."""

    def result_of(*arguments):
        return json.loads(done(*arguments, "--json")[0])

    return result_of
