"""One Ray for all modules of tests that have no machines of their own: it takes seconds to start.

And choices for comparisons of runners.
"""

import pytest

from tests.torch.reproducible import need, same_numbers_on_one_thread  # noqa: F401 - a fixture of all tests


def pytest_pycollect_makemodule():
    need("ray", "rllib")
    need("torch", "rllib")


@pytest.fixture(scope="session")
def ends_with_the_session():
    """Ray is not left to the end of the process."""
    yield
    import ray

    ray.shutdown()


@pytest.fixture(scope="module")
def running_ray(ends_with_the_session):
    """Ray runs, perhaps since an earlier module."""
    import ray

    from tests.rllib.support import start_ray

    if not ray.is_initialized():
        start_ray()


@pytest.fixture(scope="module")
def no_ray():
    """Ray does not run: the tests start one of their own, and end it."""
    import ray

    ray.shutdown()


@pytest.fixture
def ends(running_ray):
    """What is given algorithms, returns them and stops them after the test."""
    given = []
    yield lambda algorithm: given.append(algorithm) or algorithm
    for algorithm in given:
        algorithm.stop()


@pytest.fixture
def choices_without_chance(monkeypatch):
    """What is chosen depends neither on chance, nor on the order of rows, nor on how logits are rounded."""
    from tests.rllib import exact_choices

    exact_choices.install(monkeypatch)
