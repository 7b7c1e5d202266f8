"""``Calls``: the compiled calls of a batch, their arguments and threads; and checks of what users pass.

An action walks from ``VecGame.step`` through ``Calls.step`` to the thread pool, and from there into the
kernel ``step_games``. Arguments are unboxed once: that takes 2 microseconds, and a step of one game takes 10.
"""

import threading
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from territorial.bots.network import NetworkWork, make_network_work
from territorial.bots.python import Foresee, SeePairs, Senses
from territorial.config import GameConfig, make_params
from territorial.config.validation import (
    holds_whole_numbers,
    one_of,
    true_or_false,
    whole_number,
    whole_numbers,
    whole_or_none,
)
from territorial.constants import BLOCKED, FIRST_BOT_CODE, FRACTION_UNIT, LARGEST_SEED, NUM_FRACTIONS
from territorial.engine import step
from territorial.engine.batch_arrays import next_seeds
from territorial.engine.map_bank import BatchMaps
from territorial.engine.players import BatchPlayers, CustomTable, ask_python_bots, have_python_bots
from territorial.engine.recording import (
    NO_OBSERVER,
    DecisionHook,
    GameObserver,
    Launches,
    LaunchLog,
    allocate_launches,
    make_launch_log,
)
from territorial.engine.step import (
    AUTORESETS,
    CATCH_UP,
    DECISIONS,
    DISABLED,
    NO_LIMIT,
    ONLY_ENDS,
    SHOWS,
    WHOLE,
    Batch,
    BatchArrays,
    Options,
    StepResults,
)
from territorial.game.scratch import LAUNCH_TICK, Work, make_work
from territorial.game.state import State, view
from territorial.jit.arguments import BoundArguments
from territorial.jit.decorators import ZERO, address_of, entry_of
from territorial.jit.thread_pool import ThreadPool
from territorial.observation.action_encoding import NO_TARGET, num_targets
from territorial.observation.copies import Lending
from territorial.typing import Bools, Ints

Method = TypeVar("Method", bound=Callable[..., Any])
# What methods are called in errors that are not called by their names.
_DOING = {
    "__getstate__": "copying",
    "owner_codes": "state.owner",
    "step_unchecked": "step()",
    "maps": "maps",
    "max_cycles": "max_cycles",
}
ONE_DECISION = 1
"""The default of ``repeat``: this very object is not checked in every step."""
ADDED = ("rewards", "reward_parts")
"""What a step gives is the sum over its decisions."""
JOINED = ("terminated", "truncated", "ended", "is_over", "is_cut", "was_reset")
"""What a step gives is whether it happened in any of its decisions."""


def exclusive(method: Method) -> Method:
    """Refuse the call while another thread is within one: they would share buffers and scratch memory.

    For methods of ``Calls``, and of what has one as ``_calls``. After an interrupted call it waits until the
    other threads have left the games.
    """

    @wraps(method)
    def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls: Calls = getattr(self, "_calls", self)
        is_refused = False
        try:  # a KeyboardInterrupt that comes as soon as the lock is taken must give it back
            is_refused = not calls.lock.acquire(blocking=False)
            if is_refused:
                doing = _DOING.get(method.__name__, f"{method.__name__}()")
                raise RuntimeError(
                    f"{doing} was refused because another thread is using this VecGame; create one "
                    "VecGame per thread"
                )
            if calls.thread_pool.is_interrupted:
                calls.thread_pool.shutdown()
            return method(self, *args, **kwargs)
        finally:
            if not is_refused:
                calls.lock.release()

    return cast(Method, locked)


