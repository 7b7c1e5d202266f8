"""``territorial train``: what its options mean, and that a run stopped at any moment can be resumed."""

import csv
import dataclasses
import json
import os
import signal
import sys
import time
from contextlib import closing, nullcontext
from importlib.util import find_spec

import numpy as np
import pytest
import ray
import torch
from ray.rllib.core.rl_module.rl_module import RLModule

from rllib_adapters.league.callback import league_in
from rllib_adapters.learning.algorithm_config import LearningOptions
from rllib_adapters.modules.board import settings_of
from rllib_adapters.networks import NETWORKS
from rllib_adapters.train import cli as train_command
from rllib_adapters.train import run
from rllib_adapters.train.options import DEFAULT, PRESETS, Training
from territorial import VecGame, cli
from territorial.cli.options import UsageError
from territorial.league import League, SnapshotStore
from territorial.league.checkpoints import Checkpoints
from territorial.memory import guard
from territorial.memory.measure import measure
from territorial.memory.plan import BudgetError
from territorial.nets.players import rows_of
from tests.rllib.support import finish, started, wait_for

NEEDS_RATINGS = pytest.mark.skipif(
    find_spec("openskill") is None, reason="openskill is not installed: the extra `league` has it"
)
SMALL = [
    *("--preset", "quick", "--height", "24", "--width", "24", "--num-maps", "1", "--max-ticks", "400"),
    *(
        "--num-games",
        "2",
        "--iteration-steps",
        "24",
        "--minibatch",
        "12",
        "--freeze-every",
        "1",
        "--capacity",
        "3",
    ),
    *("--checkpoint-every", "1"),
]


# A run in which something happens before or after the given call of a function: a kill, or a full disk.
INJECTED = """
import errno, os, signal, sys
from rllib_adapters.league import callback
from rllib_adapters.train import run
from territorial import cli
from territorial.league import checkpoints

what, where, name, when, count, *arguments = sys.argv[1:]
owner, left = eval(where), int(count)
real = getattr(owner, name)

def happen():
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

def injected(*args, **kwargs):
    global left
    left -= 1
    if left == 0 and when == "before":
        happen()
    result = real(*args, **kwargs)
    if left == 0 and when == "after":
        happen()
    return result

setattr(owner, name, injected)
sys.exit(cli.main(["train", *arguments]))
"""


def start(folder, *options, injected=(), **kwargs):
    begins = ["-c", INJECTED, *injected] if injected else ["-m", "territorial", "train"]
    return started(*begins, str(folder), *options, **kwargs)


def main(arguments):
    """The exit code of a run with these arguments in this process."""
    return cli.main(["train", *arguments])


def whole(folder):
    """The iteration of the newest checkpoint, in which all is there that belongs together."""
    latest = Checkpoints(folder / "checkpoints").latest()
    if latest is None:
        return 0
    iteration = int(latest.name.rpartition("-")[2])
    league, store = League.load(latest / "league.npz"), SnapshotStore(folder / "snapshots")
    assert league.steps == {"main": iteration}
    for name in league.snapshots:
        assert store.load(name).manifest.metadata["step"] == league.snapshots[name].step
    logged = json.loads((latest / "state.json").read_text())["logged"]
    text = (folder / "progress.csv").read_bytes()[:logged].decode()
    rows = list(csv.DictReader(text.splitlines()))
    assert [int(row["iteration"]) for row in rows] == list(range(1, iteration + 1))
    if rows:
        assert int(rows[-1]["games"]) == league.num_games
        assert float(rows[-1]["rating_main"]) == pytest.approx(league.rating("trainable:main").mu, abs=1e-3)
    frozen_now = [name for name, one in league.snapshots.items() if one.step == iteration]
    learned = weights_in(latest)
    for name in frozen_now:  # with a copy every iteration, the newest is what main has learned by then
        np.testing.assert_equal(dict(store.load(name)), learned)
    assert frozen_now
    return iteration


def weights_in(checkpoint):
    """The weights of the main agent in a checkpoint of the algorithm, by the names of snapshots."""
    module = RLModule.from_checkpoint(
        checkpoint / "algorithm" / "learner_group" / "learner" / "rl_module" / "main"
    )
    found = {key: tensor.numpy() for key, tensor in module.state_dict().items()}
    return {key.removeprefix("policy."): array for key, array in found.items()}


def check(folder, iterations):
    """The newest checkpoint has all that belongs together, and the log ends with it."""
    assert whole(folder) == iterations
    rows = csv.DictReader((folder / "progress.csv").read_text().splitlines())
    assert [int(row["iteration"]) for row in rows] == list(range(1, iterations + 1))


