"""The table of fields says the dtype, shape and place of each, and the table in the docs is made of it."""

import numpy as np
import pytest

from territorial.game import state
from territorial.jit.decorators import JIT_ENABLED

GAMES, PLAYERS, HEIGHT, WIDTH = 3, 5, 20, 70
SIZES = {"P+1": 6, "K": 1, "S": 2, "rows": 32, "groups": 1, "M": state.BOT_MEMORY + 6}
VIEWS = [(state.Game, state.game_of), (state.Seating, state.seating_of)]


@pytest.fixture
def numbered():
    """Return a state in which every entry of an array is another number."""
    batch = state.allocate(GAMES, PLAYERS, HEIGHT, WIDTH)
    for array in batch:
        array[...] = np.arange(array.size).reshape(array.shape)
    return batch


@pytest.mark.parametrize("field", state.FIELDS, ids=lambda field: field.name)
def test_a_field_has_the_dtype_and_shape_of_the_table(numbered, field):
    array = state.view(numbered, field.name)
    assert array.dtype.name == field.dtype
    assert array.shape == (GAMES, *(SIZES[axis] for axis in field.shape))


@pytest.mark.parametrize(("views", "views_of"), VIEWS)
def test_the_views_of_a_game_are_the_fields_and_blocks_of_these_names(numbered, views, views_of):
    interpreted = views_of.py_func if JIT_ENABLED else views_of
    blocks = numbered._asdict()
    for name, array in interpreted(numbered, 1)._asdict().items():
        expected = blocks[name][1] if name in blocks else state.view(numbered, name)[1]
        assert np.array_equal(array, expected), name
        assert np.shares_memory(array, expected), name


def test_every_field_lies_in_memory_of_its_own(numbered):
    arrays = [state.view(numbered, field.name) for field in state.FIELDS]
    assert sum(array.size for array in arrays) == sum(array.size for array in numbered)
    assert len({array.ctypes.data for array in arrays}) == len(arrays)
