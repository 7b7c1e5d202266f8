"""Predictions of memory: the arithmetic is that of real arrays, setups are checked, budgets are kept."""

import dataclasses
import json

import numpy as np
import pytest
from gymnasium import spaces

from territorial import GameConfig, VecGame, cli, parallel_env
from territorial.envs.forms import FORMS, GameSizes
from territorial.memory.plan import MB, BudgetError, in_mb
from territorial.memory.predict import ROW_BYTES, SHOWN, config_of, flat_size, game_bytes, predict
from territorial.memory.setup import Setup

GB = 1024 * MB
CONFIG = GameConfig(height=32, width=48, num_players=6)
SMALL = Setup(height=32, width=48, num_players=6, frames=2, agent_seats=3)
PACKED, PAIRS = (FORMS[form](GameSizes(config_of(SMALL), SMALL.layout)) for form in ("packed", "pairs"))


def item(plan, name):
    return next(item for item in plan.items if item.name == name)


def of(**fields):
    return dataclasses.replace(SMALL, **fields)


# ---- the arithmetic ----------------------------------------------------------------------------------


def test_the_flattened_observation_has_the_size_that_the_space_has():
    boards = 2 * (6 + 1), 32, 48
    space = spaces.Dict(
        {
            "action_mask": spaces.Box(0, 1, (6 + 2 + 10,), np.float32),
            "observations": spaces.Box(-1, 1, boards, np.int8),
            "stats": spaces.Box(0, 1, (2 * 6,), np.float32),
        }
    )
    assert flat_size(SMALL) == spaces.flatdim(space)
    assert flat_size(Setup()) == 8_650_860


def test_a_game_has_the_bytes_of_state_and_observation_and_a_frame_those_of_its_arrays():
    game = VecGame(CONFIG, 1, frames=2, autoreset="disabled")
    held = sum(block.nbytes for block in game.blocks) + sum(array.nbytes for array in game._arrays.buffers)
    assert game_bytes(SMALL) == held
    seen = game.reset()
    arrays = (seen.planes, seen.players, seen.borders, seen.globals)
    assert PACKED.game_bytes == sum(array.nbytes for array in arrays)


def test_a_row_of_pairs_has_the_bytes_of_its_arrays():
    seen, _ = parallel_env(config=CONFIG, obs="pairs", action_format="pairs").reset(seed=1)
    (row, *_) = seen.values()
    assert row["own"].dtype == row["pairs"].dtype == np.float32
    parts = [row["own"], row["pairs"], row["targets"].astype(np.int32)]
    assert PAIRS.agent_bytes == sum(part.nbytes for part in parts)


def test_pairs_have_rows_and_no_frames_or_buffers_of_boards():
    pairs, packed = (predict(of(env_runners=1), form) for form in ("pairs", "packed"))
    rows = 64 * (3 * ROW_BYTES + 3 * PAIRS.agent_bytes)
    assert item(pairs, "experience").nbytes == rows
    assert item(packed, "experience").nbytes == 64 * (
        PACKED.game_bytes + 3 * ROW_BYTES + 3 * PACKED.agent_bytes
    )
    names = {part.name for part in pairs.items}
    assert "frames, stacked" not in names
    assert item(pairs, "rows, joined").nbytes == rows
    blind = VecGame(CONFIG, 1, observe=False, autoreset="disabled")
    assert item(pairs, "games").nbytes == sum(block.nbytes for block in blind.blocks)
    assert item(pairs, "minibatch").nbytes == 16 * (PAIRS.agent_bytes + 2 * 500_000 * 4)


