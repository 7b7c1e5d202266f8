"""``GameConfig``: the validated, immutable rules, size and map of a game."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

import numpy as np
import numpy.typing as npt

from territorial.config.fields import check_values, documents_fields, option
from territorial.config.land_mask import LandMask, check_is_mask
from territorial.config.map_mix import MapMix, checked_map, entries_of, text_of
from territorial.config.map_names import KINDS, check_symmetry
from territorial.config.rewards import DEFAULT, NAMES, TEAM_NAMES, Weights, checked_rewards
from territorial.config.teams import (
    DEALS,
    FEWEST,
    RANDOM,
    SPAWNS,
    TOGETHER,
    Teams,
    checked_teams,
    dealt_teams,
    drawn_teams,
)
from territorial.config.validation import (
    check_keywords,
    shown,
    suggests_keywords,
    whole_number,
    whole_numbers,
)
from territorial.constants import (
    LARGEST_SEED,
    MAX_PLAYERS,
    MAX_SIDE,
    MIN_PLAYERS,
    MIN_SIDE,
    RULES_VERSION,
    SPAWN_CELLS,
)

MAP_KINDS = tuple(KINDS)
"""Kinds of map that can be generated; ``territorial.maps`` has one generator for each."""


NON_RULE_FIELDS = ("rewards",)
"""Options that no game depends on: replays do without, and saved games are resumed with others."""


@documents_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class GameConfig:
    """The rules, the size and the map of a game; the defaults are the rules as published.

    A config is immutable, hashable and picklable; :meth:`replace` returns a changed copy. Fields are whole
    numbers unless their type says otherwise. docs/rules.md says what each of them does.

    Raises:
        TypeError: for a field that does not exist or a value of a wrong type.
        ValueError: for a value out of range, and for fields that do not go together: ``hard_cap`` below
            ``soft_cap``; ``neutral_cost`` or ``attack_cost`` above ``min_layers``; a map of another size;
            more players than the map has room for (12 cells each); options of teams without teams.

    Errors name the field, the value and what is allowed.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=64, width=64, num_players=8, map="islands:count=6")
        >>> config.replace(rewards={"land": 1, "kills": 0.5}).rewards
        (('land', 1.0), ('kills', 0.5))
        >>> territorial.GameConfig(height=8)
        Traceback (most recent call last):
        ValueError: height is 8; it must be a whole number from 16 to 1024

    """

    height: int = option(256, "rows of the map, in cells", MIN_SIDE, MAX_SIDE)
    width: int = option(256, "columns of the map, in cells", MIN_SIDE, MAX_SIDE)
    num_players: int = option(32, "seats of the game, P", MIN_PLAYERS, MAX_PLAYERS)
    map: str | LandMask | MapMix = option(
        "lakes",
        f"a kind of map ({', '.join(MAP_KINDS)}), or a land such as europe. Both take options, "
        "as in islands:count=6. It may also be a LandMask or a MapMix. `territorial info maps` lists all "
        "names",
    )
    map_seed: int = option(0, "seed of the first generated map", 0, 2**64 - 1)
    num_maps: int = option(
        1,
        "generated maps, of which each game draws one; their seeds are map_seed, map_seed + 1 and so on. 0 "
        "makes a new map for every game",
        0,
        1024,
    )
    decision_every: int = option(10, "ticks from one decision to the next", 1, 1000)
    max_ticks: int = option(10_000, "the game ends after this many ticks", 1, 10_000_000)

    starting_troops: int = option(512, "troops of every seat at the start", 1, 1_000_000)
    spawn_spacing_percent: int = option(
        70, "spawn distance aimed for, as a percentage of sqrt(land cells / players)", 0, 200
    )

    launch_tax: int = option(12, "1024ths of the balance that every launch destroys", 0, 1023)
    launch_delay: int = option(7, "ticks from the first launch to the first attack step", 0, 1000)
    layer_cost: int = option(3, "troops per cell of front that a launch needs", 1, 100)
    layer_growth_divisor: int = option(
        8, "a launch needs one more troop per this many cells of front", 1, 1000
    )
    need_divisor: int = option(4, "a launch is legal if it needs at most 1/this of the balance", 1, 1000)

    interest_every: int = option(10, "ticks from one interest payment to the next", 1, 10_000)
    interest_base: int = option(100, "lowest interest rate, in basis points", 0, 10_000)
    interest_levels: int = option(511, "steps in which the rate rises with the share of land", 1, 4095)
    interest_land_scale: int = option(
        25_600,
        "the rate is interest_base + isqrt(interest_land_scale * level // interest_land_divisor)",
        0,
        100_000_000,
    )
    interest_land_divisor: int = option(508, "divisor in the formula of interest_land_scale", 1, 1_000_000)
    early_interest_ticks: int = option(1920, "ticks over which the opening's extra rate fades", 1, 1_000_000)
    early_interest_multiple: int = option(7, "times the base rate that is paid at tick 0", 1, 100)
    soft_cap: int = option(100, "troops per cell above which interest falls", 1, 10_000)
    hard_cap: int = option(150, "troops per cell above which nothing is paid or refunded", 1, 10_000)
    over_cap_slope: int = option(
        2, "share of the interest that is lost above the soft cap, per unit of relative excess", 0, 100
    )
    income_every: int = option(100, "ticks from one income payment to the next", 1, 10_000)
    income_per_cell: int = option(1, "troops per cell paid as income", 0, 1000)

    cadence_land: tuple[int, ...] = option(
        (1_000, 10_000, 60_000),
        "three rising land sizes, in cells. At each of them attack steps become one tick more "
        f"frequent; whole numbers from 1 to {MAX_SIDE**2}",
    )
    min_layers: int = option(3, "an attack with less than this many troops per cell ends", 1, 100)
    neutral_cost: int = option(2, "troops spent per neutral cell", 0, 100)
    attack_cost: int = option(2, "troops spent per enemy cell before its defence", 0, 100)
    defence_tenths: int = option(10, "tenths of the defender's density that defend a cell", 1, 1000)
    attackers_per_defender: int = option(1, "attackers that fall for one defender", 1, 100)

    deaths: bool = option(True, "players die when they shrink too far")
    death_divisor: int = option(4, "a player dies when its land is at most 1/this of its peak", 2, 1000)
    peak_decay_divisor: int = option(
        1000, "a peak falls by 1/this of its distance to the land per tick", 1, 1_000_000
    )
    win_percent: int = option(90, "percentage of the land at which its owner ends the game", 1, 100)

    handicap: bool = option(False, "bots of the lower levels start with fewer troops than others")
    rewards: Weights = option(
        DEFAULT,
        "parts of the reward and their weights, as a mapping or a text such as land=1,kills=0.5. "
        f"See docs/rewards.md. The parts are {', '.join(NAMES)}; with teams also {', '.join(TEAM_NAMES)}",
    )

    teams: Teams | None = option(
        None,
        f"{FEWEST}, or the team of each seat as a list of numbers from 1. Allies cannot attack, "
        "but give troops to each other, and win together",
        none="no teams",
    )
    team_deal: str = option(
        DEALS[0],
        'how seats are dealt to a number of teams. "blocks": seats side by side, larger teams '
        'first; "turn": one seat for each team, and round again; "random": blocks of seats in an order '
        "drawn for each game",
        choices=DEALS,
    )
    team_spawns: str = option(
        SPAWNS[0],
        'where teams start. "mixed": as without teams; "together": allies start side by side',
        choices=SPAWNS,
    )

    def __post_init__(self) -> None:
        check_values(self)
        object.__setattr__(self, "map", checked_map(self.map))
        _check_maps(self)
        object.__setattr__(self, "cadence_land", _checked_cadence(self.cadence_land))
        object.__setattr__(self, "rewards", checked_rewards(self.rewards))
        _check_teams(self)
        if self.hard_cap < self.soft_cap:
            raise ValueError(
                f"hard_cap is {self.hard_cap}; it must be at least soft_cap, which is {self.soft_cap}"
            )
        for name in ("neutral_cost", "attack_cost"):
            if getattr(self, name) > self.min_layers:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; it must be at most min_layers, which is "
                    f"{self.min_layers}, or an attack could cost more than it has"
                )
        if SPAWN_CELLS * self.num_players > self.height * self.width:
            raise ValueError(
                f"num_players is {self.num_players}; each spawn takes {SPAWN_CELLS} cells and "
                f"a map of {self.height} x {self.width} has {self.height * self.width}, so "
                f"it must be at most {self.height * self.width // SPAWN_CELLS}"
            )

    def replace(self, **changes: Unpack[ConfigKeywords]) -> GameConfig:
        """Return a copy with some fields changed, validated as a whole."""
        check_keywords("GameConfig.replace", changes, FIELDS)
        return dataclasses.replace(self, **cast(dict[str, Any], changes))

    @classmethod
    def for_map(cls, land: LandMask, **fields: Any) -> GameConfig:
        """Return a config of the given map's size that plays on that map."""
        check_is_mask("land", land)
        return cls(height=land.height, width=land.width, map=land, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON gives them back: lists for tuples, the map by its name."""
        values = {name: getattr(self, name) for name in FIELDS}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return plain | {"map": self.map_name, "rewards": dict(self.rewards)}

    @property
    def map_name(self) -> str:
        """The map as a text; a custom mask is its 16 hex digits."""
        return text_of(self.map)

    @property
    def num_teams(self) -> int:
        """N, the teams of a game; without teams each seat is a team of one, and N is P."""
        return max(dealt_teams(self.teams, self.team_deal, self.num_players))

    @property
    def has_allies(self) -> bool:
        """Whether any seat has an ally: P teams of one play the game that has no teams."""
        return self.num_teams < self.num_players

    def team_of(self, seed: int = 0) -> tuple[int, ...]:
        """Return the team 1..N of each seat 1..P in the game of ``seed``, a whole number below 2**64.

        Without teams each seat is a team of one. Only with ``team_deal="random"`` does the seed matter.

        Example:
            >>> GameConfig(height=32, width=32, num_players=4, teams=2, team_deal="random").team_of(1)
            (2, 2, 1, 1)

        """
        seed = whole_number("seed", seed, 0, LARGEST_SEED)
        dealt = dealt_teams(self.teams, self.team_deal, self.num_players)
        return drawn_teams(dealt, seed) if self.team_deal == RANDOM else dealt

    @property
    def hexdigest(self) -> str:
        """16 hex digits that name this config, the map and the version of the rules included.

        Rewards do not count, as no game depends on them.
        """
        values = {name: value for name, value in self.to_dict().items() if name not in NON_RULE_FIELDS}
        text = json.dumps(values | {"rules_version": RULES_VERSION}, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


GameConfig.__init__ = suggests_keywords(GameConfig.__init__)  # type: ignore[method-assign]


class ConfigKeywords(TypedDict, total=False):
    """The fields of :class:`GameConfig` as keywords of functions."""

    height: int
    width: int
    num_players: int
    map: str | LandMask | MapMix
    map_seed: int
    num_maps: int
    decision_every: int
    max_ticks: int
    starting_troops: int
    spawn_spacing_percent: int
    launch_tax: int
    launch_delay: int
    layer_cost: int
    layer_growth_divisor: int
    need_divisor: int
    interest_every: int
    interest_base: int
    interest_levels: int
    interest_land_scale: int
    interest_land_divisor: int
    early_interest_ticks: int
    early_interest_multiple: int
    soft_cap: int
    hard_cap: int
    over_cap_slope: int
    income_every: int
    income_per_cell: int
    cadence_land: Sequence[int]
    min_layers: int
    neutral_cost: int
    attack_cost: int
    defence_tenths: int
    attackers_per_defender: int
    deaths: bool
    death_divisor: int
    peak_decay_divisor: int
    win_percent: int
    handicap: bool
    rewards: Weights | Mapping[str, float] | str
    teams: int | Sequence[int] | None
    team_deal: str
    team_spawns: str


FIELDS: Mapping[str, dataclasses.Field[Any]] = {spec.name: spec for spec in dataclasses.fields(GameConfig)}
"""What each field means and may be."""


def _check_teams(config: GameConfig) -> None:
    """Check the options of teams, and that nothing is asked for that only teams have."""
    teams = checked_teams(config.teams, config.num_players)
    object.__setattr__(config, "teams", teams)
    if config.team_deal != DEALS[0] and not isinstance(teams, int):
        raise ValueError(
            f"team_deal is {config.team_deal!r}; it must be {DEALS[0]!r} unless teams is a number of teams"
        )
    if config.team_spawns != SPAWNS[0] and teams is None:
        raise ValueError(
            f"team_spawns is {config.team_spawns!r}; it must be {SPAWNS[0]!r} unless teams is set"
        )
    for name, _ in config.rewards:
        if teams is None and name in TEAM_NAMES:
            raise ValueError(f"rewards has the part {name!r}; it needs teams, and teams is None")


def _check_maps(config: GameConfig) -> None:
    """Raise ValueError unless all maps are of the config's size, and as many as there can be."""
    maps = [one for one, _ in entries_of(config.map)]
    for mask in maps:
        if isinstance(mask, LandMask) and (mask.height, mask.width) != (config.height, config.width):
            raise ValueError(
                f"map is {mask.height} x {mask.width} but height x width is {config.height} x "
                f"{config.width}; use GameConfig.for_map(land, ...)"
            )
    is_generated = [not isinstance(one, LandMask) and one.kind.is_generated for one in maps]
    if config.num_maps != 1 and not any(is_generated):
        raise ValueError(f"num_maps is {config.num_maps}; it must be 1 when no map is generated")
    for one in maps:
        if not isinstance(one, LandMask):
            check_symmetry(one.symmetry, config.height, config.width)


def _checked_cadence(steps: Any) -> tuple[int, ...]:
    """Return ``steps`` as a tuple of ints; errors give the allowed values."""
    whole = whole_numbers("cadence_land", steps, (3,), 1, MAX_SIDE**2)
    if (np.diff(whole) <= 0).any():
        raise ValueError(f"cadence_land is {shown(steps)}; it must be three increasing whole numbers")
    return tuple(whole.tolist())


_NUMBERS = [name for name, spec in FIELDS.items() if isinstance(spec.default, int) and name != "map_seed"]

if TYPE_CHECKING:

    class Params(GameConfig):
        """The numbers of a GameConfig as the kernels take them: a named tuple of int64."""

        cadence_land_small: int
        cadence_land_medium: int
        cadence_land_large: int
        peak_decay_reciprocal: int
        deals_at_random: int
        starts_together: int
        allied: tuple[int, ...]
        """(1,) if any seat has an ally, else (): its length is part of the type. So kernels for games without
        allies are compiled without a rule of teams, and lose no time; ``has_allies`` asks for it."""

else:
    _DERIVED = ["cadence_land_small", "cadence_land_medium", "cadence_land_large", "peak_decay_reciprocal"]
    _DERIVED += ["num_teams", "deals_at_random", "starts_together", "allied"]
    Params = namedtuple("Params", _NUMBERS + _DERIVED)


RECIPROCAL_BITS = 40


def make_params(config: GameConfig) -> Params:
    """Return the numbers of ``config`` for the kernels.

    ``peak_decay_reciprocal`` stands in for the divisor d. With m = 2**40 // d + 1, x // d equals
    (x * m) >> 40 for every x up to 2**20 (the largest map) and d up to 10**6. m * d exceeds
    2**40 by at most d < 2**20, so that x * (m * d - 2**40) < 2**40, less than one more whole.
    """
    small, medium, large = config.cadence_land
    values: dict[str, Any] = {name: int(getattr(config, name)) for name in _NUMBERS}
    values |= {
        "cadence_land_small": small,
        "cadence_land_medium": medium,
        "cadence_land_large": large,
        "peak_decay_reciprocal": 2**RECIPROCAL_BITS // config.peak_decay_divisor + 1,
        "num_teams": config.num_teams,
        "deals_at_random": int(config.team_deal == RANDOM),
        "starts_together": int(config.team_spawns == TOGETHER),
        "allied": (1,) if config.has_allies else (),
    }
    return Params(**values)


def team_table(config: GameConfig) -> npt.NDArray[np.int64]:
    """Return the teams that are dealt, by owner code, int64 (P+1,); neutral land is in team 0.

    With ``team_deal="random"`` they are those of the places in the order of seats drawn for a game.
    """
    if config.teams is None:
        return np.arange(config.num_players + 1, dtype=np.int64)  # in a search, games are restored that often
    dealt = dealt_teams(config.teams, config.team_deal, config.num_players)
    return np.array([0, *dealt], np.int64)


def interest_rates(config: GameConfig) -> npt.NDArray[np.int64]:
    """Return the interest rate in basis points for each level 0..interest_levels, as int64."""
    scale, divisor = config.interest_land_scale, config.interest_land_divisor
    levels = range(config.interest_levels + 1)
    rates = [config.interest_base + math.isqrt(scale * level // divisor) for level in levels]
    return np.array(rates, np.int64)
