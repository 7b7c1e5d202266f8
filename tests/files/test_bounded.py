"""Files are read up to a bound, JSON strictly; what is beyond, or no ordinary file, is refused."""

import io
import json
import os
import re

import pytest

from territorial.files.bounded import Bounds, check_fields, fits, parse, parse_object, read_file, whole_lines
from tests.hostile.support import nested

BOUNDS = Bounds(nbytes=10_000, values=1000)


@pytest.mark.parametrize(
    "value", [None, True, 0, -1.5, "é", [], {}, {"a": [1, {"b": None}]}, 10**30, json.loads(nested(30))]
)
def test_what_is_json_is_read(value):
    assert parse(json.dumps(value, ensure_ascii=False).encode(), BOUNDS) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "it is not JSON: Expecting value"),
        (b"\xff", "it is not JSON: 'utf-8' codec"),
        (b"{", "it is not JSON"),
        (b"NaN", "it has the number 'NaN'; numbers must be finite"),
        (b"[-Infinity]", "it has the number '-Infinity'"),
        (b"[1e999]", "it has the number '1e999'"),
        (b"9" * 5000, "digits"),
        (b'{"a": 1, "a": 1}', "the name 'a' occurs twice in an object"),
        (nested(34).encode(), "it has lists or objects nested more than 32 deep"),
        (b"[" * 5000, "values; it must have at most 1,000"),
        (b" " * 10_001, "it has 10,001 bytes; it must have at most 10,000"),
        (b"[" + b"0," * 1000 + b"0]", "it has up to 1,002 values; it must have at most 1,000"),
        (b'[{"a": ' * 40 + b"1" + b"}]" * 40, "nested more than"),
    ],
)
def test_what_is_not_is_refused_with_the_reason(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text, BOUNDS)


def test_depth_beyond_the_interpreters_own_is_refused_alike():
    with pytest.raises(ValueError, match="more than 32 deep"):
        parse(nested(100_000).encode(), Bounds(10**6, 10**6))


@pytest.mark.parametrize("text", [b"[]", b"1", b"null", b'"a"'])
def test_an_object_is_an_object(text):
    with pytest.raises(ValueError, match="it must be a JSON object"):
        parse_object(text, BOUNDS)


def test_what_fits_can_be_read():
    assert [fits(b"[1, 2]", Bounds(*most)) for most in ((6, 3), (5, 3), (6, 2))] == [True, False, False]
    assert parse(b"[1, 2]", Bounds(6, 3)) == [1, 2]


def test_fields_are_named():
    check_fields("it", {"a": 1, "b": 2}, {"a"}, {"b"})
    for values, error, message in (
        ({"b": 1}, ValueError, "it has no 'a'; it must have the fields a, b"),
        ({"a": 1, "c": 1}, ValueError, "it has the field 'c'; it must have only the fields a, b"),
        ([1], TypeError, re.escape("it is [1]; it must be a mapping of fields")),
    ):
        with pytest.raises(error, match=message):
            check_fields("it", values, {"a"}, {"b"})


# ---- files ---------------------------------------------------------------------------------------------


def test_a_file_is_read_up_to_its_bound(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    with pytest.raises(ValueError, match="it has more than 4 bytes, which is the limit"):
        read_file(path, 4)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "y", 4)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes in folders")
def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match=f"'{path}' is not a regular file"):
            read_file(path, 4)


def test_lines_are_whole_and_no_longer_than_they_may_be():
    assert list(whole_lines(io.BytesIO(b"a\n\nbc\nd"), 3)) == [b"a\n", b"\n", b"bc\n"]
    assert list(whole_lines(io.BytesIO(b""), 3)) == []
    for content in (b"a\nbcd\n", b"a\nbcdefghij"):
        file = io.BytesIO(content)
        with pytest.raises(ValueError, match="line 2 has more than 3 bytes"):
            list(whole_lines(file, 3))
        assert file.tell() == 6
