"""docs/architecture.md is the map of the code, and what is published says the same everywhere."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import territorial

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("program", [["layers.py", "--check"], ["names.py"]])
def test_tables_are_those_of_the_code_and_names_exist(program):
    command = [sys.executable, ROOT / "maintainers" / program[0], *program[1:]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_citations_have_the_version_and_the_authors_of_the_package():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    citation = read("CITATION.cff")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == territorial.__version__
    assert re.search(r"^license: (.*)$", citation, re.MULTILINE)[1] == project["license"]
    assert [author["name"] for author in project["authors"]] == re.findall(r"- name: (.*)", citation)
    for page in ("README.md", "docs/index.md"):
        assert f"version = {{{territorial.__version__}}}" in read(page)


def test_the_changelog_has_the_version_or_what_comes_into_it():
    headings = re.findall(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased" or headings[0] == territorial.__version__


def test_workflows_test_every_supported_python():
    classified = re.findall(r"Python :: (3\.\d+)", read("pyproject.toml"))
    assert set(re.findall(r'"(3\.\d+)"', read(".github/workflows/ci.yml"))) == set(classified)


def test_no_workflow_needs_a_secret_or_may_write():
    for path in (ROOT / ".github/workflows").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "secrets." not in text
        assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE), path.name
        assert set(re.findall(r"([\w-]+): write", text)) <= {"id-token", "pages"}
