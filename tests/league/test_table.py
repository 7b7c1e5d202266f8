"""Distributions of line-ups: draws follow weights and seeds, they are plain data, mistakes are named."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import territorial
from territorial.engine.seats import seat_codes
from territorial.league import Group, LineUpDistribution, LineUpMixture, Player
from territorial.league.seating import line_ups_of
from tests.league.support import Patient

LEAGUE = LineUpDistribution(
    [
        Group(2, {"trainable:main": 1}),
        Group(3, {"bot:banker": 3, "bot:turtle": 1}),
        Group(3, {"snapshot:main-1": 1, "snapshot:main-2": 1, "snapshot:old": 0, "trainable:main": 2}),
    ],
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


players = st.sampled_from(["trainable:main", "trainable:b:c", "bot:novice", "bot:random", "snapshot:a-1"])
groups = st.builds(
    Group,
    st.integers(1, 10),
    st.dictionaries(players, st.integers(0, 5) | st.floats(0, 1e9), min_size=1).filter(
        lambda weights: any(weights.values())
    ),
    st.booleans(),
)
tables = st.builds(LineUpDistribution, st.lists(groups, min_size=2, max_size=6), st.booleans())


@settings(max_examples=30)
@given(tables, st.integers(0, 2**64 - 1))
def test_a_draw_fills_every_seat_from_its_group_and_depends_on_the_seed_alone(table, seed):
    drawn = table.draw(rng(seed))
    assert len(drawn) == table.num_players
    assert (
        table
        == LineUpDistribution.from_json(table.to_json())
        == LineUpDistribution.from_dict(table.to_dict())
    )
    assert drawn == table.draw(rng(seed)) == LineUpDistribution.from_json(table.to_json()).draw(rng(seed))
    if not table.shuffle:
        seats = iter(drawn)
        for group in table.groups:
            assert all(group.players[next(seats)] > 0 for _ in range(group.seats))
    assert all(player.name in table.names(player.kind) for player in drawn)


def test_draws_follow_the_weights():
    table = LineUpDistribution([Group(250, {"bot:banker": 3, "bot:turtle": 1, "bot:novice": 0})])
    counts = Counter(player.name for seed in range(80) for player in table.draw(rng(seed)))
    assert set(counts) == {"banker", "turtle"}
    # 20,000 draws with a deviation of 61: four of them either side.
    assert abs(counts["banker"] - 15_000) < 4 * 61


def test_a_group_that_is_drawn_together_has_one_player_by_weight():
    table = LineUpDistribution([Group(6, {"snapshot:a": 3, "snapshot:b": 1}, together=True)])
    draws = [table.draw(rng(seed)) for seed in range(2_000)]
    assert all(len(set(draw)) == 1 for draw in draws)
    counts = Counter(draw[0].name for draw in draws)
    assert abs(counts["a"] - 1_500) < 4 * 19.4  # deviations


def test_every_game_of_a_mixture_is_of_one_table_and_learned_from_as_that_says():
    groups = [Group(1, {"trainable:main": 1}), Group(2, {"trainable:other": 1, "bot:banker": 1})]
    both = LineUpMixture(
        [LineUpDistribution(groups, learns="main"), LineUpDistribution(groups, shuffle=True)]
    )
    assert line_ups_of(both.to_dict()) == both
    assert (both.num_players, both.names("trainable")) == (3, ["main", "other"])
    games = [both.draw_game(rng(seed)) for seed in range(60)]
    assert games == [both.draw_game(rng(seed)) for seed in range(60)]
    marks = {tuple(zip([str(one) for one in players], learns, strict=True)) for players, learns in games}
    learn = ("trainable:main", True)
    assert any(game[0] == learn and ("trainable:other", False) in game for game in marks)
    assert any(game[0] != learn and ("trainable:other", True) in game for game in marks)
    assert not any({("trainable:other", True), ("trainable:other", False)} <= set(game) for game in marks)


def test_shuffled_seats_keep_their_numbers_and_go_everywhere():
    table = LineUpDistribution([Group(1, {"trainable:main": 1}), Group(3, {"bot:banker": 1})], shuffle=True)
    draws = [table.draw(rng(seed)) for seed in range(200)]
    assert all(Counter(player.kind for player in draw) == {"trainable": 1, "bot": 3} for draw in draws)
    places = Counter(draw.index(Player("trainable", "main")) for draw in draws)
    assert min(places[seat] for seat in range(4)) > 25


def test_the_largest_number_that_can_be_drawn_gives_a_player_with_a_weight():
    class Last:
        def random(self, count: int) -> np.ndarray:
            return np.full(count, np.nextafter(1, 0))

    table = LineUpDistribution([Group(2, {"bot:banker": 0.1, "bot:turtle": 0.7, "bot:novice": 0})])
    assert {player.name for player in table.draw(Last())} == {"turtle"}


def test_players_have_seats_in_the_engine():
    kinds = {"trainable": "agent", "snapshot": "external"}
    seats = [kinds.get(player.kind, player.bot or player.name) for player in LEAGUE.draw(rng())]
    assert len(seat_codes(seats, len(seats))) == LEAGUE.num_players
    assert seats[:2] == ["agent", "agent"]
    config = territorial.GameConfig(height=32, width=32, num_players=LEAGUE.num_players)
    territorial.VecGame(config, 1, seats=seats)


def drawing(*bots):
    return LineUpDistribution([Group(2, {bot: 1}) for bot in bots] + [Group(2, {"trainable:main": 1})])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Player.parse("banker"),
            ValueError,
            "a player is 'banker'; it must be KIND:NAME, KIND one of",
        ),
        (lambda: Player.parse("bot:"), ValueError, "it must be KIND:NAME"),
        (lambda: Player.parse("bot:nobody"), ValueError, "a player is 'bot:nobody'; bots are random, "),
        (lambda: Player.parse("bot:bankr"), ValueError, r"'bot:bankr' \(did you mean 'banker'\?\); bots are"),
        (lambda: Player.parse(3), TypeError, "a player is 3; it must be a string"),
        (
            lambda: drawing(Patient(), Patient()),
            ValueError,
            "two custom bots are called 'patient-1'",
        ),
        (
            lambda: drawing(Patient("banker")),
            ValueError,
            "the bot Patient has the name 'banker', which belongs to another bot",
        ),
        (
            lambda: drawing(Patient("")),
            ValueError,
            "the bot Patient has the name ''; it must be a string of 1 to 64 characters",
        ),
        (
            lambda: Group(0, {"bot:banker": 1}),
            ValueError,
            "seats is 0; it must be a whole number from 1 to 250",
        ),
        (lambda: Group(True, {"bot:banker": 1}), TypeError, "seats is True"),
        (lambda: Group(2, {"bot:banker": 1}, together=1), TypeError, "together is 1"),
        (lambda: Group(1, {}), ValueError, "at least one must have a weight above 0"),
        (lambda: Group(1, {"bot:banker": 0}), ValueError, "at least one must have a weight above 0"),
        (lambda: Group(1, {"bot:banker": -1}), ValueError, "the weight of bot:banker is -1; it must be"),
        (lambda: Group(1, {"bot:banker": float("nan")}), ValueError, "the weight of bot:banker is nan"),
        (lambda: Group(1, {"bot:banker": "2"}), TypeError, "the weight of bot:banker is '2'"),
        (lambda: Group(1, {"bot:banker": 1e308}), ValueError, "the weight of bot:banker is 1e"),
        (lambda: Group(1, ["bot:banker"]), TypeError, "it must be a weight by player"),
        (
            lambda: LineUpDistribution([Group(1, {"bot:banker": 1})]),
            ValueError,
            "1 seats together; there must be 2 to 250",
        ),
        (lambda: LineUpDistribution([Group(200, {"bot:banker": 1})] * 2), ValueError, "400 seats together"),
        (
            lambda: LineUpDistribution(["bot:banker"]),
            TypeError,
            r"groups\[0\] is 'bot:banker'; it must be of",
        ),
        (lambda: LineUpDistribution([Group(2, {"bot:banker": 1})], shuffle=1), TypeError, "shuffle is 1"),
        (
            lambda: LineUpDistribution.from_dict({}),
            ValueError,
            "a line-up distribution has no 'groups'; it must have the fields groups, learns, shuffle",
        ),
        (
            lambda: LineUpDistribution.from_dict({"groups": [{"seats": 2}], "shuffle": False}),
            ValueError,
            r"groups\[0\] has no 'players'; it must have the fields players, seats, together",
        ),
        (
            lambda: LineUpDistribution.from_dict(
                {"groups": [{"seats": 2, "players": {"bot:x": 1}, "together": False}], "shuffle": False}
            ),
            ValueError,
            r"groups\[0\]: a player is 'bot:x'; bots are",
        ),
        (lambda: LineUpDistribution.from_json("{"), ValueError, "Expecting"),
        (lambda: LineUpMixture([]), ValueError, "tables is empty; there must be at least one"),
        (
            lambda: LineUpMixture([LEAGUE, LineUpDistribution([Group(2, {"bot:banker": 1})])]),
            ValueError,
            "num_players is 8; the line-up distribution has 2 seats",
        ),
        (
            lambda: LineUpDistribution(
                [Group(2, {"trainable:main": 1, "trainable:other": 0})], learns="other"
            ),
            ValueError,
            "learns is 'other'; it must be None, or a learner that the table draws: main",
        ),
        (lambda: LEAGUE.check_players(32), ValueError, r"num_players is 32; .* 8 seats: 2 \+ 3 \+ 3"),
    ],
)
def test_mistakes_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()
    LEAGUE.check_players(8)


def test_bots_in_python_sit_in_tables():
    bot = Patient()
    table = LineUpDistribution([Group(2, {"trainable:main": 1}), Group(3, {bot: 2, "bot:novice": 0})])
    drawn = table.draw(rng())
    assert [(player.bot, str(player)) for player in drawn[2:]] == [(bot, "bot:patient-1")] * 3
    assert table.names("bot") == ["patient-1"]
    assert LineUpDistribution(table.groups).draw(rng()) == drawn
    assert len({player.bot for player in pickle.loads(pickle.dumps(table)).draw(rng())[2:]}) == 1
