"""Steps of several decisions: what they give equals as many steps of one decision, the later ones holding."""

from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest

from territorial import GameConfig, Recorder, VecGame
from territorial.bots import PythonBot
from territorial.engine.step import WHOLE
from territorial.jit.thread_pool import ThreadPool
from territorial.observation.action_encoding import NO_TARGET
from tests.engine.support import board, digests, state_equal
from tests.episodes import advance, begun, random_actions

CONFIG = GameConfig(
    height=24,
    width=24,
    num_players=5,
    max_ticks=500,
    map="lakes",
    rewards={"land": 1.0, "placement": 0.7, "survival_zero_sum": 0.3, "kills": 0.1},
)
SEATS = ("agent", "agent", "opportunist", "agent", "random")
GAMES, CALLS, FRAMES = 3, 26, 3
SUMMED = ("rewards", "reward_parts")
ANY = ("terminated", "truncated", "ended", "is_over", "is_cut", "was_reset")
FINAL = ("final_place", "final_players", "final_length")


class Neighbour(PythonBot):
    """A bot in Python that attacks with a third of its troops, and counts how often it was asked."""

    name, interval = "neighbour-1", 20

    def __init__(self, failing=None):
        self.asked, self.failing = 0, failing

    def decide(self, view):
        self.asked += 1
        if self.asked == self.failing:
            raise OSError("the bot has failed")
        return view.least(view.troops), 341


def batch(games, seats=SEATS, **options):
    return VecGame(CONFIG, games, seats=seats, **options)


@pytest.fixture
def compiled_steps(monkeypatch):
    """Return a list that has an entry for each compiled step of any batch."""
    steps, run = [], ThreadPool.run

    def counted(*call):
        steps.append(call)
        run(*call)

    monkeypatch.setattr(ThreadPool, "run", counted)
    return steps


def seed_of(k, episode):
    return 1000 * k + episode + 3


def name_next_seeds(game, first=0):
    """Let game ``k`` play its next episode with a seed that does not depend on the batch."""
    for k in range(game.num_games):
        game.set_next_game(k, seed=seed_of(first + k, int(game.state.episode[k]) + 1))


def begin(game, first=0):
    game.reset(seeds=[seed_of(first + k, 0) for k in range(game.num_games)])


class ByHand:
    """Game ``k`` alone, stepped decision by decision: what one step of the batch is to give."""

    def __init__(self, k, seats, **options):
        self.k, self.game = k, batch(1, seats, frames=1, **options)
        begin(self.game, k)
        self.boards = [board(self.game)] * FRAMES

    def step(self, actions, repeat):
        """Play up to ``repeat`` decisions, the first with ``actions``; return what they give together."""
        name_next_seeds(self.game, self.k)
        sums = None
        for i in range(repeat):
            self.game.step(actions[None] if i == 0 else None, hold=i > 0)
            results = self.game.results._asdict()
            self.note_launches(is_first=sums is None)
            one = {name: results[name][0].copy() for name in (*SUMMED, *ANY, *FINAL)}
            if sums is not None:
                one |= {name: sums[name] + one[name] for name in SUMMED}
                one |= {name: sums[name] | one[name] for name in ANY}
            sums = one
            if results["is_over"][0] or results["was_reset"][0]:
                break
        self.boards = [board(self.game)] * FRAMES if sums["was_reset"] else [board(self.game), *self.boards]
        return sums

    def note_launches(self, *, is_first):
        """Keep the last launch of every seat since the first decision of a step."""
        found = [array[0].copy() for array in self.game.launches()]
        has_launched = found[0] != NO_TARGET
        before = found if is_first else self.launches
        self.launches = [np.where(has_launched, now, then) for now, then in zip(found, before, strict=True)]


def assert_same_boards(game, k, boards):
    """The stack shows the boards of calls, and the delta what changed since the last call."""
    seen = game.observations
    bits = np.unpackbits(seen.planes[k], axis=-1, bitorder="little")[..., : CONFIG.width]
    codes = (bits.astype(np.uint8) << np.arange(bits.shape[1], dtype=np.uint8)[:, None, None]).sum(1)
    blocked = board(game, k) == 255
    for i, xor in enumerate(codes):
        wanted = boards[0] if i == 0 else boards[i - 1] ^ boards[i]
        np.testing.assert_array_equal(xor[~blocked], wanted[~blocked], err_msg=f"entry {i}")
    count = int(seen.delta_count[k])
    if count >= 0:
        cells = np.flatnonzero(boards[0] != boards[1])
        order = np.argsort(seen.delta_index[k, :count])
        np.testing.assert_array_equal(seen.delta_index[k, :count][order], cells)
        np.testing.assert_array_equal(seen.delta_code[k, :count][order], boards[0].ravel()[cells])
    return count


