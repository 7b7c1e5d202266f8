"""Learning in bfloat16: networks alone compute in it, losses do not, and where it cannot be it is said."""

import logging

import numpy as np
import pytest
import torch

from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.learning import bf16_learning
from tests.rllib.test_drawn_rows import gradient
from tests.rllib.test_sampled_values import Pair, small_config


@pytest.fixture(autouse=True)
def any_device(monkeypatch):
    """Every processor computes in it, if slowly."""
    monkeypatch.setattr(bf16_learning, "computes_bf16", lambda device: True)


@pytest.mark.parametrize("kind", ["boards", "tables", "pairs"])
def test_the_network_computes_in_it_and_the_loss_does_not(kind):
    pair = Pair(small_config(kind).learning(bf16=True))
    module, learner = pair.module, pair.learner
    batch, _ = pair.batch(pair.runner.sample())
    assert module.learns_in_bf16
    seen = []
    for part in module.modules():
        if isinstance(part, torch.nn.Linear):
            part.register_forward_hook(lambda _, __, made: seen.append(made.dtype))
    outputs = module.forward_train(batch)
    assert torch.bfloat16 in seen
    assert {part.dtype for part in outputs.values()} == {torch.float32}
    rough = gradient(learner, batch)
    assert {one.grad.dtype for one in module.parameters() if one.grad is not None} == {torch.float32}
    seen.clear()
    module.forward_exploration(batch)
    assert set(seen) == {torch.float32}  # acting is as it was
    module.learns_in_bf16 = False
    exact = gradient(learner, batch)
    # bfloat16 has 8 bits of mantissa; the errors of many rows cancel, and 4 % are left.
    assert np.linalg.norm(rough - exact) <= 0.1 * np.linalg.norm(exact)
    assert (rough != exact).any()


def test_a_processor_without_it_learns_in_float32_and_says_so(monkeypatch, caplog):
    monkeypatch.setattr(bf16_learning, "computes_bf16", lambda device: False)
    with caplog.at_level(logging.WARNING):
        pair = Pair(small_config("pairs").learning(bf16=True))
    assert not pair.module.learns_in_bf16
    assert "the module 'main' learns in float32: cpu does not compute in bfloat16" in caplog.text


def test_modules_of_another_kind_are_named(caplog):
    bf16_learning.learn_in_bf16(MAIN, torch.nn.Linear(2, 2))
    assert "bf16 needs a BoardModule or a PairModule, and it is a Linear" in caplog.text


def test_it_is_off_unless_asked_for():
    assert not Pair(small_config("pairs")).module.learns_in_bf16


def test_what_a_processor_can_do_is_asked_of_pytorch(monkeypatch):
    monkeypatch.undo()
    for features, has in (({"avx512_bf16": True}, True), ({"avx2": True, "amx_bf16": False}, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda features=features: features)
        assert bf16_learning.computes_bf16(torch.device("cpu")) == has
    assert not bf16_learning.computes_bf16(torch.device("meta"))
