"""Learning from a drawn part of the rows: how they are drawn, and what gradient is expected of them."""

import math

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.impala import IMPALAConfig

from rllib_adapters import configure
from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.learning import learners
from rllib_adapters.learning.rows import (
    FLOOR,
    ROW_WEIGHTS,
    DrawnRows,
    WithoutHeldRows,
    chances_of,
    could_only_hold,
    draw,
    look_through,
)
from rllib_adapters.modules.pairs import PairModule
from rllib_adapters.observations.connector import ModuleFrames
from territorial import GameConfig
from tests.rllib.test_sampled_values import CONFIG, SEATS, Pair, small_config

SCORES = np.random.default_rng(3).exponential(size=60) ** 3


@pytest.mark.parametrize("count", [1, 7, 21, 59, 60])
@pytest.mark.parametrize("scores", [SCORES, np.zeros(60), np.eye(60)[0]], ids=["spread", "none", "one"])
def test_chances_add_up_and_none_is_too_small_or_too_large(scores, count):
    chances = chances_of(scores, count)
    assert chances.sum() == pytest.approx(count)
    assert FLOOR * count / 60 * (1 - 1e-9) <= chances.min() <= chances.max() <= 1 + 1e-12
    below = chances < 1 - 1e-9
    order = np.argsort(scores[below])
    assert (np.diff(chances[below][order]) >= -1e-12).all()


def test_rows_are_drawn_once_each_and_as_often_as_their_chances_say():
    chances, random, draws = chances_of(SCORES, 21), np.random.default_rng(1), 3000
    counts = np.zeros(60)
    for _ in range(draws):
        drawn = draw(chances, random)
        assert len(np.unique(drawn)) == len(drawn) == 21
        counts[drawn] += 1
    deviation = np.sqrt(np.maximum(chances * (1 - chances), 1e-9) / draws)
    assert (np.abs(counts / draws - chances) <= 4.5 * deviation).all()  # for 60 rows: one seed in 2,000 fails
    assert (counts[chances > 1 - 1e-9] == draws).all()


# ---- in a learner ----------------------------------------------------------------------------------


def pair_of(share=1.0, kind="pairs", **settings):
    return Pair(small_config(kind).training(minibatch_size=None, **settings).learning(share=share))


def gradient(learner, batch):
    """The gradient of the loss of a batch, as one vector."""
    outputs = learner.module.forward_train({MAIN: batch})
    learner.compute_gradients(learner.compute_losses(fwd_out=outputs, batch={MAIN: batch}))
    parameters = learner.module[MAIN].parameters()
    found = [torch.zeros_like(one) if one.grad is None else one.grad for one in parameters]
    return torch.cat([one.flatten() for one in found]).double().numpy()


@pytest.mark.parametrize(("kind", "with_all"), [("pairs", True), ("features", False)])
def test_with_weights_of_one_and_with_none_the_loss_is_rllibs(with_all, kind, monkeypatch):
    pair = pair_of(kind=kind, use_kl_loss=with_all, use_critic=with_all, entropy_coeff=0.01)
    learner = pair.learner
    batch, _ = pair.batch(pair.runner.sample())
    with torch.no_grad():
        for one in pair.module.parameters():
            one.add_(0.05 * torch.randn(one.shape, generator=torch.Generator().manual_seed(len(one))))
    own = DrawnRows(0.5, lambda: [0])._drawn(batch, np.random.default_rng(0))
    assert len(own[ROW_WEIGHTS]) == round(0.5 * int(batch["loss_mask"].sum()))
    ones = {**own, ROW_WEIGHTS: torch.ones_like(own[ROW_WEIGHTS])}
    plain = {name: part for name, part in own.items() if name != ROW_WEIGHTS}
    mine = [learned(learner, one) for one in (ones, plain, batch)]
    monkeypatch.setattr(learners, "heads_of", lambda module: None)  # from here on it is RLlib's loss
    theirs = [learned(learner, one) for one in (plain, plain, batch)]
    for (steps, logged, explained), (rllibs, their_logged, their_explained) in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(steps, rllibs, rtol=1e-3, atol=1e-5)
        assert logged == pytest.approx(their_logged, rel=1e-3, abs=1e-5)
        assert explained == pytest.approx(their_explained, abs=1e-3)  # RLlib divides by one row less
    assert np.abs(theirs[0][0] - theirs[2][0]).max() > 1e-3


