"""The library of pages, run by another runtime of WebAssembly than browsers: the same games, bit for bit."""

import copy
import ctypes

import numpy as np
import pytest
import wasmtime

import territorial
from territorial.bots import Network
from territorial.browser.page_image import LIBRARY, image_of
from territorial.constants import EXTERNAL_CODE
from territorial.engine import step
from tests.bots.networks import TRAINED
from tests.episodes import begun
from tests.replay.support import random_setting

# The state of a thread that is to begin.
CALLED = 2
OWN = Network(TRAINED / "network.safetensors")


@pytest.fixture(scope="module")
def library():
    if not LIBRARY.exists():
        pytest.skip("there is no library of pages; `python maintainers/machine_code.py native web` makes it")
    config = wasmtime.Config()
    config.wasm_memory64 = True
    engine = wasmtime.Engine(config)
    return engine, wasmtime.Module(engine, LIBRARY.read_bytes())


class GameInPage:
    """A game in the memory of the library, as territorial/browser/page/engine.js plays it."""

    def __init__(self, library, game):
        engine, module = library
        self.about, image = image_of(game)
        self.store = wasmtime.Store(engine)
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        memory = self.exports["memory"]
        memory.grow(self.store, max(0, -(-self.about["size"] // 2**16) - memory.size(self.store)))
        memory.write(self.store, image, self.about["base"])
        place = ctypes.addressof(memory.data_ptr(self.store).contents)
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * self.about["size"]).from_address(place))
        for i, symbol in enumerate(self.about["entries"]):
            at = self.exports[f"{symbol}_address"].value(self.store)
            self.field("entries")[i] = self.bytes[at : at + 8].view(np.int64)[0]

    def field(self, name):
        about = self.about["arrays"][name]
        size = int(np.prod(about["shape"])) * np.dtype(about["dtype"]).itemsize
        return self.bytes[about["at"] : about["at"] + size].view(about["dtype"]).reshape(about["shape"])

    def call(self, kernel):
        call = self.about["calls"][kernel]
        assert self.exports[call["symbol"]](self.store, call["words"]) in (0, -2)

    def step(self, actions):
        self.field("actions")[0] = actions
        for asks in (1, 0) if self.about["has_networks"] else (0,):
            self.field("asks")[0], queues = asks, self.field("queues")[0]
            queues[0] = queues[2]
            self.field("thread_state")[0] = CALLED
            self.call("step_games")


@pytest.mark.parametrize("seed", range(12))
def test_games_are_the_same_bit_for_bit(library, seed):
    rng = np.random.default_rng(seed)
    config, seats = random_setting(rng)
    config = config.replace(teams=[None, 2][seed % 2], handicap=bool(rng.integers(2)), max_ticks=600)
    networks = ["champion", OWN, "upstart"][: min(len(seats), seed % 4)]
    seats[: len(networks)] = networks
    game = begun(
        territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False), seeds=[seed]
    )
    page = GameInPage(library, game)
    while not game.state.over[0]:
        what = rng.integers(0, config.num_players + 1, len(seats))
        actions = np.stack([what, rng.integers(0, 10, len(seats))], axis=1)
        page.step(actions)
        game.step(actions[None])
        if game.state.tick[0] % 50 == 0:  # another player goes on
            seat = int(rng.integers(1, len(seats) + 1))
            game.change_seats(0, {seat: "external"})
            page.field("codes")[:] = -1
            if page.field("seats")[0, seat] != EXTERNAL_CODE:
                page.field("codes")[seat] = EXTERNAL_CODE
            page.call("seat_players")
    page.call("position_of")
    for name in ("tick", "over", "troops", "pools", "alive", "memory", "wake", "doubled_place", "planes"):
        np.testing.assert_array_equal(page.field(name), step.view(game.blocks, name)[:1], err_msg=name)
    assert (page.field("board")[1:-1, 1:-1] == game.state.owner[0, 1:-1, 1:-1]).all()


def test_an_image_takes_nothing_from_its_game(library):
    game = begun(
        territorial.VecGame(territorial.GameConfig(height=32, width=32, num_players=4), 1, seats=[OWN] * 4),
        seeds=[1],
    )
    table = game._players.table.networks.copy()
    alike = copy.deepcopy(game)
    image_of(game)
    np.testing.assert_array_equal(game._players.table.networks, table)
    for one in (game, alike):
        one.step(repeat=20)
    assert game.digest(0) == alike.digest(0)
