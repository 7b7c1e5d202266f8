"""Recording: whatever is played, by whom and how, gives a replay that plays out the same."""

import pickle

import numpy as np
import pytest

from territorial import GameConfig, LandMask, Recorder, Replay, VecGame, parallel_env
from territorial.constants import STREAM_EPISODE
from territorial.engine.recording import LOG_STEPS, NO_OBSERVER
from territorial.replay import Checkpoint, ReplayError
from tests.episodes import advance, begun
from tests.episodes import random_actions as legal_actions
from tests.replay.support import (
    BOTS,
    SMALL,
    random_actions,
    random_setting,
    recorded_game,
    same_replay,
)
from tests.twin.rng import H

COUNTS = ("illegal", "raised", "bounced", "taken", "ledger", "doubled_place", "fronts", "death_tick")


class Shelf:
    """A destination that keeps what it is given."""

    def __init__(self):
        self.replays = []

    def __call__(self, k, replay):
        self.replays.append((k, replay))

    def of(self, k):
        return [replay for game, replay in self.replays if game == k]

    def verify(self):
        """Assert that all play out as recorded, read from their files."""
        for _, replay in self.replays:
            Replay.from_bytes(replay.to_bytes()).verify()


def play_random_game(rng):
    """Play a random game with random actions, for a while or to its end; return it and its replay."""
    config, seats = random_setting(rng)
    game = VecGame(config, 1, int(rng.integers(2**63)), seats=seats, autoreset="disabled", observe=False)
    recorder = Recorder(game, checkpoint_every=int(rng.integers(1, 300)))
    game.reset()
    share = rng.random()
    for _ in range(int(rng.integers(1, 120))):
        game.step(random_actions(game, rng, share))
        if game.state.over[0]:
            break
    return game, recorder.replay()


def check(game, replay, k=0):
    """Assert that a replay is that of game ``k`` as it stands: read from a file, played again, verified."""
    read = Replay.from_bytes(replay.to_bytes())
    read.verify()
    again = read.seek(read.num_ticks)
    assert again.digest(0) == game.digest(k) == read.digest
    for name in COUNTS:
        values = game.blocks.ledger[k] if name == "ledger" else getattr(game.state, name)[k]
        found = again.blocks.ledger[0] if name == "ledger" else getattr(again.state, name)[0]
        assert np.array_equal(found, values), name
    assert (read.is_over, read.num_ticks) == (bool(game.state.over[k]), game.state.tick[k])


# ---- the same game again ---------------------------------------------------------------------------


def test_random_games_of_random_sizes_are_recorded_and_verified():
    launches, odd = [], np.zeros(2, int)
    for seed in range(40):
        game, replay = play_random_game(np.random.default_rng(seed))
        check(game, replay)
        launches.append(len(replay.launches))
        odd += game.state.illegal[0].sum(), game.state.raised[0].sum()
    assert np.median(launches) > 10
    assert odd.min() > 50, "launches that are not legal, and those of too few troops"


def test_a_batch_without_a_recorder_logs_nothing():
    game = VecGame(SMALL, 3, seats=BOTS)
    assert sum(array.nbytes for array in game._calls.launch_log) == game._calls.launch_log.slots.nbytes
    recorder = Recorder(game)
    assert sum(array.nbytes for array in game._calls.launch_log) > 3 * LOG_STEPS * 4 * 16
    recorder.close()
    game.reset()
    game.step()
    assert sum(array.nbytes for array in game._calls.launch_log) == game._calls.launch_log.slots.nbytes


# ---- batches ---------------------------------------------------------------------------------------


