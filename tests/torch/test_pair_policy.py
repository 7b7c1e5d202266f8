"""The network on pairs: its logits and values, and what becomes of it in whole numbers."""

import math

import numpy as np
import pytest
import torch

from territorial.bots import Network
from territorial.bots.network import Rows
from territorial.bots.network_file import read
from territorial.config import GameConfig
from territorial.files import safetensors
from territorial.nets import ExportError, PairPolicy
from territorial.nets.pair_export import calibration_rows, compare
from territorial.nets.policy import MASKED
from territorial.observation.pair_columns import OWN, PAIRS, UNIT
from tests.bots.networks import LEGAL, THERE, TRAINED, choices, named, random_rows, rows_of_games
from tests.twin import networks as twin


def policy_of(size: str = "small", seed: int = 0, scale: float = 3.0) -> PairPolicy:
    """Return a policy that has opinions: logits some units apart, as those of a trained one are."""
    torch.manual_seed(seed)
    policy = PairPolicy(size)
    with torch.no_grad():
        policy.hold.bias.fill_(0.0)
        for layer in (policy.joint, policy.score, policy.context, policy.hold):
            layer.weight *= scale
    return policy


def trained_policy() -> PairPolicy:
    """Return the trained network in float32; it gives columns that were appended since no weight."""
    policy = PairPolicy("small")
    with open(TRAINED / "weights.safetensors", "rb") as file:
        arrays = {
            name.removeprefix("policy."): array for name, array in safetensors.read(file).arrays.items()
        }
    known = arrays["own.weight"].shape[1]
    for name in ("own.weight", "context.weight"):
        arrays[name] = np.insert(arrays[name], [known] * (len(OWN) - known), 0, axis=1)
    policy.load_state_dict({name: torch.tensor(part) for name, part in arrays.items()})
    return policy


def inputs(amount: int, seed: int = 0, num_candidates: int = 8) -> tuple[torch.Tensor, ...]:
    """Return own, pairs and mask of random states, whose columns are as large as those of games."""
    rows = random_rows(amount, seed, num_candidates)
    own, pairs = rows.own / 8 / UNIT, rows.pairs / 8 / UNIT
    pairs[:, :, THERE] = rows.pairs[:, :, THERE] / UNIT
    legal = np.repeat(rows.pairs[:, :, LEGAL] > 0, 10, axis=1)
    mask = np.concatenate([np.ones((amount, 1)), legal], axis=1)
    return tuple(torch.from_numpy(array.astype(np.float32)) for array in (own, pairs, mask))


@pytest.fixture(scope="module")
def rows():
    """A few states of games between bots."""
    return Rows(*(array[::4] for array in calibration_rows()))


# ---- logits and values -----------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "number"), [("small", 19_245), ("standard", 67_149)])
def test_the_sizes_have_so_many_weights(size, number):
    assert sum(values.numel() for values in PairPolicy(size).parameters()) == number


def test_another_size_is_refused():
    with pytest.raises(
        ValueError, match=r"size is 'standart'.*did you mean 'standard'.*one of small, standard"
    ):
        PairPolicy("standart")


def test_a_logit_is_the_probability_of_the_target_times_that_of_the_fraction():
    policy, (own, pairs, mask) = policy_of(), inputs(40)
    logits, values = policy(own, pairs, mask)
    assert (logits.shape, values.shape) == ((40, 81), (40,))
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(40), rtol=1e-4, atol=1e-4)
    found = policy.choices(own, pairs)
    legal = torch.cat([torch.ones(40, 1), mask[:, 1::10]], dim=1) > 0
    of_target = (
        torch.cat([found.hold.unsqueeze(1), found.targets], dim=1).masked_fill(~legal, -math.inf).softmax(1)
    )
    wanted = of_target[:, 1:, None] * found.fractions.softmax(2)
    torch.testing.assert_close(logits[:, 1:].exp(), wanted.flatten(1), rtol=1e-4, atol=1e-4)
    assert (logits[mask == 0] == MASKED).all()


