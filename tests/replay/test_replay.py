"""Playing replays: any tick, back and forth, as frames with donations; and those that do not play out."""

import dataclasses

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.replay import Checkpoint, DivergedError, LiveGame, Recorder, ReplayPlayer, frame_of
from territorial.replay.frames import teams_in
from territorial.replay.replay import SNAPSHOT_EVERY
from tests.episodes import after_steps, begun
from tests.replay.support import BOTS, SMALL, random_actions, recorded_game, same_replay
from tests.replay.team_games import CONFIG, TEAMS, begin
from tests.replay.team_games import played as team_game

LONG = SMALL.replace(max_ticks=2000, deaths=False, win_percent=100, attackers_per_defender=2)


@pytest.fixture(scope="module")
def played():
    """A game of 2,000 ticks: its replay, and the digest of every tick."""
    rng = np.random.default_rng(0)
    seats = ("turtle", "agent", "banker", "agent")
    replay = recorded_game(LONG, seats, actions=lambda game: random_actions(game, rng))[1]
    assert (replay.num_ticks, len(replay.launches) > 100) == (2000, True)
    game, digests = replay.game(), []
    by_tick = {}
    for row in replay.launches.tolist():
        by_tick.setdefault(row[0], []).append(row[1:])
    for tick in range(2000):
        digests.append(game.digest(0))
        game.tick(0, by_tick.get(tick, []))
    return replay, [*digests, game.digest(0)]


# ---- any tick --------------------------------------------------------------------------------------


def test_the_game_tick_by_tick_is_the_one_that_was_recorded(played):
    replay, digests = played
    assert repr(replay).startswith("Replay(24 x 24, 4 players, seed 0, 2000 ticks, ")
    assert [digests[checkpoint.tick] for checkpoint in replay.checkpoints] == [
        checkpoint.digest for checkpoint in replay.checkpoints
    ]


def test_seeking_back_and_forth_finds_every_tick_as_it_was(played):
    replay, digests = played
    rng = np.random.default_rng(0)
    for tick in (0, 2000, 0, 1999, 256, 255, 257, *rng.integers(0, 2001, 60).tolist()):
        game = replay.seek(tick)
        assert (game.state.tick[0], game.digest(0)) == (tick, digests[tick])
        assert game is replay.seek(tick)
    replay.seek(100).step(hold=True)  # by somebody who was to look at it
    assert [replay.seek(tick).digest(0) for tick in (600, 0, 600)] == [
        digests[tick] for tick in (600, 0, 600)
    ]


def test_a_player_keeps_positions_at_even_distances_and_within_its_memory(played):
    replay, digests = played
    size = sum(block.nbytes for block in replay.game().save(0).blocks)
    for room, spacing in ((10**9, SNAPSHOT_EVERY), (4 * size, 500), (1, 2000)):
        player = ReplayPlayer(replay, snapshot_bytes=room)
        for tick in (2000, 3, 1234, 777, 2000):
            assert player.seek(tick).digest(0) == digests[tick]
        assert sorted(player._kept) == list(range(0, 2001, spacing))
        assert len(player._kept) * size <= max(room + size, 2 * size)


def test_seeking_plays_no_more_ticks_than_lie_between_two_positions(played, monkeypatch):
    replay, _ = played
    player, spans = ReplayPlayer(replay), []
    player.seek(2000)
    original = VecGame.play

    def play(self, k, launches, until):
        spans.append(until - int(self.state.tick[0]))
        original(self, k, launches, until)

    monkeypatch.setattr(VecGame, "play", play)
    for tick in (5, 1999, 1000, 999, 1990, 0, 1279):
        spans.clear()
        player.seek(tick)
        assert sum(spans) < SNAPSHOT_EVERY


def test_ticks_that_the_game_does_not_have_are_refused(played):
    replay, _ = played
    for look in (replay.seek, replay.game):
        for tick in (-1, 2001, 1.5):
            with pytest.raises((ValueError, TypeError), match=f"tick is {tick}; .* from 0 to 2000"):
                look(tick)
    for arguments in ({"every": 0}, {"start": 11, "end": 10}, {"end": 2001}):
        with pytest.raises(ValueError, match="it must be"):
            next(replay.frames(**arguments))


def test_a_game_taken_out_of_a_replay_is_ones_own(played):
    replay, digests = played
    mine, other = replay.game(1000), replay.game(1000)
    assert mine.digest(0) == digests[1000]
    mine.step(random_actions(mine, np.random.default_rng(0), share=1))
    assert mine.digest(0) != digests[1010]
    assert other.digest(0) == replay.seek(1000).digest(0) == digests[1000]
    assert mine.seats_of(0) == replay.seats


