"""Names of maps: generated kinds with their options, and real lands.

A map is named by a text such as ``lakes``, ``islands:count=6,bridges=4`` or ``europe``. A
:class:`MapName` is that text parsed and checked; ``str`` puts it together again, always in the
same way, so that equal maps have equal names. What the names mean is up to ``territorial.maps``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from territorial.config.validation import hint, one_of, whole_number_in

Terrain = Literal["water", "mountains"]

MAX_BRIDGE_WIDTH = 24
"""In cells."""

SYMMETRIES = ("none", "half_turn", "mirror", "quarter_turn", "two_mirrors")
"""none; turned by 180 degrees; left and right mirrored; turned by 90 degrees; mirrored both ways."""
_NEEDS_SQUARE = "quarter_turn"


class MapOption(NamedTuple):
    """A number that a map can be asked for; where there are ``words``, their places are the numbers."""

    name: str
    default: int
    low: int
    high: int
    meaning: str
    words: tuple[str, ...] = ()

    def shown(self, value: int) -> str:
        """Return how ``value`` is written."""
        return self.words[value] if self.words else str(value)

    @property
    def allowed(self) -> str:
        """The allowed values of the option, in words."""
        return f"one of {', '.join(self.words)}" if self.words else f"{self.low} to {self.high}"


class MapKind(NamedTuple):
    """A kind of map or a land, and its options."""

    idea: str
    terrain: Terrain
    """What the blocked cells are."""
    options: tuple[MapOption, ...] = ()
    is_generated: bool = True


_SYMMETRY = MapOption(
    "symmetry", 0, 0, len(SYMMETRIES) - 1, "turns or mirrors that change nothing", SYMMETRIES
)


def _blocked(default: int, low: int, high: int, drawn: str = "") -> MapOption:
    return MapOption("blocked", default, low, high, f"per cent of the cells that are no land, about{drawn}")


def _per_side(default: int, features: str) -> MapOption:
    return MapOption("per_side", default, 2, 24, f"{features} along the side of a square map, about")


def _bridges(default: int, what: str) -> MapOption:
    return MapOption("bridges", default, 1, MAX_BRIDGE_WIDTH, f"width of {what}, in cells")


def _loops(default: int, what: str) -> MapOption:
    return MapOption("loops", default, 0, 100, f"per cent built of the {what} that could be done without")


KINDS: Mapping[str, MapKind] = MappingProxyType(
    {
        "open": MapKind("land and nothing else", "water"),
        "lakes": MapKind(
            "lakes in the hollows of one large land",
            "water",
            (_blocked(0, 0, 35, "; 0: 12 to 20, by the seed"), _per_side(6, "lakes"), _SYMMETRY),
        ),
        "mountains": MapKind(
            "long mountain ranges with passes",
            "mountains",
            (_blocked(0, 0, 35, "; 0: 15 to 25, by the seed"), _per_side(5, "ranges"), _SYMMETRY),
        ),
        "islands": MapKind(
            "islands joined by land bridges",
            "water",
            (
                MapOption("count", 9, 2, 64, "islands, about"),
                _blocked(45, 20, 70),
                _bridges(3, "the land bridges"),
                _loops(25, "bridges"),
                _SYMMETRY,
            ),
        ),
        "continents": MapKind(
            "a few continents joined by isthmuses",
            "water",
            (
                MapOption("count", 4, 2, 12, "continents, about"),
                _blocked(40, 20, 70),
                _bridges(8, "the isthmuses"),
                _loops(50, "isthmuses"),
                _SYMMETRY,
            ),
        ),
        "maze": MapKind(
            "valleys behind mountain walls, with narrow passes from one to the next",
            "mountains",
            (
                MapOption("count", 49, 4, 400, "valleys, about"),
                MapOption("walls", 4, 3, 16, "thickness of the walls, in cells"),
                _bridges(5, "the passes"),
                _loops(15, "passes"),
                _SYMMETRY,
            ),
        ),
        "archipelago": MapKind(
            "a main island among many smaller ones; only the main island is in play, as there are no boats",
            "water",
            (_blocked(60, 30, 80), _per_side(9, "islands")),
        ),
    }
)
"""The kinds of map that are generated; ``territorial.maps.generate`` has a generator for each."""

_LAND_OPTIONS = (
    MapOption(
        "bridges",
        0,
        0,
        MAX_BRIDGE_WIDTH,
        "width of land bridges to all islands of 40 cells and more, in cells; 0: none",
    ),
)


def _land(title: str) -> MapKind:
    return MapKind(title, "water", _LAND_OPTIONS, is_generated=False)


LANDS: Mapping[str, MapKind] = MappingProxyType(
    {
        "world": _land("all continents but Antarctica"),
        "africa": _land("Africa and Arabia"),
        "asia": _land("Asia from the Urals to Japan"),
        "australia": _land("Australia, New Guinea and New Zealand"),
        "britain": _land("Britain, Ireland and the coast of the Channel"),
        "caribbean": _land("all coasts of the Caribbean and of the Gulf of Mexico"),
        "europe": _land("Europe, with Turkey and the north of Africa"),
        "iceland": _land("Iceland"),
        "italy": _land("Italy, the Adriatic coasts, Corsica, Sardinia and Sicily"),
        "japan": _land("Japan"),
        "mediterranean": _land("all coasts of the Mediterranean and of the Black Sea"),
        "new_zealand": _land("both islands of New Zealand"),
        "north_america": _land("North America from Alaska to Panama"),
        "scandinavia": _land("Scandinavia, Finland, Denmark and the Baltic coasts"),
        "south_america": _land("South America from Panama to Cape Horn"),
    }
)
"""The lands of the real world, which are part of the package: ``territorial.maps.land``."""

ALL_MAPS: Mapping[str, MapKind] = MappingProxyType({**KINDS, **LANDS})


@dataclass(frozen=True, slots=True)
class MapName:
    """The name of a kind or a land, with its options that differ from the default, in order."""

    name: str
    changed: tuple[tuple[str, int], ...] = ()

    @property
    def kind(self) -> MapKind:
        """The kind or land of this name."""
        return ALL_MAPS[self.name]

    @property
    def options(self) -> dict[str, int]:
        """The value of every option."""
        return {option.name: option.default for option in self.kind.options} | dict(self.changed)

    @property
    def symmetry(self) -> str:
        """One of SYMMETRIES."""
        return SYMMETRIES[self.options.get("symmetry", 0)]

    def __str__(self) -> str:
        options = {option.name: option for option in self.kind.options}
        values = ",".join(f"{name}={options[name].shown(value)}" for name, value in self.changed)
        return f"{self.name}:{values}" if values else self.name


def check_symmetry(symmetry: str, height: int, width: int) -> None:
    """Raise ValueError unless a map of ``height`` x ``width`` cells can have this symmetry."""
    one_of("symmetry", symmetry, SYMMETRIES)
    if symmetry == _NEEDS_SQUARE and height != width:
        raise ValueError(
            f"symmetry is {symmetry!r}, which needs a square map; this one is {height} x {width}"
        )


def parse_map_name(text: str, names: Mapping[str, MapKind] = ALL_MAPS, what: str = "map") -> MapName:
    """Return ``text`` parsed; ValueError, which calls it ``what``, if it is none of ``names``."""
    given, _, rest = text.partition(":")
    name = one_of(what, given.strip(), names)
    options = {option.name: option for option in names[name].options}
    values: dict[str, int] = {}
    for part in rest.split(",") if rest else ():
        key, _, value = (piece.strip() for piece in part.partition("="))
        if key not in options:
            has = f"it has {', '.join(options)}" if options else "it has none"
            raise ValueError(f"{what} is {text!r}: {name} has no option {key!r}{hint(key, options)}; {has}")
        if key in values:
            raise ValueError(f"{what} is {text!r}: the option {key} occurs twice")
        values[key] = _value(options[key], value, f"{what} is {text!r}")
    changed = [
        (key, values[key]) for key in options if values.get(key, options[key].default) != options[key].default
    ]
    return MapName(name, tuple(changed))


def _value(option: MapOption, text: str, context: str) -> int:
    """Return the number that ``text`` gives an option."""
    if option.words and text in option.words:
        return option.words.index(text)
    number = None if option.words else whole_number_in(text, option.low, option.high)
    if number is not None:
        return number
    wanted = option.allowed if option.words else f"a whole number from {option.low} to {option.high}"
    raise ValueError(f"{context}: {option.name} is {text!r}; it must be {wanted}")
