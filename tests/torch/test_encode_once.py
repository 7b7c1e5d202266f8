"""The encode-once network: one look at a game for all seats, no seat by its number, games of any size."""

import itertools

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from territorial import GameConfig, VecGame
from territorial.decode.numpy import Decoder
from territorial.nets import encode_once
from territorial.nets.encode_once import SIZES, EncodeOncePolicy, Size
from territorial.nets.players import rows_of
from territorial.observation.action_encoding import action_owners
from territorial.observation.layout import PLAYERS as PLAYER_COLUMNS
from territorial.observation.layout import index
from tests.episodes import after_steps
from tests.torch.support import SMALL, seen_by, whole

PLAYERS = SMALL.num_players
SEATS = list(range(1, PLAYERS + 1))
LAYOUT, SEEN = seen_by(SMALL, SEATS, steps=60)


def policy_with_opinions(layout=LAYOUT, config=SMALL, **settings):
    """A policy whose heads are not nearly even, so that differences would show."""
    torch.manual_seed(3)
    policy = EncodeOncePolicy(layout, config, **settings)
    with torch.no_grad():
        for head in (policy.target_head, policy.seat_head[-1], policy.value_head[-1]):
            head.weight.mul_(100)
    return policy


def outputs(policy, seen):
    with torch.no_grad():
        logits, embedding = policy(seen)
        return logits, policy.values(embedding)


def relabelled(seen, new):
    """The same game with other seat numbers: seat p becomes ``new[p - 1]``; rows stay in their order."""
    codes = Decoder(LAYOUT).owners(seen["observations"].numpy(), np.ones(1, int), np.zeros(1, int))[:, ::-1]
    lookup = np.array([0, *new, PLAYERS + 1], np.uint8)
    boards = lookup[codes]
    bits = boards[:, :, None] >> np.arange(LAYOUT.num_planes)[:, None, None] & 1
    planes = np.packbits(bits.astype(np.uint8), axis=-1, bitorder="little")
    planes[:, 1:] ^= planes[:, :-1].copy()  # entries behind the newest are differences
    old = np.argsort([0, *new])  # by new code the old one
    return seen | {
        "observations": torch.from_numpy(planes),
        "players": seen["players"][:, old[1:] - 1],
        "borders": seen["borders"][:, :, old][:, :, :, old],
        "seat": torch.tensor(new)[seen["seat"].long() - 1],
    }


def by_owner(logits, seats):
    """Logits of targets in ego order as (N, P + 1) by owner code, and the others."""
    ego = torch.from_numpy(action_owners(PLAYERS)[:, 1:])[seats.flatten().long() - 1]
    targets = torch.empty(len(logits), PLAYERS + 1).scatter_(1, ego, logits[:, 1 : PLAYERS + 2])
    return targets, torch.cat([logits[:, :1], logits[:, PLAYERS + 2 :]], 1)


