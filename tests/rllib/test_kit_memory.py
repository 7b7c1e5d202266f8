"""The memory of leagues of other environments: what is counted, budgets, and the guard."""

from threading import Event, current_thread, main_thread

import gymnasium as gym
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import add_league, predict_memory
from rllib_adapters.league.memory import sizes_of
from territorial.league import League
from territorial.memory.measure import Memory, ProcessMemory
from territorial.memory.plan import BudgetError
from tests.league.test_plan import item
from tests.rllib import kit


def made(store, runners=0, capacity=10, memory=None, algorithm="PPO"):
    """Return the configuration of a league of ``Unlike``."""
    kit.register()
    league = League(kit.rules_of("unlike", capacity=capacity), rated=False)
    config = kit.config_of("unlike", algorithm, runners)
    return add_league(config, league, store, memory=memory, **kit.LEAGUES["unlike"][1])


WEIGHTS = {
    # Of each learner: inputs, width, inputs of the distribution.
    "first": (6, 16, 3),
    "second": (3, 8, 4),
    "third": (5, 16, 5),
}


def weights_of(sizes):
    seen, width, acts = sizes
    return 4 * ((seen + 1) * width + (width + 1) * (acts + 1))


def test_weights_and_what_backpropagation_keeps_are_counted(tmp_path):
    config = made(tmp_path)
    for name, (seen, width, acts) in WEIGHTS.items():
        weights, kept = sizes_of(config.rl_module_spec.rl_module_specs[name], *config.spaces[name])
        assert weights == weights_of((seen, width, acts))
        # Two paths keep their inputs, what tanh gave, and that as the input of the next layer.
        assert kept == 2 * 4 * (seen + 2 * width)
    spec, acts = config.rl_module_spec.rl_module_specs["third"], config.spaces["third"][1]
    assert sizes_of(spec, gym.spaces.Discrete(7), acts)[1] == 0


@pytest.mark.parametrize("algorithm", kit.ALGORITHMS)
def test_snapshots_are_modules_in_every_process_or_files(algorithm, tmp_path):
    plans = {
        (runners, capacity): predict_memory(made(tmp_path / "store", runners, capacity, algorithm=algorithm))
        for runners in (0, 2)
        for capacity in (10, 110)
    }
    largest = max(map(weights_of, WEIGHTS.values()))
    for runners in (0, 2):
        few, many = plans[runners, 10], plans[runners, 110]
        assert many[0].built == few[0].built
        assert item(many[0], "snapshots").nbytes - item(few[0], "snapshots").nbytes == 100 * largest
        assert item(many[1], "snapshots").nbytes == 0
        for name in ("modules that play", "modules that learn"):
            more = item(many[1], name).nbytes - item(few[1], name).nbytes
            assert more == 100 * largest
        assert (
            many[1].of_item(item(many[1], "modules that play"))
            == (1 + runners) * item(many[1], "modules that play").nbytes
        )


def test_rows_are_those_of_the_spaces(tmp_path):
    plan, alone = predict_memory(made(tmp_path))
    seen = 4 * (4 + 2 + 3 + 5)
    assert item(plan, "experience").nbytes == 40 * (seen + 3 * 3_000)
    # A game is one learner's own: the most that one of them sees are six numbers.
    assert item(plan, "batch").nbytes == item(alone, "batch").nbytes == 2 * 40 * 4 * 6
    assert item(plan, "minibatch").nbytes == 2 * 20 * 2 * 4 * (5 + 2 * 16 + 1)


def test_a_budget_is_checked_when_the_algorithm_is_built(tmp_path):
    need = predict_memory(made(tmp_path / "first"))[0].peak
    with pytest.raises(ValueError, match=r"memory is .* MB: the league needs .* MB \(add_league\).*imports"):
        made(tmp_path / "second", memory=need - 1).build_algo()
    with pytest.raises(ValueError, match="memory is 0; it must be a whole number of at least 1"):
        made(tmp_path / "third", memory=0)
    with pytest.raises(TypeError, match="config is a PPOConfig; it must be what add_league returned"):
        predict_memory(PPOConfig())


def test_training_ends_before_processes_hold_more_and_goes_on(ends, tmp_path, monkeypatch):
    algorithm, sampled, step = ends(made(tmp_path, memory=2**50).build_algo()), Event(), kit.Unlike.step

    def measured(pids):
        if current_thread() is not main_thread():
            sampled.set()
        return Memory("PSS", (ProcessMemory(1, "greedy", 2**51, 2**51),))

    with monkeypatch.context() as patched:
        patched.setattr("territorial.memory.guard.measure", measured)
        patched.setattr("territorial.memory.guard.most_held", lambda pids: None)
        patched.setattr(kit.Unlike, "step", lambda *given: sampled.wait(60) and step(*given))
        with pytest.raises(BudgetError, match="greedy"):
            algorithm.train()
    assert algorithm.train()["league"]["games"] >= 0
