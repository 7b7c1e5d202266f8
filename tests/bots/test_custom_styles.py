"""Styles as seats: they play as bots of the library do, give to allies, and are refused by name."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

from territorial import LINEUPS, GameConfig, Recorder, Replay, VecGame, bots
from territorial.bots import FreeLand, Gift, Move, Style
from territorial.bots.bot_files import library_bot
from territorial.bots.settings import AS_FREE
from territorial.bots.styles import STYLES
from territorial.bots.targets import BY_FORCE, KILLABLE, THIN
from territorial.engine import players, step
from territorial.engine.seats import FIRST_CUSTOM_CODE
from territorial.jit.decorators import JIT_ENABLED
from tests.bots.support import python_bot
from tests.engine.support import digests
from tests.episodes import advance, after_steps, begun

CONFIG = GameConfig(height=64, width=64, num_players=len(STYLES), map="lakes", max_ticks=3000)
SMALL = GameConfig(height=32, width=32, num_players=4, map="open", max_ticks=3000)
BANKER, HARD = bots.make("banker").style, bots.make("hard").style
MINE = Style(name="mine-1", interval=50, free=FreeLand(send=12), second=Move(from_=100, send=(20, 40)))


def renamed(style, name=None):
    return dataclasses.replace(style, name=name or f"copy of {style.name}")


def mutants(count):
    """Return styles that differ in how much they send."""
    return [
        Style(
            name=f"mutant-{i}",
            interval=40 + i,
            free=FreeLand(send=10 + i / 10),
            second=Move(send=20 + i / 10),
        )
        for i in range(count)
    ]


def played(seats, steps=100, config=CONFIG, num_games=2, **options):
    return after_steps(VecGame(config, num_games, seats=seats, observe=False, **options), steps, seed=5)


SLEEPER = python_bot(lambda view: (np.where(view.legal[:, 0], 0, -1), 100), "sleeper-1")


# ---- playing --------------------------------------------------------------------------------------


def test_a_copy_under_another_name_plays_the_games_of_the_bot_it_is_a_copy_of():
    built_in, copies = played(bots.NAMES, 250), played([renamed(style) for style in STYLES], 250)
    assert copies.seats_of(1) == tuple(f"copy of {name}" for name in bots.NAMES)
    assert digests(copies) == digests(built_in)


def test_a_style_that_says_what_a_bot_of_the_library_says_is_that_bot():
    game = begun(VecGame(SMALL, 1, seats=[BANKER, "banker", "turtle", MINE]), seed=0)
    codes = game.state.seats[0, 1:]
    assert codes[0] == codes[1]
    assert game.seats_of(0) == ("banker-1", "banker-1", "turtle-1", "mine-1")


def test_equal_styles_are_one_and_have_one_row():
    game = begun(VecGame(SMALL, 1, seats=[MINE, copy.deepcopy(MINE), "turtle", "mine-1"]), seed=0)
    assert (game.state.seats[0, 1:].tolist()[:2], game.seats_of(0)[3]) == ([FIRST_CUSTOM_CODE] * 2, "mine-1")
    assert game._players.bot_names == ("mine-1",)


def test_styles_that_come_while_games_are_played_take_part_from_the_next_game_on():
    """More than there was room for: the table moves, and nothing is compiled for that."""
    game = played([MINE, "banker", "turtle", "novice"], 3, SMALL)
    before = compiled()
    population = mutants(3 * players.ROOM)
    for first in range(0, len(population), 4):
        game.set_next_game(0, seats=population[first : first + 4], seed=first)
        game.reset_game(0)
        game.step()
        assert game.seats_of(0) == tuple(style.name for style in population[first : first + 4])
    alone = played(population[-4:], 0, SMALL, num_games=1)
    after_steps(alone, 30, seeds=[len(population) - 4])
    advance(game, 30)
    game.reset_game(0, seed=len(population) - 4)
    advance(game, 30)
    assert game.digest(0) == alone.digest(0)
    assert compiled() == before


def compiled():
    """Return for which types numba has compiled the kernels of a step and of a reset."""
    return [[*one.dispatcher.overloads] for one in (step.step_games, step.reset_game) if JIT_ENABLED]


def test_handicaps_are_those_of_the_style():
    weak, strong = dataclasses.replace(MINE, start=25), renamed(MINE, "strong-1")
    config = SMALL.replace(handicap=True, starting_troops=400)
    game = begun(VecGame(config, 1, seats=[weak, strong, "mine-1", "turtle"]), seed=0)
    assert game.state.troops[0, 1:].tolist() == [100, 400, 100, 400]


# ---- copies ---------------------------------------------------------------------------------------


def test_a_saved_game_is_resumed_by_a_batch_that_knows_other_styles():
    game = played([MINE, *mutants(2), "banker"], 20, SMALL)
    saved = pickle.loads(pickle.dumps(game.save(1)))
    other = played([renamed(MINE, "other-1"), *mutants(2)[::-1], "turtle"], 7, SMALL)
    other.restore(0, saved)
    assert other.seats_of(0) == game.seats_of(1)
    advance(game, 50)
    advance(other, 50)
    assert other.digest(0) == game.digest(1)
    other.reset_game(0)
    assert other.seats_of(0) == ("other-1", "mutant-1", "mutant-0", "turtle-1")


def test_a_saved_game_is_refused_where_its_style_has_the_name_of_another():
    saved = played([MINE, "banker", "turtle", "novice"], 5, SMALL).save(0)
    other = played([dataclasses.replace(MINE, interval=60), "banker", "turtle", "novice"], 5, SMALL)
    before = other.digest(0)
    with pytest.raises(ValueError, match="'mine-1', which belongs to another bot"):
        other.restore(0, saved)
    assert other.digest(0) == before
    with pytest.raises(ValueError, match="hold the code 65536; it has 0 custom bots"):
        other.restore(0, saved._replace(custom=()))
    with pytest.raises(TypeError, match=r"custom\[0\] of the saved game is 'mine-1'; it must be a style"):
        other.restore(0, saved._replace(custom=("mine-1",)))


# ---- what cannot be -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seats", "message"),
    [
        (
            [MINE, dataclasses.replace(MINE, interval=51)],
            "a style has the name 'mine-1', which belongs to another",
        ),
        (
            [renamed(MINE, "banker-1")],
            "a style has the name 'banker-1', which belongs to another",
        ),
        ([renamed(MINE, "banker")], "a style has the name 'banker'"),
        ([renamed(MINE, "agent")], "a style has the name 'agent'"),
        ([renamed(MINE, "warden-1")], "'warden-1', which belongs to another bot"),
        ([SLEEPER, renamed(MINE, "sleeper-1")], "has the name 'sleeper-1', which belongs to another"),
        ([renamed(MINE, "sleeper-1"), SLEEPER], "the bot Mine has the name 'sleeper-1'"),
    ],
)
def test_names_tell_bots_apart(seats, message):
    with pytest.raises(ValueError, match=message):
        VecGame(SMALL, 1, seats=[*seats, *["turtle"] * (4 - len(seats))])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Move(reserve=(90, 60)),
            ValueError,
            r"Move.reserve is \(90, 60\); the lowest must come first: \(60",
        ),
        (
            lambda: Move(reserve=2**31),
            ValueError,
            "Move.reserve is 2147483648; it must be a whole number from 0 to 10",
        ),
        (
            lambda: Move(send=300),
            ValueError,
            "Move.send, in per cent, is 300; it must be a finite number from 0 to 100",
        ),
        (
            lambda: Move(send=(AS_FREE, 3)),
            ValueError,
            r"Move.send\[0\], in per cent, is -1; it must be a finite number from 0",
        ),
        (
            lambda: Move(limit=1.5),
            TypeError,
            "Move.limit is 1.5; it must be a whole number from 0 to 1000000, or a",
        ),
        (
            lambda: Move(limit=(1, 2, 3)),
            ValueError,
            r"Move.limit is \(1, 2, 3\); it must be a number, or a pair",
        ),
        (lambda: Move(kill=None), TypeError, "Move.kill is None; it must be a whole number"),
        (
            lambda: Move(only=1024),
            ValueError,
            "Move.only is 1024; .* a sum of conditions .*NOT_YET, KILLABLE",
        ),
        (lambda: Move(only="thin"), TypeError, "Move.only is 'thin'; it must be .* a sum of conditions"),
        (
            lambda: Move(by=9),
            ValueError,
            "Move.by is 9; it must be a whole number from 0 to 8, a measure of .*BY_F",
        ),
        (lambda: Move(by=(0, 1)), TypeError, r"Move.by is \(0, 1\); it must be a whole number"),
        (lambda: Move(by_percent=101), ValueError, "Move.by_percent is 101"),
        (lambda: Move(spares=1), TypeError, "Move.spares is 1; it must be True or False"),
        (
            lambda: Gift(send=0),
            ValueError,
            r"Gift\.send, in per cent, is 0; it must be a finite number from 0\.1 to 100",
        ),
        (lambda: Gift(send=101), ValueError, r"Gift\.send, in per cent, is 101"),
        (lambda: Gift(limit=-1), ValueError, r"Gift\.limit is -1"),
        (lambda: Gift(from_=(3, 2)), ValueError, r"Gift\.from_ is \(3, 2\); the lowest must come first"),
        (
            lambda: Style(name="kind-1", interval=20, gives="half"),
            TypeError,
            r"Style\.gives is 'half'; it must be a territorial\.bots\.Gift",
        ),
        (
            lambda: FreeLand(send=-1),
            ValueError,
            "FreeLand.send, in per cent, is -1; it must be a finite number from 0 to 100",
        ),
        (
            lambda: FreeLand(send=0.04),
            ValueError,
            "FreeLand.send, in per cent, is 0.04; it must have at most one decimal",
        ),
        (
            lambda: Move(later=(20, 33.33)),
            ValueError,
            r"Move.later\[1\], in per cent, is 33.33; it must have at most one decimal",
        ),
        (lambda: FreeLand(send=True), TypeError, "FreeLand.send, in per cent, is True; .*, or a pair"),
        (
            lambda: Style(name="", interval=1),
            ValueError,
            "a style has the name ''; it must be a string of 1 to 64",
        ),
        (lambda: Style(name="a\n", interval=1), ValueError, r"a style has the name 'a\\n'"),
        (
            lambda: Style(name="a", interval=0),
            ValueError,
            "Style.interval is 0; it must be a whole number from 1",
        ),
        (lambda: Style(name="a", interval=1, jitter=101), ValueError, "Style.jitter is 101"),
        (
            lambda: Style(name="a", interval=1, start=101),
            ValueError,
            "Style.start, in per cent, is 101; .* from 0 to 100",
        ),
        (lambda: Style(name="a", interval=1, idea=1), TypeError, "Style.idea is 1; it must be a string"),
        (
            lambda: Style(name="a", interval=1, first=FreeLand(send=1)),
            TypeError,
            r"Style.first is FreeLand\(.*; it must be a territorial.bots.Move, or None",
        ),
    ],
)
def test_errors_name_the_field_its_value_and_what_it_must_be(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_ends_of_all_ranges_are_allowed_and_stay_whole_numbers():
    style = Style(
        name="e" * 64,
        interval=np.int64(10_000_000),
        opening=(np.int32(0), 10_000_000),
        free=FreeLand(send=100.0, later=np.float32(99.9), surplus=1_000_000),
        second=Move(only=np.int64(1023), by=8, send=np.int64(AS_FREE), kill=[0, 1_000_000]),
        jitter=100,
    )
    for setting in style.settings():
        assert -1 <= setting.low <= setting.high < 2**31
    assert (style.second.kill, style.free.later, FreeLand(send=3 * 0.1).send) == ((0, 1_000_000), 99.9, 0.3)
    assert json.loads(json.dumps(style.to_dict()))["second"]["send"] == "as_free"


# ---- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", [*STYLES, MINE], ids=lambda style: style.name)
def test_a_style_is_itself_after_a_way_through_json(style):
    assert Style.from_dict(json.loads(json.dumps(style.to_dict()))) == style


def test_a_style_is_written_in_words():
    move = Move(only=THIN | KILLABLE, by=BY_FORCE, send=30)
    style = Style(name="a", interval=(10, 20), second=move, gives=Gift(send=(5, 20), limit=5, from_=3))
    written = style.to_dict()
    assert Style.from_dict(json.loads(json.dumps(written))) == style
    assert written["gives"] == {"send": (5, 20), "limit": 5, "from_": 3}
    assert (written["second"]["only"], written["second"]["by"]) == (["killable", "thin"], "force")
    assert Style.from_dict({"name": "a", "interval": [10, 20]}) == Style(name="a", interval=(10, 20))


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([], TypeError, "a style is"),
        ({"name": "a"}, ValueError, "interval"),
        ({"name": "a", "interval": 1, "speed": 3}, ValueError, "speed"),
        ({"name": "a", "interval": 0}, ValueError, "a style: Style.interval is 0"),
        ({"name": "a", "interval": 1, "free": {}}, ValueError, "free.*send"),
        ({"name": "a", "interval": 1, "free": 3}, TypeError, "free is"),
        (
            {"name": "a", "interval": 1, "second": {"by": "forse"}},
            ValueError,
            "second.by is 'forse' .did you mean 'f",
        ),
        (
            {"name": "a", "interval": 1, "second": {"by": 1}},
            ValueError,
            "second.by is 1; it must be one of density, ",
        ),
        ({"name": "a", "interval": 1, "second": {"only": ["fat"]}}, ValueError, "second.only is 'fat'"),
        (
            {"name": "a", "interval": 1, "second": {"only": "thin"}},
            TypeError,
            "second.only is 'thin'; it must be a l",
        ),
        (
            {"name": "a", "interval": 1, "second": {"only": ["thin"] * 2}},
            ValueError,
            "each must be there only once",
        ),
        ({"name": "a", "interval": 1, "third": {"limit": [2, 1]}}, ValueError, "third: Move.limit is"),
    ],
)
def test_files_of_styles_are_read_strictly(values, error, message):
    with pytest.raises(error, match=message):
        Style.from_dict(values)


def test_a_file_of_a_style_is_written_and_read(tmp_path):
    MINE.save(tmp_path / "mine.json")
    assert Style.load(tmp_path / "mine.json") == MINE
    for text, message in (
        ("[1]", "it must be a JSON object"),
        ('{"name": "a", "name": "b", "interval": 1}', "name"),
        ('{"name": "a", "interval": 1' + " " * 2**16 + "}", "more than 65,536 bytes"),
        ('{"name": "a", "interval": 1e400}', "interval|finite|1e400"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match=f"there is no style in .*bad.json.*({message})"):
            Style.load(tmp_path / "bad.json")


# ---- replays --------------------------------------------------------------------------------------


@pytest.mark.parametrize("handicap", [False, True])
def test_replays_name_the_style_and_verify_without_it(handicap):
    """A weak style starts with less: that is in the replay, as its name is not one of the library."""
    seats = [dataclasses.replace(MINE, start=39.1), *mutants(2), "hard"]
    game = VecGame(SMALL.replace(handicap=handicap, max_ticks=600), 1, seats=seats, autoreset="disabled")
    recorder = Recorder(game)
    game.reset(seed=4)
    while not game.state.over[0]:
        game.step()
    replay = Replay.from_bytes(recorder.replay().to_bytes())
    assert replay.seats == ("mine-1", "mutant-0", "mutant-1", "hard-1")
    assert replay.starting_troops == ((200, 512, 512, 128) if handicap else None)
    replay.verify()
    assert len(replay.launches) > 30


@pytest.mark.parametrize("troops", [[0, 1, 1, 1], [1, 1, 1], "1111", [1, 1, 1, 1_000_001], [1, 1, 1, True]])
def test_a_replay_refuses_starting_troops_that_cannot_be(troops):
    game = VecGame(SMALL, 1, seats=[MINE, "banker", "turtle", "novice"], autoreset="disabled")
    recorder = Recorder(game)
    game.reset(seed=4)
    game.step()
    with pytest.raises((TypeError, ValueError), match="starting_troops"):
        dataclasses.replace(recorder.replay(), starting_troops=troops)


# ---- givers ------------------------------------------------------------------------------------------


TEAMS = GameConfig(height=32, width=32, num_players=6, teams=2, team_deal="turn", max_ticks=3_000)
# Rows of the board below, in six strips: seats 1 to 6 from the left.
ROWS = 32


def strips(seats, *, config=TEAMS, troops=None, pools=None):
    """Return a game in which each seat has a strip of the board, about to decide at tick 0."""
    game = begun(VecGame(config, 1, 0, seats=seats, autoreset="disabled", observe=False))
    board = np.tile(np.minimum(1 + np.arange(32) * 6 // 32, 6), (ROWS, 1)).astype(np.uint8)
    board[np.asarray(game.state.owner[0, 1:-1, 1:-1]) == 255] = 255
    game.set_position(0, board, troops=troops or [5_000] * 6, pools=pools or {})
    return game


def first_gift(game, seat):
    """Return whom ``seat`` gives to first, and how much of its balance: (ally, troops, balance)."""
    for _ in range(30):
        before = game.state.troops[0].copy(), game.state.received[0].copy()
        game.step(hold=True)
        if game.state.donated[0, seat]:
            (to,) = np.flatnonzero(game.state.received[0] - before[1])
            return int(to), int(game.state.donated[0, seat]), int(before[0][seat])
    return None


GENEROUS = Style(name="generous-1", interval=1, gives=Gift(), jitter=0)


def test_an_eighth_goes_to_the_ally_that_is_most_under_attack():
    seats = ["generous-1", *["external"] * 5]
    game = strips(
        [GENEROUS, *seats[1:]],
        troops=[8_000, 5_000, 5_000, 5_000, 1_000, 5_000],
        pools={(2, 3): 900, (4, 5): 800, (6, 5): 100},
    )
    to, given, balance = first_gift(game, 1)
    assert to == 5, "900 against 1,000 troops is more than 900 against 5,000"
    assert abs(given - balance // 8) <= balance // 1024 + 1


RICH, EVEN, ATTACK = [8_000, *[5_000] * 5], [5_000] * 6, {(2, 3): 1_000}
CASES = {
    "any attack will do": (Gift(), RICH, ATTACK, True),
    "a tenth is in the field": (Gift(limit=10), RICH, ATTACK, True),
    "a third is not": (Gift(limit=30), RICH, ATTACK, False),
    "it has ten a cell": (Gift(from_=10), RICH, ATTACK, True),
    "it has no hundred a cell": (Gift(from_=100), RICH, ATTACK, False),
    "the ally is as rich": (Gift(), EVEN, ATTACK, False),
    "it is more under attack itself": (Gift(), RICH, ATTACK | {(2, 1): 4_000}, False),
    "an enemy is attacked": (Gift(), RICH, {(1, 2): 1_000, (3, 2): 1_000}, False),
    "nobody is": (Gift(), RICH, {}, False),
    "the ally is full": (Gift(), [*EVEN[:2], TEAMS.hard_cap * 32 * 6, *EVEN[3:]], ATTACK, False),
}


@pytest.mark.parametrize(("gift", "troops", "pools", "gives"), CASES.values(), ids=CASES)
def test_it_gives_to_an_ally_in_need_where_it_is_rich_enough(gift, troops, pools, gives):
    style = dataclasses.replace(GENEROUS, gives=gift)
    game = strips([style, *["external"] * 5], troops=troops, pools=pools)
    assert (first_gift(game, 1) is not None) == gives


@pytest.mark.parametrize("name", bots.GIVERS)
def test_without_teams_a_giver_is_the_bot_that_it_is_made_of(name):
    giver = library_bot(name)
    (model,) = (
        one
        for one in map(bots.make, bots.NAMES)
        if dataclasses.replace(giver, name=one.name, gives=None, idea=one.idea, weakness=one.weakness)
        == one.style
    )
    config = GameConfig(height=32, width=32, num_players=4, max_ticks=1_500)
    games = [
        VecGame(config, 2, 3, seats=[who, "banker", who, "metronome"], observe=False, autoreset="disabled")
        for who in (name, model.name)
    ]
    for game in games:
        after_steps(game, 100)
    assert np.array_equal(games[0].state.owner, games[1].state.owner)
    assert np.array_equal(games[0].state.troops, games[1].state.troops)


@pytest.mark.parametrize("name", bots.GIVERS)
def test_with_teams_they_give_and_the_ledger_says_so(name):
    seats = [name, "besieger", name, "banker", name, "metronome"]
    config = TEAMS.replace(height=64, width=64, max_ticks=8_000)
    game = begun(VecGame(config, 8, 1, seats=seats, observe=False, autoreset="disabled"))
    while not game.state.over.all():
        game.step()
    givers, others = game.state.donated[:, [1, 3, 5]], game.state.donated[:, [2, 4, 6]]
    assert givers.sum() > 0
    assert others.sum() == 0
    assert game.state.donated.sum() == game.state.received.sum()
    assert game.state.illegal[:, [1, 3, 5]].sum() == 0


def test_styles_that_give_nothing_keep_their_digests():
    assert "gives" not in bots.make("besieger").style.to_dict()
    assert dataclasses.replace(GENEROUS, gives=None).digest != GENEROUS.digest


def test_the_line_up_of_teams_is_four_times_the_same_eight():
    seats = LINEUPS["teams-4x8"].seats
    assert seats == seats[:8] * 4
    assert set(seats) & set(bots.GIVERS)
    game = begun(VecGame(GameConfig(teams=4), 1, seats=seats, observe=False), seed=0)
    assert [len(set(seats[8 * t : 8 * t + 8])) for t in range(4)] == [8] * 4
    assert list(game.state.team[0, 1:]) == [1 + seat // 8 for seat in range(32)]
