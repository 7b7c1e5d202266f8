"""Snapshots as players of evaluations and as advisors: they do what their networks do, and share one."""

import json
import pickle

import numpy as np
import pytest

from territorial import Scenario, VecGame, cli, evaluate
from territorial.bots import Network
from territorial.browser import host
from territorial.browser.hosting import HostingError, begin
from territorial.browser.panels import HOLDS, advice_of, chooser
from territorial.cli import play
from territorial.constants import FRACTIONS
from territorial.engine.seats import AGENT
from territorial.evaluation.players import StochasticPolicy
from territorial.evaluation.record import ResultsError
from territorial.game.state import State
from territorial.league import SnapshotStore, UnknownSnapshotError
from territorial.nets import players
from territorial.nets.players import SnapshotPolicy
from territorial.observation.action_encoding import owner_of_target
from territorial.observation.layout import ObsLayout
from tests.episodes import begun
from tests.torch.support import SMALL, MeanTrunk, add_on_pairs, add_random

TRUNKS = {"MeanTrunk": MeanTrunk}
LAYOUT = ObsLayout(height=SMALL.height, width=SMALL.width, num_players=SMALL.num_players, frames=1)
SCENARIOS = {
    "s": Scenario(config=SMALL, seats=["agent", "agent", "novice", "novice", "banker"], max_cycles=60)
}


def add(store, name, what, seed):
    add_random(store, name, LAYOUT, seed=seed, change=lambda bias: bias[what].fill_(50.0))


@pytest.fixture
def store(tmp_path):
    store = SnapshotStore(tmp_path / "store")
    add(store, "holder", 0, 1)
    add(store, "expander", 1, 2)
    return store


def test_snapshots_do_as_their_weights_say_in_one_process_as_in_two(store):
    policies = {name: SnapshotPolicy(store, name, TRUNKS) for name in ("holder", "expander")}
    found = evaluate(policies, SCENARIOS, 6, processes=1, progress=False)
    land = found.matrix("land").value[:, 0]
    assert land[1] > 2 * land[0]
    again = evaluate(policies, {**SCENARIOS, "t": SCENARIOS["s"]}, 6, processes=2, progress=False)
    assert [one for one in again.records if one.scenario == "s"] == list(found.records)


def test_one_network_serves_all_and_nothing_stays_open(store):
    policies = {name: SnapshotPolicy(store, name, TRUNKS) for name in ("holder", "expander")}
    against = {
        "s": Scenario(config=SMALL, seats=["agent", "holder", "holder", "expander", "banker"], max_cycles=9)
    }
    evaluate(policies, against, 2, processes=1, progress=False)
    _, policies = players._tables[str(store.path)]
    assert len(policies.build.made) == 1
    assert not policies.names


def test_policies_can_be_pickled_and_know_their_weights(store):
    policy = SnapshotPolicy(store, "holder", TRUNKS)
    assert pickle.loads(pickle.dumps(policy)).identity() == policy.identity()
    assert policy.identity() != SnapshotPolicy(store, "expander", TRUNKS).identity()
    assert policy.frames == 1
    with pytest.raises(UnknownSnapshotError, match="nobody"):
        SnapshotPolicy(store, "nobody", TRUNKS)


def test_other_weights_of_the_same_name_do_not_go_on_with_a_file(store, tmp_path):
    def run():
        policies = {"p": SnapshotPolicy(store, "holder", TRUNKS)}
        return evaluate(policies, SCENARIOS, 1, processes=1, out=tmp_path / "out", progress=False)

    assert np.isfinite(run().matrix().value).all()
    run()
    store.remove("holder")
    add(store, "holder", 0, 3)
    with pytest.raises(ResultsError, match="holder"):
        run()


CONFIG = SMALL.replace(max_ticks=300)
SEEN_LAYOUT = ObsLayout(height=32, width=40, num_players=5, frames=2)
SEAT = 3
GAME = {"height": 32, "width": 40, "num_players": 5, "max_ticks": 300}


