"""Hosting: players of each game, the next game, and the server."""

import os
import secrets
import time
import webbrowser
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import count, cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

from territorial._log import elapsed
from territorial.bots import RESERVED_NAMES, PythonBot
from territorial.browser.commands import FASTEST, LEVELS, STEP, Wish, WishError, person_name
from territorial.browser.film import Show, show
from territorial.browser.mcp import ModelBot
from territorial.browser.panels import Look, advice_of, agent_view, chooser
from territorial.browser.play_server import PlayServer
from territorial.browser.playable import maps_of, playable
from territorial.browser.server import DEFAULT_PORT, Serving
from territorial.browser.session import Branch, Session, Table
from territorial.browser.web import page
from territorial.config import FIELDS, GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import ALL_MAPS
from territorial.config.validation import one_of, whole_number
from territorial.constants import LARGEST_SEED
from territorial.engine.seats import AGENT, DRIVEN, LINEUPS, CustomBot, Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import ActingPolicy, Player, in_games, is_acting
from territorial.evaluation.schedule import CHAMPION, DEFAULT_FIELD, USUAL_SEATS, dealt
from territorial.files import atomic
from territorial.replay import Recorder, Replay
from territorial.replay.file_format import MAGIC
from territorial.replay.recorded import SUFFIX, checked_names

DEFAULT_PACE = 20
DEFAULT_LEVEL = "easy"

Entrant = Player | type[PythonBot]
"""A player, or the class of a bot that can be made without arguments."""