@pytest.mark.slow
@NEEDS_RATINGS
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and process groups are not there on Windows")
def test_a_run_that_is_interrupted_says_how_it_goes_on(tmp_path):
    folder = tmp_path / "run"
    checkpoints, process = Checkpoints(folder / "checkpoints"), start(folder, *SMALL)
    wait_for(lambda: checkpoints.steps()[-1:] >= [2], process)
    process.send_signal(signal.SIGINT)
    assert "interrupted; --resume resumes from" in finish(process, 130)
    last = checkpoints.steps()[-1]
    check(folder, last)
    check_resumed(folder, last)


def check_resumed(folder, last):
    """The run goes on from its newest checkpoint, for two iterations."""
    finish(start(folder, "--resume", "--iterations", str(last + 2)))
    check(folder, last + 2)


MOMENTS = {
    "before the first checkpoint": ("run.Run", "keep", "before", 1),
    "when the algorithm is on the disk and the league is not": ("run.League", "save", "before", 2),
    "when a checkpoint is not sealed": ("checkpoints", "_seal", "before", 2),
    "when it is sealed and has another name": ("checkpoints", "_seal", "after", 2),
    "when it is complete and older ones are there": ("checkpoints.Checkpoints", "_remove", "before", 1),
    "when what no checkpoint needs is not removed": ("callback.LeagueCallback", "clean", "before", 3),
    "before the weights of a frozen copy are kept": ("callback.SnapshotStore", "add", "before", 2),
    "when they are and no checkpoint has it": ("callback.SnapshotStore", "add", "after", 2),
    "when a line is logged of which there is no checkpoint": ("run._Log", "add", "after", 2),
}


@pytest.mark.slow
@NEEDS_RATINGS
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is not there on Windows")
def test_a_run_killed_at_chosen_moments_loses_nothing_that_was_complete(tmp_path):
    folder, last = tmp_path / "run", 0
    for i, (moment, (owner, name, when, count)) in enumerate(MOMENTS.items()):
        options = [*SMALL, "--keep", "1"] if i == 0 else ["--resume"]
        injected = ("kill", owner, name, when, str(count))
        finish(start(folder, *options, injected=injected), -signal.SIGKILL)
        found = whole(folder)
        assert found >= last, moment
        last = found
    assert last == 9, "a process comes to one iteration more than its predecessor, or to three"
    check_resumed(folder, last)


@pytest.mark.slow
@NEEDS_RATINGS
@pytest.mark.parametrize(
    "moment", ["when it is sealed and has another name", "before the weights of a frozen copy are kept"]
)
def test_a_full_disk_leaves_the_last_checkpoint_whole_wherever_it_is_met(tmp_path, moment):
    folder, (owner, name, when, _) = tmp_path / "run", MOMENTS[moment]
    text = finish(start(folder, *SMALL, injected=("full", owner, name, when, "3")), 1)
    assert "the disk is full" in text
    assert "Traceback" not in text
    last = whole(folder)
    assert f"--resume resumes from {Checkpoints(folder / 'checkpoints').latest()}" in text
    assert last >= 1
    check_resumed(folder.rename(tmp_path / "moved"), last)


def test_presets_are_runs():
    assert {name: (training.num_players, training.net.obs) for name, training in PRESETS.items()} == {
        "quick": (4, "packed"),
        "pairs": (12, "pairs"),
        "features": (12, "packed"),
        "boards": (32, "packed"),
    }
    assert DEFAULT == "pairs"
    for training in PRESETS.values():
        made = training.league_config(), training.game(), training.setup(1000)
        assert {one.num_players for one in made} == {training.num_players}


def test_the_memory_of_a_run_is_predicted_in_the_form_of_its_network(tmp_path, monkeypatch):
    monkeypatch.setattr(run.Run, "_guard", lambda _: nullcontext())  # which measures what Ray holds already
    training = dataclasses.replace(PRESETS["pairs"], memory_mb=100)
    with pytest.raises(BudgetError, match=r"the league needs .* \(pairs\); the budget is 100 MB"):
        run.Run(tmp_path / "run", training)


@pytest.mark.parametrize("network", ["pairs", "features", "boards"])
def test_the_numbers_of_a_row_that_networks_keep_are_those_that_are_predicted(network):
    kept = [{}, {}]  # of one row, and of two: both have kept weights

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[count - 1][storage.data_ptr()] = storage.nbytes()
        return tensor

    net, preset = NETWORKS[network], PRESETS[network]
    policy = net.module.make_policy({**settings_of(preset.env_config()), **net.settings})
    seen = VecGame(preset.game(), 1, frames=net.frames).reset()
    for count in (1, 2):
        seats = np.arange(1, count + 1)
        rows = {
            "pairs": (torch.ones(count, 35), torch.ones(count, 8, 26), torch.ones(count, 81)),
            "packed": (rows_of(seen, np.zeros(count, int), seats),),
        }
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            policy(*rows[net.obs])
    one, two = (sum(part.values()) / 4 for part in kept)
    assert two - one == pytest.approx(net.activations, rel=0.1)


