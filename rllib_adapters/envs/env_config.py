"""``EnvConfig``: the checked ``env_config`` of an environment, and agent names."""

from __future__ import annotations

import dataclasses
import os
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from territorial.bots.bot_files import written_name
from territorial.config import GameConfig
from territorial.config.fields import about, check_values, documents_fields, like, option
from territorial.config.validation import check_keywords, check_type, hint, one_of
from territorial.engine.pair_observations import ShownRows, rows_shown
from territorial.engine.seats import AGENT, CustomBot, Seat, check_seats, with_bots_of_files
from territorial.envs.forms import FORMS, Form, PackedBoards, Pairs
from territorial.envs.options import OPTIONS, EnvOptions
from territorial.evaluation.players import named_bot
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.league.seating import LineUps, line_ups_of
from territorial.observation.action_formats import OF_CANDIDATES
from territorial.observation.layout import ObsLayout

NAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "-_")
"""What the name of one who learns is made of: RLlib writes modules into folders of their names."""

PACKED, BOTH = PackedBoards.name, "both"
UNIONS = {BOTH: (PACKED, Pairs.name)}
"""Of frozen seats alone: the forms that are seen at once, where snapshots of any of them act."""
RULES, ROWS, SIZES = (
    ("config.",),
    ("num_candidates", "num_allies"),
    ("height", "width", "num_players", "frames"),
)
"""What begins the names of ``EnvConfig.built_for``."""
GAMES = "games"
"""The part of an algorithm's state that has the ``env_config`` of the games it plays."""
NOT_PLAIN = ("config", "league", "seats", "bots", "store")
"""Entries of an ``env_config`` that are objects; all others are values that JSON has."""


