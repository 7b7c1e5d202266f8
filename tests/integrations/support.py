"""What the tests of examples share."""

import pytest


def refusal_of(capsys, example, arguments):
    """Return what an example says of arguments that it refuses."""
    with pytest.raises(SystemExit):
        example.main(arguments)
    return capsys.readouterr().err
