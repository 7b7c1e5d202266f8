"""``Manifest``: the description of a snapshot that playing it requires."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from territorial.config.validation import shown, whole_number
from territorial.constants import OBS_VERSION, RULES_VERSION
from territorial.files.bounded import check_fields


class SnapshotError(Exception):
    """Something is wrong with a snapshot; the message names it."""


class UnknownSnapshotError(SnapshotError, LookupError):
    """There is no snapshot of that name."""


class DamagedSnapshotError(SnapshotError, ValueError):
    """The files of a snapshot are not as they were written."""


class StoreInUseError(SnapshotError, RuntimeError):
    """Another run writes to the store."""


class MismatchError(SnapshotError, ValueError):
    """A snapshot was made for something else: another architecture, observation, version or size."""


VERSIONS: Mapping[str, Any] = {"obs_version": OBS_VERSION, "rules_version": RULES_VERSION}
"""Those of this release, which manifests of this game's snapshots have."""
ANY = None
"""In :meth:`Manifest.require`: whatever the field is, it will do."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The description of one snapshot; all of it can be written as JSON.

    Args:
        architecture: the name by which the code that builds the network knows it.
        observation: the form of observations that it reads, such as "packed" or "features"; of another
            environment the digest of their space.
        action_format: the form of its actions, such as "discrete" or "multi_discrete", or the digest of
            their space.
        height: rows of the map it was trained on, in cells. This number and those below are of this game;
            None, the default, in snapshots of other environments.
        width: columns of that map, in cells.
        num_players: seats of the game.
        frames: boards in a stack; 0 where it reads no boards.
        obs_version: version of the observations it was trained with, ``territorial.OBS_VERSION``.
        rules_version: version of the rules it was trained with, ``territorial.RULES_VERSION``.
        settings: what the architecture was built with, such as its widths: two snapshots can share one
            network if ``architecture`` and ``settings`` are equal; default: none.
        metadata: anything else, such as the iteration; nothing here depends on it; default: none.

    Errors name the field, its value and what it must be.

    """

    architecture: str
    observation: str
    action_format: str
    height: int | None = None
    width: int | None = None
    num_players: int | None = None
    frames: int | None = None
    obs_version: int | None = None
    rules_version: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("architecture", "observation", "action_format"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise TypeError(f"{name} is {shown(value)}; it must be a string, and not an empty one")
        for name in NUMBERS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(name, getattr(self, name), 0, 2**31))
        for name in ("settings", "metadata"):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"{name} is {shown(getattr(self, name))}; it must be a mapping")
            object.__setattr__(self, name, _plain(name, getattr(self, name)))

    def require(self, what: str, **wanted: Any) -> None:
        """Raise MismatchError unless every field named has the value given; ``ANY`` fits all.

        ``what`` says whose manifest it is. TypeError for names that are no fields.
        """
        for name, value in wanted.items():
            if name not in NAMES:
                raise TypeError(f"{name!r} is not a field of a manifest; its fields are {', '.join(NAMES)}")
            found = getattr(self, name)
            if value is not ANY and found != _plain(name, value):
                raise MismatchError(f"{what}: {name} is {found!r}; here it must be {value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON has; :meth:`from_dict` reads them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the manifest of ``to_dict``; ValueError for missing and for unknown fields."""
        check_fields("the manifest", values, NAMES)
        return cls(**values)


NUMBERS = ("height", "width", "num_players", "frames", "obs_version", "rules_version")
"""The fields of snapshots of this game alone."""
NAMES = tuple(spec.name for spec in fields(Manifest))
"""The fields of a manifest."""


def _plain(name: str, value: Any) -> Any:
    """Return a copy of ``value`` as JSON would give it back."""
    if isinstance(value, Mapping):
        if bad := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"{name} has the key {shown(bad[0])}; keys must be strings")
        return {key: _plain(f"{name}[{key!r}]", part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{name}[{i}]", part) for i, part in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{name} is {value!r}; it must be a JSON value")
