"""``obs="pairs"`` and actions that name a candidate: in every environment, and in any state of a game."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame, make_vec
from territorial.bots import HOLD_ALL
from territorial.constants import NUM_FRACTIONS
from territorial.decode import pair_names
from territorial.observation.pair_columns import OF_PAIR, PAIRS, UNIT
from tests.bots.support import python_bot
from tests.env.support import SMALL, small_env
from tests.episodes import begun

FORMATS = ("pairs", "pairs_multi_discrete")
LEGAL, THERE = OF_PAIR.legal, OF_PAIR.there
SEATS = ("agent", "metronome", "agent", "banker")


def pairs_vec(**changes):
    return make_vec(3, **(SMALL | {"max_ticks": 400, "obs": "pairs", "action_format": "pairs"} | changes))


def chosen(masks, rng, action_format, holds=0.6):
    """Return legal actions (E, A) or (E, A, 2), drawn from masks of the format."""
    count = masks.shape[-1] - NUM_FRACTIONS if action_format == "pairs_multi_discrete" else masks.shape[-1]
    draws = np.where(masks[..., :count] == 1, rng.random((*masks.shape[:-1], count)), -1)
    first = np.where(rng.random(masks.shape[:-1]) < holds, 0, draws.argmax(-1))
    if action_format == "pairs":
        return first
    return np.stack([first, rng.integers(0, NUM_FRACTIONS, first.shape)], axis=-1)


def engine_pairs(actions, targets, action_format):
    """Return what the engine should get, int64 (E, A, 2), from what was observed."""
    if action_format == "pairs":
        row, how = (actions - 1) // NUM_FRACTIONS, (actions - 1) % NUM_FRACTIONS
    else:
        row, how = actions[..., 0] - 1, actions[..., 1]
    what = np.take_along_axis(targets, np.maximum(row, 0)[..., None], axis=-1)[..., 0]
    return np.where((row < 0) | (what == 0), 0, what), how


TEAMS = {"num_players": 4, "teams": 2, "team_deal": "turn", "seats": None}


@pytest.mark.parametrize("action_format", FORMATS)
def test_in_games_with_teams_allies_come_after_the_candidates_and_can_be_given_to(action_format):
    vec = pairs_vec(action_format=action_format, num_candidates=3, num_allies=2, **TEAMS)
    assert vec.single_observation_space["pairs"].shape == (5, len(PAIRS) + 1)
    seen, info = vec.reset(seed=3)
    rng, given = np.random.default_rng(3), 0
    ally_of = {1: 3, 2: 4, 3: 1, 4: 2}
    for _ in range(60):
        for k, i in np.ndindex(3, 4):
            assert vec.single_observation_space.contains({key: array[k, i] for key, array in seen.items()})
            if info["alive"][k, i] and info["alive"][k, ally_of[i + 1] - 1]:
                assert seen["targets"][k, i, 3] == 4, "two seats further in the circle"
                assert seen["pairs"][k, i, 3, -1] == 1
            assert seen["targets"][k, i, 4] == 0, "there is one ally"
            assert not seen["pairs"][k, i, :3, -1].any()
        legal = seen["pairs"][..., LEGAL] > 0
        masks = seen["action_mask"]
        end = 1 + 5 * (NUM_FRACTIONS if action_format == "pairs" else 1)
        assert np.array_equal(masks[..., 1:end].reshape(3, 4, 5, -1).any(3), legal)
        before = vec.game.state.donated.sum()
        actions = chosen(masks, rng, action_format)
        row = (actions - 1) // NUM_FRACTIONS if action_format == "pairs" else actions[..., 0] - 1
        holds = (actions if action_format == "pairs" else actions[..., 0]) == 0
        seen, _, _, _, info = vec.step(actions)
        if not info["was_reset"].any():
            gave = vec.game.state.donated.sum() > before
            assert gave == ((row >= 3) & ~holds).any()
            given += gave
    assert given > 5


@pytest.mark.parametrize("seats", [None, SEATS], ids=["all agents", "with bots"])
def test_observations_are_those_of_the_batch_and_within_their_space(seats):
    vec = pairs_vec(seats=seats)
    seen, _ = vec.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        wanted = vec.game.pairs(np.arange(3).repeat(vec.num_agents), vec.agent_seats.ravel())
        for name, array in wanted._asdict().items():
            assert np.array_equal(seen[name].reshape(array.shape), array)
            assert seen[name].dtype == vec.single_observation_space[name].dtype
        for k, i in np.ndindex(3, vec.num_agents):
            assert vec.single_observation_space.contains({key: array[k, i] for key, array in seen.items()})
        seen = vec.step(chosen(seen["action_mask"], rng, "pairs"))[0]


@pytest.mark.parametrize(
    ("action_format", "obs", "autoreset"),
    [
        *zip(FORMATS, ("pairs", "features"), ("same_step", "next_step"), strict=True),
        *zip(FORMATS, ("features", "pairs"), ("next_step", "same_step"), strict=True),
        *zip(FORMATS, ("pairs", "features"), ("disabled", "disabled"), strict=True),
    ],
)
def test_an_action_is_a_launch_at_the_candidate_that_was_shown(action_format, obs, autoreset):
    options = {"obs": obs, "seats": SEATS, "max_ticks": 250, "autoreset": autoreset}
    vec = pairs_vec(action_format=action_format, **options)
    other = pairs_vec(action_format="multi_discrete", **options)
    vec.reset(seed=3)
    other.reset(seed=3)
    rng, ended, launched = np.random.default_rng(3), 0, 0
    for _ in range(60):
        targets = vec.game.pairs(np.arange(3).repeat(2), vec.agent_seats.ravel()).targets.reshape(3, 2, 8)
        actions = chosen(vec.action_masks(), rng, action_format)
        pairs = np.stack(engine_pairs(actions, targets, action_format), axis=-1)
        launched += np.count_nonzero(pairs[..., 0])
        info, same = vec.step(actions)[-1], other.step(pairs)[-1]
        assert [vec.game.digest(k) for k in range(3)] == [other.game.digest(k) for k in range(3)]
        assert not info["illegal"].any()
        assert np.array_equal(info["is_over"], same["is_over"])
        ended += info["is_over"].sum()
        if autoreset == "disabled" and info["is_over"].any():
            for k in np.flatnonzero(info["is_over"]):
                vec.reset_game(k)
                other.reset_game(k)
    assert ended >= 3
    assert launched > 50


def test_after_restore_actions_name_candidates_of_the_restored_game():
    vec = pairs_vec(num_candidates=4, autoreset="disabled")
    seen, _ = vec.reset(seed=5)
    rng = np.random.default_rng(5)
    saved = vec.save_all()
    actions = chosen(seen["action_mask"], rng, "pairs", holds=0)
    vec.step(actions)
    digests = [vec.game.digest(k) for k in range(3)]
    for _ in range(15):
        vec.step(chosen(vec.action_masks(), rng, "pairs"))
    vec.restore_all(saved)
    assert all(np.array_equal(array, seen[key]) for key, array in vec.observe().items())
    vec.step(actions)
    assert [vec.game.digest(k) for k in range(3)] == digests


def test_the_width_of_actions_and_the_names_of_columns_follow_from_candidates_and_allies():
    made = pairs_vec(**TEAMS), pairs_vec(num_allies=0, **TEAMS), pairs_vec(obs="features", num_candidates=4)
    assert [vec.format.width for vec in made] == [1 + NUM_FRACTIONS * rows for rows in (8 + 4, 8, 4)]
    names = pair_names()
    assert {array: len(columns) for array, columns in names.items()} == {"own": 35, "pairs": 26}
    assert (names["own"][0], names["pairs"][LEGAL]) == ("land", "legal")
    assert pair_names(teams=True)["pairs"] == (*names["pairs"], "ally")


def test_an_action_against_no_candidate_holds_and_one_that_is_illegal_is_counted():
    vec = pairs_vec()
    seen, _ = vec.reset(seed=6)
    absent = np.argmax(seen["pairs"][..., THERE] == 0, axis=-1)
    assert (seen["pairs"][..., THERE].min(axis=-1) == 0).all()
    *_, info = vec.step(1 + 10 * absent + 3)
    assert not info["illegal"].any()
    assert (info["troops"] >= 512).all(), "no launch was made"
    vec.game.state.troops[:] = 0
    assert not vec.action_masks()[..., 1:].any()
    *_, info = vec.step(np.full((3, 4), 1))
    assert (info["illegal"] == 1).all()


def test_no_seat_is_computed_that_is_not_asked_for(monkeypatch):
    vec = pairs_vec(seats=SEATS)
    asked = []
    observe = vec.game.pair_observer.observe
    monkeypatch.setattr(
        vec.game.pair_observer,
        "observe",
        lambda games, seats, n: asked.append(len(seats)) or observe(games, seats, n),
    )
    vec.reset(seed=7)
    vec.step(np.zeros((3, 2), int))
    assert asked == [6, 6], "two agents of three games, once a step"


@pytest.mark.parametrize(
    ("action_format", "wanted"),
    [
        ("pairs", "a whole number from 0 to 30"),
        ("pairs_multi_discrete", "two whole numbers, from 0 to 3 and from 0 to 9"),
    ],
)
def test_actions_out_of_range_are_refused_and_nothing_changes(action_format, wanted):
    vec = begun(pairs_vec(action_format=action_format, num_candidates=3), seed=10)
    before = vec.game.digest(0)
    actions = np.zeros((3, 4), int) if action_format == "pairs" else np.zeros((3, 4, 2), int)
    for number in (-1, 31):
        actions[1, 2] = number
        with pytest.raises(ValueError) as error:
            vec.step(actions)
        assert str(error.value) == f"actions[1, 2] is {actions[1, 2].tolist()}; it must be {wanted}"
    assert vec.game.digest(0) == before
    env = begun(small_env(obs="pairs", action_format=action_format, num_candidates=3), seed=10)
    with pytest.raises(ValueError, match=f"the action of 'player_0' is .*; it must be {wanted}"):
        env.step(dict.fromkeys(env.agents, actions[1, 2]))


def test_a_bot_in_python_sees_what_networks_see():
    seen = []

    def watch(view):
        seen.append((view.games, view.seats, view.pairs, view.candidates, view.fronts))
        return view.candidates[:, 0], 64

    bot = python_bot(watch)
    game = begun(
        VecGame(
            GameConfig(height=24, width=24, num_players=4),
            2,
            seats=[bot, "metronome", bot, "banker"],
        )
    )
    for _ in range(20):
        before = game.clone()
        seen.clear()
        game.step()
        for games, seats, pairs, candidates, fronts in seen:
            wanted = before.pairs(games, seats)
            for found, array in zip(pairs, wanted, strict=True):
                assert np.array_equal(found, array)
            shown = wanted.pairs[..., THERE] == UNIT / 4096
            assert np.array_equal(candidates == HOLD_ALL, ~shown)
            assert (fronts[np.arange(len(seats))[:, None], np.maximum(candidates, 0)][shown] > 0).all()
    assert game.state.taken[:, 1].sum() > 50
