"""The table of fields says the dtype, shape and place of each, ``help`` shows it, and code uses its names."""

import ast
import importlib
import inspect
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial import GameConfig, VecGame
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


@pytest.mark.parametrize("views", [views for views, _ in VIEWS])
def test_help_says_dtype_shape_unit_and_meaning_of_every_view(views):
    by_name = {field.name: field for field in state.FIELDS}
    for name in views._fields:
        text = inspect.getdoc(getattr(views, name))
        if name in by_name and name != "seed":
            field = by_name[name]
            assert all(word in text for word in (field.dtype, *field.shape, field.unit, field.meaning))
        else:
            assert all(field.name in text for field in state.FIELDS if field.block == name)


def test_help_is_written_like_the_rest_of_the_documentation():
    assert inspect.getdoc(state.Game.troops) == "int64 (P+1,): balance at home, T; troops"
    assert inspect.getdoc(state.Game.active).startswith("uint64 (P+1, K): targets t with A[p][t] > 0")
    assert inspect.getdoc(state.State.pairs) == "int64 (E, 3, P+1, P+1): pools, taken, fronts"
    assert inspect.getdoc(state.State.clock).startswith("int64 (E, 7): tick, over, episode")
    assert inspect.getdoc(state.Game.seed) == "uint64 (1,): seed"


def test_help_of_the_state_of_a_batch_lists_all_fields():
    batch = VecGame(GameConfig(height=HEIGHT, width=WIDTH, num_players=2), 1, observe=False)
    lines = [line.strip() for line in inspect.getdoc(type(batch.state)).splitlines()]
    for field in state.FIELDS:
        assert f"{field.name}: {state.field_line(field, 'E')}" in lines


@pytest.mark.checkout
def test_the_table_in_the_docs_is_current(monkeypatch, capsys):
    tables = importlib.import_module("benchmarks.tables.__main__")
    monkeypatch.setattr(tables, "TABLES", [entry for entry in tables.TABLES if entry[0] == "docs/engine.md"])
    assert tables.main(["--check"]) == 0
    monkeypatch.setattr(tables, "FIELDS", tables.FIELDS[1:])
    assert tables.main(["--check"]) == 1
    assert "docs/engine.md: fields" in capsys.readouterr().err


BY_COLUMNS = {"launches", "rows", "actions", "anchors", "log_blocks", "wanted"}
BY_ROWS = {"sums", "seating", "ledger"}
"""Tables whose columns, or rows, have names."""
ROOMS = ("actions", "bots", "decode", "engine", "game", "observation", "replay", "testing")


def literal_columns(source):
    """Yield the lines where a column of such a table is a number."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and node.slice.elts:
            table = getattr(node.value, "attr", getattr(node.value, "id", None))
            first, last = node.slice.elts[0], node.slice.elts[-1]
            columns = [last] * (table in BY_COLUMNS) + [first] * (table in BY_ROWS)
            if any(isinstance(column, ast.Constant) and column.value is not None for column in columns):
                yield node.lineno


def test_columns_of_tables_are_addressed_by_name():
    package = Path(territorial.__file__).parent
    files = [path for room in ROOMS for path in (package / room).glob("*.py")]
    found = {str(path): lines for path in files if (lines := [*literal_columns(path.read_text("utf-8"))])}
    assert found == {}
    assert list(literal_columns("work.sums[0, p]\nx = rows[i, 2]\nrows[i, LAUNCH_SEAT]")) == [1, 2]
