"""Colours: 32 that everybody can tell apart, 250 that differ, and a family for each team."""

import numpy as np
import pytest

from territorial.render import owner_colors, player_colors, render_board
from territorial.render.board import (
    NEUTRAL_COLOR,
    TERRAIN_COLORS,
    VIEWS,
    is_light,
    seen,
    xterm_colors,
)
from tests.render.support import ciede2000, least_distance

TERRAIN = [NEUTRAL_COLOR, *TERRAIN_COLORS.values()]

# Least CIEDE2000 of any two of the 32 colours and the terrain; 1 can just be seen, side by side.
APART = {"all cones": 16, "deuteranopia": 8.5, "protanopia": 8.5, "tritanopia": 8}


# Pairs from the supplementary test data of Sharma, Wu and Dalal, 2005.
@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, -1.3802, -84.2814), (50, 0, -82.7485), 1.0000),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0011), 7.2195),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (61, -5, 29), 22.8977),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_distances_are_measured_as_published(one, other, distance):
    assert ciede2000(np.array(one), np.array(other)) == pytest.approx(distance, abs=5e-5)


def test_simulated_eyes_see_greys_as_they_are_and_confuse_what_they_should():
    greys = np.arange(0, 256, 15)[:, None].repeat(3, axis=1)
    for view in VIEWS:
        np.testing.assert_allclose(seen(greys, view), seen(greys), atol=0.02)
    assert ciede2000(*seen([(0, 255, 255), (0, 235, 180)], "tritanopia")) < 10
    red_and_green = [(170, 100, 40), (120, 122, 40)]
    assert ciede2000(*seen(red_and_green, "all cones")) > 20
    assert ciede2000(*seen(red_and_green, "deuteranopia")) < 5


@pytest.mark.parametrize("view", VIEWS)
def test_seats_and_the_terrain_are_far_apart_for_all_eyes_and_the_first_eight_seats_further(view):
    assert least_distance(np.vstack([player_colors(32), TERRAIN]), view) >= APART[view]
    assert least_distance(player_colors(8), view) >= 1.25 * APART[view]


def test_all_seats_differ_visibly_and_a_colour_does_not_depend_on_the_number_of_seats():
    every = player_colors(250)
    assert least_distance(every) > 2
    for num_players in (2, 32, 33, 249):
        np.testing.assert_array_equal(player_colors(num_players), every[:num_players])
    with pytest.raises(ValueError, match="num_players is 251"):
        player_colors(251)


PALETTES = pytest.mark.parametrize("palette", [(250,), (32,), (32, np.arange(1, 5).repeat(8).tolist())])


@PALETTES
def test_nobody_can_spoil_the_palette(palette):
    player_colors(*palette)[:] = 0
    assert player_colors(*palette).any()


@PALETTES
def test_letters_stand_out_from_every_seat(palette):
    """The contrast of WCAG 2: 3 is what it asks for of large letters."""

    def luminance(rgb):
        c = np.asarray(rgb) / 255
        linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return linear @ (0.2126, 0.7152, 0.0722)

    colors = player_colors(*palette)
    low, high = np.sort([luminance(colors), np.where(is_light(colors), 0.0, 1.0)], axis=0)
    assert ((high + 0.05) / (low + 0.05)).min() > 3


def test_terminals_of_256_colours_have_one_for_each_seat():
    numbers = xterm_colors(np.vstack([TERRAIN, player_colors(32)]))
    assert len(set(numbers.tolist())) == len(TERRAIN) + 32
    assert ((numbers >= 16) & (numbers <= 255)).all()
    assert xterm_colors(
        np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [8, 8, 8]], np.uint8)
    ).tolist() == [
        16,
        231,
        196,
        232,
    ]
    assert set(xterm_colors(owner_colors(250)[:251]).tolist()) == set(range(16, 256))


SIZES = [(4, 8), (2, 16), (8, 4), (16, 2), (5, 6), (3, 10), (2, 2)]
# Least CIEDE2000 of any two of 32 seats in teams and the terrain; 1 can just be seen, side by side.
APART_IN_TEAMS = {"all cones": 8, "deuteranopia": 4.5, "protanopia": 4.5, "tritanopia": 4.2}


def blocks(num_teams, size):
    return tuple(team for team in range(1, num_teams + 1) for _ in range(size))


def hues(colors):
    _, a, b = seen(colors).T
    return np.degrees(np.arctan2(b, a)) % 360


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("num_teams", "size"), SIZES)
def test_seats_of_teams_and_the_terrain_are_told_apart(num_teams, size, view):
    teams = blocks(num_teams, size)
    colors = player_colors(len(teams), teams)
    assert least_distance(np.vstack([colors, TERRAIN]), view) >= APART_IN_TEAMS[view]


@pytest.mark.parametrize(("num_teams", "size"), SIZES)
def test_a_team_has_one_family_of_hues_and_others_are_beside_it(num_teams, size):
    teams = np.array(blocks(num_teams, size))
    hue, share = hues(player_colors(len(teams), tuple(teams))), 360 / num_teams
    middle = 30 + share * (teams - 1)
    away = np.abs((hue - middle + 180) % 360 - 180)
    assert away.max() <= 0.3 * share + 1.5  # the middle and the hue of a colour are whole degrees


def test_without_allies_colours_are_what_they_were():
    alone = tuple(range(1, 33))
    np.testing.assert_array_equal(player_colors(32, alone), player_colors(32))
    np.testing.assert_array_equal(owner_colors(32, teams=alone), owner_colors(32))


def test_colours_follow_the_team_not_the_seat():
    first, turned = player_colors(4, (1, 1, 2, 2)), player_colors(4, (1, 2, 1, 2))
    np.testing.assert_array_equal(first[[0, 2, 1, 3]], turned)


@pytest.mark.parametrize("teams", [blocks(125, 2), blocks(2, 125), (1,) * 249 + (2,)])
def test_all_seats_there_can_be_have_a_colour_of_their_own(teams):
    assert len({tuple(color) for color in player_colors(250, teams).tolist()}) == 250


def test_a_board_has_them():
    teams, owner = blocks(2, 2), np.arange(1, 5, dtype=np.uint8).repeat(9).reshape(4, 3, 3)[:, :, 0]
    picture = render_board(owner, 4, 8, teams=list(teams))
    np.testing.assert_array_equal(picture[4::8, 4], player_colors(4, teams))


@pytest.mark.parametrize(
    ("teams", "report"),
    [((1, 2), "teams has 2 entries; it must have one for each of 3 seats"), ((0, 1, 1), "teams has 0; ")],
)
def test_wrong_teams_are_named(teams, report):
    with pytest.raises(ValueError, match=report):
        player_colors(3, teams)