def test_mixed_forms_have_the_frames_of_the_one_and_the_rows_of_the_other():
    mixed = [predict(of(pair_seats=n), "mixed") for n in range(4)]
    for plan, form in ((mixed[0], "packed"), (mixed[3], "pairs")):
        assert item(plan, "experience") == item(predict(SMALL, form), "experience")
    steps = [item(plan, "experience").nbytes for plan in mixed[:3]]
    assert steps[1] - steps[0] == steps[2] - steps[1] == 32 * (PAIRS.agent_bytes - PACKED.agent_bytes)
    assert item(mixed[1], "games") == item(mixed[0], "games") != item(mixed[3], "games")


def test_the_league_that_does_not_fit_on_the_old_stack_fits_here():
    setup = Setup(driver_plays=0)
    stock, own = predict(setup, "one-hot"), predict(setup, "packed")
    assert 200 * GB < stock.built < stock.peak
    assert own.built_over_idle < GB
    assert own.peak - own.built < 2 * GB


def test_dummy_batches_are_what_most_of_it_is():
    plan = predict(Setup(), "one-hot")
    dummy = item(plan, "dummy batches")
    assert dummy.nbytes == 33 * 2 * 32 * 8_650_860 * 4
    assert 3 * dummy.nbytes == plan.of_item(dummy) > 0.85 * plan.built
    assert (
        item(predict(of(iteration_steps=5), "one-hot"), "dummy batches").nbytes
        == 33 * 2 * 5 * flat_size(SMALL) * 4
    )


def test_a_driver_that_plays_has_the_engine_and_another_copy_of_the_network():
    plays, does_not = (predict(of(env_runners=2, driver_plays=n), "packed") for n in (1, 0))
    more = item(plays, "engine").nbytes + item(plays, "weights that play").nbytes
    assert plays.of_one("driver", "built") - does_not.of_one("driver", "built") == more > 0
    assert plays.of_one("runner", "built") == does_not.of_one("runner", "built")
    alone = [predict(of(env_runners=0, driver_plays=n), "packed").built for n in (0, 1)]
    assert alone[0] == alone[1]


def test_what_is_shared_is_counted_once_and_bots_take_nothing():
    few, many = predict(of(env_runners=1), "packed"), predict(of(env_runners=9), "packed")
    snapshots = item(few, "snapshots")
    assert few.of_item(snapshots) == many.of_item(snapshots) == 32 * 5_000_000 * 4
    assert predict(of(bots=0), "packed").items == predict(of(bots=500), "packed").items
    assert predict(of(capacity=300), "packed").of_one("runner", "built") == few.of_one("runner", "built")


@pytest.mark.parametrize("form", [*SHOWN, "features"])
@pytest.mark.parametrize("env_runners", [0, 1, 3])
@pytest.mark.parametrize("learners", [0, 2])
def test_sums_are_those_of_the_items(form, env_runners, learners):
    plan = predict(of(env_runners=env_runners, learners=learners), form)
    counts = {"driver": 1, "runner": env_runners, "learner": learners, "node": 1}
    assert plan.counts == counts
    sums = {
        phase: sum(
            counts[place] * item.nbytes for item in plan.items if item.phase == phase for place in item.places
        )
        for phase in ("built", "building", "training")
    }
    assert plan.built == sums["built"]
    assert plan.peak == sums["built"] + max(sums["building"], sums["training"])
    idle = (1 + env_runners + learners) * SMALL.process_mb + SMALL.services_mb
    assert plan.built - plan.built_over_idle == idle * MB
    assert all(item.nbytes >= 0 for item in plan.items)


def test_sizes_are_readable():
    assert [in_mb(size) for size in (0, 1.5 * MB, 10 * MB, 9999 * MB, 226.2 * GB)] == [
        "0.00 MB",
        "1.50 MB",
        "10 MB",
        "9,999 MB",
        "226.2 GB",
    ]


# ---- budgets -----------------------------------------------------------------------------------------


def test_a_budget_is_kept():
    plan = predict(Setup(), "packed")
    plan.check_budget(plan.peak)
    with pytest.raises(BudgetError, match=r"league needs .* \(packed\); the budget .*, 1 B less.*imports"):
        plan.check_budget(plan.peak - 1)
    with pytest.raises(MemoryError, match=r"needs \d+\.\d GB .*the budget is 6,144 MB.*dummy batches 204"):
        predict(Setup(), "one-hot").check_budget(6 * GB)


