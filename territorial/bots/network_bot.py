"""``Network``: a trained network as a bot that takes a seat."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.bots.network import places_in_layout, row_of
from territorial.bots.network_file import (
    MOST_INTERVAL,
    TEMPERATURE_UNIT,
    NetworkError,
    read,
    temperature_256ths,
)
from territorial.bots.settings import INTERVAL, NUM_SETTINGS
from territorial.bots.style import ALL, LONGEST_NAME, SettingRange
from territorial.config.validation import whole_number

NETWORK = "net:"
"""What a text begins with that names the file of a network."""
# Of its digest, how many a network's name has.
_DIGITS = 8
_NAMED = re.compile(
    rf"(?P<path>.+)@(?P<digest>[0-9a-f]{{{_DIGITS}}})"
    r"(?:,t=(?P<temperature>[0-9]{1,3}(?:\.[0-9]{1,9})?))?(?:,every=(?P<interval>[0-9]{1,8}))?",
    re.DOTALL,
)


class Network:
    """A network on pairs that the engine plays in compiled code, read from the file that ``export`` wrote.

    It goes into ``seats`` like the name of a bot; so does the text ``"net:PATH"``. The file is read into
    memory and checked once, so the bot stays the same if the file is overwritten. Its name has the path and
    the beginning of the file's digest. Equal ones are one bot. Pickles have the path and the digest, not the
    weights.

    Args:
        path: the file.
        temperature: 0 plays the likeliest action, 1 draws as the policy does; 0 to 255, default None: that of
            the file.
        interval: ticks from one decision to the next; 1 to 10,000,000, default None: that of the file.
        is_mapped: True: the weights stay in the mapped file, of which all processes share the pages. Only for
            files that nobody overwrites, such as those of a store of snapshots; default False.

    Raises:
        NetworkError: for a file that is no network, or reads columns that this release does not have.
        OSError: for a file that cannot be read.

    """

    start = ALL
    """Per cent of the starting troops that it has where handicaps are on."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        temperature: float | None = None,
        interval: int | None = None,
        is_mapped: bool = False,
    ) -> None:
        self._file = read(path, is_mapped=is_mapped)
        self._places = places_in_layout(self._file)
        self._shown = os.fspath(path)
        about = self._file.description
        self._given = temperature, interval
        self._temperature = about.temperature if temperature is None else temperature_256ths(temperature)
        self.interval = (
            about.interval if interval is None else whole_number("interval", interval, 1, MOST_INTERVAL)
        )
        """Ticks from one decision to the next."""

    @property
    def path(self) -> Path:
        """The file, from the root."""
        return self._file.path

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that tell its weights from all others."""
        return self._file.digest

    @property
    def temperature(self) -> float:
        """How far it is from playing the likeliest action; 0 plays it."""
        return self._temperature / TEMPERATURE_UNIT

    @cached_property
    def name(self) -> str:
        """Its name: the path (the end of a long one), the digest, and options that differ from the file."""
        end = self._end
        room = LONGEST_NAME - len(NETWORK) - len(end)
        shown = self._shown if self._shown.isprintable() else "..."
        return f"{NETWORK}{shown if len(shown) <= room else '...' + shown[3 - room :]}{end}"

    @property
    def text(self) -> str:
        """Its name with the whole path as it was given: a text that stands for this network in ``seats``."""
        return f"{NETWORK}{self._shown}{self._end}"

    @property
    def _end(self) -> str:
        temperature, interval = self._given
        more = ("" if temperature is None else f",t={self.temperature:g}") + (
            "" if interval is None else f",every={interval}"
        )
        return f"@{self.digest[:_DIGITS]}{more}"

    def settings(self) -> tuple[SettingRange, ...]:
        """Return the ranges of its settings, of which only the interval has a meaning."""
        table = dict.fromkeys(range(NUM_SETTINGS), SettingRange(0, 0))
        table[INTERVAL] = SettingRange(self.interval, self.interval)
        return tuple(table.values())

    def row(self) -> npt.NDArray[np.int64]:
        """Return the row of the table that kernels read; valid as long as this bot exists."""
        return row_of(self._file, self._places, self._temperature)

    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the arrays whose addresses are in ``row``."""
        return (self._places, *self._file.tensors.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.digest, self._temperature, self.interval

    def __repr__(self) -> str:
        return f"Network({self.name!r})"

    def __copy__(self) -> Network:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Network:
        return self

    def __reduce__(self) -> Any:
        return _loaded, (os.fspath(self.path), self._shown, self.digest, *self._given)


def _loaded(path: str, shown: str, digest: str, temperature: float | None, interval: int | None) -> Network:
    """Return the network of a pickle; its file must be unchanged."""
    try:
        network = Network(path, temperature=temperature, interval=interval)
    except FileNotFoundError as error:
        wanted = f"{error.strerror}; the file of a network has to be at its path wherever it plays"
        raise FileNotFoundError(error.errno, wanted, path) from None
    if network.digest != digest:
        raise NetworkError(
            f"{path}: its digest is {network.digest}, but the network was saved with {digest}; restore the "
            "file of that network"
        )
    network._shown = shown
    return network


def network_of(text: str) -> Network:
    """Return the network that ``net:PATH`` names, or a ``Network.text``: ``net:PATH@DIGEST,t=0,every=50``."""
    path = text.removeprefix(NETWORK)
    named = _NAMED.fullmatch(path)
    if named is None or os.path.exists(path):
        return Network(path)
    temperature, interval = named["temperature"], named["interval"]
    network = Network(
        named["path"],
        temperature=None if temperature is None else float(temperature),
        interval=None if interval is None else int(interval),
    )
    if not network.digest.startswith(named["digest"]):
        raise NetworkError(f"{named['path']}: its digest is {network.digest}, which is not that of {text!r}")
    return network