def test_options_can_be_kept(tmp_path):
    training = dataclasses.replace(PRESETS["quick"], seed=7, share=0.5, bf16=True)
    training.write(tmp_path / "run.json")
    assert Training.read(tmp_path / "run.json") == training


def options_with(**changes):
    """The text of a file of options, with changes that may be wrong."""
    return json.dumps(dataclasses.asdict(PRESETS["quick"]) | changes)


FORGED = {
    Training.read: [
        ("[1]", "it must be a JSON object"),
        ('{"minutes": NaN}', "the number 'NaN'"),
        ("{}", "it has no 'agent_seats'"),
        (options_with(hight=3), "it has the field 'hight'"),
        (options_with(minutes="x"), "minutes is 'x'; it must be a finite number from 0"),
        (options_with(bot_names=5), "bot_names is 5; it must be a string"),
        (options_with(agent_seats=1.5), "agent_seats is 1.5; it must be a whole number"),
        (options_with(bf16="yes"), "bf16 is 'yes'; it must be True or False"),
        ('{"share": NaN}', "the number 'NaN'"),
        ("[" * 10**5, "bytes; it must have at most|more than 65,536 bytes"),
        ('{"x": ' + "[" * 400 + "]" * 400 + "}", "deep"),
    ],
    run._state_in: [
        ('{"seconds": 1.5, "options": {}}', "it has no 'logged'"),
        ('{"seconds": 1.5, "logged": 7}', "it has no 'options'"),
        ('{"seconds": NaN, "logged": 1, "options": {}}', "the number 'NaN'"),
        ('{"seconds": -1, "logged": 1, "options": {}}', "seconds is -1; it must be a finite number from 0"),
        ('{"seconds": 1, "logged": 1.5, "options": {}}', "logged is 1.5; it must be a whole number"),
        ('{"seconds": 1, "logged": 1, "options": {}, "x": 1}', "it has the field 'x'"),
        ('{"seconds": 1, "logged": 1, "options": [1]}', r"options is \[1\]"),
        ("", "it is not JSON"),
    ],
}


