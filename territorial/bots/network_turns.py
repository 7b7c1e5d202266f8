"""The turns of networks: seats of many games are collected, then each network decides for all of its own.

Hundreds of networks do not fit into the cache next to the core. The weights of one are loaded once for all
seats that it has in the games of a thread, instead of once a decision; and they are fetched while the network
before it decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT
from territorial.bots.network import choose_launch
from territorial.bots.network_file import MOST_CANDIDATES
from territorial.bots.network_layers import (
    NUM_CANDIDATES,
    WEIGHTS,
    NetworkScratch,
    begin_group,
    evaluate,
    join,
    make_network_scratch,
    may_join,
)
from territorial.bots.targets import FREE_DRAWS, HOLD_ALL, bot_draw
from territorial.config import Params
from territorial.constants import FRACTIONS
from territorial.game.state import Game
from territorial.jit.decorators import njit, routine
from territorial.jit.lines import aligned_zeros
from territorial.observation.pair_columns import OWN, PAIRS
from territorial.observation.pairs import PairTotals, allocate_totals, see_pairs, sum_up

FRACTION_TABLE = np.array(FRACTIONS, np.int64)
MOST_SEATS, MOST_ROWS = 512, 2048
"""Seats that wait at most, and candidates of all of them: more do not fit into the cache beside a network."""
SEATS, ROWS = range(2)
"""``Waiting.lengths``: how many seats wait, and how many candidates they have."""
GAME, SEAT, FIRST_ROW, NUM_ROWS, NEXT = range(5)
"""What a row of ``Waiting.seats`` says; NEXT is another seat of the same network, or NO_SEAT."""
NO_SEAT = -1


class Waiting(NamedTuple):
    """Seats whose networks are to decide, and what they see."""

    lengths: npt.NDArray[np.int64]  # (2,) SEATS, ROWS
    seats: npt.NDArray[np.int64]  # (S, 5) GAME, SEAT ...
    draws: npt.NDArray[np.uint64]  # (S, 2) their random numbers
    own: npt.NDArray[np.int16]  # (S, N)
    pairs: npt.NDArray[np.int16]  # (R, K) of the candidates of all of them
    owners: npt.NDArray[np.int64]  # (R,) codes of the candidates
    last: npt.NDArray[np.int64]  # (networks,) the seat of each network that came last, or NO_SEAT


class NetworkWork(NamedTuple):
    """What networks on seats need of a game, and what they are shown; every thread needs its own."""

    scratch: NetworkScratch
    totals: PairTotals
    waiting: Waiting


def make_network_work(num_players: int, num_networks: int) -> NetworkWork:
    """Return room for decisions in games of ``num_players``, with so many networks in the table, or none."""
    if num_networks == 0:
        return NetworkWork(*(_emptied(part) for part in make_network_work(2, 1)))
    return NetworkWork(
        scratch=make_network_scratch(),
        totals=allocate_totals(num_players),
        waiting=Waiting(
            lengths=np.zeros(2, np.int64),
            seats=np.zeros((MOST_SEATS, 5), np.int64),
            draws=np.zeros((MOST_SEATS, 2), np.uint64),
            own=np.zeros((MOST_SEATS, len(OWN)), np.int16),
            pairs=np.zeros((MOST_ROWS, len(PAIRS)), np.int16),
            owners=np.zeros(MOST_ROWS, np.int64),
            last=np.full(num_networks, NO_SEAT, np.int64),
        ),
    )


def _emptied(part: Any) -> Any:
    """Return arrays of the same types without an entry."""
    if isinstance(part, np.ndarray):
        return aligned_zeros(tuple(0 for _ in part.shape), part.dtype.type)
    return type(part)(*map(_emptied, part))


@njit
def show_game(game: Game, params: Params, work: NetworkWork) -> None:
    """Find what all networks of ``game`` need, as it stands; its seats may then be put down."""
    sum_up(game, params, work.totals)


@njit
def put_down(
    game: Game, params: Params, interest_rates: Any, nets: Any, work: NetworkWork, number: int, k: int, p: int
) -> None:
    """Let seat ``p`` of game ``k`` wait for network ``number`` of ``nets``, the table of networks.

    There must be room for it.
    """
    waiting = work.waiting
    i, first = waiting.lengths[SEATS], waiting.lengths[ROWS]
    end = first + nets[number, NUM_CANDIDATES]
    pairs, owners = waiting.pairs[first:end], waiting.owners[first:end]
    count = see_pairs(game, params, interest_rates, work.totals, p, waiting.own[i], pairs, owners)
    for draw in range(2):
        waiting.draws[i, draw] = bot_draw(game, p, FREE_DRAWS + draw)
    about = waiting.seats[i]
    about[GAME], about[SEAT], about[FIRST_ROW], about[NUM_ROWS] = k, p, first, count
    about[NEXT], waiting.last[number] = waiting.last[number], i
    waiting.lengths[SEATS], waiting.lengths[ROWS] = i + 1, first + count


@njit
def has_room(waiting: Waiting) -> bool:
    """Return whether another seat may wait, of any network."""
    return waiting.lengths[SEATS] < MOST_SEATS and waiting.lengths[ROWS] <= MOST_ROWS - MOST_CANDIDATES


@routine
def decide_all(nets: Any, work: NetworkWork, actions: Any) -> None:
    """Let all seats that wait decide, network by network.

    ``actions``: int64 (E, P, 2), written: owner codes, or HOLD_ALL, and 1024ths.
    """
    waiting, count = work.waiting, len(work.waiting.last)
    number = first_waiting(waiting, 0)
    while number < count:
        following = first_waiting(waiting, number + 1)
        work.scratch.ahead[0] = bytes_between(nets, number, following if following < count else number)
        i = waiting.last[number]
        while i != NO_SEAT:
            i = decide_group(nets[number], work, i, actions)
        waiting.last[number] = NO_SEAT
        number = following
    waiting.lengths[SEATS] = waiting.lengths[ROWS] = 0


@njit
def first_waiting(waiting: Waiting, number: int) -> int:
    """Return the first network from ``number`` on that seats wait for, or how many networks there are."""
    while number < len(waiting.last) and waiting.last[number] == NO_SEAT:
        number += 1
    return number


@njit
def bytes_between(nets: Any, number: int, other: int) -> int:
    """Return how far behind the weights of one network those of the ``other`` lie, if they are of one size.

    If they are not, memory is fetched that is not read, which changes nothing.
    """
    return nets[other, WEIGHTS] - nets[number, WEIGHTS]


@njit
def decide_group(net: Any, work: NetworkWork, first: int, actions: Any) -> int:
    """Write the launches of as many seats as can decide at once, and return the next one, or NO_SEAT.

    ``net``: the row of their network in the table; ``first``: that of the first seat among those that wait.
    """
    waiting, scratch, i = work.waiting, work.scratch, first
    begin_group(scratch)
    while i != NO_SEAT and may_join(scratch, waiting.seats[i, NUM_ROWS]):
        row, count = waiting.seats[i, FIRST_ROW], waiting.seats[i, NUM_ROWS]
        join(net, scratch, waiting.own[i], waiting.pairs[row : row + count], count)
        i = waiting.seats[i, NEXT]
    evaluate(net, scratch)
    i = first
    for seat in range(scratch.num_seats[0]):
        about, draws = waiting.seats[i], waiting.draws[i]
        chosen, fraction = choose_launch(net, scratch, seat, draws[0], draws[1])
        action = actions[about[GAME], about[SEAT] - 1]
        action[WHAT], action[HOW_MUCH] = HOLD_ALL, 0
        if chosen > 0:
            owner = waiting.owners[about[FIRST_ROW] + chosen - 1]
            action[WHAT], action[HOW_MUCH] = owner, FRACTION_TABLE[fraction]
        i = about[NEXT]
    return i
