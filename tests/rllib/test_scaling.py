"""Plans for machines: they fit them, more never makes them slower, and what cannot be is named."""

import json

import pytest
import torch

from rllib_adapters import plan_for
from rllib_adapters.train import scaling
from rllib_adapters.train.options import PRESETS
from rllib_adapters.train.scaling import Rates, seconds_of
from territorial import cli
from territorial.memory.plan import MB, BudgetError

GB = 2**30
CORES = (1, 2, 3, 4, 16, 64, 256)
SIZES = (4, 8, 64, 1024)


def test_an_iteration_takes_the_sum_of_its_parts_or_the_larger_one():
    rates = Rates(steps=100, rows=50, rest=0.5)
    assert seconds_of(rates, 1000, 200, runners=0, learners=0) == 10 + 4 + 0.5
    assert seconds_of(rates, 1000, 200, runners=4, learners=2, share=0.5) == 5 + 2 + 0.5
    assert seconds_of(rates, 1000, 200, runners=4, learners=1, at_once=True) == 4 + 0.5


@pytest.mark.parametrize("preset", PRESETS)
def test_plans_fit_their_machines_and_more_never_makes_them_slower(preset):
    plans = {(cores, size): plan_for(cores, size * GB, preset) for cores in CORES for size in SIZES}
    for (cores, size), plan in plans.items():
        training, memory = plan.training, plan.memory
        assert memory.peak <= size * GB
        assert 1 + memory.runners + memory.learners <= cores
        assert (training.env_runners, training.memory_mb) == (memory.runners, 1024 * size)
        assert training.num_games * max(1, memory.runners) <= training.iteration_steps
        smaller = [other for (c, s), other in plans.items() if c <= cores and s <= size]
        assert plan.steps_per_second == max(other.steps_per_second for other in smaller)
    assert plans[1, 4].bound == plans[2, 1024].bound == "cores"
    assert plans[256, 1024].bound == "learner"
    assert plans[256, 4].bound == "memory"
    assert plans[256, 1024].memory.runners > plans[256, 1024].enough_runners > 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, GB), ValueError, "cores is 0; it must be a whole number from 1 to 10000"),
        ((10**6, GB), ValueError, "cores is 1000000; it must be"),
        ((4, 0), ValueError, "memory is 0; it must be"),
        (
            (4, 2**28),
            BudgetError,
            "needs 1,.* MB .*; the budget is 256 MB,.* B less. Most is taken by: Ray .*, imports.*minibatch",
        ),
        ((4, GB, "pair"), ValueError, "preset is 'pair' .*; it must be one of quick, pairs, features"),
    ],
)
def test_machines_that_cannot_be_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        plan_for(*arguments)


def test_the_command_prints_the_plan_and_a_command_that_trains_so(capsys):
    arguments = ["info", "memory", "--cores", "16", "--memory", "64GB"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    assert cli.main([*arguments, "--json"]) == 0
    plan = plan_for(16, 64 * GB)
    assert json.loads(capsys.readouterr().out) == plan.to_dict()
    assert printed.splitlines()[-1] == plan.command
    parsed = cli.make_parser().parse_args(plan.command.split()[1:])
    assert (parsed.preset, parsed.env_runners) == ("pairs", plan.memory.runners)
    assert (cli.main([*arguments, "--preset", "x"]), cli.main(arguments[:4])) == (2, 2)
    assert "argument --memory: it is needed" in capsys.readouterr().err
    for bad, message in (
        (["--cores", "4", "--memory", "0GB"], "--memory: '0GB' is not a size such as 6GB"),
        (["--cores", "4", "--memory", "9" * 400 + "GB"], "is not a size such as 6GB"),
        ([*arguments[2:], "--capacity", "9"], "--capacity: it does not go with --cores"),
        ([*arguments[2:], "--budget", "1GB"], "--budget: it does not go with --cores"),
    ):
        assert cli.main(["info", "memory", *bad]) == 2
        assert message in capsys.readouterr().err


def test_rates_of_a_machine_change_its_plan_and_what_bounds_it():
    plan = plan_for(16, 64 * GB, rates=Rates(13000, 500, 0.1))
    assert (plan.memory.runners, plan.bound) == (0, "learner")
    least = plan_for(3, 64 * GB)
    assert least.memory.runners == 2
    assert (
        plan_for(3, least.memory.peak).memory.peak <= plan_for(3, least.memory.peak).training.memory_mb * MB
    )


@pytest.mark.usefixtures("no_ray")
def test_rates_are_measured_as_presets_play(monkeypatch):
    monkeypatch.setattr(scaling, "MEASURED_SECONDS", 0)
    threads = torch.get_num_threads()
    rates = scaling.measured_rates("quick")
    assert min(rates[:2]) > 0 <= rates.rest
    assert torch.get_num_threads() == threads