class SummedResults:
    """Sums of the results of several decisions, which count as one step.

    Args:
        results: the arrays that every decision overwrites.
        launched: the same of what the seats launched.

    """

    def __init__(self, results: StepResults, launched: Launches) -> None:
        self._results, self._launched = results, launched
        self._last = allocate_launches(*launched.target.shape)
        self._sums = {name: np.zeros_like(getattr(results, name)) for name in (*ADDED, *JOINED)}

    def add(self) -> None:
        """Add the decision just played; rewards are summed in float32."""
        for name, array in self._sums.items():
            combine = np.add if name in ADDED else np.logical_or
            combine(array, getattr(self._results, name), out=array)
        has_launched = self._launched.target != NO_TARGET
        for kept, array in zip(self._last, self._launched, strict=True):
            kept[has_launched] = array[has_launched]

    def give_back(self) -> None:
        """Write the sums over the results of the last decision."""
        for name, array in self._sums.items():
            getattr(self._results, name)[...] = array
        for array, kept in zip(self._launched, self._last, strict=True):
            array[...] = kept


class Calls:
    """The compiled calls for the arrays of a batch. They belong to a process, and are in no copy.

    Args:
        config: rules and size of the games.
        arrays: what calls write to; the actions in it are in range.
        maps: the maps of the games.
        players: the bots of the batch; more may come.
        options: how the batch runs.
        see_pairs: for ``View.pairs`` of bots in Python.
        foresee: for ``View.forecast``.
        lending: where steps copy what is observed to.
        num_threads: the most threads that share the games.

    Attributes:
        lock: of who uses the batch. Reentrant: what an observer calls may look at the batch.
        thread_pool: the thread pool.
        works: scratch memory, for each thread.
        network_works: the same for networks, which are given some when the first one comes.
        launch_log: what steps note of the games that are recorded.
        owners: the owner codes of all cells, or nothing before anybody has asked for them.
        has_current_owners: False once a game has changed since its owner codes were made.

    """

    def __init__(
        self,
        config: GameConfig,
        arrays: BatchArrays,
        maps: BatchMaps,
        players: BatchPlayers,
        options: Options,
        see_pairs: SeePairs,
        foresee: Foresee,
        lending: Lending,
        *,
        num_threads: int,
    ) -> None:
        self._config, self._arrays, self._maps, self._players = config, arrays, maps, players
        self._options, self._lending = options, lending
        self._see_pairs, self._foresee = see_pairs, foresee
        self._needs_maps = maps.has_own_maps and options.autoreset != DISABLED
        self._params = make_params(config)
        num_games, shows_boards = len(arrays.actions), arrays.buffers.boards.size > 0
        self.lock = threading.RLock()
        self.thread_pool = ThreadPool(num_games, min(num_threads, num_games))
        self.works: list[Work] = [
            make_work(config, logs_changes=shows_boards) for _ in self.thread_pool.thread_states
        ]
        self.network_works = self._make_network_works()
        self.owners = np.zeros(0, np.uint8)
        self.has_current_owners = self._is_behind = False
        self._entries = np.zeros(2, np.int64)
        self._bound: list[BoundArguments[Batch]] = []
        self._loaded: dict[Any, Callable[..., None]] = {}
        self.record(np.zeros(num_games, np.bool_))

    # ---- steps ------------------------------------------------------------------------------------

    def step(
        self,
        repeat: int,
        observer: GameObserver = NO_OBSERVER,
        hook: DecisionHook | None = None,
        summed: SummedResults | None = None,
    ) -> None:
        """Play ``repeat`` decisions of all games in one compiled call, and notify of them.

        Where Python takes part in between, it is one call per decision. ``summed``: the results of the step
        to which this decision belongs.
        """
        decisions = 1 if repeat is ONE_DECISION else whole_number("repeat", repeat, 1, NO_LIMIT)
        arrays, players = self._arrays, self._players
        if self._is_behind and summed is None:  # a call was interrupted twice
            self._catch_up()
        is_observed = hook is not None or observer is not NO_OBSERVER
        if decisions > 1 and (is_observed or have_python_bots(arrays.state)):
            self._step_by_decision(decisions, observer, hook)
            return
        if hook is not None or players.python_bots or self._needs_maps:
            self._prepare(hook)
        self.has_current_owners = False
        if self._table is not players.table or step.step_games not in self._loaded:
            self._load(step.step_games)
        step_games = self._loaded[step.step_games]
        arrays.call.numbers[DECISIONS], self._is_behind = decisions, summed is not None
        if self._has_networks:
            arrays.call.asks[0] = True
            self.thread_pool.run(step_games, self._bound)
            arrays.call.asks[0] = False
        self.thread_pool.run(step_games, self._bound)
        if summed is not None:
            summed.add()
        if is_observed:
            observer.after_step()
        if hook is not None:
            hook.after_decision()

    def _prepare(self, hook: DecisionHook | None) -> None:
        """Prepare a compiled call: launches of bots in Python, and maps of the next games."""
        arrays, python_bots = self._arrays, self._players.python_bots
        if hook is not None:
            hook.before_decision()
        if python_bots:
            is_idle, actions = arrays.is_idle, arrays.actions
            senses = Senses(self._see_pairs, self.owner_codes, self._foresee)
            ask_python_bots(python_bots, self._config, arrays.state, is_idle, actions, senses)
        if self._needs_maps:
            self._maps.provide(next_seeds(arrays).tolist(), view(arrays.state, "seed").tolist())

    def _step_by_decision(self, decisions: int, observer: GameObserver, hook: DecisionHook | None) -> None:
        """Play so many decisions as one compiled call would, with Python taking part between them.

        Where Python fails, what was played stays played: observations and results are those up to there.
        """
        arrays, call = self._arrays, self._arrays.call
        summed = SummedResults(arrays.results, arrays.launched)
        call.numbers[SHOWS] = ONLY_ENDS
        try:
            for i in range(decisions):
                if i > 0:
                    arrays.actions.fill(0)
                self.step(ONE_DECISION, observer, hook, summed)
                if call.waits.all():
                    break
        finally:
            if self._is_behind:
                self._catch_up()
                summed.give_back()
            call.numbers[:] = 1, WHOLE

    def _catch_up(self) -> None:
        """Observe the games that decisions were played of since they were observed last."""
        call = self._arrays.call
        if self._options.is_observed:
            call.numbers[:], call.asks[0] = (0, CATCH_UP), False
            self.thread_pool.run(self._load(step.step_games), self._bound)
        call.numbers[:], call.waits[:] = (1, WHOLE), False
        self._is_behind = False

    # ---- other calls ------------------------------------------------------------------------------

    def reset_games(self, seeds: npt.NDArray[np.uint64], episodes: Ints) -> None:
        """Reset all games; see ``step.reset_games``."""
        reset, call = self._load(step.reset_games), self._arrays.call
        call.seeds[:], call.episodes[:], self.has_current_owners = seeds, episodes, False
        are_many = len(self._bound) > 1
        if are_many:  # threads may watch for the next step
            self.thread_pool.shutdown()
        self.thread_pool.run(reset, self._bound)
        if are_many:
            self.thread_pool.shutdown()

    def one_game(self, compiled: Any, *arguments: Any) -> None:
        """Call a kernel for one game, in this thread; ``arguments`` are of the same types in all calls."""
        self.has_current_owners = False
        self._load(compiled, *arguments)(self._bound[0], *arguments)

    @exclusive
    def owner_codes(self) -> npt.NDArray[np.uint8]:
        """Return the board with a wall ring of 255, uint8 (E, H+2, W+2), read-only."""
        if not self.has_current_owners:
            config, num_games = self._config, len(self._arrays.actions)
            if self.owners.size == 0:
                self.owners = np.empty((num_games, config.height + 2, config.width + 2), np.uint8)
            self.owners.flags.writeable = True
            self.owners.fill(BLOCKED)
            step.owner_codes(self._arrays.state, self.owners)
            self.owners.flags.writeable = False
            self.has_current_owners = True
        return self.owners

    def record(self, recorded: Bools) -> None:
        """Log the launches of the games where ``recorded``, (E,), is True, and of no others."""
        config = self._config
        self.launch_log: LaunchLog = make_launch_log(
            recorded, config.num_players, config.height, config.width
        )
        self._table: CustomTable | None = None

    # ---- what kernels are given -------------------------------------------------------------------

    def batch(self, thread: int) -> Batch:
        """Return the arguments with which a thread steps the games."""
        return Batch(
            arrays=self._arrays,
            params=self._params,
            work=self.works[thread],
            bank=self._maps.bank,
            custom=self._players.table,
            networks=self.network_works[thread],
            launch_log=self.launch_log,
            lending=self._lending,
            options=self._options,
            thread=thread,
            entries=self._entries,
            queues=self.thread_pool.queues,
            thread_state=self.thread_pool.thread_states[thread],
        )

    def _load(self, compiled: Any, *arguments: Any) -> Callable[..., None]:
        """Return the entry of a kernel for a batch as ``BoundArguments``, and ``arguments`` of these types.

        Arguments are bound again if the table of custom bots or the launch log is another than before.
        """
        players = self._players
        if self._table is not players.table:
            self.thread_pool.shutdown()  # no thread is to watch for calls with what it was given before
            self._table, self._has_networks = players.table, players.has_networks
            self.network_works = self._make_network_works()
            self._bound = [BoundArguments(self.batch(thread)) for thread in range(len(self.works))]
            self._loaded = {}
            self._arrays.call.asks[0] = False  # a call for another table may have been interrupted
        if compiled not in self._loaded:
            called = self._called_by_address(self._bound[0]) if not arguments else []
            for i, (other, numbers) in enumerate(called):
                self._entries[i] = address_of(other, *numbers)
            self._loaded[compiled] = entry_of(compiled, self._bound[0], *arguments)
        return self._loaded[compiled]

    def _called_by_address(self, bound: BoundArguments[Batch]) -> list[tuple[Any, tuple[Any, ...]]]:
        """Return the kernels that steps and resets call for ``Batch.entries``, with arguments like theirs."""
        called: list[tuple[Any, tuple[Any, ...]]] = [(step.reset_game, (bound, ZERO, 0, 0))]
        return called + [(step.ask_networks, (bound, 0))] * self._players.has_networks

    def _make_network_works(self) -> list[NetworkWork]:
        players = self._players
        networks = len(players.table.networks) if players.has_networks else 0
        return [make_network_work(self._config.num_players, networks) for _ in self.works]