@pytest.fixture(scope="module")
def advised(tmp_path_factory):
    advised = SnapshotStore(tmp_path_factory.mktemp("snapshots"))
    add_random(advised, "choosy", SEEN_LAYOUT)
    add_random(advised, "broken", SEEN_LAYOUT, change=lambda bias: bias.fill_(float("nan")))
    add_on_pairs(advised, "pairs")
    add_on_pairs(advised, "exported", in_engine=True)
    return advised


def test_probabilities_are_those_with_which_a_snapshot_draws(advised):
    """In many games that differ in what is drawn alone: how often it does what."""
    policy, count = SnapshotPolicy(advised, "choosy", TRUNKS), 2000
    game = begun(VecGame(CONFIG, 1, frames=2, autoreset="disabled", seats=["banker"] * 5), seed=8)
    advise = advice_of(policy, game, SEAT, seed=1)
    while sum(option.part > 0.05 for option in advise(game)) < 3:
        game.step()
    before, report, saved = game.digest(0), advise(game), game.save(0)
    assert game.digest(0) == before
    assert sum(option.part for option in report) == pytest.approx(1)
    many = begun(VecGame(CONFIG, count, frames=2, autoreset="disabled", seats=["banker"] * 5), seed=8)
    for k in range(count):
        blocks = State(*saved.blocks)
        other = blocks._replace(seed=np.full_like(blocks.seed, k))
        many.restore(k, saved._replace(blocks=other))
    act = policy.start(CONFIG, SEEN_LAYOUT, 0)
    what, how_much = act(many, np.arange(count), np.full(count, SEAT)).T
    owners = owner_of_target(what, SEAT, CONFIG.num_players)
    assert set(owners.tolist()) <= {option.owner for option in report}
    for option in report:
        assert (owners == option.owner).mean() == pytest.approx(option.part, abs=4 * np.sqrt(0.25 / count))
    likeliest = FRACTIONS[np.bincount(how_much).argmax()]
    assert {option.fraction for option in report if option.owner != HOLDS} == {likeliest}


@pytest.mark.parametrize(("name", "kind"), [("pairs", StochasticPolicy), ("exported", Network)])
def test_the_page_is_told_the_probabilities_of_a_snapshot(advised, name, kind):
    """Which is an opponent, too, under the same name."""
    fields = [f"--set={field}={value}" for field, value in GAME.items()]
    players = [
        "--store",
        str(advised.path),
        "--advisor",
        f"snapshot:{name}",
        "--opponent",
        f"snapshot:{name}",
    ]
    parsed = cli.make_parser(with_plugins=False).parse_args(["play", "--seed", "8", *fields, *players])
    hosting = play.hosting_of(parsed).resolved()
    seats, names, policies, advisor = hosting.sitting
    assert isinstance(advisor, kind)
    assert names[1] == f"snapshot:{name}"
    assert seats[1] == (advisor if kind is Network else AGENT)
    game = begin(CONFIG, seats, 8, is_recorded=True, frames=getattr(advisor, "frames", None))
    for at, one in policies.items():
        chooser(one, at, game, 8)(game)
    report = json.loads(json.dumps(hosting._panels(game, SEAT)["advice"](game)))
    assert report["name"] == f"snapshot:{name}"
    assert len(report["options"]) > 1
    assert sum(option["part"] for option in report["options"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "game", "fields", "message"),
    [
        ("choosy", {"width": 48}, {}, "advisor: .*'choosy'.* width .*40.*48"),
        ("broken", {}, {}, "advisor: .*'broken'.* not finite"),
        ("choosy", {"width": 48}, {"advisor": "turtle", "opponents": ["it"]}, "opponents: snapshot 'choosy'"),
    ],
)
def test_a_snapshot_that_cannot_advise_or_play_is_refused_before_the_game(
    advised, tmp_path, monkeypatch, name, game, fields, message
):
    monkeypatch.chdir(tmp_path)
    game = GAME | game
    fields = {"advisor": "it", "policies": {"it": SnapshotPolicy(advised, name, TRUNKS)}} | fields
    with (
        pytest.raises(HostingError, match=message),
        host(game, seed=8, port=0, is_opened=False, **fields) as hosted,
    ):
        hosted.wait()
    assert list(tmp_path.iterdir()) == []