@documents_fields
@dataclass(frozen=True, kw_only=True)
class EnvConfig:
    """The checked entries of an ``env_config``."""

    config: GameConfig = field(
        default_factory=GameConfig,
        metadata=about("a ``territorial.GameConfig``: rules, size, map; or its fields in a dict"),
    )
    league: LineUps | None = option(
        None,
        "a ``territorial.league.LineUpDistribution``, a ``LineUpMixture`` of several, or its dict; each "
        "``trainable`` there learns",
        none="``seats`` say who plays",
    )
    seats: Sequence[Seat] | None = option(
        None,
        'instead of a league, one entry per seat: "agent" or a bot, such as ``net:FILE`` or ``style:FILE`` '
        "for one in a file",
        none="all agents",
    )
    bots: Sequence[CustomBot] = option(
        (),
        "custom bots (``territorial.bots.PythonBot``, ``Style``, ``Network``) that ``seats`` and the dict of "
        "a league may name; or texts: ``module:Class`` for a class that can be made without arguments, "
        "``style:FILE`` for a style, ``net:FILE`` for a network",
    )
    frames: int = like(OPTIONS["frames"], 4)
    end_when: str = option(
        "game",
        '"game": the episode goes on while an agent or a frozen seat lives; "no_agents": it ends with the '
        'last learning agent. ``configure`` sets "no_agents"',
        choices=("no_agents", "game"),
    )
    max_cycles: int | None = option(
        None,
        'decisions after which all who are left are truncated, by ``truncateds["__all__"]``',
        1,
        2**31 - 1,
        none="never",
    )
    obs: str | Mapping[str, str] = option(
        PACKED,
        "form of observations, one of ``territorial.envs.forms.FORMS``; or a dict of forms by the name of a "
        'learner, such as ``{"main": "pairs", "rival": "packed"}``. "packed" and "pairs" have modules here',
    )
    frozen_obs: str | None = option(
        None,
        'form of frozen seats: one of those, or "both" where there may be snapshots on "packed" and "pairs"',
        none='that of the learners, "both" if they differ',
    )
    action_format: str | None = option(
        None,
        'any format of ``territorial.TerritorialEnv``, but those on "packed", and frozen seats with "both", '
        'have "multi_discrete"',
        none='on "pairs" it is "pairs", else "multi_discrete"',
    )
    num_candidates: int | None = like(OPTIONS["num_candidates"], None)
    num_allies: int | None = like(OPTIONS["num_allies"], None)
    repeat: int = like(OPTIONS["repeat"], 1)
    store: SnapshotStore | None = option(
        None,
        "a ``territorial.league.SnapshotStore``, or its folder: the engine plays those of its snapshots that "
        'were exported when they were frozen, unless ``end_when`` is "game". ``configure`` sets it',
        none="the pool plays all snapshots",
    )

    def __post_init__(self) -> None:
        self._read()
        check_type("config", self.config, GameConfig, "a territorial.GameConfig, or its fields")
        check_seats(self.seats, self.config.num_players)
        if self.seats is not None and AGENT not in self.seats:
            raise ValueError(f"no seat is called {AGENT!r}; an environment needs at least one")
        if self.league is not None:
            _check_league(self.league, self.config.num_players, self.seats)
        check_values(self)
        self._check_forms()
        if self.store is not None:
            check_type(
                "store", self.store, SnapshotStore, "a territorial.league.SnapshotStore, or its folder"
            )

    def _read(self) -> None:
        """Make objects of what was given as plain data."""
        own = tuple(_bot(given) for given in self.bots)
        object.__setattr__(self, "bots", own)
        if isinstance(self.obs, Mapping):
            object.__setattr__(self, "obs", dict(self.obs))
        if isinstance(self.config, Mapping):
            object.__setattr__(self, "config", GameConfig(**self.config))
        if isinstance(self.league, Mapping):
            object.__setattr__(self, "league", line_ups_of(self.league, own))
        if isinstance(self.store, (str, os.PathLike)):
            object.__setattr__(self, "store", SnapshotStore(self.store))
        if isinstance(self.seats, Sequence) and not isinstance(self.seats, str):
            by_name = {text: bot for bot in own for text in (bot.name, written_name(bot))}
            seats = [by_name.get(seat, seat) if isinstance(seat, str) else seat for seat in self.seats]
            object.__setattr__(self, "seats", with_bots_of_files(seats))

    def _check_forms(self) -> None:
        """Raise ValueError for forms of observations that cannot be, or actions that do not fit them."""
        if isinstance(self.obs, Mapping):
            _check_learners(self.obs, learners_of(self.table))
            given = {f"obs[{name!r}]": form for name, form in self.obs.items()}
        else:
            given = {"obs": self.obs}
        for name, form in given.items():
            one_of(name, form, FORMS)
            if FORMS[form].shared not in ((), PackedBoards.shared):
                raise ValueError(f"{name} is {form!r}; RLlib's agents share arrays of {PACKED!r} alone")
        if self.frozen_obs is not None:
            one_of("frozen_obs", self.frozen_obs, (*FORMS, *UNIONS))
        fit = {name: None for form in self.forms for name in parts_of(form)[0].action_formats}
        if self.action_format not in (None, *fit):
            raise ValueError(
                f"action_format is {self.action_format!r} and obs is {self.obs!r}; it must be one of "
                f"{', '.join(fit)}, or None"
            )
        for name in ROWS:
            if getattr(self, name) is not None and not any(map(self._shows_candidates, self.forms)):
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} and obs is {self.obs!r}; this option works only with "
                    "obs = 'pairs' or an action_format of pairs"
                )
        for form in self.forms:
            self.options_of(form)

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as values that JSON has; of custom bots, networks alone say where they are.

        Where snapshots are is left out: ``configure`` takes it by itself.
        """
        entries: dict[str, Any] = {"config": self.config.to_dict()}
        if self.league is not None:
            entries["league"] = self.league.to_dict()
        if self.seats is not None:
            entries["seats"] = [
                written_name(seat) if isinstance(seat, CustomBot) else seat for seat in self.seats
            ]
        others = [spec.name for spec in dataclasses.fields(self) if spec.name not in NOT_PLAIN]
        return {**entries, **{name: getattr(self, name) for name in others}}

    @classmethod
    def from_config(cls, env_config: Mapping[str, Any] | EnvConfig | None) -> EnvConfig:
        """Return the options in ``env_config``; TypeError names an entry that does not exist."""
        if isinstance(env_config, EnvConfig):
            return env_config
        entries, known = dict(env_config or {}), [spec.name for spec in dataclasses.fields(cls)]
        of_config = {
            **{spec.name: spec.name for spec in dataclasses.fields(GameConfig)},
            "reward_fn": "rewards",
        }
        for name in sorted(entries.keys() & of_config.keys() - set(known)):
            raise TypeError(
                f"EnvConfig() got an unexpected keyword argument {name!r}; RLlib's games have "
                f"{of_config[name]!r} as a field of their config: {{'config': {{{of_config[name]!r}: ...}}}}"
            )
        check_keywords("EnvConfig", entries, known)
        return cls(**entries)

    @property
    def table(self) -> LineUps:
        """Who plays which seat: ``league``, or ``seats`` as a table that leaves nothing to chance."""
        if self.league is not None:
            return self.league
        seats = (AGENT,) * self.config.num_players if self.seats is None else self.seats
        return LineUpDistribution([Group(1, {_player(seat): 1}) for seat in seats])

    def form_of(self, module: str) -> str:
        """Return the form of observations of a learner, or of the pool."""
        if module == POOL:
            return self.frozen_form
        return self.obs if isinstance(self.obs, str) else self.obs[module]

    @property
    def frozen_form(self) -> str:
        """The form of frozen seats, ``BOTH`` where learners differ."""
        found = {self.form_of(name) for name in learners_of(self.table)}
        return self.frozen_obs or (found.pop() if len(found) == 1 else BOTH)

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of all agents that there may be, each once."""
        table = self.table
        found = {self.form_of(name) for name in learners_of(table)}
        if draws_snapshots(table):
            found.add(self.frozen_form)
        return tuple(form for form in (*FORMS, *UNIONS) if form in found)

    @property
    def parts(self) -> list[type[Form]]:
        """The forms of all agents, those of unions one by one."""
        return [part for form in self.forms for part in parts_of(form)]

    @property
    def shares_frames(self) -> bool:
        """Whether agents may share boards and tables."""
        return any(part.shared for part in self.parts)

    @property
    def looks(self) -> bool:
        """Whether an agent may see what the engine observes."""
        return not all(part.reads_games for part in self.parts)

    @property
    def observes(self) -> bool:
        """Whether the engine has to observe the games: for agents, or for their masks of all owners."""
        return self.looks or not all(map(self._names_candidates, self.forms))

    def action_format_of(self, form: str) -> str:
        """Return the format of actions of agents of a form; of a union, that of its first one."""
        fit = parts_of(form)[0].action_formats
        return self.action_format if self.action_format in fit else fit[0]

    def _names_candidates(self, form: str) -> bool:
        return self.action_format_of(form) in OF_CANDIDATES

    def _shows_candidates(self, form: str) -> bool:
        return self._names_candidates(form) or any(ROWS[0] in part.options for part in parts_of(form))

    @property
    def pair_rows(self) -> ShownRows:
        """The rows of the form "pairs", which are what actions of that name can name."""
        return rows_shown(self.config, self.num_candidates, self.num_allies)

    def options_of(self, form: str) -> EnvOptions:
        """Return how agents of a form see and act, as options of all environments; ValueError if they cannot.

        Of a union, they are those of its first form.
        """
        first = parts_of(form)[0].name
        rows = {name: getattr(self, name) for name in ROWS} if self._shows_candidates(first) else {}
        return EnvOptions(
            obs=first,
            frames=self.frames,
            action_format=self.action_format_of(form),
            repeat=self.repeat,
            **rows,
        )

    @property
    def built_for(self) -> dict[str, Any]:
        """What the modules and the connectors of an algorithm are made for, by names for errors."""
        table, layout = self.table, self.layout
        chosen = [form for form in self.forms if len(parts_of(form)[0].action_formats) > 1]
        rows = self.pair_rows if any(map(self._shows_candidates, self.forms)) else ()
        return {
            **{f"obs of trainable:{name}": self.form_of(name) for name in learners_of(table)},
            **({"frozen_obs of snapshots in the league": self.frozen_form} if draws_snapshots(table) else {}),
            **({"action_format": self.action_format_of(chosen[0])} if chosen else {}),
            **dict(zip(ROWS, rows, strict=False)),
            **({name: getattr(layout, name) for name in SIZES} if self.looks else {}),
            "teams": layout.teams,
            **{f"{RULES[0]}{name}": value for name, value in self.config.to_dict().items()},
        }

    @property
    def interval(self) -> int:
        """Ticks from one decision of an agent to its next."""
        return self.config.decision_every * self.repeat

    @property
    def layout(self) -> ObsLayout:
        """The sizes of the observations."""
        return ObsLayout.of(self.config, self.frames)


