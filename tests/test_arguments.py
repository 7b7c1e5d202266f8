"""Arguments: whole numbers of a range, True and False, numbers in arrays of size 1, names that are known."""

import dataclasses
from inspect import signature

import numpy as np
import pytest

import territorial
from territorial.bots import PythonBot, Style
from territorial.config.fields import about, check_values, documents_fields, option, takes_keywords_of
from territorial.config.validation import (
    check_keywords,
    checked_list,
    finite_number,
    hint,
    holds_whole_numbers,
    index_of,
    is_whole_number,
    one_of,
    shown,
    suggests_keywords,
    true_or_false,
    whole_number,
    whole_number_in,
    whole_numbers,
)

WHOLE = "it must be a whole number from 3 to 7"
FINITE = "it must be a finite number from 0 to 1"
REFUSED = [
    *((whole_number, (value, 3, 7), ValueError, WHOLE) for value in (2, 8, -(10**30), 10**30, np.int64(8))),
    *(
        (whole_number, (value, 3, 7), TypeError, WHOLE)
        for value in (4.0, "4", None, True, np.True_, [4], np.float32(4), 4j)
    ),
    (whole_number, (-1, 0), ValueError, "it must be a whole number of at least 0"),
    *(
        (true_or_false, (value,), TypeError, "it must be True or False")
        for value in (1, 0, None, "yes", np.int8(1))
    ),
    *((finite_number, (value, 0, 1), TypeError, FINITE) for value in (None, True, np.True_, "1", [1], 1j)),
    *(
        (finite_number, (value, 0, 1), ValueError, FINITE)
        for value in (float("nan"), float("inf"), -0.1, 1.1, 10**400)
    ),
    (finite_number, (-1.0, 0), ValueError, "it must be a finite number from 0"),
    (checked_list, ("ab", str), TypeError, "it must be a list"),
    (one_of, (None, ("left", "right")), ValueError, "it must be one of left, right"),
    (one_of, ("rihgt", ("left", "right")), ValueError, r"\(did you mean 'right'\?\); it must be one of"),
]


@pytest.mark.parametrize(("check", "arguments", "error", "wanted"), REFUSED)
def test_what_a_value_must_be_is_said_with_its_name(check, arguments, error, wanted):
    with pytest.raises(error, match=rf"^x is .*{wanted}"):
        check("x", *arguments)


@pytest.mark.parametrize("value", [3, 7, np.int8(5), np.uint64(4), np.array(6)])
def test_whole_numbers_of_all_kinds_become_ints(value):
    number = whole_number("size", value, 3, 7)
    assert (type(number), number) == (int, value)
    assert is_whole_number(value, 3, 7)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([[1, 2]], ValueError, r"^x has shape \(1, 2\); it must be \(N, 3\)"),
        ([1, 2, 3], ValueError, r"^x has shape \(3,\); it must be \(N, 3\)"),
        ([[1, 2, 3.0]], TypeError, "^x has dtype float64; it must hold whole numbers"),
        ([[1, 2, True]] * 2 + [[0, 9, 9]], ValueError, r"^x\[2, 1\] is 9; it must be from 0 to 8"),
        (np.full((1, 3), 2**64 - 1, np.uint64), ValueError, r"^x\[0, 0\] is 18446744073709551615"),
    ],
)
def test_of_arrays_the_first_entry_that_cannot_be_is_named(given, error, message):
    with pytest.raises(error, match=message):
        whole_numbers("x", given, (None, 3), 0, (7, 8, 9))
    assert whole_numbers("x", np.ones((2, 3), np.int8), (None, 3), 0, 9).dtype == np.int64


def test_what_is_taken_is_a_whole_number_and_nothing_else_is():
    refused = [arguments for check, arguments, *_ in REFUSED if check is whole_number]
    assert not any(is_whole_number(*arguments) for arguments in refused)
    assert whole_number("size", 10**30, 0) == 10**30, "there is no upper end"


NO_NUMBERS = ["", "-5", "+5", "5.0", "_5", "5__0", "5 0", "five", "\u0665", "\u00b2", "9" * 5000]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *((text, int(text)) for text in ("3", "7", " 5 ", "0_5", "007")),
        *((text, None) for text in ("2", "8", *NO_NUMBERS)),
    ],
    ids=lambda one: ascii(one)[:9],
)
def test_texts_of_digits_are_whole_numbers_and_others_are_none_from_3_to_7(text, number):
    assert whole_number_in(text, 3, 7) == number


def test_arrays_of_whole_numbers_are_those_of_their_types():
    assert all(holds_whole_numbers(np.zeros(2, kind)) for kind in (np.int8, np.uint64, ">i4"))
    assert not any(holds_whole_numbers(np.zeros(2, kind)) for kind in (bool, float, complex, object, "U3"))


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_true_and_false_may_be_those_of_numpy(value):
    assert true_or_false("flag", value) is bool(value)


class Tensor:
    """What a tensor of another library is to numpy."""

    def __init__(self, *numbers):
        self._numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self._numbers, dtype)


WHOLE_NUMBERS = [3, np.int8(3), np.array(3), np.array([3]), np.array([[3]], np.uint8), Tensor(3)]
OTHERS = [
    *(True, np.True_, np.array([True]), 3.0, np.array([3.0]), np.array([3, 3]), np.empty(0, int), [3]),
    *("3", None, Tensor(3, 3), Tensor(3.0), np.array([3], object), np.array(["3"])),
]