def assert_same_tables(seen, k, other):
    for name in ("players", "borders", "globals", "masks"):
        left, right = getattr(seen, name)[k], getattr(other, name)[0]
        np.testing.assert_array_equal(left, right, err_msg=name)


def listening(game, how):
    """Let ``how`` look on; return what ``step_unchecked`` is to be given as well."""
    if how == "recorder":
        Recorder(game)
    return {"hook": Mock()} if how == "hook" else {}


SEATS_OF = {"bot in Python": ("agent", "agent", Neighbour(), "agent", "random")}
WAYS = ("compiled", "recorder", "hook", "bot in Python")
RULES = list(product(("same_step", "next_step", "disabled"), ("game", "no_agents"), (None, 33)))
CASES = [
    pytest.param(*rules, how, marks=[] if (i + j) % len(WAYS) == 0 else pytest.mark.verify)
    for i, rules in enumerate(RULES)
    for j, how in enumerate(WAYS)
]


@pytest.mark.parametrize(("autoreset", "end_when", "max_cycles", "how"), CASES)
def test_a_step_of_several_decisions_equals_as_many_steps_that_hold_after_the_first(
    autoreset, end_when, max_cycles, how
):
    options = {"autoreset": autoreset, "end_when": end_when, "max_cycles": max_cycles}
    seats = SEATS_OF.get(how, SEATS)
    game = batch(GAMES, seats, frames=FRAMES, num_threads=2, **options)
    begin(game)
    listeners = listening(game, how)
    alone = [ByHand(k, seats, **options) for k in range(GAMES)]
    rng, seen = np.random.default_rng(7), dict.fromkeys((*ANY, "listed", "dead inside"), 0)
    for call in range(CALLS):
        repeat = (1, 2, 5, 7)[call % 4]
        actions = random_actions(game, rng, 0.8)
        game.actions[...] = actions
        name_next_seeds(game)
        results = game.step_unchecked(repeat, **listeners)._asdict()
        for k, one in enumerate(alone):
            wanted = one.step(actions[k], repeat)
            for name, value in wanted.items():
                if name not in FINAL or wanted["is_over"]:
                    np.testing.assert_array_equal(results[name][k], value, err_msg=name)
            for name in ANY:
                seen[name] += int(np.any(wanted[name]))
            assert (game.num_cycles[k], game.digest(k)) == (one.game.num_cycles[0], one.game.digest(0))
            assert state_equal(game, one.game, k, 0)
            for found, launched in zip(game.launches(), one.launches, strict=True):
                np.testing.assert_array_equal(found[k], launched)
            assert_same_tables(game.observations, k, one.game.observations)
            if wanted["is_over"]:
                last, of_one = game.final_observations, one.game.final_observations
                assert_same_tables(last, k, of_one)
                np.testing.assert_array_equal(last.planes[k, 0], of_one.planes[0, 0])
            seen["listed"] += assert_same_boards(game, k, one.boards) > 0
            seen["dead inside"] += bool(wanted["terminated"].any() and not wanted["is_over"])
    can_happen = seen | ({} if max_cycles else {"truncated": 1, "is_cut": 1})
    can_happen |= {"was_reset": 1} if autoreset == "disabled" else {}
    can_happen |= {"ended": 1, "dead inside": 1} if max_cycles or end_when == "no_agents" else {}
    assert min(can_happen.values()) > 0, seen


# ---- one compiled call, or as many as there are decisions ---------------------------------------------


@pytest.mark.parametrize(("how", "number"), list(zip(WAYS, (1, 6, 6, 6), strict=True)))
def test_decisions_are_one_compiled_call_unless_python_takes_part_between_them(how, number, compiled_steps):
    game = begun(batch(2, SEATS_OF.get(how, SEATS)))
    compiled_steps.clear()
    listeners = listening(game, how)
    game.step_unchecked(5, **listeners)
    assert len(compiled_steps) == number  # one a decision, and one that observes
    assert game.state.tick.tolist() == [50, 50]
    if how == "hook":
        hook = listeners["hook"]
        assert (hook.before_decision.call_count, hook.after_decision.call_count) == (5, 5)