def learned(learner, batch):
    """The gradient of the loss of a batch, what is logged of it, and how much of the targets is explained."""
    names = ("policy_loss", "vf_loss", "vf_loss_unclipped", "entropy", "mean_kl_loss", "vf_explained_var")
    steps = gradient(learner, batch)
    outputs = learner.module.forward_train({MAIN: batch})
    total = learner.compute_losses(fwd_out=outputs, batch={MAIN: batch})[MAIN]
    seen = [total, *(learner.metrics.peek((MAIN, name)) for name in names)]
    *logged, explained = [float(torch.as_tensor(one).detach()) for one in seen]
    return steps, logged, explained


@pytest.mark.usefixtures("choices_without_chance")  # so that the rows are the same on every processor
def test_the_expected_gradient_is_that_of_all_rows():
    pair, draws = pair_of(entropy_coeff=0.01), 40
    batch, _ = pair.batch(pair.runner.sample())
    whole = gradient(pair.learner, batch)
    drawer, found = DrawnRows(0.35, lambda: [0]), []
    for number in range(draws):
        drawn = drawer._drawn(batch, np.random.default_rng([7, number]))
        assert float(drawn[ROW_WEIGHTS].max()) <= 1 / FLOOR + 1e-6
        found.append(gradient(pair.learner, drawn))
    found = np.array(found)
    # Along the whole gradient, and in every direction of its own: each mean within 4.5 standard errors,
    # of which a seed in 100,000 has more in one direction.
    along = found @ whole / np.linalg.norm(whole)
    assert abs(along.mean() - np.linalg.norm(whole)) <= 4.5 * along.std() / math.sqrt(draws)
    assert along.std() > 0
    directions = np.random.default_rng(0).normal(size=(len(whole), 32))
    off = (found - whole) @ directions
    assert (np.abs(off.mean(0)) <= 4.5 * off.std(0) / math.sqrt(draws)).all()


def test_draws_follow_from_the_seed_and_the_update():
    pair = pair_of(share=0.35)
    episodes = pair.runner.sample()
    rows = sum(len(own) for one in episodes for own in one.agent_episodes.values())
    (first, _), (again, _) = pair.batch(episodes), pair.batch(episodes)
    assert bool(first["loss_mask"].all())
    assert torch.equal(first["obs"]["own"], again["obs"]["own"])
    pair.learner._weights_seq_no += 1
    other, _ = pair.batch(episodes)
    assert len(other[ROW_WEIGHTS]) == len(first[ROW_WEIGHTS]) == round(0.35 * rows)
    assert not torch.equal(first["obs"]["own"], other["obs"]["own"])


@pytest.mark.parametrize("kind", ["pairs", "features", "boards"])
def test_a_learner_learns_from_that_part_of_the_rows(kind):
    trained = []
    for share in (1.0, 0.35):
        pair = pair_of(share, kind)
        assert any(isinstance(one, DrawnRows) for one in pair.learner._learner_connector) == (share < 1)
        pair.learner._weights_seq_no = 0
        episodes = pair.runner.sample()
        rows = sum(len(own) for one in episodes for own in one.agent_episodes.values())
        before = [one.detach().clone() for one in pair.module.parameters()]
        result = pair.learner.update(episodes=episodes, num_epochs=1)[MAIN]
        trained.append(result["num_module_steps_trained"].peek())
        assert all(one.isfinite().all() for one in pair.module.parameters())
        assert any((one != was).any() for one, was in zip(pair.module.parameters(), before, strict=True))
    assert trained[0] >= rows
    assert trained[1] == round(0.35 * rows)
    assert isinstance(pair.module, ModuleFrames) == (kind != "pairs")