def parts_of(form: str) -> list[type[Form]]:
    """Return the forms that agents of ``form`` see: those of a union, or it alone."""
    return [FORMS[name] for name in UNIONS.get(form, (form,))]


def shipped_entries(entries: Mapping[str, Any], options: EnvConfig) -> dict[str, Any]:
    """Return entries of today's names with the bots themselves instead of files; ``options`` are theirs.

    Processes elsewhere then look for networks by their whole paths, and these have to be the very same.
    """
    given = (name for name in ("league", "seats") if entries.get(name) is not None)
    return {**entries, **{name: getattr(options, name) for name in given}}


def changed_entries(present: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``env_config`` ``present`` with ``changes``, checked; ``changes`` say who plays."""
    wanted = {**present, **changes}
    for name, other in (("seats", "league"), ("league", "seats")):
        if changes.get(name) is not None and other not in changes:
            wanted.pop(other, None)
    return shipped_entries(wanted, EnvConfig.from_config(wanted))


def _bot(given: Any) -> CustomBot:
    """Return a custom bot, made if its class or its file is named."""
    bot = named_bot(given) if isinstance(given, str) else given
    if not isinstance(bot, CustomBot):
        raise TypeError(
            f"bots has the entry {given!r}; it must be a territorial.bots.PythonBot or 'module:Class', a "
            "territorial.bots.Style or 'style:FILE', or a territorial.bots.Network or 'net:FILE'"
        )
    return bot


def _player(seat: Seat) -> Any:
    """Return who plays a seat, as a table has it."""
    if isinstance(seat, CustomBot):
        return seat
    return f"trainable:{MAIN}" if seat == AGENT else f"bot:{seat}"


def _check_learners(obs: Mapping[str, str], learners: Sequence[str]) -> None:
    """Raise ValueError unless ``obs`` has an entry for each learner and no other."""
    wrong = [name for name in obs if name not in learners]
    missing = [name for name in learners if name not in obs]
    if wrong or missing:
        what = f"the entry {wrong[0]!r}{hint(wrong[0], learners)}" if wrong else f"no entry {missing[0]!r}"
        raise ValueError(
            f"obs has {what}; it must be a form for all learners of the league, or a dict with one for each "
            f"of {', '.join(learners)}. Add a learner of a later table to the league with weight 0"
        )


def _check_league(league: Any, num_players: int, seats: Any) -> None:
    check_type("league", league, LineUps, "a territorial.league.LineUpDistribution or LineUpMixture")
    if seats is not None:
        raise ValueError("seats and league both define the players; set only one of them")
    league.check_players(num_players)
    for name in sorted(learners_of(league)):
        if name == POOL or not set(name) <= NAME_CHARACTERS:
            raise ValueError(
                f"the league has trainable:{name}; its name must have letters, digits, - and _ "
                f"only, and not be {POOL!r}"
            )
    for table in league.tables:
        drawn = [[who for who, weight in group.players.items() if weight] for group in table.groups]
        if not any(all(map(table.learns_from, players)) for players in drawn):
            raise ValueError(
                f"no group of the league has only players that are learned from, such as trainable:{MAIN}; "
                "one group must, so that every game has an agent that learns"
            )


def learners_of(league: LineUps) -> list[str]:
    """Return the names of all who learn, those with the weight 0 as well, in the order of the table."""
    players = [player for group in league.groups for player in group.players if player.kind == "trainable"]
    return list(dict.fromkeys(player.name for player in players))


def draws_snapshots(league: LineUps) -> bool:
    """Return whether a seat may get a snapshot."""
    return bool(league.names("snapshot"))


def most_seats_of_a_learner(league: LineUps) -> int:
    """Return the seats of a game that one learner may learn from at most."""
    seats = Counter[tuple[int, str]]()  # by table and learner
    for i, table in enumerate(league.tables):
        for group in table.groups:
            learned = (who for who, weight in group.players.items() if weight and table.learns_from(who))
            seats.update(dict.fromkeys(((i, who.name) for who in learned), group.seats))
    return max(seats.values(), default=0)


# ---- names -----------------------------------------------------------------------------------------------


MAIN, POOL = "main", "pool"
"""The modules: the one that learns by default, and the one that plays all frozen seats."""

AGENT_PREFIX, FROZEN_PREFIX = "player_", "frozen_"


def learner_name(player: str, i: int) -> str:
    """Return the agent that plays seat ``i``, 0.., for ``trainable:PLAYER``.

    It is ``player_i`` for "main", and ``PLAYER:player_i`` for all others.
    """
    return f"{AGENT_PREFIX}{i}" if player == MAIN else f"{player}:{AGENT_PREFIX}{i}"


def frozen_name(i: int) -> str:
    """Return the agent that plays seat ``i``, 0.., for whatever snapshot is drawn."""
    return f"{FROZEN_PREFIX}{i}"


def agents_of(league: LineUps) -> dict[str, int]:
    """Return the seats, 1..P, of all agents that there may be.

    Those that learn come first, one learner after the other, ``main`` before all others.
    """
    names = sorted(learners_of(league), key=lambda name: (name != MAIN, name))
    seats = range(league.num_players)
    agents = {learner_name(name, i): i + 1 for name in names for i in seats}
    return agents | ({frozen_name(i): i + 1 for i in seats} if draws_snapshots(league) else {})


def module_of(agent_id: str, episode: Any = None, **_: Any) -> str:
    """Return which module acts for an agent; this is RLlib's mapping function."""
    player, _colon, seat = agent_id.rpartition(":")
    return player or (POOL if seat.startswith(FROZEN_PREFIX) else MAIN)
