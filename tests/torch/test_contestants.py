"""Snapshots of a store in matches, evaluations and as advisors: what they choose, and what is refused."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
import torch

from territorial import Scenario, VecGame, cli, evaluate, match
from territorial.bots import Network
from territorial.bots.targets import DRAWS
from territorial.browser import host
from territorial.browser.hosting import HostingError, begin
from territorial.browser.panels import HOLDS, advice_of, chooser
from territorial.cli import play
from territorial.constants import FRACTIONS, STREAM_BOT_MOVE
from territorial.engine.seats import AGENT
from territorial.evaluation.match import MAPS
from territorial.evaluation.players import Entrants, StochasticPolicy
from territorial.evaluation.record import ResultsError
from territorial.evaluation.schedule import Contest
from territorial.evaluation.workers import Processes
from territorial.game.formulas import draw
from territorial.game.state import State
from territorial.league import MismatchError, SnapshotStore, UnknownSnapshotError
from territorial.nets import ReferenceTrunk, SnapshotPolicy, players
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.pair_policy import make_pair_rows
from territorial.nets.players import _numbers
from territorial.observation.action_encoding import owner_of_target
from territorial.observation.action_masks import pair_masks
from territorial.observation.layout import ObsLayout
from territorial.observation.pair_columns import OF_PAIR
from tests.episodes import after_steps, begun
from tests.league.support import play_games
from tests.torch.support import SMALL, MeanTrunk, add_on_pairs, add_random, near_ties

CONFIG = SMALL.replace(max_ticks=300)
LAYOUT = ObsLayout(height=32, width=40, num_players=5, frames=2)
TRUNKS = {"MeanTrunk": MeanTrunk}
MEAN = "MeanTrunk=tests.torch.support:MeanTrunk"
GAME = ("--height", "32", "--width", "40", "--num-players", "5", "--max-ticks", "300", "--processes", "1")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = SnapshotStore(tmp_path_factory.mktemp("snapshots"))
    add_random(store, "first", LAYOUT)
    add_random(store, "second", LAYOUT, seed=1)
    add_random(store, "seeing-1", LAYOUT, sees=True)
    add_random(store, "seeing-2", LAYOUT, seed=1, sees=True)
    add_random(store, "holder", LAYOUT, change=lambda bias: bias[0].fill_(1000.0))
    add_random(store, "settler", LAYOUT, change=lambda bias: bias[1].fill_(1000.0))
    add_random(store, "large", LAYOUT, trunk=ReferenceTrunk)
    add_on_pairs(store, "pairs")
    add_on_pairs(store, "exported", in_engine=True)
    add_on_pairs(store, "mine", architecture="Mine")
    add_on_pairs(store, "allied", teams=True)
    return store


@pytest.fixture
def named(store):
    """What makes players of names, snapshots of the store among them."""

    def make(*names):
        return [
            SnapshotPolicy(store, name.removeprefix("snapshot:"), TRUNKS) if ":" in name else name
            for name in names
        ]

    return make


def games_of(players, games, play=None, seed=4):
    """Play games of a match and return their records by their numbers."""
    entrants = Entrants(players)
    contest = Contest(config=CONFIG, players=entrants.names, games=games, seed=seed)
    return {record.game: record for record in play_games(contest.schedule(entrants.players), play)}


def test_every_seat_is_played_by_its_own_snapshot_at_every_decision(named):
    """One holds for ever; one takes free land for ever, and nothing else."""
    players = named("snapshot:holder", "turtle", "snapshot:settler", "turtle", "snapshot:holder")
    for record in games_of(players, 2).values():
        assert record.seats == Entrants(players).names
        held, spread = (record.land[1][0], record.land[1][4]), record.land[1][2]
        assert max(held) <= 12, "the cells of the start, or fewer"
        assert spread > 50


def test_actions_are_those_that_the_network_chooses_for_the_numbers_of_the_seat(store):
    """With the observations and the numbers made by hand."""
    game = after_steps(
        VecGame(CONFIG, 3, frames=2, autoreset="disabled", seats=["banker"] * 4 + ["external"]), 15, seed=8
    )
    actions = {}
    names = ["seeing-1", "seeing-2"]
    for name, seat in zip(names, (1, 3), strict=True):
        act = SnapshotPolicy(store, name, TRUNKS).start(CONFIG, LAYOUT, 0)
        actions[name] = act(game, np.array([0, 2]), np.array([seat, seat]))[0].tolist()
    seen, seats = game.observations, np.array([1, 3])
    rows = {
        "observations": seen.planes[:1],
        "players": seen.players[:1],
        "borders": seen.borders[:1],
        "globals": seen.globals[:1],
        "seat": seats[:, None],
        "frame": np.zeros((2, 1), np.int64),
        "action_mask": pair_masks(seen.masks, np.zeros(2, int), seats),
    }
    rows = {name: torch.from_numpy(part.copy()) for name, part in rows.items()}
    tick, seed = int(game.state.tick[0]), game.state.seed[0]
    words = [[draw(seed, STREAM_BOT_MOVE, tick, p * DRAWS + i) for i in (256, 257)] for p in seats.tolist()]
    numbers = torch.tensor(
        [[(int(word) >> 11) / 2**53 for word in row] for row in words], dtype=torch.float64
    )
    by_hand = FrozenSeats(store, LAYOUT, CONFIG, TRUNKS)
    expected = by_hand.act(names, rows, numbers)
    assert not near_ties(by_hand.probabilities(names, rows).log(), numbers).any(), "rounding decides nothing"
    assert [actions[name] for name in names] == expected.tolist()
    moved = [by_hand.act(names, rows, (numbers + i / 50) % 1) for i in range(50)]
    others = {tuple(drawn.flatten().tolist()) for drawn in moved}
    assert len(others) > 1, "the numbers decide"


def test_actions_on_pairs_are_those_that_the_network_chooses_and_its_probabilities_are_of_owners(store):
    """With the observations and the mask made by hand."""
    game = after_steps(
        VecGame(CONFIG, 3, autoreset="disabled", seats=["metronome"] * 4 + ["external"]), 25, seed=8
    )
    policy, games, seats = SnapshotPolicy(store, "pairs"), np.arange(3), np.array([1, 3, 4])
    seen, names = game.pairs(games, seats), ["pairs"] * 3
    legal = seen.pairs[:, :, OF_PAIR.legal] > 0
    mask = np.concatenate([np.ones((3, 1)), legal, np.ones((3, 10))], 1).astype(np.int8)
    rows = {"own": seen.own, "pairs": seen.pairs, "action_mask": mask}
    rows = {name: torch.from_numpy(array) for name, array in rows.items()}
    by_hand = FrozenSeats(store, LAYOUT, CONFIG, {"PairPolicy": make_pair_rows})
    candidates = by_hand.act(names, rows, _numbers(game, games, seats))[:, 0].tolist()
    targets = [(0, *row)[what] for what, row in zip(candidates, seen.targets, strict=True)]
    assert policy.start(CONFIG, LAYOUT, 0)(game, games, seats)[:, 0].tolist() == targets
    assert len(set(targets)) > 1
    found, told = by_hand.probabilities(names, rows), policy.distribution(CONFIG, LAYOUT)(game, games, seats)
    parts = found[:, 1:].reshape(3, -1, 10).sum(2).numpy()
    of_owners = [(parts * (seen.targets == owner)).sum(1) for owner in range(1, CONFIG.num_players + 2)]
    np.testing.assert_allclose(told[:, :-10], np.stack([found[:, 0], *of_owners], 1), atol=1e-6)
    np.testing.assert_allclose(told[:, -10:].sum(1), 1, rtol=1e-5)


def test_an_exported_snapshot_plays_as_its_file_does_in_the_engine(store):
    players = SnapshotPolicy(store, "exported"), f"net:{store.network('exported').path}"
    ours, theirs = (match([one, "turtle"], CONFIG, 2, processes=1, progress=False).records for one in players)
    assert [(one.places, one.land) for one in ours] == [(one.places, one.land) for one in theirs]
    assert ours[0].seats[0] == f"snapshot:exported@{store.digest('exported')[:8]},engine"


def test_a_game_comes_out_the_same_whatever_is_played_beside_it(named):
    players = named("snapshot:pairs", "snapshot:exported", "snapshot:second", "banker", "snapshot:first")
    together = games_of(players, 20)
    (alone,) = games_of(players, 1, seed=4 + 17).values()
    assert dataclasses.replace(alone, game=17) == together[17]
    assert games_of(players, 20, Processes(2)) == together
    assert len({record.places for record in together.values()}) > 5


def test_the_reference_network_plays_without_being_told_what_it_is(store):
    players = [SnapshotPolicy(store, "large"), "turtle", "turtle", "turtle", "turtle"]
    (record,) = games_of(players, 1).values()
    assert record.seats[0].startswith("snapshot:large@")


def test_names_tell_snapshots_apart_that_went_by_the_same_name(tmp_path):
    store, names = SnapshotStore(tmp_path), []
    for seed in (0, 1, 0):
        add_random(store, "main", LAYOUT, seed=seed)
        names.append(SnapshotPolicy(store, "main", TRUNKS).player_name)
        assert names[-1] == f"snapshot:main@{store.digest('main')[:8]}"
        store.remove("main")
    assert names[0] == names[2] != names[1]


def test_who_cannot_play_is_refused_before_anything_is_played(store, named, tmp_path):
    out = tmp_path / "match.jsonl"
    with pytest.raises(MismatchError, match="width is 40; here it must be 48"):
        match(named("snapshot:first"), CONFIG.replace(width=48), 1, out=out, progress=False)
    unknown = SnapshotPolicy(store, "first")
    with pytest.raises(
        MismatchError, match="'MeanTrunk'; those known here are FeatureModule, PairPolicy, ReferenceModule"
    ):
        match([unknown], CONFIG, 1, out=out, progress=False)
    with pytest.raises(ValueError, match="'snapshot:first' is in a store of snapshots; it must be a Snap"):
        match(["snapshot:first"], CONFIG, 1, out=out, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_match_is_that_of_the_command(named, store, tmp_path, capsys):
    """The same file, byte by byte, and the same text, on two processes as in this one."""
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    names = ("snapshot:first", "turtle", "snapshot:exported", "snapshot:pairs")
    config = CONFIG.replace(num_maps=MAPS)
    ranking = match(named(*names), config, 3, seed=2, out=ours, processes=1, progress=False)
    options = ("--store", str(store.path), "--architecture", MEAN, "--records", str(theirs), *GAME)
    assert cli.main(["match", "--seats", ",".join(names), "--games", "3", "--seed", "2", *options]) == 0
    assert capsys.readouterr().out == ranking.text() + "\n"
    there, here = theirs.read_text().splitlines(), ours.read_text().splitlines()
    assert there[1:] == here[1:]
    assert match(named(*names), config, 3, seed=2, processes=2, progress=False).records == ranking.records


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "argument --store: 'snapshot:first' needs this option; pass the folder"),
        (["--store", "no/such"], "argument --store: there is no folder 'no/such'"),
        (
            ["--store", "STORE"],
            "'MeanTrunk'; those known here are FeatureModule, PairPolicy, ReferenceModule",
        ),
        (["--store", "STORE", "--architecture", "MeanTrunk"], "'MeanTrunk' is not NAME=module:trunk"),
        (["--store", "STORE", "--architecture", "MeanTrunk=no_module:x"], "'no_module:x' cannot be loaded"),
        (["--store", "STORE", "--architecture", MEAN, "--width", "48"], "width is 40; here it must be 48"),
        (["--store", "STORE", "--architecture", MEAN, "--seats", "snapshot:x"], "there is no snapshot 'x'"),
        (
            ["--store", "STORE", "--seats", "snapshot:mine"],
            "'Mine'; those known here are FeatureModule, PairPolicy, Ref",
        ),
        (["--store", "STORE", "--seats", "snapshot:allied"], "it was made for games with teams; here it"),
        (["--store", "STORE", "--seats", "snapshot:pairs", "--teams", "2"], "it was made for games without"),
    ],
)
def test_wrong_arguments_are_named(store, arguments, part, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = [str(store.path) if argument == "STORE" else argument for argument in arguments]
    seats = [] if "--seats" in given else ["--seats", "snapshot:first,turtle"]
    assert cli.main(["match", *GAME, *seats, *given]) == 2
    assert part in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ---- evaluations and advisors ------------------------------------------------------------------------


ONE_FRAME = ObsLayout(height=SMALL.height, width=SMALL.width, num_players=SMALL.num_players, frames=1)
SCENARIOS = {
    "s": Scenario(config=SMALL, seats=["agent", "agent", "novice", "novice", "banker"], max_cycles=60)
}


def add(kept, name, what, seed):
    add_random(kept, name, ONE_FRAME, seed=seed, change=lambda bias: bias[what].fill_(50.0))


@pytest.fixture
def kept(tmp_path):
    kept = SnapshotStore(tmp_path / "kept")
    add(kept, "holder", 0, 1)
    add(kept, "expander", 1, 2)
    return kept


def test_snapshots_do_as_their_weights_say_in_one_process_as_in_two(kept):
    policies = {name: SnapshotPolicy(kept, name, TRUNKS) for name in ("holder", "expander")}
    found = evaluate(policies, SCENARIOS, 6, processes=1, progress=False)
    land = found.matrix("land").value[:, 0]
    assert land[1] > 2 * land[0]
    again = evaluate(policies, {**SCENARIOS, "t": SCENARIOS["s"]}, 6, processes=2, progress=False)
    assert [one for one in again.records if one.scenario == "s"] == list(found.records)


def test_one_network_serves_all_and_nothing_stays_open(kept):
    policies = {name: SnapshotPolicy(kept, name, TRUNKS) for name in ("holder", "expander")}
    against = {
        "s": Scenario(config=SMALL, seats=["agent", "holder", "holder", "expander", "banker"], max_cycles=9)
    }
    evaluate(policies, against, 2, processes=1, progress=False)
    _, policies = players._tables[str(kept.path)]
    assert len(policies.build.made) == 1
    assert not policies.names


def test_policies_can_be_pickled_and_know_their_weights(kept):
    policy = SnapshotPolicy(kept, "holder", TRUNKS)
    assert pickle.loads(pickle.dumps(policy)).identity() == policy.identity()
    assert policy.identity() != SnapshotPolicy(kept, "expander", TRUNKS).identity()
    assert policy.frames == 1
    with pytest.raises(UnknownSnapshotError, match="nobody"):
        SnapshotPolicy(kept, "nobody", TRUNKS)


def test_other_weights_of_the_same_name_do_not_go_on_with_a_file(kept, tmp_path):
    def run():
        policies = {"p": SnapshotPolicy(kept, "holder", TRUNKS)}
        return evaluate(policies, SCENARIOS, 1, processes=1, out=tmp_path / "out", progress=False)

    assert np.isfinite(run().matrix().value).all()
    run()
    kept.remove("holder")
    add(kept, "holder", 0, 3)
    with pytest.raises(ResultsError, match="holder"):
        run()


SEEN_LAYOUT = ObsLayout(height=32, width=40, num_players=5, frames=2)
SEAT = 3
HELD = {"height": 32, "width": 40, "num_players": 5, "max_ticks": 300}


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
        many.restore(k, saved._replace(blocks=blocks._replace(seed=np.full_like(blocks.seed, k))))
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
    fields = [f"--set={field}={value}" for field, value in HELD.items()]
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
    game = HELD | game
    fields = {"advisor": "it", "policies": {"it": SnapshotPolicy(advised, name, TRUNKS)}} | fields
    with (
        pytest.raises(HostingError, match=message),
        host(game, seed=8, port=0, is_opened=False, **fields) as hosted,
    ):
        hosted.wait()
    assert list(tmp_path.iterdir()) == []