def test_several_learners_go_through_as_many_minibatches_each():
    pair = pair_of(share=0.35)
    pair.learner._weights_seq_no, made = 0, []
    update = pair.learner._update
    pair.learner._update = lambda *args, **kwargs: made.append(1) or update(*args, **kwargs)
    pair.learner.update(
        episodes=pair.runner.sample(), num_epochs=2, minibatch_size=16, num_total_minibatches=20
    )
    assert len(made) == 7  # as RLlib counts it of all rows, 20, times the share


# ---- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"share": 0}, ValueError, "share is 0; it must be a finite number from 0.001 to 1"),
        ({"share": 1.5}, ValueError, "share is 1.5"),
        ({"share": "most"}, TypeError, "share is 'most'; it must be a finite number from 0.001 to 1"),
        ({"bf16": 1}, TypeError, "bf16 is 1; it must be True or False"),
        ({"held_rows": 0}, TypeError, "held_rows is 0; it must be True or False"),
    ],
)
def test_options_that_cannot_be_are_named(options, error, message):
    with pytest.raises(error, match=message):
        small_config().learning(**options)


def test_a_minibatch_must_fit_the_share():
    config = small_config().learning(share=0.1).training(minibatch_size=20)
    with pytest.raises(ValueError, match=r"at most 19 rows .* a share of 0.1 of 48 steps of up to 4 seats"):
        config.check_batches()


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
    on_pairs = columns_of([[1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0]])
    assert could_only_hold(on_pairs).tolist() == [True, False, False]
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
    wanted = [0, 1 + 0.5 * 17, 2 + 0.5 * 30, 30, 40, 5, 60, 7 + 0.5 * 80, 80, 90]
    for marked in (ends, np.roll(ends, 1)):  # as older releases of Ray mark ends
        columns = {"rewards": rewards, "terminateds": marked, "loss_mask": mask}
        assert look_through(values, columns, held, 0.5).tolist() == wanted


def team_pair(kind, **learning):
    return Pair(small_config(kind, game=TEAMS, max_cycles=None).learning(**learning))


@pytest.mark.parametrize("kind", ["boards", "pairs"])
def test_a_batch_has_the_other_rows_alone(kind):
    pair, all_rows = team_pair(kind, held_rows=False), team_pair(kind)
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
    assert pair.learner.update(episodes=episodes, minibatch_size=16, num_epochs=1)


def test_a_batch_of_nothing_else_stays_as_it_is():
    columns = columns_of(
        [[1, 0, 0], [1, 0, 0]], advantages=torch.zeros(2), loss_mask=torch.tensor([True, False])
    )
    assert WithoutHeldRows()(batch={"main": columns})["main"] is columns


class Recurrent(PairModule):
    """A module that says that it needs rows in a sequence."""

    def is_stateful(self):
        return True


@pytest.mark.parametrize(
    ("learning", "message"),
    [
        ({"share": 0.5}, "share is 0.5; it must be 1"),
        ({"held_rows": False}, "held_rows is False; it must be True"),
    ],
)
def test_what_learns_from_sequences_is_refused(learning, message):
    config = configure(IMPALAConfig(), {"config": CONFIG, "seats": SEATS}).learning(**learning)
    with pytest.raises(ValueError, match=f"{message}, as IMPALA learns from rows"):
        config.check_batches()
    recurrent = small_config("pairs", "stock", module=Recurrent).learning(**learning)
    refused = message.partition(";")[0]
    with pytest.raises(ValueError, match=f"{refused}, but the module 'main' is recurrent: it learns from"):
        recurrent.build_learner(env=TerritorialMultiAgentEnv(recurrent.env_config))
