"""Fixtures that tests of environments share."""

import warnings

import pytest


@pytest.fixture
def warned():
    """All warnings of a test, none of which is shown or is an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
