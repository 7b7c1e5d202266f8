"""maintainers/walk.py tells what one step of an environment calls."""

import numpy as np
import pytest

from territorial import GameConfig

pytestmark = pytest.mark.checkout
walk = pytest.importorskip("maintainers.walk", reason="the repository's own commands are not in the wheel")
SMALL = ["--size", "24", "--players", "4"]


def test_it_prints_rooms_and_calls(capsys):
    assert walk.main(["make_vec", *SMALL]) == 0
    printed = capsys.readouterr().out
    assert "# make_vec\n" in printed
    assert "# make_vec, a game ends\n" in printed
    assert "# parallel_env" not in printed
    assert "rooms: territorial.envs, " in printed
    assert "\nterritorial/envs/vector: TerritorialVec.step" in printed
    assert "  territorial/engine/step: step_games  kernel" in printed
    walk.main(["make_vec", *SMALL, "--counts"])
    assert len(capsys.readouterr().out.splitlines()) == 4 * 3


def test_every_call_and_every_copy_of_a_step_is_counted_once():
    root = walk.follow(walk.parallel_env(GameConfig(height=24, width=24, num_players=4)))
    names = {(one.module, one.name, one.is_kernel): one for _, _, one in root.all()}
    assert names["territorial.envs.pettingzoo", "TerritorialEnv.step", False].count == 1
    assert names["territorial.engine.step", "step_games", True].count == 1
    assert not [name for _, name, is_kernel in names if (name, not is_kernel) in {key[1:] for key in names}]
    copied = sum(one.num_bytes for one in names.values())
    assert copied >= 4 * 3 * 24 * 3  # the boards alone
    assert f"{copied:,} bytes" in walk.counts(root)
    walked = walk.Walk()
    with walked.followed():
        np.ones(100_000, np.int8)
    assert (walked.root.pieces, walked.root.num_bytes // 1000) == (1, 100)


def test_the_step_of_rllibs_batched_runner_is_followed():
    pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
    pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")
    root = walk.follow_runner(GameConfig(height=24, width=24, num_players=4))
    found = {(one.module, one.name): one for _, _, one in root.all()}
    assert [name for _, name, _ in root.calls] == ["TerritorialEnvRunner._play"]
    for name in (
        ("rllib_adapters.envs.batch", "TerritorialBatchEnv.step"),
        ("territorial.engine.checks", "copy_actions"),
    ):
        assert found[name].count == 1
    above = [one for _, caller, one in root.all() if walk.direction(caller, one.module) == "UP"]
    assert {one.name for one in above} <= {"step_games"}, "by way of threads, which call what they are given"


@pytest.mark.parametrize(
    ("caller", "callee", "way"),
    [
        ("territorial.envs.vector", "territorial.engine.vec_game", ""),
        ("territorial.engine.step", "territorial.engine.vec_game", ""),
        ("territorial.game.rules", "territorial.envs.vector", "UP"),
        ("territorial.engine.step", "territorial.decode.numpy", "SIDE"),
        ("territorial.envs.vector", "rllib_adapters.envs.batch", "UP"),
    ],
)
def test_a_call_to_a_room_above_is_one_up(caller, callee, way):
    assert walk.direction(caller, callee) == way
