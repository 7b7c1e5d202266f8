"""What the environment promises in its docstring."""

import copy
import itertools
import re

import numpy as np
import pytest

import territorial
from territorial import GameConfig, TerritorialEnv, parallel_env
from territorial.envs.infos import INFO_NAMES
from tests.env.support import (
    SMALL,
    play,
    random_actions,
    small_env,
)
from tests.episodes import begun, difference

HOLD_ALL = dict.fromkeys((f"player_{i}" for i in range(4)), 0)


def play_some(env, steps, rng_seed=0):
    """Begin a game and play ``steps`` steps at random; the last observations."""
    observations, _ = env.reset(seed=3)
    rng = np.random.default_rng(rng_seed)
    for _ in range(steps):
        observations, *_ = env.step(random_actions(observations, env.agents, rng))
    return observations


# ---- the same again ---------------------------------------------------------------------------------


def begin(env, **arguments):
    """Reset and name the position, spawns included: first observations may be equal by chance."""
    env.reset(**arguments)
    return env.game.digest(0)


def test_a_seed_determines_all_games_after_it():
    env, other = small_env(), small_env()
    games = [begin(env, seed=4), begin(env), begin(env)]
    begin(other)
    assert ([begin(other, seed=4), begin(other), begin(other)], len(set(games))) == (games, 3)
    assert begin(env, seed=4) == games[0]


def test_environments_that_never_got_a_seed_differ():
    assert begin(small_env()) != begin(small_env())


# ---- ends and rewards -------------------------------------------------------------------------------


def test_who_dies_in_the_last_step_allowed_is_terminated_not_truncated():
    env = small_env()
    observations, _ = env.reset(seed=1)
    steps = 0
    for _, _, _, terminated, _, _ in play(env, observations, 1):
        steps += 1
        if any(terminated.values()):
            break
    assert env.agents  # somebody died before the game ended
    cut = small_env(max_cycles=steps)
    observations, _ = cut.reset(seed=1)
    *_, (_, _, _, terminated_in_cut, truncated, _) = play(cut, observations, 1)
    assert terminated_in_cut == terminated
    assert truncated == {agent: not is_dead for agent, is_dead in terminated.items()}


# ---- actions ----------------------------------------------------------------------------------------


HOLDS = dict.fromkeys(("player_0", "player_2", "player_3"), 0)
NUMBERS = (
    *(-1, 51, 2**70, 1.0, "1", None, True, [3], np.float32(3)),
    *(np.array([1, 2]), np.array([3.0]), np.array([True]), np.array([51])),
)


PAIRS = (3, [1], [1, 2, 3], [0.0, 1.0], [6, 0], [0, 10], [-1, 0], [[1, 2], 3], None)


@pytest.mark.parametrize(
    ("action_format", "actions", "message"),
    [
        *(
            ("discrete", HOLDS | {"player_2": bad}, r"action of 'player_2' is .* from 0 to 50")
            for bad in NUMBERS
        ),
        *(
            (
                "multi_discrete",
                dict.fromkeys(HOLDS, (0, 0)) | {"player_2": bad},
                r"action of 'player_2' is .* two whole numbers, from 0 to 5 and",
            )
            for bad in PAIRS
        ),
        ("discrete", {"player_0": 0, "player_2": 0}, "no action for 'player_3'"),
        ("discrete", {}, "no action for 'player_0'"),
        ("discrete", HOLD_ALL, "'player_1'; the agents are player_0, player_2, player_3"),
    ],
)
def test_actions_that_cannot_be_are_errors_that_name_them_and_change_nothing(action_format, actions, message):
    env = begun(small_env(action_format=action_format, seats=("agent", "banker", "agent", "agent")), seed=3)
    good = {"discrete": (0, np.int32(50), np.array([[3]])), "multi_discrete": ((0, 0), [5, 9], [1, 1])}
    hold = dict(zip(HOLDS, good[action_format], strict=True))
    for _ in range(3):
        env.step(hold)
    before = env.game.digest(0)
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert env.game.digest(0) == before
    env.step(hold)


def test_without_a_game_there_are_no_steps_but_those_of_nobody():
    """SuperSuit's black_death asks for such a step, as PettingZoo's own environments take it."""
    env = small_env(max_cycles=1)
    for call in (lambda: env.step(HOLD_ALL), lambda: env.step({}), env.state):
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            call()
    env.reset(seed=0)
    env.step(HOLD_ALL)
    before = env.game.digest(0)
    with pytest.raises(RuntimeError, match=r"no agent is left.*call reset\(\)"):
        env.step(HOLD_ALL)
    assert (env.step({}), env.game.digest(0)) == (({}, {}, {}, {}, {}), before)


