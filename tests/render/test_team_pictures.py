"""Teams in pictures, text and films: grouped standings, and films that are read back."""

import numpy as np
import pytest

from territorial.browser.film import film_header, write_film
from territorial.render import Renderer, TextRenderer, draw_game, make_renderer, player_colors, render_game
from territorial.render.figures import num_living, standings
from territorial.replay import LiveGame
from tests.render.film_reader import read_film
from tests.replay.team_games import CONFIG, TEAMS, begin, played

LAND, TROOPS = np.array([10, 0, 30, 50, 0, 0]), np.array([7, 0, 400, 20_000, 0, 0])


def num_land(frame):
    return int((frame.owner != 255).sum())


def test_standings_are_grouped_and_teams_have_sums():
    lines = standings(LAND, TROOPS, 200, list("abcdef"), teams=TEAMS)
    assert [(line.seat, line.name, line.share, line.troops, line.has_land) for line in lines] == [
        (0, "team 2", "40.0%", "20.4K", True),
        (4, "d", "25.0%", "20.0K", True),
        (3, "c", "15.0%", "400", True),
        (0, "team 1", "5.0%", "7", True),
        (1, "a", "5.0%", "7", True),
        (2, "b", "0.0%", "0", False),
        (0, "team 3", "out", "", False),
        (5, "e", "0.0%", "0", False),
        (6, "f", "0.0%", "0", False),
    ]
    assert standings(LAND, TROOPS, 200, limit=4, teams=TEAMS) == standings(LAND, TROOPS, 200, teams=TEAMS)[:4]


def test_titles_say_how_many_teams_are_left():
    assert [num_living(LAND), num_living(LAND, TEAMS)] == ["3 alive", "3 alive  2 teams"]


def test_the_panel_has_a_line_for_each_team():
    _, frames, _ = played()
    frame, colors = frames[40], player_colors(6, TEAMS)
    picture = Renderer(6, scale=9, teams=TEAMS).draw(frame.owner, frame.land, frame.troops)
    swatches = picture[:, 9 * CONFIG.width :][:, 2 * 34]
    rows = [int((swatches == color).all(axis=1).argmax()) for color in colors]
    lines = standings(frame.land, frame.troops, num_land(frame), teams=TEAMS)
    order = [line.seat for line in lines]
    first = min(rows)
    for seat, row in enumerate(rows, start=1):
        assert row - first == 22 * (order.index(seat) - order.index(lines[1].seat))
    for place in (n for n, seat in enumerate(order) if not seat):  # where a team stands there is no colour
        at = first + 22 * (place - 1)
        assert not (swatches[at : at + 16, None] == colors).all(axis=2).any()


def test_text_has_lines_of_teams_above_those_of_players():
    _, frames, _ = played()
    frame = frames[40]
    text = TextRenderer(6, names=list("abcdef"), columns=120, colors="none", teams=TEAMS).draw(
        frame.owner, frame.land, frame.troops, tick=frame.tick
    )
    first, *_, teams, one, two = text.splitlines()
    assert first == f"tick {frame.tick}  {num_living(frame.land, TEAMS)}"
    lines = [
        line for line in standings(frame.land, frame.troops, num_land(frame), teams=TEAMS) if line.has_land
    ]
    report = [" ".join(teams.split()), " ".join([*one.split(), *two.split()])]
    assert report[0] == " ".join(f"{line.name} {line.share} {line.troops}" for line in lines if not line.seat)
    members = [f"{line.seat} {line.seat} {'abcdef'[line.seat - 1]}" for line in lines if line.seat]
    assert [report[1].index(member) for member in members] == sorted(report[1].index(m) for m in members)


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_a_game_is_drawn_with_its_teams(mode):
    game = begin()
    for _ in range(30):
        game.step()
    drawn = draw_game(make_renderer(mode, 6, list("abcdef"), 20, TEAMS), game)
    bare = draw_game(make_renderer(mode, 6, list("abcdef"), 20), game)
    assert type(drawn) is type(bare)
    assert not np.array_equal(drawn, bare)
    if mode == "rgb_array":
        np.testing.assert_array_equal(render_game(game, names=list("abcdef")), drawn)


def test_a_film_has_teams_and_gifts():
    _, frames, replay = played()
    header = film_header(CONFIG, replay.names, "teams", teams=replay.teams)
    assert (header["version"], header["teams"]) == (5, list(TEAMS))
    found, decoded, is_whole = read_film(b"".join(write_film(header, frames)))
    assert (found, is_whole) == (header, True)
    assert [frame["gifts"] for frame in decoded] == [frame.gifts.tolist() for frame in frames]
    assert sum(len(frame["gifts"]) for frame in decoded) > 20
    assert found["colors"][1:-1] == [
        f"#{r:02x}{g:02x}{b:02x}" for r, g, b in player_colors(6, TEAMS).tolist()
    ]


def test_films_of_games_without_allies_are_what_they_were():
    header = film_header(CONFIG.replace(teams=None), "abcdef", "")
    assert header == film_header(CONFIG.replace(teams=None), "abcdef", "", teams=(1, 2, 3, 4, 5, 6))
    assert "teams" not in header
    frames = list(LiveGame(begin()).frames(100))[:5]
    stripped = [frame._replace(gifts=None) for frame in frames]
    assert b"".join(write_film(header, frames)) == b"".join(write_film(header, stripped))
