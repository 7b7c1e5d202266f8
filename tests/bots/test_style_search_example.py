"""The example that evaluates a population of styles: it runs, and its batch plays each style as often."""

import runpy
import sys

import numpy as np
import pytest

from territorial import GameConfig
from tests.engine.support import ROOT

pytestmark = pytest.mark.checkout

PATH = ROOT / "examples" / "style_search.py"


def test_the_example_prints_the_best_styles(monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["style_search.py", "--styles", "16", "--games-per-style", "2", "--max-ticks", "500"]
    )
    runpy.run_path(str(PATH), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    places = [float(line.split()[2]) for line in lines]
    assert (len(lines), places) == (8, sorted(places))


def test_a_population_of_64_plays_in_one_batch_and_places_add_up():
    example = runpy.run_path(str(PATH))
    rng = np.random.default_rng(0)
    population = [example["mutant"](f"mutant-{i}", rng) for i in range(64)]
    config = GameConfig(height=32, width=32, num_players=8, max_ticks=300)
    places = example["evaluate"](population, config, 2, 0)
    assert (places.shape, places.mean()) == ((64,), 4.5)
    np.testing.assert_array_equal(example["evaluate"](population, config, 2, 0), places)
