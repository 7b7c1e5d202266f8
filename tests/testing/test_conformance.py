"""The doctor: sound stacks pass all checks, and every check finds the wrapper that breaks it."""

import json
import re
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.utils.wrappers import BaseParallelWrapper

import territorial
from territorial import cli
from territorial.cli.doctor import text_of
from territorial.testing import CHECKS, check_determinism, diagnose, episode_digest, play_episode, stack_of
from territorial.testing.conformance import CheckSetting
from territorial.testing.episodes import episode
from territorial.testing.trainers import traits_of
from tests.env.support import SMALL

GAME = SMALL | {"max_ticks": 500, "obs": "features"}
DEADLY = {
    "height": 16,
    "width": 16,
    "seats": ("agent", "full_sender", "agent", "full_sender"),
    "max_ticks": 600,
}
"""A game in which agents die early."""


def make_game(**options):
    return territorial.parallel_env(**(GAME | options))


def make_kept():
    return make_game(agent_death="keep", action_mask="both", action_format="multi_discrete", **DEADLY)


def make_packed():
    return make_game(obs="packed", action_mask="info")


def make_turns():
    return territorial.env(**GAME)


def make_seat():
    return gymnasium.make("territorial/Territorial-v0", **GAME)


def make_vector():
    return gymnasium.make_vec("territorial/Territorial-v0", num_envs=4, **GAME)


@pytest.mark.parametrize("make", [make_game, make_kept, make_packed, make_turns, make_seat, make_vector])
def test_everything_that_we_ship_passes(make):
    report = diagnose(make, max_steps=12)
    assert report.failures == []
    assert len(report.findings) >= 9
    assert report.skipped.keys() <= {"eliminated agents get nothing"}, "few die in so short an episode"


def test_what_there_was_nothing_to_look_at_for_is_skipped_and_not_passed():
    report = diagnose(lambda: make_game(action_mask="none"), max_steps=5)
    assert report.failures == []
    assert report.skipped == {
        "masks fit the actions": "no masks were shown",
        "masks are up to date": "no masks were shown",
        "eliminated agents get nothing": 'no agent stayed after its elimination, by the "alive" of infos',
    }
    assert len(report.findings) + 3 == len({check.name for check in CHECKS}) - 1
    assert "all 10 checks passed, 3 skipped, in 1.0 s" in text_of(report, 1.0)
    report = diagnose(lambda: TellsNothing(make_game()), max_steps=5)
    assert report.skipped["masks are up to date"].startswith('infos have no "illegal"')
    assert "eliminated agents get nothing" in {
        finding.check for finding in diagnose(make_kept, max_steps=40).findings
    }


def test_a_check_that_needs_a_package_is_skipped_with_the_reason(monkeypatch):
    monkeypatch.setattr("territorial.testing.conformance.find_spec", lambda name: None)
    report = diagnose(make_game, max_steps=5)
    assert report.failures == []
    assert report.skipped["PettingZoo's own test"] == "it needs pytest, which is not installed"
    assert "skipped PettingZoo's own test: it needs pytest" in text_of(report, 1.0)


# ---- wrappers that break one thing each ------------------------------------------------------------


class Wrapper(BaseParallelWrapper):
    """Changes what step returns; ``state`` is where a wrapper may keep something."""

    def step(self, actions):
        return self.change(*self.env.step(actions))

    def change(self, observations, rewards, terminations, truncations, infos):
        return observations, rewards, terminations, truncations, infos


class Crashes(Wrapper):
    def change(self, *results):
        raise KeyError("player_9")


class Doubles(Wrapper):
    def change(self, observations, *others):
        for seen in observations.values():
            seen["observation"] = seen["observation"].astype(np.float64)[:-1]
        return observations, *others


class NewSpaces(Wrapper):
    def action_space(self, agent):
        return spaces.Discrete(self.env.action_space(agent).n)


class Overwrites(Wrapper):
    shown = None

    def change(self, observations, *others):
        for agent, seen in observations.items():
            self.shown = self.shown or {}
            kept = self.shown.setdefault(agent, seen["observation"])
            kept[:] = seen["observation"]
            seen["observation"] = kept
        return observations, *others


