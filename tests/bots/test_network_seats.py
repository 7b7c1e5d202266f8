"""Networks play seats: by path, in any batch, the same bits everywhere, saved, restored and replayed."""

import copy
import multiprocessing
import pickle
import sys
from pathlib import Path
from weakref import WeakSet

import numpy as np
import pytest

import territorial
from territorial.bots import Network, Style
from territorial.bots.network import MOST_SEATS, Rows
from territorial.bots.network_file import NetworkError
from territorial.constants import FRACTIONS
from territorial.engine.players import ROOM
from territorial.jit.decorators import JIT_ENABLED
from territorial.observation.action_encoding import owner_of_target
from tests.bots.networks import THERE, named, random_file
from tests.episodes import advance, after_steps, begun
from tests.twin import networks as twin

CONFIG = territorial.GameConfig(height=40, width=40, num_players=4, max_ticks=1500)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return random_file(
        tmp_path_factory.mktemp("nets") / "one.safetensors", 1, interval=30, temperature=4000
    ).path


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> Path:
    return random_file(tmp_path_factory.mktemp("nets") / "two", 2, interval=50, candidate_width=16).path


def batch(seats, **options) -> territorial.VecGame:
    return begun(
        territorial.VecGame(CONFIG, **{"num_games": 3, "seed": 5, "observe": False} | options, seats=seats)
    )


def digests(game, steps: int = 60) -> list[bytes]:
    advance(game, steps)
    return [game.digest(k) for k in range(game.num_games)]


def put_digests(game, found) -> None:
    found.put(digests(game))


def test_a_text_and_a_network_are_the_same_seat(path, other):
    by_text = batch([f"net:{path}", "banker", f"net:{other}", f"net:{path}"])
    by_bot = batch([Network(path), "banker", Network(other), Network(path)])
    assert by_text.seats_of(0) == by_bot.seats_of(0)
    first = by_text.seats_of(0)[0]
    assert first.startswith("net:")
    assert first.endswith(f"@{Network(path).digest[:8]}")
    assert len(first) <= 64
    assert digests(by_text) == digests(by_bot)


def test_the_same_bits_on_any_number_of_threads_and_in_any_batch(path, other):
    seats = [f"net:{path}", f"net:{other}", "turtle", f"net:{path}"]
    alone = batch(seats, num_games=8)
    assert digests(alone) == digests(batch(seats, num_games=8, num_threads=3))
    among_others = batch([f"net:{other}"] * 4, num_games=8)
    for k in range(8):
        among_others.set_seats(k, seats)
    among_others.reset(seeds=[int(seed) for seed in alone.state.seed.reshape(8, -1)[:, 0]])
    assert digests(alone, 0) == digests(among_others)


def test_a_network_decides_once_for_its_seats_in_all_games(path, other):
    every_step = [Network(path, interval=10), Network(other, interval=10)]
    for games, networks, seats in ((1, 1, 4), (2, 1, 8), (3, 2, 6), (3, 1, 4), (9, 2, 2)):
        game = batch([*every_step[:networks] * 4][:4], num_games=games)
        digests(game, 2)  # all have had their first turn by now
        assert game._calls.network_works[0].scratch.num_seats[0] == seats  # of the last that decided


