"""``match``: ranks players by many games; ``Ranking`` is its report, with plots."""

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from territorial import bots
from territorial.bots.program import OnFailure
from territorial.config import GameConfig
from territorial.config.validation import check_type
from territorial.engine.seats import LINEUPS
from territorial.evaluation.play import played
from territorial.evaluation.players import Entrants, Player, in_games, is_acting
from territorial.evaluation.plots import check_matplotlib, draw_shares, named, save_plots
from territorial.evaluation.record import GameRecord
from territorial.evaluation.schedule import MATCH, Contest, Draw
from territorial.evaluation.standings import PlaceArrays, Standings, spread
from territorial.evaluation.workers import Play, Processes
from territorial.observation.layout import ObsLayout
from territorial.typing import Array, Floats, Ints

MAPS = 16
"""Generated maps that a match is played on, unless its config says otherwise."""
DEFAULT_LINEUP = "mixed-2"
PLOTS = ("beats", "survival", "land")
"""The plots of a contest, by the names of their files."""


class RecordArrays(PlaceArrays):
    """Records as arrays: G games, P seats, N players in the order of their names."""

    def __init__(self, records: Sequence[GameRecord]) -> None:
        super().__init__(records)
        self.records = tuple(records)
        self.ticks = np.array(max(records, key=lambda record: record.length).ticks)
        """When land was looked at, in the longest game; in all others too, as long as they went on."""

    def survival(self, ticks: Ints) -> Floats:
        """Return (N, len(ticks)), the share of a player's seats that live after so many ticks."""
        died = np.array([record.died for record in self.records])
        last = np.where(died < 0, np.iinfo(np.int64).max, died)
        return np.stack([self._mean_by_player(last > tick) for tick in ticks], axis=1)

    def land(self, ticks: Ints) -> Floats:
        """Return (N, len(ticks)), the mean share of the land of a player's seats when last looked at before.

        Games that are over stand.
        """
        whole = np.array([record.num_land for record in self.records])[:, None]
        columns = []
        for tick in ticks:
            looks = [record.land[bisect_right(record.ticks, tick) - 1] for record in self.records]
            columns.append(self._mean_by_player(np.array(looks) / whole))
        return np.stack(columns, axis=1)

    def shape(self) -> dict[str, Any]:
        """Return the shape of the games: end of free land, survivors over time, lengths, stalls.

        Who lives at a tick is counted in the games that go on then, and only if half of all do: the few that
        last longer than others say nothing of the rest.
        """
        filled, alive = np.array([record.filled for record in self.records]), {}
        for tick in (1000, 2000, 4000):
            died = np.array([record.died for record in self.records if record.length > tick])
            if 2 * len(died) >= len(self.records):
                alive[str(tick)] = spread(((died < 0) | (died > tick)).sum(axis=1))
        return {
            "games": len(self.records),
            "neutral_gone": spread(filled[filled >= 0]) if (filled >= 0).any() else None,
            "alive": alive,
            "length": spread(np.array([record.length for record in self.records])),
            "stopped_by_time": float(np.mean([record.is_stopped for record in self.records])),
        }

    def _mean_by_player(self, values: Array) -> Floats:
        return self.by_player(values).sum(axis=0) / self.by_player().sum(axis=0)


