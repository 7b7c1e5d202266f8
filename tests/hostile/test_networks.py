"""Damaged and forged files of networks are refused with a text, or are the network that they were."""

from __future__ import annotations

import json

import pytest

from territorial.bots.network_file import METADATA, NetworkError, read
from tests.bots.networks import random_file
from tests.hostile.mutate import mutated, mutated_json, outcomes
from tests.hostile.support import MB, amounts, peak_of


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
    data = original.path.read_bytes()
    found = outcomes(
        lambda copy: _assert_same(load(copy), original),
        (mutated(data, i) for i in range(amount)),
        NetworkError,
    )
    assert found["refused"] > 0.8 * amount
    assert found["refused without a text"] == 0


def _assert_same(network, original):
    assert (network.digest, network.description) == (original.digest, original.description)


@amounts
def test_forged_descriptions_are_refused(original, load, amount):
    data = original.path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    description = header["__metadata__"][METADATA].encode()

    def forged(seed: int) -> bytes:
        header["__metadata__"][METADATA] = mutated_json(description, seed).decode()
        text = json.dumps(header).encode()
        return len(text).to_bytes(8, "little") + text + rest

    found = outcomes(load, map(forged, range(amount)), NetworkError)
    assert found["refused"] >= 0.97 * amount
    assert found["refused without a text"] == 0


def test_a_forged_length_takes_no_memory(load):
    assert peak_of(lambda: load((2**60).to_bytes(8, "little") + b"{}")) < MB