def test_more_seats_than_wait_at_once_decide_as_in_smaller_batches(path, other):
    seats = [Network(path, interval=10), Network(other, interval=10), "banker", Network(path, interval=20)]
    games = MOST_SEATS // 2
    found = digests(begun(batch(seats, num_games=games), seeds=range(games)), 6)
    for first in range(0, games, games // 2):
        part = begun(batch(seats, num_games=games // 2), seeds=range(first, first + games // 2))
        assert digests(part, 6) == found[first : first + games // 2]


def test_networks_decide_in_every_decision_of_a_call(path, other):
    seats = [Network(path, interval=10), f"net:{other}", "turtle", f"net:{path}"]
    for threads in (1, 2):
        game = batch(seats, num_threads=threads, autoreset="disabled")
        for _ in range(12):
            game.step(repeat=5)
        assert digests(game, 0) == digests(batch(seats, autoreset="disabled"))


def test_a_call_that_was_interrupted_while_networks_decided_leaves_nothing_behind(path):
    game = batch([f"net:{path}", "banker", "novice", "banker"])
    digests(game, 5)
    game._arrays.call.asks[0] = True
    assert digests(game, 10) == digests(batch([f"net:{path}", "banker", "novice", "banker"]), 15)
    without = batch(["novice", "banker", "novice", "banker"])
    without._arrays.call.asks[0] = True
    without._calls.record(np.ones(3, np.bool_))  # makes other compiled calls
    assert digests(without, 10) == digests(batch(["novice", "banker", "novice", "banker"]), 10)


def test_decisions_in_games_are_those_of_the_reference_implementation(path):
    game, net, made = batch([f"net:{path}"] * 4, num_games=2), twin.parse(path.read_bytes()), 0
    for _ in range(80):
        state = game.state
        is_asked = (state.alive[:, 1:] != 0) & (state.wake[:, 1:] <= state.tick[:, None])
        games, seats = np.nonzero(is_asked & (state.over[:, None] == 0))
        seen = game.pairs(games, seats + 1, 8, "int16")
        rows = Rows(seen.own, seen.pairs, (seen.pairs[:, :, THERE] > 0).sum(1))
        wanted = {}
        for i, (k, p) in enumerate(zip(games.tolist(), (seats + 1).tolist(), strict=True)):
            about = {"seed": int(state.seed[k]), "tick": int(state.tick[k]), "player": p}
            chosen = twin.decide(net, *named(rows, i), **about)
            made += chosen is not None
            target = -1 if chosen is None else owner_of_target(int(seen.targets[i, chosen[0]]), p, 4)
            wanted[k, p] = target, 0 if chosen is None else FRACTIONS[chosen[1]]
        game.step()
        target, fraction, _ = game.launches()
        for (k, p), launch in wanted.items():
            assert (target[k, p - 1], fraction[k, p - 1]) == launch
    assert made > 20


def test_saved_games_and_pickles_go_on_alike_by_path_and_digest(path, other, tmp_path):
    game = batch([f"net:{path}", "banker", f"net:{other}", "novice"])
    digests(game, 20)
    copies = [pickle.loads(pickle.dumps(game)), copy.deepcopy(game)]
    saved = pickle.loads(pickle.dumps(game.save(1)))
    assert len(pickle.dumps(Network(path))) < 1000
    elsewhere = batch([f"net:{other}"] * 4)
    elsewhere.restore(2, saved)
    wanted = digests(game, 30)
    assert [digests(copied, 30) for copied in copies] == [wanted, wanted]
    assert digests(elsewhere, 30)[2] == wanted[1]


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_a_batch_with_networks_goes_on_in_another_process(path, other, start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform cannot {start}")
    game = batch([f"net:{path}", "banker", f"net:{other}", "novice"])
    game.step()
    context = multiprocessing.get_context(start)
    found = context.SimpleQueue()
    process = context.Process(target=put_digests, args=(game, found))  # a fork has the addresses, too
    process.start()
    there = found.get()
    process.join()
    assert there == digests(copy.deepcopy(game)) == digests(game)


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_only_a_batch_that_gets_a_network_needs_the_kernel_that_asks_it(path):
    game = batch(["novice", "banker", "novice", "banker"])
    game.step()
    assert (game._calls.batch(0).entries != 0).tolist() == [True, False]
    game.set_seats(0, [f"net:{path}", "banker", "novice", "banker"])
    game.step()
    assert (game._calls.batch(0).entries != 0).all()


def test_a_pickle_whose_file_has_changed_or_gone_is_refused(path, tmp_path):
    mine = tmp_path / "mine"
    mine.write_bytes(path.read_bytes())
    data = pickle.dumps(Network(mine))
    assert pickle.loads(data) == Network(mine)
    random_file(mine, 3)
    with pytest.raises(NetworkError, match=r"the network was saved with "):
        pickle.loads(data)
    mine.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)


def test_temperature_and_interval_may_differ_from_those_of_the_file(path):
    sharp = Network(path, temperature=0, interval=70)
    assert (sharp.temperature, sharp.interval) == (0, 70)
    assert sharp.name.endswith(",t=0,every=70")
    assert len(sharp.name) <= 64
    assert sharp != Network(path)
    assert sharp == Network(path, temperature=0.0, interval=70)
    game = batch([sharp, Network(path), "banker", "banker"])
    assert len(set(game.seats_of(0))) == 3
    digests(game, 5)
    assert game.state.memory[0, 1:3, 0].tolist() == [70, 30]


def test_names_of_a_batch_can_be_used_again_and_name_a_digest_elsewhere(path):
    game = batch([f"net:{path}", "banker", "novice", "banker"])
    game.set_seats(0, game.seats_of(0)[::-1])
    named = f"net:{path}@{Network(path).digest[:8]}"
    assert batch([named] * 4).seats_of(0) == batch([f"net:{path}"] * 4).seats_of(0)
    with pytest.raises(NetworkError, match="which is not that of"):
        batch([f"net:{path}@00000000"] * 4)


def test_a_bad_file_is_refused_by_its_seat(tmp_path):
    with pytest.raises(
        ValueError, match=r"seats\[1\] is 'net:.*nothing', whose file cannot be read: No such file"
    ):
        batch(["banker", f"net:{tmp_path / 'nothing'}", "banker", "banker"])
    (tmp_path / "bad").write_bytes(b"12345678")
    with pytest.raises(NetworkError, match="bad: it is not a safetensors file of a network"):
        territorial.make_vec(
            2, height=32, width=32, num_players=2, seats=["agent", f"net:{tmp_path / 'bad'}"]
        )


def test_a_network_that_plays_stays_the_same_whatever_becomes_of_its_file(path, other, tmp_path):
    expected, mine = digests(batch([f"net:{path}", "banker", "novice", "novice"])), tmp_path / "mine"
    mine.write_bytes(path.read_bytes())
    for changed in (bytes(mine.stat().st_size), other.read_bytes(), b""):  # written into it, as cp does
        mine.write_bytes(path.read_bytes())
        network = Network(mine)
        game = batch([network, "banker", "novice", "novice"])
        mine.write_bytes(changed)
        assert (digests(game), network.digest) == (expected, Network(path).digest)


@pytest.mark.verify
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much memory is a process's own")
def test_three_hundred_mapped_files_take_no_memory_of_their_own(path, tmp_path):
    standard = random_file(tmp_path / "0", 0, candidate_width=64, context_width=128).path
    for number in range(1, 300):
        (tmp_path / str(number)).write_bytes(standard.read_bytes())
    game = batch([f"net:{standard}", "banker", "novice", "novice"], num_games=1)
    before, networks = anonymous_memory(), []
    for number in range(300):
        networks.append(Network(tmp_path / str(number), is_mapped=True))
        game.set_seats(0, [networks[-1], "banker", "novice", "novice"])
    assert len({network.path for network in networks}) == 300
    assert anonymous_memory() - before < 300 * standard.stat().st_size / 2


def test_a_batch_holds_the_networks_that_have_a_seat_however_many_come_and_go(path, tmp_path):
    sizes = {"candidate_width": 16, "context_width": 16}
    game, held = batch([f"net:{path}", "banker", "novice", "novice"], num_games=2), WeakSet()
    game.reset()
    first = game.seats_of(0)[0]
    game.set_seats(1, [Style(name="mine-1", interval=50), *["novice"] * 3])
    for number in range(3 * ROOM):
        network = Network(random_file(tmp_path / str(number), number, **sizes).path)
        held.add(network)
        game.set_seats(1, [network, "banker", "novice", "novice"])
        if number % 12 == 0:
            game.reset_game(1)
            assert game.seats_of(1)[0] == network.name
            game.step()
        assert game.seats_of(0)[0] == first
    del network
    assert len(game._players.bots) == len(game._players.table.networks) == ROOM
    assert len(held) < ROOM
    game.set_seats(1, ["mine-1", "banker", "novice", "novice"])  # what has no file keeps its name


def test_a_network_in_the_row_of_another_plays_as_it_would_alone(path, tmp_path):
    sizes = {"candidate_width": 16, "context_width": 16}
    game = batch([f"net:{path}", "banker", "novice", "novice"], num_games=1)
    alone = batch(["banker", "banker", "novice", "novice"], num_games=1)
    game.reset()
    for number in range(ROOM + 3):
        last = Network(random_file(tmp_path / str(number), number, **sizes).path, interval=10)
        game.set_seats(0, [last, "banker", "novice", "novice"])
    alone.set_seats(0, [last, "banker", "novice", "novice"])
    for one in (game, alone):
        after_steps(one, 30, seed=5)
    assert game.digest(0) == alone.digest(0)


def anonymous_memory() -> int:
    """Return the bytes of this process that are no file's and no other process's."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Anonymous:"))