def test_every_game_of_a_batch_gives_one_replay():
    shelf, ends = Shelf(), np.zeros(6, int)
    game = VecGame(SMALL, 6, seed=5, num_threads=2, seats=BOTS, observe=False)
    with Recorder(game, shelf, checkpoint_every=100) as recorder:
        game.reset()
        expected = {k: [] for k in range(6)}
        for _ in range(250):
            seeds = game.state.seed.copy()
            info = game.step()[-1]
            for k in np.flatnonzero(info["ended"]).tolist():
                ends[k] += 1
                expected[k].append((int(seeds[k]), int(info["final_length"][k]), True))
        assert [len(shelf.of(k)) for k in range(6)] == ends.tolist()
        going_on = [recorder.replay(k) for k in range(6)]
    assert ends.min() >= 2
    for k in range(6):
        finished, last = shelf.of(k)[:-1], shelf.of(k)[-1]
        assert [(replay.seed, replay.num_ticks, replay.is_over) for replay in finished] == expected[k]
        assert same_replay(last, going_on[k])
        assert not last.is_over
        for replay in shelf.of(k):
            alone = recorded_game(seed=replay.seed, steps=-(-replay.num_ticks // 10), checkpoint_every=100)[1]
            assert same_replay(replay, alone)
            replay.verify()


def test_a_folder_gets_a_file_for_every_game(tmp_path):
    folder, game = tmp_path / "a" / "b", VecGame(SMALL, 3, seats=BOTS, observe=False)
    with Recorder(begun(game), folder, games=[0, 2]):
        advance(game, 100)
    replays = [Replay.load(path) for path in folder.iterdir()]
    assert len(replays) >= 4
    for path, replay in zip(folder.iterdir(), replays, strict=True):
        assert path.name == f"{replay.seed:016x}-{replay.digest.hex()}.replay"
        replay.verify()
    seeds = {H(0, STREAM_EPISODE, k, episode) for k in (0, 2) for episode in range(9)}
    assert {replay.seed for replay in replays} <= seeds


def test_the_log_is_emptied_before_it_is_full():
    """All seats launch in every step of a game that is longer than its log."""
    rng = np.random.default_rng(0)
    config = SMALL.replace(deaths=False, win_percent=100, decision_every=1, max_ticks=3 * LOG_STEPS + 5)
    game = begun(VecGame(config, 2, autoreset="disabled", observe=False))
    recorder = Recorder(game)
    everybody = 1 + rng.integers(0, 5, (3 * LOG_STEPS + 5, 2, 4))
    for what in everybody:
        game.step(np.stack([what, np.zeros_like(what)], axis=-1))
    for k in range(2):
        assert len(recorder.replay(k).launches) == 4 * len(everybody)
        check(game, recorder.replay(k), k)


def test_a_game_left_by_its_agents_is_not_over():
    shelf, left = Shelf(), 0
    game = VecGame(SMALL, 4, 1, seats=("agent", *BOTS[1:]), end_when="no_agents", observe=False)
    Recorder(begun(game), shelf)
    for _ in range(300):
        info = game.step(hold=True)[-1]
        left += int((info["was_reset"] & ~info["ended"]).sum())
    assert left > 0
    assert sum(not replay.is_over for _, replay in shelf.replays) == left
    shelf.verify()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"num_maps": 0}, "lakes"),
        ({"map": "2*mountains + lakes"}, "2*mountains + lakes"),
        ({"map": "mountains", "num_maps": 5, "map_seed": 2**64 - 2}, "mountains"),
    ],
)
def test_games_with_maps_of_their_own_are_recorded_with_them(changes, kind):
    shelf = Shelf()
    game = VecGame(SMALL.replace(map="lakes", max_ticks=200).replace(**changes), 6, seats=BOTS, observe=False)
    with Recorder(begun(game), shelf):
        lands = [game.land(k) for k in range(6)]
        terrains = [game.terrain_name(k) for k in range(6)]
        advance(game, 30)
    assert len({land.hexdigest for land in lands}) > 1
    shelf.verify()
    first = [shelf.of(k)[0] for k in range(6)]
    assert [(one.land, one.terrain) for one in first] == list(zip(lands, terrains, strict=True))
    assert {(one.map_kind, one.config.num_maps) for one in first} == {(kind, 1)}


def test_a_map_of_ones_own_is_recorded():
    land = LandMask.from_text("\n".join(["." * 20] * 10 + ["#" * 10 + "." * 10] * 10))
    _, replay = recorded_game(GameConfig.for_map(land, num_players=4, max_ticks=300))
    assert replay.config == GameConfig.for_map(land, num_players=4, max_ticks=300)
    assert (replay.map_kind, replay.terrain, replay.num_land) == (None, "water", 300)
    Replay.from_bytes(replay.to_bytes()).verify()


# ---- other ways to play ----------------------------------------------------------------------------