@pytest.mark.parametrize(
    ("read", "text", "message"), [(read, *row) for read, rows in FORGED.items() for row in rows]
)
def test_forged_options_and_states_of_a_run_are_refused(tmp_path, read, text, message):
    (tmp_path / "it.json").write_text(text)
    with pytest.raises(ValueError, match=f"it.json' does not hold the .* of a run.*({message})"):
        read(tmp_path / "it.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--network", "words"], "network is 'words'"),
        (["--minibatch", "99999"], "minibatch is 99999; it must be at most 32768, the rows of main"),
        (
            ["--share", "0.1"],
            "minibatch is 4096; it must be at most 3277, the rows of main in an iteration (a ",
        ),
        (["--share", "0"], "argument --share: share is 0.0; it must be a finite number from 0.001 to 1"),
        (["--agent-seats", "0"], "agent_seats is 0"),
        (["--preset", "features", "--start", "a.safetensors"], "argument --start: start is 'a.safetensors'"),
        (["--bot-names", "nobody"], "nobody"),
        (["--resume", "--agent-seats", "3"], "argument --agent-seats: it cannot change"),
        (["--resume", "--preset", "quick"], "argument --preset: it cannot change"),
    ],
)
def test_options_that_cannot_be_are_refused_before_ray_is_started(tmp_path, capsys, options, message):
    assert main([str(tmp_path / "run"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_folder_that_does_not_do_is_refused_before_ray_is_loaded(tmp_path, capsys):
    (tmp_path / "run.json").write_text("{}")
    for folder, options, message in (
        (tmp_path, SMALL, "--resume resumes it"),
        (tmp_path / "none", ["--resume"], "no run"),
        (tmp_path / "run.json" / "run", SMALL, ": Not a directory"),
    ):
        assert main([str(folder), *options]) == 2
        assert message in capsys.readouterr().err


def test_the_engine_is_compiled_once_before_ray_is_started(tmp_path, monkeypatch, capsys):
    happened = []

    def started(runners):
        happened.append("Ray")
        raise UsageError("enough")

    monkeypatch.setattr(train_command, "compile_steps", lambda game: happened.append(game.height))
    monkeypatch.setattr(run, "start_ray", started)
    assert main([str(tmp_path / "run"), *SMALL]) == 2
    assert happened == [24, "Ray"]


TINY = {
    "height": 24,
    "width": 24,
    "num_maps": 1,
    "max_ticks": 300,
    "env_runners": 0,
    "num_games": 2,
    "iteration_steps": 24,
    "minibatch": 24,
}


@pytest.fixture(scope="module")
def begun(running_ray, tmp_path_factory):
    """A run with a runner of its own, in games that do not end, and its folder."""
    folder = tmp_path_factory.mktemp("league") / "run"
    training = dataclasses.replace(
        PRESETS["quick"],
        env_runners=1,
        num_games=1,
        iteration_steps=6,
        minibatch=6,
        max_ticks=100_000,
        iterations=1,
        freeze_every=1,
        checkpoint_every=5,
    )
    with closing(run.Run(folder, training)) as current:
        yield current, folder


@NEEDS_RATINGS
def test_a_run_on_pairs_has_its_snapshots_in_the_engine(begun, tmp_path):
    learning = {"share": 0.5, "bf16": True}
    training = dataclasses.replace(PRESETS["pairs"], **TINY, **learning, freeze_every=1, iterations=2, seed=1)
    with closing(run.Run(tmp_path / "run", training)) as current:
        assert current.algorithm.config.learning_options == LearningOptions(**learning)
        current.train(lambda row, seconds: None)
        env = current.algorithm.env_runner.env
        assert not env.frozen.any()
        networks = [name for k in range(2) for name in env.game.seats_of(k) if name.startswith("net:")]
        assert len(networks) == 2 * PRESETS["pairs"].snapshot_seats
        assert all(name.endswith(",every=50") for name in networks)
        assert league_in(current.algorithm).num_games > 0
        assert current.store.network("main-1") is not None
        assert current.store.manifest(run.LAST).metadata["step"] == 2
        np.testing.assert_equal(dict(current.store.load(run.LAST)), dict(current.store.load("main-2")))
        assert run.LAST not in league_in(current.algorithm).snapshots
        current.training = dataclasses.replace(current.training, iterations=3)
        current.train(lambda row, seconds: None)
        assert current.store.manifest(run.LAST).metadata["step"] == 3, "it takes the place of the earlier one"


@NEEDS_RATINGS
def test_a_run_in_which_no_game_has_ended_shows_no_figures_of_any(begun, capsys, caplog):
    current, folder = begun
    with caplog.at_level("INFO", "territorial"):
        current.train(train_command._show)
    assert "iteration 1" in caplog.text
    assert "no game has ended yet, frozen main-1, 2 snapshots" in caplog.text
    (row,) = csv.DictReader((folder / "progress.csv").read_text().splitlines())
    assert {row[name] for name in row if name.startswith(("place", "rating", "above"))} == {""}
    assert cli.main(["league", "show", str(folder)]) == 0
    assert "no game has ended yet" in capsys.readouterr().out


@NEEDS_RATINGS
def test_runners_have_the_priority_of_the_driver(begun):
    (runner,) = begun[0].algorithm.env_runner_group._worker_manager.actors().values()
    assert ray.get(runner.apply.remote(lambda _: os.nice(0))) == os.nice(0)


@NEEDS_RATINGS
def test_a_runner_that_grows_ends_the_run_with_a_checkpoint_and_a_table(begun, monkeypatch):
    current, _ = begun
    (runner,) = current.algorithm.env_runner_group._worker_manager.actors().values()
    pid, limit = ray.get(runner.apply.remote(lambda _: os.getpid())), 9000
    before = current.algorithm.training_iteration  # 0, or 1 where the test above came first

    def grown(pids):
        """What there is, but that the runner holds all that is allowed."""
        found = measure(pids)
        held = (one._replace(nbytes=limit * 2**20) if one.pid == pid else one for one in found.processes)
        return dataclasses.replace(found, processes=tuple(held))

    monkeypatch.setattr(guard, "measure", grown)
    monkeypatch.setattr(guard, "most_held", lambda pids: None)
    runner.apply.remote(lambda _: time.sleep(300))  # the next sample waits for it
    current.training = dataclasses.replace(current.training, iterations=3, memory_mb=limit)
    with pytest.raises(BudgetError, match=f"the limit is {limit:,} MB") as caught:
        current.train(lambda row, seconds: None)
    assert f" {pid} " in str(caught.value)
    assert "Who holds what" in str(caught.value)
    assert current.checkpoints.steps() == sorted({0, before})
    assert current.algorithm.training_iteration == before
