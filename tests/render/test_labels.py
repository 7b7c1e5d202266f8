"""Labels: where there is room, large where there is much, and at rest."""

import numpy as np
import pytest

from territorial.render import Renderer, player_colors, render_board
from territorial.render.board import NEUTRAL_COLOR
from territorial.render.labels import find_places
from tests.render.support import contains, land_of, random_board

WHITE, BLACK = (255, 255, 255), (0, 0, 0)


@pytest.mark.parametrize("size", [(16, 16), (60, 90), (128, 128), (300, 170), (1024, 40)])
def test_every_label_stands_on_the_land_of_its_owner(size):
    owner = random_board(*size, 9)
    owner[owner == 4] = 0
    places = find_places(owner, 9)
    for code in range(10):
        row, column = places.row[code], places.column[code]
        assert row == -1 if code == 4 else owner[row, column] == code


def test_land_of_a_single_cell_is_found_on_the_largest_board():
    owner = np.zeros((1024, 1024), np.uint8)
    owner[1001, 3], owner[17, 500] = 7, 250
    places = find_places(owner, 250)
    assert [(places.row[seat], places.column[seat]) for seat in (7, 250)] == [(1001, 3), (17, 500)]
    assert (places.row >= 0).sum() == 3


def test_a_label_keeps_away_from_edges_and_holes():
    owner = np.ones((100, 100), np.uint8)
    owner[:, 60:] = 2
    owner[48:52, 28:32] = 255
    places = find_places(owner, 2)
    row, column, across, along = (part[1] for part in places)
    assert 5 < across <= 30
    assert 5 < along <= 50
    for reach in range(1, 5):
        assert (owner[row - reach : row + reach + 1, column - reach : column + reach + 1] == 1).all()
    assert abs(places.column[2] - 80) <= 2
    assert abs(places.row[2] - 50) <= 2


def test_a_label_rests_while_its_place_will_do():
    owner = np.zeros((100, 100), np.uint8)
    owner[30:70, 20:60] = 1
    first = find_places(owner, 1)
    owner[30:70, 60:66] = 1
    second = find_places(owner, 1, first)
    assert (second.row[1], second.column[1]) == (first.row[1], first.column[1])
    owner[30:70, 20:45] = 0
    third = find_places(owner, 1, second)
    assert third.column[1] > 50
    assert find_places(np.zeros_like(owner), 1, third).row[1] == -1


def test_labels_grow_with_the_land_and_say_more():
    color = player_colors(1)[0]

    def drawn(side):
        owner = np.zeros((200, 200), np.uint8)
        owner[100 - side : 100 + side, 100 - side : 100 + side] = 1
        return Renderer(1, names=["Ann"], scale=1, panel=False).draw(owner, land_of(owner, 1), [12_345])

    def says(side, text, size):
        return any(contains(drawn(side), text, ink, size, color) for ink in (WHITE, BLACK))

    assert contains(drawn(2), "1", BLACK, 11, NEUTRAL_COLOR, rim=True)  # below the land
    assert [says(side, "12.3K", 11) for side in (2, 24)] == [False, True]
    assert [says(side, "1  Ann", 11) for side in (24, 28)] == [False, True]
    assert says(90, "1  Ann", 36)


def test_the_dead_have_no_label_and_free_land_none_either():
    owner = np.zeros((60, 60), np.uint8)
    picture = Renderer(3, scale=2, panel=False).draw(owner, [0, 0, 0], [0, 0, 0])
    np.testing.assert_array_equal(picture, render_board(owner, 3, 2))


def test_labels_at_the_edge_of_the_board_are_whole():
    owner = np.zeros((40, 40), np.uint8)
    owner[39, 20] = 1
    picture = Renderer(1, scale=1, panel=False).draw(owner, [1], [5])
    assert contains(picture, "1", BLACK, 11, NEUTRAL_COLOR, rim=True)
