"""What the environment promises in its docstring."""

import copy
import itertools
import re

import numpy as np
import pytest

import territorial
from territorial import GameConfig, TerritorialEnv, parallel_env
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


NUMBERS = (
    *(-1, 51, 2**70, 1.0, "1", None, True, [3], np.float32(3)),
    *(np.array([1, 2]), np.array([3.0]), np.array([True]), np.array([51])),
)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        *(
            ({"player_0": 0, "player_2": bad, "player_3": 0}, r"action of 'player_2' is .* from 0 to 50")
            for bad in NUMBERS
        ),
        ({"player_0": 0, "player_2": 0}, "no action for 'player_3'"),
        ({}, "no action for 'player_0'"),
        (HOLD_ALL, "'player_1'; the agents are player_0, player_2, player_3"),
    ],
)
def test_actions_that_cannot_be_are_errors_that_name_them_and_change_nothing(actions, message):
    env = small_env(seats=("agent", "banker", "agent", "agent"))
    play_some(env, 3)
    before = env.game.digest(0)
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert env.game.digest(0) == before
    env.step({"player_0": 0, "player_2": np.int32(50), "player_3": np.array([[3]])})


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"obs": "raw"}, "obs is 'raw'; it must be one of packed, features, pooled, onehot"),
        ({"frames": 0}, "frames is 0; it must be a whole number from 1 to 16"),
        ({"frames": 17, "obs": "features"}, "frames is 17; it must be a whole number from 1 to 16"),
        ({"frames": 0, "obs": "onehot"}, "frames is 0; it must be a whole number from 1 to 16"),
        ({"frames": True}, "frames is True; it must be a whole number from 1 to 16"),
        ({"pool_factor": 2.5}, "pool_factor is 2.5; it must be a whole number from 1 to 1024"),
        (
            {"pool_factor": 8},
            "pool_factor is 8 and obs is 'packed'; this option works only with obs = 'pooled'",
        ),
        ({"pool_factor": 0, "obs": "pooled"}, "pool_factor is 0; it must be a whole number from 1 to 1024"),
        (
            {"zero_copy": True, "obs": "features"},
            "zero_copy is True and obs is 'features'; this option works only with obs = 'packed'",
        ),
        ({"agent_death": "stay"}, "agent_death is 'stay'; it must be one of remove, keep"),
        ({"action_mask": True}, "action_mask is True; it must be one of obs, info, none"),
        ({"action_format": "box"}, "action_format is 'box'; it must be one of discrete, multi_discrete"),
        ({"end_when": "never"}, "end_when is 'never'; it must be one of game, no_agents"),
        (
            {"render_mode": "rgb"},
            "render_mode is 'rgb'; it must be one of ansi, human, rgb_array",
        ),
        ({"max_cycles": 0}, "max_cycles is 0; it must be a whole number of at least 1"),
        ({"max_cycles": 2.5}, "max_cycles is 2.5; it must be a whole number of at least 1"),
        ({"seats": ("agent",) * 3}, "seats has 3 entries"),
        ({"seats": ("agent", "nobody", "agent", "agent")}, "'nobody'"),
        ({"seats": ("agent", "external", "agent", "agent")}, r"seats\[1\] is 'external'"),
        ({"seats": ("random",) * 4}, "no seat is called 'agent'"),
        ({"num_players": 1}, "num_players is 1; it must be a whole number from 2"),
    ],
)
def test_bad_arguments_are_errors_that_name_them(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        small_env(**arguments)


def test_arguments_that_are_no_field_of_the_config_are_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'hieght'"):
        parallel_env(hieght=24)
    with pytest.raises(TypeError, match="config is 'big'"):
        parallel_env(config="big")


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
