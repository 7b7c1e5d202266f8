"""The checked file format of networks that play in the engine.

docs/networks.md has the format. Weights are used where they lie among the bytes of the file, so they are
stored in the order in which the engine multiplies: for every pair of inputs, the two weights of each output
side by side.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from territorial.config.validation import check_type, finite_number, hint, raised_as, shown, whole_number
from territorial.files import safetensors
from territorial.files.atomic import write_file
from territorial.files.bounded import Bounds, check_fields, open_file, parse_object
from territorial.typing import Array

FORMAT = 1
"""Of the file; another number is another format."""
METADATA = "territorial.network"
"""The name under which the header of the file has the description of the network."""
INPUT_LIMIT = 16384
"""The largest column, and below zero the smallest, that a network tells apart."""
ACTIVATION_LIMIT = 8191
"""The largest activation of a hidden layer."""
SUM_LIMIT = 2**31 - 1
"""What a sum of products can be in the worst case."""
LANES = 16
"""Widths are multiples of it; outputs of the last layers are as many."""
MOST_COLUMNS, MOST_WIDTH, MOST_CANDIDATES, MOST_SHIFT = 128, 256, 64, 30
MOST_INTERVAL = 10_000_000
"""Ticks from one decision to the next."""
TEMPERATURE_UNIT, MOST_TEMPERATURE = 256, 255
FRACTION_OUTPUTS = 10
LAYERS = ("candidate", "hidden", "context", "summary", "joint", "score", "hold")
"""The layers by name, in the order in which they are computed."""
_DESCRIPTION_BOUNDS = Bounds(nbytes=2**16, values=2**11)

Column = tuple[str, int]
"""The name of a column, and its version."""


class NetworkError(ValueError):
    """A file is no network that can play; the message names the file, the thing, the value and the wish."""


class NetworkLayer(NamedTuple):
    """A layer in whole numbers."""

    weights: Array  # int16 (inputs, outputs)
    biases: Array  # int32 (outputs,)
    shift: int  # how many bits its sums lose


class LayerSize(NamedTuple):
    """How many of a layer's inputs are columns, the first ones; how many inputs it has, and outputs."""

    columns: int
    inputs: int
    outputs: int


@dataclass(frozen=True, kw_only=True)
class Description:
    """The description of a network in its file, beside the weights.

    Args:
        own_columns: names and versions of the columns of ``own`` that it reads, in its order.
        pair_columns: the same of ``pairs``.
        candidate_width: activations of a candidate.
        context_width: activations of the context.
        num_candidates: candidates that it is shown at most.
        interval: ticks from one decision to the next.
        temperature: 256ths; 0 plays greedily.
        shifts: bits that the sums of each layer lose.

    """

    own_columns: tuple[Column, ...]
    pair_columns: tuple[Column, ...]
    candidate_width: int
    context_width: int
    num_candidates: int
    interval: int
    temperature: int
    shifts: Mapping[str, int]

    def sizes(self) -> dict[str, LayerSize]:
        """Return the size of every layer."""
        own, pair = even(len(self.own_columns)), even(len(self.pair_columns))
        h, c = self.candidate_width, self.context_width
        return {
            "candidate": LayerSize(own + pair, own + pair, h),
            "hidden": LayerSize(0, h, h),
            "context": LayerSize(own, own + 2 * h, c),
            "summary": LayerSize(0, c, c),
            "joint": LayerSize(0, h + c, h),
            "score": LayerSize(0, h, LANES),
            "hold": LayerSize(0, c, LANES),
        }


@dataclass(frozen=True, eq=False)
class NetworkFile:
    """A network: as read from its file, or as it will be written."""

    path: Path
    description: Description
    tensors: Mapping[str, Array]
    """Read-only: ``NAME.weights``, ``NAME.biases`` for each of ``LAYERS``."""
    digest: str
    """64 hexadecimal digits that stand for all of it."""


def even(count: int) -> int:
    """Return ``count``, or the next whole number where it is odd: inputs come in pairs."""
    return count + count % 2


def temperature_256ths(temperature: Any) -> int:
    """Return a temperature as files have it."""
    return round(finite_number("temperature", temperature, 0, MOST_TEMPERATURE) * TEMPERATURE_UNIT)


# ---- writing -----------------------------------------------------------------------------------------


