"""Evolution of styles: exact on any number of threads and after interruptions, kept in files, and better."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from territorial import GameConfig, bots
from territorial.bots import FreeLand, Style
from territorial.training import Evolution, EvolutionSettings, Generation, evolve
from territorial.training.evolve import FILE, STYLE
from territorial.training.population import MOST_USES, Arena, Matchup, dealt, scored
from territorial.training.variation import FLAGS, FREE, MOVE, TIMING, crossed, plain, random_style, varied

CONFIG = GameConfig(height=32, width=32, num_players=6, max_ticks=600)
FEW = EvolutionSettings(
    config=CONFIG, population=12, games_per_style=2, style_seats=2, opponents=("novice", "banker"), seed=1
)


def without_time(evolution: Evolution) -> list[Generation]:
    return [done._replace(processor_seconds=0.0) for done in evolution.history]


def test_threads_and_interruptions_change_nothing(tmp_path: Path) -> None:
    whole = evolve(tmp_path / "whole", FEW, generations=3)
    parts = tmp_path / "parts"
    stopped = evolve(parts, FEW, generations=3, threads=2, on_generation=lambda _, done: done.number == 1)
    assert len(stopped.history) == 1
    resumed = evolve(parts, FEW, generations=3, threads=2)
    assert (resumed.candidates, without_time(resumed)) == (whole.candidates, without_time(whole))
    assert Style.load(parts / STYLE) == whole.best == Style.load(tmp_path / "whole" / STYLE)
    assert evolve(tmp_path / "other", replace(FEW, seed=2), generations=3).best != whole.best


def test_a_generation_wins_more_than_the_first(tmp_path: Path) -> None:
    settings = replace(FEW, population=24, games_per_style=6, opponents=("turtle", "banker", "hard"), seed=3)
    history = evolve(tmp_path, settings, generations=12).history
    first, last = history[0], np.mean([done.wins for done in history[-3:]])
    assert last > 1.3 * first.wins
    assert history[-1].place < first.place


def test_what_was_asked_for_otherwise_is_refused(tmp_path: Path) -> None:
    evolve(tmp_path, FEW, generations=1)
    before = (tmp_path / FILE).read_bytes()
    for other, message in (
        (replace(FEW, seed=2), r"its settings\['seed'\] is 1, here it is 2. Choose another folder"),
        (replace(FEW, config=CONFIG.replace(max_ticks=500)), r"\['max_ticks'\] is 600, here it is 500"),
        (replace(FEW, config=CONFIG.replace(teams=3)), r"\['teams'\] is None, here it is 3"),
        (replace(FEW, opponents=("novice",)), r"\['opponents'\] is"),
    ):
        with pytest.raises(ValueError, match=message):
            evolve(tmp_path, other, generations=2)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_damaged_file_is_named_and_left(tmp_path: Path) -> None:
    evolve(tmp_path, FEW, generations=1)
    path = tmp_path / FILE
    values = json.loads(path.read_bytes())
    for damaged in (
        "{",
        json.dumps({**values, "format": "another"}),
        json.dumps({**values, "candidates": []}),
        json.dumps({**values, "candidates": values["candidates"][:-1]}),
        json.dumps({**values, "candidates": [{"style": 3}]}),
        json.dumps({**values, "candidates": [{**values["candidates"][0], "total": 1e308}] * FEW.population}),
        json.dumps({**values, "candidates": [{**values["candidates"][0], "seats": -150}] * FEW.population}),
        json.dumps({**values, "history": [{"number": 1}]}),
        json.dumps({**values, "settings": 5}),
    ):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"evolution\.json' cannot be resumed: "):
            evolve(tmp_path, FEW, generations=2)
        assert path.read_text() == damaged
    values["settings"]["config"]["fog"] = 3
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match="its config has the field 'fog'"):
        evolve(tmp_path, FEW, generations=2)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("population", 5, "population is 5; it must be a whole number from 6 to 10000"),
        ("games_per_style", 0, "games_per_style is 0"),
        ("style_seats", 6, "style_seats is 6; it must be a whole number from 2 to 5"),
        ("seed", -1, "seed is -1"),
        ("name", "turtle-1", "the name of a built-in bot"),
        ("opponents", (), "opponents is empty"),
        ("opponents", ("turtel",), "did you mean 'turtle'"),
        ("opponents", ("agent",), "opponents has 'agent'; every opponent must be a bot"),
    ],
)
def test_settings_that_cannot_be(field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(FEW, **{field: value})


def test_every_style_plays_as_often_on_seats_that_are_its_own() -> None:
    styles = [random_style(f"s{i}", np.random.default_rng(i)) for i in range(12)]
    matchups = dealt(FEW, styles, np.random.default_rng(0))
    counts = np.bincount(np.concatenate([matchup.styles for matchup in matchups]), minlength=12)
    assert counts.tolist() == [2] * 12
    for matchup in matchups:
        assert [matchup.seats[place] for place in matchup.own] == [styles[i] for i in matchup.styles]
        rest = [seat for i, seat in enumerate(matchup.seats) if i not in matchup.own]
        assert set(rest) <= {"novice", "banker"}
        assert len(rest) == 4


def test_games_that_are_fewer_than_those_side_by_side_come_out_the_same() -> None:
    rng = np.random.default_rng(0)
    styles = [random_style(f"s{i}", rng) for i in range(34)]
    matchups = dealt(replace(FEW, games_per_style=1), styles, rng)
    assert len(matchups) == 17  # one more than a thread plays at once
    together = Arena(CONFIG).play(matchups).tolist()
    arena = Arena(CONFIG)
    for number in [0, 16] * (MOST_USES // 2 + 1):  # a batch that is used again, and one that takes its place
        assert arena.play([matchups[number]]).tolist() == [together[number]]


def test_scores_compare_the_styles_of_a_game() -> None:
    seats = ["novice"] * 4
    matchups = [
        Matchup(np.array([0, 1]), np.array([0, 1]), seats, 0),
        Matchup(np.array([2, 0]), np.array([0, 1]), seats, 0),
    ]
    scores = scored(matchups, np.array([[1.0, 2.0], [4.0, 2.0]]), 3)
    assert np.array(scores) == pytest.approx(np.array([[2, 0.25 + 0.125], [1, -0.25], [1, -0.125]]))


def numbers_of(style: Style) -> list[tuple[Any, Any]]:
    """Return every number of a style that varies, with its scale."""
    parts = [
        (style, TIMING),
        (style.free, FREE),
        *((getattr(style, move), MOVE) for move in ("first", "second")),
    ]
    return [(getattr(part, name), scale) for part, scales in parts if part for name, scale in scales.items()]


def test_what_is_drawn_and_varied_stays_within_the_scales() -> None:
    rng = np.random.default_rng(0)
    style = random_style("a", rng)
    seen = set()
    for _ in range(200):
        style = varied(style, "a", rng)
        seen.add(style)
        for value, scale in numbers_of(style):
            is_off = value == 0 and scale.may_be_off
            assert is_off or scale.low <= value <= scale.high
    assert len(seen) > 150
    assert {style.first is None for style in seen} == {True, False}
    for flag in FLAGS[type(style.free)]:
        assert {getattr(style.free, flag) for style in seen} == {True, False}


def test_a_crossed_style_has_parts_of_both() -> None:
    one, other = (plain(bots.make(name).style, name) for name in ("vulture", "besieger"))
    rng = np.random.default_rng(0)
    found = [crossed(one, other, "both", rng) for _ in range(20)]
    for part in ("free", "second"):
        assert {getattr(style, part) for style in found} == {getattr(one, part), getattr(other, part)}
    assert {style.name for style in found} == {"both"}


def test_bots_of_the_library_vary_from_the_middles_of_their_pairs() -> None:
    style = plain(bots.make("very_hard").style, "mine")
    assert (style.name, style.interval, style.jitter, style.start) == ("mine", 112, 0, 100)
    assert style.free is not None
    assert (style.free.send, style.free.later) == (40, 20)
    pairs = replace(style, free=FreeLand(send=(1, 2), later=(0.2, 0.5)))
    assert plain(pairs, "halves").free == FreeLand(send=1.5, later=0.3)
