"""Benchmarks of RLlib that run long, or need a GPU: what they count and compare, and that they run at all."""

import os
import time

import pytest

pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")
learner_gpu = pytest.importorskip("benchmarks.rllib.learner_gpu", reason="the benchmarks are not here")

from benchmarks.rllib import soak, whole_nodes  # noqa: E402 - only where they are
from benchmarks.rllib.processes import processor_seconds, spent  # noqa: E402

pytestmark = pytest.mark.checkout


# ---- the soak --------------------------------------------------------------------------------------


def rows_of(iterations, memory=lambda i: 100, seconds=lambda i: 2.0):
    """Rows of a run whose iterations have 32 steps each."""
    spent_until = [sum(map(seconds, range(i + 1))) for i in range(iterations)]
    return [
        {
            "steps": 32 * (i + 1),
            "processor_seconds": spent_until[i],
            "own": memory(i),
            "own_private": memory(i),
            "total": 2 * memory(i),
        }
        for i in range(iterations)
    ]


def test_memory_and_speed_of_the_last_fifth_are_compared_with_the_second():
    found = soak.summary(rows_of(50))
    assert found["growth"] == found["growth_of_private"] == found["growth_with_ray"] == found["speed"] == 1
    assert found["env_steps_per_process_second"] == 16
    found = soak.summary(rows_of(50, memory=lambda i: 50 if i < 10 else 100 + i))
    assert found["growth"] == pytest.approx(144.5 / 114.5), "the first fifth counts for nothing"
    found = soak.summary(rows_of(50, seconds=lambda i: 9 if i < 10 else 2 if i < 40 else 4))
    assert found["speed"] == pytest.approx(0.5)


@pytest.mark.parametrize("preset", [name for name in soak.PRESETS if name != "quick"])
def test_the_soak_has_the_seats_of_the_league_and_is_full_after_a_fifth(preset):
    training = soak.training_of(preset, 500, 2)
    assert (training.num_players, training.agents, training.bots, training.snapshots) == (32, 8, 12, 12)
    assert (training.capacity, training.decision_every, training.freeze_every) == (32, 10, 1)
    assert (training.height, training.width) == (256, 256)
    assert training.network == soak.PRESETS[preset].network
    assert soak.training_of(preset, 30, 2).capacity == 6


def test_processor_time_is_that_of_the_processes_that_go_on():
    before = processor_seconds([os.getpid(), 2**22 + 1])
    assert before.keys() == {os.getpid()}, "there is no such process"
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert spent(before, processor_seconds([os.getpid()])) >= 0.03
    assert spent({1: 5.0}, {1: 7.0, 2: 9.0}) == 2


# ---- nodes -----------------------------------------------------------------------------------------


def test_each_node_has_room_for_its_part_of_the_runners():
    assert [whole_nodes.room_for(case)["resources"] for case in whole_nodes.CASES] == [
        {"runner": 1},
        {"runner": 4},
        {"runner": 2},
    ]
    assert [str(case) for case in whole_nodes.CASES] == ["1 runner", "4 runners", "4 runners, 2 nodes"]


@pytest.mark.verify
def test_the_league_outlives_runners_and_nodes(no_ray, tmp_path):
    assert whole_nodes.main(["--size", "small", "--json", str(tmp_path / "result.json")]) == 0


# ---- the GPU ---------------------------------------------------------------------------------------


def test_without_a_gpu_it_says_what_it_waits_for(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    out = tmp_path / "result.json"
    assert learner_gpu.main(["--json", str(out)]) == 1
    assert not out.exists()
    assert "PyTorch finds no NVIDIA GPU here; --stand-in runs all the rest" in capsys.readouterr().err


def test_losses_are_compared_with_those_of_as_many_learners_on_the_processor():
    one, two, gpu, _, shared = learner_gpu.CASES
    losses = {"total_loss": 0.5, "vf_loss": 20.0}
    found = {
        one.name: {"losses": losses, "seconds": 3.0},
        two.name: {"losses": {**losses, "total_loss": 0.6}, "seconds": 2.0},
        gpu.name: {"losses": {**losses, "vf_loss": 20.08}, "seconds": 0.5},
        shared.name: {"losses": losses, "seconds": 1.0},
    }
    for case in (one, two, gpu, shared):
        learner_gpu.compare(found, case)
    assert found[gpu.name]["largest_difference"] == pytest.approx(0.004)
    assert found[gpu.name]["times_processor"] == 6
    assert [found[case.name]["is_right"] for case in (one, two, gpu, shared)] == [True, True, True, False]
    refused = {one.name: found[one.name], gpu.name: {"refused": "Duplicate GPU detected"}}
    learner_gpu.compare(refused, gpu)
    assert learner_gpu.text_of(refused[gpu.name]) == "refused: Duplicate GPU detected"


@pytest.mark.verify
def test_all_but_the_gpu_runs_on_the_processor(no_ray, tmp_path):
    options = ["--stand-in", "--size", "small", "--rounds", "1", "--presets", "features", "pairs"]
    assert learner_gpu.main([*options, "--json", str(tmp_path / "result.json")]) == 0
