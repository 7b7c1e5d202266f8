"""The idea of each bot of the library on a board drawn by hand; those of the first five: test_bots."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame, bots
from territorial.bots import settings
from territorial.replay import Recorder, Replay
from tests.bots.support import (
    CALM,
    FACE_TO_FACE,
    FREE_LAND,
    LATER,
    after_a_decision,
    decisions,
    launches_of,
    percent,
)
from tests.engine.support import NEVER, board, game_on, rows_of
from tests.twin import ReferenceGame

FIRST, SECOND = settings.MOVES, settings.MOVES + settings.MOVE_SIZE
BESIDE_FREE_LAND = rows_of(*["112233"] * 15, "......")
"""2 lies between 1 and 3, 30 cells each, and all border free land."""
RING = rows_of(*["112233" + "44" * 3] * 8, *["112233" + "22" * 3] * 7, "." * 12)
"""2 with 72 cells borders free land and 1, 3 and 4, with 30, 30 and 48."""
WIDE = rows_of(*["1" * 10 + "2233"] * 16)
"""2 borders 1, with 160 cells, and 3, with 32 as it has itself."""


def told(game, p, column):
    """Return a setting of the bot on seat ``p``."""
    return int(game.state.memory[0, p, column])


def spare(game, p, troops, land, move=SECOND):
    """Return what ``p`` had to send above the reserve of a move."""
    return pytest.approx(troops - told(game, p, move + settings.RESERVE) * land, abs=troops // 1024 + 1)


def finishing(game, p, troops, land, move=FIRST):
    """Return as much as a move sends at most at who has ``troops`` on ``land`` cells."""
    price = (18 * troops + 15 * land) // 10
    return pytest.approx(price * told(game, p, move + settings.KILL) // 100, abs=20)


def about(value):
    """Return the numbers that a seat may draw for ``value``."""
    return range(value - value // 10, value + value // 10 + 1)


def drawn(name):
    """Return the settings of a bot on seat 2 of a position that is drawn with three seats."""
    game = game_on(FACE_TO_FACE, (1, 1, 1), seats=["external", name, "external"])
    return game.state.memory[0, 2].tolist()


def shares(game, p, troops):
    """Return {target: thousandths of ``troops``} of what ``p`` has sent, the rounding taken off."""
    return {t: round(1000 * n / troops) for t, n in launches_of(game, p).items()}


def sends(name, drawing, troops, p=2, **fields):
    """Return what a bot on seat ``p`` sends, and the game."""
    seats = ["external"] * (p - 1) + [name]
    game = after_a_decision(drawing, troops, seats, **fields)
    return launches_of(game, p, fields.get("pools")), game


# ---- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("very_easy", 980, 980),
        ("easy", 980, 980),
        ("normal", 825, 825),
        ("hard", 500, 500),
        ("very_hard", 300, 500),
        ("impossible", 300, 500),
    ],
)
def test_levels_send_their_share_at_free_land_first(name, low, high):
    game = after_a_decision(rows_of(*["1122.."] * 16), (10, 3000), ["external", name])
    ((target, share),) = shares(game, 2, 3000).items()
    assert target == 0
    assert low - 1 <= share <= high + 1


LEVELS = ("very_easy", "easy", "normal", "hard", "very_hard", "impossible")


@pytest.mark.parametrize("name", LEVELS)
def test_levels_let_an_attack_run_and_turn_to_another_target(name):
    """2 attacks free land and 1 already, so it attacks 3 though that is stronger and farther away."""
    drawing = rows_of(*["112233333333"] * 15, "." * 12)
    pools = {(2, 0): 500, (2, 1): 500}
    sent, _ = sends(name, drawing, (10, 2500, 2400), pools=pools)
    assert set(sent) == {3}


@pytest.mark.parametrize("drawing", [BESIDE_FREE_LAND, FACE_TO_FACE])
@pytest.mark.parametrize(
    ("name", "first", "last", "fall"),
    [
        ("very_easy", (980, 980), (980, 980), 0),
        ("easy", (980, 980), (920, 920), 3),
        ("normal", (825, 825), (750, 750), 3),
        ("hard", (500, 500), (500, 500), 0),
        ("very_hard", (300, 500), (100, 300), 2),
        ("impossible", (300, 500), (50, 150), 8),
    ],
)
def test_what_a_level_sends_falls_with_every_launch_alike_at_free_land_and_at_players(
    name, first, last, fall, drawing
):
    game = game_on(drawing, (100, 2000, 100), seats=["external", name, "external"], **CALM)
    owner, found, counts = board(game), [], (0, 1, 5, 1000)
    for launches in counts:
        game.set_position(0, owner, tick=LATER, troops=(1000, 2000, 1000), next_step=[NEVER] * 3)
        game.state.memory[0, 2, settings.LAUNCHES] = launches
        game.step()
        found += shares(game, 2, 2000).values()
        assert told(game, 2, settings.LAUNCHES) == launches + 1
    drawn, lowest = told(game, 2, settings.FREE), told(game, 2, settings.FREE_LATER)
    assert first[0] <= drawn <= first[1]
    assert last[0] <= lowest <= last[1]
    expected = [max(lowest, drawn - fall * launches) for launches in counts]
    assert np.abs(np.array(found) - expected).max() <= 1


@pytest.mark.parametrize("name", ["very_hard", "impossible"])
def test_the_shares_of_the_highest_levels_are_drawn_for_each_seat(name):
    config = GameConfig(height=48, width=48, num_players=8, map="open")
    game = VecGame(config, 4, seats=[name] * 8, observe=False)
    game.reset()
    for column in (settings.FREE, settings.FREE_LATER):
        assert len(np.unique(game.state.memory[:, 1:, column])) > 20


@pytest.mark.parametrize(
    ("name", "weakest"),
    [("very_easy", 0), ("easy", 0), ("normal", 5), ("hard", 25), ("very_hard", 50), ("impossible", 100)],
)
def test_a_level_chooses_the_weakest_instead_of_the_nearest_so_many_times_in_a_hundred(name, weakest):
    """3 lies nearest to 2, 1 is weakest."""
    drawing = rows_of(*["1" * 12 + "2233"] * 16)
    sent = decisions(drawing, (300, 2000, 1000), ["external", name, "external"], 2, 400)
    chosen = [next(iter(launches)) for launches in sent]
    assert set(chosen) <= {1, 3}
    expected = 4 * weakest
    assert abs(chosen.count(1) - expected) <= 4 * (expected * (1 - weakest / 100)) ** 0.5


@pytest.mark.parametrize(("drawing", "sent"), [(FACE_TO_FACE, 667), (BESIDE_FREE_LAND, 688)])
@pytest.mark.parametrize("name", ["normal", "hard", "very_hard", "impossible"])
def test_from_hard_on_all_above_100_a_cell_is_sent(name, drawing, sent):
    game = after_a_decision(drawing, (9000, 9600, 9000), ["external", name])
    assert list(shares(game, 2, 9600).values()) == [825 if name == "normal" else sent]


@pytest.mark.parametrize("name", ["hard", "very_hard", "impossible"])
def test_from_hard_on_no_more_is_sent_at_the_weak_than_kills_them(name):
    """A tenth of 3,000; of 370, 22/10; 380 is no longer below an eighth of 3,000."""
    for troops, expected in ((100, 300), (370, 814), (380, None)):
        (amount,) = sends(name, FACE_TO_FACE, (troops, 3000, troops))[0].values()
        if expected is None:
            assert amount >= 900 - 40
        else:
            assert expected <= amount <= expected + 3


def test_very_hard_seats_have_clocks_of_their_own_between_50_and_175_ticks():
    config = GameConfig(height=48, width=48, num_players=8, map="open")
    game = VecGame(config, 16, seats=["very_hard"] * 8, observe=False)
    game.reset()
    intervals = game.state.memory[:, 1:, settings.INTERVAL]
    assert intervals.min() < 60
    assert intervals.max() > 165


@pytest.mark.parametrize(
    ("name", "interval"),
    [("very_easy", 104), ("easy", 110), ("normal", 104), ("hard", 100), ("impossible", 100)],
)
def test_levels_act_in_their_rhythm(name, interval):
    assert bots.make(name).style.settings()[settings.INTERVAL] == (interval, interval)


@pytest.mark.parametrize("troops", [512, 1000, 3])
def test_with_handicaps_the_levels_start_with_their_part_of_the_troops(troops):
    config = GameConfig(height=60, width=60, num_players=9, map="open", handicap=True, starting_troops=troops)
    seats = [*LEVELS, "turtle", "agent", "external"]
    game = VecGame(config, 1, seed=4, seats=seats)
    game.reset()
    parts = (60, 74, 112, 200, 256, 512)
    expected = [max(1, troops * part // 512) for part in parts] + [troops] * 3
    assert game.state.troops[0, 1:].tolist() == expected
    twin = ReferenceGame(config, game.maps[0], int(game.state.seed[0]), starting_troops=expected)
    assert game.digest(0) == twin.digest()
    game.set_seats(0, ["turtle"] * 9)
    game.reset()
    assert (game.state.troops[0, 1:] == troops).all()
    game.set_seats(0, ["external"] * 9, troops_of=seats)
    game.reset()
    assert game.state.troops[0, 1:].tolist() == expected
    with pytest.raises(ValueError, match="troops_of has 2 entries; this game has num_players = 9"):
        game.set_seats(0, seats, troops_of=["agent"] * 2)


def test_a_game_with_handicaps_is_replayed(tmp_path):
    config = GameConfig(height=48, width=48, num_players=6, map="open", handicap=True, max_ticks=300)
    game = VecGame(config, 1, seats=LEVELS, autoreset="disabled", observe=False)
    recorder = Recorder(game)
    game.reset()
    while not game.state.over[0]:
        game.step()
    recorder.replay().save(tmp_path / "a.replay")
    replay = Replay.load(tmp_path / "a.replay")
    assert replay.config.handicap
    replay.verify()


def test_without_handicaps_all_start_alike():
    game = VecGame(GameConfig(height=60, width=60, num_players=6), 1, seats=LEVELS)
    game.reset()
    assert (game.state.troops[0, 1:] == 512).all()


def test_the_twin_needs_starting_troops_for_all_seats():
    config = GameConfig(height=32, width=32, num_players=3, map="open")
    land = VecGame(config, 1).maps[0]
    with pytest.raises(ValueError, match="starting_troops has 2 entries; one for each of 3 seats"):
        ReferenceGame(config, land, 0, starting_troops=[1, 2])


# ---- styles ---------------------------------------------------------------------------------------


FREE_SHARES = [
    ("sprinter", 0, 200, 200, False),
    ("vulture", 0, 120, 120, True),
    ("finisher", 0, 120, 120, True),
    ("full_sender", 0, 300, 300, False),
    ("avenger", 0, 120, 120, True),
    ("geographer", 0, 120, 120, True),
    ("bully", 0, 150, 150, True),
    ("leader_hunter", 0, 120, 120, True),
    ("drip", 0, 40, 40, True),
    ("settler", 200, 100, 400, False),
    ("besieger", 200, 100, 300, False),
    ("opportunist", 900, 250, 150, False),
]


@pytest.mark.parametrize(("name", "opening", "early", "later", "tops_up"), FREE_SHARES)
def test_styles_take_free_land(name, opening, early, later, tops_up):
    """Rich as they are they take it first; where a pool of theirs is already, only some send more."""
    troops, told_of = (3000, 3000, 3000), drawn(name)
    assert told_of[settings.OPENING] in about(opening)
    end = -(-told_of[settings.OPENING] // 10) * 10  # bots decide every ten ticks
    for tick, share in ((end - 10, early), (end, later)):
        if tick >= 0:
            _, game = sends(name, BESIDE_FREE_LAND, troops, tick=tick)
            ((target, thousandths),) = shares(game, 2, 3000).items()
            assert target == 0
            assert about(share)[0] - 1 <= thousandths <= about(share)[-1] + 1
    sent, _ = sends(name, BESIDE_FREE_LAND, troops, pools={(2, 0): 100})
    assert (0 in sent) == tops_up


FROM = [
    ("sprinter", 60),
    ("finisher", 90),
    ("avenger", 95),
    ("geographer", 90),
    ("bully", 60),
    ("leader_hunter", 95),
    ("settler", 120),
    ("besieger", 120),
    ("opportunist", 125),
]


@pytest.mark.parametrize(("name", "density"), FROM)
def test_styles_attack_from_so_many_troops_a_cell_on(name, density):
    """Nobody leads, is thin, has shrunk, or took anything; what is not above the reserve stays at home."""
    told_of = drawn(name)
    least = told_of[SECOND + settings.FROM]
    assert least in about(density)
    assert sends(name, FACE_TO_FACE, (4000, 32 * least - 1, 4000))[0] == {}
    troops = 32 * max(least, told_of[SECOND + settings.RESERVE] + 2)
    assert sends(name, FACE_TO_FACE, (4000, troops, 4000))[0].keys() < {1, 3}


CROWD = rows_of(
    *["222222" + "#" * 30] * 3,
    "222222" + "#" * 15 + "55555" + "#" * 10,
    "222222#########444444" + "55555" + "#" * 10,
    "222222333333###444444" + "55555" + "#" * 10,
    "222222333333###444444" + "55555" + "8" * 10,
    *["1" * 36] * 4,
    *["A" * 10 + "66666" + "#" * 7 + "77777" + "9999" + "#" * 5] * 2,
    *["A" * 10 + "66666" + "#" * 7 + "77777" + "#" * 9] * 2,
    *["A" * 10 + "#" * 26] * 2,
)
"""1 borders all others, of whom each is first by one measure."""
LAND = (144, 42, 12, 18, 20, 20, 20, 10, 8, 60)
THINNEST, WEAKEST, NEAREST, ATTACKER, DECLINED, TAKER, FLAT, SMALLEST, LARGEST = range(2, 11)
DENSITIES = (145, 85, 90, 120, 120, 120, 120, 120, 150, 100)


CHOICES = [
    ("sprinter", {}, THINNEST),
    ("finisher", {}, WEAKEST),
    ("full_sender", {}, LARGEST),
    ("avenger", {}, WEAKEST),
    ("geographer", {}, FLAT),
    ("bully", {}, SMALLEST),
    ("leader_hunter", {}, THINNEST),
    ("drip", {}, THINNEST),
    ("settler", {}, THINNEST),
    ("besieger", {}, WEAKEST),
    ("opportunist", {}, THINNEST),
    ("vulture", {}, None),
    ("vulture", {"divisor": 5}, THINNEST),
    ("vulture", {"divisor": 2, "swarmed": True}, THINNEST),
    ("opportunist", {"divisor": 5}, SMALLEST),
    ("finisher", {"shrunk": True}, DECLINED),
    ("avenger", {"taken": 20}, TAKER),
]


@pytest.mark.parametrize(("name", "change", "expected"), CHOICES)
def test_styles_choose_by_their_own_measure(name, change, expected):
    """``divisor`` makes all others thin, or less dense; they attack each other, have shrunk, or are hated."""
    others = range(2, 11)
    troops = [n * d for n, d in zip(LAND, DENSITIES, strict=True)]
    troops[1:] = [n // change.get("divisor", 1) for n in troops[1:]]
    peak = [LAND[0], *(n * 3 if change.get("shrunk") else n for n in LAND[1:])]
    peak[DECLINED - 1] = peak[DECLINED - 1] * 7 // 6 if change.get("shrunk") else 33
    pools = {(ATTACKER, 1): 500}
    if change.get("swarmed"):
        beside = {2: 3, 3: 2, 4: 5, 5: 4, 6: 10, 7: 9, 8: 5, 9: 7, 10: 6}
        pools |= {(beside[q], q): troops[q - 1] * 6 // 10 for q in others}
    taken = {(q, 1): change.get("taken", 0) + (10 if q == TAKER else 5) for q in others}
    sent, game = sends(name, CROWD, troops, p=1, pools=pools, peak=peak, taken=taken)
    assert game.state.land[0, 1:].tolist() == list(LAND)
    assert set(sent) == ({expected} if expected else set())


def test_sprinter_sends_a_fifth_at_free_land_unless_a_pool_is_there_and_strikes_half_full():
    troops = (3000, 66 * 30, 500)
    sent, game = sends("sprinter", BESIDE_FREE_LAND, troops)
    assert shares(game, 2, troops[1]) == {0: pytest.approx(told(game, 2, settings.FREE_LATER), abs=1)}
    assert told(game, 2, settings.FREE_LATER) in about(200)
    sent, game = sends("sprinter", BESIDE_FREE_LAND, troops, pools={(2, 0): 300})
    assert set(sent) == {3}, "the thinnest"
    assert percent(sent[3], troops[1]) in about(40)
    assert set(sends("sprinter", WIDE, (2000, 70 * 32, 1000))[0]) == {1}, "more troops, but thinner"
    assert sends("sprinter", FACE_TO_FACE, (1, 53 * 32, 1))[0] == {}


def test_vulture_waits_until_a_neighbour_is_thin_and_sends_what_finishes_it():
    """1 has 30 a cell, 3 at first as many and then 20: less than a quarter of the 100 of 2."""
    assert sends("vulture", FACE_TO_FACE, (960, 3200, 960))[0] == {}
    sent, game = sends("vulture", FACE_TO_FACE, (960, 3200, 640))
    assert sent == {3: finishing(game, 2, 640, 32)}
    assert told(game, 2, FIRST + settings.KILL) in about(120)
    assert sends("vulture", FACE_TO_FACE, (4800, 150 * 32, 4800))[0] == {}, "however full its own chest"


def test_vulture_takes_the_thinnest_before_free_land():
    sent, _ = sends("vulture", BESIDE_FREE_LAND, (500, 3600, 300))
    assert set(sent) == {3}
    _, game = sends("vulture", BESIDE_FREE_LAND, (3000, 3600, 3000))
    assert shares(game, 2, 3600) == {0: pytest.approx(told(game, 2, settings.FREE_LATER), abs=1)}
    assert told(game, 2, settings.FREE_LATER) in about(120)


def test_vulture_leaves_alone_what_it_cannot_finish_above_50_a_cell():
    """1 has 5 a cell on 160 cells: to finish it takes 1,700 and what kill adds, of at most 1,760."""
    assert sends("vulture", WIDE, (811, 3200, 3200))[0] == {}
    assert set(sends("vulture", WIDE, (811, 3200, 500))[0]) == {3}


def test_vulture_comes_when_others_attack_and_leaves_free_land_for_it():
    """4 attacks 3, which is not thin, with 44 or 63 per cent of what 3 has."""
    troops = (2000, 72 * 84, 800, 2000)
    assert set(sends("vulture", RING, troops, pools={(4, 3): 350})[0]) == {0}
    assert set(sends("vulture", RING, troops, pools={(2, 3): 500})[0]) == {0}, "nobody else"
    sent, game = sends("vulture", RING, troops, pools={(4, 3): 500})
    assert sent == {3: finishing(game, 2, 800, 30, SECOND)}
    assert told(game, 2, SECOND + settings.KILL) in about(120)
    dear = (2000, 72 * 84, 1500, 2000)
    assert set(sends("vulture", RING, dear, pools={(4, 3): 1200})[0]) == {0}, "it cannot finish it"


def test_vulture_takes_the_thinnest_of_those_under_attack():
    """4 has more troops than 3, but 24 a cell, and 3 has 33."""
    troops, pools = (2000, 72 * 84, 1000, 1150), {(4, 3): 600, (3, 4): 700}
    assert set(sends("vulture", RING, troops, pools=pools)[0]) == {4}


def test_finisher_goes_first_for_who_has_shrunk_even_before_free_land():
    """3 has 30 cells of 80 that it had, or of 60."""
    troops = (900, 3000, 900)
    assert set(sends("finisher", BESIDE_FREE_LAND, troops, peak=(30, 30, 60))[0]) == {0}
    assert set(sends("finisher", BESIDE_FREE_LAND, troops, peak=(30, 30, 80))[0]) == {3}


@pytest.mark.parametrize(("peak", "worst"), [((90, 32, 110), 3), ((110, 32, 90), 1)])
def test_finisher_goes_for_who_has_shrunk_most(peak, worst):
    assert set(sends("finisher", FACE_TO_FACE, (900, 2500, 900), peak=peak)[0]) == {worst}


def test_finisher_sends_what_finishes_the_shrunk_or_all_above_60_a_cell():
    sent, game = sends("finisher", FACE_TO_FACE, (2000, 3000, 300), peak=(32, 32, 80))
    assert sent == {3: finishing(game, 2, 300, 32)}
    assert told(game, 2, FIRST + settings.KILL) in about(120)
    sent, game = sends("finisher", FACE_TO_FACE, (2000, 3000, 2500), peak=(32, 32, 80))
    assert sent == {3: spare(game, 2, 3000, 32, FIRST)}
    assert told(game, 2, FIRST + settings.RESERVE) in about(60)


ONCE_RICH = [("finisher", 90), ("avenger", 95)]


@pytest.mark.parametrize(("name", "rich"), ONCE_RICH)
def test_those_without_a_cause_attack_the_weakest_once_they_are_rich(name, rich):
    """3 has fewer troops than 1, but is denser."""
    assert sends(name, WIDE, (3000, rich * 32 * 89 // 100, 2500))[0] == {}
    troops = rich * 32 * 111 // 100
    _, game = sends(name, WIDE, (3000, troops, 2500))
    assert shares(game, 2, troops) == {3: pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)}
    assert told(game, 2, SECOND + settings.SEND_LATER) in about(300)


def test_full_sender_sends_everything_at_the_largest_it_can_kill():
    """1 is larger than 3 but too strong; killing 3 takes 948 of 1,800."""
    drawing = rows_of(*["1" * 8 + "2233"] * 16)
    sent, game = sends("full_sender", drawing, (2000, 1800, 500))
    assert set(sent) == {3}
    assert game.state.troops[0, 2] == 0
    sent, _ = sends("full_sender", drawing, (700, 1800, 500))
    assert set(sent) == {1}
    assert sends("full_sender", drawing, (2000, 1800, 1900))[0] == {}, "it can kill nobody"
    assert sends("full_sender", FACE_TO_FACE, (4800, 4800, 4800))[0] == {}, "however full its chest"


def test_avenger_strikes_at_who_took_its_land_until_it_has_forgiven():
    """3 took 60 cells, 1 took 50; a decision later an eighth of both is forgiven."""
    drawing, troops = FACE_TO_FACE, (2000, 2400, 2500)
    game = game_on(drawing, troops, seats=["external", "avenger", "external"], tick=LATER, **CALM)
    game.state.taken[0, 1, 2], game.state.taken[0, 3, 2] = 50, 60
    owner, chosen = board(game), []
    grudges = slice(settings.GRUDGES + 1, settings.GRUDGES + 4)
    for step in range(14):
        remembered, taken = game.state.memory[0, 2].copy(), game.state.taken[0].copy()
        game.set_position(0, owner, tick=LATER + 50 * step, troops=troops, next_step=[NEVER] * 3)
        game.state.memory[0, 2], game.state.taken[0] = remembered, taken
        game.state.wake[0] = 0
        game.step()
        chosen.append(next(iter(launches_of(game, 2)), None))
        if step == 0:
            assert game.state.memory[0, 2, grudges].tolist() == [7, 0, 8]
    assert chosen[0] == 3
    last = chosen.index(None)
    assert 3 <= last < 14
    assert set(chosen[last:]) == {None}


def test_avenger_strikes_back_before_it_takes_free_land_if_20_cells_were_taken():
    troops = (1000, 2500, 2000)
    assert set(sends("avenger", BESIDE_FREE_LAND, troops, taken={(3, 2): 17})[0]) == {0}
    _, game = sends("avenger", BESIDE_FREE_LAND, troops, taken={(3, 2): 23})
    assert shares(game, 2, 2500) == {3: pytest.approx(told(game, 2, FIRST + settings.SEND_LATER), abs=1)}
    assert told(game, 2, FIRST + settings.SEND_LATER) in about(400)
    sent, game = sends("avenger", BESIDE_FREE_LAND, (1000, 1500, 2000), taken={(3, 2): 23})
    assert sent == {3: spare(game, 2, 1500, 30, FIRST)}
    assert told(game, 2, FIRST + settings.RESERVE) in about(40)


def test_geographer_attacks_whom_it_borders_most_for_its_size():
    """1 has 160 cells, 3 has 32; both borders are 16 long, and 3 is the stronger."""
    assert sends("geographer", WIDE, (100, 80 * 32, 3000))[0] == {}
    _, game = sends("geographer", WIDE, (100, 3520, 3000))
    assert shares(game, 2, 3520) == {3: pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)}
    assert told(game, 2, SECOND + settings.SEND_LATER) in about(300)


def test_bully_picks_on_the_smallest_however_strong():
    drawing = rows_of(*["11122233"] * 16)
    assert sends("bully", drawing, (10, 48 * 53, 3000))[0] == {}
    sent, game = sends("bully", drawing, (10, 48 * 80, 3000))
    assert set(sent) == {3}
    assert told(game, 2, SECOND + settings.SEND_LATER) in about(300)
    assert shares(game, 2, 48 * 80)[3] == pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)


def test_leader_hunter_attacks_the_leader_once_he_is_poor():
    """1 leads with 128 of 192 cells, and has 90 or 50 troops a cell."""
    drawing = rows_of(*["1" * 8 + "2233"] * 16)
    rich, mine = 90 * 128, 32 * 80
    assert sends("leader_hunter", drawing, (rich, mine, 2000))[0] == {}
    sent, game = sends("leader_hunter", drawing, (50 * 128, mine, 10))
    assert sent == {1: spare(game, 2, mine, 32, FIRST)}
    assert told(game, 2, FIRST + settings.SEND_LATER) in about(300)
    assert told(game, 2, FIRST + settings.RESERVE) in about(60)


def test_leader_hunter_hunts_before_it_takes_free_land():
    drawing = rows_of(*["1" * 8 + "2233"] * 15, "." * 12)
    assert set(sends("leader_hunter", drawing, (50 * 120, 30 * 110, 10))[0]) == {1}
    assert set(sends("leader_hunter", drawing, (90 * 120, 30 * 110, 10))[0]) == {0}


@pytest.mark.parametrize(("extra", "target"), [(3, None), (16, 1)])
def test_leader_hunter_minds_a_leader_from_15_percent_on(extra, target):
    """Eight seats of 30 cells, of whom 1 has some more; all are poor."""
    drawing = rows_of(*["1122334455667788"] * 15, "1" * extra + "#" * (16 - extra))
    sent, _ = sends("leader_hunter", drawing, (1500, 2500, *[1400] * 6))
    assert set(sent) == ({target} if target else set())


def test_leader_hunter_leaves_a_rich_leader_alone_whom_nobody_attacks():
    """1 leads with 90 troops a cell; 3 is denser, and has to do."""
    drawing = rows_of(*["1" * 8 + "2233"] * 16)
    _, game = sends("leader_hunter", drawing, (90 * 128, 32 * 110, 32 * 95))
    assert shares(game, 2, 32 * 110) == {3: pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)}
    assert told(game, 2, SECOND + settings.SEND_LATER) in about(300)
    drawing = rows_of(*["1" * 8 + "22"] * 16)
    assert sends("leader_hunter", drawing, (90 * 128, 32 * 150))[0] == {}, "there is nobody else"


def test_leader_hunter_joins_those_who_attack_the_leader_and_never_attacks_them():
    """1 leads, rich. 3 borders it too, and attacks it; 4 does not, and is much stronger than 3."""
    drawing = rows_of(
        *["1111111144"] * 4,
        *["1111111122"] * 8,
        *["1111111133"] * 4,
    )
    troops = (128 * 90, 16 * 110, 10, 700)
    pools = {(3, 1): 100}
    assert set(sends("leader_hunter", drawing, troops)[0]) == {3}, "the thinnest: nobody attacks the leader"
    assert set(sends("leader_hunter", drawing, troops, pools=pools)[0]) == {1}
    game = game_on(
        drawing,
        troops,
        seats=["external", "leader_hunter", "external", "external"],
        pools=pools,
        tick=LATER,
        next_step=[NEVER] * 4,
        **CALM,
    )
    first = slice(settings.MOVES, settings.MOVES + settings.MOVE_SIZE)
    game.state.memory[0, 2, first] = 0  # as if the leader could not be attacked now
    game.step()
    assert set(launches_of(game, 2)) == {4}


def test_drip_keeps_a_trickle_in_the_field():
    """At every decision, about 4 %, on top of what is there, if 50 a cell are left at home."""
    pools = {(2, 3): 200}
    sent, _ = sends("drip", FACE_TO_FACE, (3000, 3000, 900), pools=pools)
    assert set(sent) == {3}
    assert percent(sent[3], 3000) in (4, 5)
    assert sends("drip", FACE_TO_FACE, (3000, 44 * 32, 900))[0] == {}
    assert set(sends("drip", FACE_TO_FACE, (3000, 59 * 32, 900))[0]) == {3}
    assert set(sends("drip", WIDE, (3000, 3000, 900))[0]) == {1}, "more troops, but thinner"
    sent, _ = sends("drip", BESIDE_FREE_LAND, (900, 40 * 30, 900), pools={(2, 0): 100})
    assert set(sent) == {0}
    assert percent(sent[0], 40 * 30) in (4, 5)
    assert bots.make("drip").interval == 10


def test_settler_spends_what_would_rot_where_the_defence_is_thinnest():
    """3 has fewer troops than 1, but is denser; 200 troops on 32 cells take 408 to finish."""
    assert sends("settler", FACE_TO_FACE, (10, 107 * 32, 10))[0] == {}
    sent, game = sends("settler", WIDE, (3000, 140 * 32, 2000))
    assert sent == {1: spare(game, 2, 140 * 32, 32)}
    assert told(game, 2, SECOND + settings.RESERVE) in about(110)
    sent, game = sends("settler", FACE_TO_FACE, (3000, 150 * 32, 200))
    assert sent == {3: finishing(game, 2, 200, 32, SECOND)}
    assert told(game, 2, SECOND + settings.KILL) in about(150)


def test_besieger_sends_three_tenths_at_free_land_or_all_above_100_a_cell_after_a_slow_start():
    for troops, tick, low, high in (
        (3000, 100, 89, 111),
        (3000, LATER, 269, 331),
        (8000, LATER, 559, 641),
        (8000, 100, 89, 111),
    ):
        game = after_a_decision(FREE_LAND, (troops, 3000), ["besieger"], tick=tick)
        ((target, share),) = shares(game, 1, troops).items()
        assert target == 0
        assert low <= share <= high


def test_besieger_bites_the_weakest_whenever_its_chest_overflows():
    """3 has fewer troops, but more a cell than 1; of 180 a cell it bites off three tenths."""
    drawing = rows_of(*["1" * 10 + "223"] * 16)
    assert sends("besieger", drawing, (10_000, 107 * 32, 1500))[0] == {}
    sent, game = sends("besieger", drawing, (10_000, 134 * 32, 1500))
    assert sent == {3: spare(game, 2, 134 * 32, 32)}
    assert told(game, 2, SECOND + settings.RESERVE) in about(100)
    sent, game = sends("besieger", drawing, (10_000, 180 * 32, 1500))
    assert shares(game, 2, 180 * 32) == {3: pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)}
    assert told(game, 2, SECOND + settings.SEND_LATER) in about(300)


def test_opportunist_takes_whoever_is_thin_and_can_be_finished_the_smallest_first():
    """1, with half of what 3 has and twice its land, is thin as well."""
    drawing = rows_of(*["1" * 4 + "2" * 8 + "33"] * 16)
    sent, game = sends("opportunist", drawing, (700, 145 * 128, 900))
    assert sent == {3: finishing(game, 2, 900, 32)}
    assert told(game, 2, FIRST + settings.KILL) in about(120)
    drawing = rows_of(*["1" * 4 + "2" * 8 + "33"] * 15, "." * 14)
    assert set(sends("opportunist", drawing, (700, 145 * 120, 900))[0]) == {3}, "before free land"


def test_opportunist_leaves_alone_what_it_cannot_finish_above_100_a_cell():
    """Of 8 a cell on 128 cells; 3 has 32 cells, and is thin either way: it takes 2,064, or 552 and some."""
    drawing, reserve = (
        rows_of(*["1" * 4 + "2" * 8 + "33"] * 16),
        drawn("opportunist")[FIRST + settings.RESERVE],
    )
    assert reserve in about(100)
    troops = (reserve + 8) * 128
    assert sends("opportunist", drawing, (5000, troops, 1120))[0] == {}
    assert set(sends("opportunist", drawing, (5000, troops, 280))[0]) == {3}


def test_opportunist_leaves_alone_who_has_more_than_half_of_its_density():
    """3 has two cells, which it could finish, with 70 or 42 troops each, and 2 has 112."""
    drawing = rows_of(*["1111" + "2" * 25 + "3"] * 2, *["1111" + "2" * 26] * 14)
    troops = 112 * 414
    reserve = drawn("opportunist")[FIRST + settings.RESERVE]
    assert troops - reserve * 414 > 500
    assert sends("opportunist", drawing, (64 * 100, troops, 140))[0] == {}
    assert set(sends("opportunist", drawing, (64 * 100, troops, 84))[0]) == {3}


def test_opportunist_else_spends_what_would_rot_where_the_defence_is_thinnest():
    """1 has 80 a cell and more troops than 3, with 90: none has less than half of the 140 of 2."""
    troops = (80 * 160, 140 * 32, 90 * 32)
    assert sends("opportunist", WIDE, (80 * 160, 112 * 32, 90 * 32))[0] == {}
    sent, game = sends("opportunist", WIDE, troops)
    assert sent == {1: spare(game, 2, 140 * 32, 32)}
    assert told(game, 2, SECOND + settings.RESERVE) in about(100)
