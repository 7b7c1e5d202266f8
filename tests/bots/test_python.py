"""Bots in Python: the same idea plays the same game as in the engine, whatever happens to the batch."""

import runpy

import numpy as np
import pytest

from territorial import GameConfig, VecGame, bots, constants, parallel_env
from territorial.bots import HOLD_ALL, PythonBot, settings
from tests.bots.support import FACE_TO_FACE, python_bot
from tests.engine.support import ROOT, digests, game_on, seat_values
from tests.episodes import advance, after_steps, begun

CONFIG = GameConfig(height=72, width=70, num_players=8, map="lakes", max_ticks=3000)


class Turtle(PythonBot):
    """The bot turtle-1, written again."""

    name = "tortoise-1"
    interval = 70

    def decide(self, view):
        troops, land = view.own(view.troops), view.own(view.land)
        answers = view.legal & (view.attacks > 0) & (view.troops + view.attacks < troops[:, None])
        attacker = view.least(-view.attacks, among=answers)
        answer = np.minimum(troops // 2, troops - 80 * land)
        targets = np.where(self.can(view, attacker, answer), attacker, HOLD_ALL)
        amount = answer
        takes = (targets == HOLD_ALL) & view.legal[:, 0]
        targets, amount = np.where(takes, 0, targets), np.where(takes, troops * 10 // 100, amount)
        thinnest = view.least(view.troops, view.land)
        surplus = troops - 100 * land
        spends = (targets == HOLD_ALL) & (troops >= 120 * land) & self.can(view, thinnest, surplus)
        targets, amount = np.where(spends, thinnest, targets), np.where(spends, surplus, amount)
        return np.where(amount > 0, targets, HOLD_ALL), view.fraction(amount)

    def can(self, view, targets, amount):
        return (targets != HOLD_ALL) & (amount >= view.needs[view.rows, np.maximum(targets, 0)])


class Wildcard(PythonBot):
    """The bot random-1, written again: draws of its own."""

    name = "wildcard-1"
    interval = 1

    def decide(self, view):
        holds = view.draw(256) % np.uint64(10) != 0
        count = view.legal.sum(axis=1)
        chosen = view.draw(257) % np.maximum(count, 1).astype(np.uint64)
        is_chosen = view.legal & (view.legal.cumsum(axis=1) == chosen.astype(np.int64)[:, None] + 1)
        fractions = np.array(constants.FRACTIONS)[(view.draw(258) % np.uint64(10)).astype(int)]
        return np.where(holds | (count == 0), HOLD_ALL, is_chosen.argmax(axis=1)), fractions


class Counter(PythonBot):
    """Holds, and counts its decisions and the seats that it was asked for together."""

    name = "counter-1"
    interval = 30

    def decide(self, view):
        view.memory[:, 0] += 1
        view.memory[:, 1] = len(view.rows)
        return HOLD_ALL, 1


def play(seats, steps=300, num_games=4, config=CONFIG, **options):
    return after_steps(VecGame(config, num_games, seats=seats, observe=False, **options), steps, seed=9)


# ---- the same game ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("python", "compiled"), [(Turtle(), "turtle-1"), (Wildcard(), "random-1")])
def test_a_bot_plays_the_same_game_in_python_as_in_the_engine(python, compiled):
    """Among other bots, over several games of each slot; launches that were not legal would be counted."""
    others = ["banker", "novice", "impossible", "vulture"]
    one, other = (play([bot] * 4 + others, steps=700) for bot in (python, compiled))
    assert digests(one) == digests(other)
    for name in ("episode", "wake", "illegal", "raised", "bounced"):
        assert np.array_equal(getattr(one.state, name), getattr(other.state, name))
    assert one.state.episode.min() >= 1
    assert (one.state.illegal.sum(), one.seats_of(0)[:5]) == (0, (*[python.name] * 4, "banker-1"))


def test_its_games_are_the_same_alone_and_on_threads():
    seats = [Wildcard(), *["turtle"] * 4, "external", Turtle(), "random"]
    batch, threaded, alone = (play(seats, num_games=n, num_threads=t) for n, t in ((3, 1), (3, 2), (1, 1)))
    assert (digests(batch), batch.digest(0)) == (digests(threaded), alone.digest(0))


def test_a_saved_game_needs_the_same_bots():
    saved = play([Wildcard()] * 8, steps=1).save(0)
    for seats, found in (
        (["turtle"] * 8, "this batch has none"),
        ([Turtle()] * 8, "this batch has tortoise-1"),
    ):
        with pytest.raises(ValueError, match=found):
            play(seats, steps=1).restore(0, saved)
    play([Wildcard()] * 8, steps=1).restore(0, saved)


def test_it_sits_among_the_agents_of_an_environment():
    env = parallel_env(config=CONFIG, seats=["agent", Turtle(), "turtle", *["agent"] * 5])
    assert env.possible_agents == ["player_0", *(f"player_{i}" for i in range(3, 8))]
    env.reset(seed=1)
    for _ in range(60):
        env.step(dict.fromkeys(env.agents, 0))
    assert env.game.state.taken[0, 2, 0] > 100
    assert env.game.state.land[0, 1] <= 12, "who holds takes nothing"


# ---- when it is asked, and what it sees ---------------------------------------------------------------


def test_it_decides_once_an_interval_and_what_it_remembers_is_forgotten_with_the_game():
    game = play([Counter()] * 8, steps=150, config=CONFIG.replace(decision_every=1, max_ticks=200))
    decided = game.state.memory[:, 1:, settings.LAUNCHES]
    assert set(np.unique(decided)) <= {4, 5}
    assert (game.state.memory[:, 1:, settings.INTERVAL] == 30).all()
    assert game.state.memory[:, 1:, settings.LAUNCHES + 1].max() > 1, "asked for several seats at once"
    advance(game, 60)
    assert (game.state.episode == 1).all()
    assert decided.max() <= 1


def test_a_bot_whose_seat_is_given_to_another_is_asked_no_more():
    game = play([Counter()] * 8, steps=10)
    game.set_seats(2, ["turtle"] * 8)
    after_steps(game, 20)
    assert game.seats_of(2) == ("turtle-1",) * 8
    assert game.state.memory[1:3, 1, settings.INTERVAL].tolist() == [30, 70]


def test_it_sees_the_position_by_the_numbers_of_the_seats():
    views = []
    looker = python_bot(lambda view: views.append(view) or (HOLD_ALL, 1))
    pools = {(1, 2): 70, (2, 1): 30, (2, 3): 40}
    game = game_on(
        FACE_TO_FACE, (500, 900, 700), seats=["external", looker, "external"], pools=pools, tick=1000
    )
    game.state.taken[0, 3, 2] = 9
    game.state.peak[0, 3] = 60
    fronts, needs, legal = game.fronts(0)
    expected = {
        "ticks": [1000],
        "num_land": [96],
        "troops": [[0, 500, 900, 700]],
        "land": [[0, 32, 32, 32]],
        "peak": [[0, 32, 32, 60]],
        "alive": [[False, True, True, True]],
        "fronts": [fronts[2].tolist()],
        "sent": [[0, 30, 0, 40]],
        "attacks": [[0, 70, 0, 0]],
        "taken": [[0, 0, 0, 0]],
        "lost": [[0, 0, 0, 9]],
        "needs": [needs[2].tolist()],
        "legal": [legal[2].tolist()],
    }
    seen = bots.View(game.blocks, game.config, np.array([0]), np.array([2]))
    for name, values in expected.items():
        assert getattr(seen, name).tolist() == values, name
    assert seen.own(seen.troops).tolist() == [900]
    assert [seen.fraction([troops]).tolist() for troops in (1, 0, 10_000)] == [[2], [1], [1024]]
    game.step(hold=True)
    assert (views[0].games.tolist(), views[0].seats.tolist()) == ([0], [2])


def test_least_compares_fractions_exactly_and_draws_lots_between_equals():
    game = play(["turtle"] * 8, steps=3, num_games=200)
    games, seats = np.arange(200), np.full(200, 4)
    seen = bots.View(game.blocks, CONFIG, games, seats)
    over = np.broadcast_to(np.array([0, 10**9, 10**9 + 1, 3, 1, 2, 9, 9, 9]), (200, 9))
    under = np.broadcast_to(np.array([1, 10**9 + 1, 10**9 + 2, 1, 1, 2, 1, 1, 1]), (200, 9))
    among = np.broadcast_to(np.array([1, 1, 1, 1, 0, 1, 1, 1, 1], bool), (200, 9))
    assert (seen.least(over, under, among) == 1).all()
    tied = over.copy()
    tied[:, 1] = under[:, 1]
    tied[:, 2] = 2 * under[:, 2]
    chosen = seen.least(tied, under, among)
    assert set(chosen.tolist()) == {1, 5}
    assert 60 < (chosen == 1).sum() < 140
    assert (seen.least(over, under, np.zeros((200, 9), bool)) == HOLD_ALL).all()


# ---- what cannot be -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "decide.. of mine-1 returned 'None'; it must be a tuple of targets and 1024ths"),
        ((0,), "it must be a tuple"),
        ((0.5, 1), "targets of decide.* has dtype float64; it must hold whole numbers"),
        (([0, 0], 1), r"targets of decide.* has shape \(2,\); it must be \(8,\)"),
        ((0, 0), r"1024ths of decide.*\[0\] is 0; it must be from 1 to 1024"),
        ((0, 1025), r"1024ths of decide.*\[0\] is 1025"),
        ((9, 1), r"targets of decide.*\[0\] is 9; it must be from -1 to 8"),
        ((-2, 1), r"targets of decide.*\[0\] is -2"),
    ],
)
def test_an_answer_that_cannot_be_is_refused_and_nothing_is_played(answer, message):
    game = begun(VecGame(CONFIG, 1, seats=[python_bot(lambda _: answer)] * 8))
    with pytest.raises((TypeError, ValueError), match=message):
        game.step()
    assert game.state.tick[0] == 0


