"""benchmarks/bots/champion_*.py: ways to train, curves, seeds and exploiters, of trainings made up."""

import argparse
import json
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

champion_roads = pytest.importorskip("benchmarks.bots.champion_roads", reason="the benchmarks are not here")

from benchmarks import harness  # noqa: E402 - only where they are
from benchmarks.bots import champion_curve, champion_exploiter, champion_seeds, exam_games, road_folders  # noqa: E402
from benchmarks.bots.champion_roads import ARMS, DEFAULT, RLLIB_PAIRS  # noqa: E402
from benchmarks.tables import champion_training  # noqa: E402
from territorial.bots.learned import FOLDER  # noqa: E402
from territorial.evaluation.statistics import Estimate  # noqa: E402
from tests.bots.networks import random_file  # noqa: E402

pytestmark = pytest.mark.checkout


def figures(value):
    found = {name: Estimate(value, value - 0.5, value + 0.5)._asdict() for name in ("above", "fair", "place")}
    return found | {"holds": False}


@pytest.fixture
def road(tmp_path):
    """A folder of examples/champion.py: six minutes of preparation, and a network every ten minutes after."""
    folder = tmp_path / "road"
    for seed, path in enumerate(("clone", "pairs/history", "style")):
        (folder / path).mkdir(parents=True)
        if path == "clone":
            random_file(folder / path / "network.safetensors", seed, interval=50)
    for seed, path in enumerate(("history/0010", "history/0020", "network")):
        random_file(folder / "pairs" / f"{path}.safetensors", 10 + seed, interval=50)
    (folder / "style" / "style.json").write_bytes((FOLDER / "upstart-1.json").read_bytes())
    seconds = {"style": 60, "games": 120, "clone": 180, "pairs": 1500}
    (folder / "road.json").write_text(json.dumps({"seed": 3, "quick": False, "processor_seconds": seconds}))
    lines = [f"{i},{60 * i},{0.5 + i / 100 if i % 2 else 'nan'}" for i in range(1, 25)]
    (folder / "pairs" / "progress.csv").write_text("\n".join(["update,processor_seconds,above", *lines, ""]))
    return folder


# ---- ways to train -------------------------------------------------------------------------------------


def test_arms_differ_from_arms_that_come_before_them():
    names = list(ARMS)
    for name, arm in ARMS.items():
        assert arm.of == name or names.index(arm.of) < names.index(name) or arm.of == DEFAULT, name
        assert ARMS[arm.of].of in (arm.of, DEFAULT)
    assert set(champion_roads.QUICK_ARMS) <= set(ARMS)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ARMS)
def test_the_command_of_every_arm_can_be_given(road, tmp_path, name, quick):
    roads = champion_roads.Roads(road, tmp_path / "runs", 20.0, quick=quick)
    arm, command = ARMS[name], roads.command(name, 2)
    start = f"--start={road / 'clone' / 'weights.safetensors'}"
    assert (start in command) == arm.starts
    assert "--seed=2" in command
    if arm.rllib:
        pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
        from rllib_adapters.train import cli as train_command

        assert command[1:3] == ["territorial", "train"]
        parser = argparse.ArgumentParser()
        train_command.add_parser(parser.add_subparsers())
        parsed = vars(parser.parse_args(command[2:]))
        assert parsed["minutes"] == 1e6, "processor time is what ends it"
        assert {option: parsed[option] for option in arm.options} == arm.options
    else:
        pytest.importorskip("torch", reason="PyTorch is not installed")
        settings = harness.example("pairs_ppo").Settings
        given = {
            name.replace("-", "_"): value
            for name, value in (option.removeprefix("--").split("=", 1) for option in command[1:])
        }
        kinds = {spec.name: {"int": int, "float": float}.get(spec.type, str) for spec in fields(settings)}
        made = settings(**{key: kinds[key](value) for key, value in given.items()})
        for option, value in arm.options.items():
            assert getattr(made, option.replace("-", "_")) == value


def test_what_starts_from_nothing_gets_the_time_of_the_preparation(road, tmp_path):
    roads = champion_roads.Roads(road, tmp_path / "runs", 20.0, quick=False)

    def minutes_of(name):
        (text,) = (one for one in roads.command(name, 0) if one.startswith("--minutes="))
        return float(text.partition("=")[2])

    assert minutes_of("nothing") - minutes_of(DEFAULT) == pytest.approx(6.0)


