"""VecGame as its users see it: resets, rewards, ends, seats, seeds, memory, errors that say what is wrong."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from territorial import GameConfig, LandMask, SavedGame, VecGame
from territorial.bots import HOLD_ALL
from territorial.config.rewards import DEFAULT, NAMES, checked_rewards
from territorial.constants import LARGEST_TROOPS, STREAM_EPISODE
from territorial.engine.batch_arrays import seed_of_episode
from tests.bots.support import python_bot
from tests.engine.support import board, digests, game_on, rows_of, same_observations, seat_values
from tests.episodes import advance, begun, random_actions
from tests.twin import H

CONFIG = GameConfig(height=24, width=30, num_players=4, map="lakes", max_ticks=400)
LONG = CONFIG.replace(max_ticks=10_000)
BOTS = ("metronome-1", "banker-1", "turtle-1", "novice-1")


def new_game(num_games=3, config=CONFIG, seed=5, seats=BOTS, **options):
    return begun(VecGame(config, num_games, seed=seed, seats=seats, **options))


# ---- a step ---------------------------------------------------------------------------------------


def test_actions_count_for_agents_and_externals_and_not_for_bots():
    names = (BOTS, ("agent",) * 4, ("external",) * 4, None)
    bots, agents, externals, unnamed = (new_game(seats=seats) for seats in names)
    ignoring, rng = new_game(), np.random.default_rng(0)
    assert unnamed.seats_of(0) == ("agent",) * 4
    for step in range(30):
        actions = random_actions(agents, rng) if step % 3 else np.zeros((3, 4, 2), np.int64)
        for game in (agents, externals, ignoring):
            game.step(actions)
        bots.step()
        unnamed.step(actions if step % 3 else None, hold=step % 3 == 0)
        assert digests(bots) == digests(ignoring)
        assert digests(agents) == digests(externals) == digests(unnamed)
    assert not bots.state.illegal.any()


def test_actions_may_be_left_out_where_no_agent_has_a_decision_to_make():
    game, bots = (
        new_game(1, LONG, seats=(one, *BOTS[:3]), autoreset="disabled") for one in ("external", BOTS[3])
    )
    bots.step()
    bots.restore(0, game.save(0))
    for batch in (game, bots, bots.clone()):
        with pytest.raises(ValueError, match="seat 1 of game 0 is an agent with a decision to make"):
            batch.step()
    game.tick(0)
    while not game.state.over[0]:  # between two decisions, and once the agent is eliminated
        game.step(hold=bool(game.state.alive[0, 1] and game.state.tick[0] % 10 == 0))
    with pytest.raises(ValueError, match=r"game 0 is over since tick \d+; reset it first"):
        game.tick(0)


# ---- ends and rewards -----------------------------------------------------------------------------


def test_a_game_that_ended_is_replaced_in_the_same_step_and_its_end_is_kept():
    """A batch without autoreset shows what the end was like."""
    game, shadow = new_game(1, frames=3), new_game(1, autoreset="disabled", frames=3)
    while True:
        tables, _, _, _, info = game.step()
        shadow_tables, *_ = shadow.step()
        if info["ended"][0]:
            break
        assert not info["was_reset"][0]
    assert (info["was_reset"][0], game.state.episode[0], game.state.tick[0]) == (True, 1, 0)
    assert info["final_length"][0] == shadow.state.tick[0]
    assert info["final_land"][0].tolist() == seat_values(shadow, "land")
    assert (info["final_place"][0] * 2).tolist() == seat_values(shadow, "doubled_place")
    assert same_observations(info["final_obs"], shadow_tables)
    assert info["final_obs"].delta_count[0] >= 0
    fresh = begun(new_game(1, frames=3), seeds=[int(game.state.seed[0])])
    assert digests(game) == digests(fresh)
    assert same_observations(tables, fresh.observations)
    assert not info["illegal"].any()


def test_a_game_without_living_agents_is_replaced_if_that_is_asked_for():
    """The agent never acts and dies long before the end; nobody's place but the dead's is known."""
    seats = ("agent", "metronome", "banker", "novice")
    game = new_game(4, config=LONG, seats=seats, end_when="no_agents")
    other = new_game(4, config=LONG, seats=seats)
    seen = 0
    for _ in range(400):
        _, _, terminated, _, info = game.step(hold=True)
        other.step(hold=True)
        for k in np.flatnonzero(info["was_reset"] & ~info["ended"]):
            seen += 1
            places = info["final_place"][k]
            assert terminated[k, 0]
            assert places[0] > 0
            assert (places == 0).any()
            assert not terminated[k][places == 0].any(), "bots that live do not terminate"
            assert game.state.tick[k] == 0
    assert seen > 0
    assert game.state.episode.sum() > other.state.episode.sum()


# ---- seeds ----------------------------------------------------------------------------------------


def seeds_of(batch_seed, episodes):
    return [H(batch_seed, STREAM_EPISODE, k, e) for k, e in enumerate(episodes)]


def test_game_k_plays_episode_e_with_the_seed_of_the_rules():
    game = new_game(3, seed=77)
    assert game.state.seed.tolist() == seeds_of(77, (0, 0, 0))
    game.reset()
    assert game.state.seed.tolist() == seeds_of(77, (1, 1, 1))
    game.reset(seeds=[5, 5, 2**64 - 1])
    assert game.state.seed.tolist() == [5, 5, 2**64 - 1]
    assert game.digest(0) == game.digest(1) != game.digest(2)
    game.reset(seed=2**64 - 1)
    for _ in range(200):
        assert game.state.seed.tolist() == seeds_of(2**64 - 1, game.state.episode.tolist())
        game.step()
    assert game.state.episode.min() > 1


@pytest.mark.parametrize("num_maps", [CONFIG.num_maps, 0])
def test_one_game_can_begin_anew_while_the_others_stand(num_maps):
    config, seed = CONFIG.replace(num_maps=num_maps), seed_of_episode(99, 4)
    assert seed == H(99, STREAM_EPISODE, 0, 4)
    game, undisturbed = new_game(3, config), new_game(3, config)
    alone = new_game(1, config, seats=BOTS[::-1])
    for _ in range(7):
        game.step()
        undisturbed.step()
    game.set_seats(1, BOTS[::-1])
    game.reset_game(1, seed)
    alone.reset(seeds=[seed])
    for _ in range(5):
        assert (game.digest(1), game.seats_of(1)) == (alone.digest(0), BOTS[::-1])
        assert game.state.episode[1] == 0, "the next game follows from this seed, too"
        assert same_observations(game.observations, alone.observations, 1, 0)
        for one in (game, alone, undisturbed):
            one.step()
    assert [game.digest(k) for k in (0, 2)] == [undisturbed.digest(k) for k in (0, 2)]


def test_a_game_that_is_stopped_stands_without_places_until_it_is_reset():
    game = new_game(2, autoreset="disabled")
    game.stop_game(1)
    advance(game, 3)
    assert (game.state.tick.tolist(), game.is_idle.tolist()) == ([30, 0], [False, True])
    assert not game.state.doubled_place[1].any()
    game.reset_game(1)
    game.step()
    assert game.state.tick.tolist() == [40, 10]


# ---- tick and set_position ------------------------------------------------------------------------


def test_a_position_begins_with_clean_books():
    game = new_game(1)
    advance(game, 20)
    start = board(game)
    game.set_position(0, start, tick=50, pools={(1, 0): 77})
    assert not game.blocks.ledger[0].any()
    expected = {"alive": [1] * 4, "troops": [512] * 4, "next_step": [50] * 4, "taken": [[0] * 5] * 4}
    expected |= dict.fromkeys(("doubled_place", "illegal", "raised", "bounced"), [0] * 4)
    expected["peak"] = seat_values(game, "land")
    assert {name: seat_values(game, name) for name in expected} == expected
    assert game.state.pools[0].sum() == 77
    assert np.array_equal(board(game), start)


# ---- looking --------------------------------------------------------------------------------------


def test_the_owner_board_is_current_and_read_only():
    game = new_game(2)
    owner = game.state.owner
    assert (owner.shape, owner.dtype) == ((2, 26, 32), np.uint8)
    with pytest.raises(ValueError, match="read-only"):
        owner[0, 1, 1] = 3
    changes = (
        game.step,
        lambda: game.tick(0),
        lambda: game.restore(0, game.save(1)),
        lambda: game.set_position(0, np.zeros((24, 30), np.uint8)),
        lambda: game.reset(seed=1),
    )
    for change in changes:
        for _ in range(5):
            change()
        land = [np.bincount(board(game, k)[board(game, k) < 255], minlength=5) for k in range(2)]
        assert np.array_equal(land, game.state.land)
        assert not game.state.owner.flags.writeable


def test_fields_of_the_state_are_listed():
    assert {"troops", "pools", "owner", "tick"} <= set(dir(new_game(1).state))


def test_a_copy_of_a_copy_shows_the_last_observations_of_games_that_stand():
    copied = pickle.loads(pickle.dumps(VecGame(CONFIG, 2, autoreset="disabled").clone()))
    for array, last in zip(copied.observations, copied.final_observations, strict=True):
        assert np.shares_memory(array, last)


def test_a_batch_is_freed_with_its_last_reference():
    """Large batches must not wait for the garbage collector, which counts objects and not their bytes."""
    game = new_game(2)
    for _ in range(2):
        game.step()
        game.pairs([0, 1], [1, 2])
        assert game.state.owner.shape[0] == 2
    batch = weakref.ref(game)
    gc.disable()
    try:
        del game
        assert batch() is None
    finally:
        gc.enable()


# ---- errors ---------------------------------------------------------------------------------------


def bad_actions(**changes):
    actions = np.zeros((3, 4, 2), np.int64)
    for position, value in changes.items():
        k, seat = (int(number) for number in position[1:].split("_"))
        actions[k, seat] = value
    return actions


SPACIOUS = np.zeros((24, 30), np.int64)


def tampered(game, name, value):
    """Return game 0 as saved, with one of its arrays filled with ``value``."""
    saved = game.save(0)
    saved.blocks[game.blocks._fields.index(name)][...] = value
    return saved


BAD_CALLS = {
    "no actions": (
        lambda game: game.step(),
        ValueError,
        r"with a decision to make; pass actions=, int \(3, 4, 2\), or hold=True to let all agents hold",
    ),
    "actions, and that all hold": (
        lambda game: game.step(np.zeros((3, 4, 2), int), hold=True),
        ValueError,
        r"step\(\) takes either actions or hold=True",
    ),
    "how many hold": (lambda game: game.step(hold=4), TypeError, "hold is 4; it must be True or False"),
    "actions of the wrong shape": (
        lambda game: game.step(np.zeros((3, 4), int)),
        ValueError,
        r"actions has shape \(3, 4\); it must be \(3, 4, 2\)",
    ),
    "a step of no decision": (
        lambda game: game.step(repeat=0, hold=True),
        ValueError,
        "repeat is 0; it must be a whole number from 1 to",
    ),
    "a step of half a decision": (
        lambda game: game.step(repeat=1.5, hold=True),
        TypeError,
        "repeat is 1.5; it must be a whole number",
    ),
    "a step of True decisions": (
        lambda game: game.step(repeat=True, hold=True),
        TypeError,
        "repeat is True; it must be a whole number",
    ),
    "an unchecked step of no decision": (
        lambda game: game.step_unchecked(0),
        ValueError,
        "repeat is 0; it must be a whole number",
    ),
    "actions of one game only": (
        lambda game: game.step(np.zeros((1, 4, 2), int)),
        ValueError,
        r"shape \(1, 4, 2\)",
    ),
    "actions that are floats": (
        lambda game: game.step(np.zeros((3, 4, 2))),
        TypeError,
        "actions has dtype float64",
    ),
    "actions that are bools": (
        lambda game: game.step(np.zeros((3, 4, 2), bool)),
        TypeError,
        "actions has dtype bool",
    ),
    "a target too large": (
        lambda game: game.step(bad_actions(a2_1=(6, 0))),
        ValueError,
        r"actions\[2, 1\] is \[6, 0\]; the target must be from 0 to 5 and the fraction index from 0 to 9",
    ),
    "a target below 0": (
        lambda game: game.step(bad_actions(a0_3=(-1, 0))),
        ValueError,
        r"actions\[0, 3\] is \[-1, 0\]",
    ),
    "a fraction too large": (
        lambda game: game.step(bad_actions(a1_0=(0, 10))),
        ValueError,
        r"actions\[1, 0\] is \[0, 10\]",
    ),
    "a fraction below 0": (
        lambda game: game.step(bad_actions(a1_0=(1, -1))),
        ValueError,
        r"actions\[1, 0\] is \[1, -1\]",
    ),
    "an unsigned number beyond int64": (
        lambda game: game.step(np.full((3, 4, 2), 2**64 - 1, np.uint64)),
        ValueError,
        r"actions\[0, 0\]",
    ),
    "a launch of seat 0": (
        lambda game: game.tick(0, [(0, 1, 5)]),
        ValueError,
        r"launches\[0, 1\] is 0; it must be from 1 to 4",
    ),
    "a launch of a seat too large": (
        lambda game: game.tick(0, [(1, 0, 5), (5, 1, 5)]),
        ValueError,
        r"launches\[1, 1\] is 5",
    ),
    "a launch at a code too large": (
        lambda game: game.tick(0, [(1, 5, 5)]),
        ValueError,
        r"launches\[0, 2\] is 5",
    ),
    "a launch of nothing": (
        lambda game: game.tick(0, [(1, 0, 0)]),
        ValueError,
        r"launches\[0, 3\] is 0",
    ),
    "a launch of more than everything": (
        lambda game: game.tick(0, [(1, 0, 1025)]),
        ValueError,
        "1025",
    ),
    "a launch that is no whole number": (
        lambda game: game.tick(0, [(1, 0, 0.5)]),
        TypeError,
        "launches has dtype float64",
    ),
    "a launch of two numbers": (lambda game: game.tick(0, [(1, 0)]), ValueError, r"it must be \(N, 4\)"),
    "a tick of a game that is not there": (
        lambda game: game.tick(3),
        IndexError,
        "game 3: this batch has the games 0 to 2",
    ),
    "a game counted from behind": (lambda game: game.digest(-1), IndexError, "game -1"),
    "fronts of a game that is not there": (lambda game: game.fronts(3), IndexError, "game 3"),
    "saving a game that is not there": (lambda game: game.save(3), IndexError, "game 3"),
    "restoring into a game that is not there": (
        lambda game: game.restore(3, game.save(0)),
        IndexError,
        "game 3",
    ),
    "restoring something else": (
        lambda game: game.restore(0, "a snapshot"),
        TypeError,
        "saved is a str; it must come from VecGame.save",
    ),
    "restoring a game of another config": (
        lambda game: game.restore(0, new_game(1, config=CONFIG.replace(max_ticks=401)).save(0)),
        ValueError,
        "the saved game has the config",
    ),
    "restoring a game of another size": (
        lambda game: game.restore(0, new_game(1, config=CONFIG.replace(width=31)).save(0)),
        ValueError,
        "the saved game has the config",
    ),
    "seats of a game that is not there": (lambda game: game.set_seats(3, BOTS), IndexError, "game 3"),
    "too few seats": (
        lambda game: game.set_seats(0, BOTS[:3]),
        ValueError,
        "seats has 3 entries but num_players is 4",
    ),
    "a seat of no bot": (
        lambda game: game.set_seats(0, ("agent", "wizard", "agent", "agent")),
        ValueError,
        r"seats\[1\] is 'wizard'; it must be one of agent, external, random",
    ),
    "seats in one string": (lambda game: game.set_seats(0, "random"), TypeError, "seats is 'random'"),
    "too few seeds": (
        lambda game: game.reset(seeds=[1, 2]),
        ValueError,
        "seeds has 2 entries; this batch has 3 games",
    ),
    "a seed below 0": (lambda game: game.reset(seed=-1), ValueError, "seed is -1"),
    "a seed beyond 64 bits": (lambda game: game.reset(seed=2**64), ValueError, "seed is"),
    "a seed that is no whole number": (lambda game: game.reset(seed=0.5), TypeError, "seed is 0.5"),
    "a seed of a game below 0": (lambda game: game.reset(seeds=[1, -1, 1]), ValueError, "is -1"),
    "a seed and too few seeds": (
        lambda game: game.reset(seeds=[1, 2]),
        ValueError,
        "seeds has 2 entries",
    ),
    "a game to begin that there is not": (lambda game: game.reset_game(3, 0), IndexError, "game 3: this"),
    "a game to begin with a seed below 0": (lambda game: game.reset_game(0, -1), ValueError, "seed is -1"),
    "a seed and seeds": (
        lambda game: game.reset(seed=1, seeds=[1, 2]),
        ValueError,
        "not both",
    ),
    "a game that is True": (lambda game: game.save(True), TypeError, "game True: this batch has the games 0"),
    "half a game": (lambda game: game.digest(0.5), TypeError, "game 0.5: this batch has the games 0"),
    "a saved game of other shapes": (
        lambda game: game.restore(0, SavedGame(CONFIG.hexdigest, (np.zeros(1),) * 10, np.zeros(0))),
        ValueError,
        "the saved game's seed is float64",
    ),
    "a saved game with blocks outside the board": (
        lambda game: game.restore(0, tampered(game, "occupied", 2**64 - 1)),
        ValueError,
        "the saved game's occupied blocks reach beyond the",
    ),
    "a saved game with more troops than can be": (
        lambda game: game.restore(0, tampered(game, "players", 2**37)),
        ValueError,
        "the saved game's ",
    ),
    "a saved game with larger pools than can be": (
        lambda game: game.restore(0, tampered(game, "pairs", 2**53 + 1)),
        ValueError,
        f"the saved game's pools hold .* not 0 to {2**53}",
    ),
    "a saved game with targets that nobody is": (
        lambda game: game.restore(0, tampered(game, "targets", 2**64 - 1)),
        ValueError,
        "the saved game's targets name owners above",
    ),
    "a saved game without older frames": (
        lambda game: game.restore(0, game.save(0)._replace(older_frames=None)),
        ValueError,
        "the saved game's older frames are NoneType",
    ),
    "a saved game with seats that no bot has": (
        lambda game: game.restore(0, tampered(game, "seating", 10**12)),
        ValueError,
        "the seats of the saved game hold the code 1000000000000",
    ),
    "an owner board of floats": (
        lambda game: game.set_position(0, SPACIOUS * 1.0),
        TypeError,
        "owner has dtype float64",
    ),
    "seeds that are one seed": (lambda game: game.reset(seeds=5), TypeError, "seeds is 5"),
    "launches that are no list": (lambda game: game.tick(0, None), TypeError, "launches is None"),
    "pools in a list": (
        lambda game: game.set_position(0, SPACIOUS, pools=[1]),
        TypeError,
        r"pools is \[1\]",
    ),
    "ragged actions": (lambda game: game.step([[1], [1, 2]]), ValueError, "actions is not an array"),
    "a field that there is not": (
        lambda game: game.state.gold,
        AttributeError,
        "no field 'gold'; it has future, seed, tick",
    ),
    "a field replaced": (
        lambda game: setattr(game.state, "troops", 5),
        AttributeError,
        "state.troops cannot be replaced",
    ),
    "a position with more troops than can be": (
        lambda game: game.set_position(0, SPACIOUS, troops=[LARGEST_TROOPS + 1, 1, 1, 1]),
        ValueError,
        rf"{LARGEST_TROOPS + 1}.* 0 to {LARGEST_TROOPS}",
    ),
    "a position with a larger pool than can be": (
        lambda game: game.set_position(0, SPACIOUS, pools={(1, 2): LARGEST_TROOPS + 1}),
        ValueError,
        rf"{LARGEST_TROOPS + 1}.* 0 to {LARGEST_TROOPS}",
    ),
    "a position of another size": (
        lambda game: game.set_position(0, np.zeros((24, 31), int)),
        ValueError,
        r"owner has shape \(24, 31\); it must be \(24, 30\)",
    ),
    "a position with an owner too large": (
        lambda game: game.set_position(0, SPACIOUS + 5),
        ValueError,
        r"owner\[0, 0\] is 5; it must be 0 to 4, or 255",
    ),
    "a position with an owner below 0": (
        lambda game: game.set_position(0, SPACIOUS - 1),
        ValueError,
        r"owner\[0, 0\] is -1",
    ),
    "a position with too few balances": (
        lambda game: game.set_position(0, SPACIOUS, troops=[1, 2]),
        ValueError,
        r"troops has shape \(2,\); it must be \(4,\)",
    ),
    "a position with too many peaks": (
        lambda game: game.set_position(0, SPACIOUS, peak=[1] * 5),
        ValueError,
        r"peak has shape \(5,\)",
    ),
    "a position with a pool against oneself": (
        lambda game: game.set_position(0, SPACIOUS, pools={(2, 2): 5}),
        ValueError,
        r"pools\[\(2, 2\)\] is 5",
    ),
    "a position with a pool of seat 0": (
        lambda game: game.set_position(0, SPACIOUS, pools={(0, 2): 5}),
        ValueError,
        r"pools\[\(0, 2\)\] = 5",
    ),
    "a position with a negative pool": (
        lambda game: game.set_position(0, SPACIOUS, pools={(1, 2): -5}),
        ValueError,
        r"pools\[\(1, 2\)\] = -5",
    ),
    "a position with a balance below 0": (
        lambda game: game.set_position(0, SPACIOUS, troops=[-1, 1, 1, 1]),
        ValueError,
        "troops",
    ),
    "a position with a balance that is no whole number": (
        lambda game: game.set_position(0, SPACIOUS, troops=[0.5, 1, 1, 1]),
        (TypeError, ValueError),
        "troops",
    ),
    "a position with a pool that is no whole number": (
        lambda game: game.set_position(0, SPACIOUS, pools={(1, 2): 0.5}),
        (TypeError, ValueError),
        "pools",
    ),
    "a position at a tick below 0": (
        lambda game: game.set_position(0, SPACIOUS, tick=-1),
        ValueError,
        "tick",
    ),
    "a position without land": (
        lambda game: game.set_position(0, SPACIOUS + 255),
        ValueError,
        "land",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_says_what_is_wrong_and_changes_nothing(call, error, message):
    game, twin = new_game(3, seats=None), new_game(3, seats=None)
    for _ in range(2):
        game.step(hold=True)
        twin.step(hold=True)
    before = digests(game)
    with pytest.raises(error, match=message):
        call(game)
    assert digests(game) == before
    for _ in range(60):
        game.step(hold=True)
        twin.step(hold=True)
        assert digests(game) == digests(twin), "and it goes on as if nothing had happened"
    game.reset()
    twin.reset()
    assert digests(game) == digests(twin)


BAD_BATCHES = {
    "no config": (
        lambda: VecGame("lakes"),
        TypeError,
        "config is 'lakes'; it must be a territorial.GameConfig",
    ),
    "no games": (lambda: VecGame(CONFIG, 0), ValueError, "num_games is 0; it must be a whole number from 1"),
    "half a game": (lambda: VecGame(CONFIG, 0.5), TypeError, "num_games is 0.5"),
    "true games": (lambda: VecGame(CONFIG, True), TypeError, "num_games is True"),
    "no threads": (lambda: VecGame(CONFIG, num_threads=0), ValueError, "num_threads is 0"),
    "frames below 0": (lambda: VecGame(CONFIG, frames=-1), ValueError, "frames is -1"),
    "more frames than there can be": (lambda: VecGame(CONFIG, frames=17), ValueError, "frames is 17"),
    "frames that are True": (lambda: VecGame(CONFIG, frames=True), TypeError, "frames is True"),
    "a seed below 0": (lambda: VecGame(CONFIG, seed=-1), ValueError, "seed is -1"),
    "too few seats": (lambda: VecGame(CONFIG, seats=["agent"]), ValueError, "seats has 1 entries"),
    "an unknown autoreset": (
        lambda: VecGame(CONFIG, autoreset="later"),
        ValueError,
        "autoreset is 'later'; it must be one of same_step, next_step, disabled",
    ),
    "an unknown end": (
        lambda: VecGame(CONFIG, end_when="never"),
        ValueError,
        "end_when is 'never'; it must be one of game, no_agents",
    ),
    "an end without agents": (
        lambda: VecGame(CONFIG, seats=BOTS, end_when="no_agents"),
        ValueError,
        'no seat is called "agent"',
    ),
    "land in two parts": (
        lambda: VecGame(
            GameConfig.for_map(LandMask.from_text("\n".join(["." * 8 + "#" + "." * 8] * 16)), num_players=2)
        ),
        ValueError,
        r"2 regions, the second beginning at row 0, column 9; .*largest_region\(mask\)",
    ),
    "more spawns than fit on an open map": (
        lambda: VecGame(GameConfig(height=16, width=16, num_players=21, map="open")),
        ValueError,
        "spawns fit",
    ),
    "more spawns than fit on land of one's own": (
        lambda: VecGame(
            GameConfig.for_map(
                LandMask.from_text("\n".join(["." * 8 + "#" * 12] * 4 + ["#" * 20] * 12)), num_players=3
            )
        ),
        ValueError,
        "spawns fit",
    ),
    "spawns that fit on one map of a bank only": (
        lambda: VecGame(GameConfig(height=16, width=16, num_players=16, map="mountains", num_maps=5)),
        ValueError,
        "spawns fit",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), BAD_BATCHES.values(), ids=BAD_BATCHES)
def test_a_batch_that_cannot_be_says_why(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_game_that_ends_without_agents_keeps_an_agent():
    game = new_game(2, seats=("agent", *BOTS[:3]), end_when="no_agents")
    with pytest.raises(ValueError, match='no seat is called "agent"'):
        game.set_seats(0, BOTS)
    game.reset()
    assert game.seats_of(0) == ("agent", *BOTS[:3])


@pytest.mark.parametrize(
    "call",
    [
        lambda game: game.step(),
        lambda game: game.tick(0),
        lambda game: game.digest(0),
        lambda game: game.save(0),
        lambda game: game.pairs([0], [1]),
        lambda game: game.fronts(0),
        lambda game: game.set_position(0, SPACIOUS),
    ],
)
def test_nothing_can_be_played_before_the_first_reset(call):
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        call(VecGame(CONFIG))


# What changes the games, or looks at more of them than one view.
SHARED = {
    "step()": lambda game: game.step(),
    "step() = ": lambda game: game.step_unchecked(),
    "set_next_game()": lambda game: game.set_next_game(0, seed=3),
    "set_seats()": lambda game: game.set_seats(0, BOTS),
    "seats_of()": lambda game: game.seats_of(0),
    "max_cycles": lambda game: game.max_cycles,
    "max_cycles = ": lambda game: setattr(game, "max_cycles", 7),
    "state.owner": lambda game: game.state.owner,
    "maps": lambda game: game.maps,
    "land()": lambda game: game.land(0),
    "terrain()": lambda game: game.terrain(0),
    "terrain_name()": lambda game: game.terrain_name(0),
    "clone()": lambda game: game.clone(),
    "copying": lambda game: pickle.dumps(game),
}


@pytest.mark.parametrize("name", SHARED)
def test_whatever_looks_at_the_games_is_refused_to_a_second_thread(name):
    game = new_game()
    with ThreadPoolExecutor(1) as other:
        other.submit(game._calls.lock.acquire).result()  # as another thread's step would hold it
        refused = name.removesuffix(" = ").replace("(", r"\(").replace(")", r"\)")
        with pytest.raises(RuntimeError, match=f"^{refused} was refused because another thread is using"):
            SHARED[name](game)
        other.submit(game._calls.lock.release).result()
    SHARED[name](game)


def test_what_may_look_at_a_batch_may_do_so_within_a_call():
    seen = []

    def look(view):
        seen.append((game.seats_of(0)[0], game.max_cycles, int(game.state.owner[0, 0, 0])))
        return HOLD_ALL, 1

    game = begun(VecGame(CONFIG, seats=[python_bot(look, "looking"), *BOTS[:3]]))
    game.step()
    assert ("looking", None, 255) in seen


def test_a_game_between_two_decisions_takes_no_actions_and_no_launches():
    game = new_game(seats=None)
    game.tick(0, [(1, 0, 100)])
    before = digests(game)
    with pytest.raises(ValueError, match=r"game 0 is at tick 1, between two decisions"):
        game.step(np.zeros((3, 4, 2), int))
    with pytest.raises(ValueError, match=r"game 0 is at tick 1, between two decisions"):
        game.step_unchecked()
    with pytest.raises(ValueError, match=r"launches are at tick 1 of game 0; .* a multiple of 10"):
        game.tick(0, [(1, 0, 100)])
    assert digests(game) == before
    game.step(hold=True)
    game.step(np.zeros((3, 4, 2), int))
    assert game.state.tick.tolist() == [20, 20, 20]


# ---- parts of rewards --------------------------------------------------------------------------------


SMALL = GameConfig(height=24, width=24, num_players=5, max_ticks=900, map="lakes")
EVERYTHING = {name: 0.25 * (i + 1) for i, name in enumerate(NAMES)}


def test_the_reward_is_the_weighted_sum_of_its_parts():
    """What each part is worth is compared with the twin, in test_differential.py."""
    game = begun(VecGame(SMALL.replace(rewards=EVERYTHING), 3, seed=4, autoreset="disabled", observe=False))
    rng, seen = np.random.default_rng(0), dict.fromkeys(NAMES, 0)
    for _ in range(90):
        _, rewards, _, _, info = game.step(random_actions(game, rng, 0.7))
        total = sum(weight * info[f"reward_{name}"] for name, weight in EVERYTHING.items())
        np.testing.assert_allclose(rewards, total, atol=1e-5)
        for name in NAMES:
            seen[name] += np.count_nonzero(info[f"reward_{name}"])
    assert min(seen.values()) >= 1, seen


def test_the_default_is_land_and_placement_and_games_do_not_depend_on_it():
    default, other = (VecGame(config, 2, seed=1) for config in (SMALL, SMALL.replace(rewards={"kills": 1})))
    default.reset()
    _, rewards, _, _, info = default.step(hold=True)
    assert np.array_equal(rewards, (info["reward_land"] + info["reward_placement"]).astype(np.float32))
    assert SMALL.rewards == DEFAULT
    assert SMALL.hexdigest == other.config.hexdigest
    other.reset()
    other.restore(0, default.save(0))
    assert other.digest(0) == default.digest(0)


def test_whoever_took_most_of_the_dead_is_credited_and_equals_share():
    drawing = rows_of("11111333333322222", *["11111333333322222"] * 14, "#" * 17)
    config = {"rewards": {"kills": 1, "kills_zero_sum": 1}, "decision_every": 50, "death_divisor": 2}
    game = game_on(drawing, troops=[9000, 9000, 1], **config)
    launches = np.zeros((1, 3, 2), np.int64)
    launches[0, 0] = [
        4,
        9,
    ]  # the third seat is the second of the others to the first, the first to the second
    launches[0, 1] = [3, 9]
    _, rewards, terminated, _, info = game.step(launches)
    assert terminated[0].tolist() == [False, False, True], board(game)
    taken = game.state.taken[0]
    assert taken[1, 3] == taken[2, 3] > 0
    assert info["reward_kills"][0].tolist() == [0.5, 0.5, 0]
    np.testing.assert_allclose(info["reward_kills_zero_sum"][0], [1 / 6, 1 / 6, -1 / 3], atol=1e-6)
    assert rewards[0, 0] == pytest.approx(0.5 + 1 / 6)


def test_without_any_part_all_rewards_are_zero():
    game = begun(VecGame(SMALL.replace(rewards={}), 1, autoreset="disabled"))
    _, rewards, _, _, info = game.step(hold=True)
    assert not rewards.any()
    assert not [name for name in info if name.startswith("reward")]


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({"kills": 2, "land": 1}, (("land", 1.0), ("kills", 2.0))),
        ("kills=2, land", (("land", 1.0), ("kills", 2.0))),
        ([["land_zero_sum", 0.5]], (("land_zero_sum", 0.5),)),
        ("", ()),
    ],
)
def test_weights_may_be_a_mapping_pairs_or_a_text(given, weights):
    config = GameConfig(rewards=given)
    assert config.rewards == weights == checked_rewards(weights)
    assert hash(config) == hash(GameConfig(rewards=weights))
