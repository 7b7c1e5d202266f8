"""``check_env``: sound environments pass, and each wrapper that breaks one thing is named."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.utils.wrappers import BaseParallelWrapper

import territorial
from territorial.testing import check_env
from tests.env.support import SMALL

GAME = SMALL | {"max_ticks": 500, "obs": "features"}
DEADLY = {
    "height": 16,
    "width": 16,
    "seats": ("agent", "full_sender", "agent", "full_sender"),
    "max_ticks": 600,
}
"""A game in which agents die early."""
IGNORED = "ignore:.*docs/trainers_other.md"


def make_game(**options):
    return territorial.parallel_env(**(GAME | options))


def make_kept():
    return make_game(agent_death="keep", action_format="multi_discrete", **DEADLY)


SOUND = {
    "features": make_game,
    "kept": make_kept,
    "packed": lambda: make_game(obs="packed", action_mask="info"),
    "pairs": lambda: make_game(obs="pairs"),
    "without masks": lambda: make_game(action_mask="none"),
    "turns": lambda: territorial.env(**GAME),
    "one agent": lambda: gymnasium.make("territorial/Territorial-v0", **GAME),
}


@pytest.mark.filterwarnings(IGNORED)
@pytest.mark.parametrize("name", SOUND)
def test_what_we_ship_passes(name):
    check_env(SOUND[name], max_steps=40 if name == "kept" else 12)


def test_trainers_that_do_not_see_masks_or_misread_the_dead_are_warned_of():
    with pytest.warns(UserWarning, match="docs/trainers_other.md") as warned:
        check_env(lambda: make_game(action_mask="info", **DEADLY), max_steps=60)
    report = [str(one.message) for one in warned if "docs/trainers_other.md" in str(one.message)]
    assert any(text.startswith("Tianshou ignores the masks where masks are in infos") for text in report)
    assert any(
        text.startswith("BenchMARL ends the game where eliminated agents are removed") for text in report
    )
    assert not any(text.startswith("AgileRL fails where masks") for text in report)
    assert {str(one.filename) for one in warned} == {__file__}


# ---- wrappers that break one thing each ------------------------------------------------------------


class Wrapper(BaseParallelWrapper):
    """Changes what step returns."""

    kept = None

    def step(self, actions):
        return self.change(*self.env.step(actions))

    def change(self, observations, rewards, terminations, truncations, infos):
        return observations, rewards, terminations, truncations, infos


class Overwrites(Wrapper):
    def change(self, observations, *others):
        self.kept = self.kept or {agent: seen["observation"] for agent, seen in observations.items()}
        for agent, seen in observations.items():
            self.kept[agent][:] = seen["observation"]
            seen["observation"] = self.kept[agent]
        return observations, *others


class LateMasks(Wrapper):
    def change(self, observations, *others):
        before = self.kept or {agent: seen["action_mask"] for agent, seen in observations.items()}
        self.kept = {agent: seen["action_mask"] for agent, seen in observations.items()}
        for agent, seen in observations.items():
            seen["action_mask"] = before[agent]
        return observations, *others


class DropsSeed(Wrapper):
    def reset(self, seed=None, options=None):
        return self.env.reset(seed=11, options=options)


class HoldsALambda(Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.scale = lambda reward: reward


class PlaysAnotherNextGame(Wrapper):
    def __setstate__(self, state):
        self.__dict__.update(state, kept=True)

    def reset(self, seed=None, options=None):
        return self.env.reset(seed=seed + bool(self.kept), options=options)


class LocksATable(Wrapper):
    """Keeps a table that is read-only but for the moment in which reset() writes into it."""

    def __init__(self, env):
        super().__init__(env)
        self.table = np.zeros(2000, np.int8)
        self.table.flags.writeable = False

    def reset(self, seed=None, options=None):
        self.table.flags.writeable = True
        self.table += 1
        self.table.flags.writeable = False
        return self.env.reset(seed=seed, options=options)


BROKEN = {
    Overwrites: r"overwrites the observations\['player_0'\]",
    LateMasks: "launches by the mask before were not legal",
    DropsSeed: "shows the same for the seeds 0 to 3",
    HoldsALambda: "a copy in an episode: .*lambda",
    PlaysAnotherNextGame: r"a copy by pickle protocol \d parts ways: step",
    LocksATable: "a copy in an episode: ValueError: cannot set WRITEABLE flag",
}


@pytest.mark.filterwarnings(IGNORED)
@pytest.mark.parametrize("wrapper", BROKEN)
def test_a_wrapper_that_breaks_something_is_named(wrapper, monkeypatch):
    monkeypatch.setattr("pettingzoo.test.parallel_api_test", lambda *_, **__: None)  # it finds some of them
    with pytest.raises(AssertionError, match=BROKEN[wrapper]):
        check_env(lambda: wrapper(make_game(max_ticks=100)), max_steps=30)


class Malformed(Wrapper):
    """Changes by functions what reset and step return; other attributes are those that are given."""

    def __init__(self, begin=lambda *parts: parts, change=lambda *parts: parts, make=make_game, **attributes):
        super().__init__(make())
        self.begin, self.change = begin, change
        self.__dict__.update(attributes)

    def reset(self, seed=None, options=None):
        return self.begin(*self.env.reset(seed, options))


def without_first(agents):
    return dict(list(agents.items())[1:])


def seeing(name, change):
    """Return a change of what a step returns: ``change`` of the part ``name`` of every observation."""
    return lambda seen, *others: ({a: one | {name: change(one[name])} for a, one in seen.items()}, *others)


def rewarding(change):
    """Return a change of what a step returns: ``change`` of every reward."""
    return lambda seen, rewards, *others: (seen, {a: change(r) for a, r in rewards.items()}, *others)


FREE = spaces.Dict(
    {"observation": spaces.Box(-np.inf, np.inf, (136,)), "action_mask": spaces.Box(0, 1, (51,))}
)
FREE.contains = lambda _: True
LISTED = "observations, rewards, terminations, truncations, infos"
MALFORMED = [
    (
        {"begin": lambda seen, infos: seen},
        r"^reset\(seed=0\): it returns \['dict'\]; it must return observations, infos",
    ),
    ({"begin": lambda *_: None}, r"^reset\(seed=0\): it returns \['NoneType'\]"),
    ({"begin": lambda seen, infos: (seen, None)}, r"^reset\(seed=0\): infos are None; they must be a dict"),
    (
        {"begin": lambda seen, infos: (without_first(seen), infos)},
        r"there are no observations of \['player_0'\]",
    ),
    ({"begin": lambda seen, infos: (seen, without_first(infos))}, r"there are no infos of \['player_0'\]"),
    ({"begin": lambda seen, infos: (seen, dict.fromkeys(infos))}, "^step 0, 'player_0': its info is None"),
    ({"begin": lambda seen, infos: 1 / 0}, r"^reset\(seed=0\): ZeroDivisionError: division by zero"),
    ({"begin": lambda seen, infos: ({a: [[1], 2] for a in seen}, infos)}, "^step 0, 'player_0': its space"),
    (
        {"change": lambda *parts: parts[:4]},
        f"^step 1: it returns .*; it must return {LISTED}",
    ),
    ({"change": lambda *parts: None}, r"^step 1: it returns \['NoneType'\]"),
    ({"change": lambda seen, *others: ([*seen], *others)}, r"^step 1: observations are \['player_0'"),
    (
        {"change": lambda seen, *others: (without_first(seen), *others)},
        "^step 1: there are no observations of",
    ),
    ({"change": lambda *parts: (*parts[:4], without_first(parts[4]))}, "^step 1: there are no infos of"),
    ({"change": lambda *parts: {}["key"]}, "^step 1: KeyError: 'key'"),
    ({"change": rewarding(lambda _: None)}, "the reward is None"),
    ({"change": rewarding(lambda _: float("nan"))}, "the reward is nan; it must be a finite number"),
    (
        {"change": rewarding(lambda reward: reward + 0.01), "make": make_kept},
        "the reward is 0.01 though it is dead",
    ),
    (
        {"change": rewarding(lambda reward: reward + np.random.default_rng().random())},
        "the seed 0 gives two episodes: step 1 differs at .*player_0",
    ),
    (
        {"change": lambda seen, rewards, *others: (seen, without_first(rewards), *others)},
        r"step 1: there are no rewards of \['player_0'\]",
    ),
    (
        {
            "change": lambda seen, rewards, ends, *others: (
                seen,
                rewards,
                dict.fromkeys(ends, np.True_),
                *others,
            )
        },
        r"terminated and truncated are \['numpy.bool_?', 'builtins.bool'\], not bools",
    ),
    (
        {"change": lambda *parts: (*parts[:4], {a: info | {"bonus": 1.0} for a, info in parts[4].items()})},
        r"infos have \['bonus'\] at times only",
    ),
    (
        {"change": seeing("observation", lambda array: array.astype(np.float64)[:-1])},
        r"step 1, 'player_0': its space .* does not contain .*float64.*\(135,\)",
    ),
    (
        {
            "change": seeing("action_mask", lambda mask: mask.astype(np.float32)),
            "observation_space": lambda agent: FREE,
        },
        "the mask is of float32; Gymnasium samples by int8 alone",
    ),
    ({"change": seeing("action_mask", np.zeros_like)}, "not of 0 and 1, or allows no action"),
    ({"change": seeing("action_mask", lambda _: [1, [0]])}, "^step 1, 'player_0': "),
    ({"change": seeing("action_mask", lambda _: None)}, "^step 1, 'player_0': its space"),
    ({"agents": None}, r"^reset\(seed=0\): agents is None; it must be a list"),
    ({"agents": []}, r"^reset\(seed=0\): it leaves no agents"),
    ({"observation_space": lambda agent: None}, "^step 0, 'player_0': its spaces are None and Disc"),
    ({"observation_space": {}}, "^step 0, 'player_0': TypeError: 'dict' object is not callable"),
    ({"action_space": lambda agent: None}, "^step 0, 'player_0': its spaces are .* and None"),
    ({"action_space": spaces.Discrete}, "^step 0, 'player_0': "),
]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"reset": lambda self, **_: np.zeros(3)}, r"^reset\(seed=0\): it returns \['ndarray'\]; it must"),
        ({"step": lambda self, _: ({}, 0.0, False, {})}, f"^step 1: it returns .* must return {LISTED}"),
        (
            {"step": lambda self, _: (self.seen, 0.0, False, False, None)},
            "^step 1, 'agent': its info is None",
        ),
        (
            {"step": lambda self, _: (self.seen, None, False, False, {})},
            "^step 1, 'agent': the reward is None",
        ),
        ({"step": lambda self, _: [][1]}, "^step 1: IndexError"),
        ({"action_space": None}, "^step 0, 'agent': its spaces are Discrete.2. and None"),
    ],
)
def test_so_does_a_malformed_environment_of_one_agent(broken, message):
    class One(gymnasium.Env):
        observation_space, action_space, seen = spaces.Discrete(2), spaces.Discrete(2), 1

        def reset(self, seed=None, options=None):
            return self.seen, {}

    with pytest.raises(AssertionError) as error:
        check_env(type("Broken", (One,), broken), max_steps=5)
    assert re.search(message, str(error.value)), str(error.value)


@pytest.mark.filterwarnings(IGNORED)
@pytest.mark.parametrize(("broken", "message"), MALFORMED)
def test_what_is_malformed_ends_in_a_sentence_with_its_place(broken, message, monkeypatch):
    monkeypatch.setattr("pettingzoo.test.parallel_api_test", lambda *_, **__: None)  # it finds some of them
    with pytest.raises(AssertionError) as error:
        check_env(lambda: Malformed(**broken), max_steps=40)
    assert re.search(message, str(error.value)), str(error.value)


def test_the_checks_of_pettingzoo_and_gymnasium_are_made():
    class NewSpaces(Wrapper):
        def action_space(self, agent):
            return spaces.Discrete(self.env.action_space(agent).n)

    class Doubled(gymnasium.ObservationWrapper):
        def observation(self, observation):
            return {"observation": observation["observation"]}

    with pytest.raises(AssertionError, match=r"[Ss]pace"):
        check_env(lambda: NewSpaces(make_game()), max_steps=5)
    with pytest.raises(AssertionError):
        check_env(lambda: Doubled(SOUND["one agent"]()), max_steps=5)


@pytest.mark.parametrize("thing", [3, territorial.make_vec(1, **GAME)])
def test_what_is_no_such_environment_is_refused(thing):
    with pytest.raises(TypeError, match="it must be a ParallelEnv, an AECEnv or a gymnasium"):
        check_env(lambda: thing)
    with pytest.raises(TypeError, match="it must be a function that returns a new environment"):
        check_env(thing)


@pytest.mark.filterwarnings(IGNORED)
def test_one_environment_twice_is_refused_and_short_episodes_are_not():
    env = make_game()
    with pytest.raises(AssertionError, match=r"make\(\) returns the same environment twice"):
        check_env(lambda: env)
    check_env(lambda: make_game(max_cycles=2), max_steps=5)
