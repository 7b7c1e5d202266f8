"""Files of tensors are safetensors: the library reads ours, we read the library's, and damage is found."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from territorial.files.safetensors import NUMPY_DTYPES, FormatError, Tensors, pieces, read
from tests.league.support import tensors

# What numpy itself has of the dtypes of the format.
OWN = ("bool", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8", "c8")

arrays = npst.arrays(
    st.sampled_from([np.dtype(code).newbyteorder(order) for code in OWN for order in "<>"]),
    npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)
named_arrays = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "__metadata__"), arrays, max_size=5
)


def as_bytes(*arguments) -> bytes:
    return b"".join(pieces(*arguments))


def from_bytes(content: bytes, folder: Path) -> Tensors:
    path = folder / "file.safetensors"
    path.write_bytes(content)
    with open(path, "rb") as file:
        return read(file)


def assert_equal(found, expected) -> None:
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(found[name], array)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("files")


@settings(max_examples=30)
@given(content=named_arrays)
def test_arrays_come_back_whatever_their_shape_dtype_and_byte_order(folder, content):
    found = from_bytes(as_bytes(content), folder)
    assert_equal(found.arrays, content)
    assert all(array.flags.aligned for array in found.arrays.values())


def test_slices_and_transposed_arrays_come_back_in_whatever_order_they_are_given():
    square = np.arange(36, dtype=np.int32).reshape(6, 6)
    given = {"a": square.T, "b": square[::2, 1:4], "c": square[::-1], "d": np.broadcast_to(square[0], (3, 6))}
    assert as_bytes(given) == as_bytes({name: array.copy() for name, array in reversed(given.items())})


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2"])
def test_dtypes_that_numpy_lacks_are_bits_with_a_name(tmp_path, dtype):
    bits = np.arange(6, dtype=NUMPY_DTYPES[dtype]).reshape(2, 3)
    found = from_bytes(as_bytes({"w": bits}, {"w": dtype}), tmp_path)
    assert found.dtypes == {"w": dtype}
    assert_equal(found.arrays, {"w": bits})


@pytest.mark.parametrize(
    ("content", "dtypes", "error", "message"),
    [
        (
            {"w": np.zeros(2, "c16")},
            {},
            TypeError,
            "tensor 'w' is of dtype complex128; it must be one of bool",
        ),
        ({"w": np.zeros(2, "M8[s]")}, {}, TypeError, "tensor 'w' is of dtype datetime64"),
        ({"w": [object()]}, {}, TypeError, "tensor 'w' is of dtype object"),
        ({1: np.zeros(2)}, {}, TypeError, "a tensor is called 1; its name must be a string"),
        ({"__metadata__": np.zeros(2)}, {}, ValueError, "which the format reserves"),
        (
            {"w": np.zeros(2)},
            {"v": "BF16"},
            ValueError,
            "dtypes names 'v', which is not the name of a tensor",
        ),
        (
            {"w": np.zeros(2, "u2")},
            {"w": "bf16"},
            ValueError,
            r"dtypes\['w'\] is 'bf16' \(did you mean 'BF16'\?\); it must be one of BOOL",
        ),
        (
            {"w": np.zeros(2, "f4")},
            {"w": "BF16"},
            ValueError,
            "the array must be of uint16; it is of float32",
        ),
    ],
)
def test_what_cannot_be_written_is_named(content, dtypes, error, message):
    with pytest.raises(error, match=message):
        as_bytes(content, dtypes)


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape, begin, end, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has 0 bytes, too few"),
        (b"1234567", "it has 7 bytes, too few"),
        (
            (2**63).to_bytes(8, "little"),
            "its header has 9,223,372,036,854,775,808 bytes; it must have at most 0",
        ),
        (file_of(b"{"), "its header: it is not JSON"),
        (file_of(b"\xff\xff"), "its header: it is not JSON"),
        (file_of(b"[" * 100_000), "its header: it has lists or objects nested more than 32 deep"),
        (file_of(b'{"a": 1, "a": 2}'), "occurs twice in an object"),
        (file_of([1]), r"its header: it is \[1\]; it must be a JSON object"),
        (file_of({"a": 1}), "must describe 'a' by dtype"),
        (file_of({"a": {"dtype": "U8", "shape": [1]}}, b"1"), "must describe 'a' by dtype"),
        (file_of({"a": entry([1], 0, 1, "I7")}, b"1"), "'a' is of dtype 'I7'; known are BOOL"),
        (file_of({"a": entry([1], 0, 1, ["U8"])}, b"1"), r"'a' is of dtype \['U8'\]"),
        (file_of({"a": entry([-1], 0, 1)}, b"1"), r"'a' has the shape \[-1\]"),
        (file_of({"a": entry([True], 0, 1)}, b"1"), r"'a' has the shape \[True\]"),
        (file_of({"a": entry([1.0], 0, 1)}, b"1"), r"'a' has the shape \[1.0\]"),
        (file_of({"a": entry(1, 0, 1)}, b"1"), "'a' has the shape 1 "),
        (file_of({"a": entry([1], -1, 0)}, b"1"), "'a' has the shape"),
        (file_of({"a": entry([2], 0, 1)}, b"1"), r"'a' takes 2 bytes; its data_offsets are \[0, 1\]"),
        (file_of({"a": entry([1], 1, 0)}, b"1"), "'a' takes 1 bytes"),
        (file_of({"a": entry([2], 0, 2)}, b"1"), "its tensors take 2 bytes; it has 1"),
        (file_of({"a": entry([1], 0, 1)}, b"12"), "its tensors take 1 bytes; it has 2"),
        (file_of({"a": entry([1], 0, 1), "b": entry([1], 0, 1)}, b"1"), "'b' begins at byte 0 of the data"),
        (file_of({"a": entry([1], 0, 1), "b": entry([1], 2, 3)}, b"123"), "'b' begins at byte 2 of the data"),
        (file_of({"a": entry([0, 2**70], 0, 0)}), "they must be short lists of whole numbers"),
        (file_of({"a": entry([1] * 70, 0, 1)}, b"1"), "they must be short lists of whole numbers"),
    ],
)
def test_what_is_not_in_the_format_is_refused(tmp_path, content, message):
    with pytest.raises(FormatError, match=message):
        from_bytes(content, tmp_path)


# ---- the library -------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(content=named_arrays)
def test_the_library_reads_what_is_written_here(content):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    assert_equal(library.load(as_bytes(content)), content)


@settings(max_examples=30)
@given(content=named_arrays)
def test_what_the_library_writes_is_read_here(folder, content):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    little = {name: array.astype(array.dtype.newbyteorder("<"), order="C") for name, array in content.items()}
    found = from_bytes(library.save(little, metadata={"format": "np"}), folder)
    assert_equal(found.arrays, content)


def test_the_library_and_ml_dtypes_agree_about_bfloat16(tmp_path):
    library = pytest.importorskip("safetensors", reason="safetensors is not installed")
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    values = np.array([1, -2, 0.5], ml_dtypes.bfloat16)
    ours = as_bytes({"w": values})
    assert ours == as_bytes({"w": values.view(np.uint16)}, {"w": "BF16"})
    (name, tensor) = library.deserialize(ours)[0]
    assert (name, tensor) == ("w", {"dtype": "BF16", "shape": [3], "data": values.tobytes()})


def test_an_open_file_is_read_from_its_beginning(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(as_bytes(tensors()))
    with open(path, "rb") as file:
        file.seek(0, io.SEEK_END)
        assert_equal(read(file).arrays, tensors())
