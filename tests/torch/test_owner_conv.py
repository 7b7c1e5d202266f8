"""The convolution over maps of owners against nn.Conv2d over one-hot planes: results and gradients."""

import pytest
import torch

from territorial.decode.numpy import Decoder
from territorial.nets import OwnerConv2d, owner_conv
from territorial.observation.layout import ObsLayout
from tests.decode.support import SMALL, batch

FEW = ObsLayout(height=16, width=16, num_players=2, frames=1)
SHAPES = {
    "3 x 3": (3, 1, 1),
    "1 x 1": (1, 1, 0),
    "patches": (4, 4, 0),
    "overlapping": (8, 4, 2),
    "oblong": ((4, 3), (2, 1), (0, 2)),
    "wide edges": (3, 2, 3),
}


def boards(layout=SMALL, entries=5, seed=0):
    """Ego codes, blocked cells among them, and the one-hot planes of the same boards."""
    _, planes, seats, games = batch(layout, num_entries=entries, seed=seed)
    decoder = Decoder(layout)
    arrays = decoder.owners(planes, seats, games), decoder.onehot(planes, seats, games)
    assert (arrays[0] == layout.blocked_code).any()
    return [torch.from_numpy(array) for array in arrays]


def both(owners, onehot, layer, conv):
    """Results and gradients of the two."""
    seen, expected = layer(owners), conv(onehot)
    torch.manual_seed(1)
    from_above = torch.randn_like(expected)
    seen.backward(from_above)
    expected.backward(from_above)
    return seen, expected


def conv_of(layer):
    """A convolution over one-hot planes with the weights of a layer, as float32."""
    channels = layer.weight.shape[1]
    given = layer.out_channels, layer.kernel_size, layer.stride, layer.padding
    conv = torch.nn.Conv2d(channels, *given, bias=layer.bias is not None)
    conv.load_state_dict(layer.state_dict())
    return conv


def assert_equal(layer, conv, seen, expected):
    torch.testing.assert_close(seen, expected, rtol=1e-4, atol=1e-4)
    for (name, mine), (_, its) in zip(layer.named_parameters(), conv.named_parameters(), strict=True):
        # Sums of thousands of numbers of size 1, in another order.
        torch.testing.assert_close(mine.grad, its.grad, rtol=1e-4, atol=1e-3, msg=name)


@pytest.mark.parametrize(
    ("kernel_size", "stride", "padding", "layout"),
    [
        *((*shape, SMALL) for shape in SHAPES.values()),
        (3, 1, 1, FEW),
        (3, 1, 1, ObsLayout(height=17, width=65, num_players=250, frames=2)),
    ],
    ids=[*SHAPES, "2 players", "250 players"],
)
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_convolution_over_onehot_planes_and_has_its_gradients(
    kernel_size, stride, padding, layout, bias
):
    torch.manual_seed(0)
    layer = OwnerConv2d(layout, 6, kernel_size, stride, padding, bias=bias, chunk=2)
    conv = conv_of(layer)
    assert_equal(layer, conv, *both(*boards(layout), layer, conv))


@pytest.mark.parametrize(("kernel_size", "stride"), [((4, 4), (4, 4)), ((3, 2), (1, 2)), ((1, 1), (1, 1))])
def test_the_kernel_of_processors_sums_what_other_devices_sum(kernel_size, stride):
    owners, _ = boards()
    rows, columns = ((owners.shape[2 + axis] - kernel_size[axis]) // stride[axis] + 1 for axis in (0, 1))
    gradients = torch.randn((len(owners), rows, columns, 7), generator=torch.Generator().manual_seed(2))
    arguments = owners, gradients, SMALL.num_players + 2, kernel_size, stride, 2
    expected = owner_conv.gradients_by_embedding(*arguments)
    torch.testing.assert_close(owner_conv.gradients_on_cpu(*arguments), expected, rtol=1e-4, atol=1e-4)
    assert expected.abs().sum() > 0


@pytest.mark.parametrize(("kernel_size", "stride"), [((4, 4), (4, 4)), ((3, 2), (1, 2)), ((1, 1), (1, 1))])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_kernel_of_processors_looks_up_what_other_devices_look_up(kernel_size, stride, dtype):
    owners, _ = boards()
    size = (SMALL.frames, *kernel_size, SMALL.num_players + 2, 7)
    table = torch.randn(size, generator=torch.Generator().manual_seed(3)).to(dtype)
    expected = owner_conv.sums_by_embedding(owners, table, stride, 2)
    seen = owner_conv.sums_on_cpu(owners, table, stride, 2)
    assert seen.dtype == dtype
    torch.testing.assert_close(seen, expected, rtol=1e-4, atol=1e-4)
    assert expected.abs().sum() > 0


def test_blocked_cells_and_cells_beyond_the_edge_add_nothing():
    layer = OwnerConv2d(SMALL, 4, 3, padding=1)
    blocked = torch.full((1, 3, 18, 70), SMALL.blocked_code, dtype=torch.uint8)
    assert torch.equal(layer(blocked), layer.bias[:, None, None].expand(1, 4, 18, 70))
    layer(blocked).sum().backward()
    assert not layer.weight.grad.any()


def test_it_begins_with_the_weights_of_a_convolution():
    torch.manual_seed(3)
    layer = OwnerConv2d(SMALL, 4, 3)
    torch.manual_seed(3)
    conv = torch.nn.Conv2d(24, 4, 3)
    assert torch.equal(layer.weight, conv.weight)
    assert torch.equal(layer.bias, conv.bias)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.02), (torch.float16, 0.002)])
