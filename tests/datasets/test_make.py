"""Data sets: made, resumed, read back as what ``replay.decisions`` gives, and by other libraries."""

import dataclasses
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import territorial
from territorial.bots import Style
from territorial.evaluation.places import known_places
from territorial.evaluation.workers import PlayingError
from territorial.replay import Decisions, decisions
from territorial.training import Dataset, DatasetError, make
from territorial.training.dataset import Recipe, Shard, play_games

CONFIG = territorial.GameConfig(height=24, width=24, num_players=3, max_ticks=400, rewards={"survival": 1})
SEATS = ["banker", "metronome", "random"]


def made(folder: Path, **options: Any) -> Any:
    given: dict[str, Any] = {"games": 5, "games_per_shard": 2, "seed": 7, "processes": 1}
    return make(folder, CONFIG, SEATS, **(given | options))


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def joined(parts: Iterable[Decisions]) -> Decisions:
    return Decisions(*map(np.concatenate, zip(*parts, strict=True)))


def test_rows_are_the_decisions_of_the_games_in_their_order(tmp_path: Path) -> None:
    manifest = made(tmp_path, rows_of=["banker", 3], discount=0.99, num_candidates=2)
    rows = list(Dataset(tmp_path))
    replays = play_games(CONFIG, SEATS, range(7, 12))
    expected = list(decisions(replays, seats=["banker", 3], discount=0.99, num_candidates=2))
    for found, wanted in zip(joined(rows), joined(expected), strict=True):
        assert found.dtype == wanted.dtype
        assert (found == wanted).all()
    assert [shard.games for shard in manifest.shards] == [2, 2, 1]
    assert [sorted(set(shard.game.tolist())) for shard in rows] == [[0, 1], [2, 3], [4]]
    assert not rows[0].own.flags.writeable
    assert (rows[0].returns > 0).all()


@pytest.mark.parametrize("options", [{}, {"every": 100, "chances": 2}])
def test_shards_do_not_depend_on_the_order_in_which_they_are_made(tmp_path: Path, options: Any) -> None:
    made(tmp_path / "one", **options)
    made(tmp_path / "two", **options, play=lambda work, chunks: map(work(), reversed(chunks)))
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_chances_are_those_of_games_that_go_on_from_every_tick(tmp_path: Path) -> None:
    made(tmp_path / "plain", games=2, every=100)
    made(tmp_path / "asked", games=2, every=100, chances=3)
    plain, asked = Dataset(tmp_path / "plain")[0], Dataset(tmp_path / "asked")[0]
    for found, wanted in zip(asked[:-2], plain[:-2], strict=True):
        assert (found == wanted).all()
    replays = play_games(CONFIG, SEATS, [7, 8])
    for row in range(len(asked.tick)):
        replay, seat = replays[asked.game[row]], asked.seat[row]
        games = replay.game(int(asked.tick[row]), num_games=3, future=0)
        while not games.state.over.all():
            games.step()
        places = np.array([known_places(games.state, k)[seat - 1] for k in range(3)])
        assert asked.expected_place[row] == pytest.approx(places.mean())
        assert asked.chance[row] == pytest.approx((places == 1).mean())
    assert 0 < asked.chance.mean() < 1
    assert not plain.expected_place.any()
    assert made(tmp_path / "nobody", games=1, every=100, chances=3, rows_of=["turtle"]).rows == 0


def test_only_what_is_missing_is_made(tmp_path: Path) -> None:
    made(tmp_path)
    before = files_of(tmp_path)
    asked: list[Any] = []

    def counting(work: Any, chunks: Any) -> Any:
        asked.extend(games.start for _, games in chunks)
        return map(work(), chunks)

    (tmp_path / "shard-000001.safetensors").unlink()
    made(tmp_path, play=counting)
    assert (asked, files_of(tmp_path)) == ([2], before)
    (tmp_path / "shard-000002.safetensors").write_bytes(b"damaged" * 1000)
    for _ in range(2):  # nothing is missing for the second time
        made(tmp_path, play=counting)
        assert (asked, files_of(tmp_path)) == ([2, 4], before)


