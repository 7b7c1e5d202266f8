"""Players of a league, names of its bots, and distributions of players over seats."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from territorial.config.validation import (
    check_type,
    checked_list,
    finite_number,
    raised_as,
    shown,
    true_or_false,
    whole_number,
)
from territorial.constants import MAX_PLAYERS, MIN_PLAYERS
from territorial.files.bounded import Bounds, check_fields, made_of, parse_object

GAME = "territorial"
"""The environment whose bots the engine plays; ``LeagueConfig.env`` is it unless given."""
_BOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
Kind = Literal["trainable", "bot", "snapshot"]
KINDS: tuple[str, ...] = get_args(Kind)
LARGEST_WEIGHT = 1e300  # any scale will do, as long as the sum is finite
BOUNDS = Bounds(nbytes=4 * 2**20, values=2**17)
"""Of a table as a text."""


def bots_of(env: str) -> Any:
    """Return what knows the bots of an environment: of this game a module of the engine's."""
    if env != GAME:
        return FreeNames
    from territorial.engine import league_bots  # leagues of other environments do without the engine

    return league_bots


class FreeNames:
    """Bots of an environment that is not this game: any names, whose objects leagues do not have."""

    @staticmethod
    def sorted_bots(bots: Any, custom: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the names of bots; ValueError for what is no name, or is given as an object."""
        if found := checked_list("python_bots", custom):
            raise ValueError(
                f"python_bots has {shown(found[0])}; it must be empty where env is not {GAME!r}. Name the "
                "bot in bots, and give its object to add_league"
            )
        names = tuple(dict.fromkeys(checked_list("bots", bots, str)))
        for i, name in enumerate(names):
            FreeNames.parsed(f"bots[{i}]", name)
        return names, ()

    @staticmethod
    def parsed(what: str, name: str) -> tuple[str, None]:
        """Return the name of a bot and no object; ValueError, which says that ``what`` has it, for none."""
        if not _BOT_NAME.fullmatch(name):
            raise ValueError(
                f"{what} is {shown(name)}; it must have 1 to 128 letters, digits, '-', '_' and '.'"
            )
        return name, None

    @staticmethod
    def by_text(bots: Sequence[Any], what: str) -> dict[str, Any]:
        """Return an empty dict: there are no objects."""
        return {}

    @staticmethod
    def full_name(name: str) -> str:
        """Return the name as it is."""
        return name

    short = written_name = full_name


class Player(NamedTuple):
    """The player of a seat, written ``kind:name``: ``trainable:main``, ``bot:banker``, ``snapshot:main-12``.

    A bot may be named by its file: ``bot:net:strong.safetensors``, ``bot:style:mine.json``.

    Args:
        kind: "trainable", "bot" or "snapshot".
        name: name of the learner, the bot or the snapshot.
        bot: the custom bot that plays the seat; default None: a bot of the library, or no bot.

    """

    kind: Kind
    name: str
    bot: Any = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str, env: str = GAME) -> Self:
        """Return the player that a text such as ``bot:banker`` names; ValueError if it names none.

        ``env``: whose bots there are, see ``LeagueConfig.env``.
        """
        check_type("a player", text, str, "a string such as 'bot:banker'")
        kind, _, name = text.partition(":")
        if kind not in KINDS or not name:
            raise ValueError(
                f"a player is {shown(text)}; it must be KIND:NAME, KIND one of {', '.join(KINDS)}, or "
                "style:FILE or net:FILE for the file of a bot"
            )
        if kind == "bot":
            return cls("bot", *bots_of(env).parsed("a player", name))
        return cls(kind, name)  # type: ignore[arg-type]  # it is one of KINDS

    @property
    def written(self) -> str:
        """The text that files have of it: with the whole path where its name has the end of a long one."""
        return str(self) if self.bot is None else f"bot:{bots_of(GAME).written_name(self.bot)}"


class LineUp(NamedTuple):
    """The players of a game.

    Args:
        players: in the order of seats.
        learns: whether each seat is learned from.

    """

    players: tuple[Player, ...]
    learns: tuple[bool, ...]


@dataclass(frozen=True)
class Group:
    """A number of seats with players drawn from the same weighted choice.

    Args:
        seats: how many; 1 to 250.
        players: a weight for every player, of any scale; 0 keeps one in the list that is not drawn.
            Players may be given as text, and custom bots as such or by their files: ``net:FILE``,
            ``style:FILE``.
        together: True: one draw for all seats of the group, so that one player has them all in a game;
            False: every seat draws by itself; default False.

    """

    seats: int
    players: Mapping[Any, float]
    together: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "seats", whole_number("seats", self.seats, 1, MAX_PLAYERS))
        object.__setattr__(self, "together", true_or_false("together", self.together))
        check_type("players", self.players, Mapping, "a weight by player")
        weights = {
            _player(player): finite_number(f"the weight of {player!s}", weight, 0, LARGEST_WEIGHT)
            for player, weight in self.players.items()
        }
        if not any(weights.values()):
            raise ValueError(f"players is {shown(self.players)}; at least one must have a weight above 0")
        object.__setattr__(self, "players", weights)


@dataclass(frozen=True)
class LineUpDistribution:
    """The seats of a game, in groups, and how the players of each are drawn.

    Args:
        groups: in the order of seats, which there are 2 to 250 of.
        shuffle: True: seats are assigned again at every draw. The seats are then random, with the same
            number of seats for every group; default False.
        learns: name of the one learner that is learned from; the seats of others act with their present
            weights. Default None: all seats of learners are learned from.

    It is plain data: ``to_dict`` and ``from_dict``, ``to_json`` and ``from_json``. Networks are written
    by their paths and digests, and read again from there. Other custom bots are written by their names, and
    reading takes the bots themselves. Errors name what is wrong, its value and what it must be.

    """

    groups: Sequence[Group]
    shuffle: bool = False
    learns: str | None = None

    def __post_init__(self) -> None:
        groups = checked_list("groups", self.groups, Group)
        object.__setattr__(self, "shuffle", true_or_false("shuffle", self.shuffle))
        object.__setattr__(self, "groups", groups)
        if not MIN_PLAYERS <= self.num_players <= MAX_PLAYERS:
            raise ValueError(
                f"the groups have {self.num_players} seats together; there must be "
                f"{MIN_PLAYERS} to {MAX_PLAYERS}"
            )
        if custom := [player.bot for group in groups for player in group.players if player.bot is not None]:
            bots_of(GAME).by_name(custom)
        if self.learns is not None and self.learns not in self.names("trainable"):
            raise ValueError(
                f"learns is {shown(self.learns)}; it must be None, or a learner that the table draws: "
                f"{', '.join(self.names('trainable')) or 'there is none'}"
            )

    @property
    def tables(self) -> tuple[Self]:
        """It alone, as a ``LineUpMixture`` has several."""
        return (self,)

    @property
    def num_players(self) -> int:
        """The seats of all groups together."""
        return sum(group.seats for group in self.groups)

    def names(self, kind: Kind) -> list[str]:
        """Return the names of all players of a kind that can be drawn, in alphabetical order."""
        drawn = (player for group in self.groups for player, weight in group.players.items() if weight)
        return sorted({player.name for player in drawn if player.kind == kind})

    def draw(self, rng: np.random.Generator) -> tuple[Player, ...]:
        """Return the players of the next game, in the order of seats.

        The same state of ``rng`` gives the same players; an environment that makes it from the seed of the
        game (``numpy.random.default_rng(seed)``) can play any game again. One number is drawn a seat, or for
        a group that is drawn together, and one more a seat where seats are shuffled.
        """
        players = [player for group in self.groups for player in _drawn(group, rng)]
        if self.shuffle:
            players = [players[i] for i in np.argsort(rng.random(len(players)), kind="stable")]
        return tuple(players)

    def learns_from(self, player: Player) -> bool:
        """Return whether the seats of a player are learned from."""
        return player.kind == "trainable" and self.learns in (None, player.name)

    def draw_game(self, rng: np.random.Generator) -> LineUp:
        """Return the players of the next game as ``draw`` does, and which seats are learned from."""
        players = self.draw(rng)
        return LineUp(players, tuple(map(self.learns_from, players)))

    def check_players(self, num_players: int) -> None:
        """Raise ValueError unless the table is for games of so many players."""
        if num_players != self.num_players:
            raise ValueError(
                f"num_players is {num_players}; the line-up distribution has {self.num_players} seats: "
                f"{' + '.join(str(group.seats) for group in self.groups)}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the table as values that JSON has."""
        groups = []
        for group in self.groups:
            players = {player.written: weight for player, weight in group.players.items()}
            groups.append({"seats": group.seats, "players": players, "together": group.together})
        return {"groups": groups, "shuffle": self.shuffle, "learns": self.learns}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], bots: Sequence[Any] = ()) -> Self:
        """Return the table of ``to_dict``. ValueError for unknown and missing fields.

        ``bots``: the custom ones that may be among the players, or texts that name their files. Networks
        that are not among them are read from the files that the table names.
        """
        check_fields("a line-up distribution", values, {"groups", "shuffle"}, {"learns"})
        found = bots_of(GAME).by_text(bots, "bots") if bots else {}
        known, groups = {f"bot:{text}": bot for text, bot in found.items()}, []
        for i, group in enumerate(checked_list("groups", values["groups"])):
            if isinstance(group, Mapping) and isinstance(players := group.get("players"), Mapping):
                group = {**group, "players": {known.get(one, one): players[one] for one in players}}
            groups.append(made_of(Group, f"groups[{i}]", group))
        return cls(groups, values["shuffle"], values.get("learns"))

    def to_json(self) -> str:
        """Return the table as a text that :meth:`from_json` reads."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, bots: Sequence[Any] = ()) -> Self:
        """Return the table that a text describes, see ``from_dict``; ValueError if it describes none."""
        with raised_as(ValueError, "", TypeError):
            return cls.from_dict(parse_object(text.encode(), BOUNDS), bots)


@dataclass(frozen=True)
class LineUpMixture:
    """Tables of which one is drawn for every game, each as likely as the others.

    Args:
        tables: one or more, for games of as many players.

    """

    tables: Sequence[LineUpDistribution]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", checked_list("tables", self.tables, LineUpDistribution))
        if not self.tables:
            raise ValueError("tables is empty; there must be at least one")
        for table in self.tables:
            table.check_players(self.num_players)

    @property
    def num_players(self) -> int:
        """The seats of a game."""
        return self.tables[0].num_players

    @property
    def groups(self) -> list[Group]:
        """The groups of all tables."""
        return [group for table in self.tables for group in table.groups]

    def names(self, kind: Kind) -> list[str]:
        """Return the names of all players of a kind that can be drawn, in alphabetical order."""
        return sorted({name for table in self.tables for name in table.names(kind)})

    def draw_game(self, rng: np.random.Generator) -> LineUp:
        """Return the players of the next game, and which seats are learned from."""
        return self.tables[int(rng.integers(len(self.tables)))].draw_game(rng)

    def check_players(self, num_players: int) -> None:
        """Raise ValueError unless the tables are for games of so many players."""
        self.tables[0].check_players(num_players)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as values that JSON has."""
        return {"tables": [table.to_dict() for table in self.tables]}


