"""Where the sessions of all tests save their game."""

import pytest


@pytest.fixture
def save(tmp_path):
    return tmp_path / "game.replay"
