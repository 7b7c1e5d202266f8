"""Games of teams in the environments: who stays in an episode and what it is told and paid, in all modes."""

import itertools

import numpy as np
import pytest

import territorial
from territorial.envs.options import CHOICES
from tests.env.support import legal_choices

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
        info = env.step(legal_choices(env.action_masks(), rng))[4]
        assert tuple(name for name in info if name in env.info_names) == env.info_names
        if info["is_over"].any():
            assert np.array_equal(info["final_info"]["team_of"], teams[info["is_over"]])
            assert (info["final_info"]["place"] > 0).all()
            ended += info["is_over"].sum()
    assert ended >= 8


def test_an_own_reward_is_paid_until_the_team_is_out():
    def one_each(previous, state, info):
        return np.ones(state.alive[:, 1:].shape)

    env = territorial.make_vec(4, reward_fn=one_each, obs="features", autoreset="disabled", **FIELDS)
    env.reset(seed=2)
    rng, apart = np.random.default_rng(0), 0
    while not env.game.is_idle.all():
        was_in = (env.game.state.doubled_place[:, 1:] == 0) & ~env.game.is_idle[:, None]
        was_alive = env.game.state.alive[:, 1:] != 0
        info = env.step(legal_choices(env.action_masks(), rng))[4]
        assert np.array_equal(info["reward_custom"] == 1, was_in)
        apart += (was_in & ~was_alive).sum()
    assert apart > 0


GAME = {"height": 18, "width": 18, "map": "open", "max_ticks": 400, "num_players": 6}
SEATED = ("agent", "agent", "banker", "agent", "metronome", "agent")
SEATS_OF_AGENTS = [1, 2, 4, 6]
TEAMS = (
    {"teams": 3},
    {"teams": 2, "team_deal": "turn", "team_spawns": "together"},
    {"teams": (1, 2, 2, 2, 3, 1)},
    {"teams": 2, "team_deal": "random"},
)
REWARDS = (
    {"team_land": 1},
    {"land": 0.5, "team_land": 0.25, "placement": 1},
    {"team_land_zero_sum": 1, "placement_zero_sum": 1, "kills": 0.1, "survival": 0.5},
)
SWITCHES = ("agent_death", "end_when", "obs")
MATRIX = [
    {"teams": teams, **dict(zip(SWITCHES, values, strict=True)), "rewards": weights}
    for teams, *values, weights in itertools.product(TEAMS, *(CHOICES[name] for name in SWITCHES), REWARDS)
]
GAMES, STEPS = 6, 45


def name_of(modes):
    return "-".join([repr(modes["teams"]["teams"]), *(modes[name] for name in SWITCHES), *modes["rewards"]])


def made(modes, make, *arguments, **options):
    rest = {name: modes[name] for name in (*SWITCHES, "rewards")}
    return make(*arguments, **GAME, **modes["teams"], **rest, seats=SEATED, **options)


@pytest.mark.parametrize(
    "modes",
    [pytest.param(modes, marks=[] if i % 11 == 0 else pytest.mark.verify) for i, modes in enumerate(MATRIX)],
    ids=name_of,
)
def test_allies_are_told_and_paid_as_one(modes):
    env = made(modes, territorial.make_vec, GAMES, autoreset="disabled")
    _, info = env.reset(seed=3)
    rng, state = np.random.default_rng(1), env.game.state
    has_ended = np.zeros(info["alive"].shape, bool)
    ends = apart = 0
    for _ in range(STEPS):
        teams = info["team_of"]
        assert np.array_equal(teams, state.team[:, SEATS_OF_AGENTS])
        actions = legal_choices(env.action_masks(), rng)
        _, rewards, terminated, truncated, info = env.step(actions)
        weights = modes["rewards"]
        of_teams = [info[f"reward_{name}"] for name in weights if name.startswith(("team_land", "placement"))]
        paid = sum(weight * info[f"reward_{name}"] for name, weight in weights.items())
        np.testing.assert_allclose(rewards, paid, atol=1e-6)
        for k in range(GAMES):
            for team in np.unique(teams[k]):
                own = teams[k] == team
                for values in (terminated, truncated, info["place"], *of_teams):
                    assert len(np.unique(values[k, own])) == 1, "allies have the same"
                apart += len(np.unique(info["alive"][k, own])) == 2 and not terminated[k, own].any()
                is_out = not state.alive[k, state.team[k] == team].any()
                assert (info["place"][k, own] > 0).all() == (is_out or bool(state.over[k]))
        assert (env.action_masks()[info["alive"] == 0].sum(-1) == 1).all(), "the dead hold"
        assert not (terminated & has_ended).any()
        assert not rewards[has_ended].any()
        has_ended |= terminated | truncated
        ends += terminated.sum()
    assert ends > 0
    assert apart > 0, "some agents stayed after their death"
    env.close()
