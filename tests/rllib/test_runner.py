"""The batched runner against RLlib's own: the same episodes, advantages and losses, step by step."""

import copy
import gc
from itertools import product
from unittest.mock import Mock, patch

import numpy as np
import pytest
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.minibatch_utils import ShardEpisodesIterator

from rllib_adapters.envs.agent_interface import AgentInterface
from rllib_adapters.envs.batch import GameView, TerritorialBatchEnv
from rllib_adapters.envs.env_config import MAIN, POOL
from rllib_adapters.learning.rows import EpisodeEnds
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.observations.connector import FRAME, SharedFrames
from rllib_adapters.sampling import runner as sampling
from rllib_adapters.sampling.rollout import Rollout
from territorial.nets.frozen_seats import FrozenSeats
from tests.rllib.compared import agents_of, assert_same_episodes, finish_off, happened, learned, play_the_same
from tests.rllib.leagues import FORMS, LEAGUES, LEARNERS, SNAPSHOTS, runner_of, runners_of
from tests.rllib.support import fill, small_config, trained

pytestmark = pytest.mark.usefixtures("choices_without_chance")


@pytest.mark.parametrize(
    ("name", "changes", "in_pool"),
    [
        ("boards", {"max_cycles": 31, "end_when": "no_agents"}, ["first", "second"]),
        ("boards", {"max_cycles": 31, "end_when": "game"}, ["first", "second"]),
        ("several learn", {"max_cycles": 17}, ["first", "second"]),
        ("pairs", {"max_cycles": 62}, None),
        ("pool", {"max_cycles": 62}, ["strong", "weak"]),
        ("engine", {"max_cycles": 40}, []),
        ("all forms", {"max_cycles": 31}, sorted(SNAPSHOTS)),
        ("own games", {"max_cycles": 31, "end_when": "game"}, sorted(SNAPSHOTS)),
    ],
)
def test_both_runners_play_the_same_episodes(tmp_path, name, changes, in_pool):
    """One frame: those before a position that was set are not those of RLlib's runner."""
    stock, batched = runners_of(name, tmp_path, **changes)
    rounds = ([], [1], [1, 2], [], [2], [1, 2, 3, 4, 5], [])
    launched = play_the_same(stock, batched, rounds, explore=False)
    assert launched == LEAGUES[name].modules.keys()
    for runner in (stock, batched) if in_pool is not None else ():
        assert sorted(runner.module[POOL].opponents.names) == in_pool


def test_both_runners_are_asked_for_samples_in_the_same_ways(tmp_path):
    stock, batched = runners_of("boards", tmp_path, max_cycles=31)
    stock._metrics_num_env_steps_sampled, batched._metrics_num_env_steps_sampled = Mock(), Mock()
    for asked in (
        {"explore": True},
        {"num_episodes": 4},
        {"num_timesteps": 40},
        {"num_timesteps": 10, "force_reset": True},
        {"num_episodes": 2, "explore": False},
        {"num_episodes": 3},
    ):
        assert_same_episodes(stock.sample(**asked), batched.sample(**asked))
    counters = [runner._metrics_num_env_steps_sampled.inc for runner in (stock, batched)]
    stocks, own = (sum(call.kwargs["value"] for call in counter.call_args_list) for counter in counters)
    assert own == stocks > 0
    # Garbage is collected again, and dropout would not play.
    assert (gc.isenabled(), batched.module[MAIN].training) == (True, False)


def test_a_sample_may_be_asked_for_by_steps_of_agents(tmp_path):
    runners = runners_of("several learn", tmp_path, max_cycles=17)
    for runner in runners:
        runner.config = runner.config.copy(copy_frozen=False).multi_agent(count_steps_by="agent_steps")
    for asked in (1, 100, 37):
        assert_same_episodes(*(runner.sample(num_timesteps=asked) for runner in runners))


def test_stacks_of_frames_are_the_same_over_samples_and_games(tmp_path):
    stock, batched = runners_of("boards", tmp_path, max_cycles=14, frames=4)
    for kwargs in ({}, {}, {"num_timesteps": 3}, {}, {"num_episodes": 3}, {}):
        assert_same_episodes(stock.sample(**kwargs), batched.sample(**kwargs))


def own_learner(runner):
    return runner.config.build_learner(env=runner.env)


def rllibs_learner(runner):
    """RLlib's own learner of PPO for the modules of a runner, with value targets as later releases have."""
    config = runner.config.copy(copy_frozen=False).learners(learner_class=PPOTorchLearner)
    learner = PPOTorchLearner(config=config, module_spec=config.get_multi_rl_module_spec(env=runner.env))
    learner.build()
    learner._learner_connector.insert_before(GeneralAdvantageEstimation, EpisodeEnds())
    return learner


@pytest.mark.parametrize(
    ("name", "learners", "of_stock"),
    [("several learn", LEARNERS, own_learner), ("pool", (MAIN,), rllibs_learner)],
)
def test_advantages_and_losses_are_those_of_the_stock_runner(tmp_path, name, learners, of_stock):
    """On pairs, whose observations are whole, they are those of RLlib's learner, too."""
    stock, batched = runners_of(name, tmp_path, max_cycles=17)
    weights = {learner: copy.deepcopy(stock.module[learner].get_state()) for learner in learners}
    theirs, mine = of_stock(stock), own_learner(batched)
    mine._weights_seq_no = 1  # the runner has the learner's weights: the values that it sends are taken
    counts, played, explore = np.zeros(3, int), set(), name == "several learn"
    for seats in ([], [1], [2, 3], [1, 2, 3, 4]):
        results = []
        for runner, learner in ((stock, theirs), (batched, mine)):
            if seats:
                finish_off(runner, 1, seats)
            episodes = runner.sample(explore=explore)
            results.append(learned(learner, episodes, weights))
        counts += happened(episodes)
        (rows, losses), (own_rows, own_losses) = results
        assert own_rows.keys() == rows.keys()
        played |= rows.keys()
        for learner, own in own_rows.items():
            np.testing.assert_allclose(own, rows[learner], rtol=1e-3, atol=1e-3)
            assert own_losses[learner] == pytest.approx(losses[learner], rel=1e-3, abs=1e-4)
            assert own_losses[learner]["vf_loss"] > 0
    assert (counts > 0).all(), counts
    assert played == set(learners)