# ---- checks of options, seeds, actions and launches ------------------------------------------------

END_WHEN = ("game", "no_agents")
"""When an episode is over; the place of each is ``Options.ends_without_agents``."""


def checked_options(autoreset: object, end_when: object, observe: object) -> Options:
    """Return how a batch runs, for options of ``VecGame``."""
    return Options(
        autoreset=AUTORESETS.index(one_of("autoreset", autoreset, AUTORESETS)),
        ends_without_agents=END_WHEN.index(one_of("end_when", end_when, END_WHEN)),
        is_observed=int(true_or_false("observe", observe)),
    )


def checked_game(k: Any, num_games: int) -> int:
    """Return ``k`` as an int: a numpy scalar would compile kernels again, True would pick all games."""
    wanted = f"this batch has the games 0 to {num_games - 1}"
    whole = whole_or_none(k)
    if whole is None:
        raise TypeError(f"game {k!r}: {wanted}")
    if not 0 <= whole < num_games:
        raise IndexError(f"game {k}: {wanted}")
    return whole


def checked_seeds(seeds: Iterable[int], num_games: int) -> npt.NDArray[np.uint64]:
    """Return one seed per game, uint64 (E,)."""
    try:
        listed = list(seeds)
    except TypeError:
        raise TypeError(f"seeds is {seeds!r}; it must be one seed per game") from None
    values = [whole_number(f"seeds[{i}]", seed, 0, LARGEST_SEED) for i, seed in enumerate(listed)]
    if len(values) != num_games:
        raise ValueError(f"seeds has {len(values)} entries; this batch has {num_games} games")
    return np.array(values, np.uint64)