LineUps = LineUpDistribution | LineUpMixture
"""What draws the players of games."""


def line_ups_of(values: Mapping[str, Any], bots: Sequence[Any] = ()) -> LineUps:
    """Return the table, or the tables, of ``to_dict``; see ``LineUpDistribution.from_dict``."""
    if "tables" not in values:
        return LineUpDistribution.from_dict(values, bots)
    check_fields("a mixture of line-up distributions", values, {"tables"})
    tables = checked_list("tables", values["tables"], Mapping)
    return LineUpMixture([LineUpDistribution.from_dict(table, bots) for table in tables])


def _drawn(group: Group, rng: np.random.Generator) -> list[Player]:
    """Return a player for each seat of a group."""
    players = list(group.players)
    ends = np.cumsum(list(group.players.values()))
    # The largest number below 1 times the sum may round to the sum itself.
    last = max(i for i, weight in enumerate(group.players.values()) if weight)
    draws, seats = (1, group.seats) if group.together else (group.seats, 1)
    chosen = np.searchsorted(ends, rng.random(draws) * ends[-1], side="right")
    return [players[i] for i in np.minimum(chosen, last) for _ in range(seats)]


def _player(given: Any) -> Player:
    """Return the player that is given, as such, as a text or as a custom bot of this game."""
    if isinstance(given, Player):
        return given
    is_text = isinstance(given, str) and given.partition(":")[0] in KINDS
    custom = None if is_text else bots_of(GAME).taken(given)
    return Player.parse(given) if custom is None else Player("bot", *custom)