# ---- setups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"height": 8}, "height is 8; it must be a whole number from 16 to 1024"),
        ({"iteration_steps": 0}, "iteration_steps is 0"),
        ({"iteration_steps": 1.5}, "iteration_steps is 1.5"),
        ({"bots": True}, "bots is True"),
        ({"agent_seats": 33}, "agent_seats is 33; there are num_players = 32 seats"),
        ({"pair_seats": 9}, "pair_seats is 9; it must be at most agent_seats = 8"),
    ],
)
def test_setups_are_checked(fields, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Setup(**fields)
    with pytest.raises(ValueError, match="form is 'dense'; it must be one of one-hot, packed, pairs, mixed"):
        predict(SMALL, "dense")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.toml", "height = 64 # rows\ncapacity = 3\n"), ("a.json", '{"height": 64, "capacity": 3}')],
)
def test_setups_are_read_from_files(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert Setup.read(tmp_path / name) == Setup(height=64, capacity=3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "height: 64", r"ends in '\.yaml'; it must end in \.toml or \.json"),
        ("a.toml", "height 64", "Expected"),
        ("a.toml", "height = '64'", "height is '64'; it must be a whole number"),
        ("a.json", "[1]", "it must hold names of fields"),
        (
            "a.json",
            '{"hight": 64}',
            "a setup has the field 'hight'; it must have only the fields",
        ),
    ],
)
def test_files_that_describe_no_setup_are_errors(tmp_path, capsys, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises((TypeError, ValueError), match=message):
        Setup.read(path)
    assert cli.main(["info", "memory", "--config", str(path)]) == 2
    assert "argument --config: " in capsys.readouterr().err


# ---- territorial info memory -------------------------------------------------------------------------


def run(capsys, *arguments):
    code = cli.main(["info", "memory", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_shows_all_forms_side_by_side(capsys):
    code, out, err = run(capsys, "--budget", "6GB")
    assert (code, err) == (0, "")
    plans = [predict(Setup(), form) for form in SHOWN]
    for plan in plans:
        for part in plan.items:
            assert part.name in out
            assert plan.of_item(part) == 0 or part.why in out
    (line,) = [line for line in out.splitlines() if "worst moment" in line]
    assert line.split()[-8:] == " ".join(in_mb(plan.peak) for plan in plans).split()


def test_options_take_the_place_of_what_the_file_says(capsys, tmp_path):
    path = tmp_path / "league.toml"
    path.write_text("height = 64\nwidth = 64\ncapacity = 3\n", encoding="utf-8")
    code, out, _ = run(capsys, "--config", str(path), "--capacity", "5", "--form", "packed", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["setup"] == dataclasses.asdict(Setup(height=64, width=64, capacity=5))
    (plan,) = result["plans"]
    expected = predict(Setup(height=64, width=64, capacity=5), "packed")
    assert (plan["form"], plan["built"], plan["peak"]) == ("packed", expected.built, expected.peak)
    assert plan["peak"] <= sum(part["all"] for part in plan["items"])


def test_the_budget_decides_the_exit_code(capsys):
    pairs = predict(Setup(), "pairs").peak
    for budget, form, wanted, message in (
        ("6GB", "packed", 0, ""),
        ("1.5 gb", "packed", 1, "the budget is 1,536 MB"),
        ("6GB", "one-hot", 1, "territorial info memory: the league needs"),
        (f"{pairs}B", "pairs", 0, ""),
        (f"{pairs - 1}B", "pairs", 1, "(pairs)"),
    ):
        code, out, err = run(capsys, "--budget", budget, "--form", form)
        assert code == wanted
        assert message in err
        assert "worst moment" in out
