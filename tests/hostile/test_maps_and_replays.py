"""Map files and replays that are damaged or forged: each is loaded, or refused before it costs anything."""

import io
import json
import random
import struct
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image

from territorial import GameConfig, LandMask, Replay
from territorial.maps import files, generate, load, map_of, save
from territorial.replay import Checkpoint, ReplayError, file_format
from territorial.replay.recorded import most_launches
from tests.hostile.mutate import mutated, mutated_json
from tests.hostile.support import amounts, assert_loads_or_refused, chunk, peak_of
from tests.replay.support import body_of, changed, file_of, small_replay, with_header


@cache
def good_map():
    return generate("islands", 40, 57, 1)


def forged(data, seed):
    """A picture with one chunk damaged under a checksum that is right."""
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    kind, body = chunks[seed % (len(chunks) - 1)]
    is_rows = kind == b"IDAT" and seed % 2
    changed = zlib.compress(mutated(zlib.decompress(body), seed)) if is_rows else mutated(body, seed)
    chunks[seed % (len(chunks) - 1)] = kind, changed
    return data[:8] + b"".join(chunk(*parts) for parts in chunks)


def picture(mode):
    file = io.BytesIO()
    Image.fromarray(np.where(good_map().to_array(), 255, 0).astype(np.uint8)).convert(mode).save(file, "PNG")
    return file.getvalue()


@cache
def good_files(folder):
    made = {}
    for suffix in files.SUFFIXES:
        save(good_map(), folder / f"good{suffix}")
        made[suffix] = (folder / f"good{suffix}").read_bytes()
    return made | {f"{mode}.png": picture(mode) for mode in ("P", "RGBA")}


@amounts
@pytest.mark.parametrize(
    ("kind", "change"),
    [(".npy", mutated), (".txt", mutated)]
    + [(kind, change) for kind in (".png", "P.png", "RGBA.png") for change in (mutated, forged)],
)
def test_a_damaged_file_is_a_map_or_refused_with_the_reason(tmp_path_factory, tmp_path, kind, change, amount):
    good, path = good_files(tmp_path_factory.getbasetemp())[kind], tmp_path / "map"

    has_checksums = "png" in kind and change is mutated

    def loaded(data):
        path.write_bytes(data)
        threshold = 128 if "png" in kind and len(data) % 2 else None
        found = load(path, threshold=threshold, unreachable="block")
        assert found == good_map() if has_checksums else isinstance(found, LandMask)

    path.write_bytes(good)
    assert load(path) == good_map()
    assert_loads_or_refused(loaded, change, good, amount, least=0.25)


# ---- drawings and arrays that are too much -----------------------------------------------------------


def test_a_drawing_of_many_lines_is_looked_at_once():
    """Lines are counted here, as clocks are not to be trusted: every list is gone through a few times."""
    steps = []

    class Line(str):
        def __bool__(self):
            steps.append(1)
            return len(self) > 0

    class Text(str):
        def splitlines(self):
            return [Line(line) for line in super().splitlines()]

    for count in (1000, 2000):
        steps.clear()
        assert (
            LandMask.from_text(Text("\n" * count + "\n".join(["." * 16] * 16) + "\n" * count)).num_land == 256
        )
        assert len(steps) <= 2 * count + 20


def test_an_error_lists_a_few_widths_and_not_all():
    with pytest.raises(ValueError, match="rows of one width; row 0 has 1, row 1") as report:
        LandMask.from_text("\n".join("." * width for width in range(1, 900)))
    assert len(str(report.value)) < 200


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n" * (files.MAX_FILE_BYTES - 1) + b".", "as a drawing, it has 16,777,216 bytes; the largest map"),
        (b"." * (files.MAX_FILE_BYTES - 1) + b"x", "line 1 has 'x' at place 16777216"),
        (b".\n" * (files.MAX_FILE_BYTES // 2), "as a drawing, it has 16,777,216 bytes"),
        (
            b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**24 - 12) + b"{" * (2**24 - 12),
            "it is damaged: Header info length",
        ),
    ],
)
def test_a_file_of_the_largest_size_takes_a_few_times_its_bytes(tmp_path, data, reason):
    path = tmp_path / "map"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        load(path)
    assert peak_of(lambda: load(path)) <= 4 * files.MAX_FILE_BYTES


@pytest.fixture(scope="module")
def data():
    return small_replay().to_bytes()


def forged_body(data, seed):
    """A file with a right checksum and a damaged body, or a damaged stream."""
    body = body_of(data)
    if seed % 2:
        return file_of(mutated(body, seed))
    return file_of(b"", length=len(body), stream=mutated(zlib.compress(body), seed))


def forged_header(data, seed):
    """A file whose header says something else, and fits in every other way."""
    sections = file_format.unpack(data)
    parts = (mutated_json(json.dumps(sections.header).encode(), seed), *sections[1:])
    return file_of(b"".join(struct.pack("<I", len(part)) + part for part in parts))


def forged_columns(data, seed):
    """A file with damaged launches or checkpoints."""
    part = random.Random(seed).choice(("land", "launches", "checkpoints"))
    return changed(Replay.from_bytes(data), part, lambda section: mutated(section, seed))


