"""``territorial evolve``."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from territorial.bots import Style
from territorial.cli import evolve as verb
from territorial.cli import main
from territorial.files.locks import locked
from territorial.training.evolve import FILE, STYLE

SMALL = (
    *("--height", "24", "--width", "24", "--num-players", "4", "--max-ticks", "300"),
    *("--population", "6", "--games-per-style", "1", "--opponents", "banker,novice", "--threads", "1"),
)


def test_it_writes_a_style_that_takes_seats(capsys: Any, done: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "found")
    options = (*SMALL, "--name", "found-1", "--generations", "2", "--seed", "3")
    out, err = done("evolve", folder, *options, "--json", str(tmp_path / "result.json"))
    assert f"style:{folder}/{STYLE}" in out
    assert "2 generations" in out
    assert "generation 1 of 2: mean place" in err
    result = json.loads((tmp_path / "result.json").read_bytes())
    assert Style.from_dict(result["style"]) == Style.load(f"{folder}/{STYLE}")
    assert [done["number"] for done in result["history"]] == [1, 2]
    assert (result["settings"]["seed"], result["settings"]["config"]["num_maps"]) == (3, 16)
    assert result["processor_seconds"] == sum(done["processor_seconds"] for done in result["history"]) > 0
    assert {"revision", "versions", "machine"} <= set(result)
    assert main(["demo", "--no-picture", *SMALL[:8], "--seats", f"style:{folder}/{STYLE},banker"]) == 0
    assert "found-1" in capsys.readouterr().out


def test_the_same_command_goes_on(run: Any, done: Any, tmp_path: Path) -> None:
    run("evolve", str(tmp_path), *SMALL, "--generations", "1")
    out, err = done("evolve", str(tmp_path), *SMALL, "--generations", "3", "--json")
    assert len(json.loads(out)["history"]) == 3
    assert "generation 1 " not in err
    assert "generation 3 of 3" in err
    out, err = done("evolve", str(tmp_path), *SMALL, "--generations", "3")
    assert "generation" not in err


def test_it_stops_when_the_time_is_over(done: Any, tmp_path: Path) -> None:
    out, _ = done("evolve", str(tmp_path), *SMALL, "--minutes", "0.001", "--json")
    assert 1 <= len(json.loads(out)["history"]) < 100


def test_an_interruption_leaves_what_there_is(
    done: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "time_left", Mock(side_effect=["", KeyboardInterrupt]))
    out, err = done("evolve", str(tmp_path), *SMALL, code=130)
    assert out == ""
    assert "interrupted\nall generations that have ended are kept; the same command resumes" in err
    assert len(json.loads((tmp_path / FILE).read_bytes())["history"]) == 2


def test_a_folder_that_cannot_be_used_is_a_usage_error(run: Any, done: Any, tmp_path: Path) -> None:
    run("evolve", str(tmp_path), *SMALL, "--generations", "1")
    assert "argument FOLDER: " in done("evolve", str(tmp_path), *SMALL, "--seed", "5", code=2)[1]
    with locked(tmp_path / "lock"):
        code, _, err = run("evolve", str(tmp_path), *SMALL)
    assert code == 2
    assert "another process writes there" in err
    (tmp_path / "file").write_text("")
    assert "argument FOLDER" in done("evolve", str(tmp_path / "file"), *SMALL, code=2)[1]
