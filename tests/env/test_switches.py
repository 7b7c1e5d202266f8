"""The switches that trainers need: what happens to the dead, where masks are, in which format agents act."""

import copy
import itertools

import numpy as np
import pytest

from territorial.envs.infos import INFO_NAMES
from territorial.envs.options import CHOICES
from tests.env.support import fingerprint, small_env

SWITCHES = ("agent_death", "action_mask", "action_format")
MATRIX = [
    dict(zip(SWITCHES, values, strict=True))
    for values in itertools.product(*(CHOICES[name] for name in SWITCHES))
]
WHOLE = set(INFO_NAMES) - {"place"}
BOTS = ("agent", "metronome", "agent", "metronome")


def name_of(switches):
    return "-".join(map(str, switches.values()))


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


def episode(tested, seed, rng_seed=0):
    """Play a game at random; yield who was listed and what every step returned."""
    rng = np.random.default_rng(rng_seed)
    tested.reset(seed=seed)
    while tested.agents:
        listed = list(tested.agents)
        yield listed, tested.step(legal_actions(tested, rng))


@pytest.mark.parametrize("switches", MATRIX[::3], ids=name_of)
def test_masks_are_where_they_were_asked_for(switches):
    tested = small_env(obs="features", **switches)
    rng = np.random.default_rng(0)
    observations, infos = tested.reset(seed=2)
    where = switches["action_mask"]
    for _ in range(25):
        masks = tested.action_masks()
        for agent in tested.agents:
            assert isinstance(observations[agent], dict) == (where in ("obs", "both"))
            assert ("action_mask" in infos[agent]) == (where in ("info", "both"))
            assert tested.observation_space(agent).contains(observations[agent])
            for told in (observations[agent], infos[agent]):
                if isinstance(told, dict) and "action_mask" in told:
                    shown = told["action_mask"]
                    parts = shown if isinstance(shown, tuple) else (shown,)
                    assert np.array_equal(np.concatenate(parts), masks[agent])
                    assert tested.action_space(agent).contains(tested.action_space(agent).sample(shown))
        observations, _, _, _, infos = tested.step(legal_actions(tested, rng))
    assert all(info["illegal"] == 0 for info in infos.values())


def test_both_formats_play_the_same_game():
    whole, parts = small_env(), small_env(action_format="multi_discrete")
    rng = np.random.default_rng(3)
    whole.reset(seed=3)
    parts.reset(seed=3)
    while whole.agents:
        flat, pairs = {}, {}
        for agent, mask in parts.action_masks().items():
            what, how_much = int(rng.choice(np.flatnonzero(mask[:6]))), int(rng.integers(10))
            pairs[agent] = np.array([what, how_much])
            flat[agent] = 0 if what == 0 else 1 + 10 * (what - 1) + how_much
        assert whole.step(flat)[1:] == parts.step(pairs)[1:]
        assert whole.game.digest(0) == parts.game.digest(0)
    assert not parts.agents


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


@pytest.mark.parametrize("obs", ["features", "pairs"])
def test_the_dead_that_are_kept_look_on_hold_and_get_nothing(obs):
    tested = small_env(obs=obs, agent_death="keep", seats=BOTS, max_ticks=3000)
    deaths, steps_dead, was_alive = 0, 0, dict.fromkeys(tested.possible_agents, 1)
    for seed in range(3):
        was_alive = dict.fromkeys(tested.possible_agents, 1)
        for listed, (observations, rewards, terminated, _, infos) in episode(tested, seed):
            assert listed == tested.possible_agents
            assert len(set(terminated.values())) == 1, "all end together"
            for agent in listed:
                assert tested.observation_space(agent).contains(observations[agent])
                if not was_alive[agent]:
                    steps_dead += 1
                    assert rewards[agent] == 0.0
                    assert infos[agent]["alive"] == infos[agent]["land"] == infos[agent]["troops"] == 0
                    assert observations[agent]["action_mask"].sum() == 1
                    assert observations[agent]["action_mask"][0] == 1
                deaths += was_alive[agent] and not infos[agent]["alive"]
                was_alive[agent] = infos[agent]["alive"]
        assert tested.game.state.over[0]
        assert all(infos[agent]["place"] > 0 for agent in infos)
    assert deaths >= 1
    assert steps_dead > deaths


def test_the_game_is_the_same_whether_the_dead_stay_or_leave():
    kept, left = small_env(agent_death="keep"), small_env()
    totals = {name: dict.fromkeys(kept.possible_agents, 0.0) for name in ("kept", "left")}
    for name, tested in (("kept", kept), ("left", left)):
        tested.reset(seed=5)
        rng = np.random.default_rng(5)
        while tested.agents:
            draws = {agent: rng.random() for agent in tested.possible_agents}
            masks = tested.action_masks()
            actions = {
                agent: int(np.flatnonzero(mask)[int(draws[agent] * mask.sum())])
                for agent, mask in masks.items()
            }
            for agent, reward in tested.step(actions)[1].items():
                totals[name][agent] += reward
    assert kept.game.digest(0) == left.game.digest(0)
    assert totals["kept"] == totals["left"]


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


def test_without_agents_the_episode_may_end_though_bots_play_on():
    ends = {}
    for end_when in CHOICES["end_when"]:
        tested = small_env(
            agent_death="keep",
            end_when=end_when,
            seats=("metronome", "agent", "metronome", "metronome"),
            max_ticks=10_000,
        )
        tested.reset(seed=1)
        while tested.agents:
            _, _, terminated, _, infos = tested.step({"player_1": 0})
        assert terminated == {"player_1": True}
        ends[end_when] = infos["player_1"]["tick"], bool(tested.game.state.over[0])
    assert ends["game"][1]
    assert not ends["no_agents"][1]
    assert ends["no_agents"][0] < ends["game"][0]


def test_a_limit_of_steps_truncates_the_dead_that_are_kept_as_well():
    tested = small_env(agent_death="keep", seats=BOTS, max_ticks=3000)
    for _, (_, _, _, _, infos) in episode(tested, 0):
        if not all(info["alive"] for info in infos.values()):
            break
    steps = infos["player_0"]["tick"] // 10
    cut = small_env(agent_death="keep", seats=BOTS, max_ticks=3000, max_cycles=steps + 2)
    *_, (_, (_, _, terminated, truncated, infos)) = episode(cut, 0)
    assert not any(terminated.values())
    assert truncated == dict.fromkeys(cut.possible_agents, True)
    assert not all(info["alive"] for info in infos.values())
    assert cut.agents == []


def test_infos_are_numbers_under_the_same_names_at_every_time():
    tested = small_env(agent_death="keep")
    _, first = tested.reset(seed=3)
    for _, (_, _, _, _, infos) in episode(tested, 3):
        for info in (*first.values(), *infos.values()):
            assert tuple(info) == tested.info_names == (*INFO_NAMES, "reward_land", "reward_placement")
            assert all(type(info[name]) is (int if name in WHOLE else float) for name in info)