# ---- frames ----------------------------------------------------------------------------------------


def same_frames(ours, theirs):
    return all(
        len(mine) == len(other)
        and all(
            np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype
            for a, b in zip(mine, other, strict=True)
        )
        for mine, other in zip(ours, theirs, strict=True)
    )


def test_frames_are_what_the_game_looked_like(played):
    replay, _ = played
    for frame in replay.frames(every=333):
        game = replay.seek(frame.tick)
        assert same_frames([frame], [frame_of(game, launches=frame.launches)])
        assert np.array_equal(frame.owner, game.state.owner[0, 1:-1, 1:-1])
        for name in ("land", "troops", "alive"):
            assert getattr(frame, name).tolist() == getattr(game.state, name)[0, 1:].tolist()
        assert (frame.owner.dtype, frame.alive.dtype) == (np.uint8, np.bool_)


@pytest.mark.parametrize(
    ("arguments", "ticks"),
    [
        ({"every": 700}, [0, 700, 1400, 2000]),
        ({"every": 1000}, [0, 1000, 2000]),
        ({"every": 5000}, [0, 2000]),
        ({"every": 3, "start": 5, "end": 12}, [5, 8, 11, 12]),
        ({"every": 1, "start": 1999}, [1999, 2000]),
        ({"start": 7, "end": 7}, [7]),
    ],
)
def test_frames_come_at_even_distances_and_at_the_end(played, arguments, ticks):
    assert [frame.tick for frame in played[0].frames(**arguments)] == ticks


def test_several_iterations_and_a_seek_do_not_disturb_each_other(played):
    replay, _ = played
    first, second = replay.frames(every=100), replay.frames(every=100)
    for _ in range(5):
        frame = next(first)
        replay.seek(1234)
    assert (frame.tick, next(second).tick) == (400, 0)
    kept = frame.owner.copy()
    list(first)
    assert np.array_equal(frame.owner, kept), "a frame is the receiver's own"


def test_a_live_game_has_the_frames_of_its_replay():
    config = SMALL.replace(max_ticks=405)
    replay = recorded_game(config, seed=3)[1]
    live = LiveGame(begun(VecGame(config, 2, seats=BOTS, autoreset="disabled"), seeds=[1, 3]), 1)
    assert same_frames(list(live.frames(every=50)), list(replay.frames(every=50)))
    for name in ("names", "map_kind", "terrain", "num_land"):
        assert getattr(live, name) == getattr(replay, name)
    assert replay.num_ticks == 405


def test_a_live_game_takes_actions_and_stops_when_another_takes_its_place():
    rng = np.random.default_rng(0)
    game = begun(VecGame(SMALL.replace(max_ticks=95), 2, seats=None))
    live = LiveGame(game, 1, actions=lambda game: random_actions(game, rng), names=["a", "b", "c", "d"])
    assert [frame.tick for frame in live.frames()] == list(range(0, 95, 10))
    assert (live.names, game.state.tick[1]) == (("a", "b", "c", "d"), 0)


# ---- replays that are not what was played ----------------------------------------------------------


def launches_without(replay, i):
    return np.delete(replay.launches, i, axis=0)


WRONG = {
    "a launch is missing": (lambda r: {"launches": launches_without(r, 5)}, "differs at tick 200"),
    "a late launch is missing": (
        lambda r: {"launches": launches_without(r, -1)},
        "differs at tick [0-9]+: its",
    ),
    "another seed": (lambda r: {"seed": 1}, "differs at tick 200"),
    "another rule": (lambda r: {"config": r.config.replace(launch_tax=13)}, "differs at tick 200"),
    "another digest": (
        lambda r: {"checkpoints": (*r.checkpoints[:-1], Checkpoint(r.num_ticks, bytes(8)))},
        "differs at tick 900: its digest is [0-9a-f]{16}, the recorded digest is 0000000000000000",
    ),
    "an end that was none": (
        lambda r: {"is_over": False},
        "is over at tick 900; the recorded game was not over",
    ),
    "ticks after the end": (
        lambda r: {
            "num_ticks": 1000,
            "config": r.config.replace(max_ticks=1100),
            "checkpoints": (Checkpoint(1000, bytes(8)),),
            "launches": r.launches,
        },
        "differs at tick 1000",
    ),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG)
def test_a_game_that_plays_out_differently_is_noticed(change, message):
    replay = recorded_game(SMALL.replace(deaths=False, win_percent=100))[1]
    assert replay.num_ticks == 900
    wrong = dataclasses.replace(replay, **change(replay))
    with pytest.raises(DivergedError, match=message):
        wrong.verify()
    replay.verify()


