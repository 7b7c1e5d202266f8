"""``territorial dataset``."""

from pathlib import Path
from typing import Any

from territorial.training import Dataset

SMALL = (
    "--height",
    "24",
    "--width",
    "24",
    "--num-players",
    "3",
    "--max-ticks",
    "300",
    "--seats",
    "banker,random",
)


def test_it_makes_a_data_set_and_says_what_is_there(result_of: Any, done: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "set")
    options = ("--games", "3", "--processes", "1", "--games-per-shard", "2", "--rows-of", "banker,3", *SMALL)
    result, found = result_of("dataset", folder, *options), Dataset(folder)
    assert (result["games"], result["shards"], result["is_complete"]) == (3, 2, True)
    assert result["rows"] == found.manifest.rows > 0
    assert result["bytes"] == sum(path.stat().st_size for path in Path(folder).glob("*.safetensors"))
    assert set(found[0].seat.tolist()) == {1, 3}
    assert "rows of 3 games in 2 files" in done("dataset", folder, *options)[0]
    _, err = done("dataset", folder, *options, "--seed", "5", code=2)
    assert "argument FOLDER" in err
    assert "its recipe['seed'] is 0, here it is 5" in err