@pytest.fixture
def trained(monkeypatch, road, tmp_path):
    """Trainings that end at once, each counted, and exams that find the seed plus a bonus of the arm."""
    found = SimpleNamespace(run=[], road=road, folder=tmp_path / "runs", json=tmp_path / "result.json")

    def run_for(command, seconds, log, told):
        found.run.append((log.parent.parent.name, log.parent.name))
        (log.parent / "run").mkdir()
        random_file(log.parent / "run" / "network.safetensors", 1, interval=50)
        return 60.0 * len(found.run)

    monkeypatch.setattr(champion_roads, "run_for", run_for)
    bonus = {DEFAULT: 0.0, "all-rows": -1.0}

    class Exam:
        def __init__(self, *_):
            order = [(seed, name) for seed in range(2) for name in (DEFAULT, "all-rows")]
            self.asked = iter(
                [figures(seed + bonus[name] + drawn) for seed, name in order for drawn in (0, 7)]
            )

        def examined(self, player):
            return next(self.asked)

    monkeypatch.setattr(champion_roads, "ShortExam", Exam)
    found.arguments = [
        *(str(road), "--folder", str(found.folder), "--json", str(found.json)),
        *("--seeds", "2", "--only", DEFAULT, "all-rows"),
    ]
    return found


def test_every_arm_and_seed_is_trained_once_and_gains_are_seed_by_seed(trained, capsys):
    assert champion_roads.main(trained.arguments) == 0
    order = [(name, f"seed-{seed}") for seed in range(2) for name in (DEFAULT, "all-rows")]
    assert trained.run == order
    result = json.loads(trained.json.read_text())
    default, other = result["arms"][DEFAULT], result["arms"]["all-rows"]
    assert [run["processor_minutes"] for run in default["runs"]] == [1.0, 3.0]
    assert default["mean"]["fair"]["value"] == 0.5
    assert "gain" not in default
    assert other["gain"]["fair"] == {"value": -1.0, "low": -1.0, "high": -1.0}, "no seed differs from another"
    assert default["mean_drawn"]["fair"]["value"] == 7.5
    assert other["gain_drawn"]["fair"]["value"] == -1.0
    assert default["holds"] == 0
    assert result["preparation_minutes"] == 6.0
    assert champion_roads.main(trained.arguments) == 0
    assert trained.run == order, "what is done is not run again"
    assert champion_roads.main([*trained.arguments, "--minutes-each", "5"]) == 1
    assert "was trained by other options" in capsys.readouterr().err


