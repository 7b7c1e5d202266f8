"""Seats: codes of names, from every kind of sequence; line-ups; errors."""

import re
from collections import UserList, deque

import numpy as np
import pytest

from territorial import LINEUPS
from territorial.constants import AGENT_CODE
from territorial.engine.seats import SEAT_NAMES, LineUp, check_seats, seat_codes

NAMES = ("agent", "external", "random", "agent")
CODES = [SEAT_NAMES.index(name) for name in ("agent", "external", "random-1", "agent")]


@pytest.mark.parametrize(
    "seats",
    [
        NAMES,
        list(NAMES),
        deque(NAMES),
        UserList(NAMES),
        np.array(NAMES),
        np.array(NAMES, object),
        [np.str_(name) for name in NAMES],
    ],
    ids=lambda seats: type(seats).__name__,
)
def test_every_kind_of_sequence_has_codes(seats):
    codes = seat_codes(seats, 4)
    assert (codes.dtype, codes.tolist()) == (np.int64, CODES)


def test_every_name_has_its_own_code_and_without_names_every_seat_is_an_agent():
    assert seat_codes(SEAT_NAMES, len(SEAT_NAMES)).tolist() == list(range(len(SEAT_NAMES)))
    assert seat_codes(None, 3).tolist() == [AGENT_CODE] * 3


REFUSED_TYPES = {
    **{
        f"{type(seats).__name__} {seats}": (seats, "seats is .*; it must be a sequence of one name per seat")
        for seats in (
            5,
            True,
            0.5,
            np.int64(5),
            "agent",
            b"agent",
            set(NAMES),
            dict.fromkeys(NAMES),
            object(),
        )
    },
    "a generator": ((name for name in NAMES), "seats is .*generator.*; it must be a sequence"),
    "a range": (range(4), r"seats\[0\] is 0; it must be one of agent, external"),
    "codes": (CODES, r"seats\[0\] is 0; it must be one of agent, external"),
    "an array of codes": (np.array(CODES), r"seats\[0\] is .*0.*; it must be one of agent, external"),
    "a missing name": (["agent", None, "agent", "agent"], r"seats\[1\] is None; it must be one of agent"),
    "bytes for a name": (["agent", "agent", b"agent", "agent"], r"seats\[2\] is b'agent'; it must be one of"),
    "a list for a name": ([["agent"]] * 4, r"seats\[0\] is \['agent'\]; it must be one of"),
    "an array for a name": ([np.array(["agent", "random"])] * 4, r"seats\[0\] is array.*; it must be one of"),
}


REFUSED = [
    *((seats, TypeError, message) for seats, message in REFUSED_TYPES.values()),
    *(
        (np.full(shape, "agent"), TypeError, "it must be a sequence of one name per seat")
        for shape in ((2, 2), (4, 1), (1, 4), ())
    ),
    *(
        (seats, ValueError, f"seats has {len(seats)} entries but num_players is 4")
        for seats in ((), NAMES[:3], [*NAMES, "agent"], np.array(NAMES[:3]))
    ),
    *(
        (
            make(["agent", "agent", name, "agent"]),
            ValueError,
            re.escape(f"seats[2] is {name!r}{meant}; it must"),
        )
        for make in (list, np.array)
        for name, meant in (
            ("wizard", ""),
            ("", ""),
            ("Agent", " (did you mean 'agent'?)"),
            ("agent ", " (did you mean 'agent'?)"),
        )
    ),
]


@pytest.mark.parametrize(("seats", "error", "message"), REFUSED)
def test_what_is_no_sequence_of_names_is_refused(seats, error, message):
    with pytest.raises(error, match=message):
        seat_codes(seats, 4)


def test_line_ups_cannot_be_changed():
    with pytest.raises(TypeError):
        LINEUPS["mixed-1"] = LINEUPS["mixed-1"]
    with pytest.raises(AttributeError):
        LINEUPS["mixed-1"].seats = ()


@pytest.mark.parametrize("lineup", LINEUPS.values(), ids=LINEUPS)
def test_line_ups_are_fields_of_players(lineup):
    assert isinstance(lineup, LineUp)
    check_seats(lineup.seats, len(lineup.seats))
    assert len(set(lineup.seeds)) == len(lineup.seeds)
    assert lineup.teams is None or len(lineup.seats) % lineup.teams == 0
