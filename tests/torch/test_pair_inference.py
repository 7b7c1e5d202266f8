"""The network on pairs as a kernel computes it, against the layers of PyTorch."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.utils import prune

from territorial.nets import PairPolicy
from territorial.nets.pair_kernels import CHUNK
from territorial.nets.pair_network import MOST_ROWS, computed
from tests.torch.test_pair_policy import inputs, policy_of


def seen(amount, seed=0, num_candidates=8):
    """Return own, pairs and mask as games show them."""
    own, pairs, mask = inputs(amount, seed, num_candidates)
    return own, pairs, mask.to(torch.int8)


def by_layers(policy, own, pairs, mask):
    """Return what PyTorch computes: it has to where gradients are asked for."""
    logits, values = policy(own, pairs, mask)
    assert logits.requires_grad
    return logits.detach(), values.detach()


def by_kernel(policy, *rows):
    """Return what the kernel computes."""
    with torch.inference_mode():
        assert computed(policy, *rows) is not None
        return policy(*rows)


def assert_close(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", ["small", "standard"])
@pytest.mark.parametrize(("amount", "num_candidates"), [(1, 8), (3 * CHUNK + 5, 8), (40, 1), (9, 64)])
def test_logits_and_values_are_those_of_the_layers(size, amount, num_candidates):
    policy, rows = policy_of(size), seen(amount, amount, num_candidates)
    assert_close(by_kernel(policy, *rows), by_layers(policy, *rows))


def test_so_they_are_of_games_with_teams():
    torch.manual_seed(2)
    policy, (own, pairs, mask) = PairPolicy("small", teams=True), seen(70, num_candidates=12)
    ally = torch.from_numpy(np.random.default_rng(1).integers(0, 2, (70, 12, 1)).astype(np.float32))
    rows = own, torch.cat([pairs, ally], dim=2), mask
    assert_close(by_kernel(policy, *rows), by_layers(policy, *rows))
    report = by_kernel(policy, own, torch.cat([pairs, 1 - ally], dim=2), mask)[0]
    assert not torch.equal(report, by_kernel(policy, *rows)[0]), "the column counts"


def test_so_they_are_whatever_the_mask_says_without_candidates_and_with_inputs_out_of_bounds():
    """Fractions alone may be illegal, holding may be, and launches at candidates that are not there legal."""
    policy, (own, pairs, mask) = policy_of(), seen(200)
    drawn = torch.from_numpy((np.random.default_rng(0).random(mask.shape) < 0.5).astype(np.int8))
    without_candidates, out_of_bounds = (own, torch.zeros_like(pairs), mask), (100 * own, 100 * pairs, mask)
    masked = [(own, pairs, other) for other in (drawn, torch.zeros_like(mask), torch.ones_like(mask))]
    for rows in (*masked, without_candidates, out_of_bounds):
        assert_close(by_kernel(policy, *rows), by_layers(policy, *rows))


def test_a_row_gives_the_same_bits_among_any_others():
    policy, rows = policy_of("standard"), seen(2 * CHUNK + 7)
    together = by_kernel(policy, *rows)
    for first, end in ((0, 1), (5, 8), (CHUNK - 2, 2 * CHUNK + 3)):
        alone = by_kernel(policy, *(part[first:end] for part in rows))
        for one, other in zip(alone, together, strict=True):
            assert torch.equal(one, other[first:end])


def test_changed_weights_are_seen_at_once():
    policy, rows = policy_of(), seen(30)
    other = policy_of(seed=1)
    before = by_kernel(policy, *rows)
    policy.load_state_dict(other.state_dict())
    assert_close(by_kernel(policy, *rows), by_kernel(other, *rows))
    policy.load_state_dict(copy.deepcopy(policy_of(seed=2).state_dict()), assign=True)
    assert_close(by_kernel(policy, *rows), by_kernel(policy_of(seed=2), *rows))
    policy.summary = torch.nn.Linear(64, 64)
    found = by_kernel(policy, *rows)
    assert not torch.equal(found[1], before[1])
    assert_close(found, by_layers(policy, *rows))


def test_weights_that_are_not_numbers_give_logits_that_are_not():
    policy, rows = policy_of(), seen(30)
    with torch.no_grad():
        policy.context.bias[3] = float("nan")
    logits, values = by_kernel(policy, *rows)
    assert logits[:, 0].isnan().all()
    assert values.isnan().all()


class OwnLayers(PairPolicy):
    """A policy whose numbers are not those of its layers alone."""

    def activations(self, own, pairs):
        found = super().activations(own, pairs)
        return {**found, "summary": 0 * found["summary"]}


def changed(how):
    """Return a policy with something that the kernel does not know."""
    policy = OwnLayers("small") if how == "its own code" else policy_of()
    if how == "another layer":
        policy.hidden = torch.nn.Sequential(policy.hidden, torch.nn.Tanh())
        policy.hidden.out_features = 32
    if how == "a layer of values":
        policy.value[1] = torch.nn.Tanh()
    if how == "a hook of values":
        policy.value.register_forward_hook(lambda _layer, _inputs, output: 2 * output)
    if how == "a hook":
        policy.hidden.register_forward_hook(lambda _layer, _inputs, output: 2 * output)
    if how == "pruning":
        prune.random_unstructured(policy.summary, "weight", 0.5)
    return policy


@pytest.mark.parametrize(
    "how", ["its own code", "another layer", "a layer of values", "a hook", "a hook of values", "pruning"]
)
def test_what_is_not_usual_is_left_to_the_layers(how):
    policy, rows = changed(how), seen(30)
    with torch.no_grad():
        assert computed(policy, *rows) is None
        acts = policy(*rows)
    assert_close(acts, by_layers(policy, *rows))


def test_it_reads_what_it_knows():
    policy, (own, pairs, mask) = policy_of(), seen(30)
    assert computed(policy, own, pairs, mask) is None, "gradients"
    with torch.no_grad():
        assert computed(policy, own, pairs, mask.float()) is None
        assert computed(policy, own.double(), pairs, mask) is None
        assert computed(policy, own, pairs, mask[:, :-1].contiguous()) is None
        assert computed(policy, own[:, :-1].contiguous(), pairs, mask) is None
        assert computed(policy, own, pairs.transpose(1, 2).contiguous().transpose(1, 2), mask) is None
        policy.hold.double()
        assert computed(policy, own, pairs, mask) is None
        policy.hold.float()
        many = [part.repeat(MOST_ROWS // 30 + 1, *[1] * (part.ndim - 1)) for part in (own, pairs, mask)]
        assert computed(policy, *many) is None
        with torch.autocast("cpu"):
            assert computed(policy, own, pairs, mask) is None
        found = computed(policy, own[:0], pairs[:0], mask[:0])
    assert found is not None
    assert [part.shape for part in found] == [(0, 81), (0,)]