def test_a_whole_number_may_lie_in_an_array_of_size_one():
    assert [(type(index_of(value)), index_of(value)) for value in WHOLE_NUMBERS] == [(int, 3)] * 6
    assert [index_of(value) for value in OTHERS] == [None] * len(OTHERS)


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
    report = str(of_python.value).partition(". Did you mean")[0]  # Python 3.14 has a suggestion of its own
    assert str(of_ours.value) == f"{report} (did you mean 'height'?)"
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zebra'; it takes height, width$"):
        check_keywords("function", ["zebra"], ["height", "width"])
    check_keywords("function", ["width"], ["height", "width"])


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int8(1)])
def test_numbers_of_a_range_become_floats(value):
    found = finite_number("x", value, 0, 1)
    assert (type(found), found) == (float, value)


def test_lists_have_entries_of_one_kind():
    assert checked_list("x", iter("ab"), str) == ("a", "b")
    with pytest.raises(TypeError, match=r"x\[0\] is 1; it must be of the type str"):
        checked_list("x", [1, "a"], str)


def test_what_is_shown_of_a_value_is_short():
    assert shown("ab") == "'ab'"
    for value in ("x" * 10**6, [["x" * 100] * 100] * 100, 10**4000, {str(i): "x" * 100 for i in range(1000)}):
        assert len(shown(value)) < 310


def test_a_function_of_named_keywords_says_which_of_them_was_meant():
    @suggests_keywords
    def function(height, width=3):
        """Return both."""
        return height, width

    assert (function(1), function(height=1, width=2)) == ((1, 3), (1, 2))
    assert list(signature(function).parameters) == ["height", "width"]
    with pytest.raises(
        TypeError, match=r"function\(\) got an unexpected keyword argument 'hieght' \(did you"
    ):
        function(hieght=1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'height'"):
        function()


# ---- dataclasses of options -----------------------------------------------------------------------


@documents_fields
@dataclasses.dataclass(frozen=True)
class Sizes:
    """Sizes."""

    height: int = dataclasses.field(metadata=about("rows", 1, 9))
    share: float = option(0.5, "a share", 0, 1)
    side: str = option("left", '"left" or "right"', choices=("left", "right"))
    depth: int | None = option(None, "layers", 1, none="all")
    is_flat: bool = option(False, "whether it is flat")

    def __post_init__(self) -> None:
        check_values(self)


def test_fields_check_and_describe_themselves():
    assert Sizes(np.int8(3), 1, "right", None, np.True_) == Sizes(3, 1.0, "right", None, True)
    assert type(Sizes(np.int8(3), share=1).share) is float
    for wrong in ({"height": 10}, {"share": 1.5}, {"side": "up"}, {"depth": 0}):
        with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
            Sizes(**{"height": 1} | wrong)
    for wrong in ({"height": None}, {"share": "1"}, {"depth": 1.0}, {"is_flat": 1}):
        with pytest.raises(TypeError, match=f"^{next(iter(wrong))} is "):
            Sizes(**{"height": 1} | wrong)
    assert Sizes.__doc__.splitlines() == [
        "Sizes.",
        "",
        "Args:",
        "    height: rows; 1 to 9.",
        "    share: a share; 0 to 1; default 0.5.",
        '    side: "left" or "right"; default "left".',
        "    depth: layers; at least 1; default None: all.",
        "    is_flat: whether it is flat; default False.",
    ]


def test_keywords_of_another_function_are_in_the_signature_and_no_others_are_known():
    @takes_keywords_of(Sizes, but=["height"])
    def function(count, *, side="right", **keywords):
        return count, side, keywords

    assert str(signature(function)).startswith("(count, *, side='right', share: ")
    assert list(signature(function).parameters) == ["count", "side", "share", "depth", "is_flat"]
    assert function(1, depth=2) == (1, "right", {"depth": 2})
    for unknown in ("heihgt", "height"):
        with pytest.raises(TypeError, match=rf"function\(\) got an unexpected keyword argument '{unknown}'"):
            function(1, **{unknown: 3})


class Patient(PythonBot):
    """A bot in Python, of which somebody names the class."""


SMALL = {"height": 32, "width": 32, "num_players": 4}
MISTAKES = [
    (
        lambda: territorial.GameConfig(map=np.zeros((32, 32))),
        r"^map is an array of float64, shape \(32, 32\);",
    ),
    (
        lambda: territorial.GameConfig(rewards={"land": "1"}),
        "the weight of 'land' in rewards is '1'; it must be",
    ),
    (lambda: Style(intervall=1), r"'intervall' \(did you mean 'interval'\?\)"),
    (
        lambda: territorial.VecGame(territorial.GameConfig(**SMALL), seats=[Patient] * 4),
        r"^seats\[0\] is .*; it must be an object of this class: Patient\(\)",
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_usual_mistakes_are_told_as_such(mistake, message):
    with pytest.raises(TypeError, match=message):
        mistake()


@pytest.mark.parametrize("actions", [[0, 0], None])
def test_actions_that_are_no_dict_are_refused(actions):
    env = territorial.parallel_env(**SMALL, obs="features")
    env.reset(seed=0)
    with pytest.raises(TypeError, match=r"^actions is .*; it must be a dict .* such as \{'player_0': 0\}"):
        env.step(actions)
