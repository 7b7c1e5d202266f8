"""Tensors over the arrays of an observation hold them, so they never change."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from territorial import make_vec  # noqa: E402
from territorial.engine import lending  # noqa: E402

WAYS = {
    "from_numpy": torch.from_numpy,
    "as_tensor": torch.as_tensor,
    "a view": lambda array: torch.from_numpy(array)[1].unsqueeze(0),
    "numpy of a tensor": lambda array: torch.from_numpy(array).numpy(),
    "frombuffer": lambda array: torch.frombuffer(array, dtype=torch.float32),
    "dlpack": lambda array: torch.from_dlpack(torch.from_numpy(array)),
    "storage": lambda array: torch.from_numpy(array).untyped_storage(),
    "in a graph": lambda array: torch.from_numpy(array) * torch.ones(1, requires_grad=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tensor_over_a_lent_array_never_changes(monkeypatch, way):
    monkeypatch.setattr(lending, "LENT_FROM", 1)
    vec = make_vec(2, height=24, width=24, num_players=4)
    vec.reset(seed=0)
    seen = vec.step(np.zeros((2, 4), int))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch tells that it cannot keep anyone from writing
        held = WAYS[way](seen["players"])
    then = bytes(held) if way == "storage" else np.array(held.tolist())
    del seen
    addresses = set()
    for _ in range(8):
        seen = vec.step(np.full((2, 4), 11))[0]
        addresses.add(seen["players"].ctypes.data)
    now = bytes(held) if way == "storage" else np.array(held.tolist())
    assert np.array_equal(now, then) if way != "storage" else now == then
    assert held is not None
    assert len(addresses) == lending.NUM_SETS - 2