class Ranking(Standings):
    """The players of a match, ranked by the games that have been played.

    Args:
        contest: which games there are.
        records: the games that have been played.

    All but ``contest``, ``records`` and ``is_complete`` raise ValueError if there are no games.

    """

    records: tuple[GameRecord, ...]

    def __init__(self, contest: Contest, records: Sequence[GameRecord]) -> None:
        super().__init__(records, is_complete=len(records) == contest.games)
        self.contest = contest

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values for JSON, as ``--json`` writes it."""
        arrays, contest, ratings = self._arrays, self.contest.schedule({}).to_dict(), self.ratings or {}
        standings = [
            {
                "player": line.player,
                "seats": line.seats,
                **{name: getattr(line, name)._asdict() for name in ("place", "wins", "fair")},
                "rating": ratings[line.player]._asdict() if line.player in ratings else None,
            }
            for line in self.standings
        ]
        return {
            "contest": contest | contest.pop("scenarios")[MATCH] | {"games": self.contest.games},
            "shape": arrays.shape(),
            **({"mixed_teams": arrays.mixed_teams()} if self.contest.config.has_allies else {}),
            "standings": standings,
            "failed": self.failed,
            "players": list(self.players),
            "beats": [[None if np.isnan(share) else float(share) for share in row] for row in self.beats],
            "ticks": arrays.ticks.tolist(),
            "survival": arrays.survival(arrays.ticks).tolist(),
            "land": arrays.land(arrays.ticks).tolist(),
        }

    def draw(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Draw plots into ``folder`` and return their paths; ImportError without the extra ``league``.

        They show who beats whom, how many seats live, and how much land they have.
        """
        return draw_charts(self._arrays, Path(folder))

    @cached_property
    def failed(self) -> dict[str, int]:
        """The seats of programs that failed in their games and held from then on, by player."""
        return dict(Counter(game.seats[seat - 1] for game in self.records for seat in game.failed))

    @cached_property
    def _arrays(self) -> RecordArrays:
        return RecordArrays(self.records)

    def _notes(self) -> list[str]:
        """Return the shape of the games, in lines."""
        shape, config = self._arrays.shape(), self.contest.config
        gone, length = shape["neutral_gone"], shape["length"]
        lines = []
        if config.has_allies:
            mixed = self._arrays.mixed_teams()
            whose = f"{100 * mixed:.0f} % of them of several players" if mixed else "each of one player"
            lines.append(f"{config.num_teams} teams, {whose}; places and wins are those of teams")
            if mixed:
                lines.append("in a mixed team a player has its part of what all members did")
        lines.append(
            f"{shape['games']:,} games; length {length['min']:,.0f} to {length['max']:,.0f} ticks, median "
            f"{length['median']:,.0f}; the time limit stops {100 * shape['stopped_by_time']:.0f} %"
        )
        if gone is not None:
            lines.append(f"neutral land is gone at tick {gone['median']:,.0f} in the median")
        if shape["alive"]:
            found = (f"{one['median']:g} at {int(tick):,}" for tick, one in shape["alive"].items())
            lines.append(f"players alive, in the median: {', '.join(found)}")
        for player, seats in self.failed.items():
            lines.append(f"{player} failed on {seats:,} seats, which held for the rest of their games")
        return lines


def match(
    seats: str | Sequence[Player] | None = None,
    config: GameConfig | None = None,
    games: int = 100,
    *,
    deal: bool = False,
    policies: Mapping[str, Player] | None = None,
    code: Mapping[str, str] | None = None,
    on_failure: OnFailure = "error",
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    play: Play | None = None,
    progress: bool = True,
) -> Ranking:
    """Return how players do in many games, at the same or at dealt seats; ``territorial match`` prints it.

    Game k has the seed ``seed`` + k. It comes out the same, bit by bit, wherever it is played and whatever is
    played beside it.

    Args:
        seats: who plays each seat, repeated if they are fewer than the seats. A player is a bot (name,
            ``module:Class`` or object), a name of ``policies``, or a policy that has a ``name``. Or the name
            of a line-up, of which players are taken evenly. In games of teams, up to one player a team: they
            get whole teams, repeated if they are fewer. A player for every seat, or a line-up, is for seats
            by their numbers, whatever the teams are; teams may be mixed then. Default None: the line-up
            "mixed-2", or with ``deal`` all bots of the library.
        config: rules, size and maps; default None: a ``GameConfig`` with 16 maps.
        games: how many games there are; 1 to 10,000,000, default 100.
        deal: True: every game draws who sits where from its seed. Every player, of any number of them, has as
            many seats as all others, or one more; in games of teams it is whole teams that are dealt. False:
            seats are the same in every game. Default False.
        policies: players by names of your choice, such as networks; see :func:`evaluate`. Default None: none.
        code: digests of what players are made of, by names of your choice. A file of games with others is
            refused. Default None: those of bots in Python and of policies alone.
        on_failure: what becomes of a seat whose program, named as ``program:FILE``, gives no answer. "error":
            the match is stopped. "hold": it holds for the rest of the game, and its record says so. See
            ``territorial.bots.Program``. Default "error".
        seed: seed of the first game; default 0.
        out: a file that keeps every game as a line of JSON. If it is there, only the games that it lacks are
            played; it must be of the same players, config and seed. Default None: no file.
        processes: number of processes that play; 1 plays in this process; 1 to 1024, default None: one per
            usable core.
        play: what says where games are played, such as ``rllib_adapters.cluster.OnRay()`` on a
            cluster; default None: ``processes`` of this machine.
        progress: True: a line on stderr says how many games have been played; default True.

    Ctrl-C (KeyboardInterrupt) ends it early: what has been played is kept and returned, with ``is_complete``
    False.

    Raises:
        ValueError: for players, games or a config that cannot be; as ResultsError, for a file of something
            else.
        BlockingIOError: if another process plays games into ``out``; the message says which.
        StoppedError: if a player fails while it plays; its ``result`` is the Ranking of the games before.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> ranking = territorial.match(["banker", "turtle"], config, 2, processes=1, progress=False)
        >>> [line.seats for line in ranking.standings]
        [4, 4]
        >>> names = ["banker", "turtle", "novice"]
        >>> ranking = territorial.match(names, config, 3, deal=True, processes=1, progress=False)
        >>> sum(line.seats for line in ranking.standings)
        12

    """
    config = GameConfig(num_maps=MAPS) if config is None else config
    check_type("config", config, GameConfig, "a territorial.GameConfig")
    if deal:
        draw: Draw = "balanced_teams" if config.has_allies else "balanced"
        seated: Sequence[Player] = (*bots.NAMES, *bots.LEARNED) if seats is None else _listed(seats)
    else:
        draw, seated = _seated(seats, config)
    entrants = Entrants(seated, policies, on_failure)
    digests = entrants.code | dict(code or {})
    contest = Contest(config=config, players=entrants.names, games=games, seed=seed, draw=draw, code=digests)
    acting = [player for player in map(in_games, entrants.players.values()) if is_acting(player)]
    layout = ObsLayout.of(config, max((policy.frames for policy in acting), default=0))
    for policy in acting:  # errors of one that cannot play these games are raised here
        policy.start(config, layout, contest.seed)
        policy.stop()
    schedule, chosen = contest.schedule(entrants.sent), play or Processes(processes)
    return played(schedule, partial(Ranking, contest), out, chosen, progress=progress)