# ---- actions ---------------------------------------------------------------------------------------


def copy_actions(actions: npt.ArrayLike, copy: Ints) -> None:
    """Write ``actions`` into ``copy``, int64 (E, P, 2); TypeError or ValueError for anything but actions."""
    try:
        array = np.asarray(actions)
    except ValueError as error:
        raise ValueError(f"actions is not an array: {error}") from None
    if array.shape != copy.shape:
        raise ValueError(f"actions has shape {array.shape}; it must be {copy.shape}: games, seats, 2")
    if not holds_whole_numbers(array):
        raise TypeError(f"actions has dtype {array.dtype}; it must hold whole numbers")
    np.copyto(copy, array, casting="unsafe")
    bad = step.find_bad_action(copy)
    if bad >= 0:
        num_players = copy.shape[1]
        k, seat = divmod(bad, num_players)
        raise ValueError(
            f"actions[{k}, {seat}] is {array[k, seat].tolist()}; the target must be from 0 to "
            f"{num_targets(num_players) - 1} and the fraction index from 0 to {NUM_FRACTIONS - 1}"
        )


def check_on_grid(state: State, decision_every: int) -> None:
    """Raise ValueError if a game stands between two decisions, where no player may act."""
    ticks, over = view(state, "tick"), view(state, "over")
    off_grid = (ticks % decision_every != 0) & (over == 0)
    if off_grid.any():
        k = int(off_grid.argmax())
        raise ValueError(
            f"game {k} is at tick {ticks[k]}, between two decisions (every "
            f"{decision_every} ticks), and takes no actions; step(hold=True) plays until the next decision"
        )


