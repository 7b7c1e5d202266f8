"""Snapshots, checkpoints and networks that are damaged or forged: manifests, tensors, lists of files."""

import io
import json
import os
import re
from functools import partial

import numpy as np
import pytest

from territorial.bots.network_file import METADATA, NetworkError, read
from territorial.files import safetensors as tensor_file
from territorial.league import (
    DamagedSnapshotError,
    Manifest,
    MismatchError,
    SnapshotStore,
    UnknownSnapshotError,
)
from territorial.league.checkpoints import Checkpoints
from tests.bots.networks import random_file
from tests.hostile.mutate import mutated, mutated_json
from tests.hostile.support import MB, amounts, assert_loads_or_refused, needs_pipes, nested, peak_of
from tests.league.support import manifest, tensors
from tests.league.test_tensor_file import entry, file_of


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path / "store")
    store.add("main-0", tensors(), manifest(settings={"widths": [64, 64]}, metadata={"iteration": 1}))
    return store


@pytest.fixture
def about(store):
    """The file of the manifest."""
    return store.path / "main-0" / "manifest.json"


@pytest.fixture
def weights(store):
    """The file of the tensors."""
    return store.path / "main-0" / "weights.safetensors"


# ---- manifests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bytes": "5"}, "bytes is '5'; it must be a whole number from 8 to"),
        ({"bytes": None}, "bytes is None"),
        ({"bytes": -1}, "bytes is -1"),
        ({"bytes": float("nan")}, "it has the number 'NaN'; numbers must be finite"),
        ({"sha256": 5}, "sha256 is 5; it must be 64 hexadecimal digits"),
        ({"sha256": "x" * 64}, "sha256 is 'xxx"),
        ({"sha256": None}, "sha256 is None"),
        ({"name": "../../x"}, "it is the manifest of '../../x'"),
        ({"name": ["main-0"]}, "it is the manifest of ['main-0']"),
        ({"format": 2}, "it is of format 2; this release reads format 1"),
        ({"height": 1e9}, "height is 1000000000.0; it must be a whole number from 0 to 2147483648"),
        ({"height": 10**10}, "height is 10000000000; it must be a whole number from 0 to 2147483648"),
        ({"frames": True}, "frames is True; it must be a whole number"),
        ({"architecture": ""}, "architecture is ''; it must be a string"),
        ({"architecture": ["x"] * 10**4}, "architecture is ['x', 'x',"),
        ({"settings": json.loads(nested(100))}, "nested more than"),
        ({"network": 5}, "network is 5; it must be a mapping of fields"),
        ({"network": {"bytes": 9}}, "network has no 'sha256'"),
        ({"network": {"bytes": 9, "sha256": "x"}}, "sha256 is 'x'; it must be 64 hexadecimal digits"),
        ({"network": {"bytes": 2**60, "sha256": "0" * 64}}, "bytes is 1152921504606846976; it must be"),
        ({"more": 1}, "the manifest has the field 'more'; it must have only the fields"),
    ],
)
def test_a_forged_manifest_is_refused_by_name_with_its_value(store, about, changed, message):
    about.write_text(json.dumps({**json.loads(about.read_text()), **changed}))
    for call in (store.manifest, store.digest, store.load):
        with pytest.raises(DamagedSnapshotError, match=re.escape(message)) as caught:
            call("main-0")
        assert str(caught.value).startswith(f"snapshot 'main-0' in {store.path} is damaged: manifest.json: ")
        assert len(str(caught.value)) < 1000
    store.remove("main-0")  # what is damaged can be removed
    assert store.names() == []


@pytest.mark.parametrize(
    "name", [*Manifest(**vars(manifest())).to_dict(), "format", "name", "bytes", "sha256"]
)
def test_a_missing_field_is_named(store, about, name):
    fields = json.loads(about.read_text())
    del fields[name]
    about.write_text(json.dumps(fields))
    wanted = {
        "format": "format None",
        "name": "the manifest of None",
        "bytes": "bytes is None",
        "sha256": "sha256 is",
    }
    with pytest.raises(DamagedSnapshotError, match=wanted.get(name, f"the manifest has no '{name}'")):
        store.manifest("main-0")


@pytest.mark.parametrize(
    "text", [b"", b"\xff", nested(10**6).encode(), b"[" + b"[]," * 10**6, bytes(50 * MB), b'{"a":' * 10**5]
)
def test_a_large_manifest_takes_little_memory(store, about, text):
    about.write_bytes(text)
    with pytest.raises(DamagedSnapshotError, match=r"manifest\.json: it (has|is not JSON)"):
        store.manifest("main-0")
    assert peak_of(partial(store.manifest, "main-0")) < 4 * MB


