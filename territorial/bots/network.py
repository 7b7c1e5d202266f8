"""Decisions of networks in the engine, in whole numbers.

docs/networks.md defines every step; ``network_layers`` computes the logits. Seats of many games are
collected, then each network decides for all of its own. Hundreds of networks do not fit into the cache next
to the core, so that the weights of one are loaded once for all seats that it has in the games of a thread.
They are fetched while the network before it decides.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network_file import (
    FRACTION_OUTPUTS,
    LAYERS,
    MOST_CANDIDATES,
    NetworkFile,
    even,
    places_of,
)
from territorial.bots.network_layers import (
    NO_COLUMN,
    NUM_CANDIDATES,
    TEMPERATURE,
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
from territorial.game.state import Game
from territorial.jit.decorators import int64, kernel, njit, routine
from territorial.jit.simd import aligned_zeros
from territorial.observation.action_encoding import FRACTION_TABLE, HOW_MUCH, WHAT
from territorial.observation.pair_columns import OF_PAIR, OWN, PAIRS
from territorial.observation.pairs import PairTotals, allocate_totals, see_pairs

NEVER = -(2**40)
"""The logit of an option that is not legal."""
LOGIT_PARTS = 16
"""Parts of a logit's unit in one of the powers' table."""
POWER_BITS = 8
POWERS_UNIT = 2**POWER_BITS
MOST_HALVINGS = 33


POWERS = np.floor(2.0 ** (32 - np.arange(POWERS_UNIT) / POWERS_UNIT)).astype(np.int64)
"""2 ** 32 times 2 ** (-i / 256), rounded down, for i from 0 to 255.

