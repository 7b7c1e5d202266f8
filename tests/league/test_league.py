"""The league: whom its strategies choose, when its gates open, whom it gives up, and that it can be kept."""

import pickle
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest

from territorial.league import Gate, League, LeagueConfig, Learner, Opponents
from territorial.league.config import FLOOR, POOLS, STRATEGIES, Candidates, drawn_few
from territorial.league.league import MOST_NOTES

RATED = find_spec("openskill") is not None


def league_of(*learners, num_players=8, rated=False, **changes):
    return League(LeagueConfig(num_players=num_players, learners=learners, **changes), rated=rated)


def frozen(league, count):
    """Return a league of which ``main`` has been frozen so many times."""
    for _ in range(count):
        league.freeze("main")
    return league


def beat(league, winner, loser, games):
    for _ in range(games):
        league.record([winner, loser], [1, 2])


def main(seats=2, *parts, **changes):
    return Learner(name="main", seats=seats, opponents=parts or (Opponents(seats=8 - seats),), **changes)


def weights(strategy, above, ratings=None, is_main=None, own=25.0, **options):
    above = np.asarray(above, float)
    candidates = Candidates(
        above,
        np.full(len(above), 25.0) if ratings is None else np.asarray(ratings, float),
        np.zeros(len(above), bool) if is_main is None else np.asarray(is_main),
        own,
    )
    found = Opponents(seats=1, strategy=strategy, **options).weights(candidates)
    return found / found.sum()


# ---- other environments ----------------------------------------------------------------------------------


def test_leagues_of_other_environments_name_any_bots_and_seat_learners_where_they_fit(tmp_path):
    speaker = Learner(name="speaker", opponents=(Opponents(seats=1, of=("listener",)),))
    before = Opponents(seats=1, among=("snapshots", "bots"), of=("speaker",))
    listener = Learner(name="listener", opponents=(before,), opponents_before=1)
    learners = {"num_players": 2, "learners": (speaker, listener)}
    league = League(LeagueConfig(env="words", bots=("mute", "loud.2"), **learners), rated=False)
    assert [str(player) for player in league.draw("speaker")] == ["trainable:speaker", "trainable:listener"]
    league.freeze_first()
    league.freeze_first()  # nothing more
    assert list(league.snapshots) == ["speaker-0", "listener-0"]
    assert {str(league.draw("speaker")[1]) for _ in range(9)} == {"snapshot:listener-0"}
    drawn = [[str(player) for player in league.draw("listener")] for _ in range(40)]
    assert {other for other, _ in drawn} == {"snapshot:speaker-0", "bot:mute", "bot:loud.2"}
    assert {own for _, own in drawn} == {"trainable:listener"}
    league.record(drawn[0], [1, 2])
    league.save(tmp_path / "league.npz")
    assert League.load(tmp_path / "league.npz").to_bytes() == league.to_bytes()
    assert pickle.loads(pickle.dumps(league.table_of("speaker"))) == league.table_of("speaker")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bots": ("a b",)}, r"bots\[0\] is 'a b'; it must have 1 to 128 letters"),
        ({"python_bots": (print,)}, "it must be empty where env is not 'territorial'. Name the bot in bots"),
        ({"env": "a b"}, "env is 'a b'; it must have 1 to 64 letters"),
        ({"learners": (main(1, Opponents(seats=1, of=("x",))),)}, "of is 'x'; it must name learners: main"),
    ],
)
def test_rules_of_other_environments_that_cannot_be_are_refused(changes, message):
    rules = {"env": "words", "num_players": 2, "learners": (main(1, Opponents(seats=1)),)}
    with pytest.raises(ValueError, match=message):
        LeagueConfig(**{**rules, **changes})


# ---- strategies ----------------------------------------------------------------------------------------


