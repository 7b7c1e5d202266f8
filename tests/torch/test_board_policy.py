"""A policy over packed observations: sizes, costs, masks, holding, rows that share boards."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from territorial import GameConfig
from territorial.nets import BoardPolicy, FeatureTrunk, ReferenceTrunk
from territorial.nets.board_policy import DECODINGS
from territorial.nets.policy import MASKED
from tests.torch.support import SMALL, MeanTrunk, seen_by, whole


def test_the_reference_network_has_the_size_and_the_cost_that_it_promises():
    config = GameConfig()
    layout, seen = seen_by(config, [1, 32], steps=0)
    policy = BoardPolicy(layout, config, ReferenceTrunk(layout, config))
    assert 4.5e6 < sum(weight.numel() for weight in policy.parameters()) < 5.5e6
    with FlopCounterMode(display=False) as counter:
        policy(seen)
    lookups = layout.frames * 16 * (config.height // 4) * (config.width // 4) * 32
    assert counter.get_total_flops() / 2 + lookups < 115e6  # a board; 200 million at most


@pytest.mark.parametrize("form", DECODINGS)
def test_rows_that_share_boards_give_what_rows_of_their_own_give(form):
    layout, seen = seen_by(SMALL, [1, 3, 5])
    policy = BoardPolicy(layout, SMALL, MeanTrunk(layout, SMALL, form))
    with torch.no_grad():
        shared, own = policy(seen), policy(whole(seen))
        torch.testing.assert_close(shared[0], own[0], rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(policy.values(shared[1]), policy.values(own[1]), rtol=1e-4, atol=1e-4)


MAKERS = [
    lambda layout, **given: BoardPolicy(layout, SMALL, ReferenceTrunk(layout, SMALL), **given),
    lambda layout, **given: BoardPolicy(layout, SMALL, FeatureTrunk(layout, SMALL), **given),
]


@pytest.mark.parametrize("make", MAKERS, ids=["boards", "features"])
@pytest.mark.parametrize("probability", [0.9, 0.5])
def test_before_it_has_learned_it_holds_as_often_as_asked_wherever_it_stands(make, probability):
    layout, seen = seen_by(SMALL, [1, 2, 3, 4, 5], steps=60)
    holds = make(layout, hold_probability=probability)(seen)[0][:, :7].softmax(1)[:, 0]
    expected = torch.where(seen["action_mask"][:, 1:7].sum(1) > 0, probability, 1.0)
    assert torch.allclose(holds, expected, atol=0.03)


@pytest.mark.parametrize("make", MAKERS, ids=["boards", "features"])
def test_what_is_not_legal_is_never_drawn_and_all_numbers_are_finite(make):
    layout, seen = seen_by(SMALL, [1, 2, 3, 4, 5])
    seen["action_mask"][:, 1:7] = torch.eye(5, 6, dtype=torch.int8)  # one launch each
    policy = make(layout, hold_probability=0.1)
    logits, embedding = policy(seen)
    assert torch.isfinite(logits).all()
    assert (logits[seen["action_mask"] == 0] == MASKED).all()
    for _ in range(50):
        drawn = policy.draw(logits.detach())
        assert (seen["action_mask"].gather(1, drawn[:, :1]) == 1).all()
        assert drawn[:, 1].max() < 10
    best = torch.stack([logits[:, :7].argmax(1), logits[:, 7:].argmax(1)], 1)
    assert torch.equal(policy.greedy(logits), best)
    (logits.softmax(1).sum() + policy.values(embedding).sum()).backward()
    assert all(torch.isfinite(weight.grad).all() for weight in policy.parameters())


def test_bad_trunks_and_numbers_are_refused_by_name():
    layout, _ = seen_by(SMALL, [1])
    with pytest.raises(ValueError, match="the trunk Linear has decoding None and embedding_size None"):
        BoardPolicy(layout, SMALL, torch.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="hold_probability is 1; it must lie between 0 and 1"):
        BoardPolicy(layout, SMALL, ReferenceTrunk(layout, SMALL), hold_probability=1)
