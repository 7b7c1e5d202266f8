"""What cannot be is refused before anything is done: exit code 2, the argument, its value and its range."""

import pytest

from territorial import cli
from tests.replay.support import small_replay

SMALL = ("--height", "32", "--width", "48", "--num-players", "4", "--max-ticks", "200")
PLAY = ("play", "--num-players", "4", "--no-open", "--port", "0")
MATCH = ("match", *SMALL)
DATASET = ("dataset", ".", *SMALL, "--seats", "banker,random")
REFUSED = [
    (["demo", "--height", "5"], ["--height", "'5'", "16 to 1024"]),
    (["demo", "--seed", "-1"], ["--seed", "'-1'", "from 0 to 18446744073709551615"]),
    (["demo", "--seed", "x"], ["--seed", "'x'"]),
    (["demo", "--map", "moon"], ["--map", "moon", "lakes"]),
    (["demo", "--seats", "banker,foo"], ["--seats", "'foo'", "metronome"]),
    (["demo", "--num-players", "2", "--seats", "banker,banker,turtle"], ["--seats", "3", "2"]),
    (["demo", "--set", "launch_tax=5000"], ["launch_tax is 5000", "0 to 1023"]),
    (["demo", "--set", "cadence_land=1,2,2000000"], ["cadence_land", "2000000", "1 to 1048576"]),
    (["demo", "--set", "foo=1"], ["'foo'", "launch_tax"]),
    (["demo", "--set", "foo"], ["--set", "'foo'", "FIELD=VALUE"]),
    (["demo", "--set", "deaths=maybe"], ["deaths", "'maybe'"]),
    (["demo", "--set", "teams=two"], ["teams is 'two'", "2 to num_players"]),
    (["demo", "--num-players", "2", "--set", "teams=1,2,2"], ["teams", "3", "2 seats"]),
    (["demo", "--set", "teams=2", "--set", "team_deal=odd"], ["team_deal", "'odd'", "blocks, turn, random"]),
    (["demo", "--set", "hard_cap=50"], ["hard_cap", "50", "soft_cap"]),
    (["demo", "--height", "16", "--width", "16", "--num-players", "99"], ["num_players", "99", "21"]),
    (["demo", "--picture", "a.jpg"], ["--picture", "'a.jpg'", ".png"]),
    (["demo", "--picture", "/no/such/folder/a.png"], ["--picture", "No such file"]),
    (["demo", "--json", "/no/such/folder/a.json"], ["--json", "No such file"]),
    (["bench", "--seconds", "0"], ["--seconds", "'0'", "0.1 to 3600"]),
    (["bench", "--threads", "0"], ["--threads", "'0'", "1 to 1024"]),
    (["bench", "--num-games", "0"], ["--num-games", "'0'"]),
    (["fly"], ["VERB", "fly", "play"]),
    (["ply"], ["(did you mean 'play'?)"]),
    (["demo", "--hieght", "32"], ["unrecognized arguments: --hieght 32 (did you mean '--height'?)"]),
    (["demo", "--map", "lake"], ["map is 'lake' (did you mean 'lakes'?)"]),
    (["demo", "--seats", "bankr"], ["there is no bot 'bankr' (did you mean 'banker'?)"]),
    (["demo", "--seats", "mixd-1"], ["(did you mean 'mixed-1'?)"]),
    (["demo", "--set", "hieght=32"], ["'hieght' (did you mean 'height'?)"]),
    (["league", "shwo", "run"], ["(did you mean 'show'?)"]),
    (
        ["league", "show", "run", "--plts", "x"],
        ["unrecognized arguments: --plts x (did you mean '--plots'?)"],
    ),
    (["demo", "--zebra"], ["unrecognized arguments: --zebra\n"]),
    (["info", "maps", "swamp"], ["argument MAP", "'swamp'", "lakes", "europe"]),
    (["info", "maps", "islands:count=99"], ["argument MAP", "count is '99'", "2 to 64"]),
    (["info", "maps", "no.png"], ["territorial info maps: error: argument MAP: 'no.png': No such file"]),
    (
        ["info", "maps", "maze:symmetry=quarter_turn", "--height", "32", "--width", "48"],
        ["argument MAP", "square map", "32 x 48"],
    ),
    (["info", "maps", "--json", "/no/such/a.json"], ["territorial info maps: error: argument --json: "]),
    (["info", "maps", "lakes", "--height", "15"], ["--height", "'15'", "16 to 1024"]),
    (["info", "maps", "lakes", "--map-seed", "-1"], ["--map-seed", "'-1'"]),
    (["info", "maps", "lakes", "--num-maps", "101"], ["--num-maps", "'101'", "1 to 100"]),
    (
        ["info", "maps", "iceland", "--height", "32", "--width", "48", "--num-players", "250"],
        ["--num-players", "250, but only", "iceland"],
    ),
    (["info", "maps", "lakes", "--picture", "a.jpg"], ["--picture", "'a.jpg'", ".png"]),
    (["info", "maps", "lakes", "--picture", "no/such/a.png"], ["--picture", "No such file"]),
    (["info", "maps", "lakes", "--export", "a.jpg"], ["--export", "'a.jpg'", ".png, .npy, .txt"]),
    (["info", "maps", "lakes", "--export", "no/such/a.png"], ["--export", "No such file"]),
    (["info", "maps", "lakes", "europe", "--export", "a.png"], ["--export", "one map, but 2"]),
    (["info", "maps", "--export", "a.png"], ["--export", "one map, but 0"]),
    (["info", "maps", "lakes", "--threshold", "0"], ["--threshold", "'0'", "1 to 255"]),
    (["info", "maps", "lakes", "--json", "no/such/a.json"], ["--json", "No such file"]),
    (["demo", "--map", "nowhere.png"], ["--map", "'nowhere.png' cannot be read"]),
    (["demo", "--map", "lakes:count=3"], ["--map", "lakes has no option 'count'"]),
    (["demo", "--map", "0*lakes + maze"], ["--map", "weight of the map lakes is 0"]),
    (["demo", "--set", "map=swamp"], ["--set", "map", "'swamp'", "europe"]),
    (["demo", "--map", "europe", "--set", "num_maps=2"], ["num_maps is 2; it must be 1"]),
    (["replay", "missing.replay"], ["FILE", "'missing.replay'", "No such file"]),
    (["replay", "game.replay", "--at", "201"], ["--at", "201", "0 to 200"]),
    (["replay", "game.replay", "--at", "-1"], ["--at", "-1", "0 to 200"]),
    (["replay", "game.replay", "--at", "5", "--picture", "a.jpg"], ["--picture", "'a.jpg'", ".png"]),
    (["replay", "game.replay", "--picture", "a.png"], ["--picture", "'a.png'", "--at"]),
    (["replay", "game.replay", "--json", "no/such/folder"], ["--json", "No such file"]),
    (["replay"], ["FILE"]),
    (["replay", "game.replay", "--animation", "a.avi"], ["--animation", "a.avi", ".gif"]),
    (
        ["replay", "game.replay", "--animation", "/no/such/folder/a.gif"],
        ["--animation", "No such file"],
    ),
    (["replay", "game.replay", "--animation", "--fps", "1000"], ["--fps", "'1000'", "1 to 50"]),
    (["replay", "game.replay", "--animation", "--every", "0"], ["--every", "'0'"]),
    (["replay", "game.replay", "--every", "5"], ["--every", "--animation"]),
    (["watch", *SMALL, "--port", "65536"], ["--port", "'65536' is not a whole number from 0 to 65535"]),
    (["watch", *SMALL, "--port", "0", "--host", "no such host"], ["--host", "'no such host'"]),
    (["watch", *SMALL, "--host", ""], ["--host", "''"]),
    (["watch", "none.replay"], ["argument FILE_OR_LIVE: 'none.replay': No such file"]),
    (["watch", *SMALL, "--every", "0"], ["--every", "'0' is not a whole number from 1"]),
    (["watch", *SMALL, "--page", "no/such/folder.html"], ["--page", "No such file"]),
    (["watch", *SMALL, "--page", "."], ["--page", "is a folder"]),
    (["watch", *SMALL, "--seats", "nobody"], ["--seats", "no bot 'nobody'"]),
    ([*PLAY, "--level", "hard", "--opponent", "turtle"], ["--level: 'hard' selects", "does --opponent;"]),
    ([*PLAY, "--pace", "0"], ["--pace", "'0' is not a whole number from 1 to 1000, nor the word step"]),
    ([*PLAY, "--pace", "fast"], ["--pace", "'fast'", "step"]),
    ([*PLAY, "--opponent", "bankr"], ["argument --opponent: ", "'bankr'", "banker"]),
    ([*PLAY, "--opponent", "style:no.json"], ["argument --opponent: ", "style:no.json", "cannot be read"]),
    ([*PLAY, "--opponent", "snapshot:main-1"], ["argument --store: 'snapshot:main-1' needs"]),
    ([*PLAY, *["--opponent", "turtle"] * 4], ["argument --opponent: 4 opponents; at most 3 fit"]),
    ([*PLAY, "--advisor", "bankr"], ["argument --advisor: ", "'bankr'", "banker"]),
    (
        [*PLAY, "--advisor", "net:no.safetensors"],
        ["argument --advisor: ", "net:no.safetensors", "cannot be read"],
    ),
    (
        [*PLAY, "--spectate", "--advisor", "turtle"],
        ["argument --advisor: 'turtle' has no seat to advise", "--spectate"],
    ),
    ([*PLAY, "--save", "no/such/game.replay"], ["argument --save: ", "No such file"]),
    ([*PLAY, "--host", "1.2.3.4"], ["arguments --host, --port: cannot serve on '1.2.3.4'"]),
    ([*MATCH, "--seats", "wizard"], ["no bot 'wizard'; there are random, novice"]),
    ([*MATCH, "--seats", "no_module:Bot"], ["the player 'no_module:Bot' cannot be loaded"]),
    (
        [*MATCH, "--seats", "banker,banker,banker,banker,banker"],
        ["5 players; a game of this config has 4 seats"],
    ),
    ([*MATCH, "--games", "0"], ["--games", "'0' is not a whole number from 1"]),
    ([*MATCH, "--processes", "0"], ["--processes", "'0'"]),
    ([*MATCH, "--records", "no/such/folder.jsonl"], ["--records", "No such file"]),
    ([*MATCH, "--records", "."], ["--records", "is a folder"]),
    ([*MATCH, "--plots", "/dev/null/plots"], ["--plots"]),
    ([*MATCH, "--set", "num_maps=2000"], ["num_maps"]),
    (["demo", "--seats", "checkpoint:x"], ["the player 'checkpoint:x' is for matches", "it must be a bot"]),
    ([*MATCH, "--seats", "snapshot:main-1"], ["--store: 'snapshot:main-1' needs"]),
    ([*MATCH, "--seats", "snapshot:a", "--store", "nowhere"], ["--store: there is no folder 'nowhere'"]),
    ([*MATCH, "--architecture", "Mine"], ["--architecture", "'Mine' is not NAME=module:trunk"]),
    (["info", "memory", "--budget", "6"], ["'6' is not a size such as 6GB; units are B, KB, MB, GB, TB"]),
    (["info", "memory", "--parameters", "0"], ["'0' is not a whole number from 1 to 1000000000000"]),
    (["info", "memory", "--num-players", "4"], ["agent_seats is 8; there are num_players = 4 seats"]),
    (
        ["info", "memory", "--config", "missing.toml"],
        ["argument --config: 'missing.toml': No such file"],
    ),
    (
        ["demo", *SMALL, "--num-players", "6", "--teams", "7"],
        ["teams is 7; it must be from 2 to num_players, which is 6"],
    ),
    (
        ["demo", *SMALL, "--num-players", "6", "--teams", "1,2"],
        ["teams has 2 entries; it must have one for each of the 6 seats"],
    ),
    (
        ["demo", *SMALL, "--num-players", "6", "--teams", "two"],
        ["teams is 'two'; it must be None, a number of teams"],
    ),
    ([*DATASET, "--every-ticks", "15"], ["every is 15; it must be a multiple of 10"]),
    ([*DATASET, "--discount", "2"], ["discount is 2.0"]),
    ([*DATASET, "--rows-of", "9"], ["seats has 9"]),
    ([*DATASET, "--num-candidates", "0"], ["'0' is not a whole number from 1 to 250"]),
    *(
        (["watch", "game.replay", option, value], [f"argument {option}: 'game.replay' is a replay"])
        for option, value in (
            ("--seed", "1"),
            ("--seats", "banker"),
            ("--height", "32"),
            ("--set", "deaths=false"),
        )
    ),
]


@pytest.mark.parametrize(("arguments", "parts"), REFUSED)
def test_what_cannot_be_is_named(capsys, tmp_path, monkeypatch, arguments, parts):
    monkeypatch.chdir(tmp_path)
    if "game.replay" in arguments:
        small_replay().save("game.replay")
    before = list(tmp_path.iterdir())
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for part in parts:
        assert part in err
    assert list(tmp_path.iterdir()) == before