def _seated(seats: str | Sequence[Player] | None, config: GameConfig) -> tuple[Draw, Sequence[Player]]:
    """Return a player for every seat or for every team; more than there are seats if more were named."""
    num_players = config.num_players
    chosen = DEFAULT_LINEUP if seats is None else seats
    players = _listed(chosen)
    if isinstance(chosen, str) and len(players) > num_players:
        return "fixed", [players[len(players) * i // num_players] for i in range(num_players)]
    if len(players) >= num_players:
        return "fixed", players
    if isinstance(chosen, str) or not config.has_allies:
        return "fixed", list(islice(cycle(players), num_players))
    if len(players) > config.num_teams:
        raise ValueError(
            f"seats has {len(players)} players; it must have at most one for each of the {config.num_teams} "
            f"teams, which gets all of its seats, or one for each of the {num_players} seats"
        )
    return "fixed_teams", list(islice(cycle(players), config.num_teams))


def _listed(seats: Any) -> list[Player]:
    if isinstance(seats, str) and seats in LINEUPS:
        return list(LINEUPS[seats].seats)
    if isinstance(seats, str) or not isinstance(seats, Iterable):
        raise TypeError(
            f"seats is {seats!r}; it must be a list of players or a line-up: {', '.join(LINEUPS)}"
        )
    if not (listed := list(seats)):
        raise ValueError("seats has no players; it must have at least one")
    return listed


# ---- plots -------------------------------------------------------------------------------------------------


def draw_charts(tally: RecordArrays, folder: Path) -> list[Path]:
    """Write all plots into ``folder``, which is made, and return their files.

    ``PLOTS`` names them. ImportError without the extra "league".
    """
    plt, names = check_matplotlib(), [line.player for line in tally.table()]
    index = [tally.players.index(name) for name in names]
    shares, title = tally.beats()[np.ix_(index, index)], "how often a seat of the row comes in before one "
    draws = (
        lambda: draw_shares(plt, shares, list(map(bots.short, names)), f"{title}of the column, per cent"),
        lambda: _curves(plt, tally, names, "seats alive, per cent", tally.survival),
        lambda: _curves(plt, tally, names, "land of a seat, per cent of the map", tally.land),
    )
    return save_plots(plt, dict(zip(PLOTS, draws, strict=True)), folder)


def _curves(
    plt: Any, tally: RecordArrays, order: Sequence[str], title: str, values: Callable[[Any], Floats]
) -> Any:
    """Return curves over ticks, one a player."""
    ticks = tally.ticks
    rows = dict(zip(tally.players, 100 * values(ticks), strict=True))
    figure, axes = plt.subplots(figsize=(10, 6), layout="constrained")
    styles = [(color, style) for style in ("-", "--", ":") for color in plt.colormaps["tab10"].colors]
    for name, (color, style) in zip(order, cycle(styles), strict=False):
        axes.plot(ticks, rows[name], color=color, linestyle=style, linewidth=1.4, label=bots.short(name))
    axes.set_xlim(0, ticks[-1])
    axes.set_ylim(bottom=0)
    return named(figure, axes, title, "tick")