The same on every machine: none but the first is within 0.004 of a whole number, and float64 is a thousand
times as exact.
"""


# ---- a table of networks ---------------------------------------------------------------------------


class Rows(NamedTuple):
    """Observations of B seats, in whole numbers."""

    own: npt.NDArray[np.int16]  # (B, N); the columns of a row lie side by side
    pairs: npt.NDArray[np.int16]  # (B, C, K)
    counts: npt.NDArray[np.int64]  # (B,) candidates that are there


def places_in_layout(file: NetworkFile) -> npt.NDArray[np.int64]:
    """Return where the columns that a network reads stand in the layout of this release.

    Those of own come first, then those of pairs, each filled up to an even number with NO_COLUMN.
    NetworkError for one that the layout lacks.
    """
    description = file.description
    places: list[int] = []
    for what, wanted, table in (
        ("own", description.own_columns, OWN),
        ("pair", description.pair_columns, PAIRS),
    ):
        found = places_of(file.path, what, wanted, [(one.name, one.version) for one in table])
        places += found + [NO_COLUMN] * (len(found) % 2)
    return np.array(places, np.int64)


def row_of(file: NetworkFile, places: npt.NDArray[np.int64], temperature: int) -> npt.NDArray[np.int64]:
    """Return the numbers of a network, (NUM_NUMBERS,): a row of the table of networks that kernels read.

    They are valid as long as ``file`` and ``places``, see ``places_in_layout``, are there. ``temperature``:
    256ths.
    """
    description, tensors = file.description, file.tensors
    own = even(len(description.own_columns))
    in_order = np.concatenate([np.arange(own), np.arange(len(places) - own)])
    numbers = [
        temperature,
        description.num_candidates,
        own,
        even(len(description.pair_columns)),
        description.candidate_width,
        description.context_width,
        OF_PAIR.legal,
        places.ctypes.data,
        bool(np.array_equal(places, in_order)),
        *(tensors[f"{layer}.weights"].ctypes.data for layer in LAYERS),
        *(tensors[f"{layer}.biases"].ctypes.data for layer in LAYERS),
        *(description.shifts[layer] for layer in LAYERS),
    ]
    return np.array(numbers, np.int64)


# ---- a decision ------------------------------------------------------------------------------------


@njit
def choose_launch(net: Any, scratch: NetworkScratch, seat: int, first: Any, second: Any) -> tuple[int, int]:
    """Return the choice of a seat of the group: 0 holds, 1 + candidate; and the number of the fraction.

    The group was evaluated. ``first`` and ``second``: uint64, the random numbers of the two choices.
    """
    row, end = scratch.first_rows[seat], scratch.first_rows[seat + 1]
    logits = scratch.logits[seat + row : seat + end + 1]
    for i in range(row, end):
        if not scratch.is_legal[i]:
            logits[1 + i - row] = NEVER
    chosen = choose_option(logits, 1 + end - row, net[TEMPERATURE], first)
    if chosen == 0:
        return 0, 0
    fractions = scratch.fractions[row + chosen - 1]
    return chosen, choose_option(fractions, FRACTION_OUTPUTS, net[TEMPERATURE], second)


@njit
def choose_option(logits: Any, count: int, temperature: int, number: Any) -> int:
    """Return the first of the best of ``count`` options, or one drawn with ``number`` at a temperature."""
    best = 0
    for i in range(1, count):
        if logits[i] > logits[best]:
            best = i
    if temperature == 0:
        return best
    total = 0
    for i in range(count):
        total += likelihood(logits[best] - logits[i], temperature)
    left = int64(number % np.uint64(total))
    for i in range(count):
        left -= likelihood(logits[best] - logits[i], temperature)
        if left < 0:
            return i
    return best


@njit
def likelihood(below: int, temperature: int) -> int:
    """Return how likely an option is that is ``below`` the best, which has 2 ** 32."""
    parts = LOGIT_PARTS * below // temperature
    return POWERS[parts & (POWERS_UNIT - 1)] >> min(parts >> POWER_BITS, MOST_HALVINGS)


@kernel
def choose_for_rows(
    net: Any, scratch: NetworkScratch, rows: Rows, numbers: Any, chosen: Any, logits: Any
) -> None:
    """Let a network, of which ``net`` is the row, choose for B rows.

    ``numbers``: uint64 (B, 2), the random numbers. Written: ``chosen``, int64 (B, 2), 0 to hold or 1 + the
    candidate, and the fraction; ``logits``, int64 (B, 1 + C, 1 + 10), of targets and their fractions.
    """
    end = 0
    while end < len(chosen):
        begin, end = end, end
        begin_group(scratch)
        while end < len(chosen) and may_join(scratch, rows.counts[end]):
            join(net, scratch, rows.own[end], rows.pairs[end], rows.counts[end])
            end += 1
        evaluate(net, scratch)
        for b in range(begin, end):
            seat = b - begin
            chosen[b, 0], chosen[b, 1] = choose_launch(net, scratch, seat, numbers[b, 0], numbers[b, 1])
            copy_logits(scratch, seat, logits[b])


@njit
def copy_logits(scratch: NetworkScratch, seat: int, logits: Any) -> None:
    """Write the logits of a seat of the group, (1 + C, 1 + 10): of options, and of their fractions."""
    row = scratch.first_rows[seat]
    for c in range(1 + scratch.first_rows[seat + 1] - row):
        logits[c, 0] = scratch.logits[seat + row + c]
        for f in range(FRACTION_OUTPUTS if c > 0 else 0):
            logits[c, 1 + f] = scratch.fractions[row + c - 1, f]


MOST_SEATS, MOST_ROWS = 512, 2048
"""Seats that wait at most, and candidates of all of them: more do not fit into the cache beside a network."""
SEATS, ROWS = range(2)
"""``PendingDecisions.lengths``: how many seats wait, and how many candidates they have."""
GAME, SEAT, FIRST_ROW, NUM_ROWS, NEXT = range(5)
"""What a row of ``PendingDecisions.seats`` says; NEXT is another seat of the same network, or NO_SEAT."""
NO_SEAT = -1


class PendingDecisions(NamedTuple):
    """Seats with networks that have yet to decide, and their observations."""

    lengths: npt.NDArray[np.int64]  # (2,) SEATS, ROWS
    seats: npt.NDArray[np.int64]  # (S, 5) GAME, SEAT ...
    draws: npt.NDArray[np.uint64]  # (S, 2) their random numbers
    own: npt.NDArray[np.int16]  # (S, N)
    pairs: npt.NDArray[np.int16]  # (R, K) of the candidates of all of them
    owners: npt.NDArray[np.int64]  # (R,) codes of the candidates
    last: npt.NDArray[np.int64]  # (networks,) the seat of each network that came last, or NO_SEAT


class NetworkWork(NamedTuple):
    """Inputs and scratch memory of networks on seats; every thread has its own."""

    scratch: NetworkScratch
    totals: PairTotals
    waiting: PendingDecisions


def make_network_work(num_players: int, num_networks: int) -> NetworkWork:
    """Return room for decisions in games of ``num_players``, with so many networks in the table, or none."""
    if num_networks == 0:
        return NetworkWork(*(_emptied(part) for part in make_network_work(2, 1)))
    return NetworkWork(
        scratch=make_network_scratch(),
        totals=allocate_totals(num_players),
        waiting=PendingDecisions(
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
def put_down(
    game: Game, params: Params, interest_rates: Any, nets: Any, work: NetworkWork, number: int, k: int, p: int
) -> None:
    """Let seat ``p`` of game ``k`` wait for network ``number`` of ``nets``, the table of networks.

    There must be room for it, and ``work.totals`` must be those of the game as it stands.
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
def has_room(waiting: PendingDecisions) -> bool:
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
        # How far behind its weights those of the next network lie. If they are of another size, memory is
        # fetched that is not read, which changes nothing.
        after = following if following < count else number
        work.scratch.ahead[0] = nets[after, WEIGHTS] - nets[number, WEIGHTS]
        i = waiting.last[number]
        while i != NO_SEAT:
            i = decide_group(nets[number], work, i, actions)
        waiting.last[number] = NO_SEAT
        number = following
    waiting.lengths[SEATS] = waiting.lengths[ROWS] = 0


@njit
def first_waiting(waiting: PendingDecisions, number: int) -> int:
    """Return the first network from ``number`` on that seats wait for, or how many networks there are."""
    while number < len(waiting.last) and waiting.last[number] == NO_SEAT:
        number += 1
    return number


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
