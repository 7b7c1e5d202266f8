"""Observations as tensors: what the engine wrote, in memory of their own."""

import warnings

import numpy as np
import pytest
import torch

from territorial import GameConfig, VecGame
from territorial.decode.numpy import Decoder as NumpyDecoder
from territorial.decode.torch import Decoder, to_tensors

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
CONFIG = GameConfig(height=64, width=75, num_players=4)


def games(frames=3):
    game = VecGame(CONFIG, 2, seats=["metronome"] * 4, frames=frames)
    game.reset()
    for _ in range(10):
        game.step()
    return game


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("frames", [0, 3])
def test_tensors_hold_the_observations_and_go_on_doing_so(device, frames):
    game = games(frames)
    kept = {name: array.copy() for name, array in game.observations._asdict().items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # PyTorch warns about memory that may not be written to
        seen = to_tensors(game.observations, device)
    game.step()
    assert type(seen) is type(game.observations)
    for name, array in kept.items():
        tensor = getattr(seen, name)
        assert tensor.device.type == device
        assert tensor.is_contiguous()
        assert str(tensor.dtype) == f"torch.{'int32' if name == 'delta_index' else array.dtype}"
        assert np.array_equal(tensor.cpu().numpy(), array), name


@pytest.mark.parametrize("device", DEVICES)
def test_the_decoder_takes_them_and_a_delta_leads_from_board_to_board(device):
    game = games()
    before = to_tensors(game.observations, device)
    seen = to_tensors(game.step()[0], device)
    seats = torch.tensor([1, 3])
    decoder = Decoder(game.layout, CONFIG)
    shown = decoder.semantic(seen.planes, seats, seen.players, seen.borders).cpu().numpy()
    now = game.observations
    right = NumpyDecoder(game.layout, CONFIG)
    assert np.array_equal(shown, right.semantic(now.planes, [1, 3], now.players, now.borders))
    board = decoder.owners(before.planes, torch.tensor([1, 1]))[0, -1].flatten()
    count = int(seen.delta_count[0])
    assert count > 0
    board[seen.delta_index[0, :count]] = seen.delta_code[0, :count]
    assert torch.equal(board, decoder.owners(seen.planes, torch.tensor([1, 1]))[0, -1].flatten())


@pytest.mark.parametrize("what", [None, {}, (1, 2), games])
def test_what_is_no_observation_is_refused(what):
    with pytest.raises(TypeError, match=f"observations is a {type(what).__name__}; it must be what VecGame"):
        to_tensors(what)