def test_episodes_that_several_learners_share_make_whole_batches(tmp_path):
    runner = runner_of("all forms", tmp_path, "batched", max_cycles=9)
    episodes = runner.sample() + runner.sample()
    rows = dict.fromkeys(FORMS, 0)
    for own in agents_of(episodes):
        rows[own.module_id] += len(own)
    on_pairs = {"own", "pairs", "targets", "action_mask"}
    for part in ShardEpisodesIterator(episodes, num_shards=2):
        batch = SharedFrames(as_learner_connector=True)(
            rl_module=runner.module, batch={}, episodes=part, explore=False, shared_data={}
        )
        for (_, _, name), own in batch[Columns.OBS].items():
            keys = on_pairs if name == "main" else {"seat", "action_mask", FRAME}
            assert all(columns.keys() == keys for columns in own)
            rows[name] -= sum(len(columns["action_mask"]) for columns in own)
    assert rows == dict.fromkeys(FORMS, 0)


def test_an_algorithm_learns_from_it_and_hears_of_the_games(ends, tmp_path, running_ray):
    config = small_config(fill(tmp_path), env={"max_cycles": 9}, runner="batched")
    config.env_runners(num_env_runners=1)
    config.evaluation(evaluation_interval=1, evaluation_duration=2, evaluation_config={"explore": False})
    algorithm = ends(config.build_algo())
    for _ in range(2):
        result, learned_now = trained(algorithm)
        assert learned_now == {MAIN}
    sampled, evaluated = result["env_runners"], result["evaluation"]["env_runners"]
    steps = sampled["num_module_steps_sampled"]
    assert (sampled["num_env_steps_sampled_lifetime"], steps[MAIN]) == (48, 48)
    assert steps[POOL] > 0
    assert min(sampled["num_episodes_lifetime"], evaluated["num_episodes"]) >= 2
    for one in (sampled, evaluated):
        assert 1 <= one["episode_len_mean"] <= 9
    assert np.isfinite([sampled["episode_return_mean"], sampled["module_episode_returns_mean"][MAIN]]).all()
    assert {"win_rate", "land", "illegal_launches", "raised_launches", "bounced_launches"} <= sampled.keys()


def test_frames_of_a_step_are_shared_by_all_who_see_it_and_actions_can_be_drawn_at_random(tmp_path):
    batched = runner_of("boards", tmp_path, "batched")
    seen = [seen for own in agents_of(batched.sample()) for seen in own.get_observations()]
    assert len(seen) == 2 * len({id(one["observations"]) for one in seen})
    actions = np.concatenate([own.actions.data for own in agents_of(batched.sample(random_actions=True))])
    assert [len(set(part)) for part in actions.T.tolist()] == [8, 10]
    batched.sample()  # and what is remembered of them does not get in the way


PLACES = [
    (TerritorialBatchEnv, "step"),
    (GameView, "begin"),
    (AgentInterface, "own"),
    (BoardModule, "read"),
    (FrozenSeats, "act"),
    (sampling, "drop_untrained"),
]
OWN_PLACES = {
    "batched": [(Rollout, name) for name in ("begin", "add", "episodes", "cut")],
    "stock": [(MultiAgentEpisode, "add_env_step"), (MultiAgentEpisode, "cut"), (SharedFrames, "__call__")],
}


def stopping(where, name, error, *, is_done):
    """What raises an error instead of a part of a sample, or once it is done."""
    called = getattr(where, name)

    def stop(*args, **kwargs):
        raise (called(*args, **kwargs), error)[1] if is_done else error

    return patch.object(where, name, stop)


@pytest.mark.parametrize("kind", OWN_PLACES)
def test_a_sample_that_is_stopped_anywhere_is_dropped_and_the_next_one_is_whole(tmp_path, kind):
    runner = runner_of("boards", tmp_path, kind, games=2, fragment=4, max_cycles=3)
    places = [*PLACES, *OWN_PLACES[kind], (type(runner), "make_env")]  # the last while games are replaced
    for place, error, is_done in product(places, (KeyboardInterrupt, ValueError), (False, True)):
        runner._is_half |= place[1] == "make_env"
        with stopping(*place, error, is_done=is_done), pytest.raises((error, RuntimeError)):
            runner.sample()
        for goes_on in (False, True):
            episodes = [episode.validate() or episode for episode in runner.sample()]
            assert sum(episode.env_steps() for episode in episodes) == 8
            assert any(episode.env_t_started for episode in episodes) == goes_on
    assert runner.get_metrics()


def test_what_it_does_not_do_is_refused_by_name(tmp_path):
    store = fill(tmp_path)
    for change, message in (
        (lambda config: config.callbacks(on_episode_step=print), "has a callback on_episode_step, but the"),
        (lambda config: config.env_runners(module_to_env_connector=print), "has a module_to_env_connector"),
        (
            lambda config: config.multi_agent(policy_mapping_fn=lambda *_: MAIN),
            "has another policy_mapping_fn",
        ),
    ):
        config = change(small_config(store, runner="batched"))
        with pytest.raises(ValueError, match=message):
            config.env_runner_cls(config=config, worker_index=0, num_workers=0)
