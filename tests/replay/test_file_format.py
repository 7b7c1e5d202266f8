"""Files of replays: what is written is read; what is damaged, hostile or of another version is refused."""

import pickle
import re
import struct
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import territorial
from territorial import Replay
from territorial.constants import RULES_VERSION
from territorial.replay import ReplayError, file_format
from tests.replay.support import (
    body_of,
    changed,
    file_of,
    random_actions,
    recorded_game,
    same_replay,
    small_replay,
    with_header,
)


@pytest.fixture(scope="module")
def replay():
    return small_replay()


@pytest.fixture(scope="module")
def data(replay):
    return replay.to_bytes()


def refusal(data):
    """The reason why these bytes are refused, or None if they are not; anything else is an error."""
    try:
        Replay.from_bytes(data)
    except ReplayError as error:
        return str(error)
    return None


# ---- writing and reading ---------------------------------------------------------------------------


def test_what_is_written_is_read(replay, tmp_path):
    replay.save(tmp_path / "a.replay")
    read = Replay.load(tmp_path / "a.replay")
    names = ("config", "seed", "seats", "names", "checkpoints", "num_ticks", "is_over", "map_kind", "terrain")
    assert attrgetter(*names)(read) == attrgetter(*names)(replay)
    assert (read.launches.dtype, read.launches.flags.writeable) == (np.int32, False)
    assert len(read.launches) > 20
    assert (read.library_version, read.obs_version) == (territorial.__version__, territorial.OBS_VERSION)
    assert same_replay(read, replay)
    assert [path.name for path in tmp_path.iterdir()] == ["a.replay"]


def test_pickling_a_replay_takes_no_more_than_its_file_of_some_hundred_bytes(replay, data):
    replay.seek(100)
    sent = pickle.dumps(replay)
    assert len(sent) < len(data) + 200 < 1400
    assert same_replay(pickle.loads(sent), replay)


@given(
    st.lists(
        st.tuples(st.integers(0, 10**6 - 1), st.integers(1, 7), st.integers(0, 7), st.integers(1, 1024)),
        max_size=200,
    ),
    st.integers(1, 50),
)
@example([(9, 7, 0, 1), (9, 7, 7, 1024), (9, 7, 7, 1024), (10**6 - 1, 1, 1, 300)], 1)
def test_columns_hold_any_launches(rows, decision_every):
    launches = np.array(rows, np.int32).reshape(-1, 4)
    launches[:, 0] *= decision_every
    launches = launches[np.lexsort((launches[:, 1], launches[:, 0]))]
    section = file_format.pack_launches(launches, 7, decision_every)
    assert len(section) == 4 * 7 + 7 * len(rows)
    assert np.array_equal(file_format.unpack_launches(section, 7, decision_every), launches)


# ---- size ------------------------------------------------------------------------------------------


def test_a_whole_game_of_32_bots_at_full_size_takes_a_few_kilobytes():
    seats = territorial.LINEUPS["mixed-1"].seats
    game, replay = recorded_game(territorial.GameConfig(), seats, checkpoint_every=1000)
    assert game.state.tick[0] > 5000
    assert len(replay.to_bytes()) < 4096
    replay.verify()


def test_a_game_in_which_everybody_launches_all_the_time_fits_into_64_kilobytes():
    rng = np.random.default_rng(0)
    config = territorial.GameConfig(deaths=False, max_ticks=6000, win_percent=100, attackers_per_defender=2)
    _, replay = recorded_game(config, None, actions=lambda game: random_actions(game, rng, share=1))
    assert (replay.num_ticks, len(replay.launches) > 18_000) == (6000, True)
    assert len(replay.to_bytes()) <= 65_536


# ---- damage ----------------------------------------------------------------------------------------


def test_every_truncation_is_refused_and_anything_appended(data):
    for length in range(len(data)):
        assert refusal(data[:length]) is not None, length
    assert "checksum" in str(refusal(data + b"\0"))
    assert "checksum" in str(refusal(data + data))


