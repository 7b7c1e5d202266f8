"""What is said where Ray or torch are missing or of a release that does not do."""

import tomllib
import warnings
from pathlib import Path

import pytest

from rllib_adapters import requirements

pytestmark = pytest.mark.release


def installed(monkeypatch, **versions):
    monkeypatch.setattr(requirements, "_version", {"ray": "2.60.0", "torch": "2.13.0", **versions}.get)


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"ray": None}, r"needs ray, which is not installed: pip install 'territorial-env\[rllib\]'"),
        ({"torch": None}, r"needs torch, which is not installed: pip install"),
        ({"ray": "2.54.0"}, r"needs Ray 2.55.1 or newer, and 2.54.0 is installed: pip install"),
        ({"ray": "2.55.0"}, "2.55.0 is installed"),
        ({"ray": "1.13"}, "1.13 is installed"),
    ],
)
def test_what_is_missing_or_too_old_is_named(monkeypatch, versions, message):
    installed(monkeypatch, **versions)
    with pytest.raises(ImportError, match=message):
        requirements.check_requirements()


@pytest.mark.parametrize("version", ["2.55.1", "2.56.0", "2.60.0", "2.60.3"])
def test_what_was_tried_is_taken_without_a_word(monkeypatch, version):
    installed(monkeypatch, ray=version)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        requirements.check_requirements()


def test_a_newer_ray_is_refused_unless_the_user_insists(monkeypatch):
    installed(monkeypatch, ray="2.61.0rc1")
    monkeypatch.delenv(requirements.ANY_RAY, raising=False)
    with pytest.raises(
        ImportError, match=r"2\.61\.0rc1 is newer .* pip install 'ray\[rllib\]>=2\.55\.1,<2\.61'"
    ):
        requirements.check_requirements()
    monkeypatch.setenv(requirements.ANY_RAY, "1")
    with pytest.warns(UserWarning, match="Ray 2.61.0rc1 is newer than 2.60"):
        requirements.check_requirements()


def test_the_metadata_has_the_same_releases():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    oldest, (major, minor) = requirements.OLDEST_RAY, requirements.NEWEST_RAY
    wanted = f"ray[rllib]>={'.'.join(map(str, oldest))},<{major}.{minor + 1}"
    assert wanted in project["project"]["optional-dependencies"]["rllib"]