def test_the_network_does_not_depend_on_the_number_of_candidates_or_their_order():
    policy, (own, pairs, mask) = policy_of(), inputs(20, num_candidates=5)
    logits, values = policy(own, pairs, mask)
    wider = torch.cat([pairs, torch.zeros(20, 30, len(PAIRS))], dim=1)
    more, same_values = policy(own, wider, torch.cat([mask, torch.zeros(20, 300)], dim=1))
    torch.testing.assert_close(more[:, :51], logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(same_values, values, rtol=1e-4, atol=1e-4)
    turned = torch.cat([mask[:, :1], mask[:, 1:].unflatten(1, (5, 10)).flip(1).flatten(1)], dim=1)
    flipped, _ = policy(own, pairs.flip(1), turned)
    back = flipped[:, 1:].unflatten(1, (5, 10)).flip(1).flatten(1)
    torch.testing.assert_close(back, logits[:, 1:], rtol=1e-4, atol=1e-4)


def test_without_candidates_it_holds_and_all_numbers_and_gradients_are_finite():
    policy = PairPolicy("small")
    own, mask = torch.randn(3, len(OWN)), torch.zeros(3, 81)
    mask[:, 0] = 1
    logits, values = policy(own, torch.zeros(3, 8, len(PAIRS)), mask)
    torch.testing.assert_close(logits[:, 0], torch.zeros(3), rtol=0, atol=1e-4)
    assert policy.greedy(logits).tolist() == [0, 0, 0]
    (logits.sum() + values.sum()).backward()
    assert all(torch.isfinite(p.grad).all() for p in policy.parameters() if p.grad is not None)


def test_it_holds_at_first():
    own, pairs, mask = inputs(200)
    logits, _ = PairPolicy()(own, pairs, mask)
    assert 0.3 < logits[:, 0].exp().mean() < 0.95


def test_the_greedy_action_is_the_best_target_then_the_best_fraction():
    logits = torch.tensor([[0.34, *[0.066] * 10], [0.34, 0.3, *[0.03] * 8, 0.0], [0.6, *[0.04] * 10]]).log()
    assert PairPolicy("small").greedy(logits).tolist() == [1, 1, 0]


# ---- export ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["small", "standard"])
def test_in_whole_numbers_it_chooses_the_same(tmp_path, rows, size):
    policy = policy_of(size)
    report = policy.export(tmp_path / "net.safetensors", rows=rows, interval=30, temperature=0.5)
    assert report.equal >= 0.97
    assert report.equal_targets >= report.equal
    assert report.largest_error < 0.05
    assert report.num_rows > 1000
    file = read(tmp_path / "net.safetensors")
    assert (file.description.interval, file.description.temperature) == (30, 128)
    assert file.description.own_columns == tuple((column.name, 1) for column in OWN)
    assert compare(policy, file, rows).equal >= 0.97
    assert (tmp_path / "net.safetensors").stat().st_size < 140_000


@pytest.mark.parametrize("num_games", [1, pytest.param(100, marks=pytest.mark.verify)])
def test_a_trained_network_chooses_the_same_in_whole_games_of_its_own(num_games):
    network = TRAINED / "network.safetensors"
    config = GameConfig(height=64, width=64, num_players=8)
    seats = [Network(network, temperature=1)] * 8
    amount = 500 * num_games  # some more than a game has, so they go on with the next
    rows = rows_of_games(amount, seats, config, num_games=num_games)
    report = compare(trained_policy(), read(network), rows)
    assert report.num_rows > 0.5 * amount
    assert report.equal >= 0.97
    assert compare(policy_of(), read(network), rows).equal < 0.5  # so that an error could be seen


def test_the_reference_implementation_evaluates_the_file_as_torch_the_policy(tmp_path, rows):
    policy = policy_of("standard")
    policy.export(tmp_path / "net", rows=rows)
    network, few = twin.parse((tmp_path / "net").read_bytes()), Rows(*(array[:20] for array in rows))
    _, whole = choices(read(tmp_path / "net"), few, np.zeros((20, 2), np.uint64))
    with torch.no_grad():
        found = policy.choices(*(torch.from_numpy(array.astype(np.float32) / UNIT) for array in few[:2]))
    for b in range(20):
        logits = twin.logits(network, *named(few, b))
        assert logits.hold == whole[b, 0, 0]
        assert logits.hold * math.log(2) / 4096 == pytest.approx(float(found.hold[b]), abs=0.02)
        for c, fractions in enumerate(logits.fractions):
            wanted = found.fractions[b, c].tolist()
            assert [f * math.log(2) / 4096 for f in fractions] == pytest.approx(wanted, abs=0.02)


def test_a_network_that_changes_too_much_is_refused_with_a_report(tmp_path, rows):
    policy = policy_of()
    with torch.no_grad():  # one weight so large that the others have no bits left
        policy.score.weight[:, 0] = 3e3
        policy.joint.bias[0] = -1e3
        policy.joint.weight[0] = 0
    with pytest.raises(ExportError, match=r"of [\d,]+ states, .*At least 99.00% must") as caught:
        policy.export(tmp_path / "net", rows=rows)
    assert caught.value.report.equal < 0.99
    assert not (tmp_path / "net").exists()
    policy.export(tmp_path / "net", rows=rows, least_equal=0)


def test_weights_that_saturate_whole_numbers_are_refused(tmp_path, rows):
    policy = policy_of()
    with torch.no_grad():
        policy.hold.weight *= 1e9
    with pytest.raises(
        ExportError, match=r"the layer hold has weights of up to .* which saturate whole numbers"
    ):
        policy.export(tmp_path / "net", rows=rows)
    with torch.no_grad():
        policy.hold.weight[0, 0] = math.nan
    with pytest.raises(ExportError, match=r"the parameter hold.weight has entries that are not finite"):
        policy.export(tmp_path / "net", rows=rows)
    policy.save(tmp_path / "weights")
    with pytest.raises(ValueError, match=r"weights' .*: the parameter hold.weight has entries that are not"):
        PairPolicy.load(tmp_path / "weights")


@pytest.mark.parametrize("number", [1e30, 1e38, 3e38])
@pytest.mark.parametrize(
    "layer", ["own", "candidate", "hidden", "context", "summary", "joint", "score", "hold"]
)
def test_weights_however_large_are_refused_by_the_layer_that_cannot_hold_them(tmp_path, rows, layer, number):
    policy, few = PairPolicy("small"), Rows(*(array[:40] for array in rows))
    with torch.no_grad():
        policy.get_submodule(layer).weight[:] = number
    with pytest.raises(ExportError, match=r"the layer .* (saturate|activations that are not finite)"):
        policy.export(tmp_path / "net", rows=few, least_equal=0)


@pytest.mark.parametrize(("dtype", "near"), [("float64", 1e-5), ("float16", 0.1), ("bfloat16", 0.5)])
def test_a_policy_of_another_dtype_acts_as_it_does_and_is_saved_and_exported(tmp_path, rows, dtype, near):
    policy, (own, pairs, mask) = policy_of(scale=1.0), inputs(100)
    wanted, worth = policy(own, pairs, mask)
    other = policy_of(scale=1.0).to(getattr(torch, dtype))
    for kind in (torch.float32, getattr(torch, dtype)):
        logits, values = other(own.to(kind), pairs.to(kind), mask)
        assert (logits.dtype, values.dtype) == (getattr(torch, dtype),) * 2
        torch.testing.assert_close(logits[mask > 0].float(), wanted[mask > 0], rtol=0, atol=near)
        torch.testing.assert_close(values.float(), worth, rtol=0, atol=near)
        assert (logits[mask == 0].float() < -1e8).all()
    other.save(tmp_path / "weights")
    assert PairPolicy.load(tmp_path / "weights").hold.weight.dtype is torch.float32
    assert other.export(tmp_path / "net", rows=rows, least_equal=0.9).equal > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": 0}, "interval is 0; it must be a whole number from 1"),
        ({"temperature": -0.5}, "temperature is -0.5; it must be a finite number from 0 to 255"),
        ({"num_candidates": 100}, "num_candidates is 100; it must be a whole number from 1 to 64"),
        ({"least_equal": 2}, "least_equal is 2; it must be a finite number from 0 to 1"),
    ],
)
def test_options_of_an_export_are_checked(tmp_path, rows, options, message):
    with pytest.raises(ValueError, match=message):
        PairPolicy("small").export(tmp_path / "net", rows=rows, **options)
    assert not list(tmp_path.iterdir())


