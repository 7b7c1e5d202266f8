"""A checkpoint that an older revision of the project wrote is loaded by this one, and trains on.

Those in ``tests/older/before_rooms`` were made by the revision before the modules moved into packages. To
make them anew, at the root of a checkout of it: ``python -m tests.rllib.test_older FILE.zip``.
"""

import os
import pickle
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="RLlib is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")

from tests.rllib.support import fill, league, small_config, start_ray  # noqa: E402 - only where ray is there

pytestmark = [pytest.mark.verify, pytest.mark.filterwarnings("ignore:.* is now :DeprecationWarning")]
CHECKPOINT = Path(__file__).parents[1] / "older" / "before_rooms" / f"ray-{ray.__version__}.zip"


@pytest.mark.skipif(not CHECKPOINT.exists(), reason=f"there is no older checkpoint of Ray {ray.__version__}")
def test_an_older_checkpoint_trains_on(running_ray, tmp_path):
    from ray.rllib.algorithms.algorithm import Algorithm

    shutil.unpack_archive(CHECKPOINT, tmp_path)
    add_entries(tmp_path / "checkpoint", max_steps=30)
    algorithm = Algorithm.from_checkpoint(str(tmp_path / "checkpoint"), store=str(tmp_path / "store"))
    try:
        assert algorithm.iteration == 1
        games = algorithm.env_runner.env.envs
        assert {game.unwrapped.options.end_when for game in games} == {"no_agents"}, "the default of then"
        assert {game.unwrapped.options.max_cycles for game in games} == {30}
        algorithm.train()
        assert algorithm.iteration == 2
    finally:
        algorithm.stop()


def add_entries(checkpoint, **entries):
    """Let the ``env_config`` of a checkpoint have further entries, as it might have had then."""
    path = checkpoint / "class_and_ctor_args.pkl"
    made_with = pickle.loads(path.read_bytes())
    made_with["ctor_args_and_kwargs"][0][0]["env_config"].update(entries)
    path.write_bytes(pickle.dumps(made_with))


def main(archive: Path) -> None:
    """Write ``archive``: a store with a snapshot, and a checkpoint after one iteration."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        start_ray()
        fill("store").remove("second")
        table = league("snapshot:first", "bot:banker")
        algorithm = small_config("store", env={"league": table}).build_algo()
        algorithm.train()
        algorithm.save_to_path(f"{folder}/checkpoint")
        algorithm.stop()
        ray.shutdown()
        Path("store/.lock").unlink(missing_ok=True)
        shutil.make_archive(str(archive.with_suffix("")), "zip", folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