# ---- hostile files ---------------------------------------------------------------------------------


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "large.replay"
    with path.open("wb") as file:
        file.truncate(file_format.MAX_FILE + 1)
    with pytest.raises(ReplayError, match="more than the"):
        Replay.load(path)


def test_a_game_too_long_for_a_file_is_not_written(replay, monkeypatch):
    monkeypatch.setattr(file_format, "MAX_BODY", 100)
    with pytest.raises(ReplayError, match="at most 100 fit"):
        replay.to_bytes()


HOSTILE = {
    "no header": (lambda r: file_of(struct.pack("<4I", 0, 0, 0, 0)), "not JSON"),
    "a header that is a list": (lambda r: changed(r, "header", lambda h: [h]), "must be a JSON object"),
    "a header that is nested deeply": (
        lambda r: file_of(struct.pack("<I", 200_000) + b"[" * 200_000 + bytes(12)),
        "header of the replay: it has up to 200,001 values",
    ),
    "a header with a number that takes forever": (
        lambda r: file_of(struct.pack("<I", 10_000) + b"9" * 10_000 + bytes(12)),
        "header of the replay: .*digits",
    ),
    "no seats": (lambda r: with_header(r, seats=...), "no 'seats'"),
    "a seat too few": (lambda r: with_header(r, seats=["agent"] * 3), "4 strings"),
    "seats that are no strings": (lambda r: with_header(r, seats=[1, 2, 3, 4]), r"seats\[0\] is '1'"),
    "a name that moves the cursor": (
        lambda r: with_header(r, names=["\x1b[2J", "b", "c", "d"]),
        "printable characters",
    ),
    "a name without end": (lambda r: with_header(r, names=["a" * 65, "b", "c", "d"]), "1 to 64"),
    "a seed that is none": (lambda r: with_header(r, seed=2**64), "seed is 18446744073709551616"),
    "a seed that is a text": (lambda r: with_header(r, seed="0"), "seed is '0'"),
    "ticks beyond the game": (lambda r: with_header(r, ticks=10**9), "num_ticks is 1000000000"),
    "ticks before a launch": (lambda r: with_header(r, ticks=20), r"launches\[[0-9]+, [0-9]\] is"),
    "an end that may be": (lambda r: with_header(r, over=2), "is_over is 2"),
    "a config that is none": (lambda r: with_header(r, config=[]), "config is not a JSON object"),
    "a config without a field": (
        lambda r: with_header(
            r, config={k: v for k, v in file_format.unpack(r.to_bytes()).header["config"].items() if k > "d"}
        ),
        "same fields: attack",
    ),
    "a config out of range": (
        lambda r: with_header(
            r, config=file_format.unpack(r.to_bytes()).header["config"] | {"height": 10**9}
        ),
        "1000000000",
    ),
    "a map that is too short": (lambda r: changed(r, "land", lambda bits: bits[1:]), "map bits hold 71"),
    "a map that is too wide": (
        lambda r: with_header(r, config=file_format.unpack(r.to_bytes()).header["config"] | {"width": 1024}),
        "map bits hold 72 bytes",
    ),
    "more launches than there are": (
        lambda r: changed(r, "launches", lambda s: struct.pack("<4I", *[2**32 - 1] * 4) + s[16:]),
        "17,179,869,180 of them",
    ),
    "too few bytes for the seats": (lambda r: changed(r, "launches", lambda s: s[:7]), "take 7 bytes"),
    "a launch at a tick that never comes": (
        lambda r: changed(r, "launches", lambda s: rewritten(s, plane=3, byte=255)),
        "a launch at tick 42,",
    ),
    "a launch after the end": (
        lambda r: changed(r, "launches", lambda s: rewritten(s, plane=1, byte=1)),
        r"launches\[[0-9]+, [0-9]\] is",
    ),
    "a launch against nobody": (
        lambda r: changed(r, "launches", lambda s: rewritten(s, plane=4, byte=5)),
        r"launches\[[0-9]+, [0-9]\] is",
    ),
    "more than everything": (
        lambda r: changed(r, "launches", lambda s: rewritten(s, plane=6, byte=4)),
        r"launches\[[0-9]+, [0-9]\] is",
    ),
    "no checkpoints": (lambda r: changed(r, "checkpoints", lambda s: b""), "checkpoints are at ticks"),
    "half a checkpoint": (lambda r: changed(r, "checkpoints", lambda s: s[:-1]), "they take 12 each"),
    "a checkpoint that is no end": (
        lambda r: changed(r, "checkpoints", lambda s: struct.pack("<I", 7) + s[-8:]),
        "increase up to 200",
    ),
    "something after the end": (lambda r: file_of(body_of(r.to_bytes()) + b"x"), "1 bytes after its last"),
    "a pickle": (lambda r: pickle.dumps(r.config), "its first bytes are not"),
    "nothing": (lambda r: b"", "its first bytes are not"),
}


