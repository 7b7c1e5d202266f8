"""VecGame: a batch of games in one set of arrays, stepped by one compiled call."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from territorial._moved import renamed
from territorial.bots.network import NetworkWork, make_network_work
from territorial.config import GameConfig, make_params
from territorial.config.land_mask import LandMask
from territorial.config.map_mix import MapMix, checked_map
from territorial.config.map_names import Terrain
from territorial.config.rewards import part_names
from territorial.config.validation import hint, suggests_keywords, true_or_false, whole_number
from territorial.constants import (
    AGENT_CODE,
    BLOCKED,
    LARGEST_SEED,
    NUM_CANDIDATES,
    STREAM_EPISODE,
)
from territorial.engine import step
from territorial.engine.checks import (
    check_may_play,
    check_on_grid,
    checked_game,
    checked_launch_table,
    checked_launches,
    checked_seeds,
    copy_actions,
)
from territorial.engine.compiled_calls import CompiledCalls
from territorial.engine.custom_bots import CustomBots
from territorial.engine.decisions import Listener, Together
from territorial.engine.last_launches import (
    LastLaunches,
    Launches,
    allocate_launches,
    forget_launches,
    launches_of,
)
from territorial.engine.launch_log import Tape, make_tape
from territorial.engine.map_bank import Atlas, Page
from territorial.engine.older_pickles import upgraded
from territorial.engine.pair_observations import PairObservations, PairObserver
from territorial.engine.positions import checked_position, fronts_of, write_numbers, write_peaks
from territorial.engine.python_bots import Guests
from territorial.engine.saved_game import NEXT_ONES, SavedGame, check_saved, write_game
from territorial.engine.seats import AGENT, FIRST_CUSTOM_CODE, SEAT_NAMES, Seat, seat_codes, starting_troops
from territorial.engine.step import (
    CATCH_UP,
    FIRST_GUEST_CODE,
    NO_LIMIT,
    ONLY_ENDS,
    WHOLE,
    Batch,
    Options,
    Slots,
    StepResults,
    allocate_call,
    allocate_results,
    allocate_slots,
)
from territorial.files.unpickling import all_writable
from territorial.game.rng import draw
from territorial.game.scratch import make_work, named_arrays
from territorial.game.state import (
    FIELDS,
    PLAYERS,
    Position,
    State,
    allocate,
    allocate_positions,
    digest,
    field_line,
    state_bytes,
    view,
)
from territorial.jit import warmup
from territorial.jit.thread_pool import Crew, queues_of
from territorial.observation.layout import MAX_FRAMES, ObsLayout
from territorial.observation.tables import (
    Buffers,
    Observations,
    allocate_buffers,
    observations_of,
    restore_frames,
)
from territorial.typing import Ints

Autoreset = Literal["same_step", "next_step", "disabled"]
EndWhen = Literal["game", "no_agents"]
COPIED = (
    "blocks",
    "_buffers",
    "_final_buffers",
    "_results",
    "_slots",
    "_launched",
    "actions",
    "_seed",
    "_atlas",
)
"""Attributes of a batch that steps write to: a pickle holds copies of them."""
MADE_ANEW = ("_observations", "_final_observations", "_info", "_tape", "_calls", "pair_observer")
"""Attributes that follow from others, or belong to a process."""
FINAL = ("land", "illegal", "raised", "bounced")
"""Numbers of players that infos have of episodes that are over."""
MAX_GAMES = 1_000_000
ONE = 1
"""The default of ``repeat``: this very object is not checked in every step."""


Method = TypeVar("Method", bound=Callable[..., Any])


def seed_of_episode(batch_seed: int, episode: int) -> int:
    """Return the seed of an episode of a batch's first game: what a batch of one game plays."""
    return int(draw(np.uint64(batch_seed), STREAM_EPISODE, 0, episode))


def compile_steps(config: GameConfig, *, specialize: bool | None = None) -> None:
    """Compile what the first step of any batch of ``config`` would wait for, unless that has been done.

    For those who start processes and wait for their first steps no longer than the compiler takes.
    ``specialize`` is that of :class:`VecGame`.
    """
    game = VecGame(_on_one_map(config), 2, observe=False, specialize=specialize, num_threads=2)
    game.reset()
    game.step()
    game.close()


def is_compiled(config: GameConfig) -> bool:
    """Return whether a batch of ``config`` finds its steps compiled (or none of that is needed)."""
    try:
        return VecGame(_on_one_map(config), 1, observe=False)._compiled().is_step_ready
    except ValueError:  # a board that has no room for all spawns
        return False


def _on_one_map(config: GameConfig) -> GameConfig:
    """Return ``config`` with few maps to make: for what does not depend on them."""
    return config.replace(map="open", num_maps=1)


def _exclusive(method: Method) -> Method:
    """Refuse the call while another thread is within one: they would share buffers and scratch memory.

    After an interrupted call it waits until the other threads have left the games.
    """

    @wraps(method)
    def locked(self: VecGame, *args: Any, **kwargs: Any) -> Any:
        is_refused = False
        try:  # a KeyboardInterrupt that comes as soon as the lock is taken must give it back
            is_refused = not self._lock.acquire(blocking=False)
            if is_refused:
                doing = "copying" if method.__name__ == "__getstate__" else f"{method.__name__}()"
                raise RuntimeError(
                    f"{doing} was refused, because another thread is using this VecGame; each "
                    "thread needs its own VecGame"
                )
            if self._crew.is_interrupted:
                self._crew.retire()
            return method(self, *args, **kwargs)
        finally:
            if not is_refused:
                self._lock.release()

    return cast(Method, locked)


