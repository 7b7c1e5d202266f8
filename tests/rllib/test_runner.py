"""The batched runner against RLlib's own: the same episodes, advantages and losses, step by step."""

import copy

import numpy as np
import pytest

from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.league.control import set_league
from territorial import GameConfig
from tests.rllib.support import fill, league, small_config

GAMES = 3
CONFIG = GameConfig(height=24, width=24, num_players=6, max_ticks=1000)
PLAYERS = {"config": CONFIG}
SEED = 11


pytestmark = [pytest.mark.release, pytest.mark.usefixtures("choices_without_chance")]


def make_runners(path, fragment=12, **changes):
    """The stock and the batched runner with the same seeds and weights; their weights have opinions."""
    frames = {name: changes[name] for name in ("frames",) if name in changes}
    store, runners = fill(path, **PLAYERS, **frames), []
    for kind in ("stock", "batched"):
        config = small_config(store, env=PLAYERS | changes, runner=kind)
        config.env_runners(num_envs_per_env_runner=GAMES, rollout_fragment_length=fragment)
        config.debugging(seed=SEED)
        runners.append(config.env_runner_cls(config=config, worker_index=0, num_workers=0))
    state = copy.deepcopy(runners[0].module[MAIN].get_state())
    state["policy.policy_head.weight"] = state["policy.policy_head.weight"] * 300
    for runner in runners:
        runner.module[MAIN].set_state(state)
    return runners


def finish_off(runner, k, seats):
    """Take all land but a cell from ``seats`` of game ``k``, so that they die in its next step."""
    is_batch = hasattr(runner.env, "game")
    game, k = (runner.env.game, k) if is_batch else (runner.env.envs[k].unwrapped.game, 0)
    owner = game.state.owner[k, 1:-1, 1:-1].copy()
    owner[np.isin(owner, seats)] = 6
    owner.flat[np.flatnonzero(owner == 0)[: len(seats)]] = seats
    game.set_position(k, owner, peak=[4000 if seat in seats else 12 for seat in range(1, 7)])


def assert_same_episodes(stock, batched):
    assert len(stock) == len(batched) > 0
    for theirs, mine in zip(stock, batched, strict=True):
        for name in ("env_t", "env_t_started", "is_terminated", "is_truncated", "is_done"):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert mine.agent_ids == theirs.agent_ids
        assert len(mine) == len(theirs)
        for agent in mine.agent_ids:
            assert_same_agent(theirs.agent_episodes[agent], mine.agent_episodes[agent])
            assert mine.agent_t_started[agent] == theirs.agent_t_started[agent]
            times, own = theirs.env_t_to_agent_t[agent], mine.env_t_to_agent_t[agent]
            # RLlib marks a step before the first one where a rollout ended with the game before.
            skipped = theirs.env_t_started == 0 and times.data[: times.lookback] == ["S"]
            assert (own.data, own.lookback + skipped) == (times.data[skipped:], times.lookback)
            assert mine.module_for(agent) == theirs.module_for(agent)
        mine.validate()


def assert_same_agent(theirs, mine):
    for name in ("t", "t_started", "is_terminated", "is_truncated", "module_id", "agent_id"):
        assert getattr(mine, name) == getattr(theirs, name), (mine.agent_id, name)
    assert mine.extra_model_outputs.keys() == theirs.extra_model_outputs.keys()
    for name in ("observations", "actions", "rewards", "infos"):
        own, other = getattr(mine, name), getattr(theirs, name)
        assert own.lookback == other.lookback, name
        assert len(own.data) == len(other.data), name
    assert mine.rewards.data == theirs.rewards.data
    assert mine.infos.data == theirs.infos.data
    np.testing.assert_array_equal(np.array(mine.actions.data), np.array(theirs.actions.data))
    for own, other in zip(mine.observations.data, theirs.observations.data, strict=True):
        assert own.keys() == other.keys()
        for key, array in other.items():
            np.testing.assert_array_equal(own[key], array)
            assert own[key].dtype == array.dtype
    for key, column in theirs.extra_model_outputs.items():
        own = mine.extra_model_outputs[key]
        assert own.lookback == column.lookback
        for here, there in zip(own.data, column.data, strict=True):
            np.testing.assert_allclose(here, there, rtol=1e-4, atol=1e-4)


