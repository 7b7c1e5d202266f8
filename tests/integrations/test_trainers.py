"""The examples of trainers, with tiny numbers, where the trainer is installed."""

import importlib

import pytest

from territorial.testing import TRAINERS

pytestmark = pytest.mark.checkout


@pytest.mark.parametrize("trainer", TRAINERS, ids=lambda trainer: trainer.package)
def test_the_example_trains_and_obeys_the_masks_it_asks_for(trainer, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some leave files where they are
    if trainer.package != "cleanrl":  # files to copy: the example has the loop
        pytest.importorskip(trainer.package, reason=f"{trainer.name} is not installed")
    for package in ("torch", *trainer.beside):
        pytest.importorskip(package, reason=f"{package} is not installed")
    from benchmarks.envs import trainers_run

    monkeypatch.syspath_prepend(str(trainers_run.ROOT / "examples"))
    example = importlib.import_module(f"with_{trainer.package}")
    game = trainers_run.GAME | example.OPTIONS
    found = trainers_run.one_run(example, trainers_run.maker(trainer, game), 64)
    assert found["error"] == ""
    assert found["steps"] > 50  # some count resets as steps
    assert found["games"] >= 1
    assert found["cut_short"] == 0
    assert found["illegal_later"] == 0 or example.OPTIONS["action_mask"] == "none"
