"""The idea of each bot of the library on a board drawn by hand; those of the first five: test_bots."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame, bots
from territorial.bots import settings
from territorial.reference import ReferenceGame
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

SECOND = settings.MOVES + settings.MOVE_SIZE
BESIDE_FREE_LAND = rows_of(*["112233"] * 15, "......")
"""2 lies between 1 and 3, 30 cells each, and all border free land."""
RING = rows_of(*["112233" + "44" * 3] * 8, *["112233" + "22" * 3] * 8)
"""2 borders 1, 3 and 4."""


def told(game, p, column):
    """Return a setting of the bot on seat ``p``."""
    return int(game.state.memory[0, p, column])


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


def test_sprinter_sends_a_fifth_at_free_land_unless_a_pool_is_there_and_strikes_half_full():
    drawing = rows_of(*["112233"] * 15, "......")
    troops = (3000, 66 * 30, 500)
    sent, game = sends("sprinter", drawing, troops)
    assert shares(game, 2, troops[1]) == {0: pytest.approx(told(game, 2, settings.FREE_LATER), abs=1)}
    sent, game = sends("sprinter", drawing, troops, pools={(2, 0): 300})
    assert set(sent) == {3}, "the thinnest"
    assert percent(sent[3], troops[1]) in range(36, 45)
    assert sends("sprinter", FACE_TO_FACE, (1, 53 * 32, 1))[0] == {}


def test_vulture_waits_until_a_neighbour_is_thin_and_sends_what_finishes_it():
    """1 has 30 a cell, 3 at first as many and then 20: less than a quarter of the 100 of 2."""
    assert sends("vulture", FACE_TO_FACE, (960, 3200, 960))[0] == {}
    sent, game = sends("vulture", FACE_TO_FACE, (960, 3200, 640))
    price = (18 * 640 + 15 * 32) // 10
    assert sent == {3: pytest.approx(price * told(game, 2, settings.MOVES + settings.KILL) // 100, abs=4)}


def test_vulture_comes_when_others_attack():
    """4 attacks 3 with more than half of what 3 has."""
    troops = (2000, 14 * 8 * 60, 2000, 2000)
    assert sends("vulture", RING, troops)[0] == {}
    sent, _ = sends("vulture", RING, troops, pools={(4, 3): 1300})
    assert set(sent) == {3}


def test_finisher_goes_first_for_who_has_shrunk_even_before_free_land():
    drawing = rows_of(*["112233"] * 15, "......")
    troops = (900, 3000, 900)
    assert set(sends("finisher", drawing, troops)[0]) == {0}
    game = game_on(
        drawing, troops, seats=["external", "finisher", "external"], peak=(30, 30, 80), tick=LATER, **CALM
    )
    game.step()
    assert set(launches_of(game, 2)) == {3}


def test_full_sender_sends_everything_at_the_largest_it_can_kill():
    """1 is larger than 3 but too strong; killing 3 takes 1,008 of 1,800."""
    drawing = rows_of(*["1" * 8 + "2233"] * 16)
    sent, game = sends("full_sender", drawing, (2000, 1800, 500))
    assert set(sent) == {3}
    assert game.state.troops[0, 2] == 0
    sent, _ = sends("full_sender", drawing, (700, 1800, 500))
    assert set(sent) == {1}
    assert sends("full_sender", drawing, (2000, 1800, 1900))[0] == {}, "it can kill nobody"


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


def test_geographer_attacks_whom_it_borders_most_for_its_size():
    """1 has 160 cells, 3 has 32; both borders are 16 long, and 3 is the stronger."""
    drawing = rows_of(*["1" * 10 + "2233"] * 16)
    sent, _ = sends("geographer", drawing, (100, 3200, 3000))
    assert set(sent) == {3}


def test_bully_picks_on_the_smallest_however_strong():
    drawing = rows_of(*["11122233"] * 16)
    sent, game = sends("bully", drawing, (10, 48 * 80, 3000))
    assert set(sent) == {3}
    assert shares(game, 2, 48 * 80)[3] == pytest.approx(told(game, 2, SECOND + settings.SEND_LATER), abs=1)


def test_leader_hunter_attacks_the_leader_once_he_is_poor():
    """1 leads with 128 of 192 cells, and has 90 or 50 troops a cell."""
    drawing = rows_of(*["1" * 8 + "2233"] * 16)
    rich, mine = 90 * 128, 32 * 80
    assert sends("leader_hunter", drawing, (rich, mine, 2000))[0] == {}
    assert set(sends("leader_hunter", drawing, (50 * 128, mine, 10))[0]) == {1}


def test_leader_hunter_joins_those_who_attack_the_leader_and_never_attacks_them():
    """1 leads, rich. 3 borders it too, and attacks it; 4 does not, and is much stronger than 3."""
    drawing = rows_of(
        *["1111111144"] * 4,
        *["1111111122"] * 8,
        *["1111111133"] * 4,
    )
    troops = (128 * 90, 16 * 110, 10, 700)
    pools = {(3, 1): 100}
    assert sends("leader_hunter", drawing, troops)[0].keys() <= {3, 4}, "nobody attacks the leader"
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
    assert bots.make("drip").interval == 10


def test_settler_sends_two_fifths_at_free_land_after_a_slow_start():
    for tick, low, high in ((100, 89, 111), (LATER, 359, 441)):
        game = after_a_decision(FREE_LAND, (3000, 3000), ["settler"], tick=tick)
        ((target, share),) = shares(game, 1, 3000).items()
        assert target == 0
        assert low <= share <= high
    assert sends("settler", FACE_TO_FACE, (10, 107 * 32, 10))[0] == {}, "it spends only what would rot"
    assert set(sends("settler", FACE_TO_FACE, (3000, 140 * 32, 2000))[0]) == {3}


def test_besieger_bites_the_weakest_whenever_its_chest_overflows():
    """3 has fewer troops, but more a cell than 1."""
    drawing = rows_of(*["1" * 10 + "223"] * 16)
    assert sends("besieger", drawing, (10_000, 107 * 32, 1500))[0] == {}
    sent, game = sends("besieger", drawing, (10_000, 140 * 32, 1500))
    assert set(sent) == {3}
    reserve = told(game, 2, SECOND + settings.RESERVE) * 32
    assert game.state.troops[0, 2] >= reserve - 140 * 32 * 12 // 1024 - 5


def test_opportunist_takes_whoever_is_thin_and_can_be_finished_the_smallest_first():
    """1, with half of what 3 has and twice its land, is thin as well."""
    drawing = rows_of(*["1" * 4 + "2" * 8 + "33"] * 16)
    sent, game = sends("opportunist", drawing, (700, 145 * 128, 900))
    price = (18 * 900 + 15 * 32) // 10
    assert sent == {3: pytest.approx(price * told(game, 2, settings.MOVES + settings.KILL) // 100, abs=20)}
    sent, _ = sends("opportunist", drawing, (900, 80 * 128, 1400))
    assert sent == {}, "what it takes is not there above 100 a cell"