class HostingError(ValueError):
    """There can be no such game.

    Args:
        field: the field of ``Hosting`` that is at fault; empty: the problem names a field of the config.
        problem: its value and what would be right; other fields stand in backticks.

    """

    def __init__(self, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{field}: {problem}" if field else problem)


@contextmanager
def _blamed_on(name: str, *kinds: type[Exception]) -> Iterator[None]:
    """Within the block, attribute errors of these kinds to a field."""
    try:
        yield
    except kinds as error:
        if isinstance(error, HostingError | MemoryError):
            raise
        raise HostingError(name, str(error)) from error


class Sitting(NamedTuple):
    """Players at a table.

    Args:
        seats: by seat who plays it; the person and policies that act on observations are "agent".
        names: by seat the name.
        policies: the policies that act on observations, by seat.
        advisor: who advises the person.

    """

    seats: list[Seat]
    names: tuple[str, ...]
    policies: dict[int, ActingPolicy]
    advisor: Player | None


@dataclass(frozen=True, kw_only=True)
class Hosting:
    """The first game that a person plays, and the settings that all later games share.

    The fields are the arguments of ``host``, which describes them.
    """

    config: GameConfig | Mapping[str, Any] = field(default_factory=dict)
    level: str | None = None
    opponents: Sequence[Entrant] = ()
    policies: Mapping[str, Entrant] = field(default_factory=dict)
    seats: str | Sequence[Seat] | None = None
    advisor: Entrant | None = None
    seat: int = 1
    name: str | None = None
    spectate: bool = False
    pace: int | Literal["step"] = DEFAULT_PACE
    seed: int | None = None
    save: str | Path | None = None
    before: Replay | None = None
    tick: int = 0

    def __post_init__(self) -> None:
        """Check the fields that do not depend on the number of players."""
        whole_number("seat", self.seat, 1, 250)
        whole_number("pace", 1 if self.pace == STEP else self.pace, 1, FASTEST)
        whole_number("seed", self.seed or 0, 0, LARGEST_SEED)
        one_of("level", self.level or DEFAULT_LEVEL, LEVELS)
        one_of("seats", self.seats if isinstance(self.seats, str) else DEFAULT_FIELD, LINEUPS)
        if isinstance(self.opponents, str):
            raise HostingError("opponents", f"{self.opponents!r}; it must be a list of players")
        if self.spectate and self.advisor is not None:
            problem = f"{self._label(self.advisor)!r} has no seat to advise, because `spectate` takes none"
            raise HostingError("advisor", f"{problem}; use only one of them")
        if len(self.models) > 1:
            raise HostingError("opponents", f"{len(self.models)} seats for the model; it must have one")
        if self.level is not None and self.usual_level is None:
            other = "seats" if self.seats is not None else "opponents"
            raise HostingError(
                "level", f"{self.level!r} selects the bots, as does `{other}`; use only one of the two"
            )

    # ---- which game --------------------------------------------------------------------------------

    def resolved(self) -> "Hosting":
        """Return the same with its seed and the file of its replay, which may be left open."""
        seed = secrets.randbelow(2**31) if self.seed is None else self.seed
        seed = seed if self.before is None else self.before.seed
        new = time.strftime(f"territorial-{seed}-%Y%m%d-%H%M%S{SUFFIX}")
        save = Path(atomic.new_name(new) if self.save is None else self.save)
        try:
            atomic.check_file(save)
            with open(save if save.is_file() else os.devnull, "rb") as file:
                start = file.read(len(MAGIC))
        except OSError as error:
            raise HostingError("save", f"{error.filename!r}: {error.strerror}") from None
        if start not in (b"", MAGIC):
            raise HostingError("save", f"{str(save)!r} is a file that is not a replay, and would be replaced")
        return replace(self, seed=seed, save=save)

    @cached_property
    def game_config(self) -> GameConfig:
        """The config of the game; at a level, its bots have a handicap, and the seed decides the map."""
        if self.before is not None:
            return self.before.config
        usual = {"map_seed": self.seed or 0} | ({} if self.usual_level is None else {"handicap": True})
        if isinstance(land := self._given.get("map"), LandMask):
            usual |= {"height": land.height, "width": land.width}
        with _blamed_on("", TypeError, ValueError):
            return GameConfig(**(usual | self._given))

    @property
    def usual_level(self) -> str | None:
        """The level that selects the bots; None if players besides a model are named instead."""
        names_bots = self.seats is not None or len(self.opponents) > len(self.models)
        return None if names_bots else self.level or DEFAULT_LEVEL

    @property
    def models(self) -> list[ModelBot]:
        """The model among the opponents, if there is one."""
        return [one for one in self.opponents if isinstance(one, ModelBot)]

    @property
    def _given(self) -> dict[str, Any]:
        """The fields of the config that are not left open."""
        if not isinstance(self.config, GameConfig):
            return dict(self.config)
        values, usual = ({name: getattr(one, name) for name in FIELDS} for one in (self.config, GameConfig()))
        return {name: value for name, value in values.items() if value != usual[name]}

    def wished(self, wish: Wish, saved: Container[Path] = ()) -> "Hosting":
        """Return the game that a player wishes, which has all else of this one.

        WishError for fewer players than there must be. ``saved``: the replays of the games before.
        """
        kept = self.opponents if wish.level is None else self.models
        least = max(self.seat, (not self.spectate) + len(kept))
        if wish.players < least:
            raise WishError(f"players is {wish.players}; the command line requires at least {least}")
        changed: dict[str, Any] = {"name": wish.name, "seed": wish.seed, "before": None}
        config = self._given | {"num_players": wish.players} | ({} if wish.map is None else {"map": wish.map})
        if wish.level is not None:
            changed |= {"level": wish.level, "seats": None, "opponents": kept}
        if self.save is not None and Path(self.save) in saved:
            changed["save"] = atomic.new_name(self.save)
        return replace(self, config=config, **changed).resolved()

    def going_on(self, branch: Branch) -> "Hosting":
        """Return a game that goes on from a moment of this one; WishError where policies play it.

        These may remember what they have seen.
        """
        if self.sitting.policies:
            raise WishError("a game with policies that act on observations cannot go on from a moment of it")
        return replace(
            self,
            before=branch.before,
            tick=branch.tick,
            seat=branch.seat,
            spectate=False,
            save=None if self.save is None else atomic.new_name(self.save),
        ).resolved()

    @property
    def card(self) -> dict[str, Any]:
        """The game as the start card has it; a level or map of no name is None."""
        config = self.game_config
        return {
            "level": self.usual_level,
            "players": config.num_players,
            "map": str(config.map) if str(config.map) in ALL_MAPS else None,
            "name": self._name,
            "seed": str(self.seed),
        }

    @property
    def choices(self) -> dict[str, Any]:
        """Choices of the start card, and the given values, which the page need not remember."""
        card, given = self.card, self._given
        is_given = {
            "level": self.level is not None or card["level"] is None,
            "players": "num_players" in given,
            "map": "map" in given,
            "name": self.name is not None,
            "seed": self.seed is not None,
        }
        return {
            "levels": list(LEVELS),
            "maps": list(ALL_MAPS),
            "given": {name: card[name] for name, is_so in is_given.items() if is_so},
        }

    def page(self) -> tuple[Show, dict[str, Any]]:
        """Return the film of the first game at its first tick, and what plays games without a server.

        HostingError for a game that a page cannot play.
        """
        if self.spectate or self.before is not None:
            field = "spectate" if self.spectate else "before"
            raise HostingError(field, "it must not be set, as in a page a person plays new games")
        first = self.resolved()
        table = first.table(count(1), {})
        if table.policies or any(isinstance(bot, PythonBot) for bot in table.players.values()):
            raise HostingError("opponents", "must be bots of rules and networks, as a page has no others")
        names = LEVELS if self.usual_level is not None else ("",)
        games = {level: replace(first, level=level or None) for level in names}
        with Recorder(table.game, names=table.names) as recorder:
            replay = recorder.replay()
        engine = playable(replay, table.players, {name: game.sitting.seats for name, game in games.items()})
        for name, game in games.items():
            engine["line_ups"][name] |= {"names": game.sitting.names, "title": game._title}
        with elapsed("territorial: drawing the maps of the page"):
            maps = maps_of(replay.config)
        card = first.card | self.choices | {"levels": [name for name in names if name], "maps": list(maps)}
        card["given"] |= {"players": card["players"]}  # those of all games of a page
        more = {"person": self.seat, "card": card, "maps": maps, "reserved": sorted(RESERVED_NAMES)}
        return show(replay, first._title), engine | more

    def table(self, numbers: Iterator[int], choices: Mapping[str, Any]) -> Table:
        """Return the game of a resolved ``Hosting`` at its first tick, which may have to compile.

        The next of ``numbers``, which count games, is in its title; ``choices`` are on its card.
        """
        if self.before is not None:
            return self._branch(self.before, numbers, choices)
        config, seed, sitting = self.game_config, self.seed or 0, self.sitting
        try:
            observers = [one for one in (*sitting.policies.values(), sitting.advisor) if is_acting(one)]
            frames = max((player.frames for player in observers), default=None)
            with _blamed_on("", ValueError):  # such as a map that has no room for all spawns
                game = begin(config, sitting.seats, seed, is_recorded=True, frames=frames)
            panels = {} if self.spectate else self._panels(game, self.seat)
            with _blamed_on("opponents", Exception):  # whatever a policy raises when it begins
                policies = {at: chooser(one, at, game, seed) for at, one in sitting.policies.items()}
        except MemoryError:
            size = f"{config.height} x {config.width} cells with {config.num_players} seats"
            raise HostingError("config", f"not enough memory for a game of {size}") from None
        title = self._title + (f", game {number}" if (number := next(numbers)) > 1 else "")
        save, card = Path(self.save or ""), self.card | dict(choices)
        bots = {one.name: one for one in sitting.seats if isinstance(one, CustomBot)}
        return Table(game, self._own_seat, sitting.names, save, title, policies, panels, card, players=bots)

    def _branch(self, before: Replay, numbers: Iterator[int], choices: Mapping[str, Any]) -> Table:
        """Return a game that goes on from ``before`` at ``tick``, in which the person takes over a seat.

        The champion goes on for other seats that were driven from outside.
        """
        given = [*self.opponents, *(() if isinstance(self.seats, str) else self.seats or ())]
        named = [self._player("opponents", one) for one in given]
        bots = {one.name: one for one in named if isinstance(one, CustomBot)}
        with _blamed_on("tick", ValueError):
            alive = before.seek(self.tick).state.alive[0]
            names = enumerate(before.players_at(self.tick), start=1)
            seats = {at: CHAMPION for at, name in names if name in DRIVEN and alive[at]}
            game = before.game(self.tick, seats={**seats, self.seat: AGENT}, players=bots)
        if game.state.over[0]:
            raise HostingError("tick", f"{self.tick}, when the recorded game is over; it must be earlier")
        shown = [seats.get(at, name) for at, name in enumerate(before.names, start=1)]
        shown[self.seat - 1] = self._name
        panels = self._panels(game, self.seat)
        title = f"{self._name} from tick {self.tick:,}, game {next(numbers)}"
        card = self.card | dict(choices)
        return Table(game, self.seat, shown, Path(self.save or ""), title, {}, panels, card, before, bots)

    @property
    def _title(self) -> str:
        """The title of the game, such as "You against 31 easy bots"."""
        level, others = self.usual_level, self.game_config.num_players - (not self.spectate)
        kind = f"{level} bot" if level and not self.models else "player"
        bots = f"{others} {kind}{'s' if others > 1 else ''}"
        if self.spectate:
            return bots
        return f"You and {bots}" if self.game_config.teams else f"You against {bots}"

    # ---- who plays ---------------------------------------------------------------------------------

    @cached_property
    def sitting(self) -> Sitting:
        """The person and the others: opponents next to the person, the line-up on all other seats.

        The bots of a level are dealt in turn to all seats after the person's. The champion advises the
        person, unless another was asked for.
        """
        players, level, own = self.game_config.num_players, self.usual_level, self._own_seat
        in_turn = (*range(self.seat, players + 1), *range(1, self.seat))
        free = [seat for seat in in_turn if seat != own]
        if len(self.opponents) > len(free):
            raise HostingError(
                "opponents", f"{len(self.opponents)} opponents; at most {len(free)} fit (`num_players`)"
            )
        line_up = LINEUPS[self.seats].seats if isinstance(self.seats, str) else self.seats or USUAL_SEATS
        with _blamed_on("seats", ValueError):
            seats = list(dealt(tuple(line_up), players))
        policies, named = dict[int, ActingPolicy](), {own: self._name}
        for seat, bot in zip(free, cycle(LEVELS[level]) if level else (), strict=False):
            seats[seat - 1] = bot
        if own:
            seats[own - 1] = AGENT
        advisor = None if self.spectate else self._player("advisor", self.advisor or CHAMPION)
        for seat, asked in zip(free, self.opponents, strict=False):
            opponent = self._player("opponents", asked)
            if isinstance(opponent, str | CustomBot):
                seats[seat - 1] = opponent
            else:
                seats[seat - 1], policies[seat] = AGENT, opponent
            if is_acting(opponent) or (isinstance(asked, str) and asked in self.policies):
                named[seat] = self._label(asked)
        names = [named.get(seat, name) for seat, name in enumerate(shown_names(seats), start=1)]
        with _blamed_on("opponents", ValueError):
            return Sitting(seats, checked_names("names", names, players), policies, advisor)

    @property
    def _own_seat(self) -> int:
        """The seat of the person; 0 for a spectator."""
        if self.seat > self.game_config.num_players:
            problem = f"{self.seat}; it must be from 1 to {self.game_config.num_players} (`num_players`)"
            raise HostingError("seat", problem)
        return 0 if self.spectate else self.seat

    @property
    def _name(self) -> str:
        """What the person is called."""
        with _blamed_on("name", ValueError):
            return "person" if self.name is None else person_name(self.name)

    def _player(self, name: str, asked: Entrant) -> Seat | ActingPolicy:
        """Return the player that the field ``name`` has: a policy, or a bot as seats take it."""
        player = self.policies.get(asked, asked) if isinstance(asked, str) else asked
        with _blamed_on(name, Exception):  # whatever its code raises when it is made
            found = in_games(player() if isinstance(player, type) else player)
        if not isinstance(found, str | CustomBot | ActingPolicy):
            raise HostingError(name, f"{asked!r}; it must be a bot or a policy that acts on observations")
        return found

    @staticmethod
    def _label(asked: Entrant) -> str:
        """Return the name of a player."""
        own = getattr(asked, "player_name", None) or getattr(asked, "name", None)
        return (
            asked if isinstance(asked, str) else str(own or getattr(asked, "__name__", type(asked).__name__))
        )

    def _panels(self, game: VecGame, seat: int) -> dict[str, Look]:
        """Return the panels of a seat's page, which are compiled on first use."""
        advisor, look = self.sitting.advisor or CHAMPION, cache(partial(agent_view, game, seat))
        with _blamed_on("advisor", Exception):  # whatever a policy raises when it begins
            advise = advice_of(advisor, game, seat, self.seed or 0)
            if is_acting(advisor):
                advise(game)  # which is refused now, not when the page first asks for it

        def advice(game: VecGame) -> dict[str, Any]:
            return {
                "name": self._label(self.advisor or CHAMPION),
                "options": [option._asdict() for option in advise(game)],
            }

        return {"advice": advice, "agent_view": lambda game: look()(game)}


def begin(
    config: GameConfig,
    seats: Sequence[Seat],
    seed: int,
    *,
    is_recorded: bool = False,
    frames: int | None = None,
) -> VecGame:
    """Return a game at its first tick, with everything compiled that playing, or recording, it needs.

    ``frames``: boards in an observation, for policies that act on it; None: none acts. ValueError for a game
    that there cannot be, such as one whose map has no room for all spawns.
    """
    observed: dict[str, Any] = {"observe": False} if frames is None else {"frames": frames}
    game = VecGame(config, num_games=1, seats=seats, autoreset="disabled", **observed)
    with elapsed("territorial: compiling the engine"):
        game.reset(seeds=[seed])
        game.step(hold=True)
        _ = game.state.owner
        if is_recorded:
            with Recorder(game) as recorder:
                game.reset(seeds=[seed])
                game.step(hold=True)
                recorder.replay()
            game.reset(seeds=[seed])
            game.play(0, (), until=0)  # what verifies the replay
        game.reset(seeds=[seed])
    return game


# ---- the server ------------------------------------------------------------------------------------


class Hosted(Serving):
    """Games that a person plays on a server of this process, until ``stop`` or the end of its block.

    Args:
        hosting: the first game.
        host: address to serve on.
        port: TCP port to serve on; 0 takes a free one.

    """

    def __init__(self, hosting: Hosting, host: str = "127.0.0.1", port: int = DEFAULT_PORT) -> None:
        if hosting.before is not None and (hosting.config or hosting.level or hosting.spectate):
            problem = "a recorded game; it has its own config and bots, and the person takes over a seat"
            raise HostingError("before", problem)
        present, numbers = hosting.resolved(), count(1)
        # What is wrong is said now, and not in the thread of the game.
        _ = present.sitting if present.before is None else present._branch(present.before, count(1), {})

        def make(wish: Wish | Branch | None) -> Table:
            nonlocal present
            if wish is None:
                return present.table(numbers, hosting.choices)
            try:
                if isinstance(wish, Branch):
                    asked = present.going_on(wish)
                else:
                    asked = hosting.wished(wish, session.replays)
                table = asked.table(numbers, hosting.choices)
                present = asked
                return table
            except HostingError as error:
                raise WishError(str(error).replace("num_players", "players").replace("`", "")) from None

        def play() -> None:
            session.run()
            self._end_answers()  # where it has not been stopped from outside
            if session.save_error is not None:
                raise session.save_error

        self.session = session = Session(
            make,
            pace=hosting.pace if isinstance(hosting.pace, int) else None,
            is_paused=not (hosting.spectate and hosting.models),  # nobody has to begin a game of a model
        )
        self.replays = session.replays
        """By file of a replay, up to which tick it has been written."""
        super().__init__(PlayServer(page(is_played=True), session, host, port), play, session.stop)


def host(
    config: GameConfig | Mapping[str, Any] | None = None,
    *,
    level: str | None = None,
    opponents: Sequence[Entrant] = (),
    policies: Mapping[str, Entrant] | None = None,
    seats: str | Sequence[Seat] | None = None,
    advisor: Entrant | None = None,
    seat: int = 1,
    name: str | None = None,
    spectate: bool = False,
    pace: int | Literal["step"] = DEFAULT_PACE,
    seed: int | None = None,
    save: str | Path | None = None,
    before: Replay | None = None,
    tick: int = 0,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    is_opened: bool = True,
) -> Hosted:
    """Serve games that a person plays in the browser, and return at once; ``territorial play`` is this call.

    Args:
        config: the game, or the fields of its config that are not left open. What has its default in a
            ``GameConfig`` is left open: the page can change it, and the map follows from the seed.
        level: the bots of one of ``LEVELS``; default "easy", unless ``seats`` or ``opponents`` are given.
        opponents: players next to the person: bots by name, as objects or classes, and policies that act on
            observations. Texts are as in ``territorial.match``, or names of ``policies``.
        policies: players by names of your choice.
        seats: bots of all other seats, or the name of a line-up, beside ``opponents``; default "mixed-1".
        advisor: the player whose moves the page can show; default "champion-1".
        seat: the seat of the person, 1 to P.
        name: what the person is called; default "person".
        spectate: the person takes no seat, and watches.
        pace: ticks a second, 1 to 1000, or "step": the game waits for each decision.
        seed: of the game, 0 to 2**64 - 1; default another one for each game.
        save: the file of the replay, which is always written; default "territorial-SEED-TIME.replay", here.
        before: a recorded game that the person plays from ``tick`` on. The recorded players go on in other
            seats, the champion in those that people had; ``opponents`` are then the bots among them that the
            library does not have. Default None: a new game is played.
        tick: a decision point of ``before``.
        host: address to serve on; "127.0.0.1" serves only this machine, "0.0.0.0" the whole network.
        port: TCP port to serve on; 0 takes a free one.
        is_opened: whether the page is opened in a browser.

    Returns:
        What is served: ``url``, ``session``, ``replays``, ``wait()`` and ``stop()``. As a context manager it
        is stopped at the end of the block.

    Raises:
        HostingError: a ValueError that names the field, for a game that there cannot be.
        OSError: if it cannot listen.

    Example:
        >>> from territorial.browser import host
        >>> game = {"height": 32, "width": 32, "num_players": 4}
        >>> hosted = host(game, opponents=["turtle"], port=0, is_opened=False)
        >>> hosted.url.startswith("http://127.0.0.1:"), hosted.replays
        (True, {})
        >>> hosted.stop()

    """
    hosted = Hosted(
        Hosting(
            config=config or {},
            level=level,
            opponents=opponents,
            policies=policies or {},
            seats=seats,
            advisor=advisor,
            seat=seat,
            name=name,
            spectate=spectate,
            pace=pace,
            seed=seed,
            save=save,
            before=before,
            tick=tick,
        ),
        host,
        port,
    )
    if is_opened:
        webbrowser.open(hosted.url)
    return hosted