def test_a_game_that_ends_before_its_replay_is_noticed():
    replay = recorded_game(
        GameConfig(height=24, width=24, num_players=2, map="open"), ("metronome", "random")
    )[1]
    assert replay.num_ticks < 8000
    longer = dataclasses.replace(
        replay,
        num_ticks=replay.num_ticks + 10,
        checkpoints=(Checkpoint(replay.num_ticks + 10, replay.digest),),
    )
    for play in (
        longer.verify,
        lambda: longer.seek(longer.num_ticks),
        lambda: list(longer.frames(every=5000)),
    ):
        with pytest.raises(DivergedError, match=f"ends at tick {replay.num_ticks}; the recorded game lasted"):
            play()


def test_a_replay_made_by_hand_is_checked():
    replay = recorded_game(SMALL, steps=5)[1]
    assert same_replay(dataclasses.replace(replay, launches=replay.launches.tolist()), replay)
    for changes, message in (
        ({"launches": [[11, 1, 0, 5]]}, "launches are at tick 11; .* a multiple of 10"),
        ({"launches": [[20, 1, 0, 5], [10, 1, 0, 5]]}, r"launches\[1\] is at tick 10, before"),
        ({"launches": [[10, 1, 0, 5.5]]}, "launches has dtype float64"),
        ({"config": SMALL}, "map of a replay"),
        ({"seats": "abcd"}, "4 strings"),
        ({"num_ticks": 1.5}, "num_ticks is 1.5"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            dataclasses.replace(replay, **changes)


# ---- VecGame.play ----------------------------------------------------------------------------------


def test_play_stops_at_the_end_of_the_game():
    game = begun(VecGame(SMALL.replace(win_percent=5), 1, autoreset="disabled"))
    game.play(0, [(0, p, 0, 1024) for p in range(1, 5)], 900)
    assert game.state.over[0]
    assert game.state.tick[0] < 100


BAD_PLAYS = {
    "a tick gone by": ([], 19, "until is 19; it must be a whole number from 20 to 900"),
    "a launch gone by": (
        [(10, 1, 0, 5)],
        40,
        r"launches\[0, 0\] is 10; it must be from 20 to 39",
    ),
    "a launch too late": ([(20, 1, 0, 5), (40, 1, 0, 5)], 40, r"launches\[1, 0\] is 40"),
    "a seat that is not": ([(20, 5, 0, 5)], 40, r"launches\[0, 1\] is 5; it must be from 1 to 4"),
    "more than all": ([(20, 1, 0, 1025)], 40, "1025"),
    "ticks that fall": ([(30, 1, 0, 5), (20, 1, 0, 5)], 40, r"launches\[1\] is at tick 20, before"),
    "between two decisions": (
        [(25, 1, 0, 5)],
        40,
        "launches are at tick 25 of game 0; they must be at a decision, a multiple of 10",
    ),
    "three numbers": ([(1, 0, 5)], 40, r"launches has shape \(1, 3\); it must be \(N, 4\)"),
    "halves": ([(20.0, 1, 0, 5)], 40, "launches has dtype float64"),
}


@pytest.mark.parametrize(("launches", "until", "message"), BAD_PLAYS.values(), ids=BAD_PLAYS)
def test_launches_that_cannot_be_played_are_named_and_nothing_happens(launches, until, message):
    game = after_steps(VecGame(SMALL, 1, seats=BOTS), 2)
    before = game.digest(0)
    with pytest.raises((TypeError, ValueError), match=message):
        game.play(0, launches, until)
    assert game.digest(0) == before


# ---- donations ---------------------------------------------------------------------------------------


def sums_of(frames, column):
    sums = np.zeros(CONFIG.num_players + 1, np.int64)
    for frame in frames:
        np.add.at(sums, frame.gifts[:, column], frame.gifts[:, 2])
    return sums


def test_gifts_of_frames_are_those_of_the_ledger():
    game, frames, _ = team_game()
    assert len(frames[0].gifts) == 0
    assert sum(len(frame.gifts) for frame in frames) > 20
    np.testing.assert_array_equal(sums_of(frames, 0), game.state.donated[0])
    np.testing.assert_array_equal(sums_of(frames, 1), game.state.received[0])


def test_a_replay_gives_the_same_gifts_and_frames_further_apart_have_the_sums():
    _, frames, replay = team_game()
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


@pytest.mark.parametrize("teams", [None, 6])
def test_games_without_allies_have_no_teams_and_no_gifts(teams):
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
