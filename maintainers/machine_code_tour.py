"""Calls every kernel in each form in which the package calls it."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any
from unittest.mock import MagicMock

import numpy as np

SMALL: dict[str, Any] = {"height": 32, "width": 32, "num_players": 4}
"""The games of the walk: kernels are the same for every size."""


def walk() -> None:
    """Call every kernel in each form in which the package does."""
    play_games()
    observe()
    decode()
    act()


def play_games() -> None:
    """Play, with networks and bots, on one thread and on two, and with teams."""
    import territorial
    from territorial.bots.network import Rows, choose_for_rows, make_network_scratch

    hold = np.zeros((4, 4, 2), np.int64)
    seats = ["champion-1", "settler", "agent", "agent"]
    for teams in (None, 2):
        config = territorial.GameConfig(**SMALL, teams=teams)
        game = territorial.VecGame(config, 4, seats=seats, num_threads=2)
        game.reset(seed=0)
        game.step(hold)
        game.step(hold, repeat=2)
        game.reset_game(0)
        game.restore(0, game.save(0))
        game.play(0, np.zeros((0, 4), np.int64), 50)
        game.tick(0)
        game.digest(0)
        game.change_seats(0, {1: "agent"})
        game.set_position(0, game.state.owner[0, 1:-1, 1:-1].copy())
        game.copy_again(game.new_copies(), np.array([0]))
        game.pairs([0, 1], [1, 2])
    rows = Rows(np.zeros((0, 35), np.int16), np.zeros((0, 4, 20), np.int16), np.zeros(0, np.int64))
    numbers, logits = np.zeros((0, 2), np.uint64), np.zeros((0, 5, 11), np.int64)
    choose_for_rows(
        game._players.table.networks[0], make_network_scratch(), rows, numbers, hold[0, :0], logits
    )


def observe() -> None:
    """Take steps of environments that show each form, in each format of actions."""
    import territorial
    from territorial.envs.forms import FORMS
    from territorial.observation.action_formats import FORMATS, OF_CANDIDATES

    for form in FORMS:
        for action_format in FORMATS:
            if (action_format in OF_CANDIDATES) != (FORMS[form].action_formats[0] in OF_CANDIDATES):
                continue
            for teams in (None, 2):
                env = territorial.make_vec(2, obs=form, action_format=action_format, teams=teams, **SMALL)
                env.reset(seed=0)
                actions = np.zeros((2, 4, 2) if "multi" in action_format else (2, 4), np.int64)
                env.step(actions)
                env.reset_game(0)
                env.step(actions)
                env.action_masks()
                alone = territorial.parallel_env(obs=form, action_format=action_format, teams=teams, **SMALL)
                alone.reset(seed=0)
                alone.step({agent: alone.action_space(agent).sample() for agent in alone.agents})
                env.restore_all(env.save_all())


def decode() -> None:
    """Decode boards and tables to every type, and keep both in stores."""
    import territorial
    from territorial.decode.numpy import FRACTION_DTYPES, ONEHOT_DTYPES, Decoder
    from territorial.decode.store import FrameStore
    from territorial.decode.table_store import TableStore

    for size in (SMALL, SMALL | {"height": 300, "width": 300}):
        config = territorial.GameConfig(**size)
        game = territorial.VecGame(config, 2)
        seen = game.reset(seed=0)
        decoder, seats = Decoder(game.layout, config), np.array([1, 2])
        tables = seen.players, seen.borders
        decoder.owners(seen.planes, seats)
        for dtype in ONEHOT_DTYPES:
            decoder.onehot(seen.planes, seats, dtype=dtype)
        for dtype in FRACTION_DTYPES:
            decoder.semantic(seen.planes, seats, *tables, dtype=dtype)
            decoder.pooled(seen.planes, seats, *tables, dtype=dtype)
        decoder.features(*tables, seen.globals, seats)
        frames = FrameStore(game.layout, 2)
        for _ in range(3):
            frames.append(seen)
            game.step(np.zeros((2, 4, 2), np.int64))
            seen = game.observations
        frames.planes([0, 1], [2, 2])
    for width in (3, 2**16 + 1):
        rows = TableStore(2, width)
        rows.append(np.ones((2, width), np.float32))
        rows.rows([0], [0])


def act() -> None:
    """Let networks of PyTorch decide and learn, on arrays without entries."""
    sys.meta_path.insert(0, NoTorch())
    from territorial.nets import choice_kernels, owner_conv, pair_kernels, side_by_side

    floats, doubles = (
        {dims: np.zeros((0,) * dims, dtype) for dims in range(1, 6)} for dtype in (np.float32, np.float64)
    )
    places, choices, codes = np.zeros(0, np.int64), np.zeros((0, 2), np.int64), np.zeros((0,) * 4, np.uint8)
    for of in (floats, doubles):
        owner_conv.look_up(False, of[4], codes, of[5], 1, 1)
    choice_kernels.draw_choices(floats[2], places, doubles[2], doubles[1], choices, floats[1])
    layers = np.zeros((pair_kernels.NUM_LAYERS + 1, 6), np.int64)
    scratch = pair_kernels.make_pair_scratch(layers, 0)
    mask = np.zeros((0, 1), np.int8)
    pair_kernels.play_pairs(layers, scratch, floats[2], floats[3], mask, floats[2], floats[1])
    side_by_side.write_products(
        floats[2], places, places, places, floats[2], np.zeros((7, 16), np.float32), floats[2]
    )


class NoTorch(MetaPathFinder, Loader):
    """Imports something without effect as PyTorch: modules with kernels need it, and the kernels do not."""

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        """Return where PyTorch and its modules come from: from here."""
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "torch" else None

    def create_module(self, spec: ModuleSpec) -> Any:
        """Return a module that has everything."""
        return MagicMock(__name__=spec.name)

    def exec_module(self, _module: Any) -> None:
        """Do nothing: it has all that it can have."""
