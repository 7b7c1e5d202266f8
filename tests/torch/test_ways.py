"""Networks in the hands of PyTorch: traced, exported, compiled, mapped over, quantized, watched by hooks.

Each way takes a network with some inputs and gives what it makes of others. That is what the network itself
makes of them, or an error that says what can be done instead.
"""

import copy
from importlib.util import find_spec

import pytest
import torch
from torch.func import functional_call, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves, tree_map

from territorial.decode import feature_names
from territorial.nets import (
    BoardPolicy,
    FeatureTrunk,
    OwnerConv2d,
    PairPolicy,
    ReferenceTrunk,
)
from territorial.observation.layout import ObsLayout
from territorial.observation.pair_columns import OWN, pair_columns
from tests.torch.support import SMALL, MeanTrunk, seen_by, whole

LAYOUT = ObsLayout.of(SMALL, 1)
ROWS, CANDIDATES = 4, 8


def pair_rows(seed, teams=False):
    """Random states; in the first of them no candidate is there."""
    generator = torch.Generator().manual_seed(seed)
    own = torch.randn(ROWS, len(OWN), generator=generator)
    pairs = torch.randn(ROWS, CANDIDATES, len(pair_columns(teams=teams)), generator=generator)
    there = torch.rand(ROWS, CANDIDATES, generator=generator) < 0.6
    there[0] = False
    pairs[..., 0] = 1
    launches = torch.rand(ROWS, CANDIDATES, 10, generator=generator) < 0.8
    mask = torch.ones(ROWS, 1 + 10 * CANDIDATES, dtype=torch.int8)
    mask[:, 1:] = (there[..., None] & launches).flatten(1)
    return own, pairs * there[..., None], mask


def owners(seed):
    generator = torch.Generator().manual_seed(seed)
    size = (ROWS, 1, SMALL.height, SMALL.width)
    return torch.randint(0, SMALL.num_players + 2, size, dtype=torch.uint8, generator=generator)


def features(seed):
    return torch.rand(ROWS, len(feature_names(SMALL)), generator=torch.Generator().manual_seed(seed))


def boards(seed, shared=False):
    seen = seen_by(SMALL, [1 + seed, 2, 3, 5], frames=1, steps=10 + 20 * seed)[1]
    return (seen if shared else whole(seen),)


class Features(torch.nn.Module):
    """The trunk that reads no boards, as a network of one tensor."""

    def __init__(self):
        super().__init__()
        self.trunk = FeatureTrunk(LAYOUT, SMALL)

    def forward(self, numbers):
        return self.trunk(None, numbers)


def board_policy(trunk, *arguments):
    return BoardPolicy(LAYOUT, SMALL, trunk(LAYOUT, SMALL, *arguments))


NETWORKS = {
    "pairs": (lambda: PairPolicy("small"), pair_rows),
    "pairs of teams": (lambda: PairPolicy(teams=True), lambda seed: pair_rows(seed, teams=True)),
    "owner convolution": (lambda: OwnerConv2d(LAYOUT, 8, 4, 4), lambda seed: (owners(seed),)),
    "feature trunk": (Features, lambda seed: (features(seed),)),
    "reference trunk": (lambda: ReferenceTrunk(LAYOUT, SMALL), lambda seed: (owners(seed), features(seed))),
    "boards": (lambda: board_policy(ReferenceTrunk), boards),
    "boards of meanings": (lambda: board_policy(MeanTrunk, "semantic"), boards),
    "features": (lambda: board_policy(FeatureTrunk), lambda seed: boards(seed, shared=True)),
}
PAIRS = ("pairs", "pairs of teams")
TRUNKS = ("owner convolution", "feature trunk", "reference trunk")
POLICIES = tuple(name for name in NETWORKS if name not in PAIRS + TRUNKS)


def traced(network, first, second):
    return torch.jit.trace(network, first, strict=False, check_trace=False)(*second)


def exported(network, first, second):
    return torch.export.export(network, first).module()(*second)


def compiled(network, first, second):
    torch._dynamo.reset()
    by_graph = torch.compile(network, backend="eager")
    by_graph(*first)
    return by_graph(*second)