@amounts
@pytest.mark.parametrize("change", [mutated, forged_body, forged_header, forged_columns])
def test_a_damaged_replay_plays_or_is_refused_with_the_reason(data, change, amount):
    def played(damaged):
        replay = Replay.from_bytes(damaged)
        if replay.num_ticks <= 1000:
            replay.verify()

    assert_loads_or_refused(played, change, data, amount, errors=ReplayError, least=0.25)


# ---- what a file can cost ----------------------------------------------------------------------------


@pytest.fixture
def unpacked(monkeypatch):
    """How many bytes each call has decompressed."""
    sizes, whole = [], file_format._Body._decompressed

    def counted(body, size):
        part = whole(body, size)
        sizes.append(len(part))
        return part

    monkeypatch.setattr(file_format._Body, "_decompressed", counted)
    return sizes


LAUNCHES = (file_format.MAX_BODY - 4096) // 7
TOO_MUCH = {
    "launches": (
        lambda section: struct.pack("<4I", LAUNCHES, 0, 0, 0) + bytes(7 * LAUNCHES),
        16 + 7 * 20 * 4 * 5,
    ),
    "checkpoints": (lambda section: bytes(file_format.MAX_BODY - 4096), 12 * 201),
    "land": (lambda section: bytes(file_format.MAX_BODY - 4096), 72),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_more_than_a_game_can_hold_is_refused_before_it_is_unpacked(data, unpacked, name):
    """A game of 200 ticks, with a decision every 10, of 4 seats on 24 x 24 cells."""
    change, most = TOO_MUCH[name]
    hostile = changed(Replay.from_bytes(data), name, change)
    assert len(hostile) < 64 * 2**10
    unpacked.clear()
    with pytest.raises(
        ReplayError, match=f"the {name} of the replay claims .* in such a game it takes {most:,} at"
    ):
        Replay.from_bytes(hostile)
    assert sum(unpacked) < len(body_of(data))
    assert peak_of(lambda: Replay.from_bytes(hostile)) < 2**20


def test_a_long_header_is_refused_before_it_is_unpacked(unpacked):
    hostile = file_of(struct.pack("<I", 2**24) + b" " * 2**24)
    with pytest.raises(ReplayError, match="the header of the replay claims 16,777,216 bytes"):
        Replay.from_bytes(hostile)
    assert unpacked == [4]


def test_a_body_that_swells_is_not_followed_beyond_what_its_sections_take(data, unpacked):
    body = body_of(data)
    hostile = file_of(b"", length=len(body), stream=zlib.compress(body + bytes(2**25), 9))
    with pytest.raises(ReplayError, match="does not hold the"):
        Replay.from_bytes(hostile)
    assert sum(unpacked) == len(body) + 1
    unpacked.clear()
    with pytest.raises(
        ReplayError, match=f"{file_format.MAX_BODY - len(body):,} bytes after its last section"
    ):
        Replay.from_bytes(
            file_of(b"", length=file_format.MAX_BODY, stream=zlib.compress(body + bytes(2**25), 9))
        )
    assert sum(unpacked) == len(body)


def test_checkpoints_that_do_not_rise_are_refused_before_there_is_an_object_for_each(data):
    replay = Replay.from_bytes(data)
    long = file_format.unpack(with_header(replay, ticks=0)).header["config"] | {"max_ticks": 10_000_000}
    forged = file_format.unpack(with_header(replay, config=long, ticks=2_000_000))
    hostile = file_format.pack(forged._replace(checkpoints=bytes(12 * 1_900_000)))
    with pytest.raises(ReplayError, match="they must increase"):
        Replay.from_bytes(hostile)
    assert peak_of(lambda: Replay.from_bytes(hostile)) < 6 * 12 * 1_900_000


def test_a_replay_has_no_more_launches_than_a_game_can_hold(data):
    replay = Replay.from_bytes(data)
    most = most_launches(replay.config, 200)
    assert most == 20 * 4 * 5
    full = np.tile(np.array([0, 1, 0, 1], np.int32), (most, 1))
    end = (Checkpoint(200, bytes(8)),)
    made = replace(replay, launches=full, checkpoints=end)
    assert len(Replay.from_bytes(made.to_bytes()).launches) == most
    with pytest.raises(ValueError, match="there are 401 launches; a game of 200 ticks holds at most 400"):
        replace(replay, launches=np.vstack([full, full[:1]]), checkpoints=end)


def test_moving_on_in_a_game_copies_no_launches():
    """Else a file of many launches and many checkpoints would take the product of both."""
    config = GameConfig(height=64, width=64, num_players=16, map="open", max_ticks=10_000, decision_every=1)
    ticks = np.sort(np.random.default_rng(0).integers(0, 10_000, 400_000))
    seats = np.arange(400_000) % 16 + 1
    game = Replay(
        config=config.replace(map=map_of(config, 0)),
        seed=0,
        seats=("agent",) * 16,
        names=("a",) * 16,
        launches=np.stack([ticks, seats, seats, np.ones_like(seats)], axis=1),  # at oneself: not legal
        checkpoints=(Checkpoint(10_000, bytes(8)),),
        num_ticks=10_000,
        is_over=False,
    )
    game.seek(1)
    assert peak_of(lambda: [game.seek(tick) for tick in range(2, 10)]) < game.launches.nbytes / 16
