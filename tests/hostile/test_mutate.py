"""Tests of the mutations themselves: they depend on the seed alone, and reach what they are meant to."""

import json

import pytest

from tests.hostile import mutate

TEXT = json.dumps(
    {"name": "x", "sizes": [1, 2, 3], "more": {"rate": 0.5, "is_on": True, "none": None}}
).encode()
ARCHIVE = mutate.zipped([("a.json", TEXT), ("b", bytes(range(256)))])
MUTATIONS = {
    "bytes": (mutate.mutated, TEXT),
    "json": (mutate.mutated_json, TEXT),
    "zip": (mutate.mutated_zip, ARCHIVE),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_seed_gives_one_copy_and_seeds_give_many(name: str) -> None:
    change, data = MUTATIONS[name]
    copies = [change(data, seed) for seed in range(300)]
    assert copies == [change(data, seed) for seed in range(300)]
    assert len(set(copies)) > 150


def test_bytes_are_never_left_as_they_were_and_nothing_is_too_short() -> None:
    for data in (b"", b"x", TEXT):
        assert all(mutate.mutated(data, seed) != data for seed in range(200))


def test_json_stays_json_and_an_archive_an_archive() -> None:
    for seed in range(300):
        json.loads(mutate.mutated_json(TEXT, seed))
        mutate.unzipped(mutate.mutated_zip(ARCHIVE, seed))


def test_outcomes_counts_names_the_copy_and_wants_a_text() -> None:
    assert mutate.outcomes(int, [b"1", b"x"]) == {"loads": 1, "refused": 1}
    with pytest.raises(ZeroDivisionError) as caught:
        mutate.outcomes(lambda data: 1 // len(data), [b"1", b""])
    assert caught.value.__notes__ == ["copy 1 of 0 bytes: b''"]

    def silent(data: bytes) -> None:
        raise ValueError

    assert mutate.outcomes(silent, [b""]) == {"refused without a text": 1}