def as_graph(network, first, second):
    return make_fx(network)(*first)(*second)


def onnx(network, first, second):
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return torch.onnx.export(network, (*first, {}), dynamo=True, verbose=False)(*second)


def with_other_weights(network, first, second):
    network(*first)
    weights = {name: weight.detach().clone() for name, weight in network.named_parameters()}
    with torch.no_grad():
        for weight in network.parameters():
            weight.zero_()
    return functional_call(network, weights, second)


def mapped_over_rows(network, _, second):
    found = vmap(network)(*tree_map(lambda tensor: torch.stack([tensor, tensor]), second))
    return tree_map(lambda tensor: tensor[1], found)


def mapped_over_weights(network, _, second):
    weights = {name: torch.stack([weight * 0, weight]) for name, weight in network.state_dict().items()}
    found = vmap(lambda own: functional_call(network, own, second))(weights)
    return tree_map(lambda tensor: tensor[1], found)


def with_forward_gradients(network, _, second):
    weights = {name: weight.detach() for name, weight in network.named_parameters()}
    ones = tree_map(torch.ones_like, weights)
    found, tangents = jvp(lambda own: functional_call(network, own, second), (weights,), (ones,))
    assert all(tangent.any() for tangent in tree_leaves(tangents)), "gradients were lost on the way"
    return found


def quantized(network, _, second):
    return torch.ao.quantization.quantize_dynamic(network, {torch.nn.Linear}, dtype=torch.qint8)(*second)


WAYS = [
    traced,
    exported,
    compiled,
    as_graph,
    onnx,
    with_other_weights,
    mapped_over_rows,
    mapped_over_weights,
    with_forward_gradients,
    quantized,
]
REFUSED = {
    traced: ((*PAIRS, *POLICIES), "use torch.export or torch.compile"),
    mapped_over_rows: ((*PAIRS, *POLICIES), "give it more rows instead"),
}
# How far from the network itself a way may be, where its numbers are others on purpose.
NEAR = {quantized: 0.1}


@pytest.mark.filterwarnings("ignore")  # of deprecated tools, and of traces
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NETWORKS)
def test_other_inputs_give_what_the_network_gives_or_an_error_says_what_to_do(name, way):
    make, inputs = NETWORKS[name]
    network, (first, second) = make().eval(), map(inputs, (0, 1))
    refused, says = REFUSED.get(way, ((), ""))
    with torch.no_grad():
        wanted = network(*second)
        assert not same(network(*first), wanted, 1e-4), "inputs that tell nothing"
        if name in refused:
            with pytest.raises((RuntimeError, TypeError), match=says):
                way(copy.deepcopy(network), first, second)
            return
        assert same(way(copy.deepcopy(network), first, second), wanted, NEAR.get(way, 1e-4))


def same(found, wanted, atol):
    pairs = zip(tree_leaves(found), tree_leaves(wanted), strict=True)
    return all(torch.allclose(one.double(), other.double(), rtol=1e-4, atol=atol) for one, other in pairs)


def slanted(tensor):
    """Other numbers than before, also to what norms make of them."""
    return tensor * torch.linspace(0.5, 1.5, tensor.shape[-1])


@pytest.mark.parametrize(("make", "inputs"), NETWORKS.values(), ids=NETWORKS)
def test_a_hook_of_any_layer_does_the_same_with_gradients_and_without(make, inputs):
    """A network that acts may not pass over what another tool has put into its layers."""
    network, seen = make().eval(), inputs(1)
    with torch.no_grad():
        bare, unused = network(*seen), []
        for place, layer in network.named_modules():
            if layer is network or isinstance(layer, torch.nn.ModuleList):
                continue
            handle = layer.register_forward_hook(lambda _, __, found: tree_map(slanted, found))
            acting = network(*seen)
            with torch.enable_grad():
                learning = network(*seen)
            handle.remove()
            assert same(acting, learning, 1e-4), place
            if same(acting, bare, 1e-7):
                unused.append(place)
    assert all(place.startswith("value_head") for place in unused), unused
