"""PettingZoo's own tests: here in modes of which nearly all pairs occur, in `make verify` in all modes."""

import functools
import itertools
import types

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

from territorial import env, parallel_env
from territorial.envs.options import CHOICES

SWITCHES = ("obs", "agent_death", "action_mask", "action_format")
CYCLES = (None, 9)
MATRIX = [
    dict(zip((*SWITCHES, "max_cycles"), values, strict=True))
    for values in itertools.product(*(CHOICES[name] for name in SWITCHES), CYCLES)
    if values[0] == "pairs" or not values[3].startswith("pairs")
]
"""Formats of actions that name candidates go with all forms: test_vector.py has the others."""
TEAMS = {"teams": 2, "team_deal": "turn", "rewards": {"land": 0.5, "team_land": 0.5, "placement": 1}}
"""One team of two agents, and one of a bot and an agent."""
GAME = {
    "height": 20,
    "width": 17,
    "num_players": 4,
    "seats": ("agent", "metronome", "agent", "agent"),
    "decision_every": 25,
    "max_ticks": 1500,
}

ON_DICTS = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}
"""What ``api_test`` says of every environment whose observations are dicts, as masks in them need."""

ON_FOUR_DIMENSIONS = "Observation has more than 3 dimensions"
"""Of boards as a stack of frames of bit planes."""

ON_TWO_PARTS = (
    "Action space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete"
)
"""Of actions that are neither of the two."""

ON_TWO_MASKS = "Action mask is not a NumPy array"
"""Of the masks of two parts, where the dict has no key "observation" that is looked at instead."""


def known_warnings(modes):
    """Return what ``api_test`` says of ``modes``, and nothing but that."""
    is_dict = modes["obs"] in ("packed", "pairs") or modes["action_mask"] in ("obs", "both")
    four = {ON_FOUR_DIMENSIONS} if modes["obs"] == "packed" else set()
    two = {ON_TWO_PARTS} if modes["action_format"].endswith("multi_discrete") else set()
    has_masks = modes["obs"] == "pairs" and modes["action_mask"] in ("obs", "both")
    masks = {ON_TWO_MASKS} if two and has_masks else set()
    return (ON_DICTS if is_dict else set()) | four | two | masks


def name_of(modes):
    return "-".join("teams" if name == "teams" else str(modes[name]) for name in modes if name not in UNNAMED)


ROWS = [modes | teams for modes in MATRIX for teams in ({}, TEAMS)]
UNNAMED = ("team_deal", "rewards")


def every(number):
    """Return one row of so many as they are, and all others for `make verify`."""
    rows = [
        pytest.param(modes, marks=[] if i % number == 0 else pytest.mark.verify)
        for i, modes in enumerate(ROWS)
    ]
    return pytest.mark.parametrize("modes", rows, ids=name_of)


in_many_modes = every(19)  # a prime number, so that all values meet nearly all others


@in_many_modes
def test_the_parallel_form_passes_without_a_warning(modes, warned):
    make = functools.partial(parallel_env, **GAME, **modes)
    tested = make()
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=50)
    parallel_seed_test(make, num_cycles=6)
    assert not warned


@in_many_modes
def test_the_turn_by_turn_form_passes_with_the_known_warnings_only(modes, warned):
    make = functools.partial(env, **GAME, **modes)
    tested = make()
    tested.action_space("player_0").seed(1)
    api_test(tested, num_cycles=20)
    seed_test(make, num_cycles=6)
    assert {str(warning.message) for warning in warned} == known_warnings(modes)


@in_many_modes
def test_states_and_cycles_pass_without_a_warning(modes, warned):
    state_test(env(**GAME, **modes), parallel_env(**GAME, **modes))
    others = {name: value for name, value in modes.items() if name != "max_cycles"}
    endless = {"deaths": False, "win_percent": 100}  # it plays at random, and counts every agent's turns
    forms = (functools.partial(form, **GAME, **others, **endless) for form in (env, parallel_env))
    max_cycles_test(types.SimpleNamespace(**dict(zip(("env", "parallel_env"), forms, strict=True))))
    assert not warned


@every(96)
def test_pictures_pass_and_nothing_is_said_but_that_there_is_no_display(modes, warned, monkeypatch):
    monkeypatch.setattr("territorial.render.games._has_display", lambda: False)  # nobody wants windows here
    render_test(functools.partial(env, **GAME, **modes))
    about = {str(warning.message).partition(", so ")[0] for warning in warned}
    assert about <= {'render_mode is "human", but there is neither a display nor a terminal'}