@needs_pipes
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
@pytest.mark.parametrize("file", ["about", "weights"])
def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_damage_and_not_waited_for(store, file, make, request):
    path = request.getfixturevalue(file)
    path.unlink()
    make(path)
    for call in (store.load, store.pack):
        with pytest.raises(DamagedSnapshotError, match=path.name):
            call("main-0")
    assert store.names() == (["main-0"] if file == "weights" else [])


def test_a_file_in_the_place_of_a_folder_and_an_empty_folder_are_no_snapshots(store):
    (store.path / "main-1").write_text("mine")
    (store.path / "main-2").mkdir()
    for call in (store.load, store.pack, store.manifest, store.remove):
        with pytest.raises(UnknownSnapshotError, match="there is no snapshot 'main-1'"):
            call("main-1")
    assert store.names() == ["main-0"]
    assert (store.path / "main-1").exists()


def test_what_could_not_be_read_again_is_not_stored(store):
    for metadata, message in (
        (
            {"x": "y" * 2 * MB},
            "the manifest cannot be stored: it has .* bytes; it must have at most 1,048,576",
        ),
        ({"x": json.loads(nested(40))}, "nested more than"),
    ):
        with pytest.raises(ValueError, match=message):
            store.add("main-1", tensors(), manifest(metadata=metadata))
    assert store.names() == ["main-0"]


@amounts
@pytest.mark.parametrize("change", [mutated, mutated_json])
def test_damaged_manifests_are_refused_or_describe_a_snapshot(store, about, change, amount):
    whole = about.read_bytes()

    def load(text):
        about.write_bytes(text)
        assert isinstance(store.manifest("main-0"), Manifest)
        store.digest("main-0")
        store.load("main-0")
        store.names()

    assert_loads_or_refused(
        load, change, whole, amount, errors=(DamagedSnapshotError, MismatchError, UnknownSnapshotError)
    )


# ---- tensors -------------------------------------------------------------------------------------------


class Opened(io.FileIO):
    """A file that counts what is read of it; mapped bytes are not."""

    nbytes = 0

    def read(self, size=-1, /):
        data = super().read(size)
        self.nbytes += len(data)
        return data


@pytest.mark.parametrize(
    ("content", "message", "most_read"),
    [
        (file_of(b"[" * 10**6), "deep", 10**6 + 8),
        (file_of(b'{"a": ' + b"[]," * 2 * 10**6 + b"0}"), "values; it must have at most", 6 * 10**6 + 16),
        (file_of(b'{"a": ' + b"9" * 10**6 + b"}"), "its header", 10**6 + 16),
        ((17 * MB).to_bytes(8, "little") + bytes(18 * MB), "it must have at most 16,777,216", 8),
        ((2**63).to_bytes(8, "little") + bytes(MB), "it must have at most", 8),
        (file_of({"a": entry([0] + [2**40] * 60, 0, 0)}), "an impossible shape", 10**4),
        (file_of({"a": entry([10**300] * 1000, 0, 0)}), "'a' has the shape", 10**6),
        (file_of({"x" * 10**6: entry([-1], 0, 0)}), r"'xxxx.*\.\.\..*xxx' has the shape", 2 * 10**6),
        (
            file_of({str(i): entry([0], 0, 0) for i in range(20_000)} | {"a": entry([1], 0, 0)}),
            "'a' takes 1 bytes",
            2 * 10**6,
        ),
    ],
    ids=["depth", "lists", "digits", "long", "negative", "axes", "sizes", "name", "many"],
)
def test_a_header_takes_little_memory_and_nothing_else_is_read(tmp_path, content, message, most_read):
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with Opened(path, "rb") as file:
        with pytest.raises(tensor_file.FormatError, match=message) as caught:
            tensor_file.read(file)
        assert len(str(caught.value)) < 1000
        assert file.nbytes <= most_read
        assert peak_of(partial(tensor_file.read, file)) < 4 * file.nbytes + 16 * MB


