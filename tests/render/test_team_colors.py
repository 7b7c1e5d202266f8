"""Colours of teams: a family for each, all of them told apart; without allies they are what they were."""

import numpy as np
import pytest

from territorial.render import owner_colors, player_colors, render_board
from territorial.render.colors import NEUTRAL_COLOR, TERRAIN_COLORS, VIEWS, seen
from tests.render.support import least_distance

TERRAIN = [NEUTRAL_COLOR, *TERRAIN_COLORS.values()]
SIZES = [(4, 8), (2, 16), (8, 4), (16, 2), (5, 6), (3, 10), (2, 2)]
APART = {"all cones": 8, "deuteranopia": 4.5, "protanopia": 4.5, "tritanopia": 4.2}
"""Least CIEDE2000 of any two of 32 seats in teams and the terrain; 1 can just be seen, side by side."""


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
    assert least_distance(np.vstack([colors, TERRAIN]), view) >= APART[view]


@pytest.mark.parametrize(("num_teams", "size"), SIZES)
def test_a_team_has_one_family_of_hues_and_others_are_beside_it(num_teams, size):
    teams = np.array(blocks(num_teams, size))
    hue, share = hues(player_colors(len(teams), tuple(teams))), 360 / num_teams
    middle = 30 + share * (teams - 1)
    away = np.abs((hue - middle + 180) % 360 - 180)
    assert away.max() <= 0.3 * share + 1.5  # the middle and the hue of a colour are whole degrees


def test_without_allies_colours_are_what_they_were():
    for teams in (None, tuple(range(1, 33))):
        np.testing.assert_array_equal(player_colors(32, teams), player_colors(32))
        np.testing.assert_array_equal(owner_colors(32, teams=teams), owner_colors(32))


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
    ("teams", "told"),
    [((1, 2), "teams has 2 entries; it must have one for each of 3 seats"), ((0, 1, 1), "teams has 0; ")],
)
def test_wrong_teams_are_named(teams, told):
    with pytest.raises(ValueError, match=told):
        player_colors(3, teams)
