"""The switches that trainers need: what happens to the dead, where masks are, in which format agents act."""

import copy

import numpy as np
import pytest

from territorial.envs.infos import INFO_NAMES
from tests.env.support import fingerprint, play, small_env

WHOLE = set(INFO_NAMES) - {"place"}
BOTS = ("agent", "metronome", "agent", "metronome")


def legal_actions(tested, rng):
    """Return a legal action for every agent, in the environment's own format, three in ten launches."""
    actions = {}
    for agent, mask in tested.action_masks().items():
        holds = rng.random() < 0.7
        if tested.vec.format.shape == ():
            actions[agent] = 0 if holds else int(rng.choice(np.flatnonzero(mask)))
        else:
            what = 0 if holds else int(rng.choice(np.flatnonzero(mask[:-10])))
            actions[agent] = np.array([what, rng.integers(10)])
    return actions


@pytest.mark.parametrize(
    ("where", "action_format"),
    [("obs", "multi_discrete"), ("info", "pairs"), ("info", "pairs_multi_discrete"), ("none", "discrete")],
)
def test_masks_are_where_they_were_asked_for(where, action_format):
    tested = small_env(obs="features", action_mask=where, action_format=action_format)
    rng = np.random.default_rng(0)
    observations, infos = tested.reset(seed=2)
    for _ in range(25):
        masks = tested.action_masks()
        for agent in tested.agents:
            assert isinstance(observations[agent], dict) == (where == "obs")
            assert ("action_mask" in infos[agent]) == (where == "info")
            assert tested.observation_space(agent).contains(observations[agent])
            for told in (observations[agent], infos[agent]):
                if isinstance(told, dict) and "action_mask" in told:
                    shown = told["action_mask"]
                    parts = shown if isinstance(shown, tuple) else (shown,)
                    assert np.array_equal(np.concatenate(parts), masks[agent])
                    assert tested.action_space(agent).contains(tested.action_space(agent).sample(shown))
        observations, _, _, _, infos = tested.step(legal_actions(tested, rng))
    assert all(info["illegal"] == 0 for info in infos.values())


@pytest.mark.parametrize("bad", [3, [1], [1, 2, 3], [0.0, 1.0], [6, 0], [0, 10], [-1, 0], [[1, 2], 3], None])
def test_a_bad_pair_is_an_error_that_names_it_and_changes_nothing(bad):
    tested = small_env(action_format="multi_discrete")
    tested.reset(seed=0)
    before = tested.game.digest(0)
    hold = dict.fromkeys(tested.agents, (0, 0))
    with pytest.raises(ValueError, match=r"action of 'player_1' is .* two whole numbers, from 0 to 5 and"):
        tested.step(hold | {"player_1": bad})
    assert tested.game.digest(0) == before
    tested.step(hold)


# ---- the dead ---------------------------------------------------------------------------------------


def test_what_the_dead_do_is_ignored_and_they_need_not_do_anything():
    tested = small_env(agent_death="keep", seats=BOTS, max_ticks=3000)
    hold = dict.fromkeys(tested.possible_agents, 0)
    tested.reset(seed=0)
    while tested.agents and tested.game.state.alive[0, [1, 3]].all():
        *_, infos = tested.step(hold)
    assert tested.agents == tested.possible_agents
    (dead,) = (agent for agent, info in infos.items() if not info["alive"])
    (alive,) = set(tested.agents) - {dead}
    others = hold, hold | {dead: 17}, {alive: 0}
    twins = [copy.deepcopy(tested) for _ in range(3)]
    results = [twin.step(actions) for twin, actions in zip(twins, others, strict=True)]
    assert len({fingerprint(result) for result in results}) == 1


def test_infos_are_numbers_under_the_same_names_at_every_time():
    tested = small_env(agent_death="keep")
    observations, first = tested.reset(seed=3)
    for *_, infos in play(tested, observations, 3):
        for info in (*first.values(), *infos.values()):
            assert tuple(info) == tested.info_names == (*INFO_NAMES, "reward_land", "reward_placement")
            assert all(type(info[name]) is (int if name in WHOLE else float) for name in info)
