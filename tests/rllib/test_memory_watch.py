"""Memory over the iterations of a run: what is measured, written and drawn."""

import json
import os

import pytest

from rllib_adapters.train.memory_watch import MemoryWatch, kind_of, plot_memory, read_memory
from tests.rllib.support import fill, small_config

pytestmark = pytest.mark.usefixtures("running_ray")


@pytest.mark.verify
def test_every_second_iteration_is_written_and_reported(ends, tmp_path):
    path = tmp_path / "run" / "memory.jsonl"
    config = small_config(fill(tmp_path / "store"))
    config.env_runners(num_env_runners=1, rollout_fragment_length=12)
    config.callbacks(on_train_result=MemoryWatch(path, every=2))
    algorithm = ends(config.build_algo())
    results = [algorithm.train() for _ in range(4)]
    algorithm.stop()
    assert ["memory" in result for result in results] == [False, True, False, True]
    rows = read_memory(path)
    assert [row["iteration"] for row in rows] == [2, 4]
    last = results[-1]["memory"]
    assert {key: last[key] for key in rows[-1]} == rows[-1]
    assert rows[-1]["measure"] in ("PSS", "USS")
    assert sum(rows[-1]["kinds"].values()) == rows[-1]["total"]
    assert {"driver", "StockEnvRu", "Ray"} <= {kind[:10] for kind in rows[-1]["kinds"]}
    assert 0 < last["private"] <= last["total"]
    assert rows[0]["seconds"] == 0 < rows[1]["seconds"]


def test_processes_have_kinds():
    assert kind_of(os.getpid(), "python") == "driver"
    assert kind_of(0, "ray::StockEnvRu") == "StockEnvRu"
    assert kind_of(0, "ray::PPOLearner.update") == "PPOLearner"
    assert {kind_of(0, name) for name in ("ray::IDLE", "ray::DashboardAg", "raylet", "python")} == {"Ray"}


def test_a_plot_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the extra `render` has it")
    path = tmp_path / "memory.jsonl"
    lines = [
        {"iteration": i, "seconds": i, "measure": "PSS", "total": 3 * 2**20, "kinds": {"driver": 3 * 2**20}}
        for i in (1, 2)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    plot_memory(path, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(ValueError, match="every is 0; it must be at least 1"):
        MemoryWatch(tmp_path / "memory.jsonl", every=0)
    line = '{"iteration": 1, "seconds": 1, "measure": "PSS", "total": 1, "kinds": {"driver": 1}}\n'
    for text, message in (
        ("", "has no measurements yet"),
        ("{}\n", "line 1 was not written by a MemoryWatch"),
        (
            line + line.replace("1, ", "NaN, "),
            "line 2 was not written by a MemoryWatch: it has the number NaN",
        ),
        (line + line.replace('"PSS"', '"x"'), "line 2 was not written by a MemoryWatch: measure is 'x'"),
        (
            line + line.replace('{"driver": 1}', "[1]"),
            r"line 2 was not written by a MemoryWatch: kinds is \[1\]",
        ),
        (
            line + " " * 2**21,
            "line 2 was not written by a MemoryWatch: line 2 has more than 1,048,576 bytes",
        ),
    ):
        (tmp_path / "memory.jsonl").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_memory(tmp_path / "memory.jsonl")