def test_prioritised_play_prefers_what_its_weighting_says():
    above = [0.1, 0.5, 0.9]
    np.testing.assert_allclose(weights("pfsp", above, weighting="hard"), np.array([0.9, 0.5, 0.1]) / 1.5)
    np.testing.assert_allclose(weights("pfsp", above, weighting="easy"), np.array([0.1, 0.5, 0.9]) / 1.5)
    assert weights("pfsp", above, weighting="even").argmax() == 1
    assert weights("pfsp", above, weighting="hard", power=4)[0] > 0.9


def test_near_ratings_are_preferred_however_far_all_are():
    found = weights("near", [0.5] * 4, ratings=[20, 26, 30, 45], own=25.0, scale=2.0)
    assert found.max() == found[1] > found[0] > found[3]
    assert weights("near", [0.5] * 2, ratings=[10_000, 9_000], own=0.0).argmax() == 1


def test_the_exploiter_meets_main_while_it_has_a_chance_and_its_copies_until_then():
    is_main = [True, False, False]
    assert weights("versus_main", [0.3, 0.5, 0.9], is_main=is_main)[0] > 0.97
    has_none = weights("versus_main", [0.05, 0.5, 0.9], is_main=is_main)
    assert has_none[1] > has_none[2] > 0.2 > 0.01 > has_none[0]
    assert weights("self_play", [0.5, 0.5, 0.5], is_main=is_main)[0] > 0.97


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("above", [[0.0], [1.0], [0.0, 1.0], [0.5] * 7])
def test_everybody_stays_within_reach(strategy, above):
    found = weights(strategy, above, is_main=[False] * len(above))
    assert (found >= FLOOR / (1 + FLOOR) / len(above) / 2).all()
    assert found.sum() == pytest.approx(1)


def test_line_ups_of_32_seats_mix_strategies():
    parts = (
        Opponents(seats=4, strategy="self_play", among=("mains",)),
        Opponents(seats=8, strategy="pfsp", weighting="hard"),
        Opponents(seats=4, strategy="near", among=("snapshots", "bots")),
        Opponents(seats=8, strategy="uniform", among=("bots",)),
    )
    league = frozen(
        league_of(Learner(name="main", seats=8, opponents=parts), num_players=32, bots=("banker", "novice")),
        3,
    )
    assert [group.seats for group in league.table().groups] == [8, 4, 8, 4, 8]
    players = [str(player) for player in league.draw()]
    assert (len(players), players[:12]) == (32, ["trainable:main"] * 12)
    assert {name.partition(":")[0] for name in players[12:20]} == {"snapshot"}
    assert set(players[24:]) == {"bot:banker", "bot:novice"}
    alone = league_of(main()).draw()
    assert {str(player) for player in alone} == {"trainable:main"}, "before anybody is frozen"


def test_those_who_win_are_met_more_often():
    league = frozen(league_of(main(2, Opponents(seats=6, weighting="hard", power=2))), 2)
    for _ in range(50):
        league.record(["trainable:main", "snapshot:main-0", "snapshot:main-1"], [2, 1, 3])
    players = league.table().groups[1].players
    assert {str(player): weight > 0.9 for player, weight in players.items()} == {
        "snapshot:main-0": True,
        "snapshot:main-1": False,
    }


def test_a_learner_is_an_even_opponent_of_itself():
    league = league_of(main(2, Opponents(seats=6, among=("mains", "bots"))), bots=("banker",))
    beat(league, "trainable:main", "bot:banker", 50)
    names, candidates = league.candidates("main", ("mains", "bots"))
    above = dict(zip(names, candidates.above.tolist(), strict=True))
    assert above["trainable:main"] == 0.5 < above["bot:banker"]


def test_own_games_are_one_learners_and_shared_ones_are_everybodys():
    exploiter = Learner(
        name="breaker",
        role="main_exploiter",
        seats=3,
        opponents=(Opponents(seats=5, strategy="versus_main", among=("mains", "main_snapshots")),),
    )
    own = league_of(main(), exploiter)
    assert own.table_of("breaker").names("trainable") == ["breaker", "main"]
    games = [own.table().draw_game(np.random.default_rng(seed)) for seed in range(40)]
    learned = [{player.name for player, learns in zip(*game, strict=True) if learns} for game in games]
    assert {"main"} in learned
    assert {"breaker"} in learned
    assert all(len(names) == 1 for names in learned)
    shared = league_of(
        main(3, Opponents(seats=1)), Learner(name="other", role="league_exploiter", seats=4), games="shared"
    )
    assert [group.seats for group in shared.table().groups] == [3, 1, 4]