class NumpyBools(Wrapper):
    def change(self, observations, rewards, terminations, *others):
        return observations, rewards, {a: np.bool_(end) for a, end in terminations.items()}, *others


class TellsNothing(Wrapper):
    def reset(self, seed=None, options=None):
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, {agent: {} for agent in infos}

    def change(self, *results):
        return *results[:-1], {agent: {} for agent in results[-1]}


class NotFinite(Wrapper):
    def change(self, observations, rewards, *others):
        return observations, {a: np.log(reward * 0.0) for a, reward in rewards.items()}, *others


class FloatMasks(Wrapper):
    def change(self, observations, *others):
        for seen in observations.values():
            seen["action_mask"] = seen["action_mask"].astype(np.float32)
        return observations, *others


class LateMasks(Wrapper):
    last = None

    def change(self, observations, *others):
        for agent, seen in observations.items():
            self.last = self.last or {}
            seen["action_mask"], self.last[agent] = (
                self.last.get(agent, seen["action_mask"]),
                seen["action_mask"],
            )
        return observations, *others


class RewardsTheDead(Wrapper):
    def change(self, observations, rewards, *others):
        return observations, {a: reward + 0.01 for a, reward in rewards.items()}, *others


class LateInfos(Wrapper):
    def change(self, *results):
        for info in results[-1].values():
            info["bonus"] = 1.0
        return results


class Noise(Wrapper):
    def change(self, observations, rewards, *others):
        rng = np.random.default_rng()
        return observations, {a: reward + rng.random() for a, reward in rewards.items()}, *others


class DropsSeed(Wrapper):
    def reset(self, seed=None, options=None):
        return self.env.reset(seed=11, options=options)


