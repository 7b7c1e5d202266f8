"""Machine code for one size of board: it plays what the code for all sizes plays, to the last bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import types

from territorial import LINEUPS, GameConfig, VecGame
from territorial.engine import compiled_calls
from territorial.engine import step as stepping
from territorial.engine.compiling import compile_steps
from territorial.jit.bound_arguments import type_of
from territorial.jit.decorators import JIT_ENABLED, is_ready
from tests.engine.test_differential import setting_for
from tests.twin import differential

SEATS = LINEUPS["mixed-1"].seats


def arrays_of(game):
    """Return by name all that a step may write to: state, observations, results."""
    named = {}
    for group in ("state", "buffers", "final_buffers", "results", "slots", "launched"):
        values = getattr(game._arrays, group)
        named |= {f"{group}.{name}": value for name, value in zip(values._fields, values, strict=True)}
    return named


def assert_same(game, other, step):
    for (name, array), twin in zip(arrays_of(game).items(), arrays_of(other).values(), strict=True):
        assert np.array_equal(array, twin, equal_nan=array.dtype.kind == "f"), f"{name} after {step} steps"


@pytest.mark.slow  # the compiler takes its time
@pytest.mark.parametrize(
    ("rules", "options", "steps"),
    [
        ({}, {"frames": 4}, 450),
        ({"max_ticks": 350}, {"frames": 2}, 80),  # games end and begin anew
        ({"map": "lakes", "rewards": {"land": 1.0, "kills": 0.5}, "decision_every": 3}, {"frames": 1}, 80),
        ({"max_ticks": 200}, {"frames": 0, "autoreset": "disabled", "num_threads": 2}, 25),
        ({}, {"observe": False, "end_when": "no_agents"}, 60),
        *(
            ({"height": h, "width": w, "num_players": p, "map": "open", "max_ticks": 600}, {"frames": 3}, 90)
            for h, w, p in ((530, 70, 5), (44, 48, 70), (72, 130, 250))
        ),
    ],
)
def test_it_writes_what_the_code_for_all_sizes_writes(rules, options, steps):
    """Also with two words for a set of blocks, two and four for a set of owners, and no whole strips."""
    config = GameConfig(**rules)
    players = config.num_players
    seats = ("agent", *itertools.islice(itertools.cycle(SEATS), 1, players))
    game, other = (
        VecGame(config, 2, seed=11, seats=seats, specialize=special, **options) for special in (True, False)
    )
    rng = np.random.default_rng(1)
    for one in (game, other):
        one.reset()
    for step in range(steps):
        actions = rng.integers(0, [players + 2, 10], (2, players, 2))
        game.step(actions)
        other.step(actions)
        assert_same(game, other, step + 1)


@pytest.mark.slow
def test_it_plays_what_the_twin_plays():
    compile_steps(GameConfig(), specialize=True)
    setting = setting_for(GameConfig(), "step", has_position=True, eagerness=0.3, ticks=60)
    outcome = differential.Pair(setting, None).play()
    assert outcome.ticks >= 60
    assert outcome.events["players' land taken"] > 0


# ---- who gets it ---------------------------------------------------------------------------------


def type_for(config, num_games=1, **options):
    """Return the type that numba dispatches on for a batch of ``config``."""
    game = VecGame(config, num_games, **options)
    batch = game._workers.batch(0)
    return type_of(batch, stepping.UNKNOWN_LENGTHS)


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_it_depends_on_the_size_and_the_number_of_players_alone():
    config = GameConfig(height=64, width=72, num_players=6)
    expected = type_for(config)
    others = [
        type_for(config, 7, frames=4),
        type_for(config, 2, frames=0, num_threads=2, autoreset="disabled"),
        type_for(config, observe=False, end_when="no_agents", seats=["agent"] + ["banker"] * 5),
        type_for(config.replace(map="lakes", num_maps=9, rewards={"land": 1.0, "taken": 1.0, "kills": 2.0})),
        type_for(config.replace(interest_levels=50, max_ticks=77, decision_every=1)),
        type_for(config.replace(height=57, width=65)),  # as many blocks and strips
    ]
    assert all(other == expected for other in others)
    for change in ({"height": 65}, {"width": 64}, {"num_players": 7}):
        assert type_for(config.replace(**change)) != expected


def test_every_array_whose_lengths_are_said_to_be_unknown_is_one_of_a_batch():
    game = VecGame(GameConfig(height=32, width=32, num_players=2), 1)
    batch = game._workers.batch(0)
    for name, number in stepping.UNKNOWN_LENGTHS.items():
        value = batch
        for part in name.split("."):
            value = getattr(value, part)
        assert isinstance(value, tuple) or value.ndim >= number, name


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
@pytest.mark.slow
def test_every_size_has_it_once_it_is_compiled():
    def is_special(config, **options):
        game = VecGame(config, 2, observe=False, **options)
        game.reset()
        game.step()
        assert game.is_specialized == (game._workers.calls.step_type == type_for(config))
        return game.is_specialized

    little = GameConfig(height=40, width=40, num_players=3)
    compile_steps(little, specialize=True)
    assert is_ready(stepping.step_games, (type_for(little),))
    assert is_special(little)
    assert not is_special(little, specialize=False)


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
@pytest.mark.parametrize("config", [GameConfig(), GameConfig(height=48, width=40, num_players=3)])
def test_no_size_is_compiled_for_itself_unless_somebody_asked_for_it(config, monkeypatch):
    monkeypatch.setattr(compiled_calls, "is_ready", lambda *_: False)
    assert not VecGame(config, 2).is_specialized
    monkeypatch.setattr(compiled_calls, "is_ready", lambda *_: True)
    assert VecGame(config, 2).is_specialized


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_a_batch_is_what_it_became_with_its_first_step(monkeypatch):
    game = VecGame(GameConfig(height=40, width=40, num_players=3), 1, specialize=False)
    game.reset()
    game.step()
    game._specialize = game._workers._specialize = True  # as if the code had been made meanwhile
    assert not game.is_specialized
    assert game.clone().is_specialized


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_all_arrays_that_a_step_writes_to_are_sized():
    def loose(kind, name):
        if isinstance(kind, types.BaseNamedTuple):
            fields = kind.instance_class._fields
            return [
                found
                for of, field in zip(kind, fields, strict=True)
                for found in loose(of, f"{name}.{field}")
            ]
        return [name] if isinstance(kind, types.Array) else []

    given = type_for(GameConfig(height=64, width=72, num_players=6)).given
    assert {name.split(".")[1] for name in loose(given, "")} == {
        "bank",
        "copies",
        "custom",
        "entries",
        "networks",
        "seed",
        "tape",
        "queues",
        "post",
    }


@pytest.mark.parametrize("value", [1, "yes", 0.0])
def test_specialize_is_true_false_or_none(value):
    with pytest.raises((TypeError, ValueError), match="specialize"):
        VecGame(GameConfig(), 1, specialize=value)