# ---- gates ---------------------------------------------------------------------------------------------


def assert_shut(league, reason):
    verdict = league.gate("main")
    assert not verdict.is_open
    assert reason in verdict.reason


def test_a_gate_opens_when_all_are_beaten_often_enough():
    league = league_of(main(2, gate=Gate(beats=0.7, min_games=10, min_steps=5)))
    league.freeze("main")
    assert league.gate("main") == (False, "0 of at least 5 steps")
    league.advance("main", 5)
    beat(league, "trainable:main", "snapshot:main-0", 9)
    assert_shut(league, "met 0 of 1")
    beat(league, "trainable:main", "snapshot:main-0", 1)
    assert league.gate("main").is_open
    assert league.freeze("main").name == "main-1"
    league.advance("main", 5)
    assert_shut(league, "met 1 of 2")
    beat(league, "snapshot:main-1", "trainable:main", 20)
    assert_shut(league, "snapshot:main-1")


def test_a_gate_opens_when_time_is_up():
    league, is_open = league_of(main(2, gate=Gate(max_steps=3))), []
    league.freeze("main")
    for _ in range(3):
        league.advance("main")
        is_open.append(league.gate("main").is_open)
    assert is_open == [False, False, True]


def test_an_exploiter_is_measured_by_main_and_begins_anew():
    parts = (Opponents(seats=5, strategy="versus_main", among=("mains", "main_snapshots")),)
    gate = Gate(beats=0.7, against=("mains",), min_games=5)
    breaker = Learner(
        name="breaker", role="main_exploiter", seats=3, opponents=parts, gate=gate, reset_chance=1.0
    )
    league = league_of(main(), breaker)
    league.freeze("main")
    league.advance("breaker")
    beat(league, "trainable:breaker", "trainable:main", 20)
    assert league.gate("breaker").is_open
    assert league.freeze("breaker") == ("breaker-0", (), True)
    assert league.payoff.games("trainable:breaker", ["trainable:main"])[0] == 0
    pools = [league.pool(name) for name in ("exploiter_snapshots", "main_snapshots")]
    assert pools == [("snapshot:breaker-0",), ("snapshot:main-0",)]
    assert not league.freeze("main").starts_anew


# ---- giving up -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("eviction", "gone"), [("oldest", "main-0"), ("similar", "main-1")])
def test_the_league_gives_up_whom_it_needs_least(eviction, gone):
    league = frozen(league_of(main(), capacity=4, eviction=eviction, bots=("banker",)), 4)
    for name, place in (("main-0", 1), ("main-1", 3), ("main-2", 3), ("main-3", 2)):
        for _ in range(20):
            league.record([f"snapshot:{name}", "bot:banker"], [place, 2])
    assert league.freeze("main").evicted == (gone,)
    assert f"snapshot:{gone}" not in league.payoff.names
    assert list(league.snapshots) == [name for name in (f"main-{i}" for i in range(5)) if name != gone]
    league.record([f"snapshot:{gone}", "bot:banker", "trainable:main"], [1, 2, 3])
    assert f"snapshot:{gone}" not in league.payoff.names


def test_of_whom_little_is_known_is_not_taken_for_similar():
    league = league_of(main(), capacity=6, bots=("banker", "novice"))
    for i in range(5):
        league.freeze("main")
        for k in range(30):  # each is another mixture of good and bad days
            league.record(
                [f"snapshot:main-{i}", "bot:banker", "bot:novice"], [1 + (k % 5 < i), 2 - (k % 5 < i), 3]
            )
    gone = [league.freeze("main").evicted for _ in range(3)]
    assert gone[0] == ()
    assert all(one in {(f"main-{i}",) for i in range(5)} for one in gone[1:]), gone
    assert {"main-5", "main-6", "main-7"} <= set(league.snapshots)


