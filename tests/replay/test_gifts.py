"""Donations between frames: those of a game as it is played are those of its replay, and of the ledger."""

import numpy as np
import pytest

from territorial.replay import LiveGame, Recorder
from territorial.replay.frames import teams_in
from tests.replay.team_games import CONFIG, TEAMS, begin, played


def sums_of(frames, column):
    sums = np.zeros(CONFIG.num_players + 1, np.int64)
    for frame in frames:
        np.add.at(sums, frame.gifts[:, column], frame.gifts[:, 2])
    return sums


def test_gifts_of_frames_are_those_of_the_ledger():
    game, frames, _ = played()
    assert len(frames[0].gifts) == 0
    assert sum(len(frame.gifts) for frame in frames) > 20
    np.testing.assert_array_equal(sums_of(frames, 0), game.state.donated[0])
    np.testing.assert_array_equal(sums_of(frames, 1), game.state.received[0])


def test_a_replay_gives_the_same_gifts_and_frames_further_apart_have_the_sums():
    _, frames, replay = played()
    replay.verify()
    assert replay.teams == TEAMS
    later = [frame._replace(gifts=frame.gifts[:0]) for frame in frames if frame.tick == 600]
    later += [frame for frame in frames if frame.tick > 600]
    for start, wanted in ((0, frames), (600, later)):
        for mine, again in zip(wanted, replay.frames(10, start=start), strict=True):
            np.testing.assert_array_equal(mine.gifts, again.gifts)
    far = list(replay.frames(every=170))
    for column in (0, 1):
        np.testing.assert_array_equal(sums_of(far, column), sums_of(frames, column))
    live = list(LiveGame(begin()).frames(170))
    assert live[3].tick == far[3].tick
    np.testing.assert_array_equal(live[3].gifts, far[3].gifts)
    pairs = [tuple(pair) for pair in far[3].gifts[:, :2].tolist()]
    assert pairs == sorted(set(pairs))


def test_games_without_allies_have_no_teams_and_no_gifts():
    for teams in (None, 6):
        game = begin(CONFIG.replace(teams=teams, max_ticks=100))
        live = LiveGame(game)
        assert teams_in(game) is live.teams is None
        assert {frame.gifts is None for frame in live.frames(10)} == {True}


@pytest.mark.parametrize("deal", ["blocks", "turn", "random"])
def test_a_replay_knows_the_teams_of_its_game(deal):
    game = begin(CONFIG.replace(team_deal=deal, max_ticks=20))
    with Recorder(game) as recorder:
        game.reset(seeds=[9])
        game.step()
        assert recorder.replay().teams == teams_in(game) == tuple(game.state.team[0, 1:].tolist())
