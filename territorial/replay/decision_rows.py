"""Decisions of recorded games as rows of arrays, for learning."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.config import GameConfig
from territorial.config.validation import checked_list, finite_number, is_whole_number, whole_number
from territorial.constants import MAX_CANDIDATES, NUM_CANDIDATES, NUM_FRACTIONS
from territorial.engine.pair_observations import PairObservations
from territorial.engine.seats import EXTERNAL
from territorial.engine.vec_game import VecGame
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.game.state import view
from territorial.observation.action_encoding import convert_share, target_of_owner
from territorial.observation.pair_columns import OF_PAIR
from territorial.replay.file_format import ReplayError
from territorial.replay.recorded import SUFFIX
from territorial.replay.replay import Repeat, Replay, check_end, check_single, ends_early, seated
from territorial.typing import Bools, Ints

NOT_SHOWN = -1
"""The action of a launch at an owner that is not among the candidates."""

Recorded = Replay | str | os.PathLike[str]


class Decisions(NamedTuple):
    """Decisions of recorded games: N rows, ordered by game, tick and seat.

    Args:
        own: int16 (N, 35): the observation "pairs" of the seat at that tick, its own columns, in 4096ths.
        pairs: int16 (N, C, 26): those of its candidates; 0 where there are less than C.
        action: int16 (N,): what it did, in the action format "pairs": 0 held; 1 + 10 c + f launched at
            candidate c with fraction number f; -1 launched at an owner that is not among the candidates.
        returns: float32 (N,): its rewards from here to its death or the end of the recording, discounted.
        place: float32 (N,): its final place, 1 the best; 0 if the game was left before its end.
        tick: int32 (N,): when it decided.
        seat: int16 (N,): who decided, 1..P.
        game: int32 (N,): the number of the game.
        expected_place: float32 (N,): the mean place of its seat in games that were played on from there; 0
            but in data sets with chances.
        chance: float32 (N,): the share of these games that its seat won.

    """

    own: npt.NDArray[np.int16]
    pairs: npt.NDArray[np.int16]
    action: npt.NDArray[np.int16]
    returns: npt.NDArray[np.float32]
    place: npt.NDArray[np.float32]
    tick: npt.NDArray[np.int32]
    seat: npt.NDArray[np.int16]
    game: npt.NDArray[np.int32]
    expected_place: npt.NDArray[np.float32]
    chance: npt.NDArray[np.float32]

    @property
    def action_mask(self) -> npt.NDArray[np.int8]:
        """New int8 (N, 1 + 10 C): 1 where an action was legal; to hold always is."""
        is_legal = self.pairs[:, :, OF_PAIR.legal] > 0
        mask = np.ones((len(is_legal), 1 + NUM_FRACTIONS * is_legal.shape[1]), np.int8)
        mask[:, 1:] = is_legal.repeat(NUM_FRACTIONS, axis=1)
        return mask


class RowOptions(NamedTuple):
    """Options that select rows and their columns; checked."""

    seats: tuple[int | str, ...] | None
    every: int | None
    num_candidates: int
    discount: float
    rewards: Mapping[str, float] | None

    @classmethod
    def checked(cls, seats: Any, every: Any, num_candidates: Any, discount: Any, rewards: Any) -> Self:
        """Return these options of :func:`decisions`; TypeError or ValueError for impossible ones."""
        return cls(
            seats=None if seats is None else _checked_seats(seats),
            every=None if every is None else whole_number("every", every, 1),
            num_candidates=whole_number("num_candidates", num_candidates, 1, MAX_CANDIDATES),
            discount=finite_number("discount", discount, 0, 1),
            rewards=None if rewards is None else dict(GameConfig(rewards=rewards).rewards),
        )


def decisions(
    recorded: Recorded | Iterable[Recorded],
    *,
    seats: Iterable[int | str] | None = None,
    every: int | None = None,
    num_candidates: int = NUM_CANDIDATES,
    discount: float = 1.0,
    rewards: Mapping[str, float] | None = None,
) -> Iterator[Decisions]:
    """Yield the decisions of recorded games, one game after the other, for cloning and offline learning.

    Each game is played again when it is asked for, so that one game at a time is in memory. The same
    recordings give the same rows on every machine. docs/datasets.md says what counts as a decision.

    Args:
        recorded: a replay, the file of one, a folder of such files, which are read in the order of their
            names, or any sequence of these. Games are numbered in this order, from 0 on.
        seats: whose decisions: seat numbers 1..P, and names of players as the replay has them, such as
            "banker" or "agent"; default None: those of all seats.
        every: ticks from one row of a seat to its next, a multiple of ``decision_every`` of the game;
            default None: there is a row where the seat decided.
        num_candidates: C, the rows of ``pairs``; 1 to 250, default 8.
        discount: discount factor per environment step; 0 to 1, default 1.
        rewards: the parts of rewards by name with their weights, as those of a config; default None: those
            of ``GameConfig()``. Replays do not have them.

    Raises:
        TypeError: for a value of a wrong type.
        ValueError: for a value out of range, and for seat numbers and ``every`` that a game does not have.
        ReplayError: for a file that is no replay, a game that plays out differently, and one in which a seat
            launched twice at a tick.
        OSError: for a file that cannot be read.

    Example:
        >>> import territorial
        >>> from territorial.replay import decisions
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> replays = []
        >>> with territorial.Recorder(game, lambda k, replay: replays.append(replay)):
        ...     _ = game.reset(seed=0)
        ...     for _ in range(30):
        ...         _ = game.step()
        >>> rows = next(decisions(replays, seats=["banker"]))
        >>> rows.own.shape[1], rows.pairs.shape[1:], rows.action_mask.shape[1]
        (35, (8, 26), 81)

    """
    asked = RowOptions.checked(seats, every, num_candidates, discount, rewards)
    return (decisions_of(replay, i, asked) for i, replay in enumerate(_replays(recorded)))


def decisions_of(replay: Replay, number: int, asked: RowOptions) -> Decisions:
    """Return the decisions of one replay, game ``number``."""
    check_fits(replay.config, asked)
    config = replay.config if asked.rewards is None else replay.config.replace(rewards=asked.rewards)
    played = _play(replay, config, _chosen(replay, asked.seats), asked)
    steps, seats, seen = played.steps, played.seats, played.seen
    every = config.decision_every
    return Decisions(
        own=seen.own,
        pairs=seen.pairs,
        action=_actions(replay, played),
        returns=_returns(played.rewards, asked.discount)[steps, seats - 1],
        place=played.places[seats - 1],
        tick=(steps * every).astype(np.int32),
        seat=seats.astype(np.int16),
        game=np.full(len(steps), number, np.int32),
        expected_place=np.zeros(len(steps), np.float32),
        chance=np.zeros(len(steps), np.float32),
    )


# ---- playing -----------------------------------------------------------------------------------------


class _ReplayedGame(NamedTuple):
    """Results of playing a game of S steps again, and its N rows."""

    steps: Ints  # int64 (N,) the step of each row
    seats: Ints  # int64 (N,) its seat
    seen: PairObservations
    rewards: npt.NDArray[np.float32]  # (S, P)
    places: npt.NDArray[np.float32]  # (P,)
    alive: Bools  # (S, P) who lived as each step began


def _play(replay: Replay, config: GameConfig, is_chosen: Bools, asked: RowOptions) -> _ReplayedGame:
    """Play a game to the end of its recording, and observe the chosen seats where they decide.

    ``config`` is the replay's, or one with other rewards. The launches are played by whole environment steps;
    the last one may end with the game.
    """
    check_single(replay)
    if replay.changes:
        raise ReplayError(
            f"seat {replay.changes[0].seat} got another player at tick {replay.changes[0].tick}; rows are "
            "made of replays in which each seat has one player"
        )
    game = seated(replay, config, [name if name in bots.NAMES else EXTERNAL for name in replay.seats])
    # From which tick on each seat decides next, and the ticks between two decisions: 0 for all but bots.
    wake = view(game.blocks, "wake")[0, 1:].copy()
    interval = view(game.blocks, "memory")[0, 1:, bots.INTERVAL].copy()
    game.change_seats(0, dict.fromkeys(range(1, config.num_players + 1), Repeat(replay)))
    players, every = config.num_players, config.decision_every
    # Views, always current: looking them up by name takes longer than a step.
    tick, over, lives = (view(game.blocks, name) for name in ("tick", "over", "alive"))
    rows, alive, rewards = list[tuple[Ints, Ints]](), list[Bools](), list[npt.NDArray[np.float32]]()
    seen = [_observe(game, np.zeros(0, np.int64), asked)]
    while (now := int(tick[0])) + (1 if replay.is_over else every) <= replay.num_ticks:
        if over[0]:
            raise ends_early(game, replay)
        is_awake: Bools = wake <= now
        wake = np.where(is_awake, np.maximum(wake + interval, now + 1), wake)
        decides = is_awake if asked.every is None else now % asked.every == 0
        alive.append(lives[0, 1:] != 0)
        seats = np.flatnonzero(decides & is_chosen & alive[-1]) + 1
        if len(seats):
            rows.append((np.full(len(seats), len(rewards)), seats))
            seen.append(_observe(game, seats, asked))
        rewards.append(game.step_unchecked().rewards[0].copy())
    check_end(game, replay)
    places = game.results.final_place[0] if over[0] else np.zeros(players, np.float32)
    steps, of_seats = np.concatenate([np.zeros((2, 0), np.int64), *map(np.array, rows)], axis=1)
    return _ReplayedGame(
        steps=steps,
        seats=of_seats,
        seen=PairObservations(*map(np.concatenate, zip(*seen, strict=True))),
        rewards=np.array(rewards, np.float32).reshape(-1, players),
        places=places.copy(),
        alive=np.array(alive, np.bool_).reshape(-1, players),
    )


def _observe(game: VecGame, seats: Ints, asked: RowOptions) -> PairObservations:
    return game.pairs(np.zeros(len(seats), np.int64), seats, asked.num_candidates, "int16")


# ---- what was done, and what came of it --------------------------------------------------------------


def _actions(replay: Replay, played: _ReplayedGame) -> npt.NDArray[np.int16]:
    """Return the action of each row: the first launch of its seat before the seat's next row."""
    actions = np.zeros(len(played.steps), np.int16)
    launches = replay.launches.astype(np.int64)
    steps = launches[:, LAUNCH_TICK] // replay.config.decision_every
    launches, steps = launches[steps < len(played.alive)], steps[steps < len(played.alive)]
    launches = launches[played.alive[steps, launches[:, LAUNCH_SEAT] - 1]]  # others are no decisions
    rows, launches = _first_launches(launches, replay.config.decision_every, played)
    seats, players = launches[:, LAUNCH_SEAT], replay.config.num_players
    targets = target_of_owner(launches[:, LAUNCH_TARGET], seats, players)
    is_it = played.seen.targets[rows] == targets[:, None]
    nearest = convert_share(launches[:, LAUNCH_FRACTION], "1024ths", "index")
    taken = 1 + NUM_FRACTIONS * is_it.argmax(axis=1) + nearest
    actions[rows] = np.where(is_it.any(axis=1), taken, NOT_SHOWN)
    return actions