def check_no_decision(state: State, is_idle: Bools, decision_every: int) -> None:
    """Raise ValueError if an agent has a decision to make in a game that does not stand."""
    is_due = ~is_idle & (view(state, "tick") % decision_every == 0)
    is_agent = is_due[:, None] & (view(state, "seats") < FIRST_BOT_CODE) & (view(state, "alive") != 0)
    if (found := np.argwhere(is_agent)).size:
        raise ValueError(
            f"seat {found[0, 1]} of game {found[0, 0]} is an agent with a decision to make; pass actions=, "
            f"int {(len(is_agent), is_agent.shape[1] - 1, 2)}, or hold=True to let all agents hold"
        )


# ---- launches --------------------------------------------------------------------------------------


def checked_launches(launches: Iterable[tuple[int, int, int]], num_players: int, now: int) -> Ints:
    """Return launches at the tick ``now``, each (seat, target owner code, 1024ths), as int64 (N, 4)."""
    try:
        rows = [(now, *entry) for entry in launches]
    except TypeError:
        wanted = "a list of (seat, target owner code, 1024ths)"
        raise TypeError(f"launches is {launches!r}; it must be {wanted}") from None
    return checked_launch_table(rows, num_players, now, now + 1)


def checked_launch_table(launches: npt.ArrayLike, num_players: int, now: int, until: int) -> Ints:
    """Return ``launches`` as int64 (N, 4); an error names the first entry that cannot be."""
    if len(np.atleast_1d(np.asarray(launches))) == 0:
        return np.zeros((0, 4), np.int64)
    low, high = (now, 1, 0, 1), (until - 1, num_players, num_players, FRACTION_UNIT)
    rows = whole_numbers("launches", launches, (None, 4), low, high)  # tick, seat, target owner code, 1024ths
    falls = np.diff(rows[:, LAUNCH_TICK]) < 0
    if falls.any():
        i = int(falls.argmax()) + 1
        raise ValueError(
            f"launches[{i}] is at tick {rows[i, LAUNCH_TICK]}, before the previous launch; "
            "ticks must not decrease"
        )
    return rows


def check_may_play(state: State, k: int, rows: Ints, decision_every: int) -> None:
    """Raise ValueError if game ``k`` is over, or one of the launches ``rows`` is between two decisions."""
    if view(state, "over")[k]:
        raise ValueError(f"game {k} is over since tick {view(state, 'tick')[k]}; reset it first")
    off_grid = rows[:, LAUNCH_TICK] % decision_every != 0
    if off_grid.any():
        raise ValueError(
            f"launches are at tick {rows[off_grid.argmax(), LAUNCH_TICK]} of game {k}; they must be "
            f"at a decision, a multiple of {decision_every} ticks"
        )