def test_every_header_is_parsed_once(tmp_path, monkeypatch):
    entries = {str(i): {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(3000)}
    path, seen = tmp_path / "x.safetensors", []
    path.write_bytes(file_of(entries, bytes(3000)))
    real = tensor_file._entry
    monkeypatch.setattr(tensor_file, "_entry", lambda name, value: seen.append(name) or real(name, value))
    with open(path, "rb") as file:
        assert len(tensor_file.read(file).arrays) == 3000
    assert seen == list(entries)


def test_more_tensors_than_a_header_holds_are_not_written(store, monkeypatch):
    monkeypatch.setattr(tensor_file, "BOUNDS", tensor_file.BOUNDS._replace(values=100))
    with pytest.raises(ValueError, match="too many tensors for one header: it has up to"):
        store.add("main-1", {str(i): np.zeros(1) for i in range(50)}, manifest())
    assert store.names() == ["main-0"]


def changed_header(content: bytes, seed: int) -> bytes:
    """Return a file whose header says something else, and has the length that stands before it."""
    end = 8 + int.from_bytes(content[:8], "little")
    return file_of(mutated_json(content[8:end], seed), content[end:])


@amounts
@pytest.mark.parametrize("change", [mutated, changed_header])
def test_damaged_tensors_are_refused_or_arrays(tmp_path, change, amount):
    path = tmp_path / "x.safetensors"
    whole = b"".join(bytes(piece) for piece in tensor_file.pieces(tensors()))

    def load(content):
        path.write_bytes(content)
        with open(path, "rb") as file:
            found = tensor_file.read(file)
        assert sum(array.nbytes for array in found.arrays.values()) <= len(content)
        for array in found.arrays.values():
            array.tobytes()

    assert_loads_or_refused(load, change, whole, amount, errors=tensor_file.FormatError, least=0.25)


# ---- checkpoints ---------------------------------------------------------------------------------------


@pytest.fixture
def checkpoints(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints")

    def fill(folder):
        (folder / "inner").mkdir()
        (folder / "inner" / "league.npz").write_bytes(bytes(100))
        (folder / "state.json").write_text("{}")

    for step in (1, 2):
        checkpoints.write(step, fill)
    return checkpoints


@pytest.mark.parametrize(
    "contents",
    [
        {"../checkpoint-00000001/state.json": 2},
        {"/etc/hostname": os.path.getsize("/etc/hostname") if os.path.exists("/etc/hostname") else 0},
        {"inner/../../checkpoint-00000001/state.json": 2},
        {"state.json": 2.0},
        {"state.json": True},
        {"state.json": "2"},
        {"state.json": None},
        {"inner": 4096},
        {"": 4096},
        {"x" * 5000: 1},
        {"state.json\0": 2},
        [["state.json", 2]],
        "state.json",
        {"state.json": 2, "more": {"state.json": 2}},
        {str(i): 0 for i in range(300_000)},
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_list_of_files_that_are_not_there_is_of_no_checkpoint(checkpoints, contents):
    folder = checkpoints.at(2)
    sizes = {"inner": (folder / "inner").stat().st_size, "": folder.stat().st_size}
    if isinstance(contents, dict):
        contents = {name: sizes.get(name, size) for name, size in contents.items()}
    (folder / "contents.json").write_text(json.dumps(contents))
    assert (checkpoints.steps(), checkpoints.latest()) == ([1], checkpoints.at(1))


@pytest.mark.parametrize(
    "text", [b"[" * 10**6, nested(10**5).encode(), bytes(40 * MB), b'{"a": 1, "a": 1}', b""]
)
def test_a_large_list_of_files_takes_little_memory(checkpoints, text):
    (checkpoints.at(2) / "contents.json").write_bytes(text)
    assert checkpoints.steps() == [1]
    assert peak_of(checkpoints.steps) < 40 * MB


def test_other_digits_are_no_steps(checkpoints):
    checkpoints.at(2).rename(checkpoints.path / "checkpoint-0000000٣")
    assert checkpoints.steps() == [1]


@amounts
@pytest.mark.parametrize("change", [mutated, mutated_json])
def test_damaged_lists_of_files_leave_the_checkpoint_before(checkpoints, change, amount):
    file = checkpoints.at(2) / "contents.json"
    whole = file.read_bytes()
    found = []
    for seed in range(amount):
        file.write_bytes(change(whole, seed))
        found.append(checkpoints.steps())
        assert found[-1] in ([1], [1, 2])
        assert checkpoints.latest() == checkpoints.at(found[-1][-1])
    assert found.count([1]) > amount / 2


# ---- networks ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return random_file(tmp_path_factory.mktemp("networks") / "net", 1, candidate_width=16, context_width=16)


@pytest.fixture
def load(tmp_path):
    def load_copy(data: bytes):
        path = tmp_path / "copy"
        path.write_bytes(data)
        return read(path)

    return load_copy


@amounts
def test_damaged_files_load_as_they_were_or_are_refused(original, load, amount):
    def load_alike(data):
        network = load(data)
        assert (network.digest, network.description) == (original.digest, original.description)

    data = original.path.read_bytes()
    assert_loads_or_refused(load_alike, mutated, data, amount, errors=NetworkError, least=0.8)


@amounts
def test_forged_descriptions_are_refused(original, load, amount):
    data = original.path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    description = header["__metadata__"][METADATA].encode()

    def forged(_: bytes, seed: int) -> bytes:
        header["__metadata__"][METADATA] = mutated_json(description, seed).decode()
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + rest

    assert_loads_or_refused(load, forged, data, amount, errors=NetworkError, least=0.96)


def test_a_forged_length_takes_no_memory(load):
    assert peak_of(lambda: load((2**60).to_bytes(8, "little") + b"{}")) < MB
