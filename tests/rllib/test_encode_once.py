"""The encode-once network in RLlib: frames through the trunk once, in runners and in learners."""

from unittest import mock

import pytest
import torch
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.core.columns import Columns

from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.encode_once import (
    EncodeOnceModule,
    RowsByFrame,
    rows_by_frame,
)
from territorial.league import SnapshotStore
from territorial.nets.encode_once import EncodeOncePolicy
from territorial.nets.frozen import FrozenPolicies
from tests.rllib.support import CONFIG, league, ppo, runner_of

pytestmark = pytest.mark.usefixtures("running_ray")

SEATS = ["agent"] * 4 + ["metronome"] * 2
GAMES = 3
SNAPSHOTS = league("snapshot:first", "snapshot:second")


def small_ppo(env=None, **settings):
    """PPO over three games in this process, with four learning seats each."""
    env = {"config": CONFIG, "seats": SEATS, "frames": 2} if env is None else env
    settings |= {"module": EncodeOnceModule, "runner": "batched"}
    return ppo(env, steps=8, games=GAMES, minibatch=24, **settings).debugging(seed=2)


def count_frames(module):
    """The numbers of games that the trunk of ``module`` is given, call by call."""
    calls = []
    module.policy.trunk.register_forward_hook(lambda _, inputs, __: calls.append(len(inputs[0])))
    return calls


def test_a_runner_encodes_every_game_once_a_step_for_all_seats():
    runner = runner_of(small_ppo())
    calls = count_frames(runner.module[MAIN])
    episodes = runner.sample()
    steps = sum(len(own) for episode in episodes for own in episode.agent_episodes.values())
    assert calls == [GAMES] * 8
    assert steps > 3 * sum(calls)  # of the living seats, nearly four a game


def test_boards_are_listed_once_a_step_for_learning_and_frozen_seats(tmp_path, monkeypatch):
    listed, acted = [], []
    for policy, name, calls in (
        (EncodeOncePolicy, "_listed_shares", listed),
        (FrozenPolicies, "act", acted),
    ):
        done = getattr(policy, name)
        monkeypatch.setattr(policy, name, lambda *given, d=done, c=calls: c.append(1) or d(*given))
    store, env = SnapshotStore(tmp_path), {"config": CONFIG, "league": SNAPSHOTS, "frames": 2}
    settings = settings_of(env)
    for name in ("first", "second"):
        network = EncodeOnceModule.make_policy(settings).state_dict()
        weights = {key: part.detach().numpy() for key, part in network.items()}
        store.add(name, weights, EncodeOnceModule.manifest(settings))
    runner_of(small_ppo(env, store=store)).sample()
    assert len(acted) == len(listed) == 8


@pytest.mark.parametrize("together", [True, False])
def test_a_learner_encodes_each_distinct_frame_of_a_minibatch_once(ends, together):
    config = small_ppo(value_chunk=5).learning(sampled_values=False)
    config = rows_by_frame(config) if together else config
    algorithm = ends(config.build_algo())
    module = algorithm.learner_group._learner.module[MAIN].unwrapped()
    calls, compute = count_frames(module), module.compute_values
    before = {name: part.clone() for name, part in module.state_dict().items()}
    with mock.patch.object(module, "compute_values", side_effect=compute) as valued:
        algorithm.train()
    assert any((part != before[name]).any() for name, part in module.state_dict().items())
    (batch,) = (call.args[0] for call in valued.mock_calls if call.kwargs.get("embeddings") is None)
    frames = len(torch.unique(batch[Columns.OBS]["frame"]))
    values, minibatches = calls[: -(-frames // 5)], calls[-(-frames // 5) :]
    assert (sum(values), max(values)) == (frames, 5)  # advantages: each frame once, five at a time
    assert len(minibatches) >= 3
    # Each frame once, but for those that a minibatch ends within, and those that fill the last one.
    assert (sum(minibatches) <= frames + 2 * len(minibatches) + 6) == together


def test_values_frame_by_frame_are_those_row_by_row():
    runner = runner_of(small_ppo(value_chunk=2))
    runner.sample()
    module = runner.module[MAIN]
    rows = runner._source.rows("packed", runner.env.learners, "cpu")
    module.frames = runner._source.frames("cpu")
    mixed = {name: part.flip(0) for name, part in rows.items()}
    values = module.compute_values({Columns.OBS: mixed})
    with torch.no_grad():
        policy = module.policy
        alone = [
            policy.values(policy.embed(module.with_frames({k: part[i : i + 1] for k, part in mixed.items()})))
            for i in range(len(values))
        ]
    torch.testing.assert_close(values, torch.cat(alone), rtol=1e-4, atol=1e-4)
    assert len(values) > 2 * GAMES


def test_rows_by_frame_moves_whole_rows_and_keeps_frames_together():
    torch.manual_seed(0)
    frame = torch.arange(12)[:, None] % 5
    seen = {"frame": frame, "seat": torch.arange(12)[:, None]}
    batch = {"main": {Columns.OBS: seen, Columns.REWARDS: torch.arange(12.0)}, "other": {"x": torch.ones(3)}}
    orders = set()
    for _ in range(5):
        columns = RowsByFrame()(batch={name: dict(part) for name, part in batch.items()})
        main = columns["main"]
        assert torch.equal(main[Columns.OBS]["seat"].flatten().float(), main[Columns.REWARDS])
        assert sorted(main[Columns.REWARDS].tolist()) == list(range(12))
        after = main[Columns.OBS]["frame"].flatten()
        assert (after[1:] != after[:-1]).sum() == 4  # five frames, each in one piece
        orders.add(tuple(after.tolist()))
        assert torch.equal(columns["other"]["x"], torch.ones(3))
    assert len(orders) > 1


def test_rows_by_frame_is_for_ppo():
    with pytest.raises(ValueError, match="rows_by_frame works with PPO only"):
        rows_by_frame(APPOConfig())
