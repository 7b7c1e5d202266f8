"""The switches that trainers need: what happens to the dead, where masks are, in which format agents act."""

import copy

from territorial.envs.infos import INFO_NAMES
from tests.env.support import play, small_env
from tests.episodes import difference

WHOLE = set(INFO_NAMES) - {"place"}
BOTS = ("agent", "metronome", "agent", "metronome")


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
    assert all(difference(results[0], result) is None for result in results)


def test_infos_are_numbers_under_the_same_names_at_every_time():
    tested = small_env(agent_death="keep")
    observations, first = tested.reset(seed=3)
    for *_, infos in play(tested, observations, 3):
        for info in (*first.values(), *infos.values()):
            assert tuple(info) == tested.info_names == (*INFO_NAMES, "reward_land", "reward_placement")
            assert all(type(info[name]) is (int if name in WHOLE else float) for name in info)
