"""docs/learning.md: its Python runs, in the order of the page, with smaller batches."""

import re
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")


PAGE = Path(__file__).parents[2] / "docs/learning.md"
SMALLER = (
    "train_batch_size_per_learner=2048, minibatch_size=512",
    "train_batch_size_per_learner=32, minibatch_size=16",
)


@pytest.mark.verify
@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_its_python_runs(running_ray):
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    assert blocks[1].count(SMALLER[0]) == 1
    blocks[1] = blocks[1].replace(*SMALLER)
    names = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["logits"].shape == (128, 20)
    assert names["values"].shape == (128,)
    assert names["algorithm"].training_iteration == 3
    assert names["lesson"]({"env_runners": {"place": 2.0}})["seats"].count("metronome") == 6
    assert names["lesson"]({"env_runners": {}}) is None


@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_its_sizes_are_those_there_are():
    from territorial import GameConfig
    from territorial.nets.encode_once import SIZES, EncodeOncePolicy
    from territorial.observation.layout import ObsLayout

    layout = ObsLayout(height=64, width=64, num_players=8)
    rows = {}
    for name, size in SIZES.items():
        policy = EncodeOncePolicy(layout, GameConfig(height=64, width=64, num_players=8), size=name)
        weights = sum(weight.numel() for weight in policy.parameters())
        channels = ", ".join(map(str, size.channels))
        rows[name] = f'| `"{name}"` | {size.grid} | {channels} | {size.width} | {weights:,} |'
    text = PAGE.read_text(encoding="utf-8")
    assert all(row in text for row in rows.values()), rows
