"""The configuration of a game: everything it is played with, validated and immutable."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.land_mask import LandMask
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
    checked_way,
    dealt_teams,
)
from territorial.config.validation import (
    check_keywords,
    shown,
    suggests_keywords,
    true_or_false,
    whole_number,
)
from territorial.constants import (
    MAX_PLAYERS,
    MAX_SIDE,
    MIN_PLAYERS,
    MIN_SIDE,
    RULES_VERSION,
    SPAWN_CELLS,
)

MAP_KINDS = tuple(KINDS)
"""Kinds of map that can be generated; ``territorial.maps`` has one generator for each."""


NOT_OF_THE_GAME = ("rewards",)
"""Options that no game depends on: replays do without, and saved games are resumed with others."""


def _option(default: Any, low: int, high: int, meaning: str) -> Any:
    """A whole-number field with its inclusive range and its meaning, which :func:`describe` returns."""
    return field(default=default, metadata={"low": low, "high": high, "help": meaning})


def describe(spec: dataclasses.Field[Any]) -> str:
    """Return the meaning and the range of an option, a field with metadata.

    The command line, ``territorial info`` and the docstrings of public names show it.
    """
    meaning, low, high = (spec.metadata.get(key) for key in ("help", "low", "high"))
    if low is None:
        return str(meaning)
    if high is None:
        return f"{meaning}; at least {low}"
    return f"{meaning}; {low} to {'2**64 - 1' if high == 2**64 - 1 else high}"


@dataclass(frozen=True, kw_only=True, slots=True)
class GameConfig:
    """The rules, the size and the map of a game; the defaults are the rules as published.

    A config is immutable, hashable and picklable; :meth:`replace` returns a changed copy. Fields are whole
    numbers unless their type says otherwise. docs/rules.md says what each of them does.

    Args:
        height: rows of the map, in cells; 16 to 1024; default 256.
        width: columns of the map, in cells; 16 to 1024; default 256.
        num_players: seats of the game, P; 2 to 250; default 32.
        map: a kind of map (open, lakes, mountains, islands, continents, maze, archipelago), or a land such as
            europe. Both take options, as in islands:count=6. It may also be a LandMask or a MapMix.
            `territorial info maps` lists all names; default "lakes".
        map_seed: seed of the first generated map; 0 to 2**64 - 1; default 0.
        num_maps: generated maps, of which each game draws one; their seeds are map_seed, map_seed + 1 and so
            on. 0 makes a new map for every game; 0 to 1024; default 1.
        decision_every: ticks from one decision to the next; 1 to 1000; default 10.
        max_ticks: the game ends after this many ticks; 1 to 10000000; default 10000.
        starting_troops: troops of every seat at the start; 1 to 1000000; default 512.
        spawn_spacing_percent: spawn distance aimed for, as a percentage of sqrt(land cells / players); 0 to
            200; default 70.
        launch_tax: 1024ths of the balance that every launch destroys; 0 to 1023; default 12.
        launch_delay: ticks from the first launch to the first attack step; 0 to 1000; default 7.
        layer_cost: troops per cell of front that an attack step must have at hand; 1 to 100; default 3.
        layer_growth_divisor: a launch needs one more troop per this many cells of front; 1 to 1000; default
            8.
        need_divisor: a launch is legal if it needs at most 1/this of the balance; 1 to 1000; default 4.
        interest_every: ticks from one interest payment to the next; 1 to 10000; default 10.
        interest_base: lowest interest rate, in basis points; 0 to 10000; default 100.
        interest_levels: steps in which the rate rises with the share of land; 1 to 4095; default 511.
        interest_land_scale: the rate is interest_base + isqrt(interest_land_scale * level //
            interest_land_divisor); 0 to 100000000; default 25600.
        interest_land_divisor: divisor in the formula of interest_land_scale; 1 to 1000000; default 508.
        early_interest_ticks: ticks over which the opening's extra rate fades; 1 to 1000000; default 1920.
        early_interest_multiple: times the base rate that is paid at tick 0; 1 to 100; default 7.
        soft_cap: troops per cell above which interest falls; 1 to 10000; default 100.
        hard_cap: troops per cell above which nothing is paid or refunded; 1 to 10000; default 150.
        over_cap_slope: share of the interest that is lost above the soft cap, per unit of relative excess; 0
            to 100; default 2.
        income_every: ticks from one income payment to the next; 1 to 10000; default 100.
        income_per_cell: troops per cell paid as income; 0 to 1000; default 1.
        cadence_land: three rising land sizes, in cells. At each of them attack steps become one tick more
            frequent; whole numbers from 1 to 1048576; default (1000, 10000, 60000).
        min_layers: an attack with less than this many troops per cell ends; 1 to 100; default 3.
        neutral_cost: troops spent per neutral cell; 0 to 100; default 2.
        attack_cost: troops spent per enemy cell before its defence; 0 to 100; default 2.
        defence_tenths: tenths of the defender's density that defend a cell; 1 to 1000; default 16.
        attackers_per_defender: attackers that fall for one defender; 1 to 100; default 2.
        deaths: players die when they shrink too far; default True.
        death_divisor: a player dies when its land is at most 1/this of its peak; 2 to 1000; default 4.
        peak_decay_divisor: a peak falls by 1/this of its distance to the land per tick; 1 to 1000000; default
            1000.
        win_percent: percentage of the land at which its owner ends the game; 1 to 100; default 90.
        handicap: bots of the lower levels start with fewer troops than others; default False.
        rewards: parts of the reward and their weights, as a mapping or a text such as land=1,kills=0.5. See
            docs/rewards.md. The parts are land, placement, survival, taken, kills, land_zero_sum,
            placement_zero_sum, survival_zero_sum, taken_zero_sum, kills_zero_sum; with teams also team_land,
            team_land_zero_sum; default (("land", 1.0), ("placement", 1.0)).
        teams: a number of teams from 2 to num_players, or the team of each seat as a list of numbers from 1.
            Allies cannot attack, but give troops to each other, and win together; default None: no teams.
        team_deal: how seats are dealt to a number of teams. "blocks": seats side by side, larger teams first;
            "turn": one seat for each team, and round again; "random": blocks of seats in an order drawn for
            each game; default "blocks".
        team_spawns: where teams start. "mixed": as without teams; "together": allies start side by side;
            default "mixed".

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

    height: int = _option(256, MIN_SIDE, MAX_SIDE, "rows of the map, in cells")
    width: int = _option(256, MIN_SIDE, MAX_SIDE, "columns of the map, in cells")
    num_players: int = _option(32, MIN_PLAYERS, MAX_PLAYERS, "seats of the game, P")
    map: str | LandMask | MapMix = field(
        default="lakes",
        metadata={
            "help": f"a kind of map ({', '.join(MAP_KINDS)}), or a land such as europe. Both take options, "
            "as in islands:count=6. It may also be a LandMask or a MapMix. `territorial info maps` lists "
            "all names"
        },
    )
    map_seed: int = _option(0, 0, 2**64 - 1, "seed of the first generated map")
    num_maps: int = _option(
        1,
        0,
        1024,
        "generated maps, of which each game draws one; their seeds are map_seed, map_seed + 1 and so on. 0 "
        "makes a new map for every game",
    )
    decision_every: int = _option(10, 1, 1000, "ticks from one decision to the next")
    max_ticks: int = _option(10_000, 1, 10_000_000, "the game ends after this many ticks")

    starting_troops: int = _option(512, 1, 1_000_000, "troops of every seat at the start")
    spawn_spacing_percent: int = _option(
        70, 0, 200, "spawn distance aimed for, as a percentage of sqrt(land cells / players)"
    )

    launch_tax: int = _option(12, 0, 1023, "1024ths of the balance that every launch destroys")
    launch_delay: int = _option(7, 0, 1000, "ticks from the first launch to the first attack step")
    layer_cost: int = _option(3, 1, 100, "troops per cell of front that an attack step must have at hand")
    layer_growth_divisor: int = _option(
        8, 1, 1000, "a launch needs one more troop per this many cells of front"
    )
    need_divisor: int = _option(4, 1, 1000, "a launch is legal if it needs at most 1/this of the balance")

    interest_every: int = _option(10, 1, 10_000, "ticks from one interest payment to the next")
    interest_base: int = _option(100, 0, 10_000, "lowest interest rate, in basis points")
    interest_levels: int = _option(511, 1, 4095, "steps in which the rate rises with the share of land")
    interest_land_scale: int = _option(
        25_600,
        0,
        100_000_000,
        "the rate is interest_base + isqrt(interest_land_scale * level // interest_land_divisor)",
    )
    interest_land_divisor: int = _option(508, 1, 1_000_000, "divisor in the formula of interest_land_scale")
    early_interest_ticks: int = _option(1920, 1, 1_000_000, "ticks over which the opening's extra rate fades")
    early_interest_multiple: int = _option(7, 1, 100, "times the base rate that is paid at tick 0")
    soft_cap: int = _option(100, 1, 10_000, "troops per cell above which interest falls")
    hard_cap: int = _option(150, 1, 10_000, "troops per cell above which nothing is paid or refunded")
    over_cap_slope: int = _option(
        2, 0, 100, "share of the interest that is lost above the soft cap, per unit of relative excess"
    )
    income_every: int = _option(100, 1, 10_000, "ticks from one income payment to the next")
    income_per_cell: int = _option(1, 0, 1000, "troops per cell paid as income")

    cadence_land: tuple[int, ...] = field(
        default=(1_000, 10_000, 60_000),
        metadata={
            "help": "three rising land sizes, in cells. At each of them attack steps become one tick more "
            f"frequent; whole numbers from 1 to {MAX_SIDE**2}"
        },
    )
    min_layers: int = _option(3, 1, 100, "an attack with less than this many troops per cell ends")
    neutral_cost: int = _option(2, 0, 100, "troops spent per neutral cell")
    attack_cost: int = _option(2, 0, 100, "troops spent per enemy cell before its defence")
    defence_tenths: int = _option(16, 1, 1000, "tenths of the defender's density that defend a cell")
    attackers_per_defender: int = _option(2, 1, 100, "attackers that fall for one defender")

    deaths: bool = field(default=True, metadata={"help": "players die when they shrink too far"})
    death_divisor: int = _option(4, 2, 1000, "a player dies when its land is at most 1/this of its peak")
    peak_decay_divisor: int = _option(
        1000, 1, 1_000_000, "a peak falls by 1/this of its distance to the land per tick"
    )
    win_percent: int = _option(90, 1, 100, "percentage of the land at which its owner ends the game")

    handicap: bool = field(
        default=False, metadata={"help": "bots of the lower levels start with fewer troops than others"}
    )
    rewards: Weights = field(
        default=DEFAULT,
        metadata={
            "help": "parts of the reward and their weights, as a mapping or a text such as land=1,kills=0.5. "
            f"See docs/rewards.md. The parts are {', '.join(NAMES)}; with teams also {', '.join(TEAM_NAMES)}"
        },
    )

    teams: Teams | None = field(
        default=None,
        metadata={
            "help": f"{FEWEST}, or the team of each seat as a list of numbers from 1. Allies cannot attack, "
            "but give troops to each other, and win together",
            "none": "no teams",
        },
    )
    team_deal: str = field(
        default=DEALS[0],
        metadata={
            "help": 'how seats are dealt to a number of teams. "blocks": seats side by side, larger teams '
            'first; "turn": one seat for each team, and round again; "random": blocks of seats in an order '
            "drawn for each game"
        },
    )
    team_spawns: str = field(
        default=SPAWNS[0],
        metadata={
            "help": 'where teams start. "mixed": as without teams; "together": allies start side by side'
        },
    )

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            if "low" in spec.metadata:
                value, low, high = getattr(self, spec.name), spec.metadata["low"], spec.metadata["high"]
                object.__setattr__(self, spec.name, whole_number(spec.name, value, low, high))
        object.__setattr__(self, "map", checked_map(self.map))
        _check_maps(self)
        for name in ("deaths", "handicap"):
            object.__setattr__(self, name, true_or_false(name, getattr(self, name)))
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

    def replace(self, **changes: Any) -> GameConfig:
        """Return a copy with some fields changed, validated as a whole."""
        check_keywords("GameConfig.replace", changes, FIELD_NAMES)
        return dataclasses.replace(self, **changes)

    @classmethod
    def for_map(cls, land: LandMask, **fields: Any) -> GameConfig:
        """Return a config of the given map's size that plays on that map."""
        if not isinstance(land, LandMask):
            raise TypeError(
                f"land is a {type(land).__name__}; it must be a LandMask, which "
                "LandMask.from_array(...) makes from an array"
            )
        return cls(height=land.height, width=land.width, map=land, **fields)

    @property
    def map_name(self) -> str:
        """The map as a text; a custom mask is its 16 hex digits."""
        return text_of(self.map)

    @property
    def num_teams(self) -> int:
        """N, the teams of a game; without teams each seat is a team of one, and N is P."""
        return max(self.dealt_teams)

    @property
    def has_allies(self) -> bool:
        """Whether any seat has an ally: P teams of one play the game that has no teams."""
        return self.num_teams < self.num_players

    @property
    def dealt_teams(self) -> tuple[int, ...]:
        """The team 1..N of each seat 1..P; without teams each seat is a team of one.

        With ``team_deal="random"`` it is the team of each place in the order of seats drawn for a game.
        """
        return dealt_teams(self.teams, self.team_deal, self.num_players)

    @property
    def hexdigest(self) -> str:
        """16 hex digits that name this config, the map and the version of the rules included.

        Rewards do not count, as no game depends on them.
        """
        names = {spec.name for spec in dataclasses.fields(self)} - {"map", *NOT_OF_THE_GAME}
        values = {name: getattr(self, name) for name in names}
        values["map"] = self.map_name
        values["rules_version"] = RULES_VERSION
        text = json.dumps(values, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


GameConfig.__init__ = suggests_keywords(GameConfig.__init__)  # type: ignore[method-assign]

FIELD_NAMES = tuple(spec.name for spec in dataclasses.fields(GameConfig))


def _check_teams(config: GameConfig) -> None:
    """Check the options of teams, and that nothing is asked for that only teams have."""
    teams = checked_teams(config.teams, config.num_players)
    object.__setattr__(config, "teams", teams)
    undealt = None if isinstance(teams, int) else "a number of teams"
    object.__setattr__(config, "team_deal", checked_way("team_deal", config.team_deal, DEALS, undealt))
    none = "set" if teams is None else None
    object.__setattr__(config, "team_spawns", checked_way("team_spawns", config.team_spawns, SPAWNS, none))
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
        raise ValueError(f"num_maps is {config.num_maps}; it must be 1 with a map of your own")
    for one in maps:
        if not isinstance(one, LandMask):
            check_symmetry(one.symmetry, config.height, config.width)


def _checked_cadence(steps: Any) -> tuple[int, ...]:
    """Return ``steps`` as a tuple of ints; an error says what they must be."""
    wanted = f"three whole numbers from 1 to {MAX_SIDE**2} that rise"
    try:
        whole = tuple(whole_number("cadence_land", step, 1, MAX_SIDE**2) for step in steps)
    except (TypeError, ValueError) as error:
        raise type(error)(f"cadence_land is {shown(steps)}; it must be {wanted}") from None
    if len(whole) != 3 or not whole[0] < whole[1] < whole[2]:
        raise ValueError(f"cadence_land is {shown(steps)}; it must be {wanted}")
    return whole


class Params(NamedTuple):
    """The numbers of a GameConfig as the kernels take them."""

    height: int
    width: int
    num_players: int
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
    cadence_land_small: int
    cadence_land_medium: int
    cadence_land_large: int
    min_layers: int
    neutral_cost: int
    attack_cost: int
    defence_tenths: int
    attackers_per_defender: int
    deaths: int
    death_divisor: int
    peak_decay_reciprocal: int
    win_percent: int
    num_teams: int
    deals_at_random: int
    starts_together: int
    allied: tuple[int, ...]
    """(1,) if any seat has an ally, else (): its length is part of the type. So kernels for games without
    allies are compiled without a rule of teams, and lose no time with them; ``has_allies`` asks for it."""


RECIPROCAL_BITS = 40


def make_params(config: GameConfig) -> Params:
    """Return the numbers of ``config`` for the kernels.

    ``peak_decay_reciprocal`` stands in for the divisor d. With m = 2**40 // d + 1, x // d equals
    (x * m) >> 40 for every x up to 2**20 (the largest map) and d up to 10**6. m * d exceeds
    2**40 by at most d < 2**20, so that x * (m * d - 2**40) < 2**40, less than one more whole.
    """
    small, medium, large = config.cadence_land
    derived = {
        "cadence_land_small": small,
        "cadence_land_medium": medium,
        "cadence_land_large": large,
        "deaths": int(config.deaths),
        "peak_decay_reciprocal": 2**RECIPROCAL_BITS // config.peak_decay_divisor + 1,
        "deals_at_random": int(config.team_deal == RANDOM),
        "starts_together": int(config.team_spawns == TOGETHER),
        "allied": (1,) if config.has_allies else (),
    }
    values = {name: derived[name] if name in derived else getattr(config, name) for name in Params._fields}
    return Params(**values)


def team_table(config: GameConfig) -> npt.NDArray[np.int64]:
    """Return ``GameConfig.dealt_teams`` by owner code, int64 (P+1,); neutral land is in team 0."""
    return np.array([0, *config.dealt_teams], np.int64)


def interest_rates(config: GameConfig) -> npt.NDArray[np.int64]:
    """Return the interest rate in basis points for each level 0..interest_levels, as int64."""
    scale, divisor = config.interest_land_scale, config.interest_land_divisor
    levels = range(config.interest_levels + 1)
    rates = [config.interest_base + math.isqrt(scale * level // divisor) for level in levels]
    return np.array(rates, np.int64)
