"""``VecGame``: a batch of games in shared arrays, stepped by one call.

``VecGame`` validates arguments, refuses calls from a second thread and notifies its observer. The other
modules of this package do the work: arrays, players, maps, threads and steps.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from territorial._notebooks import ShownInNotebooks
from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import Terrain
from territorial.config.validation import check_type, suggests_keywords, true_or_false, whole_number
from territorial.constants import AGENT_CODE, FIRST_BOT_CODE, LARGEST_SEED, NUM_CANDIDATES
from territorial.engine import step
from territorial.engine.batch_arrays import (
    GameArrays,
    allocate_arrays,
    copied,
    info_of,
    next_seeds,
    writable,
)
from territorial.engine.calls import (
    ONE_DECISION,
    Calls,
    check_may_play,
    check_no_decision,
    check_on_grid,
    checked_game,
    checked_launch_table,
    checked_launches,
    checked_options,
    checked_seeds,
    copy_actions,
    exclusive,
)
from territorial.engine.forecast import Forecasts
from territorial.engine.map_bank import BatchMaps, assigned_maps
from territorial.engine.pair_observations import PairObservations, PairObserver
from territorial.engine.players import BatchPlayers
from territorial.engine.recording import (
    NO_OBSERVER,
    DecisionHook,
    GameObserver,
    Launches,
    LaunchLog,
    forget_launches,
)
from territorial.engine.saved_game import (
    SavedGame,
    check_saved,
    digest_of,
    fronts_of,
    write_game,
    write_position,
)
from territorial.engine.seats import EXTERNAL, Seat
from territorial.engine.step import AUTORESETS, NO_LIMIT, BatchArrays, StepResults
from territorial.files.arrays import WritableArrays
from territorial.game.scratch import named_arrays
from territorial.game.state import State, view
from territorial.maps.bank import Ground
from territorial.observation.copies import Copies, Loans, copy_game
from territorial.observation.layout import MAX_FRAMES, ObsLayout
from territorial.observation.tables import Observations, observations_of, restore_frames
from territorial.typing import Ints

Autoreset = Literal["same_step", "next_step", "disabled"]
EndWhen = Literal["game", "no_agents"]
COPIED = (
    *("config", "num_games", "num_threads", "layout", "is_started"),
    *("_config_digest", "_options", "_players", "_may_be_off_grid", "_may_have_agents"),
)
"""Attributes that a copy has, beside arrays and maps; others follow from these, or belong to a process."""
MAX_GAMES = 1_000_000


class VecGame(WritableArrays, ShownInNotebooks):
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

    _may_have_agents = False  # a batch of bots alone has no actions to forget, and is not looked through

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
    ) -> None:
        check_type("config", config, GameConfig, "a territorial.GameConfig")
        self.num_games = whole_number("num_games", num_games, 1, MAX_GAMES)
        self.config, assigned = assigned_maps(config, maps, self.num_games)
        self._config_digest = self.config.hexdigest
        self.num_threads = whole_number("num_threads", num_threads, 1, 1024)
        batch_seed = whole_number("seed", seed, 0, LARGEST_SEED)
        self._options = checked_options(autoreset, end_when, observe)
        self._players = BatchPlayers(self.config)
        codes = self._codes_of(seats)
        self._maps = BatchMaps(self.config, self.num_games, assigned)
        self.layout = ObsLayout.of(self.config, whole_number("frames", frames, 0, MAX_FRAMES))
        try:
            self._put_together(allocate_arrays(self.config, self.layout, self.num_games, self._options))
        except MemoryError:
            raise MemoryError(
                f"not enough memory for num_games = {self.num_games}; use fewer games or a smaller map"
            ) from None
        self._arrays.seed[0] = batch_seed
        self.max_cycles = max_cycles
        self._players.write_next(self.blocks, slice(None), codes, self._players.troops_of(seats))
        self.is_started = False
        """Whether there are games: not before the first ``reset``."""
        self._may_be_off_grid = True

    def _put_together(self, arrays: BatchArrays) -> None:
        """Make all that follows from the options, the players and the maps for ``arrays``."""
        self.autoreset = cast(Autoreset, AUTORESETS[self._options.autoreset])
        """What happens to a game that ended, see the class."""
        self.observes = bool(self._options.is_observed)
        """Whether observations are kept current."""
        self._arrays = arrays
        self.blocks, self.actions = arrays.state, arrays.actions
        self.observations: Observations = observations_of(arrays.buffers, self.layout)
        """The observations of all games as they stand: the buffers that ``step`` returns."""
        self.final_observations: Observations = observations_of(arrays.final_buffers, self.layout)
        """The last observations of the games whose episode was over in the last step."""
        self.results: StepResults = arrays.results
        """What the last step gave back: arrays that the next step overwrites."""
        self.num_cycles: Ints = arrays.slots.num_cycles
        """Decisions that each game has taken, int64 (E,): a view."""
        self._info = info_of(arrays, self.final_observations, self.config.rewards)
        self.pair_observer = PairObserver(arrays.state, self.config)
        """What ``pairs`` asks; it checks neither its arguments nor who else uses the batch."""
        self.forecasts = Forecasts(arrays.state, self._config_digest, partial(new_copy, self.config))
        """What launches would come to if all others held; it, too, checks nothing."""
        self._observer = NO_OBSERVER
        self._loans = Loans(arrays.buffers, self.layout)
        self._calls = Calls(
            self.config,
            arrays,
            self._maps,
            self._players,
            self._options,
            self.pair_observer.see,
            self.forecasts,
            self._loans.lending,
            num_threads=self.num_threads,
        )
        self.state = GameArrays(arrays.state, self._calls.owner_codes)

    # ---- playing ----------------------------------------------------------------------------------

    @exclusive
    def reset(self, seed: int | None = None, *, seeds: Iterable[int] | None = None) -> Observations:
        """Begin new games and return their first observations.

        ``seed`` is a new batch seed and begins with episode 0 again; ``seeds`` gives every game its own
        seed instead; with neither, every game continues with its next episode.
        """
        if seed is not None and seeds is not None:
            raise ValueError("reset() takes either seed (for the batch) or seeds (one per game), not both")
        arrays, episodes = self._arrays, np.zeros(self.num_games, np.int64)
        given = None if seeds is None else checked_seeds(seeds, self.num_games)
        if seed is not None:  # a new seed replaces the seeds that were set for the next games
            arrays.seed[0] = whole_number("seed", seed, 0, LARGEST_SEED)
            arrays.slots.has_next_seed[:] = False
        elif given is None and self.is_started:
            episodes = view(self.blocks, "episode") + 1
        chosen = next_seeds(arrays, episodes) if given is None else given
        games = range(self.num_games)
        if self.is_started:
            self._observer.before_reset(games)
        self._may_be_off_grid = False
        self._maps.provide(chosen.tolist(), current=())
        forget_launches(arrays.launched, slice(None))
        self._calls.reset_games(chosen, episodes)
        self.is_started = True
        self._observer.after_reset(games)
        return self.observations

    @exclusive
    def reset_game(self, k: int, seed: int | None = None) -> None:
        """Reset game ``k``, with ``seed`` or with that of its next episode, while the others stand."""
        k = self._require_started(k)
        episode, seeds = int(view(self.blocks, "episode")[k]) + 1, next_seeds(self._arrays)
        if seed is not None:
            seeds[k], episode = whole_number("seed", seed, 0, LARGEST_SEED), 0
        self._observer.before_reset([k])
        self._maps.provide(seeds.tolist(), self._current_seeds())
        forget_launches(self._arrays.launched, k)
        self._calls.one_game(step.reset_game, seeds[k], episode, k)
        self._observer.after_reset([k])

    @exclusive
    def stop_game(self, k: int) -> None:
        """Leave game ``k`` standing as it is, as if it were over, until it is reset; no places are given."""
        view(self.blocks, "over")[self._require_started(k)] = 1

    @exclusive
    def step(
        self, actions: npt.ArrayLike | None = None, repeat: int = ONE_DECISION, *, hold: bool = False
    ) -> tuple[
        Observations,
        npt.NDArray[np.float32],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Play one environment step of all games, ``repeat`` decisions long.

        ``actions``: whole numbers (E, P, 2), what and how much for every seat in seat order (see
        territorial.observation.action_encoding); those of bots must be in range too, but do nothing. None:
        no agent has a decision to make, as all seats are played by bots, or the agents are eliminated.
        A game that ``tick`` or ``set_position`` left between two decisions takes no actions: step it
        without them, which plays the ticks up to its next decision.

        ``hold``: True lets all agents hold, whichever games are due a decision. It takes the place of
        ``actions``, so that an agent never holds because its actions were forgotten.

        ``repeat``, at least 1: agents make ``actions`` in the first of so many decisions, and hold in the
        others, while bots decide when they always do. Rewards and their parts are summed, in float32 and
        decision after decision. A game whose episode is over stops there; the next one begins in this call
        or the next, as ``autoreset`` says, and takes no step in this one. Observations are those after the
        last decision: a stack of frames has the boards of calls, the delta what changed since the last call.
        ``max_cycles`` counts decisions.

        ValueError if actions are missing, and for actions where a game is between two decisions.

        Returns observations, rewards float32 (E, P), terminated bool (E, P), truncated bool (E, P) and
        info, a dict with the same keys every time: ``ended`` bool (E,), the game ended by its rules (an
        episode that was only cut did not), ``was_reset`` bool (E,), ``final_place`` float32 (E, P),
        ``final_land`` int64 (E, P), ``final_length`` int64 (E,) ticks, ``final_obs``, and the counts
        ``illegal``, ``raised``, ``bounced`` int64 (E, P) of the games as they now stand, with
        ``final_illegal``, ``final_raised``, ``final_bounced``. ``final_*`` of a game are meaningful in a
        step in which it ended or was reset. A place is 0 where the game was left before it was known.
        ``reward_*`` float32 (E, P) are the parts of ``config.rewards``, without their weights.
        """
        holds = hold is not False and true_or_false("hold", hold)
        if holds and actions is not None:
            raise ValueError("step() takes either actions or hold=True, not both")
        if actions is None and not holds and self._may_have_agents:
            check_no_decision(self.blocks, self.is_idle, self.config.decision_every)
        if actions is not None:
            copy_actions(actions, self.actions)
        if self._may_be_off_grid:
            self._check_may_step(takes_actions=actions is not None)
        if actions is None:
            self.actions.fill(0)
        self._calls.step(repeat, self._observer)
        self._may_be_off_grid = False
        results = self.results
        return self.observations, results.rewards, results.terminated, results.truncated, self._info.copy()

    @exclusive
    def step_unchecked(
        self, repeat: int = ONE_DECISION, hook: DecisionHook | None = None, copies: Copies | None = None
    ) -> StepResults:
        """Play one environment step with ``actions``, for environments that have written these themselves.

        ``actions``, int64 (E, P, 2), must be in range; with ``repeat``, see ``step``, they are zero
        afterwards. ``hook`` is notified of every decision. Returns arrays that the next step overwrites.
        ``copies``, of ``new_copies``, hold afterwards what is observed of all games.
        ValueError for a game that stands between two decisions, as ``step`` says.
        """
        if self._may_be_off_grid:
            self._check_may_step(takes_actions=True)
        target = self._loans.lending.target
        target[:] = 0 if copies is None else copies.target
        try:
            self._calls.step(repeat, self._observer, hook)
        finally:
            target[:] = 0
        self._may_be_off_grid = False
        return self.results

    @exclusive
    def new_copies(self) -> Copies:
        """Return arrays for ``step_unchecked``, with anything in them; no other code may write to the planes.

        They keep what the step writes as long as anybody has a view of one of them. A step copies boards and
        tables game by game, while they lie in the caches, and past the caches. Of large batches that takes
        less than half the time of a copy made afterwards.
        """
        return self._loans.lend()

    @exclusive
    def copy_again(self, copies: Copies, games: Ints) -> None:
        """Bring the copies of ``games`` up to date, which have changed since the step."""
        lending = self._loans.lending
        lending.target[:] = copies.target
        for k in games.tolist():
            copy_game(self._arrays.buffers, lending, k)
        lending.target[:] = 0

    @exclusive
    def tick(self, k: int, launches: Iterable[tuple[int, int, int]] = ()) -> None:
        """Play one tick of game ``k``, for tests and analysis; bots do not act.

        ``launches`` are (seat 1..P, owner code of the target 0..P, 1024ths of the balance 1..1024) and
        are made in this order before the tick. They are refused off the decision grid, and a game that
        is over cannot go on; launches that are merely not legal are counted.
        """
        k = self._require_started(k)
        now = int(view(self.blocks, "tick")[k])
        self._play_launches(k, checked_launches(launches, self.config.num_players, now), now + 1)

    @exclusive
    def play(self, k: int, launches: npt.ArrayLike, until: int) -> None:
        """Play game ``k`` up to the tick ``until``, or to its end if that comes first; bots do not act.

        ``launches``: whole numbers (N, 4), sorted by tick, none before the game's or from ``until`` on:
        tick, seat 1..P, owner code of the target 0..P, 1024ths of the balance 1..1024. As with ``tick``,
        they must lie on the decision grid, and those that are not legal are counted. One call plays
        thousands of ticks at full speed.
        """
        k = self._require_started(k)
        now = int(view(self.blocks, "tick")[k])
        until = whole_number("until", until, now, self.config.max_ticks)
        rows = checked_launch_table(launches, self.config.num_players, now, until)
        self._play_launches(k, rows, until)

    def _play_launches(self, k: int, rows: Ints, until: int) -> None:
        """Play game ``k`` up to ``until`` with ``rows``, (N, 4), that have been checked but for the grid."""
        check_may_play(self.blocks, k, rows, self.config.decision_every)
        self._calls.one_game(step.play_launches, rows, until, k)
        self._refresh(k)
        self._observer.after_play(k, rows)

    @exclusive
    def set_seats(self, k: int, seats: Sequence[Seat], *, troops_of: Sequence[Seat] | None = None) -> None:
        """Let ``seats``, one name or custom bot per seat, play game ``k`` from its next reset on.

        ``troops_of``: whose starting troops they get if handicaps are on, as many names; None: their own.
        """
        self.set_next_game(k, seats, troops_of=troops_of)

    @exclusive
    def set_next_game(
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
        k = checked_game(k, self.num_games)
        checked = None if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
        if seats is not None:
            codes = self._codes_of(seats, self.blocks)
            troops = self._players.troops_of(seats if troops_of is None else troops_of)
            self._players.write_next(self.blocks, k, codes, troops)
        if checked is not None:
            slots = self._arrays.slots
            slots.next_seed[k], slots.has_next_seed[k] = checked, True

    @exclusive
    def change_seats(self, k: int, players: Mapping[int, Seat]) -> None:
        """Let other players go on with seats of game ``k`` from now on, until its next reset.

        A bot sits down as at the beginning of a game, but for what it remembers: its settings are those that
        the game's seed draws for the seat, and it decides at the next decision point. A player that has the
        seat already goes on undisturbed.

        Args:
            k: the game.
            players: by seat, 1..P, the name of a player or a custom bot.

        Raises:
            ValueError: for a seat that there is not, and for an unknown name.

        """
        k, num_players = self._require_started(k), self.config.num_players
        seats: list[Seat] = list(self._players.names_of(view(self.blocks, "seats")[k, 1:]))
        for seat, player in players.items():
            seats[whole_number("a seat of players", seat, 1, num_players) - 1] = player
        codes = np.full(num_players + 1, -1)
        changed = [int(seat) for seat in players]
        codes[changed] = self._codes_of(seats, self.blocks)[np.array(changed, int) - 1]
        codes[codes == view(self.blocks, "seats")[k]] = -1  # who sits there already goes on
        self._players.write_intervals(self.blocks, k, codes)
        self._calls.one_game(step.seat_players, codes, k)
        self._observer.after_seating(k)

    @exclusive
    def seats_of(self, k: int) -> tuple[str, ...]:
        """Return the names of the seats of game ``k`` as it is being played."""
        return self._players.names_of(view(self.blocks, "seats")[checked_game(k, self.num_games), 1:])

    @exclusive
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
        to troops, and allies have none against each other. All seats are alive, ledgers and counts begin at
        0, bots decide at the next decision point and remember nothing, and the game goes on from there.
        """
        k = self._require_started(k)
        board = write_position(self.config, self.blocks, k, owner, tick, troops, pools, peak, next_step)
        self._calls.one_game(step.place_position, board, k)
        self._refresh(k)
        self._observer.after_placing(k)

    # ---- looking ----------------------------------------------------------------------------------

    @property
    @exclusive
    def max_cycles(self) -> int | None:
        """Decisions after which an episode is over, see the class; it can be set at any time."""
        limit = int(self._arrays.slots.max_cycles[0])
        return None if limit == NO_LIMIT else limit

    @max_cycles.setter
    @exclusive
    def max_cycles(self, limit: int | None) -> None:
        checked = NO_LIMIT if limit is None else whole_number("max_cycles", limit, 1, NO_LIMIT)
        self._arrays.slots.max_cycles[:] = checked

    @property
    def is_idle(self) -> npt.NDArray[np.bool_]:
        """Which games take no step, as they or their episodes are over: new bool (E,).

        Between two decisions of one call, these are also games that have just begun.
        """
        return self._arrays.is_idle

    @property
    def info(self) -> dict[str, Any]:
        """The info of ``step``: a new dict of arrays that the next step overwrites."""
        return self._info.copy()

    def launches(self) -> Launches:
        """Return the launches of every seat in the last step, bots included, in arrays that it overwrites.

        Of a step of several decisions it is the latest launch of each seat.
        Of a game that ended and was replaced within that step, they are the launches of the old game. No
        seat has launched where the step played nothing, as the game waits for its next one, and after
        ``reset``, ``tick``, ``play``, ``set_position`` and ``restore``.
        """
        return self._arrays.launched

    @exclusive
    def pairs(
        self,
        games: npt.ArrayLike,
        seats: npt.ArrayLike,
        num_candidates: int = NUM_CANDIDATES,
        dtype: Literal["float32", "int16"] = "float32",
        *,
        num_allies: int | None = None,
    ) -> PairObservations:
        """Return observations "pairs" of N seats, as their games stand, in new arrays.

        ``games`` 0..E-1 and ``seats`` 1..P: whole numbers (N,), quickest if the games are sorted. Nothing is
        computed for others. ``own`` (N, 35), ``pairs`` (N, C, 26) and ``targets`` int32 (N, C) are described
        in docs/observation.md; ``num_candidates`` is C, 1 to 250. int16 numbers are those of float32 times
        4096. With teams there are D rows more, for allies, and a column; ``num_allies`` is D, 0 to 250; None:
        4 with teams.
        """
        self.need_reset()
        return self.pair_observer.observe_checked(games, seats, num_candidates, num_allies, dtype)

    @exclusive
    def digest(self, k: int) -> bytes:
        """Return the 8 bytes that name the position of game ``k``, as the rules define them."""
        return digest_of(self.config, self.blocks, self._require_started(k))

    @exclusive
    def fronts(self, k: int) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """Return front sizes, launch needs and legality of all pairs of game ``k``.

        Three new arrays (P+1, P+1), [player, target] by owner codes: int64 cells, int64 troops, bool. Between
        allies nothing is needed, and legal are donations.
        """
        return fronts_of(self.config, self.blocks, self._require_started(k))

    @property
    @exclusive
    def maps(self) -> tuple[LandMask, ...]:
        """The bank of maps; ``state.map_id`` tells which one a game is played on.

        With ``num_maps=0`` these are the maps of the games that are being played, game k on map k.
        """
        if self._maps.has_own_maps:
            self.need_reset()
        return self._maps.maps(self._current_seeds())

    @exclusive
    def land(self, k: int) -> LandMask:
        """Return the map that game ``k`` is being played on."""
        return self._ground(k).land

    @exclusive
    def terrain(self, k: int) -> npt.NDArray[np.uint8]:
        """Return the terrain of game ``k``, uint8 (2, H, ceil(W/8)): the same, read-only, all game long.

        Bit planes of the blocked cells and of those of them that are water: ``observation.layout.ARRAYS``.
        """
        return self._ground(k).terrain

    @exclusive
    def write_terrain(self, games: Ints, terrain: npt.NDArray[np.uint8]) -> None:
        """Write the terrain of ``games``, which are in range, into their rows of ``terrain``, (E, ...)."""
        map_ids, seeds = view(self.blocks, "map_id"), view(self.blocks, "seed")
        for k in games.tolist():
            terrain[k] = self._maps.ground(int(map_ids[k]), int(seeds[k])).terrain

    @exclusive
    def terrain_name(self, k: int) -> Terrain:
        """Return the name of the blocked cells of game ``k``: "water" or "mountains"."""
        return self._ground(k).blocked

    @property
    def bytes_per_game(self) -> float:
        """All memory of this batch over the number of games, the owner board and scratch included."""
        calls = self._calls
        groups = self._arrays, *calls.works, *calls.network_works
        arrays = [*self._maps.arrays, *calls.launch_log, calls.owners]
        arrays += [array for group in groups for _, array in named_arrays(group)]
        return sum({id(array): array.nbytes for array in arrays}.values()) / self.num_games

    # ---- saving -----------------------------------------------------------------------------------

    @exclusive
    def save(self, k: int) -> SavedGame:
        """Return a copy of game ``k``."""
        k, arrays = self._require_started(k), self._arrays
        boards = arrays.buffers.boards
        older = boards[k, 1:].copy() if len(boards) else boards.reshape(-1, 1, 1, 1)[1:].copy()
        return SavedGame(
            config_digest=self._config_digest,
            blocks=tuple([block[k].copy() for block in arrays.state]),
            older_frames=older,
            python_bots=self._players.python_names,
            num_cycles=arrays.slots.num_cycles.item(k),
            is_idle=arrays.slots.is_idle.item(k),
            custom=self._players.bots,
        )

    @exclusive
    def restore(self, k: int, saved: SavedGame, future: int | None = None) -> None:
        """Put a saved game into slot ``k``; it goes on exactly as it would have.

        ``future``, 0 to 2**64 - 1: the seed of what is still to be drawn, which is the order of attack steps
        and the chance in moves of bots; another one gives another course of the game from here. None: that of
        the saved game. Map, spawns, teams and settings of bots stay those of the game's own seed.

        So do the frames that are observed, if the batch it was saved from had as many or more; else all
        older ones equal the present one, as in a new game. ``delta_count`` is -1, as nothing is known of
        what the slot showed before. Who plays from the slot's next reset on is up to the slot (see
        ``set_seats``), not to the saved game.
        """
        k, players = checked_game(k, self.num_games), self._players
        chosen = None if future is None else whole_number("future", future, 0, LARGEST_SEED)
        has_agents = check_saved(saved, self.config, self._config_digest, self.blocks, players.python_names)
        self.need_reset()
        self._may_have_agents |= has_agents
        players.register(saved.custom)
        write_game(saved, self.config, self._arrays, k, players)
        if chosen is not None:
            view(self.blocks, "future")[k] = chosen
        if self._maps.has_own_maps:
            view(self.blocks, "map_id")[k] = k
        self._refresh(k)
        if self.observes:
            restore_frames(self._arrays.buffers, k, saved.older_frames)
        self._observer.after_placing(k)

    @property
    def nbytes(self) -> int:
        """The bytes of the games and of their observations."""
        return sum(part.nbytes for part in (*self.blocks, *self.observations, *self.final_observations))

    @exclusive
    def clone(self) -> VecGame:
        """Return an independent copy of the whole batch; both go on identically."""
        return copy.deepcopy(self)

    @exclusive
    def close(self) -> None:
        """Stop the threads; the next step starts new ones."""
        self._calls.thread_pool.shutdown()

    @exclusive
    def __getstate__(self) -> dict[str, Any]:
        """Return copies of all arrays: they are written down later, when other threads may step again."""
        state = {name: getattr(self, name) for name in COPIED}
        return state | {"_arrays": copied(self._arrays), "_maps": copy.deepcopy(self._maps)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        arrays = writable(self.__dict__.pop("_arrays"))
        self._put_together(arrays)

    def __deepcopy__(self, memo: dict[int, Any]) -> VecGame:
        other = memo[id(self)] = object.__new__(type(self))
        other.__setstate__(self.__getstate__() | {"_players": copy.deepcopy(self._players)})
        return other

    def __repr__(self) -> str:
        config = self.config
        return (
            f"VecGame({self.num_games} games, {config.height} x {config.width}, {config.num_players} players)"
        )

    # ---- recording --------------------------------------------------------------------------------

    @exclusive
    def attach(
        self, observer: GameObserver, recorded: npt.NDArray[np.bool_]
    ) -> tuple[StepResults, LaunchLog]:
        """Tell ``observer`` of everything from now on, and log the launches of the games ``recorded``.

        ``recorded``: bool (E,). Returns the arrays that steps leave; see territorial.replay.Recorder, which
        is what a user wants. Raises ValueError if there is an observer already.
        """
        if self._observer is not NO_OBSERVER:
            raise ValueError("this VecGame already has a recorder; close() that recorder first")
        self._calls.record(recorded)
        self._observer = observer
        return self.results, self._calls.launch_log

    @exclusive
    def detach(self) -> None:
        """Notify no observer any more, and log nothing."""
        self._observer = NO_OBSERVER
        self._calls.record(np.zeros(self.num_games, np.bool_))

    # ---- within -----------------------------------------------------------------------------------

    def need_reset(self) -> None:
        """Raise RuntimeError if no game has begun."""
        if not self.is_started:
            raise RuntimeError("there are no games yet; call reset() first")

    def _check_may_step(self, *, takes_actions: bool) -> None:
        """Raise an error before the first reset, and for actions where a game is between two decisions."""
        self.need_reset()
        if takes_actions:
            check_on_grid(self.blocks, self.config.decision_every)

    def _require_started(self, k: Any) -> int:
        """Return ``k``, a game that has begun."""
        self.need_reset()
        return checked_game(k, self.num_games)

    def _refresh(self, k: int) -> None:
        """Show game ``k``, which was changed between two steps, as it stands."""
        self._calls.has_current_owners, self._may_be_off_grid = False, True
        forget_launches(self._arrays.launched, k)
        if self.observes:
            self._calls.one_game(step.observe_game, k)

    def _ground(self, k: int) -> Ground:
        k = self._require_started(k)
        return self._maps.ground(int(view(self.blocks, "map_id")[k]), int(view(self.blocks, "seed")[k]))

    def _current_seeds(self) -> list[int]:
        return view(self.blocks, "seed").tolist()

    def _codes_of(self, seats: Sequence[Seat] | None, state: State | None = None) -> Ints:
        """Return the codes of ``seats``, giving new custom bots one; ``state``: of the games."""
        codes = self._players.codes_of(seats, state)
        if self._options.ends_without_agents and AGENT_CODE not in codes:
            raise ValueError('end_when is "no_agents" but no seat is called "agent"')
        self._may_have_agents |= bool((codes < FIRST_BOT_CODE).any())
        return codes


def compile_steps(config: GameConfig) -> None:
    """Compile all kernels that the first step of a batch of ``config`` needs, unless that has been done.

    For those who start processes and wait for their first steps no longer than the compiler takes.
    """
    game = VecGame(config.replace(map="open", num_maps=1), 2, observe=False, num_threads=2)
    game.reset()
    game.step(hold=True)
    game.close()


def new_copy(config: GameConfig, *, observe: bool = False) -> VecGame:
    """Return a batch of one game to put positions into, with all seats "external"."""
    seats = [EXTERNAL] * config.num_players
    copy = VecGame(config, 1, seats=seats, autoreset="disabled", observe=observe)
    copy.reset()
    return copy
