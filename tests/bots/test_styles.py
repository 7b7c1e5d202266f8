"""What levels and styles have in common, row by row, and what they remember; their ideas: test_ideas."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import settings
from tests.bots.support import (
    CALM,
    FACE_TO_FACE,
    LATER,
    decisions,
    launches_of,
)
from tests.engine.support import NEVER, board, game_on, rows_of
from tests.twin import ReferenceGame

BESIDE_FREE_LAND = rows_of(*["112233"] * 15, "......")
"""2 lies between 1 and 3, 30 cells each, and all border free land."""


def told(game, p, column):
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
        assert told(game, 2, settings.LAUNCHES) == launches + 1
    drawn, lowest = told(game, 2, settings.FREE), told(game, 2, settings.FREE_LATER)
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
