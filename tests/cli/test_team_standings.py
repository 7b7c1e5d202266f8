"""Standings of games of teams: on the terminal, as JSON, in the poster; and the option ``--teams``."""

import re

import numpy as np

from territorial.cli.pictures import draw_poster
from territorial.cli.standings import result_of, standings_of, standings_table, team_standings_of
from territorial.render import player_colors
from territorial.replay import LiveGame, Replay, frame_of
from tests.episodes import advance
from tests.replay.team_games import CONFIG, TEAMS, begin, played

ARGUMENTS = ["--height", "40", "--width", "40", "--num-players", "6", "--max-ticks", "300"]
ARGUMENTS += ["--seats", "metronome,banker"]


def test_the_places_and_the_lines_of_members_are_those_of_the_teams():
    game, _, replay = played()
    rows = standings_of(game, replay.names)
    teams = team_standings_of(game, rows)
    assert [row.team for row in rows] == [team.team for team in teams for _ in range(2)]
    for row in rows:
        assert (row.place, row.team) == (game.state.place2[0, row.seat] / 2, TEAMS[row.seat - 1])
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
    game = begin(CONFIG.replace(teams=6, max_ticks=100))
    rows = standings_of(game, ["x"] * 6)
    assert team_standings_of(game, rows) == []
    assert all("team" not in row for row in result_of(rows, [])["standings"])
    assert "team" not in standings_table(rows)


def test_the_poster_has_teams():
    game = begin()
    frames = [frame_of(game)]
    for _ in range(40):
        game.step()
        frames.append(frame_of(game))
    rows = standings_of(game, ["x"] * 6)
    picture = draw_poster("teams", LiveGame(game), frames, rows)
    for color in player_colors(6, TEAMS):
        assert (picture == color).all(axis=2).sum() > 100


def test_demo_watch_and_replay_know_teams(tmp_path, monkeypatch, run, done, result_of):
    monkeypatch.chdir(tmp_path)
    said, _ = done("demo", *ARGUMENTS, "--teams", "2", "--replay", "t.replay", "--page", "t.html")
    assert set(re.findall(r"team (\d)", said)) == {"1", "2"}
    assert Replay.load("t.replay").teams == (1, 1, 1, 2, 2, 2)
    assert result_of("replay", "t.replay", "--verify")["verified"]
    told = result_of("replay", "t.replay", "--standings")
    assert sorted(team["team"] for team in told["teams"]) == [1, 2]
    assert {row["team"] for row in told["standings"]} == {1, 2}
    assert run("replay", "t.replay", "--at", "200", "--picture", "t.png")[0] == 0
    assert run("watch", "t.replay", "--page", "w.html")[0] == 0
    done("watch", "--teams", "1,2,1,2,1,2", *ARGUMENTS, "--page", "l.html")
    assert run("watch", "t.replay", "--teams", "2", "--page", "w.html")[0] == 2
