"""Actions drawn by kernels, against the distributions that PyTorch makes of the same logits."""

import numpy as np
import pytest
import torch

from territorial import GameConfig, VecGame
from territorial.nets.board_policy import BoardPolicy
from territorial.nets.choice_kernels import draw_choices
from territorial.nets.features import FeatureTrunk

HEADS = np.array([5, 3])
MASKED = -1e9


def draw(logits, chances):
    choices, logps = np.empty(chances.shape, np.int64), np.empty(len(logits), np.float32)
    draw_choices(logits, HEADS, chances, np.empty(8), choices, logps)
    return choices, logps


def logits_of(rows, seed=0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3, size=(rows, 8)).astype(np.float32)
    masked = rng.random(logits.shape) < 0.4
    masked[:, [0, 6]] = False
    return np.where(masked, np.float32(MASKED), logits)


def test_every_choice_has_the_part_of_the_unit_interval_that_softmax_gives_it():
    """With chances evenly spaced, counts are the probabilities to one part in the number of chances."""
    for logits in logits_of(20):
        rows = 4000
        chances = np.repeat((np.arange(rows)[:, None] + 0.5) / rows, 2, axis=1)
        choices, _ = draw(np.tile(logits, (rows, 1)), chances)
        for h, part in enumerate(torch.from_numpy(logits).double().split(HEADS.tolist())):
            counts = np.bincount(choices[:, h], minlength=len(part))
            np.testing.assert_allclose(counts / rows, part.softmax(0).numpy(), atol=1.01 / rows)


def test_likelihoods_are_those_of_what_was_chosen_and_nothing_masked_is():
    logits = logits_of(5000, seed=1)
    choices, logps = draw(logits, np.random.default_rng(2).random((5000, 2)))
    parts = torch.from_numpy(logits).split(HEADS.tolist(), dim=1)
    wanted = sum(part.log_softmax(1)[range(5000), choices[:, h]] for h, part in enumerate(parts))
    np.testing.assert_allclose(logps, wanted.numpy(), rtol=1e-5, atol=1e-5)
    for h, part in enumerate(parts):
        assert (part[range(5000), choices[:, h]] > MASKED).all()


@pytest.mark.parametrize("chance", [0.0, np.nextafter(1.0, 0.0)])
def test_the_ends_of_the_interval_are_the_first_and_the_last_legal_choice(chance):
    logits = np.array([[MASKED, 1, 2, MASKED, MASKED, 0, MASKED, MASKED]], np.float32)
    choices, _ = draw(logits, np.full((1, 2), chance))
    assert choices.tolist() == [[1 if chance == 0 else 2, 0]]


def test_masked_logits_are_the_same_with_gradients_and_without():
    config = GameConfig(height=16, width=16, num_players=4)
    layout = VecGame(config, 1, frames=1).layout
    policy = BoardPolicy(layout, config, FeatureTrunk(layout, config))
    rng = np.random.default_rng(4)
    raw = torch.from_numpy(rng.normal(size=(200, 16)).astype(np.float32))
    mask = torch.from_numpy((rng.random((200, 16)) < 0.4).astype(np.int8))
    with torch.no_grad():
        found = policy.masked(raw, mask)
    wanted = policy.masked(raw.requires_grad_(), mask)
    torch.testing.assert_close(found, wanted.detach(), rtol=1e-5, atol=1e-5)
    assert torch.equal(found == MASKED, wanted == MASKED)
    assert (found == MASKED).any()
    assert wanted.requires_grad
