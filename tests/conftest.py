"""What all tests share: hypothesis tries the same examples on every machine and in every run, and Ctrl-C
reaches the programs that tests start.

To look for new ones, as `make verify` may: `pytest --hypothesis-profile=explore`.
"""

import signal

import pytest
from hypothesis import HealthCheck, settings

# Neither deadlines nor the check for slow drawing: a loaded machine would fail them.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", UNTIMED, derandomize=True, database=None)
settings.register_profile("explore", UNTIMED, max_examples=1000)
settings.load_profile("repeatable")

# Shells make what they start in the background deaf to it, and deafness is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def memory_is_plenty(monkeypatch):
    """How much is free on this machine decides nothing."""
    monkeypatch.setattr("territorial.files.room.free_memory", lambda: 1e15)


def pytest_collection_modifyitems(items):
    """The longest file comes first, so that no worker is left alone with it."""
    items.sort(key=lambda item: item.path.name != "test_differential.py")
