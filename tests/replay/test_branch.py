"""Going on from any tick of a recorded game, with its own players, with others, and with other endings."""

import dataclasses
import pickle

import numpy as np
import pytest

from territorial import Recorder, Replay
from territorial.bots import PythonBot, make
from territorial.engine.seats import AGENT, DRIVEN, EXTERNAL
from territorial.replay import ReplayError
from territorial.replay.replay import Repeat
from tests.replay.support import BOTS, random_actions, random_setting, recorded_game


class Chancy(PythonBot):
    """Attacks somebody by lot, and counts its decisions in its memory."""

    name, interval = "chancy-1", 30

    def decide(self, view):
        view.memory[:, 0] += 1
        legal = np.where(view.legal, view.draw(300)[:, None] % np.uint64(97), 0)
        return np.where(view.legal.any(1), legal.argmax(1), -1), 100 + view.memory[:, 0] % 50


OWN = (Chancy(), dataclasses.replace(make("settler").style, name="mine-1", interval=40))
DEALS = ({}, {"teams": 2}, {"teams": 2, "team_deal": "random"}, {"handicap": True})


def line_up(rng, players):
    """A line-up of bots of the library, own bots, and seats that are driven from outside."""
    names = [*BOTS, "settler", "champion", "hard", AGENT, EXTERNAL, *OWN]
    return [names[i] for i in rng.integers(0, len(names), players)]


def a_game(seed, most=1_000):
    """A recorded game, and a decision point of it."""
    rng = np.random.default_rng(seed)
    config = random_setting(rng)[0].replace(**DEALS[seed % len(DEALS)], decision_every=10)
    config = config.replace(num_players=4 + seed % 4, max_ticks=int(rng.integers(10, most)))
    seats = line_up(rng, config.num_players)
    replay = recorded_game(config, seats, seed, actions=lambda game: random_actions(game, rng))[1]
    tick = 10 * int(rng.integers(0, 1 + (replay.num_ticks - 1) // 10))
    return replay, tick


PLAYERS = {bot.name: bot for bot in OWN}


def driven(replay, tick):
    """The living seats that are driven from outside, with the launches that they made."""
    alive, repeat = replay.seek(tick).state.alive[0], Repeat(replay)
    names = enumerate(replay.players_at(tick), start=1)
    return {seat: repeat for seat, name in names if name in DRIVEN and alive[seat]}


def to_its_end(game, num_ticks):
    """Play game 0 on, and return its digest."""
    while game.state.tick[0] < num_ticks:
        game.step(hold=True)
    return game.digest(0)


def check_left_alone(seed):
    """Opened at any tick, a game goes on as it did, saved, restored and pickled on the way, too."""
    replay, tick = a_game(seed)
    game = replay.game(tick, players=PLAYERS, seats=driven(replay, tick))
    assert game.digest(0) == replay.seek(tick).digest(0)
    other = pickle.loads(pickle.dumps(game))
    assert to_its_end(game, replay.num_ticks) == replay.digest
    saved = pickle.loads(pickle.dumps(other.save(0)))
    other.reset(seeds=[seed + 1])
    other.step(hold=True)
    other.restore(0, saved)
    assert to_its_end(other, replay.num_ticks) == replay.digest


@pytest.mark.parametrize("seed", range(24))
def test_a_game_that_is_left_alone_ends_as_recorded(seed):
    check_left_alone(seed)


@pytest.mark.slow
def test_two_thousand_games_that_are_left_alone_end_as_recorded():
    for seed in range(24, 2_024):
        check_left_alone(seed)


@pytest.mark.parametrize("seed", range(100, 112))
def test_a_branch_is_an_ordinary_replay_and_so_is_a_branch_of_it(seed):
    before, tick = a_game(seed)
    for k in range(3):
        alive = list(driven(before, tick)) or [int(before.seek(tick).state.alive[0].argmax())]
        player = ("vulture", OWN[0], "settler")[k]
        game = before.game(tick, seats={alive[k % len(alive)]: player}, players=PLAYERS)
        with Recorder(game, before=before, checkpoint_every=50) as recorder:
            to_its_end(game, before.num_ticks - 10 * (k == 1))
            branch = Replay.from_bytes(recorder.replay().to_bytes())
        branch.verify()
        for earlier in (0, tick // 2, tick):
            assert branch.seek(earlier).digest(0) == before.seek(earlier).digest(0)
        assert branch.seek(branch.num_ticks).digest(0) == game.digest(0)
        assert branch.players_at(branch.num_ticks) == tuple(game.seats_of(0))
        later = 10 * (tick // 10 + (branch.num_ticks - tick) // 20)
        again = branch.game(later, players=PLAYERS, seats=driven(branch, later))
        assert to_its_end(again, branch.num_ticks) == branch.digest
        before, tick = branch, later


def test_a_seat_that_keeps_its_player_is_undisturbed_and_a_branch_of_it_can_be_opened():
    before, tick = a_game(7)
    names = before.players_at(tick)
    same = {seat: PLAYERS.get(name, name) for seat, name in enumerate(names, start=1) if name not in DRIVEN}
    alive = before.seek(tick).state.alive[0]
    game = before.game(tick, players=PLAYERS, seats=driven(before, tick))
    game.change_seats(0, {seat: player for seat, player in same.items() if alive[seat]})
    assert to_its_end(game, before.num_ticks) == before.digest


def test_other_futures_and_places_have_no_replay():
    before, tick = a_game(3)
    game = before.game(tick, players=PLAYERS, future=1, seats=driven(before, tick))
    with pytest.raises(ReplayError, match="no replay can be made of a game with another future"):
        Recorder(game, before=before)
    other, _ = a_game(11)
    with pytest.raises(ReplayError, match="does not stand where the game before it stood"):
        Recorder(other.game(0, players=PLAYERS), before=dataclasses.replace(before, seed=other.seed))
    with pytest.raises(TypeError, match=r"before is .x\.replay.; it must be a Replay"):
        Recorder(game, before="x.replay")
    plain = Recorder(before.game(0, players=PLAYERS, future=1))
    with pytest.raises(ReplayError, match="is not recorded from its beginning"):
        plain.replay()
