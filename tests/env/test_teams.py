"""Games of teams in the environments: who stays in an episode, what it is told, and what it gets."""

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

import territorial
from territorial.envs.infos import INFO_NAMES

FIELDS = {
    "height": 20,
    "width": 20,
    "num_players": 6,
    "map": "open",
    "max_ticks": 700,
    "teams": 3,
    "team_deal": "random",
    "rewards": {"team_land": 1, "placement": 1},
}
SEATS = ["agent", "agent", "banker", "metronome", "agent", "banker"]


def played(env, seed):
    """Yield what each step of a game returns in which agents act at random."""
    observations, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    while env.agents:
        actions = {}
        for name, seen in observations.items():
            if name in env.agents:
                actions[name] = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        step = env.step(actions)
        observations = step[0]
        yield step


@pytest.mark.parametrize("agent_death", ["remove", "keep"])
def test_an_agent_stays_until_its_team_is_out(agent_death):
    env = territorial.parallel_env(seats=SEATS, obs="features", agent_death=agent_death, **FIELDS)
    stayed = ended = 0
    for seed in range(12):
        for observations, rewards, terminations, _, infos in played(env, seed):
            state = env.game.state
            for name, info in infos.items():
                seat = env.possible_agents.index(name)
                p = [1, 2, 5][seat]
                team = state.team[0] == info["team_of"]
                is_out = not state.alive[0][team].any()
                assert info["team_of"] == state.team[0, p]
                if agent_death == "remove":
                    assert terminations[name] == (is_out or bool(state.over[0]))
                assert (info["place"] > 0) == (is_out or bool(state.over[0]))
                if not info["alive"]:
                    mask = observations[name]["action_mask"]
                    assert (mask[0], mask[1:].any()) == (1, False)
                    stayed += not terminations[name]
                if info["place"]:
                    expected = 1 - (info["place"] - 1)
                    assert info["reward_placement"] in (0, pytest.approx(expected))
                    ended += info["reward_placement"] == pytest.approx(expected) and expected != 0
                assert rewards[name] == pytest.approx(
                    info["reward_team_land"] + info["reward_placement"], abs=1e-6
                )
    assert stayed > 5, "some agents died before their team was out"
    assert ended > 10


def test_arrays_tell_the_teams_of_the_games_that_ended():
    env = territorial.make_vec(8, seats=SEATS, obs="features", **FIELDS)
    _, info = env.reset(seed=1)
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(80):
        teams = info["team_of"]
        actions = (env.action_masks() * rng.random(env.action_masks().shape)).argmax(-1)
        info = env.step(actions)[4]
        assert tuple(name for name in info if name in env.info_names) == env.info_names
        if info["ended"].any():
            assert np.array_equal(info["final_info"]["team_of"], teams[info["ended"]])
            assert (info["final_info"]["place"] > 0).all()
            ended += info["ended"].sum()
    assert ended >= 8


def test_views_tell_the_same_as_copies():
    copies = territorial.make_vec(3, obs="packed", **FIELDS)
    views = territorial.make_vec(3, obs="packed", zero_copy=True, **FIELDS)
    for env in (copies, views):
        env.reset(seed=3)
        env.step(np.zeros((3, 6), int))
    assert copies.info_names == views.info_names
    told, shown = copies.step(np.zeros((3, 6), int))[4], views.step(np.zeros((3, 6), int))[4]
    assert all(np.array_equal(told[name], shown[name]) for name in copies.info_names)
    assert "team_of" in told


def test_infos_of_games_without_teams_have_the_names_that_they_had():
    env = territorial.make_vec(1, height=20, width=20, num_players=4, obs="features")
    assert env.info_names == (*INFO_NAMES, "reward_land", "reward_placement")


@pytest.mark.parametrize("agent_death", ["remove", "keep"])
def test_a_game_of_teams_passes_the_parallel_api_test(agent_death):
    env = territorial.parallel_env(seats=SEATS, obs="features", agent_death=agent_death, **FIELDS)
    parallel_api_test(env, num_cycles=200)


def test_an_own_reward_is_paid_until_the_team_is_out():
    def one_each(previous, state, info):
        return np.ones(state.alive[:, 1:].shape)

    env = territorial.make_vec(4, reward_fn=one_each, obs="features", autoreset="disabled", **FIELDS)
    env.reset(seed=2)
    rng, apart = np.random.default_rng(0), 0
    while not env.game.stands.all():
        was_in = (env.game.state.place2[:, 1:] == 0) & ~env.game.stands[:, None]
        was_alive = env.game.state.alive[:, 1:] != 0
        masks = env.action_masks()
        info = env.step((masks * rng.random(masks.shape)).argmax(-1))[4]
        assert np.array_equal(info["reward_own"] == 1, was_in)
        apart += (was_in & ~was_alive).sum()
    assert apart > 0
