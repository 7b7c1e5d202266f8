"""What is said where Ray or torch are missing or of a release that does not do."""

import warnings

import pytest

pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")

from rllib_adapters import requirements


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


def test_what_nobody_has_tried_is_warned_of(monkeypatch):
    installed(monkeypatch, ray="2.61.0rc1")
    with pytest.warns(UserWarning, match="Ray 2.61.0rc1 is newer than 2.60"):
        requirements.check_requirements()
