"""Standings told by the command line, in pictures, as text and as a film agree; those of teams, too."""

import json
import re

import numpy as np
import pytest

from territorial import GameConfig, VecGame, cli
from territorial.browser.film import film_header, write_film
from territorial.cli.standings import result_of, standings_of, standings_table, team_standings_of
from territorial.render import TextRenderer, draw_game, player_colors, render_game
from territorial.render.figures import percent, standings
from territorial.replay import LiveGame, Replay
from tests.episodes import advance, begun
from tests.render.film_reader import read_film
from tests.render.support import contains
from tests.replay.team_games import CONFIG as TEAM_CONFIG
from tests.replay.team_games import TEAMS, begin, played

SEATS = ("metronome", "banker", "turtle", "novice", "random", "full_sender", "bully", "hard")
CONFIG = GameConfig(height=48, width=56, num_players=8, map="lakes", max_ticks=3000)
INK = (226, 228, 232)
FAINT = (120, 126, 136)


def stands_in(picture, row, texts, color):
    """Whether a line of the standings, of these texts in ``color``, is in the panel of a picture."""
    panel = picture[:, -384:]
    swatch = (panel == player_colors(8)[row.seat - 1]).all(axis=2)[:, 61]
    line = panel[swatch.argmax() - 6 : swatch.argmax() + 24]
    return all(contains(line, text, color, 20) for text in texts)


def game_of(seed=2):
    return begun(VecGame(CONFIG, 1, seats=SEATS, autoreset="disabled", observe=False), seeds=[seed])


@pytest.fixture(scope="module")
def report():
    """A whole game: its end, its standings, and its film with a frame every 50 ticks."""
    game = game_of()
    film = b"".join(write_film(film_header(CONFIG, SEATS, "a game"), LiveGame(game).frames(50)))
    return game, standings_of(game, SEATS), read_film(film)[1]


def test_a_film_has_the_deaths_of_the_command_line(report):
    game, rows, frames = report
    assert frames[-1]["died"] == [row.death_tick for row in sorted(rows, key=lambda row: row.seat)]
    ticks = game.state.death_tick[0, 1:]
    assert not set(ticks[ticks >= 0].tolist()) <= {frame["tick"] for frame in frames}, (
        "none dies between frames"
    )
    for frame in frames:
        dead = (ticks >= 0) & (ticks < frame["tick"])
        assert frame["alive"] == (~dead).tolist()
        assert frame["died"] == [int(tick) if out else None for tick, out in zip(ticks, dead, strict=True)]


def test_tables_pictures_and_text_have_the_same_shares(report):
    game, rows, _ = report
    state = game.state
    shown = standings(state.land[0, 1:], state.troops[0, 1:], int(state.num_land[0]))
    assert {row.seat: row.share for row in rows} == {row.seat: row.share for row in shown}
    table, text = standings_table(rows), draw_game(TextRenderer(8, columns=120, colors="none"), game)
    picture = render_game(game)
    living = [row for row in rows if row.death_tick is None]
    assert living
    for row in living:
        assert re.search(rf"^ +{row.place:g}  P{row.seat} +{row.bot} +{re.escape(row.share)} ", table, re.M)
        assert re.search(rf"{row.seat} +{re.escape(row.share)} ", text)
        troops = next(one.troops for one in shown if one.seat == row.seat)
        assert stands_in(picture, row, (str(row.seat), row.bot, row.share, troops), INK)
        assert not stands_in(picture, row, (row.bot,), FAINT)
    for row in (row for row in rows if row.death_tick is not None):
        assert re.search(rf"P{row.seat} .* {row.death_tick:,}$", table, re.M)
        assert stands_in(picture, row, (str(row.seat), row.bot, row.share), FAINT)


def test_progress_and_json_have_them_too(capsys):
    arguments = [
        "demo",
        "--no-picture",
        "--seed",
        "2",
        "--map-seed",
        "0",
        "--seats",
        ",".join(SEATS),
        *["--height", "48", "--width", "56", "--num-players", "8", "--max-ticks", "3000"],
        "--json",
    ]
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    found, game, living = json.loads(out), game_of(), 0
    first = found["standings"][0]
    assert first["share"] == percent(first["land"], round(100 * first["land"] / first["land_percent"]))
    while not game.state.over[0]:
        living += int(game.state.alive.sum())
        game.step()
    assert found["agent_steps_per_s"] * found["seconds"] == pytest.approx(living)
    assert err.rstrip().endswith(f"leader P{first['seat']} {first['bot']} {first['share']}")


