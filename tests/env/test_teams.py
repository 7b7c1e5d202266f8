"""Games of teams in the environments: who stays in an episode, what it is told, and what it gets."""

import numpy as np

import territorial

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
