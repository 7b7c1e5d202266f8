"""Damaged and forged files of networks are refused with a text, or are the network that they were."""

import json

import pytest

from territorial.bots.network_file import METADATA, NetworkError, read
from tests.bots.networks import random_file
from tests.hostile.mutate import mutated, mutated_json
from tests.hostile.support import MB, amounts, assert_loads_or_refused, peak_of


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
