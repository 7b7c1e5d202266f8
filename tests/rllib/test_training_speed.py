"""benchmarks/rllib/training_speed.py: whose seconds count for what, and what both runners are timed in."""

import sys
from types import ModuleType

import pytest

pytest.importorskip("ray.rllib", reason="Ray is not installed")
pytest.importorskip("benchmarks.goals", reason="the benchmarks are not here")

from torch import nn

from benchmarks.rllib import league_seats, multiplications, processor_time, training_speed
from territorial import GameConfig

pytestmark = pytest.mark.checkout
GAME = GameConfig(height=32, width=32, num_players=4, max_ticks=1000)
SEATS = league_seats.Seats(learning=1, bots=1, frozen=2, snapshots=2)


# ---- the parts of an iteration ---------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch):
    """Return the time of a processor, which the test moves."""
    now = [0.0]
    monkeypatch.setattr(processor_time.time, "process_time", lambda: now[0])
    return now


@pytest.fixture
def parts(clock, monkeypatch):
    """Return a module with functions that take time: of an outer stage, and of an inner one within it."""
    module = ModuleType("timed_parts")

    class Inner:
        def work(self):
            clock[0] += 2

    class Own(Inner):
        def work(self):
            super().work()
            clock[0] += 8

    class Outer:
        def work(self, inner):
            clock[0] += 1
            inner.work()
            clock[0] += 4

    module.Inner, module.Own, module.Outer = Inner, Own, Outer
    monkeypatch.setitem(sys.modules, "timed_parts", module)
    return module


STAGES = {"outer": ("timed_parts:Outer.work",), "inner": ("timed_parts:Inner.work",)}


def test_a_second_counts_for_the_innermost_stage(clock, parts):
    watch = processor_time.Watch(STAGES)
    with watch.watching():
        clock[0] += 16
        parts.Outer().work(parts.Own())
        clock[0] += 32
    assert watch.seconds == {"outer": 5, "inner": 10, processor_time.REST: 48}
    assert watch.missing == []


def test_functions_are_as_before_afterwards_and_after_an_error(clock, parts):
    before = parts.Outer.work, parts.Inner.work, parts.Own.work
    watch = processor_time.Watch(STAGES)
    with pytest.raises(AttributeError), watch.watching():
        parts.Outer().work(None)
    assert (parts.Outer.work, parts.Inner.work, parts.Own.work) == before
    assert watch.seconds["outer"] == 1


def test_a_function_that_is_not_there_is_named(parts):
    places = ("timed_parts:Outer.rest", "timed_parts:None.work", "no_such_parts:Outer.work")
    watch = processor_time.Watch({"outer": places})
    with watch.watching():
        pass
    assert watch.missing == list(places)


def test_all_functions_that_are_timed_are_there():
    watch = processor_time.Watch()
    with watch.watching():
        pass
    assert watch.missing == []


# ---- sampling --------------------------------------------------------------------------------------------


def test_both_runners_are_timed_in_the_same_steps_of_the_same_games(tmp_path, monkeypatch):
    monkeypatch.setattr(training_speed, "GAMES", 2)
    monkeypatch.setattr(training_speed, "FIRST_STEP", 6)
    boards = {}
    monkeypatch.setitem(training_speed.STEPS, "features", 3)
    for kind in ("batched", "stock", "modules"):
        row = training_speed.LeagueRow(kind, "features", SEATS, runner=kind)
        runner = training_speed.runner_of(row, GAME, 1, tmp_path)
        runner.sample(num_timesteps=2)
        training_speed.advance(runner, row)
        games = [env.unwrapped for env in runner.env.envs]
        frozen = [sorted(game.snapshots) for game in games]
        game = runner.env.game if kind == "batched" else games[0].game
        speeds = training_speed.Speeds(row)
        before = int(game.state.tick[0])
        training_speed.note(speeds, runner, keep=True)
        boards[kind] = before, int(game.state.tick[0]), frozen
        assert len(speeds.steps_per_second) == 1
        assert speeds.learning == [1.0]
    assert boards["modules"] == boards["stock"] == boards["batched"]
    assert boards["stock"][:2] == (60, 90)