def test_actions_of_agents_that_have_left_are_ignored():
    env = small_env()
    observations, _ = env.reset(seed=1)
    for _ in play(env, observations, 1):
        if len(env.agents) < 4:
            break
    assert env.agents
    (gone,) = set(env.possible_agents) - set(env.agents)
    twin = copy.deepcopy(env)
    hold = dict.fromkeys(env.agents, 0)
    assert difference(twin.step(hold | {gone: 17}), env.step(hold)) is None


# ---- what it hands out ------------------------------------------------------------------------------


def test_all_agents_share_their_spaces_and_so_do_those_of_a_copy():
    env = small_env()
    env.action_space("player_0").seed(7)  # until then its generator does not exist
    twin = copy.deepcopy(env)
    assert twin.action_space("player_0") is twin.action_space("player_2")
    assert twin.action_space("player_0").sample() == env.action_space("player_0").sample()
    for one, name in itertools.product(
        (env, twin, territorial.env(**SMALL).unwrapped), ("observation", "action")
    ):
        space_of, spaces = getattr(one, f"{name}_space"), getattr(one, f"{name}_spaces")
        assert list(spaces) == one.possible_agents
        assert {id(space) for space in spaces.values()} == {id(space_of("player_1"))}
        with pytest.raises(ValueError, match=r"agent is 'player_4'.*; it must be one of player_0"):
            space_of("player_4")


def test_infos_tell_how_the_game_stands():
    env = small_env()
    play_some(env, 10)
    observations, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, 0))
    game = env.game.state
    for agent in observations:
        seat = int(agent.removeprefix("player_")) + 1
        names = ("alive", "land", "troops", "illegal", "raised", "bounced")
        expected = {name: int(getattr(game, name)[0, seat]) for name in names}
        report = {"place": game.doubled_place[0, seat] / 2, "tick": 110, "reward_placement": 0.0}
        assert infos[agent] == expected | report | {"reward_land": rewards[agent]}


def test_text_shows_board_and_standings():
    env = begun(small_env(render_mode="ansi", seats=("agent", "banker", "agent", "turtle")), seed=0)
    text = env.render()
    assert text.startswith("tick 0  4 alive\n")
    for word in ("player_0", "banker", "player_2", "turtle"):
        assert word in text
    assert max(len(re.sub("\x1b[^m]*m", "", line)) for line in text.split("\n")) <= 80


def test_human_mode_shows_every_step_by_itself(monkeypatch):
    drawn = []

    class Shown:
        def show(self, owner, land, troops, tick, terrain):
            drawn.append((tick, owner.copy(), land.tolist()))

        def close(self):
            drawn.append("closed")

    monkeypatch.setattr("territorial.render.games._find_place", lambda arguments: Shown())
    env = begun(small_env(render_mode="human", max_cycles=3), seed=0)
    for _ in range(3):
        env.step(HOLD_ALL)
    assert env.render() is None
    env.close()
    assert (drawn.pop(), [tick for tick, _, _ in drawn]) == ("closed", [0, 10, 20, 30, 30])
    np.testing.assert_array_equal(drawn[-1][1], env.game.state.owner[0, 1:-1, 1:-1])
    assert drawn[-1][2] == env.game.state.land[0, 1:].tolist()


# ---- making one -------------------------------------------------------------------------------------


def test_a_config_can_be_given_whole_and_changed():
    config = GameConfig(**SMALL, max_ticks=77)
    assert parallel_env(config=config).config == config
    assert parallel_env(config=config, width=32).config == config.replace(width=32)
    assert parallel_env().config == TerritorialEnv().config == GameConfig()


@pytest.mark.parametrize("seed", [-1, 2**64, "a", 1.5])
def test_a_bad_seed_is_an_error_and_the_game_goes_on(seed):
    env = begun(small_env(), seed=0)
    with pytest.raises((TypeError, ValueError), match=r"seed is .* from 0 to 18446744073709551615"):
        env.reset(seed=seed)
    env.step(HOLD_ALL)


# ---- the dead, and what infos hold -----------------------------------------------------------------------


WHOLE = set(INFO_NAMES) - {"place"}
BOTS = ("agent", "metronome", "agent", "metronome")


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
