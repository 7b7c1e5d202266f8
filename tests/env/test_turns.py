"""``territorial.env``: the form in which agents take turns, in different orders of imports."""

import importlib
import json
import os
import pickle
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from pettingzoo.test import api_test, max_cycles_test, seed_test

import territorial
from tests.env.support import SMALL

GAME = SMALL | {"obs": "features", "max_ticks": 3000, "decision_every": 25}
SEATS = ("agent", "metronome", "agent", "agent")

MADE = "agents = territorial.env(height=16, width=16, num_players=2).possible_agents; assert len(agents) == 2"
ORDERS = {
    "the package": f"import territorial; {MADE}",
    "a name of it, then the package": (
        f"from territorial.env import TerritorialEnv, env, parallel_env\nimport territorial; {MADE}\n"
        "assert territorial.TerritorialEnv is TerritorialEnv is type(env().unwrapped.env)"
    ),
    "by its name as a text": (
        "import importlib, sys\nmodule = importlib.import_module('territorial.env'); module()\n"
        f"import territorial; {MADE}; assert sys.modules['territorial.env'] is territorial.env\n"
        f"importlib.reload(module); {MADE}"
    ),
    "the registry of PettingZoo": (
        "import pettingzoo, territorial; pettingzoo.make('aec', 'territorial_v0'); "
        f"pettingzoo.make('parallel', 'territorial_v0'); {MADE}"
    ),
}


RUN_EACH = """
import json, os, sys
import gymnasium, numba, pettingzoo  # once for all: what takes long to import, but not the package itself
failed = []
for name, source in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        exec(source)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(name)
sys.exit(", ".join(failed) or 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_it_can_be_called_in_a_fresh_process_after_different_orders_of_imports():
    home = str(Path(territorial.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", RUN_EACH],
        env=os.environ | {"PYTHONPATH": home},
        input=json.dumps(ORDERS),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr


def test_environments_that_were_pickled_under_the_old_name_go_on():
    env = territorial.parallel_env(**GAME)
    env.reset(seed=3)
    env.step(dict.fromkeys(env.agents, 0))
    new = pickle.dumps(env, protocol=2)
    old = new.replace(b"cterritorial.envs.pettingzoo\n", b"cterritorial.env\n")
    assert old != new
    twin = pickle.loads(old)
    hold = dict.fromkeys(env.agents, 0)
    assert twin.step(hold)[1:] == env.step(hold)[1:]


def test_the_module_is_named_by_pickles_and_has_the_signature_of_the_function():
    assert pickle.loads(pickle.dumps(territorial.env)) is territorial.env
    assert signature(territorial.env) == signature(territorial.env.env)
    assert importlib.import_module("territorial.env") is territorial.env


@pytest.mark.parametrize("agent_death", ["remove", "keep"])
@pytest.mark.parametrize("action_mask", ["info", "none"])
def test_it_passes_the_tests_of_pettingzoo(agent_death, action_mask):
    def make(**options):
        return territorial.env(
            **GAME, seats=SEATS, agent_death=agent_death, action_mask=action_mask, **options
        )

    api_test(make(), num_cycles=60)
    seed_test(make, num_cycles=10)


def test_the_module_is_what_pettingzoo_calls_an_environment():
    class Small:
        @staticmethod
        def env(max_cycles):
            return territorial.env(**GAME, max_cycles=max_cycles)

        @staticmethod
        def parallel_env(max_cycles):
            return territorial.env.parallel_env(**GAME, max_cycles=max_cycles)

    max_cycles_test(Small)


@pytest.mark.parametrize("agent_death", ["remove", "keep"])
@pytest.mark.parametrize("action_mask", ["obs", "info"])
def test_turns_play_the_game_of_parallel_env_to_its_end(agent_death, action_mask):
    options = GAME | {"seats": SEATS, "agent_death": agent_death, "action_mask": action_mask}
    turns, together = territorial.env(**options), territorial.parallel_env(**options)
    rng = np.random.default_rng(4)
    turns.reset(seed=4)
    seen, infos = together.reset(seed=4)
    rewards = dict.fromkeys(together.agents, 0)
    ends = cuts = dict.fromkeys(together.agents, False)
    deaths = 0
    while together.agents or turns.agents:
        leaving = [agent for agent in seen if ends[agent] or cuts[agent]]
        deaths += bool(together.agents) and len(leaving)
        order, actions = [*leaving, *together.agents], {}
        for agent in order:
            assert turns.agent_selection == agent, "those who have ended come first, then the seats in order"
            shown, reward, has_ended, is_cut, info = turns.last()
            assert (reward, has_ended, is_cut) == (rewards[agent], ends[agent], cuts[agent])
            where = shown if action_mask == "obs" else info
            told = seen[agent] if action_mask == "obs" else infos[agent]
            assert np.array_equal(where["action_mask"], told["action_mask"])
            assert info["place"] == infos[agent]["place"]
            legal = np.flatnonzero(where["action_mask"])
            if agent not in leaving:
                assert np.array_equal(turns.action_masks()[agent], where["action_mask"])
            action = int(rng.choice(legal)) if rng.random() < 0.3 else 0
            turns.step(None if agent in leaving else actions.setdefault(agent, action))
        if together.agents:
            seen, rewards, ends, cuts, infos = together.step(actions)
        else:
            break
    assert turns.agents == []
    assert turns.unwrapped.game.digest(0) == together.game.digest(0)
    if agent_death == "remove":
        assert deaths >= 1, "somebody dies before the game is over"


def test_a_bad_action_is_an_error_at_the_turn_in_which_it_is_given_and_loses_nothing():
    turns, other = (territorial.env(**GAME, seats=SEATS) for _ in range(2))
    for one in (turns, other):
        one.reset(seed=1)
    for agent in turns.agents[:]:
        for bad in (51, -1, 0.5, None, "hold", [0]):
            with pytest.raises(ValueError, match=f"the action of '{agent}' is .* it must be a whole number"):
                turns.step(bad)
        assert turns.agent_selection == agent
        turns.step(3)
        other.step(3)
    assert turns.unwrapped.game.digest(0) == other.unwrapped.game.digest(0)


def test_who_has_ended_may_only_do_nothing_and_can_still_do_it_after_an_error():
    turns = territorial.env(**GAME, max_cycles=1)
    turns.reset(seed=1)
    for _ in range(4):
        turns.step(0)
    while turns.agents:
        agent, left = turns.agent_selection, len(turns.agents)
        with pytest.raises(
            ValueError, match=f"the action of '{agent}', which has ended, is 0; it must be None"
        ):
            turns.step(0)
        turns.step(None)
        assert len(turns.agents) == left - 1
