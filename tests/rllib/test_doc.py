"""docs/rllib.md: its Python runs, in the order of the page, on smaller boards."""

import re
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")


PAGE = Path(__file__).parents[2] / "docs/rllib.md"
SMALLER = "GameConfig()", "GameConfig(height=48, width=48, num_players=32, max_ticks=300)"


@pytest.mark.verify
@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_its_python_runs(running_ray, tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 13
    assert blocks[0].count(SMALLER[0]) == 1
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    exec(compile(blocks[0].replace(*SMALLER), str(PAGE), "exec"), names)
    try:
        assert names["algorithm"].training_iteration == 1
        assert sorted(path.name for path in Path("snapshots").iterdir() if path.is_dir()) == [
            "first",
            "second",
            "third",
        ]
    finally:
        names["algorithm"].stop()
    for block in blocks[1:]:
        exec(compile(block.replace(*SMALLER), str(PAGE), "exec"), names)
        if "def take_turns" in block:
            names["match"].stop()
    assert names["several"].policies_to_train == ["main", "scout", "rival"]
    assert names["mixed"].rl_module_spec.rl_module_specs["pool"].model_config["form"] == "both"
    assert names["payoff"].of("trainable:main", "bot:metronome").games > 0
    settings = names["config"].rl_module_spec.rl_module_specs["main"].model_config
    assert names["MyModule"].make_policy({**settings, "trunk": {"width": 64}}).trunk.embedding_size == 256
    assert str(names["config"].callbacks_on_train_result.path) == str(tmp_path / "runs/memory.jsonl")
