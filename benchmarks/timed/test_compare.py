"""Comparisons of two revisions read figures correctly; every part can be timed."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.engine import compare, parts


def run(us, digest="a", rules_version=1):
    return {"us": us, "digest": digest, "rules_version": rules_version}


def test_the_ratio_of_a_part_is_the_median_over_rounds_with_its_interval():
    olds = [{"steps": 10.0, "reset": 50.0}] * 3
    news = [{"steps": 13.5, "reset": 60.0}, {"steps": 13.4, "reset": 49.0}, {"steps": 12.0, "reset": 90.0}]
    wanted = {"old_us": 10.0, "new_us": 13.4, "ratio": 1.34, "low": 1.2, "high": 1.35}
    assert compare.ratios(olds, news)["steps"] == pytest.approx(wanted)


def test_the_interval_of_a_median_leaves_out_what_the_sign_test_allows():
    assert compare.interval_of_median(range(9)) == (1, 7)  # 2 * P(0 or 1 heads of 9) = 3.9 %
    assert compare.interval_of_median(range(5)) == (0, 4)
    assert compare.interval_of_median(range(20)) == (5, 14)  # 2 * P(5 heads or fewer of 20) = 4.1 %


def test_a_part_that_the_old_revision_did_not_have_is_left_out():
    assert compare.ratios([{"a": 1.0}], [{"a": 1.0, "b": 2.0}]).keys() == {"a"}


def test_games_that_ended_elsewhere_are_noticed_unless_the_rules_are_others():
    assert not compare.are_different([run({})], [run({})])
    assert compare.are_different([run({})], [run({}, "b")])
    assert not compare.are_different([run({})], [run({}, "b", rules_version=2)])


def test_every_part_is_timed_and_the_same_games_are_played_each_time(monkeypatch):
    monkeypatch.setattr(parts, "CONFIG", parts.CONFIG.replace(height=64, width=64, max_ticks=300))
    monkeypatch.setattr(parts, "LIFE", 32)
    found = parts.measure(parts.CHUNKS)
    assert parts.BATCHES.keys() < found["us"].keys()
    assert all(us > 0 for us in found["us"].values())
    assert found["digest"] == parts.measure(parts.CHUNKS)["digest"]


def test_of_several_rounds_the_quietest_of_each_part_is_taken_if_all_played_the_same():
    rounds = [run({"a": 3.0, "b": 1.0}), run({"a": 2.0, "b": 5.0})]
    assert parts.quietest(rounds)["us"] == {"a": 2.0, "b": 1.0}
    with pytest.raises(RuntimeError, match="different ends"):
        parts.quietest([run({"a": 1.0}), run({"a": 1.0}, "b")])


def test_both_sides_are_timed_in_turn_with_machine_code_of_one_origin_unless_it_is_compared(
    monkeypatch, capsys
):
    sides = []

    def timed(side, *_arguments):
        sides.append((side.folder.name, side.machine_code))
        is_new = side == new
        return json.dumps(run({"steps": 10.0 if is_new else 20.0}))

    monkeypatch.setattr(compare, "python", timed)
    monkeypatch.setattr(compare, "tree", lambda revision: nullcontext(Path(revision or "here")))
    monkeypatch.setattr(compare, "Library", lambda chosen: SimpleNamespace(why_not=""))
    new = compare.Side(Path("b"), "numba")
    assert compare.main(["a", "b", "--rounds", "2"]) == 0
    assert sides[2:] == [("a", "numba"), ("b", "numba"), ("b", "numba"), ("a", "numba")]
    new, sides[:] = compare.Side(Path("here"), "v3"), []
    assert compare.main(["--machine-code", "v3", "--rounds", "1"]) == 0
    assert sides[2:] == [("here", "numba"), ("here", "v3")]
    assert capsys.readouterr().out.count(" 0.50 ") == 2
