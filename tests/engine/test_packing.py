"""The packed board, its older frames and the deltas against the packer written from the format alone."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import NAMES
from territorial.constants import BLOCKED, SPAWN_CELLS
from territorial.game.board import CellSet, list_blocks
from territorial.game.scratch import note_changes
from territorial.observation.layout import NEW_GAME, NOT_LISTED
from tests.engine.support import board, game_on, rows_of
from tests.episodes import advance, begun
from tests.twin import pack_delta, pack_planes, pack_terrain


def packed(game, history):
    """Return the planes of one game as the slow packer makes them of its boards."""
    planes = np.frombuffer(pack_planes(game.layout, history), np.uint8)
    return planes.reshape(game.layout.shape("planes"))


def delta(observations, k):
    """Return the count of the delta of game ``k``, and what it lists in order of the cells."""
    count = int(observations.delta_count[k])
    listed = slice(max(0, count))
    cells = zip(observations.delta_index[k, listed], observations.delta_code[k, listed], strict=True)
    return count, sorted((int(index), int(code)) for index, code in cells)


def assert_packed(game, observations, histories):
    for k, history in enumerate(histories):
        assert np.array_equal(observations.planes[k], packed(game, history[-game.layout.frames :]))
        assert delta(observations, k) == pack_delta(game.layout, history[-2:])


@pytest.mark.parametrize(
    ("players", "height", "width", "frames"),
    [
        (2, 16, 16, 1),
        (6, 30, 63, 2),
        (7, 20, 130, 5),
        (4, 521, 70, 3),
        (126, 90, 129, 2),
    ],
)
def test_whole_games_are_packed_as_the_format_says(players, height, width, frames):
    rng = np.random.default_rng(players)
    kind = str(rng.choice(["open", "lakes", "mountains"] if players < 30 else ["open"]))
    config = GameConfig(height=height, width=width, num_players=players, map=kind, max_ticks=100)
    game = VecGame(config, 2, seed=players, seats=rng.choice(NAMES, players).tolist(), frames=frames)
    observations = game.reset()
    histories = [[board(game, k)] for k in range(2)]
    assert_packed(game, observations, histories)
    for _ in range(13):
        observations, *_, info = game.step(repeat=int(rng.integers(1, 4)))
        for k in range(2):
            if info["was_reset"][k]:
                histories[k] = []
            histories[k].append(board(game, k))
        assert_packed(game, observations, histories)
    assert game.state.episode.sum() > 0


def test_a_game_that_is_over_shows_that_nothing_changes_any_more():
    game = game_on(rows_of(*["1112......"] * 16), (5000, 10), pools={(1, 2): 4000}, frames=3, win_percent=30)
    last = game.observations
    while not game.state.over[0]:
        last = game.step(hold=True)[0]
    assert last.planes[0, 1].any()
    now = last.planes[0, 0].copy()
    advance(game, 2)
    assert game.observations.delta_count[0] == 0
    assert np.array_equal(game.observations.planes[0, 0], now)
    assert not game.observations.planes[0, 1:].any()


def test_a_death_of_a_large_player_is_listed_or_makes_a_key_frame():
    drawing = np.full((64, 64), 2, np.uint8)
    drawing[:, :4], drawing[0, 40:] = 1, 3
    game = game_on(drawing, (10, 10, 10), peak=(256, 60_000, 24))
    assert game.layout.delta_capacity == 256
    game.step(hold=True)
    assert (game.state.land[0, 2], game.observations.delta_count[0]) == (0, NOT_LISTED)
    assert np.array_equal(game.observations.planes[0], packed(game, [board(game)]))
    few = np.full((64, 64), BLOCKED, np.uint8)
    few[:, :4], few[:, 4:8], few[0, 40:] = 1, 2, 3
    game = game_on(few, (10, 10, 10), peak=(256, 60_000, 24))
    game.step(hold=True)
    assert game.observations.delta_count[0] == 256


def test_cells_that_change_hands_and_come_back_within_a_step_are_not_listed():
    """It takes three players and luck, so the log is written by hand."""
    game = begun(VecGame(GameConfig(height=24, width=70, num_players=4), 1, frames=2))
    work, blocks = game._calls.works[0], game.blocks
    planes, occupied = blocks.planes[0], blocks.occupied[0]
    before, first, second = game.observations.planes.copy(), *(planes[seat].copy() for seat in (1, 2))

    def note(cells, blocks, old, new):
        changed = CellSet(cells, blocks)
        note_changes(work, changed, list_blocks(changed, work.listed), old, new)

    for old, new in ((1, 2), (2, 3), (3, 1)):
        note(first, occupied[1], old, new)
    note(second, occupied[2], 2, 3)
    cells = np.flatnonzero(board(game) == 2).tolist()
    planes[3] |= second
    occupied[3] |= occupied[2]
    planes[2] = 0
    game.step(hold=True)
    assert delta(game.observations, 0) == (SPAWN_CELLS, [(cell, 3) for cell in cells])
    changed = np.unpackbits(game.observations.planes[0, 0] ^ before[0, 0], bitorder="little").sum()
    assert changed == SPAWN_CELLS, "codes 2 and 3 differ in one bit"
    assert np.array_equal(game.observations.planes[0, 1], game.observations.planes[0, 0] ^ before[0, 0])
    for kept_empty in (
        work.log_entries,
        work.log_length,
        work.log_bits,
        work.log_takers,
        work.log_changes,
        work.log_counts,
    ):
        assert not kept_empty.any()


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 4, 5])
def test_a_batch_with_fewer_frames_takes_the_newest_and_one_with_more_begins_its_stack_anew(frames):
    config = GameConfig(height=40, width=70, num_players=5)
    game, other = (VecGame(config, 2, seats=["metronome"] * 5, frames=count) for count in (4, frames))
    game.reset()
    other.reset()
    for _ in range(30):
        game.step()
        other.step()
    other.restore(1, game.save(0))
    expected = game.observations.planes[0, :frames].copy()
    assert all(entry.any() for entry in expected)
    if frames == 5:
        expected = np.concatenate([expected[:1], np.zeros_like(expected[:1]).repeat(4, axis=0)])
    assert np.array_equal(other.observations.planes[1], expected)
    assert other.observations.delta_count[1] == NEW_GAME
    for _ in range(frames):
        game.step()
        other.step()
    assert np.array_equal(other.observations.planes[1, :4], game.observations.planes[0, :frames])


@pytest.mark.parametrize("frames", [0, 3])
def test_the_arrays_have_the_shapes_and_types_of_the_layout(frames):
    game = VecGame(GameConfig(height=24, width=43, num_players=4), 2, frames=frames)
    observations = game.reset()
    for name, array in observations._asdict().items():
        assert array.shape == (2, *game.layout.shape(name)), name
        assert array[0].nbytes == game.layout.nbytes(name)
    assert (game.terrain(0).shape, len(observations.planes[0])) == (game.layout.shape("terrain"), frames)
    assert observations.delta_count.tolist() == [NEW_GAME] * 2
    assert observations.players[:, :, 0].all()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("open", {"water"}),
        ("lakes", {"water"}),
        ("mountains", {"mountains"}),
        ("lakes + mountains", {"water", "mountains"}),
    ],
)
@pytest.mark.parametrize("num_maps", [3, 0])
def test_the_terrain_is_that_of_the_map_being_played(kind, names, num_maps):
    config = GameConfig(height=40, width=43, num_players=4, map=kind, num_maps=num_maps)
    game = begun(VecGame(config, 12, seed=1))
    assert {game.terrain_name(k) for k in range(12)} == names
    seen = set()
    for k in range(12):
        expected = pack_terrain(game.layout, board(game, k), is_water=game.terrain_name(k) == "water")
        assert game.terrain(k).tobytes() == expected
        seen.add(expected)
    assert not game.terrain(0).flags.writeable
    assert len(seen) > 1 or kind == "open"
