"""``territorial.env``: the form in which agents take turns."""

import numpy as np
import pytest

import territorial
from tests.env.support import SMALL

GAME = SMALL | {"obs": "features", "max_ticks": 3000, "decision_every": 25}
SEATS = ("agent", "metronome", "agent", "agent")


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
            report = seen[agent] if action_mask == "obs" else infos[agent]
            assert np.array_equal(where["action_mask"], report["action_mask"])
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
    assert (turns.agents, turns.unwrapped.game.digest(0)) == ([], together.game.digest(0))
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