def _first_launches(launches: Ints, every: int, played: _ReplayedGame) -> tuple[Ints, Ints]:
    """Return rows in which their seat launched, (N,), and the first launch of each, (N, 4)."""
    length = len(played.rewards) + 1
    keys = played.seats * length + played.steps
    order = np.argsort(keys)
    wanted = launches[:, LAUNCH_SEAT] * length + launches[:, LAUNCH_TICK] // every
    places = np.searchsorted(keys[order], wanted, side="right") - 1
    rows = np.append(order, 0)[places]  # nothing is at place -1 but what the next line leaves out
    is_of_row = places >= 0
    is_of_row[is_of_row] = played.seats[rows[is_of_row]] == launches[is_of_row, LAUNCH_SEAT]
    rows, launches = rows[is_of_row], launches[is_of_row]
    found, first = np.unique(rows, return_index=True)  # launches are in the order of ticks
    return found, launches[first]


def _returns(rewards: npt.NDArray[np.float32], discount: float) -> npt.NDArray[np.float32]:
    """Return float32 (S, P): the rewards of each step and of all that follow, discounted by step."""
    returns = np.zeros(rewards.shape, np.float32)
    total = np.zeros(rewards.shape[1])
    for step in range(len(rewards) - 1, -1, -1):
        total = rewards[step] + discount * total
        returns[step] = total
    return returns