def test_ticks_and_plays_are_recorded_like_steps():
    rng = np.random.default_rng(1)
    game = begun(VecGame(SMALL, 1, seats=("agent", *BOTS[1:]), autoreset="disabled"))
    recorder = Recorder(game, checkpoint_every=7)
    for _ in range(12):
        game.step(legal_actions(game, rng))
        game.tick(0, [(3, 0, 500), (1, 0, 20), (1, 0, 30)])
        for _ in range(int(rng.integers(0, 9))):
            game.tick(0)
        game.step()  # to the next decision
        now = int(game.state.tick[0])
        game.play(0, [(now, 2, 0, 100), (now + 10, 1, 0, 64), (now + 10, 1, 2, 64)], now + 13)
        game.step()
        assert game.state.tick[0] % 10 == 0
    check(game, recorder.replay())
    assert len(recorder.replay().checkpoints) > 12


def test_a_game_that_ends_with_a_tick_gives_its_replay():
    shelf, game = Shelf(), VecGame(SMALL.replace(max_ticks=25), 2, seats=BOTS)
    Recorder(begun(game), shelf)
    game.step()
    for _ in range(15):
        game.tick(1)
    ((k, replay),) = shelf.replays
    assert (k, replay.num_ticks, replay.is_over) == (1, 25, True)
    replay.verify()


def test_an_environment_is_recorded():
    shelf = Shelf()
    env = parallel_env(config=SMALL, seats=("agent", "agent", "turtle", "banker"), max_cycles=30)
    with Recorder(env.game, shelf):
        for seed in (1, 2):
            env.reset(seed=seed)
            while env.agents:
                env.step(dict.fromkeys(env.agents, 5))
        last = env.game.digest(0)
    lengths = [(replay.num_ticks, replay.is_over) for _, replay in shelf.replays]
    assert lengths == [(300, False)] * 2, "cut by max_cycles"
    assert shelf.replays[-1][1].digest == last
    assert shelf.replays[0][1].names == ("player_0", "player_1", "turtle", "banker")
    shelf.verify()


# ---- what is not recorded --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["set_position", "restore", "it came too late"])
def test_a_game_put_elsewhere_gives_no_replay_but_the_next_one_does(how):
    shelf, game = Shelf(), begun(VecGame(SMALL, 2, seats=BOTS))
    saved = game.save(0)
    if how == "it came too late":
        game.step()
    recorder = Recorder(game, shelf)
    game.step()
    if how == "set_position":
        game.set_position(0, game.state.owner[0, 1:-1, 1:-1].copy())
    elif how == "restore":
        game.restore(0, saved)
    game.step()
    with pytest.raises(ReplayError, match="game 0 is not recorded from its beginning"):
        recorder.replay(0)
    game.reset()
    assert [k for k, _ in shelf.replays] == ([] if how == "it came too late" else [1])
    shelf.verify()
    game.step()
    check(game, recorder.replay(0))


def test_copies_are_not_recorded():
    shelf, game = Shelf(), begun(VecGame(SMALL, 1, seats=BOTS))
    recorder = Recorder(game, shelf)
    game.step()
    for copy in (game.clone(), pickle.loads(pickle.dumps(game))):
        advance(copy, 200)
        Recorder(copy)  # may have one of its own
    assert shelf.replays == []
    game.step()
    check(game, recorder.replay())


def test_a_batch_has_one_recorder_at_a_time():
    game = VecGame(SMALL, 1, seats=BOTS)
    first = Recorder(game)
    with pytest.raises(ValueError, match="close\\(\\) that recorder first"):
        Recorder(game)
    first.close()
    Recorder(game).close()


def test_a_replay_of_no_ticks_is_one():
    game = VecGame(SMALL, 1, seats=BOTS)
    shelf = Shelf()
    with Recorder(game, shelf) as recorder:
        game.reset()
        replay = recorder.replay()
    assert (replay.num_ticks, len(replay.launches), replay.is_over) == (0, 0, False)
    assert replay.checkpoints == (Checkpoint(0, game.digest(0)),)
    Replay.from_bytes(replay.to_bytes()).verify()
    assert [frame.tick for frame in replay.frames()] == [0]
    assert shelf.replays == [], "a game that nobody played is not given out"


# ---- trouble ---------------------------------------------------------------------------------------


def test_a_replay_that_cannot_be_given_out_is_given_out_later():
    shelf, game = Shelf(), VecGame(SMALL.replace(max_ticks=50), 3, seats=BOTS, observe=False)

    def full_disk(k, replay):
        if len(shelf.replays) == 1 and not is_repaired:
            raise OSError("no space left")
        shelf(k, replay)

    is_repaired = False
    recorder = Recorder(begun(game), full_disk)
    advance(game, 4)
    with pytest.raises(OSError, match="no space left"):
        game.step()
    assert (game.state.tick == 0).all(), "the step was played"
    is_repaired = True
    advance(game, 5)
    found = [(k, replay.num_ticks, replay.is_over) for k, replay in shelf.replays]
    assert found == [(k, 50, True) for k in (0, 1, 2)] * 2
    shelf.verify()
    recorder.close()


