"""Single arguments: whole numbers of a range, True and False."""

import numpy as np
import pytest

from territorial.arguments import true_or_false, whole_number


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


def test_true_and_false_may_be_those_of_numpy():
    for value in (True, False, np.True_, np.False_):
        assert true_or_false("flag", value) is bool(value)
    for value in (1, 0, None, "yes", np.int8(1)):
        with pytest.raises(TypeError, match=r"flag is .*; it must be True or False"):
            true_or_false("flag", value)