def test_a_bot_in_python_that_left_its_seat_costs_no_calls(compiled_steps):
    game = batch(1, SEATS_OF["bot in Python"])
    game.set_seats(0, SEATS)
    game.reset()
    compiled_steps.clear()
    game.step(repeat=5, hold=True)
    assert len(compiled_steps) == 1


def test_no_decision_is_asked_for_once_all_games_have_ended():
    game, hook = batch(2, max_cycles=3), Mock()
    game.reset()
    game.step_unchecked(10**9, hook)
    assert hook.after_decision.call_count == 3
    assert game.results.is_cut.all()


def test_a_game_between_two_decisions_is_played_to_the_next_one_first():
    game, alone = batch(1), batch(1)
    for one in (game, alone):
        one.reset(seed=1)
        one.tick(0)
    game.step(repeat=3)
    advance(alone, 3)
    assert (digests(game), game.state.tick.tolist()) == (digests(alone), [30])


def test_replays_are_those_of_single_decisions():
    replays = []
    for repeat in (1, 6):
        game, found = batch(2, ("opportunist", "random", "metronome", *SEATS[3:])), []
        with Recorder(game, lambda k, replay, found=found: found.append((k, replay)), checkpoint_every=50):
            game.reset(seed=2)
            for _ in range(120 // repeat):
                game.step(repeat=repeat, hold=True)
        assert all(replay.verify() is None for _, replay in found)
        replays.append({(k, replay.seed): replay.digest for k, replay in found if replay.is_over})
    single, several = replays
    assert len(several) >= 2
    assert several.items() <= single.items()


# ---- failures -----------------------------------------------------------------------------------------


def test_a_failure_inside_leaves_the_decisions_played_before_it_observed_and_summed():
    bots = Neighbour(failing=3), Neighbour()
    game, alone = (batch(1, ("agent", "agent", bot, "agent", "random"), frames=2) for bot in bots)
    for one in (game, alone):
        one.reset(seed=4)
    with pytest.raises(OSError, match="the bot has failed"):
        game.step(repeat=40, hold=True)
    rewards = np.zeros(5, np.float32)
    decisions = int(game.num_cycles[0])
    for _ in range(decisions):
        rewards += alone.step(hold=True)[1][0]
    assert decisions > 2
    assert game.digest(0) == alone.digest(0)
    np.testing.assert_array_equal(game.results.rewards[0], rewards)
    np.testing.assert_array_equal(game.observations.planes[0, 0], alone.observations.planes[0, 0])
    assert_same_tables(game.observations, 0, alone.observations)
    for one in (game, alone):
        one.step(repeat=2, hold=True)
    np.testing.assert_array_equal(game.observations.planes, alone.observations.planes)


def test_a_bot_that_fails_at_once_changes_nothing():
    game = begun(batch(1, ("agent", "agent", Neighbour(failing=2), "agent", "random"), frames=2), seed=4)
    while game._players.python_bots[0].asked == 0 or game.state.wake[0, 3] > game.state.tick[0]:
        game.step(hold=True)
    before, seen = game.clone(), [array.copy() for array in game.observations]
    with pytest.raises(OSError, match="the bot has failed"):
        game.step(repeat=3, hold=True)
    assert state_equal(before, game)
    assert all(map(np.array_equal, game.observations, seen))


@pytest.mark.parametrize("max_cycles", [None, 2])
def test_a_call_interrupted_twice_is_completed_by_the_next(monkeypatch, max_cycles):
    game, alone = (batch(1, max_cycles=max_cycles) for _ in range(2))
    for one in (game, alone):
        one.reset(seed=6)
    steps, run = iter(range(100)), ThreadPool.run

    def interrupted(*call):
        if next(steps) >= 2:
            raise KeyboardInterrupt
        run(*call)

    monkeypatch.setattr(ThreadPool, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):  # in the third decision, and in observing what there was so far
        game.step_unchecked(5, Mock())
    monkeypatch.undo()
    advance(alone, 2)
    for one in (game, alone):
        one.step(repeat=1, hold=True)
    assert digests(game) == digests(alone)
    np.testing.assert_array_equal(game.observations.planes, alone.observations.planes)
    game.step(hold=True)
    assert list(game._arrays.call.numbers) == [1, WHOLE]