class Watcher(Protocol):
    """An observer of a batch, such as a recorder: its methods are called after each event of the games."""

    def before_reset(self, games: Iterable[int]) -> None:
        """These games are about to be replaced."""

    def after_reset(self, games: Iterable[int]) -> None:
        """These games have just begun."""

    def after_step(self) -> None:
        """A step was played; what it left is in the batch's results and in its launch log."""

    def after_play(self, k: int, launches: npt.NDArray[np.int64]) -> None:
        """Game ``k`` played ticks with ``launches``, (N, 4): tick, seat, owner code, 1024ths."""

    def after_placing(self, k: int) -> None:
        """Game ``k`` was put into another position."""


class GameArrays:
    """The state of all games under the names of ``territorial.game.state.FIELDS``, as views (E, ...).

    ``owner`` is the board as owner codes, uint8 (E, H+2, W+2) with a wall ring of 255: 0 neutral, 1..P
    seats, 255 blocked. It is derived from the bit planes when asked for, and read-only; ask again
    after a step.
    """

    def __init__(self, game: VecGame) -> None:
        self._game = game

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return view(self._game.blocks, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"state.{name} cannot be replaced; write into the array: state.{name}[...] = x"
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return [*(field.name for field in FIELDS), "owner"]

    @property
    def owner(self) -> npt.NDArray[np.uint8]:
        """The board as owner codes, see the class."""
        return self._game._owner_codes()


GameArrays.__doc__ = f"{GameArrays.__doc__}\n    " + "\n    ".join(
    f"{field.name}: {field_line(field, 'E')}" for field in FIELDS
)


class VecGame:
    """Many games of one config, stepped together by compiled code; each plays exactly as it would alone.

    All arrays that ``reset`` and ``step`` return are views of buffers that the next call overwrites.

    Args:
        config: rules, size and map of all games.
        num_games: E, the number of games; 1 to 1000000, default 64.
        seed: seed of the batch; game k plays its episode e with seed H(seed, 2, k, e); 0 to 2**64 - 1,
            default 0.
        num_threads: threads that share the games; results do not depend on it; 1 to 1024, default 1.
        seats: one entry per seat, for all games: "agent", "external", the name of a bot, or a custom bot
            (``territorial.bots.Style``, ``territorial.bots.PythonBot``). "external" acts like an agent, and
            ``end_when`` does not count it. Default None: all seats are agents.
        autoreset: when the next game takes the place of one whose episode is over. "same_step": at once,
            within the same step. "next_step": in the next step, which ignores the actions for that game.
            "disabled": the game stands still until it is reset. Default "same_step".
        end_when: when an episode is over. "game": when the game has ended; "no_agents": also when no seat
            called "agent" is alive; default "game".
        max_cycles: decisions after which an episode is over, too, and all who live are truncated; at least 1;
            default None: never.
        observe: False: observations are not kept up to date, for play without policies; default True.
        frames: F, boards in an observation: the newest and those of the steps before it. 0 leaves out boards
            and deltas; 0 to 16, default 1.
        maps: one map per game, a name or a ``LandMask``, instead of the map of ``config``; default None:
            games draw from the map of ``config``.
        specialize: True: steps run machine code for this size of board and number of players alone. That is
            about a tenth faster for games of bots, and takes another 40 s to compile, once per size. False:
            steps run the code for all sizes. Default None: True if that code is in the cache already, from
            ``territorial warmup`` or ``territorial bench``.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: for a value out of range, and for ``seats`` or ``maps`` of a wrong number.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> game = territorial.VecGame(config, num_games=2, seats=["banker", "novice"] * 2)
        >>> observations = game.reset()
        >>> for _ in range(10):
        ...     observations, rewards, terminated, truncated, info = game.step()
        >>> rewards.shape
        (2, 4)
        >>> game.state.tick.tolist()
        [100, 100]

    """

    @suggests_keywords
    def __init__(
        self,
        config: GameConfig,
        num_games: int = 64,
        seed: int = 0,
        num_threads: int = 1,
        seats: Sequence[Seat] | None = None,
        autoreset: Autoreset = "same_step",
        end_when: EndWhen = "game",
        max_cycles: int | None = None,
        observe: bool = True,
        frames: int = 1,
        maps: Sequence[str | LandMask] | None = None,
        specialize: bool | None = None,
    ) -> None:
        if not isinstance(config, GameConfig):
            raise TypeError(f"config is {config!r}; it must be a territorial.GameConfig")
        self.num_games = whole_number("num_games", num_games, 1, MAX_GAMES)
        self.config, assigned = (config, None) if maps is None else _assign(config, maps, self.num_games)
        config, self._config_digest = self.config, self.config.hexdigest
        self.num_threads = whole_number("num_threads", num_threads, 1, 1024)
        self._seed = np.array([whole_number("seed", seed, 0, LARGEST_SEED)], np.uint64)
        self._autoreset = _one_of("autoreset", autoreset, step.AUTORESETS)
        self._end_when = _one_of("end_when", end_when, ("game", "no_agents"))
        self._observes = true_or_false("observe", observe)
        self._specialize = None if specialize is None else true_or_false("specialize", specialize)
        self._guests, self._custom = Guests(), CustomBots()
        self._calls: CompiledCalls | None = None
        codes = self._codes_of(seats)

        self._atlas = Atlas(config, self.num_games, assigned)
        self._params = make_params(config)
        frames = whole_number("frames", frames, 0, MAX_FRAMES)
        self.layout = ObsLayout(
            height=config.height, width=config.width, num_players=config.num_players, frames=frames
        )
        try:
            self._allocate()
        except MemoryError:
            raise MemoryError(
                f"num_games is {self.num_games}; there is not enough memory for so many games"
            ) from None
        self.max_cycles = max_cycles
        self._seat(slice(None), codes, self._starting_troops(seats))
        self._owner: npt.NDArray[np.uint8] | None = None
        self._owner_is_current = False
        self._has_begun = False
        self._may_be_off_grid = False
        self._watcher: Watcher | None = None
        self._hire()
        self.state = GameArrays(self)
        warmup.listen()

    def _allocate(self) -> None:
        """Allocate everything whose size depends on the number of games."""
        config, games = self.config, self.num_games
        self.blocks: State = allocate(games, config.num_players, config.height, config.width)
        self._buffers = allocate_buffers(self.layout, games if self.observes else 0)
        self._final_buffers = allocate_buffers(self.layout, games) if self._keeps_final else self._buffers
        self._results = allocate_results(games, config.num_players, len(config.rewards))
        self._slots = allocate_slots(games)
        self._launched = allocate_launches(games, config.num_players)
        self.actions = np.zeros((games, config.num_players, 2), np.int64)
        self._record_games(np.zeros(games, np.bool_))
        self._position: Position | None = None
        self._make_views()

    def _hire(self) -> None:
        """Make what threads need: scratch memory for each, and the lock that keeps other callers out."""
        threads, logs = min(self.num_threads, self.num_games), self.observes and self.layout.frames > 0
        self._works = [make_work(self.config, logs_changes=logs) for _ in range(threads)]
        self._network_works = self._make_network_works()
        self._crew = Crew(self.num_games, threads)
        self._call = allocate_call(self.num_games)
        self._is_behind = False
        self._lock = threading.RLock()  # what a watcher calls may look at the batch

    def _record_games(self, recorded: npt.NDArray[np.bool_]) -> None:
        """Let the kernels log the launches of the games where ``recorded``, bool (E,), is True.

        The next call will unbox its arguments again, the launch log among them.
        """
        config = self.config
        self._tape = make_tape(recorded, config.num_players, config.height, config.width)
        self._calls = None

    def _make_views(self) -> None:
        """Make what ``step`` returns, views of memory that stays where it is."""
        self._observations = observations_of(self._buffers, self.layout)
        self._final_observations = observations_of(self._final_buffers, self.layout)
        results, config = self._results, self.config
        final = {name: results.final_players[:, PLAYERS[name], 1:] for name in FINAL}
        self._info: dict[str, Any] = {
            "ended": results.ended,
            "was_reset": results.was_reset,
            "final_place": results.final_place,
            "final_length": results.final_length,
            **{f"final_{name}": array for name, array in final.items()},
            **{name: results.reward_parts[:, i] for i, name in enumerate(part_names(config.rewards))},
            "final_obs": self._final_observations,
            "illegal": view(self.blocks, "illegal")[:, 1:],
            "raised": view(self.blocks, "raised")[:, 1:],
            "bounced": view(self.blocks, "bounced")[:, 1:],
        }

    # ---- playing ----------------------------------------------------------------------------------

    @_exclusive
    def reset(self, seed: int | None = None, *, seeds: Iterable[int] | None = None) -> Observations:
        """Begin new games and return their first observations.

        ``seed`` is a new batch seed and begins with episode 0 again; ``seeds`` gives every game its own
        seed instead; with neither, every game goes on to its next episode.
        """
        if seed is not None and seeds is not None:
            raise ValueError("reset() takes seed, for the batch, or seeds, one a game, but not both")
        batch_seed = self._seed[0] if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
        episodes = np.zeros(self.num_games, np.int64)
        if seed is None and seeds is None and self._has_begun:
            episodes = view(self.blocks, "episode") + 1
        if seeds is not None:
            game_seeds = checked_seeds(seeds, self.num_games)
        else:
            if seed is not None:  # it says more than what was said of next games
                self._slots.has_next_seed[:] = False
            game_seeds = np.zeros(self.num_games, np.uint64)
            step.next_seeds(self._slots, np.uint64(batch_seed), episodes, game_seeds)
        if self._watcher is not None and self._has_begun:
            self._watcher.before_reset(range(self.num_games))
        self._seed[0] = batch_seed
        self._owner_is_current = self._may_be_off_grid = False
        if self._atlas.has_own_maps:
            self._atlas.provide(game_seeds.tolist(), current=())
        forget_launches(self._launched, slice(None))
        self._compiled().reset_games(self._crew, game_seeds, episodes)
        self._has_begun = True
        if self._watcher is not None:
            self._watcher.after_reset(range(self.num_games))
        return self._observations

    @_exclusive
    def reset_game(self, k: int, seed: int | None = None) -> None:
        """Reset game ``k``, with ``seed`` or with that of its next episode, while the others stand."""
        self._need_reset()
        k = self._check_game(k)
        episodes, seeds = view(self.blocks, "episode") + 1, self._next_seeds()
        if seed is not None:
            seeds[k], episodes[k] = whole_number("seed", seed, 0, LARGEST_SEED), 0
        if self._watcher is not None:
            self._watcher.before_reset([k])
        if self._atlas.has_own_maps:
            self._atlas.provide(seeds.tolist(), view(self.blocks, "seed").tolist())
        self._owner_is_current = False
        forget_launches(self._launched, k)
        self._compiled().reset_some(queues_of(k, k + 1), seeds, episodes)
        if self._watcher is not None:
            self._watcher.after_reset([k])

    @_exclusive
    def stop_game(self, k: int) -> None:
        """Leave game ``k`` standing as it is, as if it were over, until it is reset; no places are given."""
        self._need_reset()
        view(self.blocks, "over")[self._check_game(k)] = 1

    @_exclusive
    def step(
        self, actions: npt.ArrayLike | None = None, repeat: int = ONE
    ) -> tuple[
        Observations,
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Play one environment step of all games, ``repeat`` decisions long.

        ``actions``: whole numbers (E, P, 2), what and how much for every seat in seat order (see
        territorial.actions.encoding); those of bots must be in range too, but do nothing. None: all hold.
        A game that ``tick`` or ``set_position`` left between two decisions takes no actions: step it
        with None, which plays the ticks up to its next decision.

        ``repeat``, at least 1: agents make ``actions`` in the first of so many decisions, and hold in the
        others, while bots decide when they always do. Rewards and their parts are summed, in float32 and
        decision after decision. A game whose episode is over stops there; the next one begins in this call
        or the next, as ``autoreset`` says, and takes no step in this one. Observations are those after the
        last decision: a stack of frames has the boards of calls, the delta what changed since the last call.
        ``max_cycles`` counts decisions.

        Returns observations, rewards float32 (E, P), terminated bool (E, P), truncated bool (E, P) and
        info, a dict with the same keys every time: ``ended`` and ``was_reset`` bool (E,), ``final_place``
        float32 (E, P), ``final_land`` int64 (E, P), ``final_length`` int64 (E,) ticks, ``final_obs``, and the
        counts ``illegal``, ``raised``, ``bounced`` int64 (E, P) of the games as they now stand, with
        ``final_illegal``, ``final_raised``, ``final_bounced``. ``final_*`` of a game are meaningful in a
        step in which it ended or was reset. A place is 0 where the game was left before it was known.
        ``reward_*`` float32 (E, P) are the parts of ``config.rewards``, without their weights.
        """
        self._need_reset()
        if actions is None:
            self.actions.fill(0)
        else:
            copy_actions(actions, self.actions)
            if self._may_be_off_grid:
                check_on_grid(self.blocks, self.config.decision_every)
        results = self._play(_checked_repeat(repeat), None)
        return (
            self._observations,
            results.rewards,
            results.terminated,
            results.truncated,
            self._info.copy(),
        )

    @_exclusive
    def step_unchecked(self, repeat: int = ONE, listener: Listener | None = None) -> StepResults:
        """Play one environment step with ``actions``, for environments that have written these themselves.

        ``actions``, int64 (E, P, 2), must be in range; with ``repeat``, see ``step``, they are zero
        afterwards. ``listener`` is notified of every decision. Returns arrays that the next step overwrites.
        ValueError for a game that stands between two decisions, as ``step`` says.
        """
        self._need_reset()
        if self._may_be_off_grid:
            check_on_grid(self.blocks, self.config.decision_every)
        return self._play(_checked_repeat(repeat), listener)

    def _play(self, repeat: int, listener: Listener | None) -> StepResults:
        """Play ``repeat`` decisions of all games with ``actions``, which are in range."""
        if self._is_behind:  # a call was interrupted twice
            self._catch_up()
        if repeat > 1 and (listener is not None or self._watcher is not None or self._has_guests()):
            self._play_one_by_one(repeat, listener)
        else:
            self._call.numbers[step.DECISIONS] = repeat
            self._ask(listener)
            self._step_all()
            self._tell(listener)
        return self._results

    def _play_one_by_one(self, repeat: int, listener: Listener | None) -> None:
        """Play what one compiled call of ``repeat`` decisions would, with Python taking part between them.

        Where Python fails, what was played stays played: observations and results are those up to there.
        """
        together = Together(self._results, self._launched)
        self._call.numbers[:] = 1, ONLY_ENDS
        try:
            for i in range(repeat):
                if i > 0:
                    self.actions.fill(0)
                self._ask(listener)
                self._is_behind = True
                self._step_all()
                together.add()
                self._tell(listener)
                if self._call.waits.all():
                    break
        finally:
            if self._is_behind:
                self._catch_up()
                together.give_back()
            self._call.numbers[:] = 1, WHOLE

    def _catch_up(self) -> None:
        """Observe the games that decisions were played of since they were observed last."""
        if self.observes:
            self._call.numbers[:] = 0, CATCH_UP
            self._step_all()
        self._call.numbers[:], self._call.waits[:] = (1, WHOLE), False
        self._is_behind = False

    def _ask(self, listener: Listener | None) -> None:
        """Have all ready that a compiled call needs: launches of bots in Python, and maps."""
        if listener is not None:
            listener.before_decision()
        if self._guests:
            self._guests.write_launches(self.blocks, self.config, self.stands, self.actions, self._see_pairs)
        self._owner_is_current = self._may_be_off_grid = False
        if self._atlas.has_own_maps and self.autoreset != "disabled":
            self._provide_next_maps()

    def _tell(self, listener: Listener | None) -> None:
        """Notify observers of what a compiled call has played."""
        if self._watcher is not None:
            self._watcher.after_step()
        if listener is not None:
            listener.after_decision()

    def _has_guests(self) -> bool:
        """Whether a bot in Python plays any seat."""
        if not self._guests:
            return False
        codes = view(self.blocks, "seats")
        return bool(((codes >= FIRST_GUEST_CODE) & (codes < FIRST_CUSTOM_CODE)).any())

    @_exclusive
    def tick(self, k: int, launches: Iterable[tuple[int, int, int]] = ()) -> None:
        """Play one tick of game ``k``, for tests and analysis; bots do not act.

        ``launches`` are (seat 1..P, owner code of the target 0..P, 1024ths of the balance 1..1024) and
        are made in this order before the tick. They are refused off the decision grid, and a game that
        is over cannot go on; launches that are merely not legal are counted.
        """
        self._need_reset()
        k = self._check_game(k)
        now = int(view(self.blocks, "tick")[k])
        self._play_launches(k, checked_launches(launches, self.config.num_players, now), now + 1)

    @_exclusive
    def play(self, k: int, launches: npt.ArrayLike, until: int) -> None:
        """Play game ``k`` up to the tick ``until``, or to its end if that comes first; bots do not act.

        ``launches``: whole numbers (N, 4), sorted by tick, none before the game's or from ``until`` on:
        tick, seat 1..P, owner code of the target 0..P, 1024ths of the balance 1..1024. As with ``tick``,
        they must lie on the decision grid, and those that are not legal are counted. One call plays
        thousands of ticks at full speed.
        """
        self._need_reset()
        k = self._check_game(k)
        now = int(view(self.blocks, "tick")[k])
        until = whole_number("until", until, now, self.config.max_ticks)
        rows = checked_launch_table(launches, self.config.num_players, now, until)
        self._play_launches(k, rows, until)

    def _play_launches(self, k: int, rows: npt.NDArray[np.int64], until: int) -> None:
        """Play game ``k`` up to ``until`` with ``rows``, (N, 4), that have been checked but for the grid."""
        check_may_play(self.blocks, k, rows, self.config.decision_every)
        self._compiled().play_launches(rows, until, k)
        self._refresh(k)
        if self._watcher is not None:
            self._watcher.after_play(k, rows)

    def set_seats(self, k: int, seats: Sequence[Seat], *, troops_of: Sequence[Seat] | None = None) -> None:
        """Let ``seats``, one name or custom bot per seat, play game ``k`` from its next reset on.

        ``troops_of``: whose starting troops they get if handicaps are on, as many names; None: their own.
        """
        self.set_next(k, seats, troops_of=troops_of)

    def set_next(
        self,
        k: int,
        seats: Sequence[Seat] | None = None,
        seed: int | None = None,
        *,
        troops_of: Sequence[Seat] | None = None,
    ) -> None:
        """Say how slot ``k`` goes on when its next game begins, at its reset or by ``autoreset``.

        ``seats``: who plays from then on, one name or custom bot per seat; None: those who were to.
        ``seed``: that of the next game alone; None: the one that it would have had. ``troops_of``: whose
        starting troops ``seats`` get if handicaps are on, as many names; None: their own.
        """
        k = self._check_game(k)
        checked = None if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
        if seats is not None:
            codes = self._codes_of(seats)
            self._seat(k, codes, self._starting_troops(seats if troops_of is None else troops_of))
        if checked is not None:
            self._slots.next_seed[k], self._slots.has_next_seed[k] = checked, True

    def seats_of(self, k: int) -> tuple[str, ...]:
        """Return the names of the seats of game ``k`` as it is being played."""
        k = self._check_game(k)
        names = dict(enumerate(SEAT_NAMES + self._guests.names))
        names |= dict(enumerate(self._custom.names, start=FIRST_CUSTOM_CODE))
        return tuple(names[code] for code in view(self.blocks, "seats")[k, 1:].tolist())

    @_exclusive
    def set_position(
        self,
        k: int,
        owner: npt.ArrayLike,
        *,
        tick: int = 0,
        troops: Sequence[int] | None = None,
        pools: dict[tuple[int, int], int] | None = None,
        peak: Sequence[int] | None = None,
        next_step: Sequence[int] | None = None,
    ) -> None:
        """Put game ``k`` into a given position, for tests and puzzles.

        ``owner``: (H, W) owner codes, 0 neutral, 1..P, 255 blocked. ``troops``, ``peak``, ``next_step``
        have one entry per seat (starting troops, the land, ``tick``). ``pools`` maps (seat, target)
        to troops. All seats are alive, ledgers and counts begin at 0, bots decide at the
        next decision point and remember nothing, and the game goes on from there.
        """
        self._need_reset()
        k = self._check_game(k)
        given = checked_position(self.config, owner, tick, troops, pools, peak, next_step)
        write_numbers(given, self.config, self.blocks, k)
        self._compiled().place_position(given.board, k)
        write_peaks(given, self.blocks, k)
        self._refresh(k)
        if self._watcher is not None:
            self._watcher.after_placing(k)

    # ---- looking ----------------------------------------------------------------------------------

    @property
    def autoreset(self) -> Autoreset:
        """What happens to a game that ended, see the class."""
        return cast(Autoreset, self._autoreset)

    @property
    def end_when(self) -> EndWhen:
        """When a game is replaced, see the class."""
        return cast(EndWhen, self._end_when)

    @property
    def max_cycles(self) -> int | None:
        """Decisions after which an episode is over, see the class; it can be set at any time."""
        limit = int(self._slots.max_cycles[0])
        return None if limit == NO_LIMIT else limit

    @max_cycles.setter
    def max_cycles(self, limit: int | None) -> None:
        checked = NO_LIMIT if limit is None else whole_number("max_cycles", limit, 1, NO_LIMIT)
        self._slots.max_cycles[:] = checked

    @property
    def num_cycles(self) -> npt.NDArray[np.int64]:
        """Decisions that each game has taken, int64 (E,): a view."""
        return self._slots.num_cycles

    @property
    def stands(self) -> npt.NDArray[np.bool_]:
        """Which games take no step, as they or their episodes are over: new bool (E,).

        Between two decisions of one call, these are also games that have just begun.
        """
        stands: npt.NDArray[np.bool_] = self._slots.stands | (view(self.blocks, "over") != 0)
        return stands | self._call.waits

    @property
    def info(self) -> dict[str, Any]:
        """What ``step`` returns as info, a new dict of arrays that the next step overwrites."""
        return self._info.copy()

    @property
    def results(self) -> StepResults:
        """What the last step gave back: arrays that the next step overwrites."""
        return self._results

    def launches(self) -> Launches:
        """Return what every seat launched in the last step, bots too: arrays that the next step overwrites.

        Of a step of several decisions it is the latest launch of each seat.
        Of a game that ended and was replaced within that step, they are the launches of the old game. No
        seat has launched where the step played nothing, as the game waits for its next one, and after
        ``reset``, ``tick``, ``play``, ``set_position`` and ``restore``.
        """
        return launches_of(self._launched)

    @property
    def final_observations(self) -> Observations:
        """The last observations of the games whose episode was over in the last step."""
        return self._final_observations

    @property
    def observes(self) -> bool:
        """Whether observations are kept current."""
        return self._observes

    @property
    def is_specialized(self) -> bool:
        """Whether steps are played by machine code for this size alone: ``specialize`` of the class."""
        return self._compiled().is_specialized

    @property
    def observations(self) -> Observations:
        """The observations of all games as they stand: the buffers that ``step`` returns."""
        return self._observations

    @_exclusive
    def pairs(
        self,
        games: npt.ArrayLike,
        seats: npt.ArrayLike,
        num_candidates: int = NUM_CANDIDATES,
        dtype: Literal["float32", "int16"] = "float32",
    ) -> PairObservations:
        """Return what N seats see in the form "pairs", as their games stand, in new arrays.

        ``games`` 0..E-1 and ``seats`` 1..P: whole numbers (N,), quickest if the games are sorted. Nothing is
        computed for others. ``own`` (N, 34), ``pairs`` (N, C, 26) and ``targets`` int32 (N, C) are described
        in docs/observation.md; ``num_candidates`` is C, 1 to 250. int16 numbers are those of float32 times
        4096.
        """
        self._need_reset()
        return self.pair_observer.observe_checked(games, seats, num_candidates, dtype)

    @cached_property
    def pair_observer(self) -> PairObserver:
        """What ``pairs`` asks; it checks neither its arguments nor who else uses the batch."""
        return PairObserver(self.blocks, self.config)

    @_exclusive
    def digest(self, k: int) -> bytes:
        """Return the 8 bytes that name the position of game ``k``, as the rules define them."""
        self._need_reset()
        k = self._check_game(k)
        if self._position is None:
            config = self.config
            rooms = allocate_positions(1, config.num_players, config.height, config.width)
            self._position = Position(rooms.board[0], rooms.numbers[0])
        step.position_of(self.blocks, k, self._position)
        return digest(int(self.blocks.seed[k, 0]), self._position)

    @_exclusive
    def fronts(self, k: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return front sizes, launch needs and legality of all pairs of game ``k``.

        Three new arrays (P+1, P+1), [player, target] by owner codes: int64 cells, int64 troops, bool.
        """
        self._need_reset()
        return fronts_of(self.config, self.blocks, self._check_game(k))

    @property
    def has_begun(self) -> bool:
        """Whether there are games: False until the first ``reset``."""
        return self._has_begun

    @property
    def maps(self) -> tuple[LandMask, ...]:
        """The bank of maps; ``state.map_id`` tells which one a game is played on.

        With ``num_maps=0`` these are the maps of the games that are being played, game k on map k.
        """
        if self._atlas.has_own_maps:
            self._need_reset()
        return self._atlas.maps(view(self.blocks, "seed").tolist())

    def land(self, k: int) -> LandMask:
        """Return the map that game ``k`` is being played on."""
        return self._page(k).land

    def terrain(self, k: int) -> npt.NDArray[np.uint8]:
        """Return the terrain of game ``k``, uint8 (2, H, ceil(W/8)): the same, read-only, all game long.

        Bit planes of the blocked cells and of those of them that are water: ``observation.layout.ARRAYS``.
        """
        return self._page(k).terrain

    def terrain_name(self, k: int) -> Terrain:
        """Return what the blocked cells of game ``k`` are: "water" or "mountains"."""
        return self._page(k).blocked

    @property
    def bytes_per_game(self) -> float:
        """All memory of this batch over the number of games, the owner board and scratch included."""
        groups = (
            self._atlas.arrays,
            self._buffers,
            self._final_buffers,
            self._results,
            self._slots,
            self._tape,
            self._call,
            self._launched,
        )
        arrays: list[npt.NDArray[Any]] = [self.actions, *(self._position or ())]
        arrays += [array for group in groups for array in group]
        arrays += [array for work in (*self._works, *self._network_works) for _, array in named_arrays(work)]
        arrays += [] if self._owner is None else [self._owner]
        distinct = {id(array): array.nbytes for array in arrays}
        return (state_bytes(self.blocks) + sum(distinct.values())) / self.num_games

    # ---- saving -----------------------------------------------------------------------------------

    @_exclusive
    def save(self, k: int) -> SavedGame:
        """Return a copy of game ``k``."""
        self._need_reset()
        k = self._check_game(k)
        blocks = tuple([block[k].copy() for block in self.blocks])
        boards = self._buffers.boards[k] if self.observes else self._buffers.boards.reshape(-1, 1, 1, 1)
        cycles, stands = self._slots.num_cycles.item(k), self._slots.stands.item(k)
        older, names = boards[1:].copy(), self._guests.names
        return SavedGame(self._config_digest, blocks, older, names, cycles, stands, self._custom.bots)

    @_exclusive
    def restore(self, k: int, saved: SavedGame) -> None:
        """Put a saved game into slot ``k``; it goes on exactly as it would have.

        So do the frames that are observed, if the batch it was saved from had as many or more; else all
        older ones equal the present one, as in a new game. ``delta_count`` is -1, as nothing is known of
        what the slot showed before. Who plays from the slot's next reset on is up to the slot (see
        ``set_seats``), not to the saved game.
        """
        k = self._check_game(k)
        check_saved(saved, self._config_digest, self.blocks, self._guests.names)
        self._need_reset()
        if saved.custom:
            self._welcome(saved.custom)
        write_game(saved, self.blocks, k)
        if saved.custom:
            codes = view(self.blocks, "seats")
            codes[k] = self._custom.codes_here(codes[k], saved.custom)
        self._slots.num_cycles[k], self._slots.stands[k] = saved.num_cycles, saved.stands
        if self._atlas.has_own_maps:
            view(self.blocks, "map_id")[k] = k
        self._refresh(k)
        older, boards, missing = saved.older_frames, self._buffers.boards, max(0, self.layout.frames - 1)
        if self.observes and older.shape[1:] == boards.shape[2:] and len(older) >= missing:
            restore_frames(self._buffers, k, older[:missing])
        if self._watcher is not None:
            self._watcher.after_placing(k)

    @_exclusive
    def clone(self) -> VecGame:
        """Return an independent copy of the whole batch; both go on identically."""
        return copy.deepcopy(self)

    @_exclusive
    def close(self) -> None:
        """Stop the threads; the next step starts new ones."""
        self._crew.retire()

    @_exclusive
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of all arrays: they are written down later, when other threads may step again."""
        state = self.__dict__.copy()
        per_process = ("state", "_works", "_network_works", "_crew", "_lock", "_call", "_is_behind")
        for name in (*per_process, *MADE_ANEW):
            state.pop(name, None)
        state["_final_buffers"] = None if self._final_buffers is self._buffers else self._final_buffers
        state |= {name: copy.deepcopy(state[name]) for name in COPIED}
        return state | {"_owner": None, "_owner_is_current": False, "_position": None, "_watcher": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(upgraded(state))
        # Arrays that were unpickled without a copy are read-only: the buffers belong to the sender.
        self.blocks = State(*all_writable(self.blocks))
        self._buffers = Buffers(*all_writable(self._buffers))
        if self._keeps_final and self._final_buffers is None:
            self._final_buffers = allocate_buffers(self.layout, self.num_games)
        self._final_buffers = Buffers(*all_writable(self._final_buffers or self._buffers))
        self._results = StepResults(*all_writable(self._results))
        self._slots = Slots(*all_writable(self._slots))
        self._launched = LastLaunches(*all_writable(self._launched))
        self.actions, self._seed = all_writable([self.actions, self._seed])
        self._record_games(np.zeros(self.num_games, np.bool_))  # a copy is not recorded
        self.state = GameArrays(self)
        self._make_views()
        self._hire()

    def __deepcopy__(self, memo: dict[int, Any]) -> VecGame:
        copied = memo[id(self)] = object.__new__(type(self))
        state = self.__getstate__()
        copied.__setstate__(
            {name: state[name] if name in COPIED else copy.deepcopy(state[name], memo) for name in state}
        )
        return copied

    def __copy__(self) -> VecGame:
        return self.clone()

    def __repr__(self) -> str:
        config = self.config
        return (
            f"VecGame({self.num_games} games, {config.height} x {config.width}, {config.num_players} players)"
        )

    # ---- recording --------------------------------------------------------------------------------

    @_exclusive
    def watch(self, watcher: Watcher, recorded: npt.NDArray[np.bool_]) -> tuple[StepResults, Tape]:
        """Tell ``watcher`` of everything from now on, and log the launches of the games ``recorded``.

        ``recorded``: bool (E,). Returns the arrays that steps leave; see territorial.replay.Recorder, which
        is what a user wants. Raises ValueError if there is a watcher already.
        """
        if self._watcher is not None:
            raise ValueError("this VecGame already has a recorder; close() that recorder first")
        self._record_games(recorded)
        self._watcher = watcher
        return self._results, self._tape

    @_exclusive
    def unwatch(self) -> None:
        """Notify no observer any more, and log nothing."""
        self._watcher = None
        self._record_games(np.zeros(self.num_games, np.bool_))

    # ---- within -----------------------------------------------------------------------------------

    def _compiled(self) -> CompiledCalls:
        """Return the compiled calls for the arrays of this batch."""
        if self._calls is None:
            self._crew.retire()  # nobody is to watch for calls with what they were given before
            self._network_works = self._make_network_works()
            batches = [self._batch(thread) for thread in range(len(self._works))]
            self._calls = CompiledCalls(batches, self._specialize)
        return self._calls

    def _make_network_works(self) -> list[NetworkWork]:
        """Return scratch memory of networks for each thread."""
        has_networks = self._custom.has_networks
        return [make_network_work(self.config.num_players, has_networks) for _ in self._works]

    def _step_all(self) -> None:
        """Play one step of all games with ``self.actions``."""
        self._compiled().step_games(self._crew)

    @property
    def _keeps_final(self) -> bool:
        """Whether last observations are kept; a game that is not replaced at once has its own where it is."""
        return self.observes and self.autoreset == "same_step"

    def _batch(self, thread: int) -> Batch:
        """Return what a thread has to know to step the games."""
        return Batch(
            state=self.blocks,
            params=self._params,
            work=self._works[thread],
            bank=self._atlas.bank,
            custom=self._custom.table,
            networks=self._network_works[thread],
            seed=self._seed,
            actions=self.actions,
            buffers=self._buffers,
            final_buffers=self._final_buffers,
            results=self._results,
            slots=self._slots,
            tape=self._tape,
            call=self._call,
            launched=self._launched,
            options=Options(
                autoreset=step.AUTORESETS.index(self.autoreset),
                ends_without_agents=int(self.end_when == "no_agents"),
                is_observed=int(self.observes),
            ),
            thread=thread,
            queues=self._crew.queues,
            post=self._crew.posts[thread],
        )

    def _see_pairs(self, games: Ints, seats: Ints) -> PairObservations:
        return self.pair_observer.observe(games, seats, NUM_CANDIDATES).as_floats()

    def _page(self, k: int) -> Page:
        self._need_reset()
        k = self._check_game(k)
        return self._atlas.page(int(view(self.blocks, "map_id")[k]), int(view(self.blocks, "seed")[k]))

    def _provide_next_maps(self) -> None:
        """Have the maps ready on which games are played that may begin within the next step."""
        self._atlas.provide(self._next_seeds().tolist(), view(self.blocks, "seed").tolist())

    def _next_seeds(self) -> npt.NDArray[np.uint64]:
        """Return new uint64 (E,): the seed of the next game of every slot."""
        seeds = np.zeros(self.num_games, np.uint64)
        step.next_seeds(self._slots, self._seed[0], view(self.blocks, "episode") + 1, seeds)
        return seeds

    def _refresh(self, k: int) -> None:
        self._owner_is_current, self._may_be_off_grid = False, True
        forget_launches(self._launched, k)
        if self.observes:
            self._compiled().observe_games(k, k + 1)

    def _owner_codes(self) -> npt.NDArray[np.uint8]:
        if self._owner is None:
            shape = (self.num_games, self.config.height + 2, self.config.width + 2)
            self._owner = np.empty(shape, np.uint8)
        if not self._owner_is_current:
            self._owner.flags.writeable = True
            self._owner.fill(BLOCKED)
            step.owner_codes(self.blocks, self._owner, 0, self.num_games)
            self._owner.flags.writeable = False
            self._owner_is_current = True
        return self._owner

    def _need_reset(self) -> None:
        if not self._has_begun:
            raise RuntimeError("no game has begun yet; call reset() first")

    def _check_game(self, k: Any) -> int:
        return checked_game(k, self.num_games)

    def _codes_of(self, seats: Sequence[Seat] | None) -> npt.NDArray[np.int64]:
        """Return the codes of ``seats``, whose custom bots have one from now on."""
        seats = self._custom.with_bots_of_files(seats)
        self._welcome(seats)
        self._guests.welcome(seats, self._custom.names)
        codes = seat_codes(seats, self.config.num_players, self._guests.names, self._custom.names)
        self._check_agents(codes)
        return codes

    def _welcome(self, bots: Any) -> None:
        """Let the kernels know the compiled custom bots among ``bots``."""
        had_networks = self._custom.has_networks
        has_moved = self._custom.welcome(bots, self._guests.names)
        if has_moved or self._custom.has_networks != had_networks:
            self._calls = None  # the next call unboxes the table where it is now, and has room for networks

    def _seat(self, games: Any, codes: npt.NDArray[np.int64], troops: npt.NDArray[np.int64]) -> None:
        """Write who plays ``games``, and what they start with, from the next reset on."""
        for name, values in zip(NEXT_ONES, (codes, troops, self._guests.intervals(codes)), strict=True):
            view(self.blocks, name)[games, 1:] = values

    def _starting_troops(self, seats: Sequence[Seat] | None) -> npt.NDArray[np.int64]:
        players = self.config.num_players
        names: Sequence[Seat] = [AGENT] * players if seats is None else seats
        if len(names) != players:
            raise ValueError(f"troops_of has {len(names)} entries; this game has num_players = {players}")
        return starting_troops(self._custom.named(names), self.config)

    def _check_agents(self, codes: npt.NDArray[np.int64]) -> None:
        if self.end_when == "no_agents" and AGENT_CODE not in codes:
            raise ValueError('end_when is "no_agents" but no seat is called "agent"')


def _checked_repeat(repeat: int) -> int:
    return 1 if repeat is ONE else whole_number("repeat", repeat, 1, NO_LIMIT)


def _assign(
    config: GameConfig, maps: Sequence[str | LandMask], num_games: int
) -> tuple[GameConfig, npt.NDArray[np.int64]]:
    """Return ``config`` with all of ``maps``, and which of them each game has, int64 (E,)."""
    if isinstance(maps, (str, LandMask)) or len(maps) != num_games:
        found = repr(maps) if isinstance(maps, (str, LandMask)) else f"{len(maps)} maps"
        raise ValueError(f"maps is {found}; it must be one map for each of the {num_games} games")
    if config.num_maps != 1:
        raise ValueError(f"num_maps is {config.num_maps}; it must be 1 when maps has a map for every game")
    listed = [_one_map(one) for one in maps]
    different = list(dict.fromkeys(listed))
    numbers = np.array([different.index(one) for one in listed], np.int64)
    return config.replace(map=MapMix(different)), numbers


def _one_map(given: object) -> str | LandMask:
    one = checked_map(given)
    if isinstance(one, MapMix):
        raise ValueError(f"maps has the mix {str(one)!r}; it must have one map for each game")
    return one


def _one_of(name: str, value: Any, choices: tuple[str, ...]) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}{hint(value, choices)}; it must be one of {', '.join(choices)}")
    return value


if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Snapshot": "SavedGame"})