@pytest.mark.parametrize("is_end_missed", [False, True])
def test_a_step_that_is_interrupted_costs_no_wrong_replay(monkeypatch, is_end_missed):
    """Ctrl-C may come between a step and the recorder."""
    shelf, game = Shelf(), VecGame(SMALL.replace(max_ticks=100), 2, seats=BOTS, observe=False)
    recorder, missed = Recorder(begun(game), shelf, checkpoint_every=20), 10 if is_end_missed else 5
    advance(game, missed - 1)
    with monkeypatch.context() as patch:
        patch.setattr(game, "_observer", NO_OBSERVER)
        game.step()
    advance(game, 30 - missed)
    ends = [(replay.num_ticks, replay.is_over) for _, replay in shelf.replays]
    assert ends == [(100, True)] * (2 if is_end_missed else 6)
    shelf.verify()
    recorder.close()


def test_what_a_callback_asks_of_the_batch_is_answered():
    seen, game = [], begun(VecGame(SMALL.replace(max_ticks=30), 2, seats=BOTS))

    def look(k, replay):
        seen.append((k, game.digest(k), game.save(k).config_digest, recorder.replay(k).num_ticks))

    recorder = Recorder(game, look)
    advance(game, 3)
    assert [(row[0], row[3]) for row in seen] == [(0, 0), (1, 0)]


# ---- arguments -------------------------------------------------------------------------------------


def test_names_may_be_given_for_all_games_or_asked_for_when_one_begins():
    drawn = ["a", "b"]
    game = VecGame(SMALL.replace(num_players=2), 2, seats=("agent", "turtle"))
    recorder = Recorder(game, names=lambda k: [f"{name}{k}" for name in drawn])
    game.reset()
    assert recorder.replay(1).names == ("a1", "b1")
    drawn[0] = "c"
    game.reset()
    assert (recorder.replay(0).names, recorder.replay(0).seats) == (("c0", "b0"), ("agent", "turtle-1"))
    recorder.close()
    recorder = Recorder(game, names=["x", "y"])
    assert recorder.replay(0).names == ("x", "y")


BAD = {
    "names for too few": ({"names": ["a"]}, ValueError, "names must be 4 strings"),
    "a name of control characters": ({"names": ["\n", "b", "c", "d"]}, ValueError, r"names\[0\] is '\\n'"),
    "a game too many": ({"games": [0, 2]}, ValueError, "one of games is 2"),
    "no distance between digests": ({"checkpoint_every": 0}, ValueError, "checkpoint_every is 0"),
}


@pytest.mark.parametrize(("arguments", "error", "message"), BAD.values(), ids=BAD)
def test_arguments_that_cannot_be_are_named(arguments, error, message):
    game = VecGame(SMALL, 2, seats=BOTS)
    with pytest.raises(error, match=message):
        Recorder(game, **arguments)
    Recorder(game).close()


def test_a_game_that_is_not_recorded_is_named():
    recorder = Recorder(VecGame(SMALL, 30, seats=BOTS), games=range(2, 20))
    with pytest.raises(ReplayError, match=r"game 1 is not recorded: this recorder has 2, 3, .* \.\.\."):
        recorder.replay(1)


def test_a_game_that_begins_anew_by_itself_gives_a_replay_and_is_recorded_again():
    shelf = Shelf()
    game = VecGame(SMALL, 3, seats=BOTS, observe=False, autoreset="disabled")
    with Recorder(begun(game, seeds=[1, 2, 3]), shelf):
        advance(game, 5)
        game.reset_game(1, 77)
        assert [(k, replay.seed, replay.is_over) for k, replay in shelf.replays] == [(1, 2, False)]
        advance(game, 7)
        game.reset_game(1)
    ticks = {(k, replay.seed): replay.num_ticks for k, replay in shelf.replays}
    every = SMALL.decision_every
    assert ticks == {(0, 1): 12 * every, (1, 2): 5 * every, (1, 77): 7 * every, (2, 3): 12 * every}
    shelf.verify()
