"""Givers: styles that give to allies under attack, in games with teams and only there."""

import dataclasses

import numpy as np
import pytest

import territorial
from territorial import GameConfig, VecGame, bots
from territorial.bots import Gift, Style
from territorial.bots.bot_files import library_bot
from tests.episodes import after_steps, begun

CONFIG = GameConfig(height=32, width=32, num_players=6, teams=2, team_deal="turn", max_ticks=3_000)
ROWS = 32
"""Rows of the board below, in six strips: seats 1 to 6 from the left."""


def strips(seats, *, config=CONFIG, troops=None, pools=None):
    """Return a game in which each seat has a strip of the board, about to decide at tick 0."""
    game = begun(VecGame(config, 1, 0, seats=seats, autoreset="disabled", observe=False))
    board = np.tile(np.minimum(1 + np.arange(32) * 6 // 32, 6), (ROWS, 1)).astype(np.uint8)
    board[np.asarray(game.state.owner[0, 1:-1, 1:-1]) == 255] = 255
    game.set_position(0, board, troops=troops or [5_000] * 6, pools=pools or {})
    return game


def first_gift(game, seat):
    """Return whom ``seat`` gives to first, and how much of its balance: (ally, troops, balance)."""
    for _ in range(30):
        before = game.state.troops[0].copy(), game.state.received[0].copy()
        game.step(hold=True)
        if game.state.donated[0, seat]:
            (to,) = np.flatnonzero(game.state.received[0] - before[1])
            return int(to), int(game.state.donated[0, seat]), int(before[0][seat])
    return None


GENEROUS = Style(name="generous-1", interval=1, gives=Gift(), jitter=0)


def test_an_eighth_goes_to_the_ally_that_is_most_under_attack():
    seats = ["generous-1", *["external"] * 5]
    game = strips(
        [GENEROUS, *seats[1:]],
        troops=[8_000, 5_000, 5_000, 5_000, 1_000, 5_000],
        pools={(2, 3): 900, (4, 5): 800, (6, 5): 100},
    )
    to, given, balance = first_gift(game, 1)
    assert to == 5, "900 against 1,000 troops is more than 900 against 5,000"
    assert abs(given - balance // 8) <= balance // 1024 + 1


RICH, EVEN, ATTACK = [8_000, *[5_000] * 5], [5_000] * 6, {(2, 3): 1_000}
CASES = {
    "any attack will do": (Gift(), RICH, ATTACK, True),
    "a tenth is in the field": (Gift(limit=10), RICH, ATTACK, True),
    "a third is not": (Gift(limit=30), RICH, ATTACK, False),
    "it has ten a cell": (Gift(from_=10), RICH, ATTACK, True),
    "it has no hundred a cell": (Gift(from_=100), RICH, ATTACK, False),
    "the ally is as rich": (Gift(), EVEN, ATTACK, False),
    "it is more under attack itself": (Gift(), RICH, ATTACK | {(2, 1): 4_000}, False),
    "an enemy is attacked": (Gift(), RICH, {(1, 2): 1_000, (3, 2): 1_000}, False),
    "nobody is": (Gift(), RICH, {}, False),
    "the ally is full": (Gift(), [*EVEN[:2], CONFIG.hard_cap * 32 * 6, *EVEN[3:]], ATTACK, False),
}


@pytest.mark.parametrize(("gift", "troops", "pools", "gives"), CASES.values(), ids=CASES)
def test_it_gives_to_an_ally_in_need_where_it_is_rich_enough(gift, troops, pools, gives):
    style = dataclasses.replace(GENEROUS, gives=gift)
    game = strips([style, *["external"] * 5], troops=troops, pools=pools)
    assert (first_gift(game, 1) is not None) == gives


@pytest.mark.parametrize("name", bots.GIVERS)
def test_without_teams_a_giver_is_the_bot_that_it_is_made_of(name):
    giver = library_bot(name)
    (model,) = (
        one
        for one in map(bots.make, bots.NAMES)
        if dataclasses.replace(giver, name=one.name, gives=None, idea=one.idea, weakness=one.weakness)
        == one.style
    )
    config = GameConfig(height=32, width=32, num_players=4, max_ticks=1_500)
    games = [
        VecGame(config, 2, 3, seats=[who, "banker", who, "metronome"], observe=False, autoreset="disabled")
        for who in (name, model.name)
    ]
    for game in games:
        after_steps(game, 100)
    assert np.array_equal(games[0].state.owner, games[1].state.owner)
    assert np.array_equal(games[0].state.troops, games[1].state.troops)


@pytest.mark.parametrize("name", bots.GIVERS)
def test_with_teams_they_give_and_the_ledger_says_so(name):
    seats = [name, "besieger", name, "banker", name, "metronome"]
    config = CONFIG.replace(height=64, width=64, max_ticks=8_000)
    game = begun(VecGame(config, 8, 1, seats=seats, observe=False, autoreset="disabled"))
    while not game.state.over.all():
        game.step()
    givers, others = game.state.donated[:, [1, 3, 5]], game.state.donated[:, [2, 4, 6]]
    assert givers.sum() > 0
    assert others.sum() == 0
    assert game.state.donated.sum() == game.state.received.sum()
    assert game.state.illegal[:, [1, 3, 5]].sum() == 0


def test_styles_that_give_nothing_keep_their_digests():
    assert "gives" not in bots.make("besieger").style.to_dict()
    assert dataclasses.replace(GENEROUS, gives=None).digest != GENEROUS.digest


def test_the_line_up_of_teams_is_four_times_the_same_eight():
    seats = territorial.LINEUPS["teams-4x8"].seats
    assert seats == seats[:8] * 4
    assert set(seats) & set(bots.GIVERS)
    game = begun(VecGame(GameConfig(teams=4), 1, seats=seats, observe=False), seed=0)
    assert [len(set(seats[8 * t : 8 * t + 8])) for t in range(4)] == [8] * 4
    assert list(game.state.team[0, 1:]) == [1 + seat // 8 for seat in range(32)]
