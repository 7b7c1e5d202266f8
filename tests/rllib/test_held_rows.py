"""Learning without the rows in which an agent could only hold."""

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.impala import IMPALAConfig

from rllib_adapters.configuration import configure
from rllib_adapters.learning.advantages import Advantages
from rllib_adapters.learning.held_rows import WithoutHeldRows, could_only_hold, look_through
from territorial import GameConfig
from tests.rllib.test_optimizers import learner_of
from tests.rllib.test_sampled_values import SEATS, Pair, small_config

TEAMS = GameConfig(
    height=24,
    width=24,
    num_players=6,
    map="open",
    max_ticks=400,
    teams=3,
    rewards={"team_land": 1, "placement": 1},
)


def columns_of(mask, **others):
    """Columns of an agent on pairs."""
    seen = {"own": torch.zeros(len(mask), 35), "action_mask": torch.tensor(mask, dtype=torch.int8)}
    return {"obs": seen, **others}


def test_masks_of_all_forms_say_who_could_only_hold():
    assert could_only_hold(columns_of([[1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0]])).tolist() == [
        True,
        False,
        False,
    ]
    ten = [1] * 10
    on_boards = {"seat": torch.ones(2, 1), "action_mask": torch.tensor([[1, 0, 0, *ten], [1, 0, 1, *ten]])}
    assert could_only_hold({"obs": on_boards}).tolist() == [True, False]
    with pytest.raises(ValueError, match="held_rows is False, but observations have no 'action_mask'"):
        could_only_hold({"obs": torch.zeros(3)})


def test_values_look_through_rows_without_a_choice():
    """A piece that is cut, one that ends in such a row, and one in which a choice comes again."""
    held = np.array([0, 1, 1, 0, 0, 1, 0, 1, 0, 0], bool)
    mask = np.array([1, 1, 1, 0, 1, 1, 0, 1, 1, 0], bool)
    ends = np.array([0, 0, 0, 0, 0, 1, 0, 0, 0, 0], bool)
    rewards, values = np.arange(10.0), 10.0 * np.arange(10)
    columns = {"rewards": rewards, "terminateds": ends, "loss_mask": mask}
    found = look_through(values, columns, held, 0.5)
    assert found.tolist() == [0, 1 + 0.5 * 17, 2 + 0.5 * 30, 30, 40, 5, 60, 7 + 0.5 * 80, 80, 90]
    moved = np.array([0, 0, 0, 0, 0, 0, 1, 0, 0, 0], bool)
    earlier = look_through(values, {**columns, "terminateds": moved}, held, 0.5)
    assert earlier.tolist() == found.tolist(), "as older releases of Ray mark ends"


def pair_of(kind, **learning):
    config = small_config(kind, game=TEAMS, max_cycles=None)
    return Pair(config.learning(**learning))


@pytest.mark.parametrize("kind", ["boards", "pairs"])
def test_a_batch_has_the_other_rows_alone(kind):
    pair, all_rows = pair_of(kind, held_rows=False), pair_of(kind)
    kept = left = 0
    for sample in range(20):
        if sample >= 3 and left:
            break
        episodes = pair.runner.sample()  # who can give to an ally does not only hold
        batch, _ = pair.batch(episodes)
        whole, _ = all_rows.batch(episodes)
        held, own = could_only_hold(whole), whole["loss_mask"].bool()
        assert not could_only_hold(batch).any()
        assert len(batch["actions"]) == int((own & ~held).sum())
        assert torch.equal(batch["actions"], whole["actions"][own & ~held])
        kept, left = kept + len(batch["actions"]), left + int((own & held).sum())
    assert min(kept, left) > 0
    found = pair.learner.update(training_data=training_data(pair, episodes), minibatch_size=16, num_epochs=1)
    assert found


def training_data(pair, episodes):
    from ray.rllib.core.learner.training_data import TrainingData

    return TrainingData(episodes=episodes)


def test_targets_of_the_other_rows_have_the_rewards_that_came_while_holding():
    pair = pair_of("pairs", held_rows=False)
    (advantages,) = (one for one in pair.learner._learner_connector if isinstance(one, Advantages))
    assert advantages._held_rows is False
    n, gamma, lambda_ = 5, advantages.gamma, advantages.lambda_
    mask = np.ones((n, 81))
    mask[1:3, 1:] = 0
    columns = columns_of(
        mask,
        rewards=torch.tensor([0.0, 1.0, 2.0, 0.0, 0.0]),
        terminateds=torch.tensor([False, False, False, True, False]),
        truncateds=torch.tensor([False, False, False, False, False]),
        loss_mask=torch.tensor([True, True, True, True, False]),
    )
    values = torch.tensor([0.5, 100.0, -100.0, 3.0, 7.0])
    advantages._add(columns, values, could_only_hold(columns).numpy())
    beyond = 0 - 3.0  # the advantage of the last row: nothing comes after it
    through = 1.0 + gamma * (2.0 + gamma * 3.0)
    expected = gamma * through + (gamma * lambda_) ** 3 * beyond
    assert float(columns["value_targets"][0]) == pytest.approx(expected, rel=1e-5)


def test_a_batch_of_nothing_else_stays_as_it_is():
    columns = columns_of(
        [[1, 0, 0], [1, 0, 0]], advantages=torch.zeros(2), loss_mask=torch.tensor([True, False])
    )
    batch = {"main": columns}
    assert WithoutHeldRows()(batch=batch)["main"] is columns


def test_what_learns_from_sequences_is_refused():
    config = configure(IMPALAConfig(), {"config": TEAMS, "seats": SEATS}).learning(held_rows=False)
    with pytest.raises(ValueError, match="held_rows is False; it must be True, as IMPALA learns from rows"):
        learner_of(config)
    pair = pair_of("pairs")
    pair.module.is_stateful = lambda: True
    with pytest.raises(ValueError, match=r"held_rows is False, but the module 'main' is recurrent: .*=True"):
        pair.learner._without_held_rows()
    with pytest.raises(TypeError, match="held_rows is 0; it must be True or False"):
        configure(IMPALAConfig(), {"config": TEAMS}).learning(held_rows=0)
