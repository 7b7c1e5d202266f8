"""DQN on pairs: its buffer, values of actions, leagues in both runners, and what it cannot be given."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from rllib_adapters import configure, configure_league
from rllib_adapters.curriculum import set_env
from rllib_adapters.learning.replay import ReplayBuffer
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.pairs import PairModule, QPairModule
from territorial import GameConfig, match
from territorial.bots import Network
from territorial.memory.predict import predict
from territorial.memory.setup import Setup
from territorial.nets import PairPolicy, SnapshotPolicy
from territorial.nets.pair_policy import PairRows, epsilon_greedy
from territorial.nets.policy import MASKED
from tests.bots.networks import random_rows
from tests.rllib.support import CONFIG, runner_of, trained
from tests.rllib.test_league import small_league
from tests.torch.test_pair_policy import inputs
from tests.torch.test_pair_policy import policy_of as network_of

# ---- the buffer ------------------------------------------------------------------------------------


def piece(agent, first, count, *, ends=False, cut=False):
    """The steps ``first``, ... of an agent, which see and do their number, and are rewarded with it."""
    numbers = np.arange(first, first + count + 1)
    return SingleAgentEpisode(
        id_=agent,
        observations=[{"x": np.array([number])} for number in numbers],
        actions=list(numbers[:-1]),
        rewards=list(numbers[:-1].astype(float)),
        terminated=ends,
        truncated=cut,
        t_started=first,
        len_lookback_buffer=0,
    ).to_numpy()


def drawn_from(buffer, n_step=1, gamma=0.5):
    """What a buffer draws, by the observation that a step begins with: all that it has, most likely."""
    rows = buffer.sample(2000, n_step, gamma, 0.4)
    flat = zip(
        rows[Columns.OBS]["x"][:, 0].tolist(),
        rows[Columns.ACTIONS].tolist(),
        rows[Columns.REWARDS].tolist(),
        rows[Columns.NEXT_OBS]["x"][:, 0].tolist(),
        rows["n_step"].tolist(),
        rows[Columns.TERMINATEDS].tolist(),
        strict=True,
    )
    return {row[0]: row[1:] for row in flat}


def test_steps_of_pieces_are_joined_and_each_observation_is_stored_once():
    buffer = ReplayBuffer(12, 0.6, 0)
    buffer.add(piece("a", 0, 2))
    assert (len(buffer), buffer._count) == (2, 3)
    buffer.add(piece("b", 100, 2, cut=True))
    buffer.add(piece("a", 2, 2, ends=True))
    assert (len(buffer), buffer._count) == (6, 8)
    assert drawn_from(buffer) == {
        **{number: (number, number, number + 1, 1, number == 3) for number in range(4)},
        **{number: (number, number, number + 1, 1, False) for number in (100, 101)},
    }
    three = drawn_from(buffer, n_step=3)
    assert three[0] == (0, 0 + 0.5 * 1 + 0.25 * 2, 3, 3, False)
    assert three[2] == (2, 2 + 0.5 * 3, 4, 2, True)
    assert three[101] == (101, 101, 102, 1, False)
    assert buffer._open == {}


def test_pieces_are_joined_only_where_no_sample_between_them_is_lost():
    buffer = ReplayBuffer(20, 0.6, 0)
    for first in (0, 2, 50):
        buffer.add(piece("a", first, 2))
    assert drawn_from(buffer, n_step=3) == {
        0: (0, 0 + 0.5 * 1 + 0.25 * 2, 3, 3, False),
        1: (1, 1 + 0.5 * 2 + 0.25 * 3, 4, 3, False),
        2: (2, 2 + 0.5 * 3, 4, 2, False),
        3: (3, 3, 4, 1, False),
        50: (50, 50 + 0.5 * 51, 52, 2, False),
        51: (51, 51, 52, 1, False),
    }


def test_errors_that_are_not_finite_say_so():
    buffer = ReplayBuffer(8, 0.6, 0)
    buffer.add(piece("a", 0, 4))
    buffer.sample(3, 1, 1.0, 0.4)
    with pytest.raises(ValueError, match="errors of values are not finite"):
        buffer.update_priorities(np.array([1.0, np.nan, 0.5]))


def test_a_buffer_that_is_full_replaces_the_oldest_steps_and_draws_no_others():
    buffer = ReplayBuffer(10, 0.6, 0)
    for first in (1000 * agent + begin for agent in range(40) for begin in (0, 3)):
        buffer.add(piece(str(first // 1000), first, 3, ends=first % 1000 == 3))
        found = drawn_from(buffer)
        assert max(found) == first + 2
        assert 3 <= len(found) == len(buffer) <= 9
        assert found == {one: (one, one, one + 1, 1, one % 1000 == 5) for one in found}
    assert len(buffer) >= 7
    buffer.add(piece("none", 40_000, 0))
    buffer.add(piece("long", 50_000, 30))  # of what has no room, the end is kept
    assert sorted(drawn_from(buffer)) == list(range(50_021, 50_030))


def test_steps_with_large_errors_are_drawn_more_often_and_weigh_less():
    buffer = ReplayBuffer(8, 1.0, 0)
    buffer.add(piece("a", 0, 4, ends=True))
    for _ in range(2):
        rows = buffer.sample(6000, 1, 1.0, 1.0)
        is_wrong = rows[Columns.ACTIONS] == 2
        buffer.update_priorities(np.where(is_wrong, 3.0, 1.0))
    np.testing.assert_allclose(is_wrong.mean(), 3 / 6, atol=0.03)
    np.testing.assert_allclose(rows["weights"], np.where(is_wrong, 1 / 3, 1), rtol=1e-4)


# ---- values of actions -----------------------------------------------------------------------------


def test_the_best_action_is_that_of_the_policy_and_no_other_is_legal():
    policy, (own, pairs, mask) = network_of(), inputs(40)
    mask[:, 1:11] = 0
    with torch.no_grad():
        values, (logits, worth) = policy.action_values(own, pairs, mask), policy(own, pairs, mask)
    assert ((values == MASKED) == (mask == 0)).all()
    assert (values.argmax(1) == PairPolicy.greedy(logits)).all()
    found = policy.choices(own, pairs)
    torch.testing.assert_close(values[:, 0], worth + found.hold)
    launch = worth + found.targets[:, 4] + found.fractions[:, 4, 7] - found.fractions[:, 4].amax(1)
    torch.testing.assert_close(values[:, 1 + 40 + 7], torch.where(mask[:, 48] > 0, launch, MASKED))
    parts, of_any = epsilon_greedy(logits, 0.3), 0.3 / (mask > 0).sum(1, keepdim=True)
    best = torch.nn.functional.one_hot(values.argmax(1), 81)
    torch.testing.assert_close(parts, 0.7 * best + of_any * (mask > 0))
    assert (PairRows("small", epsilon=0.0).draw(logits) == values.argmax(1)).all()


def test_the_engine_plays_the_best_action_of_a_snapshot(tmp_path):
    env = {"config": CONFIG, "obs": "pairs"}
    weights = {name: part.numpy() for name, part in network_of().state_dict().items()}
    network = QPairModule.engine_network({**settings_of(env), "size": "small"}, weights, env)
    path = tmp_path / "network.safetensors"
    path.write_bytes(b"".join(network))
    assert Network(path).temperature == 0


def config_of(runner="batched", **env):
    """DQN that learns soon, from few games."""
    env = {"config": CONFIG, "obs": "pairs", "max_cycles": 12, **env}
    return tuned(configure(DQNConfig(), env, runner=runner, size="small"))


def tuned(config, capacity=300):
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=6)
    config.training(
        train_batch_size_per_learner=16,
        num_steps_sampled_before_learning_starts=60,
        replay_buffer_config={"capacity": capacity},
        epsilon=0.5,
        target_network_update_freq=20,
        lr=1e-2,
    )
    return config.reporting(min_sample_timesteps_per_iteration=60)


@pytest.mark.usefixtures("running_ray")
def test_the_loss_is_that_of_targets_computed_by_hand(ends):
    algorithm = ends(config_of().build_algo())
    module, (own, pairs, mask) = algorithm.learner_group._learner.module["main"], inputs(3)
    for layer in (module.target_policy.hold, module.target_policy.score):
        torch.nn.init.normal_(layer.weight)
    later = mask.clone()
    later[0, 1:] = 0  # only holding is legal in what comes next
    with torch.no_grad():
        values = module.policy.action_values(own, pairs, mask).numpy()
        best = module.policy.action_values(own, pairs, later).argmax(1)
        after = module.target_policy.action_values(own, pairs, later)[range(3), best].numpy()
    assert best[0] == 0
    actions = mask.multinomial(1)[:, 0].numpy()
    errors = values[range(3), actions] - (np.array([1, 2, 3]) + np.array([0.99, 0, 0.99**2]) * after)
    seen = {"own": own.numpy(), "pairs": pairs.numpy(), "action_mask": mask.numpy()}
    rows = {
        Columns.OBS: seen,
        Columns.NEXT_OBS: {**seen, "action_mask": later.numpy()},
        Columns.ACTIONS: actions,
        Columns.REWARDS: np.float32([1, 2, 3]),
        Columns.TERMINATEDS: np.array([False, True, False]),
        "n_step": np.array([1, 1, 2]),
        "weights": np.ones(3, np.float32),
    }
    batch = MultiAgentBatch({"main": SampleBatch(rows)}, env_steps=3)
    (found,) = algorithm.learner_group.update(batch=batch, timesteps={})
    (found_errors,) = found["main"]["td_error"].peek()
    np.testing.assert_allclose(found_errors, np.abs(errors), rtol=1e-4)


# ---- leagues ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize("runner", ["batched", "stock"])
def test_a_league_learns_freezes_and_resumes(ends, tmp_path, runner):
    env = {"config": CONFIG, "obs": "pairs", "max_cycles": 12}
    config = configure_league(
        DQNConfig(), env, small_league(), str(tmp_path / "store"), runner=runner, size="small"
    )
    algorithm = ends(tuned(config).build_algo())
    before = algorithm.learner_group.get_weights()["main"]
    for _ in range(3):
        result = algorithm.train()
    (buffer,) = algorithm.local_replay_buffer.values()
    legal = buffer._seen["action_mask"][np.arange(300), buffer._actions]
    assert legal[buffer._priorities > 0].all()
    assert 150 <= len(buffer) < 300 < buffer._count
    assert result["learners"]["main"]["num_target_updates"] > 0
    after = algorithm.learner_group.get_weights()["main"]
    assert any((before[name] != after[name]).any() for name in before)
    acting = algorithm.env_runner.module["main"].get_state()
    np.testing.assert_equal(acting, {name: after[name] for name in acting})
    store = algorithm.league_callback.store
    assert store.names() == [f"main-{i}" for i in range(4)]
    assert store.load("main-3").manifest.settings == {"size": "small", "epsilon": 0.0}
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    kept = algorithm.learner_group.get_state()["learner"]["rl_module"]["main"]
    algorithm.stop()
    restored = ends(Algorithm.from_checkpoint(path))
    np.testing.assert_equal(restored.learner_group.get_state()["learner"]["rl_module"]["main"], kept)
    restored.training_step()  # fills the buffer again before it learns
    assert 0 < sum(map(len, restored.local_replay_buffer.values())) < 60
    np.testing.assert_equal(restored.learner_group.get_weights()["main"], after)
    restored.train()
    learned = restored.learner_group.get_weights()["main"]
    assert any((after[name] != learned[name]).any() for name in after)
    players = {"frozen": SnapshotPolicy(store, "main-3")}
    ranking = match(["frozen", "novice"], CONFIG, 2, policies=players, processes=1, progress=False)
    assert sorted(line.seats for line in ranking.standings) == [6, 6]


@pytest.mark.verify
@pytest.mark.usefixtures("running_ray")
def test_it_learns_in_a_process_of_its_own(ends):
    _, learned = trained(ends(config_of().learners(num_learners=1).build_algo()))
    assert learned == {"main"}


def test_it_explores_among_legal_actions_and_plays_the_best_one_else():
    runner = runner_of(config_of())
    rows = runner._source.rows if runner.sample(num_timesteps=4) else None
    seen = rows("pairs", runner.env.learners, "cpu")
    module, mask = runner.module["main"], seen["action_mask"]
    many = {name: part.repeat(50, *[1] * (part.ndim - 1)) for name, part in seen.items()}
    drawn = module.forward_exploration({Columns.OBS: many}, t=5)[Columns.ACTIONS].view(50, -1)
    best = module.forward_inference({Columns.OBS: seen})[Columns.ACTIONS]
    assert mask.gather(1, drawn.T).all()
    assert 0.5 <= (drawn == best).float().mean() < 0.95
    assert (best == module.policy.action_values(seen["own"], seen["pairs"], mask).argmax(1)).all()


def test_a_buffer_takes_what_was_predicted():
    setup = Setup(replay=5000, agent_seats=2, num_players=6)
    (item,) = (one for one in predict(setup, "pairs").items if one.name == "replay buffer")
    runner = runner_of(config_of())
    buffer = ReplayBuffer(5000, 0.6, 0)
    for episode in runner.sample(num_timesteps=4):
        for own in episode.agent_episodes.values():
            buffer.add(own)
    arrays = [
        *buffer._seen.values(),
        *(part for part in vars(buffer).values() if isinstance(part, np.ndarray)),
    ]
    taken = sum(part.nbytes for part in arrays if len(part) == 5000)
    assert taken < item.nbytes < 1.02 * taken
    assert not any(one.name == "replay buffer" for one in predict(Setup(), "pairs").items)


@pytest.mark.parametrize(
    ("env", "settings", "message"),
    [
        (
            {"obs": "packed"},
            {},
            "obs of 'main' is 'packed'; with DQN it must be 'pairs', as the replay buffer",
        ),
        (
            {"action_format": "pairs_multi_discrete"},
            {},
            "action_format of 'main' is 'pairs_multi_discrete'; with DQN it must be 'pairs', whose act",
        ),
        ({"module": PairModule}, {}, "the module of 'main' is a PairModule; with DQN it must be a QNetAPI"),
        ({}, {"num_learners": 2}, "num_learners is 2; with DQN it must be 1"),
        ({}, {"num_atoms": 51}, "num_atoms is 51; with DQN it must be 1"),
        ({}, {"store_buffer_in_checkpoints": True}, "store_buffer_in_checkpoints is True; .* filled again"),
        ({}, {"n_step": 0}, "n_step is 0; it must be a whole number of at least 1"),
        ({}, {"n_step": (1, 3)}, r"n_step is \(1, 3\); it must be a whole number"),
        ({}, {"num_steps_sampled_before_learning_starts": None}, "learning_starts is None; it must be"),
        ({}, {"gamma": 1.5}, "gamma is 1.5; it must be a finite number from 0 to 1"),
        ({}, {"alpha": -1}, "alpha of replay_buffer_config is -1; it must be a finite number from 0 to 1"),
        ({}, {"beta": "x"}, "beta of replay_buffer_config is 'x'; it must be a finite number"),
        ({}, {"epsilon": 5}, "epsilon is 5; it must be a finite number from 0 to 1"),
        ({}, {"epsilon": [(10, 1.0), (20, 0.0)]}, "epsilon"),
        ({}, {"noisy": True}, "noisy is True; with DQN it must be False"),
        ({}, {"num_epochs": 2}, "num_epochs is 2; with DQN it must be 1"),
        ({}, {"capacity": 119}, "capacity of replay_buffer_config is 119; it must be .* at least 120"),
        ({}, {"capacity": 10**12}, "the steps in the replay buffer take .* MB of memory, and"),
        ({}, {"type": "EpisodeReplayBuffer"}, "the type of replay_buffer_config"),
    ],
)
def test_what_it_cannot_be_given_is_an_error_when_it_is_built(env, settings, message):
    env = {"config": GameConfig(height=24, width=24, num_players=4), "obs": "pairs", **env}
    config = tuned(configure(DQNConfig(), env, module=env.pop("module", None)))
    for name, value in settings.items():
        if name in config.replay_buffer_config:
            config.replay_buffer_config[name] = value
        else:
            setattr(config, name, value)
    with pytest.raises((TypeError, ValueError, MemoryError), match=message):
        config.validate()


def test_values_of_actions_are_for_dqn_alone():
    with pytest.raises(TypeError, match=r"'main' is .*QPairModule.*values of actions, which only DQN learns"):
        configure(PPOConfig(), {"config": CONFIG, "obs": "pairs"}, module=QPairModule)


@pytest.mark.usefixtures("running_ray")
def test_steps_of_other_games_are_not_learned_from(ends):
    algorithm = ends(config_of().build_algo())
    algorithm.train()
    assert algorithm.local_replay_buffer
    set_env(algorithm, config=CONFIG.replace(rewards={"placement": -5.0}))
    assert not algorithm.local_replay_buffer


@pytest.mark.checkout
@pytest.mark.usefixtures("running_ray")
def test_the_example_compares_it_with_ppo(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import dqn_pairs

    export = partial(PairPolicy.export, rows=random_rows(200, 0))
    monkeypatch.setattr(
        PairPolicy, "export", lambda *args, **options: export(*args, **options | {"least_equal": 0})
    )
    monkeypatch.setattr(dqn_pairs, "GAMES", 8)
    found = dqn_pairs.main(["--minutes", "0.001", "--games", "2", "--folder", str(tmp_path)])
    assert found.policies == ("holding", "dqn", "ppo")
    assert [len(found.records), found.matrix("place").games.tolist()] == [6, [[2]] * 3]
