"""The decoder for PyTorch against the one for numpy, to the bit: eager, compiled, on all devices."""

import os
import pickle
import shutil
import sysconfig
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial import GameConfig, VecGame
from territorial.decode import boards
from territorial.decode.numpy import Decoder as NumpyDecoder
from territorial.decode.torch import Decoder, to_tensors
from territorial.observation.layout import ObsLayout
from tests.decode.support import CONFIG, CONFIG_TEAMS, SMALL, SMALL_TEAMS, arguments, config_of, layouts
from tests.episodes import after_steps

DEVICES = ["cpu"]
DEVICES += ["cuda"] if torch.cuda.is_available() else []
DEVICES += ["mps"] if torch.backends.mps.is_available() else []
METHODS = ("owners", "onehot", "semantic", "pooled", "features", "action_mask")


def tensors(arrays, device="cpu"):
    return tuple(torch.from_numpy(array).to(device) for array in arrays)


def assert_same(tensor, array):
    """The same type, shape and bits; a bfloat16 has no array."""
    assert (str(tensor.dtype), tensor.shape) == (f"torch.{array.dtype}", array.shape)
    assert tensor.cpu().numpy().tobytes() == np.ascontiguousarray(array).tobytes()


# ---- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("use_kernels", [True, False], ids=["kernels", "tensor operations"])
@given(
    layout=layouts(),
    seed=st.integers(0, 2**32),
    entries=st.sampled_from([0, 1, 2, 3, 9, 40]),
    factor=st.sampled_from([1, 5, 16, 18, 1024]),
)
@settings(max_examples=15)
def test_every_method_gives_the_bits_of_the_numpy_decoder(device, use_kernels, layout, seed, entries, factor):
    """Games are left out where there is an entry for each of the three."""
    if 12 * layout.num_players > layout.height * layout.width:
        layout = replace(layout, num_players=20)
    config = config_of(layout)
    right, decoder = NumpyDecoder(layout, config), Decoder(layout, config, use_kernels=use_kernels)
    for name, arrays in arguments(layout, config, seed, num_entries=entries).items():
        shown, options = (
            arrays[: -1 if entries == 3 else None],
            {"factor": factor} if name == "pooled" else {},
        )
        read, copies = tensors(shown, device), tensors([array.copy() for array in shown])
        seen = getattr(decoder, name)(*read, **options)
        assert seen.device.type == device
        assert_same(seen, getattr(right, name)(*shown, **options))
        assert all(torch.equal(one.cpu(), kept) for one, kept in zip(read, copies, strict=True))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("use_kernels", [True, False], ids=["kernels", "tensor operations"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "uint8", "int8"])
@pytest.mark.parametrize("method", ["onehot", "semantic", "pooled"])
def test_every_type_is_the_float32_result_rounded(device, use_kernels, dtype, method):
    kind = getattr(torch, dtype)
    arrays = arguments()[method]
    call = getattr(Decoder(SMALL, CONFIG, use_kernels=use_kernels), method)
    if method != "onehot" and not kind.is_floating_point:
        with pytest.raises(ValueError, match=f"dtype is .*{dtype}.*; it must be one of bfloat16, float16"):
            call(*tensors(arrays, device), dtype=kind)
        return
    expected = torch.from_numpy(getattr(NumpyDecoder(SMALL, CONFIG), method)(*arrays)).to(kind)
    seen = call(*tensors(arrays, device), dtype=kind)
    assert seen.dtype == kind
    assert torch.equal(seen.cpu(), expected)
    if method != "pooled":
        out = torch.full_like(seen, 77)
        assert call(*tensors(arrays, device), dtype=kind, out=out) is out
        assert torch.equal(out, seen)


@pytest.mark.parametrize("use_kernels", [True, False], ids=["kernels", "tensor operations"])
def test_codes_that_no_engine_writes_count_as_blocked(use_kernels):
    layout = ObsLayout(height=16, width=20, num_players=4, frames=1)
    planes = torch.full((1, *layout.shape("planes")), 255, dtype=torch.uint8)
    planes[..., -1] = 15  # the padding of rows is zero
    decoder = Decoder(layout, use_kernels=use_kernels)
    assert (decoder.owners(planes, [1]) == 5).all()
    assert not decoder.onehot(planes, [1]).any()


def test_seats_and_games_may_be_columns_arrays_and_of_any_stride():
    """As a batch of observations has them; kernels are not compiled anew for what lies apart."""
    decoder = Decoder(SMALL, CONFIG)
    compiled = [
        getattr(boards, f"{name}_kernel") for name in ("owners", "onehot", "semantic", "pooled")
    ]  # of all types that there are by now
    for name, arrays in arguments().items():
        expected = getattr(NumpyDecoder(SMALL, CONFIG), name)(*arrays)
        given_ = tensors(arrays)
        assert_same(getattr(decoder, name)(*given_), expected)
        before = [len(kernel.dispatcher.overloads) for kernel in compiled]
        apart = [t.repeat_interleave(2)[::2] if t.dim() == 1 else t for t in given_]
        assert not apart[-1].is_contiguous()
        columns = [t[:, None].repeat(1, 3)[:, 1:2] if t.dim() == 1 else t for t in given_]
        bytes_ = [t.to(torch.uint8) if t.dim() == 1 else t for t in given_]
        for arguments_ in (apart, columns, bytes_):
            assert_same(getattr(decoder, name)(*arguments_), expected)
        assert [len(kernel.dispatcher.overloads) for kernel in compiled] == before