@pytest.mark.parametrize("new", [[2, 3, 4, 5, 1], [5, 4, 3, 2, 1], [3, 1, 5, 2, 4]])
def test_relabelling_seats_relabels_the_outputs(new):
    policy = policy_with_opinions()
    free = SEEN | {"action_mask": torch.ones_like(SEEN["action_mask"])}  # all that is computed is to be seen
    before, values = outputs(policy, free)
    other = relabelled(free, new)
    after, values_after = outputs(policy, other)
    assert not torch.equal(other["observations"], free["observations"])
    there, rest = by_owner(before, free["seat"])
    there_after, rest_after = by_owner(after, other["seat"])
    codes = [0, *new]
    torch.testing.assert_close(there_after[:, codes], there, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(rest_after, rest, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(values_after, values, rtol=1e-4, atol=1e-4)
    assert there.std() > 1e-3  # and there was something to be told apart
    assert values.std() > 1e-3


def played(agents, steps=120):
    """What some seats of several games see in which others have been eliminated."""
    config = GameConfig(height=32, width=32, num_players=8, num_maps=3)
    game = after_steps(VecGame(config, 5, frames=1, seats=["random", "metronome"] * 4), steps, seed=1)
    seen, random = game.observations, np.random.default_rng(0)
    games, seats = np.nonzero(random.random((5, 8)) < agents)
    return config, rows_of(seen, games, seats + 1), game.layout


def learned(policy, seen, weights):
    """Logits, values, and the gradients of all weights by both."""
    policy.zero_grad()
    logits, own = policy(seen)
    values = policy.values(own)
    (logits.clamp(min=-100) * weights).sum().backward(retain_graph=True)
    values.pow(2).sum().backward()
    return logits.detach(), values.detach(), [one.grad.clone() for one in policy.parameters()]


@pytest.mark.parametrize("size", ["tables", "small"])
def test_what_learns_leaves_out_what_counts_nothing_and_learns_the_same(size, monkeypatch):
    config, seen, layout = played(agents=0.5)
    policy = policy_with_opinions(layout, config, size=size)
    torch.nn.init.normal_(policy.to_neutral)
    weights = torch.randn(seen["action_mask"].shape, generator=torch.Generator().manual_seed(1))
    counts = []
    policy.between.register_forward_hook(lambda _, inputs, __: counts.append(inputs[0][..., 0].numel()))
    found = [learned(policy, seen, weights)]
    every = EncodeOncePolicy._targets
    monkeypatch.setattr(EncodeOncePolicy, "_legal_targets", lambda *given: every(*given[:-1]))
    found.append(learned(policy, seen, weights))
    mine, theirs = found
    legal = seen["action_mask"][:, 1 : config.num_players + 2]
    assert counts == [int((legal > 0).sum()), legal.numel()]
    for one, other in ((mine[0], theirs[0]), (mine[1], theirs[1])):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    for one, other in zip(mine[2], theirs[2], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
    largest = max(float(one.abs().max()) for one in theirs[2])
    assert largest > 1


def test_seats_are_told_apart_by_what_the_board_shows():
    policy = policy_with_opinions()
    _, values = outputs(policy, SEEN)
    emptied = SEEN | {"observations": torch.zeros_like(SEEN["observations"])}
    assert (outputs(policy, emptied)[1] - values).abs().max() > 1e-3


def test_one_that_reads_tables_alone_looks_at_no_board():
    policy = policy_with_opinions(size="tables")
    before = outputs(policy, SEEN)
    emptied = SEEN | {"observations": torch.zeros_like(SEEN["observations"])}
    for a, b in zip(before, outputs(policy, emptied), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    poor = SEEN | {"players": 0.5 * SEEN["players"]}
    assert (outputs(policy, poor)[1] - before[1]).abs().max() > 1e-3
    assert not any("trunk" in name or "paint" in name for name in policy.state_dict())


def test_shares_are_those_of_the_board():
    policy = EncodeOncePolicy(LAYOUT, SMALL, size=Size(10, 4, (8,), 16, 2, 1))
    assert policy.factor == 4
    shares = policy.shares(SEEN["observations"])
    assert shares.shape == (1, LAYOUT.frames, PLAYERS + 2, 8, 10)
    codes = Decoder(LAYOUT).owners(SEEN["observations"].numpy(), np.ones(1, int), np.zeros(1, int))
    for owner in range(PLAYERS + 2):
        squares = (codes == owner).reshape(1, LAYOUT.frames, 8, 4, 10, 4).mean((3, 5))
        np.testing.assert_array_equal(shares[:, :, owner].numpy(), squares.astype(np.float32))


def test_what_lies_beyond_the_map_is_blocked():
    config = GameConfig(height=33, width=40, num_players=3)
    layout, seen = seen_by(config, [1, 2], frames=1)
    policy = EncodeOncePolicy(layout, config, size=Size(10, 4, (8,), 16, 2, 1))
    shares = policy.shares(seen["observations"])
    assert shares.shape == (1, 1, 5, 9, 10)
    assert torch.equal(shares.sum(2), torch.ones(1, 1, 9, 10))
    assert (shares[0, 0, 4, 8] >= 0.75).all()


@pytest.mark.parametrize(("height", "width", "grid"), [(64, 64, 8), (33, 60, 8), (33, 60, 5), (40, 64, 4)])
def test_listed_shares_are_those_of_the_board_and_paint_the_same(height, width, grid):
    config = GameConfig(height=height, width=width, num_players=5)
    game = VecGame(config, 3, frames=3, seats=["metronome"] * 5)
    game.reset(4)
    for _ in range(20):
        obs, *_ = game.step()
    planes = torch.from_numpy(obs.planes.copy())
    policy = EncodeOncePolicy(game.layout, config, size=Size(grid, 4, (8,), 16, 2, 1))
    listed = policy._listed_shares(planes)
    shares = policy.shares(planes)  # by tensor operations
    torch.testing.assert_close(policy._dense(listed), shares)
    at_end = torch.nn.functional.adaptive_avg_pool2d(shares[:, -1, 1:-1], policy._end)
    torch.testing.assert_close(listed["territory"], encode_once._parts(at_end))
    assert (shares > 0).sum() > 1.1 * shares[:, :, 0].numel()  # some squares are mixed
    assert not torch.equal(shares[:, 0], shares[:, -1])  # older frames are others
    views, colours = encode_once.GameViews(torch.arange(4), torch.tensor([2, 0, 0, 1])), torch.randn(4, 7, 4)
    wanted = torch.einsum("efohw,eoc->efchw", views.of(shares), colours).flatten(1, 2)
    torch.testing.assert_close(policy._painting(listed, colours, views), wanted)


def test_games_that_one_network_prepared_are_read_by_all(monkeypatch):
    sizes = {name: Size(grid, 4, channels, 16, 2, 1) for name, grid, channels in FORMS}
    policies = {name: policy_with_opinions(size=size) for name, size in sizes.items()}
    policies["tables"] = policy_with_opinions(size="tables")
    listed, lists = [], EncodeOncePolicy._listed_shares
    monkeypatch.setattr(
        EncodeOncePolicy, "_listed_shares", lambda *given: listed.append(given[0]) or lists(*given)
    )
    for first, second in itertools.product(policies, repeat=2):
        alone = outputs(policies[second], SEEN)
        listed.clear()
        with torch.no_grad():
            prepared = policies[first].prepare(SEEN)
        for one, other in zip(outputs(policies[second], prepared), alone, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        with_boards = [name for name in dict.fromkeys((first, second)) if name != "tables"]
        assert [id(policy) for policy in listed] == [id(policies[name]) for name in with_boards]
        with torch.no_grad():
            assert policies[second].prepare(prepared)["between"] is prepared["between"]


FORMS = ("coarse", 4, (8,)), ("fine", 8, (8,)), ("deep", 8, (8, 8))
"""Networks that prepare boards each in another way: of squares, or of the end of the trunk."""


@pytest.mark.parametrize("size", ["tables", Size(8, 4, (8,), 16, 2, 2)])
def test_without_gradients_the_logits_are_those_with(size):
    policy = policy_with_opinions(size=size)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    seen = SEEN | {"players": SEEN["players"].clone()}
    seen["players"][0, 2, index(PLAYER_COLUMNS, "alive")] = 0
    logits, embedding = policy(seen)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            torch.testing.assert_close(policy(seen), (logits, embedding), rtol=1e-4, atol=1e-4)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(policy(seen)[0].float(), logits, rtol=0.1, atol=0.1)


def counted(policy, seen):
    """How often the trunk ran and over how many games, and the multiplications of everything."""
    calls = []
    hook = policy.trunk.register_forward_hook(lambda _, inputs, __: calls.append(len(inputs[0])))
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        policy(seen)
    hook.remove()
    return calls, counter.get_total_flops() / 2


def test_a_game_is_encoded_once_and_further_seats_cost_next_to_nothing():
    config = GameConfig()
    layout, seen = seen_by(config, list(range(1, 33)), frames=4, steps=2)
    policy = EncodeOncePolicy(layout, config)
    one = seen | {name: seen[name][:1] for name in ("seat", "frame", "action_mask")}
    calls, for_all = counted(policy, seen)
    assert calls == [1]
    for_one = counted(policy, one)[1]
    apart_calls, apart = counted(policy, whole(seen))
    assert apart_calls == [32]
    assert for_all < 1.4 * for_one
    assert apart > 23 * for_all


def test_only_games_that_rows_are_of_are_encoded():
    game = VecGame(SMALL, 4, frames=1, seats=["metronome"] * PLAYERS)
    game.reset(3)
    for _ in range(30):
        obs, *_ = game.step()
    shared = {"observations": obs.planes, "players": obs.players, "borders": obs.borders}
    seen = {name: torch.from_numpy(part.copy()) for name, part in (shared | {"globals": obs.globals}).items()}
    games, seats = torch.tensor([3, 1, 3, 3]), torch.tensor([2, 1, 5, 2])
    mask = torch.ones((4, PLAYERS + 12), dtype=torch.int8)
    seen |= {"seat": seats[:, None], "frame": games[:, None], "action_mask": mask}
    policy = policy_with_opinions(game.layout)
    assert counted(policy, seen)[0] == [2]
    logits, values = outputs(policy, seen)
    apart_logits, apart_values = outputs(policy, whole(seen))
    torch.testing.assert_close(logits, apart_logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(values, apart_values, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits[0], logits[3], rtol=1e-4, atol=1e-4)  # the same seat of the same game
    assert (logits[0] - logits[1]).abs().max() > 1e-2


@pytest.mark.parametrize(("players", "side"), [(2, 16), (8, 64), (60, 100)])
def test_one_set_of_weights_plays_games_of_any_number_of_players_and_any_size(players, side):
    config = GameConfig(height=side, width=side + 3, num_players=players)
    layout, seen = seen_by(config, list(range(1, players + 1)))
    fresh, moved = policy_with_opinions(layout, config), policy_with_opinions()
    assert {name: part.shape for name, part in fresh.state_dict().items()} == {
        name: part.shape for name, part in moved.state_dict().items()
    }
    moved.set_game(layout, config)
    logits, values = outputs(moved, seen)
    assert logits.shape == (players, players + 12)
    torch.testing.assert_close(logits, outputs(fresh, seen)[0], rtol=1e-4, atol=1e-4)
    assert torch.isfinite(values).all()


def test_the_dead_are_not_attended_to():
    players = SEEN["players"].clone()
    dead, column = 3, 0  # the column `alive`
    players[:, dead - 1, column] = 0
    seen = SEEN | {"players": players}
    changed = players.clone()
    changed[:, dead - 1, 1:] += 0.5
    policy = policy_with_opinions()
    board = {"observations": torch.zeros_like(SEEN["observations"])}  # where a painting would tell of them
    before, after = outputs(policy, seen | board)[1], outputs(policy, seen | board | {"players": changed})[1]
    living = torch.arange(PLAYERS) != dead - 1
    torch.testing.assert_close(after[living], before[living], rtol=1e-4, atol=1e-4)
    assert (after[~living] - before[~living]).abs() > 1e-3


@pytest.mark.parametrize("size", SIZES)
def test_everything_learns(size):
    policy = EncodeOncePolicy(LAYOUT, SMALL, size=size)
    seen = SEEN | {"action_mask": torch.ones_like(SEEN["action_mask"])}
    logits, embedding = policy(seen)
    (logits.softmax(1).square().sum() + policy.values(embedding).sum()).backward()
    for name, weight in policy.named_parameters():
        assert weight.grad is not None, name
        assert torch.isfinite(weight.grad).all(), name
        assert weight.grad.abs().max() > 0, name


def test_what_cannot_be_is_refused_by_name():
    with pytest.raises(ValueError, match="size is 'huge'; it must be one of small, medium, large, tables"):
        EncodeOncePolicy(LAYOUT, SMALL, size="huge")
    other = seen_by(SMALL, [1], frames=2)[0]
    with pytest.raises(ValueError, match="made for stacks of 4 frames; the layout has 2"):
        EncodeOncePolicy(LAYOUT, SMALL).set_game(other, SMALL)
