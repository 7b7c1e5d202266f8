"""Compiled entry points that reset, step and observe a batch of games.

Calls have scratch memory of their own, so that threads may share a batch: they take its games from
queues, see ``territorial.jit.thread_pool``. Games do not touch each other: game k plays the same alone or
among others.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.bots.network import NetworkWork, decide_all, has_room, put_down
from territorial.bots.network_layers import CANDIDATE_WIDTH
from territorial.config import Params
from territorial.constants import (
    AGENT_CODE,
    BLOCKED,
    FIRST_BOT_CODE,
    NUM_FRACTIONS,
    STREAM_EPISODE,
)
from territorial.engine.players import CustomTable
from territorial.engine.recording import (
    Launches,
    LaunchLog,
    clear_launches,
    keep_position,
    log_launches,
    note_launches,
)
from territorial.engine.seats import FIRST_CUSTOM_CODE, FIRST_PYTHON_CODE
from territorial.game.board import add_to_set, clear_cells, drop_from_set, set_cell, write_owner_codes
from territorial.game.formulas import draw
from territorial.game.fronts import count_fronts
from territorial.game.rewards import add_rewards, in_before, is_finished, remember
from territorial.game.rules import earliest_step, set_due, tick
from territorial.game.scratch import LAUNCH_TICK, LaunchList, Work, forget_changes, write_launch
from territorial.game.spawning import MapBank, begin_game
from territorial.game.state import (
    EPISODE,
    FUTURE,
    LAND_CHANGED,
    NEXT_DUE,
    OVER,
    PLAYERS,
    SEED,
    TICK,
    Game,
    Position,
    Seating,
    State,
    cells_of,
    game_of,
    seating_of,
    view,
    write_position,
)
from territorial.game.teams import is_in
from territorial.jit.arguments import BoundArguments
from territorial.jit.decorators import (
    ONE,
    ZERO,
    arguments_of,
    call_at,
    int64,
    kernel,
    lowest_bit,
    njit,
)
from territorial.jit.simd import all_is_written, fill
from territorial.jit.thread_pool import begins, take
from territorial.observation.action_encoding import (
    FRACTION_TABLE,
    HOW_MUCH,
    NO_TARGET,
    WHAT,
    owner_of_target,
)
from territorial.observation.copies import Lending, copy_out
from territorial.observation.pairs import sum_up
from territorial.observation.tables import (
    Buffers,
    copy_observation,
    note_all_changes,
    observe_anew,
    observe_step,
)
from territorial.typing import Bools

AUTORESETS = ("same_step", "next_step", "disabled")
"""When the next game takes the place of one whose episode is over; the kernels know them by their numbers."""
SAME_STEP, NEXT_STEP, DISABLED = range(len(AUTORESETS))
EVERY = -1
"""To ``ask_networks``: in the games of the queues, not in one."""
NO_LIMIT = 2**62
"""``Slots.max_cycles`` of episodes that are never cut off."""
DECISIONS, SHOWS = range(2)
"""``StepCall.numbers``: how many decisions are played, and how games are observed after them."""
RESET_GAME, ASK_NETWORKS = range(2)
"""``Batch.entries``: which kernels a step calls by their addresses."""
WHOLE, ONLY_ENDS, CATCH_UP = range(3)
"""``SHOWS``: all games as they stand; only those whose episode is over; those that were left out so far."""


class StepResults(NamedTuple):
    """Results of a step of E games, beside observations; P seats in seat order."""

    rewards: npt.NDArray[np.float32]  # (E, P) of several decisions their sum, decision after decision
    reward_parts: npt.NDArray[np.float32]  # (E, K, P) what they are made of, without weights
    terminated: npt.NDArray[np.bool_]  # (E, P) the seat's last step: its death, its team's, or the game's end
    truncated: npt.NDArray[np.bool_]  # (E, P)
    ended: npt.NDArray[np.bool_]  # (E,) the game ended in this step
    is_over: npt.NDArray[np.bool_]  # (E,) the episode did: the game ended, no agent lives, or it was cut off
    is_cut: npt.NDArray[np.bool_]  # (E,) it was cut off by ``max_cycles``
    was_reset: npt.NDArray[np.bool_]  # (E,) a new game has begun in this step
    final_place: npt.NDArray[np.float32]  # (E, P) 1..P in the last episode of the slot, 0 if not known
    final_players: npt.NDArray[np.int64]  # (E, C, P+1) the block ``State.players`` as that episode ended
    final_length: npt.NDArray[np.int64]  # (E,) its ticks


class Options(NamedTuple):
    """How a batch runs."""

    autoreset: int  # SAME_STEP, NEXT_STEP or DISABLED
    ends_without_agents: int  # 0 or 1
    is_observed: int  # 0 or 1


class Slots(NamedTuple):
    """Data of E games that the batch keeps beside their state."""

    num_cycles: npt.NDArray[np.int64]  # (E,) environment steps that the game has taken
    is_idle: npt.NDArray[np.bool_]  # (E,) its episode is over, so it takes no step
    max_cycles: npt.NDArray[np.int64]  # (E,) those after which its episode is cut off, or NO_LIMIT
    next_seed: npt.NDArray[np.uint64]  # (E,) of the next game, where one was given
    has_next_seed: npt.NDArray[np.bool_]  # (E,)


class StepCall(NamedTuple):
    """Arguments of a call; where Python takes part in between, it is one compiled call per decision."""

    numbers: npt.NDArray[np.int64]  # (2,) DECISIONS, SHOWS
    asks: npt.NDArray[
        np.bool_
    ]  # (1,) nothing is played yet: networks decide, each for its seats in all games
    waits: npt.NDArray[np.bool_]  # (E,) nothing more happens to the game in this call
    seeds: npt.NDArray[np.uint64]  # (E,) with which games are reset
    episodes: npt.NDArray[np.int64]  # (E,) and the numbers of these episodes


class BatchArrays(NamedTuple):
    """Arrays that the steps of E games write; their addresses are fixed while the batch lives."""

    state: State
    buffers: Buffers  # of no games where nothing is observed
    final_buffers: Buffers  # the same ones where no game is replaced within a step
    results: StepResults
    slots: Slots
    launched: Launches
    actions: npt.NDArray[np.int64]  # (E, P, 2)
    seed: npt.NDArray[np.uint64]  # (1,) the batch's
    call: StepCall

    @property
    def is_idle(self) -> Bools:
        """Which games take no step: new bool (E,)."""
        return self.slots.is_idle | (view(self.state, "over") != 0) | self.call.waits


class Batch(NamedTuple):
    """All that a thread has to know to step the games of a batch; it stays where it is from step to step."""

    arrays: BatchArrays
    params: Params
    work: Work
    bank: MapBank
    custom: CustomTable
    networks: NetworkWork
    launch_log: LaunchLog
    lending: Lending  # where what is observed is copied to
    options: Options
    thread: int  # which one it is
    entries: npt.NDArray[np.int64]  # (2,) addresses of kernels in this process, 0 before one is needed
    queues: npt.NDArray[np.int64]  # (T, 16) of all threads, see territorial.jit.thread_pool
    thread_state: npt.NDArray[np.int64]  # (16,) its own


def allocate_results(num_games: int, num_players: int, num_parts: int) -> StepResults:
    """Return zeroed buffers for ``num_games`` games with ``num_parts`` parts of rewards."""
    seats = (num_games, num_players)
    return StepResults(
        rewards=np.zeros(seats, np.float32),
        reward_parts=np.zeros((num_games, num_parts, num_players), np.float32),
        terminated=np.zeros(seats, np.bool_),
        truncated=np.zeros(seats, np.bool_),
        ended=np.zeros(num_games, np.bool_),
        is_over=np.zeros(num_games, np.bool_),
        is_cut=np.zeros(num_games, np.bool_),
        was_reset=np.zeros(num_games, np.bool_),
        final_place=np.zeros(seats, np.float32),
        final_players=np.zeros((num_games, len(PLAYERS), num_players + 1), np.int64),
        final_length=np.zeros(num_games, np.int64),
    )


def allocate_slots(num_games: int) -> Slots:
    """Return the slots of ``num_games`` games, none of which has begun."""
    return Slots(
        num_cycles=np.zeros(num_games, np.int64),
        is_idle=np.zeros(num_games, np.bool_),
        max_cycles=np.full(num_games, NO_LIMIT),
        next_seed=np.zeros(num_games, np.uint64),
        has_next_seed=np.zeros(num_games, np.bool_),
    )


def allocate_call(num_games: int) -> StepCall:
    """Return a call of one decision for ``num_games`` games."""
    return StepCall(
        numbers=np.array([1, WHOLE]),
        asks=np.zeros(1, np.bool_),
        waits=np.zeros(num_games, np.bool_),
        seeds=np.zeros(num_games, np.uint64),
        episodes=np.zeros(num_games, np.int64),
    )


# ---- calls from Python ----------------------------------------------------------------------------


@kernel
def step_games(bound: BoundArguments[Batch]) -> None:
    """Play the decisions of a call in all games, or in the ones that other threads leave."""
    batch = arguments_of(bound)
    while begins(batch.thread_state):
        if batch.arrays.call.asks[0]:
            call_at(batch.entries[ASK_NETWORKS], ask_networks, bound, (EVERY,))
            continue
        k = take(batch.queues, batch.thread)
        while k >= 0:
            step_game(bound, batch, k)
            copy_out(batch.arrays.buffers, batch.lending, k)
            k = take(batch.queues, batch.thread)
        all_is_written()


@kernel
def ask_networks(bound: BoundArguments[Batch], only: int) -> None:
    """Let the networks in game ``only`` decide; EVERY: in all games, or the ones that other threads leave.

    Their launches are written into the actions, as those of bots in Python are. Compiled for the first batch
    that has a network.
    """
    batch = arguments_of(bound)
    arrays = batch.arrays
    k = take(batch.queues, batch.thread) if only == EVERY else only
    while k >= 0:
        game, seating = game_of(arrays.state, k), seating_of(arrays.state, k)
        if takes_step(batch, game, k):
            ask_game(game, batch.params, batch.work, seating, batch.custom, batch.networks, arrays.actions, k)
        k = take(batch.queues, batch.thread) if only == EVERY else -1
    decide_all(batch.custom.networks, batch.networks, arrays.actions)


@njit
def takes_step(batch: Batch, game: Game, k: int) -> bool:
    """Return whether a call plays game ``k``: it goes on, and its episode is not over."""
    return not (batch.arrays.call.waits[k] or game.clock[OVER] != 0 or batch.arrays.slots.is_idle[k])


@njit
def step_game(bound: BoundArguments[Batch], batch: Batch, k: int) -> None:
    """Play the decisions of a call in game ``k``, up to the end of its episode, and the consequences.

    Agents act in the first decision, and hold in the others. Networks have been asked for the first.
    """
    arrays, results = batch.arrays, batch.arrays.results
    game, seating = game_of(arrays.state, k), seating_of(arrays.state, k)
    decisions, shows = arrays.call.numbers[DECISIONS], arrays.call.numbers[SHOWS]
    clear_launches(arrays.launched, k)
    if takes_step(batch, game, k):
        results.was_reset[k] = False
    elif stands_on(bound, batch, game, k):
        decisions, shows = 0, WHOLE
    else:
        return
    for i in range(decisions):
        if i == 1:
            fill(arrays.actions[k], 0)
        if i > 0 and len(batch.networks.waiting.last) > 0:
            call_at(batch.entries[ASK_NETWORKS], ask_networks, bound, (k,))
        play_decision(batch, game, seating, k, i == 0)
        if results.is_over[k]:
            break
    observe(batch, game, k, shows)
    if results.is_over[k]:
        finish(bound, batch, game, k)


@njit
def stands_on(bound: BoundArguments[Batch], batch: Batch, game: Game, k: int) -> bool:
    """Return whether game ``k``, which takes no step, is observed as it stands; the next one may begin."""
    clear_results(batch.arrays.results, k)
    if batch.arrays.call.waits[k]:
        return False
    batch.arrays.call.waits[k] = batch.arrays.call.numbers[SHOWS] != WHOLE
    if batch.options.autoreset == NEXT_STEP:
        begin_next(bound, batch, game, k)
        return False
    return True


@njit
def clear_results(results: StepResults, k: int) -> None:
    """Write the results of a call in which nothing happens."""
    results.was_reset[k] = results.ended[k] = results.is_over[k] = results.is_cut[k] = False
    fill(results.rewards[k], 0.0)
    fill(results.reward_parts[k], 0.0)
    for p in range(results.terminated.shape[1]):
        results.terminated[k, p] = results.truncated[k, p] = False


@njit
def play_decision(batch: Batch, game: Game, seating: Seating, k: int, is_first: bool) -> None:
    """Play game ``k`` up to the next decision; results are added to the results of the call."""
    params, work, results = batch.params, batch.work, batch.arrays.results
    remember(game, params, work)
    actions = batch.arrays.actions[k]
    launches = decide_launches(game, params, work, seating, actions, batch.custom)
    log_launches(batch.launch_log, k, launches)
    note_launches(batch.arrays.launched, k, game, params, launches)
    play(game, params, work, launches)
    report(game, params, work, results, k, is_first)
    end_episode(batch, game, seating, k)


@njit
def observe(batch: Batch, game: Game, k: int, shows: int) -> None:
    """Observe game ``k`` after the decisions of a call, where it is to be seen by now."""
    if batch.options.is_observed == 0:
        return
    if shows == ONLY_ENDS and not batch.arrays.results.is_over[k]:
        forget_changes(batch.work)
        return
    if shows != WHOLE:
        note_all_changes(game, batch.work, batch.arrays.buffers, k)
    observe_step(game, batch.params, batch.work, batch.arrays.buffers, k)


@njit
def finish(bound: BoundArguments[Batch], batch: Batch, game: Game, k: int) -> None:
    """Keep the end of game ``k`` if its episode is over, and begin the next."""
    keep_final(batch, game, k)
    keep_position(batch.launch_log, k, game)
    batch.arrays.slots.is_idle[k] = True
    batch.arrays.call.waits[k] = batch.arrays.call.numbers[SHOWS] != WHOLE
    if batch.options.autoreset == SAME_STEP:
        if batch.options.is_observed != 0:
            copy_observation(batch.arrays.buffers, batch.arrays.final_buffers, k)
        begin_next(bound, batch, game, k)


@njit
def end_episode(batch: Batch, game: Game, seating: Seating, k: int) -> None:
    """Decide whether the episode of game ``k`` is over: the game ended, no agent is left, or time is up.

    Players who live when their time is up are truncated; with teams, those whose team has a living member.
    """
    results, slots, options = batch.arrays.results, batch.arrays.slots, batch.options
    slots.num_cycles[k] += 1
    is_over = results.ended[k] or (
        options.ends_without_agents != 0 and not has_agent_in(game, batch.params, seating)
    )
    is_cut = not is_over and slots.num_cycles[k] >= slots.max_cycles[k]
    if is_cut or results.is_cut[k]:
        for p in range(1, len(game.alive)):
            results.truncated[k, p - 1] = is_cut & is_in(game, batch.params, p)
    results.is_over[k], results.is_cut[k] = is_over or is_cut, is_cut


@njit
def begin_next(bound: BoundArguments[Batch], batch: Batch, game: Game, k: int) -> None:
    """Let the next game take the place of game ``k``, and observe it."""
    episode = game.clock[EPISODE] + 1
    seed = next_seed(batch.arrays.slots, batch.arrays.seed[0], k, episode)
    call_at(batch.entries[RESET_GAME], reset_game, bound, (seed, episode, k))
    batch.arrays.results.was_reset[k] = True


@njit
def next_seed(slots: Slots, batch_seed: Any, k: int, episode: int) -> Any:
    """Return the seed of the next game in slot ``k``: the one that was given, or that of ``episode``."""
    seed = draw(batch_seed, STREAM_EPISODE, k, episode)
    if slots.has_next_seed[k]:
        seed = slots.next_seed[k]
    return seed


@kernel
def next_seeds(slots: Slots, batch_seed: Any, episodes: Any, seeds: Any) -> None:
    """Write the seed of the next game of every slot, episode ``episodes[k]``, into ``seeds``, uint64 (E,)."""
    for k in range(len(episodes)):
        seeds[k] = next_seed(slots, batch_seed, k, episodes[k])


@kernel
def reset_game(bound: BoundArguments[Batch], seed: Any, episode: int, k: int) -> None:
    """Begin a game in slot ``k`` with ``seed``, and observe it."""
    batch = arguments_of(bound)
    game = game_of(batch.arrays.state, k)
    game.clock[EPISODE] = episode
    start(game, batch, seating_of(batch.arrays.state, k), seed, k)
    batch.arrays.slots.num_cycles[k] = 0
    batch.arrays.slots.is_idle[k] = batch.arrays.slots.has_next_seed[k] = False
    if batch.options.is_observed != 0:
        observe_anew(game, batch.params, batch.work, batch.arrays.buffers, k)


@kernel
def reset_games(bound: BoundArguments[Batch]) -> None:
    """Reset all games, or the ones that other threads leave, with the seeds and episodes of the call."""
    batch = arguments_of(bound)
    while begins(batch.thread_state):
        k = take(batch.queues, batch.thread)
        while k >= 0:
            numbers = batch.arrays.call.seeds[k], batch.arrays.call.episodes[k], k
            call_at(batch.entries[RESET_GAME], reset_game, bound, numbers)
            k = take(batch.queues, batch.thread)


@kernel
def play_launches(bound: BoundArguments[Batch], launches: Any, until: int, k: int) -> None:
    """Play game ``k`` up to tick ``until`` or its end, with ``launches`` and no bots.

    ``launches``: int64 (N, 4), a table of launches (territorial.game.scratch) in the order of ticks, all on
    the decision grid and none before the tick at which the game stands. What is derived from the state is
    derived again, so that a caller may have written to the arrays.
    """
    batch = arguments_of(bound)
    game = game_of(batch.arrays.state, k)
    derive(game)
    first = 0
    while game.clock[TICK] < until and game.clock[OVER] == 0:
        end = first
        while end < len(launches) and launches[end, LAUNCH_TICK] == game.clock[TICK]:
            end += 1
        tick(game, batch.params, batch.work, LaunchList(launches, first, end))
        first = end


@kernel
def position_of(state: State, k: int, position: Position) -> None:
    """Write the position of game ``k``, of which its digest is taken, into ``position``."""
    write_position(game_of(state, k), position.board, position.numbers)


@kernel
def observe_game(bound: BoundArguments[Batch], k: int) -> None:
    """Observe game ``k`` as it stands."""
    batch = arguments_of(bound)
    observe_anew(game_of(batch.arrays.state, k), batch.params, batch.work, batch.arrays.buffers, k)


@kernel
def owner_codes(state: State, codes: Any) -> None:
    """Write the owned cells of all games into ``codes``, uint8 (E, H+2, W+2)."""
    for k in range(len(codes)):
        write_owner_codes(state.planes[k], state.occupied[k], codes[k])


@kernel
def find_bad_action(actions: Any) -> int:
    """Return the flat position of the first of ``actions``, (E, P, 2), that is out of range, or -1."""
    num_games, num_players, _ = actions.shape
    for k in range(num_games):
        for p in range(num_players):
            is_what = 0 <= actions[k, p, WHAT] < num_players + 2  # see actions.encoding.num_targets
            if not (is_what and 0 <= actions[k, p, HOW_MUCH] < NUM_FRACTIONS):
                return k * num_players + p
    return -1


@kernel
def place_position(bound: BoundArguments[Batch], owner: Any, k: int) -> None:
    """Lay out ``owner``, uint8 (H, W) of owner codes, as the board of game ``k``, and count the land."""
    batch = arguments_of(bound)
    game, params = game_of(batch.arrays.state, k), batch.params
    prepare_bots(game, seating_of(batch.arrays.state, k), batch.custom)
    for code in range(game.planes.shape[0]):
        clear_cells(cells_of(game, code))
        game.land[code] = 0
    for r in range(params.height):
        for c in range(params.width):
            code = int64(owner[r, c])
            if code != BLOCKED:
                set_cell(cells_of(game, code), r, c)
                game.land[code] += 1
    derive(game)


@kernel
def seat_players(bound: BoundArguments[Batch], codes: Any, k: int) -> None:
    """Let the players of ``codes``, int64 (P+1,), go on with game ``k``; -1 leaves a seat as it is."""
    batch = arguments_of(bound)
    game, seating = game_of(batch.arrays.state, k), seating_of(batch.arrays.state, k)
    for p in range(1, len(codes)):
        if codes[p] >= 0:
            seating.seats[p] = codes[p]
            prepare_bot(game, seating, batch.custom, p)


# ---- parts of a step ------------------------------------------------------------------------------


@njit
def ask_game(
    game: Game,
    params: Params,
    work: Work,
    seating: Seating,
    custom: CustomTable,
    networks: NetworkWork,
    actions: Any,
    k: int,
) -> None:
    """Let the seats of game ``k`` wait for their networks, where it is their turn to decide.

    Where there is no room for more, those that wait decide; ``decide_all`` is left to the caller.
    """
    if game.clock[TICK] % params.decision_every != 0:
        return
    is_shown = False
    for word in range(game.active.shape[1]):
        seats = seats_that_decide(game, seating, word)
        while seats != ZERO:
            p = 64 * word + lowest_bit(seats)
            seats &= seats - ONE
            if is_network(custom, seating.seats[p]):
                if not is_shown:
                    sum_up(game, params, networks.totals)
                    is_shown = True
                if not has_room(networks.waiting):
                    decide_all(custom.networks, networks, actions)
                number = seating.seats[p] - FIRST_CUSTOM_CODE
                put_down(game, params, work.interest_rate, custom.networks, networks, number, k, p)


@njit
def seats_that_decide(game: Game, seating: Seating, word: int) -> Any:
    """Return which seats in a word of a set decide in this tick: all agents, and living bots at their turn.

    Without a branch, as most bots wait at most decision points.
    """
    seats, first, end = ZERO, max(1, 64 * word), min(64 * word + 64, len(game.alive))
    for p in range(np.uint64(first), np.uint64(end)):
        is_agent = seating.seats[p] < FIRST_BOT_CODE
        is_turn = (game.alive[p] != 0) & (game.clock[TICK] >= seating.wake[p])
        seats |= np.uint64(is_agent | is_turn) << (p & np.uint64(63))
    return seats


@njit
def is_network(custom: CustomTable, code: int) -> bool:
    """Return whether the bot with this seat code is a network."""
    return code >= FIRST_CUSTOM_CODE and custom.networks[code - FIRST_CUSTOM_CODE, CANDIDATE_WIDTH] > 0


@njit
def decide_launches(
    game: Game, params: Params, work: Work, seating: Seating, actions: Any, custom: CustomTable
) -> LaunchList:
    """Return the launches of all seats, all decided on the same board; none between two decision points.

    ``actions``: int64 (P, 2), of agents as territorial.observation.action_encoding has them, of others see
    ``decide_bot``.
    """
    count, now = 0, game.clock[TICK]
    if now % params.decision_every != 0:
        return LaunchList(work.launches, 0, 0)
    for word in range(game.active.shape[1]):
        seats = seats_that_decide(game, seating, word)
        while seats != ZERO:
            p = 64 * word + lowest_bit(seats)
            seats &= seats - ONE
            if seating.seats[p] < FIRST_BOT_CODE:
                target = owner_of_target(actions[p - 1, WHAT], p, params.num_players)
                fraction = FRACTION_TABLE[actions[p - 1, HOW_MUCH]]
            else:
                target, fraction = decide_bot(game, params, seating, actions, custom, p)
                seating.wake[p] = max(seating.wake[p] + seating.memory[p, bots.INTERVAL], now + 1)
            if target != NO_TARGET:
                write_launch(work.launches, count, now, p, target, fraction)
                count += 1
    return LaunchList(work.launches, 0, count)


@njit
def decide_bot(
    game: Game, params: Params, seating: Seating, actions: Any, custom: CustomTable, p: int
) -> tuple[int, int]:
    """Return the launch (target, 1024ths) of the bot on seat ``p``, which decides now.

    Bots in Python and networks were asked before: ``actions`` have the owner code and 1024ths for them.
    """
    code = seating.seats[p]
    if is_compiled_bot(code) and not is_network(custom, code):
        return bots.decide(game, params, p, seating.memory[p])
    return actions[p - 1, WHAT], actions[p - 1, HOW_MUCH]


@njit
def play(game: Game, params: Params, work: Work, launches: LaunchList) -> None:
    """Play the ticks up to the next decision point, or up to the end of the game."""
    for _ in range(params.decision_every - game.clock[TICK] % params.decision_every):
        tick(game, params, work, launches)
        if game.clock[OVER] != 0:
            break


@njit
def report(game: Game, params: Params, work: Work, results: StepResults, k: int, is_first: bool) -> None:
    """Add rewards and ends of game ``k`` in the decision just played; the first of a call overwrites."""
    for p in range(1, len(game.alive)):
        is_now = (work.before[in_before(params), p] != 0) & is_finished(game, params, p)
        results.terminated[k, p - 1] = is_now if is_first else is_now | results.terminated[k, p - 1]
    add_rewards(game, params, work, results.rewards[k], results.reward_parts[k], is_first)
    results.ended[k] = game.clock[OVER] != 0


@njit
def derive(game: Game) -> None:
    """Update the values that are kept only for speed from pools and land."""
    count_fronts(game)
    for p in range(1, len(game.alive)):
        for target in range(len(game.alive)):
            if game.pools[p, target] > 0:
                add_to_set(game.active, p, target)
            else:
                drop_from_set(game.active, p, target)
                drop_from_set(game.fresh, p, target)
        set_due(game, p)
    game.clock[NEXT_DUE] = earliest_step(game)
    game.clock[LAND_CHANGED] = 1


@njit
def has_agent_in(game: Game, params: Params, seating: Seating) -> bool:
    """Return whether any seat of an agent is alive, or has an ally that is."""
    for p in range(1, len(game.alive)):  # noqa: SIM110 - numba has no any() over a generator
        if seating.seats[p] == AGENT_CODE and is_in(game, params, p):
            return True
    return False


@njit
def keep_final(batch: Batch, game: Game, k: int) -> None:
    """Keep the end of game ``k`` for callers that read it after the next one has begun."""
    results, players = batch.arrays.results, batch.arrays.state.players
    for p in range(1, len(game.alive)):
        results.final_place[k, p - 1] = game.doubled_place[p] / 2
    for column in range(players.shape[1]):
        for p in range(players.shape[2]):
            results.final_players[k, column, p] = players[k, column, p]
    results.final_length[k] = game.clock[TICK]


@njit
def start(game: Game, batch: Batch, seating: Seating, seed: Any, k: int) -> None:
    """Begin a new game ``k`` with ``seed``, with the seats asked for since the last one."""
    game.seed[SEED] = game.seed[FUTURE] = seed
    begin_game(game, batch.params, batch.bank, batch.work, k)
    count_fronts(game)
    for p in range(1, len(game.alive)):
        seating.seats[p] = seating.next_seats[p]
        game.troops[p] = seating.next_troops[p]
        seating.memory[p, bots.INTERVAL] = seating.next_interval[p]
    prepare_bots(game, seating, batch.custom)
    for p in range(1, len(game.alive)):
        if seating.seats[p] >= FIRST_BOT_CODE:
            seating.wake[p] = bots.first_wake(seating.memory[p], seed, p)


@njit
def is_compiled_bot(code: int) -> bool:
    """Return whether the bot with this seat code is compiled: of the library, or a custom one."""
    return code < FIRST_PYTHON_CODE or code >= FIRST_CUSTOM_CODE


@njit
def prepare_bots(game: Game, seating: Seating, custom: CustomTable) -> None:
    """Prepare the bots of all seats."""
    for p in range(1, len(game.alive)):
        prepare_bot(game, seating, custom, p)


@njit
def prepare_bot(game: Game, seating: Seating, custom: CustomTable, p: int) -> None:
    """Let the bot of seat ``p`` know its settings, forget all else, and decide at the next decision point."""
    memory = seating.memory[p]
    seating.wake[p] = game.clock[TICK]
    code = seating.seats[p]
    if code >= FIRST_CUSTOM_CODE:
        row = code - FIRST_CUSTOM_CODE
        bots.draw_settings(custom.lows[row], custom.highs[row], game.seed[SEED], p, memory)
    elif FIRST_BOT_CODE <= code < FIRST_PYTHON_CODE:
        bots.prepare(code - FIRST_BOT_CODE, game.seed[SEED], p, memory)
    else:
        interval = memory[bots.INTERVAL]
        fill(memory, 0)
        memory[bots.INTERVAL] = interval