def rewritten(section, plane, byte):
    """The launches of four seats with the last byte of a plane changed."""
    total = (len(section) - 16) // 7
    place = 16 + (plane + 1) * total - 1
    return section[:place] + bytes([byte]) + section[place + 1 :]


@pytest.mark.parametrize(("make", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_is_refused_with_the_reason(replay, make, reason):
    with pytest.raises(ReplayError, match=reason):
        Replay.from_bytes(make(replay))


def test_a_map_without_room_is_refused_when_the_game_begins(replay):
    flooded = Replay.from_bytes(changed(replay, "land", lambda bits: bytes(len(bits))))
    for play in (flooded.verify, lambda: flooded.seek(0), lambda: next(flooded.frames())):
        with pytest.raises(ReplayError, match="cannot be set up"):
            play()


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_another_version_of_the_format_is_refused_and_named(data, version):
    reason = refusal(file_of(body_of(data), version=version))
    assert reason == f"the replay has version {version} of the format; this library reads version 1"


def test_another_version_of_the_rules_is_refused_and_named(replay):
    reason = str(refusal(with_header(replay, rules=RULES_VERSION + 1, library="9.9.9")))
    for part in (f"version '{RULES_VERSION + 1}' of the rules", "9.9.9", f"plays version {RULES_VERSION}"):
        assert part in reason


def test_another_version_of_observations_does_no_harm(replay):
    assert Replay.from_bytes(with_header(replay, observations=99)).obs_version == 99


def test_the_reason_names_the_file(data, tmp_path):
    path = tmp_path / "cut.replay"
    path.write_bytes(data[:-1])
    with pytest.raises(ReplayError, match=r"cut\.replay': the replay is cut short or altered"):
        Replay.load(path)
    with pytest.raises(FileNotFoundError):
        Replay.load(tmp_path / "missing.replay")


@pytest.mark.parametrize(
    "fields",
    [
        {"teams": 2, "team_deal": "random", "team_spawns": "together"},
        {"teams": (1, 2, 1, 2)},
        {"teams": None},
    ],
)
def test_teams_are_kept(replay, fields):
    config = replay.config.replace(**fields)
    kept = Replay.from_bytes(replace(replay, config=config).to_bytes())
    assert (kept.config, kept.to_bytes() == replay.to_bytes()) == (config, config.teams is None)


PAGE = Path(__file__).parents[2] / "docs/replay_format.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.checkout
def test_the_parser_on_the_page_reads_a_file():
    replay = small_replay()
    (source,) = [block for block in BLOCKS if "def parse(" in block]
    names: dict = {}
    exec(source, names)
    header, land, launches, checkpoints = names["parse"](replay.to_bytes())
    assert (header["seats"], header["seed"]) == (list(replay.seats), replay.seed)
    assert np.array_equal(land, replay.land.to_array())
    assert launches == [tuple(row) for row in replay.launches.tolist()]
    assert checkpoints == list(replay.checkpoints)
