"""The switches of games of teams, nearly all with all: what agents are told and paid, in arrays and dicts."""

import itertools

import numpy as np
import pytest

import territorial
from territorial.envs.options import CHOICES

GAME = {"height": 18, "width": 18, "map": "open", "max_ticks": 400, "num_players": 6}
SEATS = ("agent", "agent", "banker", "agent", "metronome", "agent")
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
    return make(*arguments, **GAME, **modes["teams"], **rest, seats=SEATS, **options)


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
        masks = env.action_masks()
        actions = (masks * rng.random(masks.shape)).argmax(-1)
        _, rewards, terminated, truncated, info = env.step(actions)
        weights = modes["rewards"]
        paid = sum(weight * info[f"reward_{name}"] for name, weight in weights.items())
        np.testing.assert_allclose(rewards, paid, atol=1e-6)
        for k in range(GAMES):
            for team in np.unique(teams[k]):
                own = teams[k] == team
                for values in (terminated, truncated, info["place"], *shared_parts(info, weights)):
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


def shared_parts(info, weights):
    """The parts of rewards that are those of teams."""
    return [info[f"reward_{name}"] for name in weights if name.startswith(("team_land", "placement"))]