class HoldsALambda(Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.scale = lambda reward: reward


class ForgetsAgents(Wrapper):
    def change(self, observations, rewards, *others):
        return observations, dict(list(rewards.items())[1:]), *others


BROKEN = {
    "episodes can be played": (Crashes, "KeyError: 'player_9'"),
    "observations lie in their spaces": (Doubles, r"\['observation'\] has shape \(135,\); its space has"),
    "spaces stay the same objects": (NewSpaces, r"action_space\('player_0'\) is a new object every time"),
    "observations are not overwritten": (Overwrites, "has changed after step 2: .*'player_0'"),
    "rewards and ends are complete": (
        NumpyBools,
        r"terminations has .*, a numpy\.bool_?, not a builtins\.bool",
    ),
    "masks fit the actions": (FloatMasks, "after reset|the mask is of float32"),
    "masks are up to date": (LateMasks, "launches were not legal though masks were obeyed"),
    "eliminated agents get nothing": (RewardsTheDead, "the reward is 0.01 though it is dead"),
    "infos are the same numbers at every time": (LateInfos, "infos have .'bonus'. at times only"),
    "a seed gives one episode": (Noise, r"step 1 differs in rewards\['player_0'\]"),
    "other seeds give other games": (DropsSeed, "shows the same for the seeds 0 to 3"),
    "it can be pickled": (HoldsALambda, "lambda"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_check_finds_the_wrapper_that_breaks_it(name):
    wrapper, message = BROKEN[name]
    is_about_the_dead = name == "eliminated agents get nothing"
    report = diagnose(
        lambda: wrapper(make_kept() if is_about_the_dead else make_game()),
        max_steps=40 if is_about_the_dead else 12,
    )
    (found,) = (finding for finding in report.failures if finding.check == name)
    assert re.search(message, found.problem), found.problem
    assert len(found.advice) > 40
    sound = {finding.check for finding in report.findings if finding.passed}
    assert sound or wrapper is Crashes


class LocksATable(Wrapper):
    """Keeps a table that is read-only but for the moment in which reset() writes into it."""

    def __init__(self, env, size):
        super().__init__(env)
        self.table = np.zeros(size, np.int8)
        self.table.flags.writeable = False

    def reset(self, seed=None, options=None):
        self.write()
        return self.env.reset(seed=seed, options=options)

    def write(self):
        self.table.flags.writeable = True
        self.table += 1
        self.table.flags.writeable = False


class LocksATableAtEnds(LocksATable):
    def reset(self, seed=None, options=None):
        return self.env.reset(seed=seed, options=options)

    def change(self, observations, rewards, terminations, *others):
        if all(terminations.values()):
            self.write()
        return observations, rewards, terminations, *others


class MakesTheTableAnew(LocksATable):
    def __setstate__(self, state):
        self.__dict__.update(state, table=state["table"].copy())


class PlaysAnotherNextGame(Wrapper):
    def __setstate__(self, state):
        self.__dict__.update(state, is_copy=True)

    def reset(self, seed=None, options=None):
        return self.env.reset(seed=(seed or 0) + vars(self).get("is_copy", 0), options=options)


def pickled(make, max_steps=30):
    """Return what the check of pickles finds wrong; nothing if all is well."""
    (check,) = (check for check in CHECKS if check.name == "it can be pickled")
    return check.find(CheckSetting(make, 0, max_steps)) or ""


def make_short():
    return make_game(max_ticks=100)


def test_copies_by_pickle_are_played_past_an_end_and_a_reset():
    message = r"a copy by pickle protocol {}, {}: ValueError: cannot set WRITEABLE flag"
    at_reset, at_end = r"the next reset\(\)", r"step \d+"
    assert re.match(message.format(5, at_reset), pickled(lambda: LocksATable(make_short(), 100)))
    assert re.match(message.format(r"\d", at_reset), pickled(lambda: LocksATable(make_short(), 2000)))
    assert re.match(message.format(5, at_end), pickled(lambda: LocksATableAtEnds(make_short(), 100)))
    assert pickled(lambda: MakesTheTableAnew(make_short(), 2000)) == ""
    told = pickled(lambda: PlaysAnotherNextGame(make_short()))
    assert re.match(
        r"a copy .*, the next reset\(\): observations\['player_0'\].* is not the original's", told
    )


def test_missing_rewards_and_rewards_that_are_no_numbers_are_found():
    for wrapper, message in (
        (ForgetsAgents, "returned no rewards of 'player_0', which acted in it"),
        (NotFinite, "which is not a finite number"),
    ):
        with np.errstate(divide="ignore"):
            report = diagnose(lambda wrapper=wrapper: wrapper(make_game()), max_steps=20)
        (found,) = (f for f in report.failures if f.check == "rewards and ends are complete")
        assert message in found.problem


def test_every_check_is_tried_on_something_broken():
    assert BROKEN.keys() | {"PettingZoo's own test", "Gymnasium's own check"} == {c.name for c in CHECKS}
    report = diagnose(lambda: NewSpaces(make_game()), max_steps=5)
    assert "PettingZoo's own test" in {finding.check for finding in report.failures}


def test_what_keeps_episodes_from_being_played_is_told_once():
    report = diagnose(lambda: Crashes(make_game()), max_steps=5)
    assert [finding.check for finding in report.findings] == ["episodes can be played"]
    assert set(report.skipped.values()) == {"other checks mean little before episodes can be played"}
    assert len(report.skipped) == 12
    told = text_of(report, 1.0)
    assert told.count("player_9") == told.count("other checks mean little") == 1
    assert "1 of 1 checks failed, 12 skipped" in told


class AllowsNothing(Wrapper):
    def change(self, observations, *others):
        for seen in observations.values():
            seen["action_mask"] = np.zeros_like(seen["action_mask"])
        return observations, *others


def test_a_mask_that_allows_nothing_is_named():
    (found,) = diagnose(lambda: AllowsNothing(make_game()), max_steps=5).failures
    assert "the mask allows no action of Discrete(51)" in found.problem


class Doubled(gymnasium.ObservationWrapper):
    def observation(self, observation):
        return {"observation": observation["observation"]}


def test_a_broken_single_environment_fails_gymnasiums_check():
    report = diagnose(lambda: Doubled(make_seat()), max_steps=20)
    assert "Gymnasium's own check" in {finding.check for finding in report.failures}
    (found,) = (f for f in report.failures if f.check == "observations lie in their spaces")
    assert "has the keys ['observation']; its space has ['action_mask', 'observation']" in found.problem


# ---- trainers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dead", ["remove", "keep"])
@pytest.mark.parametrize("mask", ["obs", "info", "both", "none"])
def test_what_a_trainer_meets_is_seen_in_an_episode(mask, dead):
    stack = stack_of(make_game(action_mask=mask, agent_death=dead, **DEADLY))
    traits = traits_of(stack, (step for _, step in episode(stack, 0)))
    assert traits == {"action_mask": mask, "agent_death": dead}


def test_nothing_is_said_of_the_dead_where_nobody_dies():
    stack = stack_of(make_game())
    assert traits_of(stack, (step for _, step in episode(stack, 0, max_steps=3))) == {"action_mask": "obs"}


def test_trainers_that_a_configuration_rules_out_are_named():
    report = diagnose(lambda: make_game(action_mask="info", agent_death="keep", **DEADLY), max_steps=40)
    against = {name for name, problems in report.trainers.items() if problems}
    assert against == {"Tianshou", "PufferLib", "CleanRL's multi-agent loop"}
    told = text_of(report, 1.0)
    assert "trainers that can play it: TorchRL, AgileRL, BenchMARL" in told
    assert 'not with Tianshou: it silently ignores masks in infos; use action_mask="obs"' in told
    assert diagnose(make_seat, max_steps=5).trainers == {}


# ---- episodes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [make_game, make_kept, make_turns, make_seat])
def test_whole_episodes_are_compared_to_the_last_bit(make):
    check_determinism(make, seed=3, episodes=2)
    digest = episode_digest(make(), 3)
    assert digest == episode_digest(make(), 3)
    assert digest != episode_digest(make(), 4)


def test_where_episodes_part_ways_is_named():
    with pytest.raises(
        AssertionError, match=r"two episodes of seed 0 .*: step 1 differs in rewards\['player_0'"
    ):
        check_determinism(lambda: Noise(make_game()))


def test_the_hook_sees_every_step_of_an_episode():
    seen = []
    steps = play_episode(make_game(), 2, lambda actions, step: seen.append((len(actions), len(step.rewards))))
    assert len(seen) == steps > 10
    assert all(acted == rewarded for acted, rewarded in seen)


# ---- on the command line ---------------------------------------------------------------------------

MODULE = """
import territorial

def sound():
    return territorial.parallel_env(height=24, width=24, num_players=4, max_ticks=200, obs="features")

def views():
    return territorial.parallel_env(height=24, width=24, num_players=4, max_ticks=200, zero_copy=True)

def nothing():
    return 3

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "stack_under_test.py"
    path.write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield path
    sys.modules.pop("stack_under_test", None)


def test_the_doctor_says_what_is_well_and_what_is_not(module, capsys):
    assert cli.main(["doctor", f"{module}:sound"]) == 0
    assert re.search(r"all 1\d checks passed", capsys.readouterr().out)
    assert cli.main(["doctor", f"{module}:views", "--max-steps", "20"]) == 1
    shown = capsys.readouterr().out
    assert "FAILED  observations are not overwritten" in shown
    assert "Turn zero_copy off" in shown
    assert "1 of 12 checks failed, 1 skipped" in shown
    assert cli.main(["doctor", f"{module}:views", "--max-steps", "20", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert not result["passed"]
    assert result["kind"] == "PettingZoo, parallel"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("envs", "'envs' is not of the form module:function"),
        ("no_such_module_here:make", "'no_such_module_here' cannot be imported"),
        ("no_such_file.py:make", "there is no file 'no_such_file.py'"),
        ("territorial:number", "territorial has no function 'number'"),
        ("{module}:number", "stack_under_test has no function 'number'"),
        ("{module}:nothing", "the kind of a builtins.int is unknown; it must be a PettingZoo"),
    ],
)
def test_what_cannot_be_diagnosed_is_said(name, message, module, capsys):
    assert cli.main(["doctor", name.format(module=module)]) == 2
    assert message in capsys.readouterr().err


def test_a_module_of_the_folder_one_is_in_is_found(module, monkeypatch):
    monkeypatch.chdir(module.parent)
    assert cli.main(["doctor", "stack_under_test:sound", "--max-steps", "5"]) == 0
