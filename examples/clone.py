#!/usr/bin/env python3
"""Trains a network to imitate the players of a data set: behaviour cloning in plain PyTorch.

    territorial dataset games --games 600 --seats besieger,settler --every-ticks 50 --discount 0.9994
    python examples/clone.py games runs/clone
    territorial match --seats net:runs/clone/network.safetensors,banker

It learns the probabilities of actions, and the values of states from the returns in the data set. In the end
the folder has ``weights.safetensors``, from which training can continue, and ``network.safetensors``, which
plays as ``net:FILE``. The same command resumes after the last whole epoch.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from territorial.files.atomic import check_unused, own_folder
from territorial.league.checkpoints import Checkpoints
from territorial.nets import PairPolicy
from territorial.observation.action_encoding import what_of
from territorial.replay import Decisions
from territorial.training import Dataset

HELD_OUT = 10  # of so many games in a row the last is held out: it says how well others are imitated
MIXED = 2**18  # rows of several shards that are mixed, some 130 MB
UNIT = 4096  # of the columns
CHECKPOINTS, STATE = "checkpoints", "state.pt"
WEIGHTS, NETWORK = "weights.safetensors", "network.safetensors"


def taken(rows, numbers):
    """Return some of the rows."""
    return Decisions(*(array[numbers] for array in rows))


def usable(shard, chosen):
    """Return the ``chosen`` rows of a shard with an action that is a legal candidate."""
    rows = taken(shard, chosen & (shard.action >= 0))
    return taken(rows, rows.action_mask[np.arange(len(rows.action)), rows.action] > 0)


def is_held_out(shard):
    """Return for each row of a shard whether its game is held out."""
    return shard.game % HELD_OUT == HELD_OUT - 1


def minibatches(data, size, seed, epoch):
    """Yield the rows of an epoch in an order that follows from the seed and the number of the epoch."""
    rng = np.random.default_rng((seed, epoch))
    order, parts = rng.permutation(len(data)).tolist(), []
    for number in order:
        shard = data[number]
        parts.append(usable(shard, ~is_held_out(shard)))
        if sum(len(part.action) for part in parts) >= MIXED or number == order[-1]:
            rows = Decisions(*map(np.concatenate, zip(*parts, strict=True)))
            mixed, parts = rng.permutation(len(rows.action)), []
            for first in range(0, len(mixed), size):
                yield taken(rows, mixed[first : first + size])


def decided(policy, rows):
    """Return the logits and values of a policy in the states of some rows, and the actions taken there."""
    own, pairs = (torch.from_numpy(array.astype(np.float32) / UNIT) for array in (rows.own, rows.pairs))
    logits, values = policy(own, pairs, torch.from_numpy(rows.action_mask))
    return logits, values, torch.from_numpy(rows.action.astype(np.int64))


def learn(policy, optimizer, rows, value_weight):
    """Learn from a minibatch; return the cross-entropy of its actions, in nats."""
    logits, values, actions = decided(policy, rows)
    loss = functional.nll_loss(logits, actions)
    errors = (values - torch.from_numpy(rows.returns)).square().mean()
    optimizer.zero_grad()
    (loss + value_weight * errors).backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), max_norm=1.0)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def agreement(policy, data):
    """Return what is true of the decisions held out, bool (N, 3).

    Whether the policy's likeliest action is the one taken, whether it has its target, and whether it holds.
    """
    found = []
    for shard in data:
        logits, _, actions = decided(policy, usable(shard, is_held_out(shard)))
        chosen = policy.greedy(logits)
        found.append(torch.stack([chosen == actions, what_of(chosen) == what_of(actions), actions == 0], 1))
    return torch.cat(found)


def clone(parsed):
    """Clone the players of a data set, or go on where that was stopped, and write the network."""
    data, folder = Dataset(parsed.data), own_folder(parsed.folder)
    manifest, recipe = data.manifest, data.manifest.recipe
    if manifest.games < HELD_OUT:
        raise ValueError(f"{parsed.data} has {manifest.games} games; it must have at least {HELD_OUT}")
    if not manifest.is_current:
        raise ValueError(f"{parsed.data} has other columns than this release; make it again")
    digests = " ".join(shard.digest[:8] for shard in manifest.shards)
    settings = vars(parsed) | {"data": digests, "folder": None}  # a run may be moved
    torch.manual_seed(parsed.seed)
    policy = PairPolicy(parsed.network_size, teams=recipe.has_teams)
    optimizer = torch.optim.Adam(policy.parameters(), fused=True)
    check_unused(folder, (WEIGHTS, NETWORK), CHECKPOINTS)
    checkpoints, begun = Checkpoints(folder / CHECKPOINTS, keep=1), 0
    if (latest := checkpoints.latest()) is not None:
        begun, state = checkpoints.steps()[-1], torch.load(latest / STATE, weights_only=True)
        for name, value in settings.items():
            if state["settings"][name] != value:
                raise ValueError(f"{name} is {value!r}; {folder} began with {state['settings'][name]!r}")
        policy.load_state_dict(state["policy"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in range(begun, parsed.epochs):
        seen, loss = 0, 0.0
        for rows in minibatches(data, parsed.minibatch, parsed.seed, epoch):
            done = epoch + min(1.0, seen / manifest.rows)  # of all epochs
            optimizer.param_groups[0]["lr"] = parsed.learning_rate * (1 - done / parsed.epochs)
            loss = learn(policy, optimizer, rows, parsed.value_weight)
            seen += len(rows.action)
        state = {"settings": settings, "policy": policy.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoints.write(epoch + 1, lambda made, state=state: torch.save(state, made / STATE))
        print(f"epoch {epoch + 1} of {parsed.epochs}: loss {loss:.3f}", flush=True)
    equal, targets, holds = agreement(policy, data).float().mean(0).tolist()
    print(f"other games: {equal:.1%} of the actions agree, {targets:.1%} of the targets; {holds:.1%} hold")
    policy.save(folder / WEIGHTS)
    if not recipe.has_teams:  # the engine shows no allies to networks
        options = {"interval": recipe.every or 50, "num_candidates": recipe.num_candidates}
        print(f"in whole numbers: {policy.export(folder / NETWORK, least_equal=0, **options)}")


def main(argv=None):
    """Clone the players of a data set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", metavar="DATASET", type=Path, help="folder that `territorial dataset` wrote")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder of all that is written")
    for name, default, meaning in (
        ("network-size", "standard", "size of the network: small or standard"),
        ("epochs", 8, "passes over the data set"),
        ("minibatch", 1024, "rows of a minibatch"),
        ("learning-rate", 1e-3, "learning rate of Adam as it begins; it falls to 0"),
        ("value-weight", 0.5, "weight of the squared error of values in the loss"),
        ("seed", 0, "of the first weights and of the order of rows"),
    ):
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{meaning} (default %(default)s)"
        )
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    try:
        clone(parsed)
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