def assembled(
    description: Description, layers: Mapping[str, NetworkLayer], name: str = "the network"
) -> NetworkFile:
    """Return a network of these layers that no file has yet; NetworkError as for reading, with ``name``."""
    tensors = {}
    for layer, (weights, biases, _) in layers.items():
        paired = weights.reshape(-1, 2, weights.shape[1]).transpose(0, 2, 1)
        tensors[f"{layer}.weights"] = np.ascontiguousarray(paired, np.int16)
        tensors[f"{layer}.biases"] = np.asarray(biases, np.int32)
    _check(name, description, tensors)
    return NetworkFile(Path(), description, tensors, digest_of(_fields(description), tensors))


def write(path: str | os.PathLike[str], network: NetworkFile) -> None:
    """Write a network to the file ``path``, whole or not at all."""
    write_file(path, pieces(network))


def pieces(network: NetworkFile) -> Iterator[bytes | memoryview]:
    """Return the bytes of the file of a network, piece by piece."""
    text = json.dumps({**_fields(network.description), "digest": network.digest}, separators=(",", ":"))
    yield from safetensors.pieces(network.tensors, metadata={METADATA: text}, alignment=64)


def digest_of(fields: Mapping[str, Any], tensors: Mapping[str, Array]) -> str:
    """Return the digest of a network: SHA-256 of its description, then of its tensors by name."""
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(tensors):
        digest.update(np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<")).data)
    return digest.hexdigest()


def _fields(description: Description) -> dict[str, Any]:
    """Return the description as a JSON text has it."""
    return {"format": FORMAT, **json.loads(json.dumps(asdict(description)))}


# ---- reading -----------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], *, is_mapped: bool = False) -> NetworkFile:
    """Return the checked network of a file; NetworkError for a bad file, OSError for a missing one.

    It is read into memory, so the network stays the same whatever becomes of the file. ``is_mapped``: it
    stays in the mapped file, whose pages all processes share, and which no code may write to or shorten.
    """
    name = os.fspath(path)
    try:
        with open_file(path) as file:
            # The largest network takes a quarter of the limit.
            content = safetensors.read(file, None if is_mapped else 2**22)
        fields = _description_text(content.metadata)
        description = _described(fields)
    except safetensors.FormatError as error:
        raise NetworkError(f"{name}: it is not a safetensors file of a network: {error}") from None
    except (TypeError, ValueError) as error:
        raise NetworkError(f"{name}: {error}") from None
    _check(name, description, content.arrays)
    found = digest_of({key: value for key, value in fields.items() if key != "digest"}, content.arrays)
    if found != fields["digest"]:
        raise NetworkError(
            f"{name}: its digest is {shown(fields['digest'])}; its content has {found!r}, so it was damaged "
            "or changed after it was exported"
        )
    return NetworkFile(Path(path).absolute(), description, content.arrays, found)


def _description_text(metadata: Mapping[str, str]) -> dict[str, Any]:
    if METADATA not in metadata:
        raise ValueError(
            f"its header has no metadata {METADATA!r}, so it is not a network for the engine. From the "
            "weights of a PairPolicy, PairPolicy.load(FILE).export(NETWORK) of territorial.nets writes one"
        )
    with raised_as(ValueError, f"its metadata {METADATA!r}: "):
        return parse_object(metadata[METADATA].encode("utf-8", "replace"), _DESCRIPTION_BOUNDS)


def _described(fields: Mapping[str, Any]) -> Description:
    names = list(Description.__dataclass_fields__)
    if fields.get("format") != FORMAT:
        raise ValueError(f"its format is {shown(fields.get('format'))}; this release reads format {FORMAT}")
    check_fields("its description", fields, ["format", *names, "digest"])
    check_type("its digest", fields["digest"], str, "64 hexadecimal digits")
    shifts = fields["shifts"]
    check_fields("its shifts", shifts, LAYERS)
    return Description(
        own_columns=_columns("own_columns", fields["own_columns"]),
        pair_columns=_columns("pair_columns", fields["pair_columns"]),
        **{name: fields[name] for name in names[2:-1]},
        shifts=dict(shifts),
    )


def _columns(what: str, value: Any) -> tuple[Column, ...]:
    """Return columns as a description has them; ``_check`` looks at their versions."""
    if not isinstance(value, list) or not all(
        isinstance(entry, list) and list(map(type, entry)) == [str, int] for entry in value
    ):
        raise TypeError(f"its {what} is {shown(value)}; it must be a list of names with versions")
    return _shared(tuple((name, version) for name, version in value))


@lru_cache(maxsize=16)
def _shared(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return one object for all networks that read the same: hundreds would take 8 KB each for names."""
    return columns


# ---- checks ------------------------------------------------------------------------------------------


def _check(name: str, description: Description, tensors: Mapping[str, Array]) -> None:
    """Raise NetworkError unless this is a network that the engine can play."""
    with raised_as(NetworkError, f"{name}: ", (TypeError, ValueError)):
        check_description(description)
        _check_tensors(description, tensors)
        for layer, size in description.sizes().items():
            weights, biases = tensors[f"{layer}.weights"], tensors[f"{layer}.biases"]
            worst = worst_sums(size, weights, biases, description.shifts[layer])
            if worst.max() > SUM_LIMIT:
                output = int(worst.argmax())
                raise ValueError(
                    f"output {output} of the layer {layer} can reach a sum of {int(worst[output]):,}, which "
                    f"saturates int32; sums must be at most {SUM_LIMIT:,}, so its weights or its bias must "
                    "be smaller"
                )


def check_description(description: Description) -> None:
    """Raise TypeError or ValueError for an impossible description."""
    for what, columns in (("own", description.own_columns), ("pair", description.pair_columns)):
        whole_number(f"the number of {what} columns", len(columns), 1, MOST_COLUMNS)
        names = [name for name, _ in columns]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"the {what} column {shown(repeated[0])} is named twice; it must be named once")
        for name, version in columns:
            whole_number(f"the version of the {what} column {shown(name)}", version, 1, 2**31 - 1)
    for what in ("candidate_width", "context_width"):
        width = whole_number(what, getattr(description, what), LANES, MOST_WIDTH)
        if width % LANES:
            raise ValueError(f"{what} is {width}; it must be a multiple of {LANES}")
    whole_number("num_candidates", description.num_candidates, 1, MOST_CANDIDATES)
    whole_number("interval", description.interval, 1, MOST_INTERVAL)
    whole_number("temperature", description.temperature, 0, MOST_TEMPERATURE * TEMPERATURE_UNIT)
    for layer in LAYERS:
        whole_number(f"the shift of the layer {layer}", description.shifts[layer], 1, MOST_SHIFT)


def _check_tensors(description: Description, tensors: Mapping[str, Array]) -> None:
    wanted: dict[str, tuple[str, tuple[int, ...]]] = {}
    for layer, size in description.sizes().items():
        wanted[f"{layer}.weights"] = "int16", (size.inputs // 2, size.outputs, 2)
        wanted[f"{layer}.biases"] = "int32", (size.outputs,)
    check_fields("its table of tensors", tensors, wanted)
    for name, (dtype, shape) in wanted.items():
        found = tensors[name]
        if found.dtype != np.dtype(dtype) or found.shape != shape:
            raise ValueError(
                f"the tensor {name!r} is {found.dtype.name} of shape {found.shape}; it must be {dtype} of "
                f"shape {shape}"
            )


def worst_sums(size: LayerSize, paired: Array, biases: Array, shift: int) -> Array:
    """Return how large the sum of each output can become, int64, half a unit of rounding included."""
    most = np.full(size.inputs, ACTIVATION_LIMIT, np.int64)
    most[: size.columns] = INPUT_LIMIT
    products = np.abs(paired.astype(np.int64)) * most.reshape(-1, 1, 2)
    return products.sum((0, 2)) + np.abs(biases.astype(np.int64)) + 2 ** (shift - 1)


# ---- columns -----------------------------------------------------------------------------------------


def places_of(path: Path, what: str, wanted: Sequence[Column], present: Sequence[Column]) -> list[int]:
    """Return the index of each of the ``wanted`` columns among the ``present`` ones.

    Raises NetworkError, about the file ``path``, for a column that is missing, or there in another version.
    """
    places = {name: i for i, (name, _) in enumerate(present)}
    for name, version in wanted:
        if name not in places:
            raise NetworkError(
                f"{path}: it reads the {what} column {shown(name)}, which this layout does not have"
                f"{hint(name, places)}; there are {', '.join(places)}"
            )
        if (found := present[places[name]][1]) != version:
            raise NetworkError(
                f"{path}: it reads version {version} of the {what} column {shown(name)}; this layout has "
                f"version {found}, so it must be trained again"
            )
    return [places[name] for name, _ in wanted]
