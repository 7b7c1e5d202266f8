"""``territorial whatif``: a table and JSON of what other decisions would have led to, and clear refusals."""

import json
import sys

import pytest

from territorial.bots import PythonBot
from tests.replay.support import SMALL, recorded_game
from tests.replay.test_branch import Chancy

CHANCY = "tests.replay.test_branch:Chancy"


class Quits(PythonBot):
    """Ends whoever asks it."""

    name, interval = "quits-1", 10

    def decide(self, view):
        sys.exit(3)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("whatif") / "game.replay"
    recorded_game(SMALL, ("settler", "banker", "champion", Chancy()), seed=1)[1].save(path)
    return str(path)


def test_results_are_the_same_on_any_number_of_processes(file, tmp_path, run):
    asked = (
        "whatif",
        file,
        "--tick",
        "50",
        "--seat",
        "1",
        "--player",
        CHANCY,
        "--games",
        "40",
        "--agents",
        "hard",
    )
    against = [part for one in ("hold", "turtle", CHANCY, "free:12.5%") for part in ("--against", one)]
    found = []
    for processes in ("1", "2"):
        path = tmp_path / f"{processes}.json"
        code, out, _ = run(*asked, *against, "--processes", processes, "--json", str(path))
        assert code == 0
        found.append((out.replace(str(path), ""), path.read_bytes()))
    assert found[0] == found[1]
    result = json.loads(found[0][1])
    assert (result["games"], result["agents"], result["seat"]) == (40, "hard-1", 1)
    assert list(result["alternatives"]) == ["recorded", "hold", "turtle", CHANCY, "free:12.5%"]
    for name, row in result["alternatives"].items():
        assert row["place"][1] <= row["place"][0] <= row["place"][2]
        assert f"\n{name[:19]}" in found[0][0]
    assert "40 games each; hard-1 plays on for agents" in found[0][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"--tick": "55"}, "tick is 55; it must be a multiple of 10"),
        ({"--seat": "5"}, "a seat is 5; it must be a whole number from 1 to 4"),
        ({"--against": "free:nan%"}, "--against: 'nan' is not a number of percent from 0.1 to 100"),
        ({"--against": "nobody"}, "nobody"),
        ({"--against": "4:50%"}, "the launch of '4:50%' at owner 4 is not legal for seat 1; legal are"),
        ({"--player": "nobody:Nothing"}, "argument --player: the player 'nobody:Nothing' cannot be loaded"),
        (
            {"--player": "turtle"},
            "seat 4 was played by 'chancy-1', which is no bot of the library: name it by --player\n",
        ),
        ({"--against": "9:50"}, "the owner in '9:50' is 9; it must be a whole number from 0 to 4"),
        ({"--agents": "nobody"}, "nobody"),
        ({"--against": "tests.cli.test_whatif:Quits"}, "decide() of quits-1 ends the process: sys.exit(3) ("),
    ],
)
def test_what_cannot_be_is_refused(file, options, message, run):
    asked = {"--tick": "50", "--seat": "1", "--player": CHANCY, "--against": "hold", **options}
    code, out, err = run("whatif", file, *(part for option in asked.items() for part in option))
    assert (code, out) == (2, "")
    assert message in err