def test_games_can_be_added(tmp_path: Path) -> None:
    made(tmp_path / "whole", games=7)
    made(tmp_path / "grown")
    made(tmp_path / "grown", games=7)
    assert files_of(tmp_path / "whole") == files_of(tmp_path / "grown")
    with pytest.raises(DatasetError, match=r"games is 5; the data set in .* has 7 games"):
        made(tmp_path / "grown")


def test_an_interruption_leaves_whole_shards_that_the_manifest_lists(tmp_path: Path) -> None:
    def stops(manifest: Any) -> None:
        if len(manifest.shards) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(tmp_path, on_shard=stops)
    found = Dataset(tmp_path)
    assert (len(found), found.manifest.is_complete) == (2, False)
    found.verify()
    assert sum(len(rows.tick) for rows in found) == found.manifest.rows
    made(tmp_path)
    made(tmp_path.parent / "whole")
    assert files_of(tmp_path) == files_of(tmp_path.parent / "whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 8}, r"its recipe\['seed'\] is 7, here it is 8"),
        ({"every": 50}, r"\['every'\] is None, here it is 50"),
        ({"games_per_shard": 3}, r"\['games_per_shard'\] is 2, here it is 3"),
    ],
)
def test_another_data_set_in_the_folder_is_refused_with_the_difference(
    tmp_path: Path, options: Any, message: str
) -> None:
    made(tmp_path, games=1)
    before = files_of(tmp_path)
    with pytest.raises(DatasetError, match=message):
        made(tmp_path, games=1, **options)
    with pytest.raises(DatasetError, match=r"\['max_ticks'\] is 400, here it is 500"):
        make(tmp_path, CONFIG.replace(max_ticks=500), SEATS, games=1, seed=7, games_per_shard=2)
    assert files_of(tmp_path) == before


