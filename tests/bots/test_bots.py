"""What all bots promise: legal launches, one board, no favour, a clock of their own. Ideas: test_ideas."""

import hashlib
import random
import re

import numpy as np
import pytest

from territorial import GameConfig, VecGame, bots
from territorial.bots import settings
from territorial.constants import FIRST_BOT_CODE
from territorial.engine.seats import seat_codes
from tests.bots.support import (
    CALM,
    FACE_TO_FACE,
    LATER,
    after_a_decision,
    decisions,
    launches_of,
)
from tests.engine.support import NEVER, board, digests, game_on, interpreted, rows_of
from tests.episodes import after_steps, begun
from tests.twin import ReferenceGame
from tests.twin.differential import random_config

# ---- all of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["metronome", "banker"])
def test_between_equals_the_lot_decides_and_no_seat_number(name):
    """1 and 3 are alike, so that either is attacked about half of the time."""
    sent = decisions(FACE_TO_FACE, (500, 4400, 500), ["external", name, "external"], 2, 200)
    chosen = [next(iter(launches)) for launches in sent]
    assert 60 < chosen.count(1) < 140
    assert chosen.count(1) + chosen.count(3) == 200


@pytest.mark.parametrize("attacker", [1, 2])
def test_bots_decide_on_the_board_as_it_was_before_anybody_launched(attacker):
    """The turtle sees the novice's attack at its next decision only, whichever of them sits first."""
    turtle = 3 - attacker
    drawing = rows_of(*["1122"] * 16)
    seats = ["novice", "turtle"] if attacker == 1 else ["turtle", "novice"]
    troops = (3000, 3700) if attacker == 1 else (3700, 3000)
    game = after_a_decision(drawing, troops, seats)
    assert (set(launches_of(game, attacker)), launches_of(game, turtle)) == ({turtle}, {})
    game.state.wake[0, turtle] = 0
    game.step()
    assert set(launches_of(game, turtle)) == {attacker}


@pytest.mark.parametrize("seed", range(30))
def test_bots_make_no_illegal_launch_whatever_the_rules(seed):
    rng = random.Random(seed)
    config = random_config(rng)
    seats = [rng.choice(bots.NAMES) for _ in range(config.num_players)]
    game = begun(VecGame(config, 3, seed=seed, seats=seats, autoreset="disabled", observe=False))
    for _ in range(300):
        game.step()
        assert not game.state.illegal.any()
        if game.state.over.all():
            break


@pytest.mark.parametrize("name", bots.NAMES)
def test_a_bot_decides_once_an_interval_and_begins_at_a_phase_of_its_own(name):
    least, most = bots.make(name).style.settings()[settings.INTERVAL]
    config = GameConfig(height=24, width=24, num_players=4, map="open", decision_every=1)
    game = begun(VecGame(config, 16, seed=1, seats=[name] * 4, autoreset="disabled", observe=False))
    wake, interval = game.state.wake[:, 1:].copy(), game.state.memory[:, 1:, settings.INTERVAL]
    assert ((interval >= least) & (interval <= most)).all()
    assert ((wake >= 0) & (wake < interval)).all()
    assert most < 20 or len(np.unique(wake)) > 20
    for _ in range(2 * most + 3):
        now, is_due = game.state.tick[0], (wake <= game.state.tick[0]) & (game.state.alive[:, 1:] == 1)
        game.step()
        wake = np.where(is_due, np.maximum(wake + interval, now + 1), wake)
        assert np.array_equal(game.state.wake[:, 1:], wake)


INTERPRETED = """
import sys
from tests.bots.test_bots import games_of_all_bots
print(*games_of_all_bots(int(sys.argv[1])))
"""


def games_of_all_bots(steps):
    """Return the digests of two crowded games in which every bot has a seat."""
    config = GameConfig(height=40, width=40, num_players=len(bots.NAMES), map="open")
    return digests(after_steps(VecGame(config, 2, seed=6, seats=bots.NAMES, observe=False), steps))


def test_bots_decide_the_same_in_plain_python():
    """Where numba would make a float of a mixed expression, or wrap a small integer, they would differ."""
    assert interpreted(INTERPRETED, "30").split() == games_of_all_bots(30)


# ---- the registry ---------------------------------------------------------------------------------


def test_bots_are_listed_with_their_versions_in_an_order_that_only_grows():
    assert bots.NAMES[:5] == ("random-1", "novice-1", "metronome-1", "banker-1", "turtle-1")
    assert all(re.fullmatch(r"[a-z_]+-[1-9][0-9]*", name) for name in bots.NAMES)
    assert len(set(bots.NAMES)) == len(bots.NAMES)


def test_a_plain_name_means_the_newest_version():
    assert bots.canonical("banker") == bots.canonical("banker-1") == "banker-1"
    assert bots.short("banker-1") == "banker"
    assert seat_codes(["banker", "banker-1"], 2).tolist() == [FIRST_BOT_CODE + 3] * 2
    versions = {}
    for name in bots.NAMES:
        plain, _, number = name.rpartition("-")
        assert int(number) == versions.get(plain, 0) + 1, "versions are counted from 1"
        versions[plain] = int(number)
    assert {plain: f"{plain}-{number}" for plain, number in versions.items()} == bots.ALIASES


