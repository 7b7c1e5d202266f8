"""What commands find is kept: they refuse to replace what is of something else, or take a new name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from territorial import maps
from territorial.cli import main
from territorial.config.land_mask import LandMask
from territorial.datasets.manifest import shard_name
from territorial.evolution.evolve import STYLE
from tests.cli.test_dataset import SMALL
from tests.cli.test_evolve import SMALL as FEW

TINY = ("--height", "24", "--width", "24", "--num-players", "3", "--max-ticks", "50")


def refused(capsys: Any, path: Path, content: bytes, *arguments: str) -> str:
    """Return what a command says that must leave ``content`` in a file; exit code 2."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert main([*map(str, arguments)]) == 2
    assert path.read_bytes() == content
    return str(capsys.readouterr().err)


# ---- folders -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "options", "name"),
    [
        ("dataset", ("--games", "2", "--processes", "1", *SMALL), shard_name(3)),
        ("evolve", ("--generations", "1", *FEW), STYLE),
    ],
)
def test_a_data_set_or_a_style_is_not_made_over_another(
    capsys: Any, tmp_path: Path, verb: str, options: tuple[str, ...], name: str
) -> None:
    path = tmp_path / "folder" / name
    err = refused(capsys, path, b"rows", verb, str(path.parent), *options)
    assert f"argument FOLDER: {str(path)!r}: it is there already, and would be replaced" in err
    assert {file.name for file in path.parent.iterdir()} <= {path.name, ".writer", "lock"}


def test_an_evolution_that_was_stopped_before_its_style_writes_it(capsys: Any, tmp_path: Path) -> None:
    command = ["evolve", str(tmp_path), "--generations", "1", *FEW]
    assert main(command) == 0
    style = (tmp_path / STYLE).read_bytes()
    (tmp_path / STYLE).unlink()
    assert main(command) == 0
    assert (tmp_path / STYLE).read_bytes() == style


@pytest.mark.parametrize("name", ["weights.safetensors", "network.safetensors", "checkpoints"])
def test_a_network_is_not_cloned_over_another(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch", reason="cloning needs PyTorch")
    from tests.cli.test_clone import refused as refused_clone

    path = tmp_path / name
    path = path / "checkpoint-00000001" if name == "checkpoints" else path
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"weights")
    refused_clone(tmp_path, f"{name}': it is there already, and would be replaced")
    assert path.read_bytes() == b"weights"


def test_plots_are_drawn_over_plots_alone(tmp_path: Path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib: the extra `league` has it")
    from territorial.evaluation.charts import save_plots

    for _ in range(2):
        save_plots(plt, {"places": plt.figure}, tmp_path)
    plt.figure().savefig(tmp_path / "places.png")
    before = (tmp_path / "places.png").read_bytes()
    with pytest.raises(FileExistsError, match=r"would be replaced.*places\.png"):
        save_plots(plt, {"places": plt.figure}, tmp_path)
    assert (tmp_path / "places.png").read_bytes() == before


# ---- files that options name -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("a.png", ("demo", *TINY, "--picture")),
        ("a.apng", ("demo", *TINY, "--no-picture", "--animation")),
        ("a.gif", ("demo", *TINY, "--no-picture", "--animation")),
        ("a.replay", ("demo", *TINY, "--no-picture", "--replay")),
        ("a.html", ("demo", *TINY, "--no-picture", "--page")),
        ("a.html", ("watch", *TINY, "--page")),
        ("a.png", ("info", "maps", "europe", "--picture")),
        ("a.png", ("info", "maps", "europe", "--export")),
        ("a.npy", ("info", "maps", "europe", "--export")),
        ("a.txt", ("info", "maps", "europe", "--export")),
    ],
)
def test_a_file_of_another_kind_is_not_replaced(
    capsys: Any, tmp_path: Path, name: str, arguments: tuple[str, ...]
) -> None:
    err = refused(capsys, tmp_path / name, b"notes of a year", *arguments, str(tmp_path / name))
    assert f"argument {arguments[-1]}: {str(tmp_path / name)!r} is a file that is not" in err
    assert "and would be replaced" in err


@pytest.mark.parametrize(
    "content",
    [
        b'{"format": "territorial games, version 1", "rules": 1}\n{"game": 0}\n',
        b'{\n "height": 96\n}\n',
        b'{\n  "format": 1,\n  "name": "main-0"\n}\n',
        b'{\n  "name": "my-style"\n}\n',
        b"a replay, say",
    ],
    ids=["records", "options of a run", "manifest", "style", "replay"],
)
def test_a_result_does_not_replace_files_of_the_library(capsys: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    assert "is a file that is not a result as JSON, and would be replaced" in refused(
        capsys, path, content, "info", "--json", str(path)
    )


def test_a_file_of_the_same_kind_is_replaced(capsys: Any, tmp_path: Path) -> None:
    for name in ("a.png", "a.npy", "a.txt"):
        maps.save(LandMask.from_array(np.ones((16, 16), bool)), tmp_path / name)
        assert main(["info", "maps", "europe", "--export", str(tmp_path / name)]) == 0
        assert maps.load(tmp_path / name).num_land > 16 * 16


def test_a_file_that_nobody_named_gets_a_new_name(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        assert main(["demo", "--seed", "7", "--replay", "--page", *TINY]) == 0
    out = capsys.readouterr().out
    files = {f"territorial-7{part}.{end}" for part in ("", "-2", "-3") for end in ("png", "replay", "html")}
    assert {path.name for path in tmp_path.iterdir()} == files
    assert all(name in out for name in files)
    for _ in range(2):
        assert main(["replay", "territorial-7.replay", "--at", "50"]) == 0
    assert (tmp_path / "territorial-7-50.png").exists()
    assert (tmp_path / "territorial-7-50-2.png").exists()
