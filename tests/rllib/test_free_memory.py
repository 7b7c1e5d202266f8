"""Runners give free memory back after each sample, and learners after each update."""

import pytest

from rllib_adapters.learning import learners
from rllib_adapters.sampling import runner, stock_runner
from tests.rllib.support import fill, small_config


@pytest.mark.parametrize(("kind", "module"), [("batched", runner), ("stock", stock_runner)])
def test_an_iteration_gives_back_after_sampling_and_after_learning(kind, module, tmp_path, monkeypatch):
    given_back = []
    for place in (module, learners):
        monkeypatch.setattr(place, "give_back", lambda name=place.__name__: given_back.append(name))
    algorithm = small_config(fill(tmp_path), runner=kind).build_algo()
    for _ in range(2):
        algorithm.train()
    algorithm.stop()
    assert given_back == [module.__name__, learners.__name__] * 2
