"""Names: no two classes share one, and former names of modules and classes still work."""

import ast
import dataclasses
import importlib
import inspect
import pickle
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import territorial
from territorial import GameConfig, Setting
from territorial._moved import MODULES

ROOT = Path(__file__).parents[1]
CODE = ("territorial", "rllib_adapters", "benchmarks", "examples", "maintainers")


@pytest.mark.checkout
def test_no_two_classes_have_one_name():
    places = defaultdict(list)
    for path in (path for folder in CODE for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


WITHOUT_TORCH = sorted(name for name in MODULES if not name.startswith("territorial.nets"))


@pytest.mark.parametrize("former", WITHOUT_TORCH)
def test_a_former_name_of_a_module_gives_the_module(former):
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"^{former} is now {MODULES[former]}$"):
        found = importlib.import_module(former)
    assert found is importlib.import_module(MODULES[former])


def test_no_module_has_a_former_name():
    package = Path(territorial.__file__).parent
    for former in MODULES:
        place = package.joinpath(*former.split(".")[1:])
        assert not place.with_suffix(".py").exists(), former
        assert not place.is_dir(), former


@pytest.mark.parametrize(
    ("module", "former", "new"),
    [
        ("territorial", "Snapshot", "territorial.SavedGame"),
        ("territorial", "VecSnapshot", "territorial.SavedVecGame"),
        ("territorial.engine", "VecGame", "territorial.engine.vec_game.VecGame"),
        ("territorial.actions", "unflatten", "territorial.actions.encoding.unflatten"),
        ("territorial.league.charts", "draw_charts", "territorial.evaluation.charts.draw_charts"),
        ("territorial.replay", "Player", "territorial.replay.ReplayPlayer"),
        ("territorial.evaluation.trials", "Acting", "territorial.evaluation.players.Acting"),
        ("territorial.evaluation.players", "Policy", "territorial.evaluation.players.Player"),
    ],
)
def test_a_former_name_of_a_class_or_a_function_gives_it(module, former, new):
    home, name = new.rsplit(".", 1)
    with pytest.warns(DeprecationWarning, match=f"^{module}.{former} is now {new}$"):
        found = getattr(importlib.import_module(module), former)
    assert found is getattr(importlib.import_module(home), name)


def test_a_name_that_never_was_is_an_error():
    for module in ("territorial", "territorial.engine", "territorial.actions", "territorial.replay"):
        with pytest.raises(AttributeError, match=rf"module '{module}' has no attribute 'Nothing'"):
            importlib.import_module(module).Nothing  # noqa: B018 - the look is what is tested


def test_a_former_name_is_told_at_the_line_that_uses_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("from territorial.landmask import LandMask\nfrom territorial import Snapshot\n")
    done = subprocess.run(
        [sys.executable, "-W", "default", program], capture_output=True, text=True, check=True
    )
    first, second = (line for line in done.stderr.splitlines() if " is now " in line)
    assert "program.py:1: DeprecationWarning: territorial.landmask is now territorial.config." in first
    assert "program.py:2: DeprecationWarning: territorial.Snapshot is now territorial.SavedGame" in second


# ---- fields ---------------------------------------------------------------------------------------

CONFIG = GameConfig(height=32, width=32, num_players=4)


def test_a_former_name_of_a_field_is_told_at_the_line_that_uses_it():
    with pytest.warns(DeprecationWarning, match="^max_steps of Setting is now max_cycles$") as given:
        setting = Setting(config=CONFIG, max_steps=7)
    with pytest.warns(DeprecationWarning, match="^max_steps of Setting is now max_cycles$") as read:
        assert setting.max_steps == 7
    assert [warning.filename for warning in (*given, *read)] == [__file__] * 2
    assert setting == Setting(config=CONFIG, max_cycles=7)
    assert "max_steps" not in inspect.signature(Setting).parameters


def test_a_field_that_is_given_by_both_of_its_names_is_an_error():
    setting = Setting(config=CONFIG, max_cycles=7)
    with pytest.raises(TypeError, match="max_steps and max_cycles are both given to Setting; max_"):
        Setting(config=CONFIG, max_steps=7, max_cycles=8)
    with pytest.raises(TypeError, match="give max_cycles alone"):
        dataclasses.replace(setting, max_steps=8)


def test_pickles_have_fields_by_their_former_names():
    setting = Setting(config=CONFIG, max_cycles=7)
    assert pickle.loads(pickle.dumps(setting)) == setting
    older = pickle.dumps(setting, 0).replace(b"Vmax_cycles\n", b"Vmax_steps\n")
    assert b"max_cycles" not in older
    assert pickle.loads(older) == setting
