"""docs/league.md: its Python runs, in the order of the page, and its tables name what there is."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from territorial.evaluation import pool
from territorial.league.matchmaking import POOLS, STRATEGIES

PAGE = Path(__file__).parents[2] / "docs" / "league.md"
pytestmark = [
    pytest.mark.checkout,
    pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here"),
]


def blocks():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(wanted, folder, monkeypatch):
    monkeypatch.chdir(folder)
    names = {"__name__": "page"}
    for block in wanted:
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_its_python_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "usable_cores", lambda: 1)
    core = [block for block in blocks() if "rllib_adapters" not in block]
    assert len(core) == 3
    names = run(core, tmp_path, monkeypatch)
    assert names["frozen"].name == "main-0"
    assert names["matrix"].value.shape == (2, 2)
    assert (tmp_path / "trials.jsonl").exists()


@pytest.mark.skipif(
    find_spec("ray") is None or find_spec("torch") is None, reason="the extra `rllib` is not installed"
)
def test_its_league_goes_into_an_algorithms_configuration(tmp_path, monkeypatch):
    wanted = [block for block in blocks() if "LeagueConfig" in block or "configure_league" in block]
    config = run(wanted, tmp_path, monkeypatch)["config"]
    assert config.env_config["league"].num_players == 32


def test_strategies_and_pools_are_those_there_are():
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert set(STRATEGIES) <= set(rows)
    sentence = re.search(r"`among` says where candidates come from: (.*?)\.", " ".join(text.split()))[1]
    assert tuple(re.findall(r"`(\w+)`", sentence)) == POOLS
