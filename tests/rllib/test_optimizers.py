"""Adam in one pass: the updates of RLlib's, its care for numbers that are not finite, and its checkpoints."""

import copy
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.control import freeze, policy_of, set_weights, weights_of
from rllib_adapters.learning import optimizers
from rllib_adapters.learning.optimizers import can_be_fused, optimizers_of
from territorial.league import SnapshotStore
from tests.rllib.test_sampled_values import Pair, small_config


def learner_of(config):
    return config.build_learner(env=TerritorialMultiAgentEnv(config.env_config))


@contextmanager
def adam(*, fused):
    """Let learners that are built meanwhile have the fused Adam, or that of RLlib."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(optimizers, "can_be_fused", lambda _: fused)
        yield


@pytest.fixture(scope="module")
def both():
    """A learner with the fused Adam and one without, and weights to begin with."""
    learners = []
    for fused in (True, False):
        with adam(fused=fused):
            learners.append(learner_of(small_config()))
    return learners, copy.deepcopy(learners[0].module[MAIN].get_state())


def begin(learners, weights):
    """Let learners begin anew, with gradients for the first update."""
    for learner in learners:
        learner.module[MAIN].set_state(copy.deepcopy(weights))
        (optimizer,) = optimizers_of(learner)
        optimizer.state.clear()


def gradients(learner, seed):
    random = torch.Generator().manual_seed(seed)
    return {one: torch.randn(one.shape, generator=random) for one in learner.module[MAIN].parameters()}


def values(learner):
    return [one.detach().clone() for one in learner.module[MAIN].parameters()]


def test_updates_are_those_of_rllib_but_for_rounding(both):
    learners, weights = both
    begin(learners, weights)
    assert [bool(one.defaults["fused"]) for learner in learners for one in optimizers_of(learner)] == [
        True,
        False,
    ]
    for seed in range(5):
        for learner in learners:
            learner.apply_gradients(gradients(learner, seed))
    for mine, theirs in zip(*map(values, learners), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_gradients_are_looked_at_together_and_not_one_by_one(both, monkeypatch):
    (learner, _), weights = both
    begin([learner], weights)
    looked = []
    isfinite = torch.isfinite
    monkeypatch.setattr(torch, "isfinite", lambda one: looked.append(one) or isfinite(one))
    learner.apply_gradients(gradients(learner, 0))
    assert not looked


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 3e38])
def test_numbers_that_are_not_finite_are_handled_by_rllib(both, bad):
    (learner, _), weights = both
    begin([learner], weights)
    broken, before = gradients(learner, 0), values(learner)
    first = next(iter(broken))
    broken[first].view(-1)[0] = bad
    learner.apply_gradients(broken)
    after = values(learner)
    assert all(isinstance(one, torch.Tensor) and one.isfinite().all() for one in after)
    assert all((mine != theirs).any() for mine, theirs in zip(after, before, strict=True))


@pytest.mark.parametrize("fused_before", [True, False])
def test_it_goes_on_from_a_checkpoint_of_either(both, fused_before):
    learners, weights = both
    begin(learners, weights)
    first = learners[0] if fused_before else learners[1]
    for seed in range(3):
        first.apply_gradients(gradients(first, seed))
    state = copy.deepcopy(first.get_state())
    second = learner_of(small_config())
    second.set_state(state)
    for learner in (first, second):
        learner.apply_gradients(gradients(learner, 9))
    for mine, theirs in zip(values(second), values(first), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    (optimizer,) = optimizers_of(second)
    (group,) = optimizer.param_groups
    assert group["fused"] is True
    assert group["lr"] == pytest.approx(optimizers_of(first)[0].param_groups[0]["lr"])
    assert {float(one["step"]) for one in optimizer.state.values()} == {4.0}


def test_weights_of_other_kinds_keep_the_optimizer_of_rllib():
    assert can_be_fused([torch.zeros(2)])
    assert not can_be_fused([torch.zeros(2), torch.zeros(2, dtype=torch.bfloat16)])
    assert not can_be_fused([torch.zeros(2, device="meta")])


def test_a_whole_update_learns_the_same():
    weights = []
    for fused in (True, False):
        with adam(fused=fused):
            pair = Pair(small_config())
        pair.learner._weights_seq_no = 0
        pair.learner.update(episodes=pair.runner.sample(), num_epochs=1, minibatch_size=None)
        weights.append(values(pair.learner))
    for mine, theirs in zip(*weights, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


DECAY = 0.5


def averaging():
    return small_config("pairs").learning(averaged_weights=DECAY)


def arrays_of(learner):
    return {name: one.detach().numpy().copy() for name, one in learner.module[MAIN].named_parameters()}


def assert_same(found, wanted, **tolerance):
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, err_msg=name, **(tolerance or {"rtol": 0}))


def test_they_follow_the_weights_and_are_part_of_the_state():
    learner = learner_of(averaging())
    assert_same(learner.averaged(MAIN), arrays_of(learner))  # before the first update they are the weights
    wanted = None
    for n in range(8):
        learner.apply_gradients(gradients(learner, n))
        now, decay = arrays_of(learner), min(DECAY, (1 + n) / (10 + n))
        wanted = now if wanted is None else {k: decay * wanted[k] + (1 - decay) * now[k] for k in now}
    assert_same(learner.averaged(MAIN), wanted, rtol=1e-4, atol=1e-5)
    assert any((wanted[name] != now[name]).any() for name in now)

    state = learner.get_state()
    (kept,) = state["averaged_weights"].values()
    assert kept["updates"] == 8
    count = sum(one.numel() for one in learner.module[MAIN].parameters())
    assert sum(one.nbytes for one in kept["weights"].values()) == 4 * count
    assert "averaged_weights" not in learner.get_state(components="rl_module")  # not sent to runners

    other = learner_of(averaging())
    other.set_state(copy.deepcopy(state))
    for one in (learner, other):
        one.apply_gradients(gradients(one, 99))
    assert_same(other.averaged(MAIN), learner.averaged(MAIN), rtol=1e-4, atol=1e-5)


def test_weights_from_outside_begin_them_anew():
    learner = learner_of(averaging())
    weights = {name: array + 1 for name, array in arrays_of(learner).items()}
    learner.apply_gradients(gradients(learner, 0))
    learner.set_state({"rl_module": {MAIN: weights}})
    assert_same(learner.averaged(MAIN), weights)


def test_none_are_kept_unless_asked_for():
    learner = learner_of(small_config("pairs"))
    learner.apply_gradients(gradients(learner, 0))
    assert "averaged_weights" not in learner.get_state()
    assert_same(learner.averaged(MAIN), arrays_of(learner))


@pytest.fixture(scope="module")
def algorithm(running_ray):
    config = averaging()
    config.training(lr=0.02)
    config.evaluation(evaluation_interval=10, evaluation_num_env_runners=0, evaluation_duration=1)
    algorithm = config.build_algo()
    algorithm.train()
    yield algorithm
    algorithm.stop()


def test_what_is_frozen_and_exported_has_the_averages(algorithm, tmp_path):
    learner = algorithm.learner_group._learner
    averages = {name.removeprefix("policy."): one for name, one in learner.averaged(MAIN).items()}
    present = weights_of(algorithm, MAIN)
    assert any((present[name] != averages[name]).any() for name in present)
    store = SnapshotStore(tmp_path)
    freeze(algorithm, store, "averaged")
    freeze(algorithm, store, "present", averaged=False)
    assert_same(store.load("averaged"), averages)
    assert_same(store.load("present"), present)
    for averaged, wanted in ((None, averages), (True, averages), (False, present)):
        network = policy_of(algorithm, averaged=averaged).state_dict()
        assert_same({name: part.numpy() for name, part in network.items()}, wanted)


def test_what_is_evaluated_has_the_averages_and_what_samples_has_not(algorithm):
    algorithm.evaluate()
    (learned,) = algorithm.eval_env_runner_group.foreach_env_runner(weights_in)
    (sampling,) = algorithm.env_runner_group.foreach_env_runner(weights_in)
    assert_same(learned, algorithm.learner_group._learner.averaged(MAIN))
    assert_same(sampling, arrays_of(algorithm.learner_group._learner))


def weights_in(runner):
    return {name: part.detach().numpy().copy() for name, part in runner.module[MAIN].named_parameters()}


def test_weights_of_a_snapshot_begin_them_anew(algorithm, tmp_path):
    store = SnapshotStore(tmp_path)
    freeze(algorithm, store, "first", averaged=False)
    set_weights(algorithm, MAIN, store, "first")
    found = {k.removeprefix("policy."): v for k, v in algorithm.learner_group._learner.averaged(MAIN).items()}
    assert_same(found, store.load("first"))


def test_averages_that_are_not_kept_cannot_be_asked_for(algorithm):
    algorithm.config.__dict__["learning_options"] = small_config().learning_options
    try:
        with pytest.raises(ValueError, match="averaged is True, but no averages are kept"):
            weights_of(algorithm, MAIN, averaged=True)
    finally:
        del algorithm.config.__dict__["learning_options"]