def test_an_answer_may_be_one_number_for_all():
    game = play([python_bot(lambda _: (0, 512))] * 8, steps=1, num_games=1)
    assert (np.array(seat_values(game, "troops")) < 300).all()
    assert play([python_bot(lambda _: (HOLD_ALL, 0))] * 8, steps=1, num_games=1).state.tick[0] == 10


@pytest.mark.parametrize(
    ("bot", "error", "message"),
    [
        (
            python_bot(None, "turtle"),
            ValueError,
            "the name 'turtle', which belongs to another bot",
        ),
        (python_bot(None, "turtle-1"), ValueError, "'turtle-1', which belongs to another"),
        (python_bot(None, "agent"), ValueError, "'agent', which belongs to another"),
        (python_bot(None, ""), ValueError, "has the name ''; it must be a string of 1 to 64 characters"),
        (python_bot(None, "a\n"), ValueError, "it must be a string"),
        (python_bot(None, None), ValueError, "has the name None"),
        (python_bot(None, "x", 0), ValueError, "interval of the bot Mine is 0"),
        (python_bot(None, "x", 1.5), TypeError, "interval of the bot Mine is 1.5"),
    ],
)
def test_a_bot_that_cannot_be_told_from_others_or_has_no_clock_is_refused(bot, error, message):
    with pytest.raises(error, match=message):
        VecGame(CONFIG, 1, seats=[bot] * 8)


def test_two_bots_of_one_name_are_refused_and_one_may_have_many_seats():
    with pytest.raises(ValueError, match="'x', which belongs to another"):
        VecGame(CONFIG, 1, seats=[python_bot(None, "x"), python_bot(None, "x"), *["turtle"] * 6])
    game = VecGame(CONFIG, 1, seats=["turtle"] * 8)
    with pytest.raises(ValueError, match="must be one of"):
        game.set_seats(0, ["tick-tock-1"] * 8)


@pytest.mark.checkout
def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples/python_bot.py"), run_name="__main__")
    rows = capsys.readouterr().out.splitlines()
    assert (len(rows), sum(row.startswith("patient-1") for row in rows)) == (8, 2)
