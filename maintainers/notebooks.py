#!/usr/bin/env python3
"""Runs the sources of notebooks and writes them to docs/tutorials.

Those in PLAIN are written without outputs, too, beside their source: to be run elsewhere, such as on Colab.

    python maintainers/notebooks.py             all of them; needs the extras notebooks and rllib
    python maintainers/notebooks.py tour ppo    some
    python maintainers/notebooks.py --check     exit code 1 unless all have the text and code of their sources

A source is ``notebooks/NAME.py`` in the percent format, which is a program as well. What is written follows
from text, code and outputs: no times, no random names of cells, and nothing that went to stderr.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
SOURCES, PAGES = ROOT / "notebooks", ROOT / "docs" / "tutorials"
PLAIN = ("tour",)
"""Also written to ``notebooks/NAME.ipynb``, without outputs."""
LONGEST = 900
"""Seconds that a cell may take."""


def read_source(name: str) -> NotebookNode:
    """Return the notebook of a source, without outputs and with names of cells that stay."""
    notebook = jupytext.reads((SOURCES / f"{name}.py").read_text(encoding="utf-8"), fmt="py:percent")
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"{name}-{number}", NotebookNode()
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})
    return notebook


def run(notebook: NotebookNode) -> None:
    """Fill in the outputs of all cells; an error of a cell is raised."""
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook, timeout=LONGEST, record_timing=False, resources={"metadata": {"path": folder}}
        ).execute()
    notebook.metadata.pop("language_info", None)  # the release of Python
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
            for output in cell.outputs:
                output.get("data", {}).pop("image/jpeg", None)  # there is a PNG of it
            cell.metadata = NotebookNode()


def written(name: str) -> list[Path]:
    """Return what is written of a source: the notebook without outputs, if it is in PLAIN, and its page."""
    folders = [SOURCES, PAGES] if name in PLAIN else [PAGES]
    return [folder / f"{name}.ipynb" for folder in folders]


def is_current(name: str) -> bool:
    """Return whether all that is written of a source has its text and code."""
    wanted = cells_of(read_source(name))
    return all(
        path.exists() and cells_of(nbformat.read(path, as_version=4)) == wanted for path in written(name)
    )


def cells_of(notebook: NotebookNode) -> list[tuple[str, str]]:
    """Return the kind and the text of each cell."""
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def main(argv: list[str] | None = None) -> int:
    """Do what the arguments say; return the exit code."""
    names = sorted(path.stem for path in SOURCES.glob("*.py"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"notebooks to run (default: all): {', '.join(names)}"
    )
    parser.add_argument("--check", action="store_true", help="run nothing, compare text and code")
    given = parser.parse_args(argv)
    if unknown := set(given.names) - set(names):
        parser.error(f"there is no notebook {unknown.pop()!r}; there are {', '.join(names)}")
    chosen = given.names or names
    if given.check:
        stale = [name for name in chosen if not is_current(name)]
        for name in stale:
            print(f"{name}.ipynb differs from notebooks/{name}.py: run maintainers/notebooks.py {name}")
        return 1 if stale else 0
    PAGES.mkdir(exist_ok=True)
    for name in chosen:
        notebook = read_source(name)
        *plain, page = written(name)
        for path in plain:
            nbformat.write(notebook, path)
        run(notebook)
        nbformat.write(notebook, page)
        print(f"{page.relative_to(ROOT)}: {page.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