def test_the_newest_of_every_learner_stays():
    shared = league_of(
        main(4),
        Learner(name="b", role="league_exploiter", seats=4),
        num_players=12,
        games="shared",
        capacity=3,
    )
    shared.freeze("b")
    assert list(frozen(shared, 6).snapshots) == ["b-0", "main-4", "main-5"]


# ---- keeping -------------------------------------------------------------------------------------------


def played(rated=False):
    league = league_of(main(), bots=("banker",), capacity=4, rated=rated, seed=3)
    rng = np.random.default_rng(0)
    for i in range(30):
        if i % 5 == 0:
            league.freeze("main")
        league.advance("main")
        league.record(league.draw(), rng.permutation(8) + 1)
        league.record(["trainable:main", "bot:banker-1"], [1, float("nan")])
        league.note(i, entropy=0.5)
    return league


def go_on(league):
    league.freeze("main")
    drawn = [league.draw() for _ in range(5)]
    league.record(drawn[0], range(1, 9))
    return drawn, league.gate("main"), league.table().to_json(), league.to_bytes()


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_a_league_that_was_kept_goes_on_as_if_nothing_had_happened(way, tmp_path):
    league = played(rated=RATED)
    league.save(tmp_path / "league.npz")
    kept = League.load(tmp_path / "league.npz") if way == "file" else pickle.loads(pickle.dumps(league))
    assert kept.to_bytes() == league.to_bytes()
    assert go_on(kept) == go_on(league)


def test_the_same_calls_give_the_same_league():
    assert played().to_bytes() == played().to_bytes()


# ---- how many snapshots a game meets ------------------------------------------------------------------


def with_snapshots(count, **options):
    """A league of one learner with ``count`` snapshots, which plays ``options`` of them."""
    return frozen(league_of(main(2, Opponents(seats=6, strategy="uniform", **options))), count)


def test_opponents_may_be_drawn_together():
    league = with_snapshots(5, together=True)
    own, frozen = league.table().groups
    assert (own.together, frozen.together) == (False, True)
    assert len(set(league.draw()[2:])) == 1


def test_games_of_one_step_meet_few_snapshots_and_those_of_many_meet_all():
    league, sets = with_snapshots(20, distinct=4), []
    for _ in range(400):
        league.advance("main")
        sets.append(set(league.table().names("snapshot")))
    assert all(1 <= len(some) <= 4 for some in sets)
    assert all(len(after - before) <= 1 for before, after in pairwise(sets))  # one place at a time
    assert len(set().union(*sets)) == 20


def test_few_snapshots_are_drawn_by_weight_and_follow_from_the_seed():
    weights = {f"snapshot:{i}": float(i) for i in range(1, 9)}
    held = dict.fromkeys(weights, 0.0)
    for step in range(8_000):
        drawn = drawn_few(weights, 2, step, "seed")
        assert sum(drawn.values()) == pytest.approx(36)
        for name, weight in drawn.items():
            held[name] += weight
    for name, weight in weights.items():  # 8,000 draws that each hold for two steps
        chance = weight / 36
        deviation = 36 * (8_000 * chance * (1 - chance)) ** 0.5
        assert abs(held[name] - 8_000 * 36 * chance) < 4 * deviation
    assert drawn_few(weights, 2, 7, "seed") == drawn_few(dict(reversed(weights.items())), 2, 7, "seed")
    drawn = [[drawn_few(weights, 2, step, key) for step in range(9)] for key in ("seed", "other")]
    assert drawn[0] != drawn[1]
    assert drawn_few(weights, 8, 7, "seed") == weights


def test_few_snapshots_leave_other_players_their_share():
    part = Opponents(seats=6, strategy="uniform", among=("snapshots", "bots"), distinct=1)
    league = frozen(league_of(main(2, part), bots=("banker", "novice")), 6)
    players = league.table().groups[1].players
    assert sorted(str(player).partition(":")[0] for player in players) == ["bot", "bot", "snapshot"]
    assert sorted(players.values()) == pytest.approx([1 / 8, 1 / 8, 6 / 8])


