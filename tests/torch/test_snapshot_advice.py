"""Snapshots as advisors: what they are said to do is what they draw, and what cannot be is refused."""

import json
from functools import partial

import numpy as np
import pytest

from territorial import VecGame, cli
from territorial.actions.encoding import owner_of_target
from territorial.cli import options, play
from territorial.cli.demo import begin
from territorial.constants import FRACTIONS
from territorial.evaluation.players import StochasticPolicy
from territorial.game.state import State
from territorial.league import SnapshotStore
from territorial.nets import SnapshotPolicy
from territorial.observation.layout import ObsLayout
from territorial.play.panels import HOLDS, advice_of
from tests.torch.support import SMALL, MeanTrunk, add_random

CONFIG = SMALL.replace(max_ticks=300)
LAYOUT = ObsLayout(height=32, width=40, num_players=5, frames=2)
TRUNKS = {"MeanTrunk": MeanTrunk}
SEAT = 3
GAME = ("--height", "32", "--num-players", "5", "--max-ticks", "300", "--seat", str(SEAT), "--seed", "8")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = SnapshotStore(tmp_path_factory.mktemp("snapshots"))
    add_random(store, "choosy", LAYOUT)
    add_random(store, "broken", LAYOUT, change=lambda bias: bias.fill_(float("nan")))
    return store


def arguments_of(store, name, *more):
    trunk = ("--architecture", "MeanTrunk=tests.torch.support:MeanTrunk")
    return ["play", *GAME, *trunk, "--store", str(store.path), "--advisor", f"snapshot:{name}", *more]


def test_probabilities_are_those_with_which_a_snapshot_draws(store):
    """In many games that differ in what is drawn alone: how often it does what."""
    policy, count = SnapshotPolicy(store, "choosy", TRUNKS), 2000
    game = VecGame(CONFIG, 1, frames=2, autoreset="disabled", seats=["banker"] * 5)
    game.reset(8)
    advise = advice_of(policy, game, SEAT, seed=1)
    while sum(option.part > 0.05 for option in advise(game)) < 3:
        game.step()
    before, told, saved = game.digest(0), advise(game), game.save(0)
    assert game.digest(0) == before
    assert sum(option.part for option in told) == pytest.approx(1)
    many = VecGame(CONFIG, count, frames=2, autoreset="disabled", seats=["banker"] * 5)
    many.reset(8)
    for k in range(count):
        blocks = State(*saved.blocks)
        other = blocks._replace(seed=np.full_like(blocks.seed, k))
        many.restore(k, saved._replace(blocks=other))
    act = policy.start(CONFIG, LAYOUT, 0)
    what, how_much = act(many, np.arange(count), np.full(count, SEAT)).T
    owners = owner_of_target(what, SEAT, CONFIG.num_players)
    assert set(owners.tolist()) <= {option.owner for option in told}
    for option in told:
        assert (owners == option.owner).mean() == pytest.approx(option.part, abs=4 * np.sqrt(0.25 / count))
    likeliest = FRACTIONS[np.bincount(how_much).argmax()]
    assert {option.fraction for option in told if option.owner != HOLDS} == {likeliest}


def test_the_page_is_told_the_probabilities_of_a_snapshot(store):
    parsed = cli.make_parser(with_plugins=False).parse_args(arguments_of(store, "choosy", "--width", "40"))
    seats, _, _, advisor = play.table_of(parsed, options.config_of(parsed), partial(play._player, parsed))
    assert isinstance(advisor, StochasticPolicy)
    game = begin(CONFIG, seats, 8, is_recorded=True, frames=advisor.frames)
    told = json.loads(json.dumps(play._panels(parsed, game, advisor, SEAT, 8)["advice"](game)))
    assert told["name"] == "snapshot:choosy"
    assert len(told["options"]) > 1
    assert sum(option["part"] for option in told["options"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "options", "parts"),
    [
        ("choosy", ["--width", "48"], ["argument --advisor: ", "'choosy'", "width", "40", "48"]),
        ("broken", ["--width", "40"], ["argument --advisor: ", "'broken'", "not finite"]),
        (
            "choosy",
            ["--width", "48", "--advisor", "turtle", "--opponent", "snapshot:choosy"],
            ["argument --opponent: snapshot 'choosy'"],
        ),
    ],
)
def test_a_snapshot_that_cannot_advise_or_play_is_refused_before_the_game(
    store, tmp_path, monkeypatch, capsys, name, options, parts
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments_of(store, name, *options, "--no-open", "--port", "0")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    for part in parts:
        assert part in last
    assert list(tmp_path.iterdir()) == []