# ---- what is asked for -------------------------------------------------------------------------------


def _replays(recorded: Recorded | Iterable[Recorded]) -> Iterator[Replay]:
    """Yield the replays of ``recorded``, one at a time."""
    if isinstance(recorded, Replay):
        yield recorded
    elif isinstance(recorded, (str, os.PathLike)):
        path = Path(recorded)
        yield from map(Replay.load, sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path])
    else:
        for one in recorded:
            yield from _replays(one)


def _chosen(replay: Replay, seats: tuple[int | str, ...] | None) -> Bools:
    """Return bool (P,): the seats with requested decisions."""
    if seats is None:
        return np.ones(len(replay.seats), np.bool_)
    named = zip(replay.seats, replay.names, strict=True)
    wanted = {bots.full_name(one) if isinstance(one, str) else one for one in seats} | set(seats)
    return np.array([not wanted.isdisjoint((p, *both)) for p, both in enumerate(named, start=1)], np.bool_)


def check_fits(config: GameConfig, asked: RowOptions) -> None:
    """Raise ValueError for options that a game of ``config`` cannot satisfy."""
    for seat in asked.seats or ():
        if isinstance(seat, int) and seat > config.num_players:
            raise ValueError(f"seats has {seat}; the game has the seats 1 to {config.num_players}")
    if asked.every is not None and asked.every % config.decision_every:
        raise ValueError(
            f"every is {asked.every}; it must be a multiple of {config.decision_every}, decision_every of "
            "the game"
        )


def _checked_seats(seats: Any) -> tuple[int | str, ...]:
    checked = checked_list("seats", seats)
    for seat in checked:
        if not isinstance(seat, str) and not is_whole_number(seat, 1, 250):
            raise ValueError(f"seats has {seat!r}; it must have seat numbers from 1 on, and names")
    return tuple(seat if isinstance(seat, str) else int(seat) for seat in checked)
