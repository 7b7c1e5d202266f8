"""Arguments: whole numbers of a range, True and False, numbers in arrays of size 1, names that are known."""

from inspect import signature

import numpy as np
import pytest

from territorial.config.validation import (
    check_keywords,
    checked_list,
    finite_number,
    hint,
    holds_whole_numbers,
    index_of,
    is_whole_number,
    shown,
    suggests_keywords,
    true_or_false,
    whole_number,
    whole_number_in,
)


@pytest.mark.parametrize("value", [3, 7, np.int8(5), np.uint64(4), np.array(6)])
def test_whole_numbers_of_all_kinds_become_ints(value):
    number = whole_number("size", value, 3, 7)
    assert type(number) is int
    assert number == value


@pytest.mark.parametrize("value", [2, 8, -(10**30), 10**30, np.int64(8)])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match=f"^size is {value}; it must be a whole number from 3 to 7$"):
        whole_number("size", value, 3, 7)


@pytest.mark.parametrize("value", [4.0, "4", None, True, np.True_, [4], np.float32(4), 4j])
def test_what_is_no_whole_number_is_of_the_wrong_type(value):
    with pytest.raises(TypeError, match=r"^size is .*; it must be a whole number of at least 0$"):
        whole_number("size", value, 0)


def test_without_an_upper_end_any_number_will_do():
    assert whole_number("size", 10**30, 0) == 10**30
    with pytest.raises(ValueError, match="size is -1; it must be a whole number of at least 0"):
        whole_number("size", -1, 0)


@pytest.mark.parametrize("value", [3, 7, np.int8(5), 2, 8, 4.0, "4", None, True, np.True_, [4], 10**30])
def test_whether_a_value_is_a_whole_number_is_whether_it_is_taken(value):
    try:
        is_taken = bool(whole_number("size", value, 3, 7) == value)
    except (TypeError, ValueError):
        is_taken = False
    assert is_whole_number(value, 3, 7) is is_taken


@pytest.mark.parametrize("text", ["3", "7", " 5 ", "0_5", "007"])
def test_a_text_of_digits_is_a_whole_number(text):
    assert whole_number_in(text, 3, 7) == int(text)


NO_NUMBERS = ["", "-5", "+5", "5.0", "_5", "5__0", "5 0", "five", "\u0665", "\u00b2", "9" * 5000]


@pytest.mark.parametrize("text", ["2", "8", *NO_NUMBERS], ids=lambda text: ascii(text[:9]))
def test_other_texts_are_none_from_3_to_7(text):
    assert whole_number_in(text, 3, 7) is None


def test_arrays_of_whole_numbers_are_those_of_their_types():
    assert all(holds_whole_numbers(np.zeros(2, kind)) for kind in (np.int8, np.uint64, ">i4"))
    assert not any(holds_whole_numbers(np.zeros(2, kind)) for kind in (bool, float, complex, object, "U3"))


def test_true_and_false_may_be_those_of_numpy():
    for value in (True, False, np.True_, np.False_):
        assert true_or_false("flag", value) is bool(value)
    for value in (1, 0, None, "yes", np.int8(1)):
        with pytest.raises(TypeError, match=r"flag is .*; it must be True or False"):
            true_or_false("flag", value)


class Tensor:
    """What a tensor of another library is to numpy."""

    def __init__(self, *numbers):
        self._numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self._numbers, dtype)


@pytest.mark.parametrize(
    "value", [3, np.int8(3), np.array(3), np.array([3]), np.array([[3]], np.uint8), Tensor(3)]
)
def test_a_whole_number_may_lie_in_an_array_of_size_one(value):
    assert index_of(value) == 3
    assert type(index_of(value)) is int


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        np.array([True]),
        3.0,
        np.array([3.0]),
        np.array([3, 3]),
        np.empty(0, int),
        [3],
        "3",
        None,
        Tensor(3, 3),
        Tensor(3.0),
        np.array([3], object),
        np.array(["3"]),
    ],
)
def test_what_is_no_whole_number_has_none(value):
    assert index_of(value) is None


def test_names_that_are_nearly_right_bring_up_the_right_one():
    known = ("height", "width", "num_players", None, 3)
    assert hint("hieght", known) == hint("Height", known) == " (did you mean 'height'?)"
    assert hint("num-player", known) == " (did you mean 'num_players'?)"
    assert hint("--hieght", ["--height", "-h"]) == " (did you mean '--height'?)"
    assert hint("zebra", known) == hint("", known) == hint(None, known) == hint("x", ()) == ""


def test_an_unknown_keyword_is_the_error_that_python_raises():
    def function(height, width):
        return height, width

    with pytest.raises(TypeError) as of_python:
        function(hieght=1)
    with pytest.raises(TypeError) as of_ours:
        check_keywords(function.__qualname__, ["width", "hieght"], ["height", "width"])
    told = str(of_python.value).partition(". Did you mean")[0]  # Python 3.14 has a suggestion of its own
    assert str(of_ours.value) == f"{told} (did you mean 'height'?)"
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zebra'; it takes height, width$"):
        check_keywords("function", ["zebra"], ["height", "width"])
    check_keywords("function", ["width"], ["height", "width"])


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int8(1)])
def test_numbers_of_a_range_become_floats(value):
    found = finite_number("x", value, 0, 1)
    assert (type(found), found) == (float, value)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        *((value, TypeError) for value in (None, True, np.True_, "1", [1], 1j)),
        *((value, ValueError) for value in (float("nan"), float("inf"), -0.1, 1.1, 10**400)),
    ],
)
def test_what_is_no_number_of_the_range_is_refused(value, error):
    with pytest.raises(error, match=r"x is .*; it must be a finite number from 0 to 1$"):
        finite_number("x", value, 0, 1)


def test_lists_have_entries_of_one_kind():
    assert checked_list("x", iter("ab"), str) == ("a", "b")
    for value, message in (
        ("ab", "x is 'ab'; it must be a list"),
        ([1, "a"], r"x\[0\] is 1; it must be of the type str"),
    ):
        with pytest.raises(TypeError, match=message):
            checked_list("x", value, str)


def test_what_is_shown_of_a_value_is_short():
    assert shown("ab") == "'ab'"
    for value in ("x" * 10**6, [["x" * 100] * 100] * 100, 10**4000, {str(i): "x" * 100 for i in range(1000)}):
        assert len(shown(value)) < 310


def test_a_function_of_named_keywords_says_which_of_them_was_meant():
    @suggests_keywords
    def function(height, width=3):
        """Return both."""
        return height, width

    assert function(1) == (1, 3)
    assert function(height=1, width=2) == (1, 2)
    assert list(signature(function).parameters) == ["height", "width"]
    with pytest.raises(
        TypeError, match=r"function\(\) got an unexpected keyword argument 'hieght' \(did you"
    ):
        function(hieght=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'height'"):
        function()