def happened(episodes):
    """What the test is about: how often an agent died before its game, a game was cut, or one ended."""
    dead = sum(
        own.is_terminated and own.t < episode.env_t
        for episode in episodes
        for own in episode.agent_episodes.values()
    )
    cut = sum(episode.is_truncated for episode in episodes)
    return np.array([dead, cut, sum(episode.is_terminated for episode in episodes)])


def as_lists(episodes):
    """Let all episodes have lists, as those of boards do."""
    for own in (own for whole in episodes for own in whole.agent_episodes.values()):
        if own.observations.finalized:
            arrays, own.observations.finalized = own.observations.data, False
            count = len(own.infos.data)
            own.observations.data = [{name: part[t] for name, part in arrays.items()} for t in range(count)]
        if own.rewards.finalized:
            own.rewards.data, own.rewards.finalized = own.rewards.data.tolist(), False
    return episodes


def play_the_same(stock, batched, rounds, **how):
    """Compare samples of both runners, before each of which seats of game 1 are finished off.

    All that the comparison is about has to happen. Return the modules that launched.
    """
    counts, launched = np.zeros(3, int), {}
    for seats in rounds:
        for runner in (stock, batched) if seats else ():
            finish_off(runner, 1, seats)
        theirs, mine = (as_lists(runner.sample(**how)) for runner in (stock, batched))
        assert_same_episodes(theirs, mine)
        counts += happened(mine)
        for own in (own for whole in mine for own in whole.agent_episodes.values()):
            launched[own.module_id] = launched.get(own.module_id, 0) + np.any(own.actions.data)
    assert (counts > 0).all(), counts
    return {name for name, count in launched.items() if count}


@pytest.mark.parametrize("end_when", ["no_agents", "game"])
def test_both_runners_play_the_same_episodes(tmp_path, end_when):
    # One frame: those before a position that was set are not those of RLlib's runner.
    stock, batched = make_runners(tmp_path, max_cycles=31, end_when=end_when, frames=1)
    assert play_the_same(stock, batched, ([], [1], [1, 2], [], [2], [1, 2, 3, 4, 5], [])) == {MAIN}
    for kwargs in (
        {"explore": False},
        {"num_episodes": 4},
        {"num_timesteps": 40},
        {"num_timesteps": 10, "force_reset": True},
        {"num_episodes": 2, "explore": False},
    ):
        assert_same_episodes(stock.sample(**kwargs), batched.sample(**kwargs))


def test_stacks_of_frames_are_the_same_over_samples_and_games(tmp_path):
    stock, batched = make_runners(tmp_path, max_cycles=14, frames=4)
    for kwargs in ({}, {}, {"num_timesteps": 3}, {}, {"num_episodes": 3}, {}):
        assert_same_episodes(stock.sample(**kwargs), batched.sample(**kwargs))


def test_advantages_and_losses_are_the_same(tmp_path):
    stock, batched = make_runners(tmp_path, max_cycles=17, frames=1)
    learners = [runner.config.build_learner(env=runner.env) for runner in (stock, batched)]
    weights = stock.module[MAIN].get_state()
    for _ in range(2):
        results = []
        for runner, learner in zip((stock, batched), learners, strict=True):
            runner.sample()
            finish_off(runner, 0, [2])
            learner.module[MAIN].set_state(copy.deepcopy(weights))
            episodes = runner.sample()
            batch = learner._learner_connector(
                rl_module=learner.module,
                batch={},
                episodes=[copied(episode) for episode in episodes],
                shared_data={},
                metrics=learner.metrics,
            )[MAIN]
            columns = ("advantages", "value_targets", "rewards", "action_logp", "terminateds", "truncateds")
            rows = ordered(np.stack([np.asarray(batch[name], np.float64) for name in columns], 1), episodes)
            losses = learner.update(episodes=episodes, num_epochs=1, minibatch_size=None)[MAIN]
            found = {name: float(losses[name].peek()) for name in LOSSES}
            results.append((rows, found))
        (theirs, their_losses), (mine, my_losses) = results
        assert mine[:, 4].any()
        assert mine[:, 5].any()
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)
        assert my_losses == pytest.approx(their_losses, rel=1e-3, abs=1e-4)
        assert my_losses["vf_loss"] > 0