def test_a_style_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    """Its file may be another by now, and its name the same."""

    def add(games: int, interval: int) -> Any:
        seats = ["banker", Style(name="mine-1", interval=interval), "upstart-1"]
        return make(tmp_path, CONFIG, seats, games=games, games_per_shard=1, processes=1).recipe

    assert add(1, 50).code == {"mine-1": Style(name="mine-1", interval=50).digest}
    with pytest.raises(DatasetError, match=r"\['code'\]\['mine-1'\] is .*, here it is"):
        add(2, 60)
    assert add(2, 50).games == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"games": 0}, ValueError, "games is 0"),
        ({"seed": 2**64 - 1, "games": 2}, ValueError, "seed of the last game is 18446744073709551616"),
        ({"chances": 5}, ValueError, "chances is 5; it works only with every"),
        ({"chances": 0, "every": 10}, ValueError, "chances is 0; it must be"),
        ({"every": 7}, ValueError, "every is 7; it must be a multiple of 10"),
        ({"rows_of": [4]}, ValueError, "seats has 4; the game has the seats 1 to 3"),
    ],
)
def test_what_cannot_be_is_refused_before_a_folder_is_made(
    tmp_path: Path, options: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        made(tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


class Failing(territorial.bots.PythonBot):
    """Cannot decide."""

    name = "failing"

    def decide(self, view: Any) -> Any:
        raise RuntimeError("no idea")


def test_agents_are_refused_and_errors_of_bots_name_their_place(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"seats\[1\] is 'agent'; every seat must be a bot"):
        make(tmp_path, CONFIG, ["banker", "agent", "random"], games=1)
    with pytest.raises((PlayingError, RuntimeError), match="no idea"):
        make(tmp_path, CONFIG, [Failing(), "banker", "random"], games=1, processes=1)


def test_files_that_are_no_data_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Dataset(tmp_path)
    made(tmp_path, games=1)
    path = tmp_path / "manifest.json"
    good = json.loads(path.read_text())
    for change, message in (
        ({"format": 2}, "it has format 2; this release reads format 1"),
        ({"shards": [{**good["shards"][0], "file": "../x"}]}, r"a shard called '\.\./x'"),
        ({"shards": [{**good["shards"][0], "rows": -1}]}, "rows of 'shard-000000.safetensors' is -1"),
        ({"recipe": 3}, "not a manifest of a data set"),
        ({"recipe": good["recipe"] | {"code": "x"}}, "code is 'x'; it must be an object with names"),
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(DatasetError, match=message):
            Dataset(tmp_path)
    path.write_text(json.dumps(good | {"shards": [{**good["shards"][0], "rows": 3}]}))
    with pytest.raises(DatasetError, match="the manifest says 3"):
        Dataset(tmp_path)[0]
    path.write_text("{")
    with pytest.raises(DatasetError, match="not a manifest"):
        Dataset(tmp_path)


def test_altered_files_are_found(tmp_path: Path) -> None:
    made(tmp_path)
    dataset = Dataset(tmp_path)
    dataset.verify()
    path = tmp_path / dataset.manifest.shards[1].file
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    with pytest.raises(DatasetError, match=r"shard-000001\.safetensors' is missing or altered"):
        dataset.verify()
    path.write_bytes(b"short")
    with pytest.raises(DatasetError, match="not a shard"):
        dataset[1]


def test_two_do_not_make_a_data_set_in_one_folder_at_once(tmp_path: Path) -> None:
    def play(work: Any, chunks: Any) -> Any:
        before = files_of(tmp_path)
        with pytest.raises(BlockingIOError, match=r"another process writes there \(process \d+ on "):
            made(tmp_path, games=7, play=lambda *_: pytest.fail("nobody else may play"))
        assert files_of(tmp_path) == before
        return ()

    made(tmp_path, play=play)
    made(tmp_path, play=lambda *_: ())


# ---- the page about them -----------------------------------------------------------------------------


@pytest.fixture
def page() -> str:
    return (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


@pytest.mark.checkout
def test_arrays_shapes_dtypes_and_bytes_are_those_of_the_page(tmp_path: Path, page: str) -> None:
    made(tmp_path, games=1, num_candidates=5)
    rows = Dataset(tmp_path)[0]
    table = re.findall(r"^\| `(\w+)` \| \(N,([^)]*)\) \| (\w+) \|", page, re.MULTILINE)
    assert [name for name, *_ in table] == list(rows._fields)
    for name, axes, dtype in table:
        array = getattr(rows, name)
        assert array.dtype == dtype
        assert ",".join(map(str, array.shape[1:])) == axes.strip().replace("C", "5").replace(" ", "")
    assert sum(array.itemsize * int(np.prod(array.shape[1:])) for array in rows) == 98 + 52 * 5
    assert "A row takes 98 + 52 C bytes, which is 514 with 8 candidates" in page
    assert 98 + 52 * 8 == 514


@pytest.mark.checkout
def test_fields_of_the_manifest_are_those_of_the_page(tmp_path: Path, page: str) -> None:
    made(tmp_path, games=1)
    text = page.partition("The manifest is a JSON object:")[2].partition("\n- A file is there")[0]
    named = set(re.findall(r"`(\w+)`", text))
    fields = {field.name for field in dataclasses.fields(Recipe)} - {"config_digest"}
    written = json.loads((tmp_path / "manifest.json").read_text())
    assert named == fields | set(written) | set(Shard._fields) | {"own", "pairs"}
    assert (written["is_complete"], written["rules"]) == (True, territorial.RULES_VERSION)
    assert list(written["columns"]["own"])[:2] == ["land", "crowding"]
    assert (written["recipe"]["seats"], written["columns"]["pairs"]["there"]) == (SEATS, 1)