@pytest.mark.parametrize("together", [False, True])
def test_rllib_by_itself_calls_a_module_for_the_rows_of_each_snapshot(together, tmp_path, monkeypatch):
    monkeypatch.setattr(training_speed, "GAMES", 2)
    monkeypatch.setitem(training_speed.STEPS, "features", 1)
    seats = league_seats.Seats(learning=1, bots=1, frozen=2, snapshots=3, together=together)
    row = training_speed.LeagueRow("modules", "features", seats, runner="modules")
    runner, rows = training_speed.runner_of(row, GAME, 1, tmp_path), {}
    store = league_seats.store_in(tmp_path, league_seats.NETWORKS["features"])
    for name in league_seats.names_of(3):
        module = runner.module[name]
        saved = store.load(name)
        assert all((part.numpy() == saved[key]).all() for key, part in module.policy.state_dict().items())
        forward = module.forward_exploration
        monkeypatch.setattr(
            module,
            "forward_exploration",
            lambda batch, own=name, then=forward, **to: (
                rows.setdefault(own, []).append(len(batch["obs"]["seat"])) or then(batch, **to)
            ),
        )
    runner.sample(num_timesteps=2)
    counts = [count for own in rows.values() for count in own]
    assert sum(counts) == 4  # two frozen seats in each of two games
    assert all(len(own) == 1 for own in rows.values())  # one call a step
    assert not together or all(count % 2 == 0 for count in counts)


def test_multiplications_are_those_of_the_layers():
    policy = multiplications.make_policy(league_seats.NETWORKS["features"], SEATS, GAME)
    layers = [layer.weight.numel() for layer in policy.modules() if isinstance(layer, nn.Linear)]
    assert multiplications.counted(policy, GAME, 3) == 3 * (sum(layers) - policy.value_head.weight.numel())
    pairs = multiplications.make_policy(league_seats.NETWORKS["pairs"], SEATS, GAME)
    assert multiplications.counted(pairs, GAME, 2) == 2 * multiplications.counted(pairs, GAME, 1) > 0


def test_each_snapshot_runs_once_in_a_game():
    macs = {1: 10.0, 2: 11.0}  # of a network that does next to nothing for another row
    assert 11 < multiplications.frozen_macs(SEATS, macs) < 20
    alone = league_seats.Seats(learning=1, bots=1, frozen=2, snapshots=1)
    assert multiplications.frozen_macs(alone, macs) == 11


def test_bars_are_missed_by_what_is_too_slow_and_by_what_was_not_measured():
    stock, batched, bots = (
        training_speed.Speeds(training_speed.LeagueRow(name, "features", SEATS, runner, beside=beside))
        for name, runner, beside in (
            ("features, stock", "modules", ""),
            ("features", "batched", "features, stock"),
            ("features, 0 snapshots", "batched", "features, stock"),
        )
    )
    for speeds, each in ((stock, 100.0), (batched, 950.0), (bots, 2000.0)):
        speeds.steps_per_second, speeds.learning = [each - 1, each, each + 50], [1.0] * 3
    found = {speeds.row.name: speeds for speeds in (stock, batched, bots)}
    result = {name: training_speed.summary(speeds, found) for name, speeds in found.items()}
    assert result["features"]["times_stock"] == 9.5
    assert result["features"]["us_of_frozen_seats"] == pytest.approx(1e6 / 950 - 500, abs=0.1)
    assert list(training_speed.misses(result)) == [
        "missed: features: times_stock is 9.5, asked is at least 10"
    ]
    del result["features"]["times_stock"]
    assert list(training_speed.misses(result)) == [
        "missed: features: times_stock is None, asked is at least 10"
    ]
    result["features"]["times_stock"] = 10.0
    assert list(training_speed.misses(result)) == []


def test_every_bar_and_every_comparison_is_of_a_row_that_is_timed(monkeypatch):
    monkeypatch.setattr(training_speed, "HAS_TOGETHER", True)
    rows = [row for name in training_speed.STEPS for row in training_speed.rows_of(name, SEATS)]
    names = {row.name for row in rows}
    assert len(names) == len(rows)
    assert set(training_speed.BARS) <= names
    beside = {row.beside for row in rows if "times_stock" in training_speed.BARS.get(row.name, {})}
    assert beside <= names
    assert all(name.endswith("stock") for name in beside)
    assert {row.seats.together for row in rows if "together" in row.name} == {True}
