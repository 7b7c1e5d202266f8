"""``replay.decisions``: what seats of recorded games saw and did, and what came of it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.observation.action_encoding import convert_share, owner_of_target
from territorial.observation.pair_columns import OF_PAIR
from territorial.replay import DivergedError, Replay, ReplayError, decisions
from territorial.replay.decision_rows import NOT_SHOWN
from tests.episodes import begun
from tests.replay.support import random_actions, recorded_game

CONFIG = territorial.GameConfig(height=32, width=32, num_players=5, max_ticks=1500)
SEATS = ["agent", "metronome", "random", "settler", "external"]


@pytest.fixture(scope="module")
def recorded() -> Replay:
    rng = np.random.default_rng(3)
    return recorded_game(CONFIG, SEATS, seed=4, actions=lambda game: random_actions(game, rng, 0.5))[1]


def only(*arguments: Any, **options: Any) -> Any:
    (rows,) = decisions(*arguments, **options)
    return rows


def begun_by_agents() -> tuple[territorial.VecGame, territorial.Recorder]:
    """Return a game of five seats that are told what to do, and its recorder."""
    game = territorial.VecGame(CONFIG, 1, seats=["external"] * 5, autoreset="disabled", observe=False)
    return game, territorial.Recorder(begun(game, seeds=[1]))


def launches_by_seat_and_tick(replay: Replay) -> dict[tuple[int, int], tuple[int, int]]:
    return {(seat, tick): (target, part) for tick, seat, target, part in replay.launches.tolist()}


def test_rows_have_what_the_game_showed_and_what_was_launched(recorded: Replay) -> None:
    rows = only(recorded)
    launches, found = launches_by_seat_and_tick(recorded), 0
    for i in range(0, len(rows.tick), 2):
        seat, tick, action = int(rows.seat[i]), int(rows.tick[i]), int(rows.action[i])
        seen = recorded.seek(tick).pairs([0], [seat], dtype="int16")
        assert (rows.own[i] == seen.own[0]).all()
        assert (rows.pairs[i] == seen.pairs[0]).all()
        target, part = launches.get((seat, tick), (None, 0))
        if action == 0:
            assert target is None
        elif action != NOT_SHOWN:
            c, f = divmod(action - 1, 10)
            assert owner_of_target(int(seen.targets[0, c]), seat, CONFIG.num_players) == target
            assert f == convert_share(part, "1024ths", "index")
            found += 1
        else:
            assert target not in owner_of_target(seen.targets[0], seat, CONFIG.num_players).tolist()
    assert found > 10


def test_every_launch_of_the_living_is_in_a_row_of_its_tick(recorded: Replay) -> None:
    rows = only(recorded)
    launched = {(int(rows.seat[i]), int(rows.tick[i])) for i in np.flatnonzero(rows.action != 0)}
    living = {
        (seat, tick)
        for seat, tick in launches_by_seat_and_tick(recorded)
        if recorded.seek(tick).state.alive[0, seat]
    }
    assert launched == living


def test_bots_decide_when_they_wake_and_others_at_every_decision_tick(recorded: Replay) -> None:
    rows = only(recorded)
    gaps = [set(np.diff(rows.tick[rows.seat == seat]).tolist()) for seat in range(1, 6)]
    assert gaps[0] == gaps[4] == {CONFIG.decision_every}
    game = recorded.game(0)
    for seat in (2, 3, 4):
        ticks = rows.tick[rows.seat == seat].tolist()
        wake, interval = int(game.state.wake[0, seat]), int(game.state.memory[0, seat, 0])
        expected, now = [], 0
        while now <= ticks[-1]:
            if now >= wake:
                expected.append(now)
                wake = max(wake + interval, now + 1)
            now += CONFIG.decision_every
        assert ticks == expected


def test_returns_are_the_rewards_of_the_live_game_and_places_its_end() -> None:
    weights = {"land": 1.0, "placement": 2.0, "kills": 0.5}
    config = CONFIG.replace(rewards=weights, max_ticks=900)
    seats, rewards = ["metronome", "banker", "random", "settler", "impossible"], []
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    recorder = territorial.Recorder(begun(game, seeds=[5]))
    while not game.state.over[0]:
        rewards.append(game.step()[1][0].copy())
    replay = Replay.from_bytes(recorder.replay().to_bytes())  # a file has no rewards
    for discount in (1.0, 0.9):
        rows = only(replay, rewards=weights, discount=discount)
        total, expected = np.zeros(5), []
        for step in reversed(rewards):
            total = step + discount * total
            expected.append(total)
        expected.reverse()
        for i in range(len(rows.tick)):
            step, seat = rows.tick[i] // 10, rows.seat[i] - 1
            assert rows.returns[i] == pytest.approx(expected[step][seat], abs=1e-6)
    assert (rows.place == game.results.final_place[0][rows.seat - 1]).all()
    other = only(replay, rewards={"survival": 1})
    assert (other.returns[other.tick == 0] > 0).all()


def test_a_game_that_was_left_has_no_places_and_whole_steps_alone() -> None:
    replay = recorded_game(CONFIG, SEATS, seed=4, steps=12)[1]
    rows = only(replay)
    assert not replay.is_over
    assert (rows.place == 0).all()
    assert rows.tick.max() == 110
    game, recorder = begun_by_agents()
    game.step(hold=True)
    game.play(0, np.zeros((0, 4), int), 23)
    assert only(recorder.replay()).tick.max() == 10


def test_seats_are_chosen_by_number_and_by_name(recorded: Replay) -> None:
    given = ([2, 5], ["settler", "agent"], ["metronome-1"], ["player_0"])
    found = [set(only(recorded, seats=seats).seat.tolist()) for seats in given]
    assert found == [{2, 5}, {1, 4}, {2}, {1}]
    nobody = only(recorded, seats=["banker"])
    assert (nobody.own.shape, nobody.pairs.shape, nobody.action_mask.shape) == ((0, 35), (0, 8, 26), (0, 81))


def test_every_gives_rows_on_a_grid_with_the_first_launch_before_the_next(recorded: Replay) -> None:
    rows, launches = only(recorded, every=50, seats=[2, 5]), launches_by_seat_and_tick(recorded)
    assert set((rows.tick % 50).tolist()) == {0}
    for i in range(len(rows.tick)):
        seat, tick = int(rows.seat[i]), int(rows.tick[i])
        made = [launches[seat, t] for t in range(tick, tick + 50, 10) if (seat, t) in launches]
        living = [
            recorded.seek(t).state.alive[0, seat] for t in range(tick, min(tick + 50, recorded.num_ticks), 10)
        ]
        made = made if all(living) else made[:1]
        if not made:
            assert rows.action[i] == 0
        elif rows.action[i] > 0:
            seen = recorded.seek(tick).pairs([0], [seat])
            c = (int(rows.action[i]) - 1) // 10
            assert owner_of_target(int(seen.targets[0, c]), seat, 5) == made[0][0]


def test_candidates_beyond_those_shown_are_marked(recorded: Replay) -> None:
    few, many = only(recorded, num_candidates=1), only(recorded, num_candidates=6)
    assert few.pairs.shape[1] == 1
    assert (few.action == NOT_SHOWN).sum() > (many.action == NOT_SHOWN).sum()
    assert few.action.max() <= 10
    legal = many.pairs[:, :, OF_PAIR.legal] > 0
    assert (many.action_mask[:, 0] == 1).all()
    assert (many.action_mask[:, 1:].reshape(-1, 6, 10).all(axis=2) == legal).all()


def test_a_folder_a_file_and_a_list_are_read_in_order_one_at_a_time(tmp_path: Any) -> None:
    for name, seed in (("b", 1), ("a", 2), ("c", 3)):
        recorded_game(CONFIG, SEATS, seed=seed, steps=20)[1].save(tmp_path / f"{name}.replay")
    (tmp_path / "other.txt").write_text("no replay")
    folder = list(decisions(tmp_path))
    assert [set(rows.game.tolist()) for rows in folder] == [{0}, {1}, {2}]
    listed = list(decisions([tmp_path / "a.replay", str(tmp_path / "b.replay"), tmp_path / "c.replay"]))
    for one, other in zip(folder, listed, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    (tmp_path / "d.replay").write_bytes(b"no replay")
    stream = decisions(tmp_path)
    for _ in range(3):
        next(stream)
    with pytest.raises(ReplayError, match=r"d\.replay"):
        next(stream)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"every": 0}, ValueError, "every is 0"),
        ({"num_candidates": 251}, ValueError, "num_candidates is 251"),
        ({"discount": 1.5}, ValueError, r"discount is 1\.5; it must be a finite number from 0 to 1"),
        ({"discount": "1"}, TypeError, "discount is '1'"),
        ({"seats": "banker"}, TypeError, "seats is 'banker'; it must be a list"),
        ({"seats": [0]}, ValueError, "seats has 0"),
        ({"rewards": {"money": 1}}, ValueError, "a part of rewards is 'money'"),
    ],
)
def test_options_are_refused_before_anything_is_played(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        decisions("no such file", **options)


def test_games_that_have_no_such_rows_are_refused(recorded: Replay) -> None:
    game, recorder = begun_by_agents()
    game.tick(0, [(2, 0, 100), (2, 1, 100)])
    for replay, options, error, message in (
        (recorded, {"every": 15}, ValueError, "every is 15; it must be a multiple of 10"),
        (recorded, {"seats": [9]}, ValueError, "seats has 9; the game has the seats 1 to 5"),
        (replace(recorded, seed=recorded.seed + 1), {}, DivergedError, "differs"),
        (recorder.replay(), {}, ReplayError, "seat 2 launched more than once at tick 0"),
    ):
        with pytest.raises(error, match=message):
            only(replay, **options)


def test_actions_of_a_game_play_it_again_bit_for_bit_in_an_environment_of_that_format() -> None:
    options: dict[str, Any] = {"obs": "features", "autoreset": "disabled", "config": CONFIG}
    env, rng, replays = territorial.make_vec(1, **options), np.random.default_rng(8), []
    recorder = territorial.Recorder(env.game, lambda k, replay: replays.append(replay))
    env.reset(seed=2)
    while not env.game.state.over[0]:
        masks = env.action_masks()[0]
        env.step([[rng.choice(np.flatnonzero(mask)) if rng.random() < 0.4 else 0 for mask in masks]])
    recorder.close()
    rows = only(replays)
    again = begun(territorial.make_vec(1, action_format="pairs", **options), seeds=[replays[0].seed])
    for tick in range(0, replays[0].num_ticks, CONFIG.decision_every):
        now = rows.tick == tick
        actions = np.zeros((1, 5), np.int64)
        actions[0, rows.seat[now] - 1] = rows.action[now]
        assert (again.action_masks()[0, rows.seat[now] - 1] == rows.action_mask[now]).all()
        again.step(actions)
    assert len(replays[0].launches) > 80
    assert again.game.digest(0) == replays[0].digest