def test_a_training_that_was_stopped_begins_again(trained, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(champion_roads, "run_for", stopped)
        with pytest.raises(KeyboardInterrupt):
            champion_roads.main(trained.arguments)
    assert champion_roads.main(trained.arguments) == 0
    assert len(trained.run) == 4


def test_an_arm_without_a_network_is_named(trained, monkeypatch, capsys):
    monkeypatch.setattr(champion_roads, "run_for", lambda *_: 1.0)
    assert champion_roads.main(trained.arguments) == 1
    assert "network.safetensors" in capsys.readouterr().err
    assert not trained.json.exists()


# ---- curves, seeds, exploiters -------------------------------------------------------------------------


def test_a_road_has_its_style_its_clone_and_every_network_by_minutes_from_the_first_step(road):
    points = [(point.minutes, point.what) for point in road_folders.points_of(road)]
    assert points == [(1, "style"), (6, "clone"), (16, "network"), (26, "network"), (30, "network")]
    alone = [point.minutes for point in road_folders.points_of(road / "pairs")]
    assert alone == [10, 20, 24]


def test_a_curve_is_examined_point_by_point_and_drawn(road, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    found = iter([figures(float(i)) for i in range(5)])
    monkeypatch.setattr(champion_curve.ShortExam, "examined", lambda self, player: next(found))
    path = tmp_path / "curve.json"
    assert champion_curve.main([f"a label={road}", "--json", str(path)]) == 0
    result = json.loads(path.read_text())
    assert [point["fair"]["value"] for point in result["curves"]["a label"]] == [0, 1, 2, 3, 4]
    champion_curve.draw(result, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    table = champion_training.curve(result | {"machine": {"cpu": "Alpha"}})
    assert table.count("a label") == 3, "style, clone, and the last network"


def test_runs_of_a_curve_need_labels(capsys):
    for arguments, message in (([], "there are no runs"), (["runs/one"], "is not LABEL=FOLDER")):
        with pytest.raises(SystemExit):
            champion_curve.main(arguments)
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("fair", "code"), [(9.5, 0), (8.5, 1)])
def test_seeds_are_held_against_their_bars(road, tmp_path, monkeypatch, capsys, fair, code):
    monkeypatch.setattr(champion_seeds.ShortExam, "examined", lambda self, player: figures(fair))
    path = tmp_path / "seeds.json"
    assert champion_seeds.main([str(road), "--json", str(path)]) == code
    assert ("missed: seed 3" in capsys.readouterr().out) == bool(code)
    result = json.loads(path.read_text())
    assert result["roads"][0]["minutes"] == {"style": 1, "games": 2, "clone": 3, "pairs": 25}
    assert result["roads"][0]["updates"] == 24
    slow = result["roads"][0] | {"minutes": {"pairs": 121.0}}
    assert any("121.0 minutes" in line for line in champion_seeds.misses([slow]))
    table = champion_training.seeds(result | {"machine": {"cpu": "Alpha"}})
    assert f"{fair:.1f} ({fair - 0.5:.1f} to {fair + 0.5:.1f})" in table


def test_the_curve_of_an_exploiter_leaves_out_updates_in_which_no_game_ended(road):
    parts = champion_exploiter.in_parts(road_folders.progress(road / "pairs"))
    assert len(parts) == champion_exploiter.PARTS
    assert parts[0] == {"minutes": 1.0, "above": pytest.approx(0.51)}
    assert parts[-1]["minutes"] == 23.0
    assert np.all(np.diff([part["above"] for part in parts]) > 0)


def test_a_short_look_at_an_exploiter_needs_no_road(monkeypatch):
    class StoppedError(Exception):
        returncode = 7

    def run(command, check):
        commands.append(command)
        raise StoppedError

    commands = []
    monkeypatch.setattr(
        champion_exploiter, "subprocess", SimpleNamespace(run=run, CalledProcessError=StoppedError)
    )
    monkeypatch.setattr(champion_exploiter, "make_untrained", lambda road: None)
    monkeypatch.setattr(champion_exploiter, "is_bot_file", lambda name: False)
    code = champion_exploiter.main(["net:runs/none", "runs/exploiter", "--start", "runs/none", "--quick"])
    assert code == StoppedError.returncode
    assert not [part for part in commands[0] if "runs/" in part]


def test_an_exploiter_is_trained_against_the_champion_alone_and_plays_champions_alone(
    road, tmp_path, monkeypatch
):
    champion = f"net:{road / 'clone' / 'network.safetensors'}"
    commands, fields = [], []
    runs = SimpleNamespace(run=lambda command, check: commands.append(command), CalledProcessError=OSError)
    monkeypatch.setattr(champion_exploiter, "subprocess", runs)
    monkeypatch.setattr(champion_exploiter.ShortExam, "examined", lambda self, player: figures(2.0))

    def play(self, player, field, games):
        fields.append((field.config.num_players, field.opponents(3, None)))
        one = Estimate(0.5, 0.4, 0.6)
        return SimpleNamespace(above=lambda: one, fair=lambda: one)

    monkeypatch.setattr(exam_games.Examiner, "play", play)
    path = tmp_path / "exploiter.json"
    given = ["--exams", str(tmp_path / "exams"), "--games", "10", "--json", str(path), "--minutes", "30"]
    assert champion_exploiter.main([champion, str(road / "pairs"), *given]) == 0
    (command,) = commands
    assert {f"--opponents={champion}", "--past=0", "--minutes=30.0"} <= set(command)
    result = json.loads(path.read_text())
    assert [point["minutes"] for point in result["held_out"]] == [10, 20, 24]
    assert [count for count, _ in fields] == [12, 32] * 3
    assert {one.digest for _, opponents in fields for one in opponents} == {fields[0][1][0].digest}
    assert champion_exploiter.main([champion, str(road / "pairs"), *given]) == 0
    assert len(fields) == 6, "what was played is kept"
    table = champion_training.exploiter(result | {"machine": {"cpu": "Alpha"}})
    assert "50 % (40 to 60)" in table


# ---- tables --------------------------------------------------------------------------------------------


def test_tables_say_where_no_result_is_on_file():
    for table in ("ablations", "roads", "seeds", "curve", "exploiter"):
        assert "no result is on file" in getattr(champion_training, table)(None)


def test_ways_with_and_without_rllib_are_in_tables_of_their_own():
    def run(seed, value):
        return {"seed": seed, "processor_minutes": 20.5, "exam": figures(value), "drawn": figures(value + 1)}

    runs = {
        name: [run(seed, 0.5) for seed in range(2)]
        for name in (DEFAULT, "nothing", RLLIB_PAIRS, "rllib-boards")
    }
    runs["rllib-boards"] = [run(0, 0.4), run(1, 0.2)]
    result = champion_roads.result_of(runs, 400) | {
        "minutes": 20.0,
        "preparation_minutes": 6.0,
        "machine": {"cpu": "Alpha"},
    }
    held = runs["nothing"][0]["exam"] | {"holds": True}
    runs["nothing"][0] = runs["nothing"][0] | {"exam": held}
    result |= {"arms": champion_roads.result_of(runs, 400)["arms"]}
    ablations, roads = champion_training.ablations(result), champion_training.roads(result)
    (nothing,) = (line for line in ablations.splitlines() if "| nothing |" in line)
    assert "**1 of 2 never act**" in nothing
    assert ablations.count("never act") == 1, "it is said of no other"
    assert "rllib" not in ablations.split("\n\n")[0]
    (boards,) = (line for line in roads.splitlines() if "| rllib-boards |" in line)
    assert "-20 % (-147 to +107) over `rllib-pairs`" in boards
    assert "| nothing |" not in roads
    assert f"| {DEFAULT} |" in roads