# ---- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: league_of(main(3, Opponents(seats=4))), "are 7 in all; a game has num_players = 8"),
        (lambda: league_of(Learner(name="x", role="main_exploiter", seats=8)), "the role 'main'"),
        (lambda: league_of(main(), bots=("nobody",)), "bots has 'nobody'; bots are random"),
        (lambda: league_of(main(), bots=("bankr",)), r"bots has 'bankr' \(did you mean 'banker'\?\)"),
        (lambda: league_of(main(), eviction="newest"), "oldest, weakest, similar"),
        (lambda: league_of(main(), capacity=1), "capacity is 1"),
        (lambda: league_of(main(), main()), "called main, main"),
        (lambda: Opponents(seats=1, strategy="pfps"), "strategy is 'pfps'"),
        (lambda: Opponents(seats=1, among=("friends",)), "among is 'friends'"),
        (lambda: Opponents(seats=1, distinct=0), "distinct is 0; it must be a whole number from 1 to 250"),
        (lambda: Gate(beats=60), "beats is 60"),
        (lambda: Gate(against=("all",)), ", ".join(POOLS)),
        (lambda: Learner(name="a/b"), "name is 'a/b'"),
        (lambda: league_of(main()).gate("maine"), "its learners are main"),
        (lambda: league_of(main()).record(["snapshot:main-0"], [1]), "not a snapshot of this league"),
        (lambda: league_of(main()).record(["bot:banker"], [1, 2]), "1 players and 2 places"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.skipif(not RATED, reason="openskill is not installed: the extra `league` has it")
def test_snapshots_enter_with_their_learners_rating_and_the_weakest_goes():
    league = league_of(main(), capacity=3, eviction="weakest", bots=("banker",), rated=True)
    for place in (3, 1, 3):
        for _ in range(15):
            league.record(["trainable:main", "bot:banker"], [place, 2])
        league.freeze("main")
    ratings = {name: league.rating(f"snapshot:{name}").mu for name in league.snapshots}
    assert ratings["main-1"] == max(ratings.values())
    assert league.rating("bot:banker") == league.rating("bot:banker-1")
    assert league.freeze("main").evicted == (min(list(ratings)[:3], key=ratings.get),)


@pytest.mark.skipif(RATED, reason="openskill is installed")
def test_ratings_name_the_extra_that_they_need():
    with pytest.raises(ImportError, match="league"):
        league_of(main(), rated=True)


def test_a_league_that_goes_on_for_long_stays_as_large_as_it_is():
    """Hundreds of snapshots come and go; what is kept of them has a bound, and so has its history."""
    parts = (Opponents(seats=20), Opponents(seats=8, strategy="uniform", among=("bots",)))
    league = league_of(
        Learner(name="main", seats=4, opponents=parts, gate=Gate(max_steps=1)),
        num_players=32,
        capacity=60,
        bots=("banker", "novice"),
    )
    rng = np.random.default_rng(0)

    def go_on(freezes, notes):
        for _ in range(freezes):
            league.freeze("main")
            league.record(league.draw(), rng.permutation(32) + 1)
        for _ in range(notes):
            league.note(league.steps["main"])
            league.advance("main")
        kept = vars(league.payoff).values()
        arrays = sum(array.nbytes for array in kept if isinstance(array, np.ndarray))
        return len(league.snapshots), len(league.payoff.names), arrays, len(league.to_bytes())

    early, late = go_on(120, MOST_NOTES), go_on(300, 2 * MOST_NOTES)
    assert early[:2] == late[:2] == (60, 63)
    assert late[2] <= early[2] < 400_000
    assert late[3] < 1.3 * early[3]
    assert MOST_NOTES // 2 <= len(league.history) < MOST_NOTES
    steps = [row["step"] for row in league.history]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, league.steps["main"] - 1)