def test_a_share_is_rounded_down_exactly():
    for whole in np.random.default_rng(0).integers(1, 2**20, 2000).tolist():
        for part in (0, whole // 3, whole - 1, whole):
            tenths = round(float(percent(part, whole)[:-1]) * 10)
            assert tenths * whole <= 1000 * part < (tenths + 1) * whole
    assert percent(7, 7) == "100.0%"


def test_a_film_that_begins_in_the_middle_knows_who_died_before(report):
    game, _, _ = report
    ticks = game.state.death_tick[0, 1:]
    middle = int(np.median(ticks[ticks >= 0])) // 10 * 10 + 20
    again = game_of()
    while again.state.tick[0] < middle:
        again.step()
    film = b"".join(write_film(film_header(CONFIG, SEATS, "the end"), LiveGame(again).frames(50)))
    frames = read_film(film)[1]
    first = [int(tick) if 0 <= tick < middle else None for tick in ticks]
    assert frames[0]["tick"] == middle
    assert 0 < len([tick for tick in first if tick is not None]) < len(ticks)
    assert (frames[0]["died"], frames[0]["alive"]) == (first, [tick is None for tick in first])
    assert frames[-1]["died"] == [int(tick) if tick >= 0 else None for tick in ticks]


ARGUMENTS = ["--height", "40", "--width", "40", "--num-players", "6", "--max-ticks", "300"]
ARGUMENTS += ["--seats", "metronome,banker"]


def test_the_places_and_the_lines_of_members_are_those_of_the_teams():
    game, _, replay = played()
    rows = standings_of(game, replay.names)
    teams = team_standings_of(game, rows)
    assert [row.team for row in rows] == [team.team for team in teams for _ in range(2)]
    for row in rows:
        assert (row.place, row.team) == (game.state.doubled_place[0, row.seat] / 2, TEAMS[row.seat - 1])
    for team in teams:
        members = [row for row in rows if row.team == team.team]
        assert (team.place, team.land) == (members[0].place, sum(row.land for row in members))
        assert team.troops == sum(row.troops for row in members)
        deaths = [row.death_tick for row in members]
        assert team.death_tick == (None if None in deaths else max(deaths))
    assert [team.place for team in teams] == sorted(team.place for team in teams)
    lines = standings_table(rows, teams).strip().splitlines()[1:]
    assert len(lines) == 9
    for team, (head, *members) in zip(teams, np.reshape(lines, (3, 3)).tolist(), strict=True):
        assert head.split()[:3] == [f"{team.place:g}", "team", str(team.team)]
        assert {line.split()[0] for line in members} == {
            f"P{row.seat}" for row in rows if row.team == team.team
        }


def test_in_progress_a_team_is_placed_by_the_sum_of_its_land():
    game = begin()
    advance(game, 40)
    assert not game.state.over[0]
    teams = team_standings_of(game, standings_of(game, ["x"] * 6))
    assert [team.place for team in teams] == [1, 2, 3]
    assert [team.land for team in teams] == sorted((team.land for team in teams), reverse=True)
    assert sum(team.land for team in teams) == game.state.land[0, 1:].sum()


def test_without_teams_nothing_speaks_of_them():
    game = begin(TEAM_CONFIG.replace(teams=6, max_ticks=100))
    rows = standings_of(game, ["x"] * 6)
    assert team_standings_of(game, rows) == []
    assert all("team" not in row for row in result_of(rows, [])["standings"])
    assert "team" not in standings_table(rows)


def test_demo_watch_and_replay_know_teams(tmp_path, monkeypatch, run, done, result_of):
    monkeypatch.chdir(tmp_path)
    said, _ = done("demo", *ARGUMENTS, "--teams", "2", "--replay", "t.replay", "--page", "t.html")
    assert set(re.findall(r"team (\d)", said)) == {"1", "2"}
    assert Replay.load("t.replay").teams == (1, 1, 1, 2, 2, 2)
    assert result_of("replay", "t.replay", "--verify")["verified"]
    report = result_of("replay", "t.replay", "--standings")
    assert sorted(team["team"] for team in report["teams"]) == [1, 2]
    assert {row["team"] for row in report["standings"]} == {1, 2}
    assert run("replay", "t.replay", "--at", "200", "--picture", "t.png")[0] == 0
    assert run("watch", "t.replay", "--page", "w.html")[0] == 0
    done("watch", "--teams", "1,2,1,2,1,2", *ARGUMENTS, "--page", "l.html")
    assert run("watch", "t.replay", "--teams", "2", "--page", "w.html")[0] == 2
