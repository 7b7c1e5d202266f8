"""Two processes for all tests of a folder: starting them takes longer than what they do."""

import pytest

from tests.league.support import two_processes


@pytest.fixture(scope="session")
def both():
    with two_processes() as pool:
        yield pool