def test_half_precision_gives_the_same_but_for_rounding(dtype, tolerance):
    torch.manual_seed(0)
    layer = OwnerConv2d(SMALL, 6, 3, padding=1, dtype=dtype)
    conv = conv_of(layer)
    owners, onehot = boards()
    seen, expected = layer(owners), conv(onehot)
    assert seen.dtype == dtype
    torch.testing.assert_close(seen.float(), expected, rtol=0, atol=tolerance)
    seen.float().square().sum().backward()
    expected.square().sum().backward()
    assert layer.weight.grad.dtype == dtype
    largest = conv.weight.grad.abs().max()
    assert (layer.weight.grad.float() - conv.weight.grad).abs().max() < tolerance * largest


def test_only_the_codes_are_kept_for_the_gradient():
    """A byte a cell; one-hot planes would take 32 times as much, and there are 8 of them a frame."""
    owners, _ = boards()
    layer, kept = OwnerConv2d(SMALL, 4, 3, padding=1), []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda t: t):
        layer(owners)
    assert [tensor.dtype for tensor in kept] == [torch.uint8]
    assert kept[0].shape == (5, 3, 20, 72)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_without_a_break_it_gives_the_same(backend):
    torch.compiler.reset()
    torch.manual_seed(0)
    layer = OwnerConv2d(SMALL, 6, 3, padding=1)
    conv = conv_of(layer)
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    assert_equal(layer, conv, *both(*boards(), compiled, conv))


def test_any_part_of_a_board_will_do():
    owners, onehot = boards()
    layer = OwnerConv2d(SMALL, 4, 3)
    torch.testing.assert_close(
        layer(owners[..., 2:9, 5:50]), conv_of(layer)(onehot[..., 2:9, 5:50]), rtol=1e-4, atol=1e-4
    )


OWNERS = torch.zeros((1, 3, 18, 70), dtype=torch.uint8)
REFUSED = [
    (lambda layer: layer(OWNERS.float()), r"owners has the shape .*; it must be \(N, 3, rows, columns\)"),
    (lambda layer: layer(OWNERS[:, :2]), r"owners has the shape .*; it must be \(N, 3, rows, columns\)"),
    (lambda layer: layer(OWNERS[0]), r"owners has the shape .*; it must be \(N, 3, rows, columns\)"),
    (
        lambda layer: layer(OWNERS[..., :2, :]),
        "owners has 2 rows; with the padding there must be at least the 3",
    ),
    (
        lambda _: OwnerConv2d(SMALL, 4, 3, padding="same"),
        "padding is 'same'; it must be one or two whole numbers",
    ),
    (
        lambda _: OwnerConv2d(SMALL, 4, 3, 0),
        "stride is 0; it must be one or two whole numbers of at least 1",
    ),
    (lambda _: OwnerConv2d(None, 4, 3), "layout is None; it must be an ObsLayout"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(OwnerConv2d(SMALL, 4, 3))


def test_no_boards_make_no_results():
    assert OwnerConv2d(SMALL, 4, 3)(OWNERS[:0]).shape == (0, 4, 16, 68)
