"""Episodes, advantages and losses of two runners, side by side."""

import copy

import numpy as np

from rllib_adapters.envs.env_config import MAIN, POOL
from territorial.observation.layout import NEW_GAME

COLUMNS = ("advantages", "value_targets", "rewards", "action_logp", "terminateds", "truncateds")
LOSSES = ("total_loss", "policy_loss", "vf_loss", "entropy")


def agents_of(episodes):
    """The episodes of all agents."""
    return [own for whole in episodes for own in whole.agent_episodes.values()]


def finish_off(runner, k, seats):
    """Take all land but a cell from ``seats`` of game ``k`` as its next step begins; they die in it."""
    is_batch = hasattr(runner.env, "game")
    game, k = (runner.env.game, k) if is_batch else (runner.env.envs[k].unwrapped.game, 0)
    if game.results.is_over[k]:
        return

    def step(actions, repeat):
        del game.step
        owner = game.state.owner[k, 1:-1, 1:-1].copy()
        owner[np.isin(owner, seats)] = 6
        owner.flat[np.flatnonzero(owner == 0)[: len(seats)]] = seats
        game.set_position(k, owner, peak=[4000 if seat in seats else 12 for seat in range(1, 7)])
        results = game.step(actions, repeat)
        counts = game.observations.delta_count
        counts.flags.writeable = True
        counts[k : k + 1] = NEW_GAME  # the board is not the one before with what changed in the step
        return results

    game.step = step


def assert_same_episodes(stock, batched):
    assert len(stock) == len(batched) > 0
    for theirs, mine in zip(stock, batched, strict=True):
        for name in ("env_t", "env_t_started", "is_terminated", "is_truncated", "is_done"):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert (mine.agent_ids, len(mine)) == (theirs.agent_ids, len(theirs))
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
        assert (own.lookback, len(own.data)) == (other.lookback, len(other.data)), name
    assert (mine.rewards.data, mine.infos.data) == (theirs.rewards.data, theirs.infos.data)
    np.testing.assert_array_equal(np.array(mine.actions.data), np.array(theirs.actions.data))
    for own, other in zip(mine.observations.data, theirs.observations.data, strict=True):
        np.testing.assert_equal(own, other)
        assert all(own[key].dtype == array.dtype for key, array in other.items())
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
    for own in agents_of(episodes):
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
        for own in agents_of(mine):
            launched[own.module_id] = launched.get(own.module_id, 0) + np.any(own.actions.data)
    assert (counts > 0).all(), counts
    return {name for name, count in launched.items() if count}


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


def batch_of(learner, episodes):
    """What a learner makes of copies of episodes, by module."""
    return learner._learner_connector(
        rl_module=learner.module,
        batch={},
        episodes=copy.deepcopy([episode for episode in episodes if episode.agent_episodes]),
        shared_data={},
        metrics=learner.metrics,
    )


def learned(learner, episodes, weights):
    """By module: the rows that a learner makes of episodes, and the losses of an update with all of them."""
    for name, state in weights.items():
        learner.module[name].set_state(copy.deepcopy(state))
    batch = batch_of(learner, episodes)
    rows = {
        name: ordered(
            np.stack([np.asarray(own[column], np.float64) for column in COLUMNS], 1), episodes, name
        )
        for name, own in batch.items()
        if name != POOL
    }
    result = learner.update(episodes=copy.deepcopy(episodes), num_epochs=1, minibatch_size=None)
    return rows, {name: {loss: float(result[name][loss].peek()) for loss in LOSSES} for name in rows}