@pytest.mark.parametrize("name", bots.NAMES)
def test_a_bot_can_be_asked_what_it_does_and_how_to_beat_it(name):
    bot = bots.make(name)
    assert (bots.make(bots.ALIASES[name.rpartition("-")[0]]).name, bot.name) == (name, name)
    assert bot.interval >= 1
    assert len(bot.idea) > 20
    assert bot.weakness.endswith(".")


@pytest.mark.parametrize("name", ["wizard", "banker-9"])
def test_an_unknown_bot_is_refused_with_the_names_there_are(name):
    with pytest.raises(ValueError, match=f"no bot '{name}'.*; there are random, novice, metronome, banker"):
        bots.make(name)


# ---- what a seat is told ----------------------------------------------------------------------------


PUBLISHED = {
    "random-1": "712750125126",
    "novice-1": "3b2e0bc06493",
    "metronome-1": "8e94622f7dd6",
    "banker-1": "322ab014345b",
    "turtle-1": "42c68951e608",
    "very_easy-1": "b29f9ba953ba",
    "easy-1": "3ed174e0605f",
    "normal-1": "327f0b33ad8c",
    "hard-1": "706d07d90546",
    "very_hard-1": "844dde548317",
    "impossible-1": "2de19c6c89f8",
    "sprinter-1": "249a74b2ef0e",
    "vulture-1": "316c1cecdb2e",
    "finisher-1": "b4773602a59a",
    "full_sender-1": "d60e4aedc915",
    "avenger-1": "f7754197d460",
    "geographer-1": "fe507ca671de",
    "bully-1": "422bb20b2101",
    "leader_hunter-1": "dcbf837d6a39",
    "drip-1": "a5581496a5c3",
    "settler-1": "e8c24d4e0e92",
    "besieger-1": "7e25122138c1",
    "opportunist-1": "028e95b07725",
}


@pytest.mark.parametrize("name", bots.NAMES)
def test_the_settings_of_a_published_bot_never_change(name):
    """A better idea is the next version: results of this one would lose their meaning."""
    columns = [tuple(setting) for setting in bots.make(name).style.settings()]
    later = [(47 + i, *setting) for i, setting in enumerate(columns[47:]) if setting != (0, 0)]
    text = repr(columns[:47] + later)  # a column that was added counts where it says something
    assert hashlib.blake2b(text.encode(), digest_size=6).hexdigest() == PUBLISHED[name]


def report(name, seed, seats=8):
    """Return the settings of ``seats`` seats of a bot in a game of this seed, (seats, columns)."""
    config = GameConfig(height=48, width=48, num_players=seats, map="open")
    game = begun(VecGame(config, 1, seats=[name] * seats, observe=False), seeds=[seed])
    return game.state.memory[0, 1:, : settings.NUM_SETTINGS].copy()


@pytest.mark.parametrize("name", bots.NAMES)
def test_settings_are_drawn_for_every_seat_from_the_seed_and_lie_in_their_ranges(name):
    style = bots.make(name).style
    low, high = np.array(style.settings()).T
    drawn = np.concatenate([report(name, seed) for seed in range(6)])
    assert ((low <= drawn) & (drawn <= high)).all()
    assert np.array_equal(report(name, 3), report(name, 3))
    wide = high - low >= 4
    assert (drawn.min(axis=0) < drawn.max(axis=0))[wide].all()
    if style.jitter:
        assert wide.any()


# 2 lies between 1 and 3, 30 cells each, and all border free land.
BESIDE_FREE_LAND = rows_of(*["112233"] * 15, "......")


def remembered(game, p, column):
    """Return a setting of the bot on seat ``p``."""
    return int(game.state.memory[0, p, column])


# ---- levels ---------------------------------------------------------------------------------------


LEVELS = ("very_easy", "easy", "normal", "hard", "very_hard", "impossible")


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
        game.step(hold=True)
        found += [round(sent / 2) for sent in launches_of(game, 2).values()]  # of 2000, in thousandths
        assert remembered(game, 2, settings.LAUNCHES) == launches + 1
    drawn, lowest = remembered(game, 2, settings.FREE), remembered(game, 2, settings.FREE_LATER)
    assert first[0] <= drawn <= first[1]
    assert last[0] <= lowest <= last[1]
    expected = [max(lowest, drawn - fall * launches) for launches in counts]
    assert np.abs(np.array(found) - expected).max() <= 1


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


@pytest.mark.parametrize("troops", [512, 1000, 3])
def test_with_handicaps_the_levels_start_with_their_part_of_the_troops(troops):
    config = GameConfig(height=60, width=60, num_players=9, map="open", handicap=True, starting_troops=troops)
    seats = [*LEVELS, "turtle", "agent", "external"]
    game = begun(VecGame(config, 1, seed=4, seats=seats))
    parts = (8, 16, 64, 128, 256, 512)
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
    with pytest.raises(ValueError, match="troops_of has 2 entries but num_players is 9"):
        game.set_seats(0, seats, troops_of=["agent"] * 2)


# ---- styles ---------------------------------------------------------------------------------------


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
        game.step(hold=True)
        chosen.append(next(iter(launches_of(game, 2)), None))
        if step == 0:
            assert game.state.memory[0, 2, grudges].tolist() == [7, 0, 8]
    assert chosen[0] == 3
    last = chosen.index(None)
    assert 3 <= last < 14
    assert set(chosen[last:]) == {None}