def copied(episode):
    """A copy that a learner may change, with the same frames."""
    return copy.deepcopy(
        episode,
        {
            id(array): array
            for own in episode.agent_episodes.values()
            for seen in own.observations.data
            for array in seen.values()
        },
    )


LOSSES = ("total_loss", "policy_loss", "vf_loss", "entropy")


def ordered(rows, episodes, module=MAIN):
    """The rows of a module's batch by episode, agent and time, in whatever order the agents came."""
    places = [
        (number, own.agent_id, t)
        for number, episode in enumerate(episodes)
        for own in episode.agent_episodes.values()
        for t in range(len(own) + 1)  # and what was seen last
        if own.module_id == module
    ]
    assert len(places) == len(rows)
    return rows[sorted(range(len(rows)), key=places.__getitem__)]


def test_an_algorithm_learns_from_it_and_hears_of_the_games(ends, tmp_path, running_ray):
    store = fill(tmp_path)
    config = small_config(store, env={"max_cycles": 9}, runner="batched")
    config.env_runners(num_env_runners=1)
    config.evaluation(evaluation_interval=1, evaluation_duration=2, evaluation_config={"explore": False})
    algorithm = ends(config.build_algo())
    before = algorithm.learner_group.get_weights([MAIN])[MAIN]
    before = {name: array.copy() for name, array in before.items()}
    for _ in range(2):
        result = algorithm.train()
    after = algorithm.learner_group.get_weights([MAIN])[MAIN]
    assert any((before[name] != after[name]).any() for name in before)
    sampled = result["env_runners"]
    assert sampled["num_env_steps_sampled_lifetime"] == 48
    assert sampled["num_episodes_lifetime"] >= 2
    assert sampled["num_module_steps_sampled"][MAIN] == 48
    assert sampled["num_module_steps_sampled"][POOL] > 0
    assert 1 <= sampled["episode_len_mean"] <= 9
    assert np.isfinite(sampled["episode_return_mean"])
    assert np.isfinite(sampled["module_episode_returns_mean"][MAIN])
    assert {
        "win_rate",
        "land",
        "illegal_launches",
        "raised_launches",
        "bounced_launches",
    } <= sampled.keys()
    evaluated = result["evaluation"]["env_runners"]
    assert evaluated["num_episodes"] >= 2
    assert 1 <= evaluated["episode_len_mean"] <= 9
    set_league(algorithm, league("bot:novice"))
    for drawn in algorithm.env_runner_group.foreach_env_runner(drawn_anew, local_env_runner=False):
        assert drawn == {frozenset()}
    algorithm.train()


def drawn_anew(runner):
    runner.sample(force_reset=True, num_timesteps=1)
    return {view.snapshots for view in runner.env.envs}


def test_frames_of_a_step_are_shared_by_all_who_see_it(tmp_path):
    _, batched = make_runners(tmp_path)
    seen, frames = 0, set()
    for episode in batched.sample():
        for own in episode.agent_episodes.values():
            for observation in own.get_observations():
                seen += 1
                frames.add(id(observation["observations"]))
    assert seen == 2 * len(frames)


def test_actions_can_be_drawn_at_random(tmp_path):
    _, batched = make_runners(tmp_path)
    actions = np.concatenate(
        [
            np.array(own.actions.data)
            for episode in batched.sample(random_actions=True)
            for own in episode.agent_episodes.values()
        ]
    )
    assert len(set(actions[:, 0].tolist())) == 8
    assert len(set(actions[:, 1].tolist())) == 10
    batched.sample()  # and what is remembered of them does not get in the way


def test_what_it_does_not_do_is_refused_by_name(tmp_path):
    store = fill(tmp_path)
    config = small_config(store, runner="batched")
    config.callbacks(on_episode_step=print)
    with pytest.raises(ValueError, match="has a callback on_episode_step, but the batched runner"):
        config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    config = small_config(store, runner="batched")
    config.env_runners(module_to_env_connector=print)
    with pytest.raises(ValueError, match="has a module_to_env_connector, but the batched runner"):
        config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    with pytest.raises(ValueError, match="runner is 'fast'; it must be one of batched, stock"):
        small_config(store, runner="fast")
