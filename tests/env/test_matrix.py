"""PettingZoo's own tests, in modes that have every pair of options, and at full size; made by name."""

import functools
import types

import pettingzoo
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

from territorial import TerritorialEnv, env, parallel_env
from tests.env.support import SMALL

# Rows of options; every pair of their values is in one of them. Formats of actions that name candidates go
# with all forms: test_vector.py has the others.
MODES = """
packed   remove info multi_discrete       - -
packed   keep   obs  discrete             9 teams
packed   keep   none discrete             9 -
features remove none multi_discrete       9 teams
features keep   obs  discrete             9 -
features keep   info discrete             - -
pooled   remove obs  discrete             - -
pooled   keep   info multi_discrete       9 teams
pooled   keep   none discrete             - teams
onehot   remove obs  multi_discrete       9 teams
onehot   keep   info multi_discrete       - teams
onehot   keep   none discrete             9 -
pairs    remove obs  discrete             9 teams
pairs    remove obs  pairs_multi_discrete 9 teams
pairs    remove none pairs                - teams
pairs    remove none pairs_multi_discrete - teams
pairs    keep   obs  multi_discrete       - -
pairs    keep   obs  pairs                9 -
pairs    keep   info pairs                - -
pairs    keep   info pairs_multi_discrete 9 -
"""
COLUMNS = ("obs", "agent_death", "action_mask", "action_format", "max_cycles", "teams")
# One team of two agents, and one of a bot and an agent.
TEAMS = {"teams": 2, "team_deal": "turn", "rewards": {"land": 0.5, "team_land": 0.5, "placement": 1}}
GAME = {
    "height": 20,
    "width": 17,
    "num_players": 4,
    "seats": ("agent", "metronome", "agent", "agent"),
    "decision_every": 25,
    "max_ticks": 1500,
}

# What ``api_test`` says of every environment whose observations are dicts, as masks in them need.
ON_DICTS = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}

# Of boards as a stack of frames of bit planes.
ON_FOUR_DIMENSIONS = "Observation has more than 3 dimensions"

# Of actions that are neither of the two.
ON_TWO_PARTS = (
    "Action space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete"
)

# Of the masks of two parts, where the dict has no key "observation" that is looked at instead.
ON_TWO_MASKS = "Action mask is not a NumPy array"


def known_warnings(modes):
    """Return what ``api_test`` says of ``modes``, and nothing but that."""
    is_dict = modes["obs"] in ("packed", "pairs") or modes["action_mask"] == "obs"
    four = {ON_FOUR_DIMENSIONS} if modes["obs"] == "packed" else set()
    two = {ON_TWO_PARTS} if modes["action_format"].endswith("multi_discrete") else set()
    has_masks = modes["obs"] == "pairs" and modes["action_mask"] == "obs"
    masks = {ON_TWO_MASKS} if two and has_masks else set()
    return (ON_DICTS if is_dict else set()) | four | two | masks


def modes_of(line):
    """Return the options that a row of the table names."""
    *switches, cycles, teams = line.split()
    modes = dict(zip(COLUMNS, switches, strict=False)) | {
        "max_cycles": None if cycles == "-" else int(cycles)
    }
    return modes | (TEAMS if teams == "teams" else {})


LINES = MODES.strip().splitlines()
in_all_modes = pytest.mark.parametrize("modes", [modes_of(line) for line in LINES], ids=LINES)


@in_all_modes
def test_the_parallel_form_passes_without_a_warning(modes, warned):
    make = functools.partial(parallel_env, **GAME, **modes)
    tested = make()
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=50)
    parallel_seed_test(make, num_cycles=6)
    assert not warned


@in_all_modes
def test_the_turn_by_turn_form_passes_with_the_known_warnings_only(modes, warned):
    make = functools.partial(env, **GAME, **modes)
    tested = make()
    tested.action_space("player_0").seed(1)
    api_test(tested, num_cycles=20)
    seed_test(make, num_cycles=6)
    assert {str(warning.message) for warning in warned} == known_warnings(modes)


@in_all_modes
def test_states_and_cycles_pass_without_a_warning(modes, warned):
    state_test(env(**GAME, **modes), parallel_env(**GAME, **modes))
    others = {name: value for name, value in modes.items() if name != "max_cycles"}
    endless = {"deaths": False, "win_percent": 100}  # it plays at random, and counts every agent's turns
    forms = (functools.partial(form, **GAME, **others, **endless) for form in (env, parallel_env))
    max_cycles_test(types.SimpleNamespace(**dict(zip(("env", "parallel_env"), forms, strict=True))))
    assert not warned


@pytest.mark.parametrize("modes", [modes_of(line) for line in LINES[::5]])
def test_pictures_pass_and_nothing_is_said_but_that_there_is_no_display(modes, warned, monkeypatch):
    monkeypatch.setattr("territorial.render.games._has_display", lambda: False)  # nobody wants windows here
    render_test(functools.partial(env, **GAME, **modes))
    about = {str(warning.message).partition(", so ")[0] for warning in warned}
    assert about <= {'render_mode is "human", but there is neither a display nor a terminal'}


# ---- at full size, and by name -----------------------------------------------------------------------


def test_the_full_game_passes_the_parallel_api_test_without_a_warning(warned):
    tested = parallel_env(height=256, width=256, num_players=32)
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=100)
    assert not warned


def test_pettingzoo_can_make_it_by_name():
    if not hasattr(pettingzoo, "make"):
        pytest.skip(f"PettingZoo {pettingzoo.__version__} has no registry")
    made = pettingzoo.make("parallel", "territorial_v0", **SMALL, max_cycles=7)
    assert isinstance(made, TerritorialEnv)
    assert made.max_cycles == 7
    assert str(pettingzoo.make("aec", "territorial_v0", **SMALL).unwrapped) == "territorial_v0"