def test_calibration_rows_are_those_of_whole_games_between_bots(rows):
    assert rows.own.dtype == rows.pairs.dtype == np.int16
    assert len(np.unique(rows.own[:, 6])) > 50  # times of the game
    assert ((rows.pairs[:, :, THERE] > 0).sum(1) == rows.counts).all()
    assert not rows.pairs[:, :, 3:][rows.pairs[:, :, THERE] == 0].any()


def test_a_policy_of_games_with_teams_comes_back_and_is_not_exported(tmp_path):
    policy = PairPolicy("small", teams=True)
    policy.save(tmp_path / "team.safetensors")
    loaded = PairPolicy.load(tmp_path / "team.safetensors")
    assert loaded.teams
    assert all(torch.equal(one, policy.state_dict()[name]) for name, one in loaded.state_dict().items())
    with pytest.raises(ValueError, match="only a network made with teams=False can be exported"):
        policy.export(tmp_path / "network.safetensors")
    assert not (tmp_path / "network.safetensors").exists()
    with pytest.raises(TypeError, match="teams is 2; it must be True or False"):
        PairPolicy("small", teams=2)


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"no weights")
    with pytest.raises(ValueError, match=r"weights.safetensors' does not hold the weights of a PairPolicy"):
        PairPolicy.load(path)
    policy = PairPolicy("small")
    policy.size = "standard"  # the file says another size than its tensors have
    policy.save(path)
    with pytest.raises(ValueError, match=r"does not hold the weights of a PairPolicy: [^$]*size mismatch"):
        PairPolicy.load(path)
    PairPolicy("small").export(path, least_equal=0)
    with pytest.raises(ValueError, match="its format is"):
        PairPolicy.load(path)
    with pytest.raises(FileNotFoundError):
        PairPolicy.load(tmp_path / "missing")
