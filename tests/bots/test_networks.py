"""Networks in the engine decide as docs/networks.md says, and files that cannot be played are refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from territorial.bots import ALIASES, network, network_file
from territorial.bots.network import Rows
from territorial.bots.network_file import (
    LAYERS,
    METADATA,
    NetworkError,
    NetworkLayer,
    assembled,
    read,
    temperature_256ths,
    write,
)
from territorial.config import GameConfig
from territorial.files import safetensors
from territorial.game.formulas import draw
from territorial.observation.layout import positions
from territorial.observation.pair_columns import OWN, PAIRS, PairColumn
from tests.bots.networks import (
    TRAINED,
    choices,
    description,
    named,
    random_file,
    random_layers,
    random_rows,
    rows_of_games,
)
from tests.twin import networks as twin

SEED, TICK = 11, 350
FEW, MANY = 20, 20_000
amounts = pytest.mark.parametrize("amount", [FEW, pytest.param(MANY, marks=pytest.mark.verify)])


def numbers_of(amount: int, seed: int) -> np.ndarray:
    """Return the random numbers of players 1, 2 ... at a decision."""
    return np.array(
        [[draw(np.uint64(seed), 7, TICK, p * 512 + 256 + i) for i in (0, 1)] for p in range(amount)]
    )


def twins_choices(file, rows, **options) -> list[tuple[int, int] | None]:
    of_twin = twin.parse(file.path.read_bytes())
    return [
        twin.decide(of_twin, *named(rows, b), seed=SEED, tick=TICK, player=b, **options)
        for b in range(len(rows.counts))
    ]


def as_decisions(chosen: np.ndarray) -> list[tuple[int, int] | None]:
    return [None if target == 0 else (target - 1, fraction) for target, fraction in chosen.tolist()]


@amounts
@pytest.mark.parametrize("weights", ["random", "trained"])
@pytest.mark.parametrize(("temperature", "seed"), [(0, 0), (0, 1), (256, 2), (77, 3), (65280, 4)])
def test_the_engine_decides_as_the_reference_implementation(tmp_path, amount, weights, temperature, seed):
    if weights == "random":
        file = random_file(tmp_path / "net", seed, temperature=temperature)
        rows = random_rows(amount, seed)
    else:
        file, config = read(TRAINED / "network.safetensors"), GameConfig(height=96, width=96, num_players=12)
        seen = rows_of_games(10 * amount, tuple(ALIASES)[:12], config, num_games=1 + amount // 100, seed=seed)
        rows = type(seen)(*(array[::10] for array in seen))
    decisions = as_decisions(choices(file, rows, numbers_of(amount, SEED), temperature)[0])
    assert decisions == twins_choices(file, rows, temperature=temperature)
    assert len(set(decisions)) > 2


def test_all_logits_are_those_of_the_reference_implementation(tmp_path):
    sizes = {"candidate_width": 64, "context_width": 128, "own_columns": description().own_columns[:7]}
    file, rows = random_file(tmp_path / "net", 5, **sizes), random_rows(12, 5)
    _, found = choices(file, rows, numbers_of(12, 0))
    of_twin = twin.parse(file.path.read_bytes())
    for b, count in enumerate(rows.counts.tolist()):
        wanted = twin.logits(of_twin, *named(rows, b))
        assert (found[b, 0, 0], found[b, 1 : 1 + count, 1:].tolist()) == (wanted.hold, wanted.fractions)
        legal = rows.pairs[b, :count, network.OF_PAIR.legal] > 0
        assert found[b, 1 : 1 + count, 0][legal].tolist() == np.array(wanted.candidates)[legal].tolist()


@pytest.mark.parametrize(("candidate", "context"), [(16, 256), (80, 144), (208, 48)])
def test_seats_that_decide_at_once_decide_as_alone(tmp_path, candidate, context):
    """Alone, in twos and threes: products are computed for four rows, for two or for one."""
    file = random_file(
        tmp_path / "net", 8, candidate_width=candidate, context_width=context, num_candidates=64
    )
    rows = random_rows(23, 8, 64)
    rows.counts[:] = np.minimum(rows.counts, np.tile([3, 0, 9, 1, 2, 64, 5], 4)[:23])
    numbers = numbers_of(23, 0)
    wanted = choices(file, rows, numbers)
    for size in (1, 2, 3):
        parts = [slice(first, first + size) for first in range(0, 23, size)]
        found = [choices(file, Rows(*(array[part] for array in rows)), numbers[part]) for part in parts]
        for whole, pieces in zip(wanted, zip(*found, strict=True), strict=True):
            np.testing.assert_array_equal(whole, np.concatenate(pieces))
    of_twin = twin.parse(file.path.read_bytes())
    for b in (0, 2, 5):
        logits = twin.logits(of_twin, *named(rows, b))
        assert wanted[1][b, 0, 0] == logits.hold
        assert wanted[1][b, 1 : 1 + rows.counts[b], 1:].tolist() == logits.fractions


def test_extreme_inputs_and_weights_stay_within_int32(tmp_path):
    rows = random_rows(4, 6)
    rows.own[:2], rows.own[2:] = 32767, -32768
    rows.pairs[:2], rows.pairs[2:] = 32767, -32768
    file = random_file(tmp_path / "net", 6)
    chosen, _ = choices(file, rows, numbers_of(4, SEED))
    assert as_decisions(chosen) == twins_choices(file, rows)


def test_the_table_of_powers_is_what_its_rule_says():
    for i, power in enumerate(network.POWERS.tolist()):
        assert power**256 * 2**i <= 2**8192 < (power + 1) ** 256 * 2**i


def test_drawn_choices_are_as_likely_as_the_logits_say(tmp_path):
    about = description(temperature=temperature_256ths(1), shifts=dict.fromkeys(LAYERS, 8))
    layers = {
        name: NetworkLayer(w * 0, b * 0, s)
        for name, (w, b, s) in random_layers(about, np.random.default_rng(0)).items()
    }
    layers["score"].biases[:11] = 256 * np.array(
        [0, *([-4096 * 40] * 8), 0, 4096]
    )  # the last is twice as likely
    layers["hold"].biases[0] = 256 * 4096 * 2  # four times as likely as one candidate
    write(tmp_path / "net", assembled(about, layers))
    rows = random_rows(1, 0)
    rows = type(rows)(*(np.repeat(array, 20_000, 0) for array in rows))
    rows.pairs[:, :2], rows.counts[:] = 4096, 2
    numbers = np.random.default_rng(1).integers(0, 2**64, (20_000, 2), np.uint64)
    chosen, _ = choices(read(tmp_path / "net"), rows, numbers)
    np.testing.assert_allclose(np.bincount(chosen[:, 0]) / 20_000, [4 / 6, 1 / 6, 1 / 6], atol=0.015)
    fractions = np.bincount(chosen[chosen[:, 0] > 0, 1], minlength=10)
    np.testing.assert_allclose(fractions / fractions.sum(), [0] * 8 + [1 / 3, 2 / 3], atol=0.03)


# ---- columns ---------------------------------------------------------------------------------------


def test_a_network_plays_under_a_layout_with_more_columns_in_another_order(tmp_path, monkeypatch):
    file, rows = random_file(tmp_path / "net", 7), random_rows(30, 7)
    before = choices(file, rows, numbers_of(30, 0))
    monkeypatch.setattr(network, "OWN", (PairColumn("new", "1"), *OWN[::-1], PairColumn("newer", "2")))
    monkeypatch.setattr(network, "PAIRS", (*PAIRS[::-1], PairColumn("newest", "3")))
    monkeypatch.setattr(network, "OF_PAIR", positions(network.PAIRS))
    later = rows._replace(
        own=np.pad(rows.own[:, ::-1], ((0, 0), (1, 1)), constant_values=77),
        pairs=np.pad(rows.pairs[:, :, ::-1], ((0, 0), (0, 0), (0, 1)), constant_values=78),
    )
    for found, wanted in zip(choices(file, later, numbers_of(30, 0)), before, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        ("OWN", OWN[1:], "reads the own column 'land', which this layout does not have.*there are crowding"),
        ("PAIRS", PAIRS[:-1], "reads the pair column 'force', which this layout does not have"),
        (
            "OWN",
            (replace(OWN[0], version=2), *OWN[1:]),
            "reads version 1 of the own column 'land'; this layout has version 2, so it must be trained",
        ),
    ],
)
def test_a_missing_or_redefined_column_is_refused_by_name(tmp_path, monkeypatch, table, columns, message):
    file = random_file(tmp_path / "net", 7)
    monkeypatch.setattr(network, table, columns)
    with pytest.raises(NetworkError, match=f"{file.path}: it {message}"):
        network.places_in_layout(file)


# ---- files -----------------------------------------------------------------------------------------


def test_a_file_comes_back_as_it_was_written(tmp_path):
    about = description(interval=70, temperature=128)
    written = assembled(about, random_layers(about, np.random.default_rng(0)))
    write(tmp_path / "net", written)
    found = read(tmp_path / "net")
    assert (found.description, found.digest) == (about, written.digest)
    for name in LAYERS:
        np.testing.assert_array_equal(found.tensors[f"{name}.weights"], written.tensors[f"{name}.weights"])
        assert found.tensors[f"{name}.weights"].ctypes.data % 64 == 0
        assert not found.tensors[f"{name}.weights"].flags.writeable


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"interval": 0}, "interval is 0; it must be a whole number from 1 to 10000000"),
        ({"interval": 10**8}, "interval is 100000000; it must be"),
        ({"temperature": -1}, "temperature is -1; it must be a whole number from 0"),
        ({"num_candidates": 65}, "num_candidates is 65; it must be a whole number from 1 to 64"),
        ({"candidate_width": 24}, "candidate_width is 24; it must be a multiple of 16"),
        ({"context_width": 512}, "context_width is 512; it must be a whole number from 16 to 256"),
        ({"own_columns": ()}, "the number of own columns is 0; it must be a whole number from 1"),
        ({"own_columns": (("land", 1), ("land", 1))}, "the own column 'land' is named twice"),
        ({"pair_columns": (("there", 0),)}, "the version of the pair column 'there' is 0; it must be"),
        ({"shifts": dict.fromkeys(LAYERS, 31)}, "the shift of the layer candidate is 31; it must be"),
    ],
)
def test_descriptions_of_no_network_are_refused(fields, message):
    about = description()
    layers = random_layers(about, np.random.default_rng(0))
    with pytest.raises(NetworkError, match=f"the network: {message}"):
        assembled(replace(about, **fields), layers)


def rewritten(path: Path, change) -> Path:
    """Return a file that ``change`` has changed: it gets fields and tensors; the digest fits again."""
    with open(path, "rb") as file:
        content = safetensors.read(file)
    fields, tensors = json.loads(content.metadata[METADATA]), dict(content.arrays)
    change(fields, tensors)
    fields["digest"] = network_file.digest_of(
        {key: value for key, value in fields.items() if key != "digest"}, tensors
    )
    other = path.with_name("changed")
    other.write_bytes(b"".join(safetensors.pieces(tensors, metadata={METADATA: json.dumps(fields)})))
    return other


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fields, _: fields.update(format=2), "its format is 2; this release reads format 1"),
        (lambda fields, _: fields.pop("interval"), "its description has no 'interval'"),
        (lambda fields, _: fields.update(more=1), "its description has the field 'more'"),
        (lambda fields, _: fields.update(interval="50"), "interval is '50'; it must be a whole number"),
        (lambda fields, _: fields.update(interval=0), "interval is 0; it must be a whole number from 1"),
        (lambda fields, _: fields.update(own_columns=[["land"]]), "its own_columns is .*names with versions"),
        (lambda fields, _: fields.update(shifts={"hidden": 1}), "its shifts has no 'candidate'"),
        (
            lambda _, tensors: tensors.pop("hold.biases"),
            "its table of tensors has no 'hold.biases'; it must have",
        ),
        (
            lambda _, tensors: tensors.update(x=np.zeros(2)),
            "its table of tensors has the field 'x'; it must have only",
        ),
        (
            lambda _, tensors: tensors.update({"hold.biases": np.zeros(15, np.int32)}),
            r"'hold.biases' is int32 of shape \(15,\); it must be int32 of shape \(16,\)",
        ),
        (
            lambda _, tensors: tensors.update({"hold.weights": tensors["hold.weights"].astype(np.int32)}),
            r"'hold.weights' is int32 of shape \(32, 16, 2\); it must be int16",
        ),
        (
            lambda _, tensors: tensors.update(
                {"hidden.weights": np.full_like(tensors["hidden.weights"], 32767)}
            ),
            r"output 0 of the layer hidden can reach a sum of 9,[\d,]+, which saturates int32; .*at most",
        ),
    ],
)
def test_files_that_cannot_be_played_are_refused_with_what_is_wrong(tmp_path, change, message):
    path = rewritten(random_file(tmp_path / "net", 8).path, change)
    with pytest.raises(NetworkError, match=f"{path}: .*{message}"):
        read(path)


def test_other_files_of_tensors_are_refused(tmp_path):
    (tmp_path / "weights").write_bytes(b"".join(safetensors.pieces({"w": np.zeros(3)})))
    with pytest.raises(
        NetworkError, match=r"has no metadata 'territorial.network'.*PairPolicy.load\(FILE\).export"
    ):
        read(tmp_path / "weights")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing")