def test_seats_may_be_arrays_that_are_read_only():
    planes, seats, games = arguments()["owners"]
    seats.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen = Decoder(SMALL).owners(torch.from_numpy(planes), seats, games.tolist())
    assert_same(seen, NumpyDecoder(SMALL).owners(planes, seats, games))


def test_a_decoder_can_be_sent_to_another_process():
    decoder = Decoder(SMALL, CONFIG, use_kernels=False)
    arrays = arguments()["semantic"]
    before = decoder.semantic(*tensors(arrays))
    assert torch.equal(pickle.loads(pickle.dumps(decoder)).semantic(*tensors(arrays)), before)


# ---- without waiting for a device, compiled ------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=pytest.mark.verify)])
@pytest.mark.parametrize("teams", [False, True])
def test_compiled_without_a_break_it_gives_the_same_bits(backend, method, device, teams):
    torch.compiler.reset()
    layout, config = (SMALL_TEAMS, CONFIG_TEAMS) if teams else (SMALL, CONFIG)
    arrays = arguments(layout, config)[method]
    compiled = torch.compile(getattr(Decoder(layout, config), method), backend=backend, fullgraph=True)
    expected = getattr(NumpyDecoder(layout, config), method)(*arrays)
    for _ in range(2):
        assert_same(compiled(*tensors(arrays, device)), expected)


@pytest.mark.verify
@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="needs a C++ compiler")
@pytest.mark.skipif(
    not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")),
    reason="needs Python's headers",
)
def test_the_default_compiler_gives_the_same_bits_of_several_methods_in_one_graph():
    torch.compiler.reset()
    decoder, right, given_ = Decoder(SMALL, CONFIG), NumpyDecoder(SMALL, CONFIG), arguments()
    names = ("onehot", "pooled", "action_mask")

    @torch.compile(fullgraph=True)
    def all_of_them(*tensors_of_each):
        return [getattr(decoder, name)(*given) for name, given in zip(names, tensors_of_each, strict=True)]

    for name, result in zip(names, all_of_them(*(tensors(given_[name]) for name in names)), strict=True):
        assert_same(result, getattr(right, name)(*given_[name]))


# ---- what is refused -----------------------------------------------------------------------------

PLANES = torch.zeros((2, 3, 4, 18, 9), dtype=torch.uint8)
PLAYERS, BORDERS = torch.zeros((2, 7, 20)), torch.zeros((2, 6, 8, 8))
ROOM = torch.zeros((2, 3, 18, 70), dtype=torch.uint8)

REFUSED = {
    "planes of numpy": (lambda d: d.owners(PLANES.numpy(), [1, 1]), TypeError, "; it must be a tensor"),
    "seat 8": (
        lambda d: d.owners(PLANES, torch.tensor([1, 8])),
        ValueError,
        "seats has 8; it must have numbers from 1 to 7",
    ),
    "seat 0 of observations elsewhere": (
        lambda d: d.owners(PLANES.to("meta"), [0, 1]),
        ValueError,
        "seats has 0; it must have numbers from 1 to 7",
    ),
    "seats elsewhere": (
        lambda d: d.owners(PLANES, torch.ones(2, dtype=torch.int64, device="meta")),
        ValueError,
        "seats is on meta; it must be on cpu or on the CPU",
    ),
    "one-hot of float64": (
        lambda d: d.onehot(PLANES, [1, 1], dtype=torch.float64),
        ValueError,
        "; it must be one of bfloat16, float16, float32, uint8, int8",
    ),
    "players elsewhere": (
        lambda d: d.semantic(PLANES, [1, 1], PLAYERS.to("meta"), BORDERS),
        ValueError,
        "players is on meta; it must be on cpu like the other tensors",
    ),
    "out of another shape": (
        lambda d: d.owners(PLANES, [1, 1], out=ROOM[:1]),
        ValueError,
        "out has the shape (1, 3, 18, 70); it must have (2, 3, 18, 70)",
    ),
    "out of another type": (
        lambda d: d.owners(PLANES, [1, 1], out=ROOM.char()),
        TypeError,
        "out has the type int8; it must have uint8",
    ),
    "out elsewhere": (
        lambda d: d.owners(PLANES, [1, 1], out=ROOM.to("meta")),
        ValueError,
        "out is on meta; it must be on cpu like the observations",
    ),
    "out that is a view": (
        lambda d: d.owners(PLANES, [1, 1], out=ROOM.view(2, 3, 70, 18).transpose(2, 3)),
        ValueError,
        "out is a view; it must be a contiguous tensor",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_refused_by_name_and_value(call, error, message):
    with pytest.raises(error) as caught:
        call(Decoder(SMALL, CONFIG))
    assert message in str(caught.value)


def games(frames=3):
    return after_steps(
        VecGame(GameConfig(height=64, width=75, num_players=4), 2, seats=["metronome"] * 4, frames=frames), 10
    )


@pytest.mark.parametrize("device", [device for device in DEVICES if device != "mps"])
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


@pytest.mark.parametrize("what", [None, {}, (1, 2), games])
def test_what_is_no_observation_is_refused(what):
    with pytest.raises(TypeError, match=f"observations is a {type(what).__name__}; it must be what VecGame"):
        to_tensors(what)
