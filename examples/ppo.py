"""PPO in one file on the vector environment, against bots.

Three networks can learn, each from a form of observation:

    mlp        packed boards, which are decoded, pooled and encoded for each agent
    features   a vector of numbers for each agent, which is made of what is packed beside the boards
    pairs      some numbers of each owner that an agent can attack: it learns most in the same minutes

``encode_once.py`` adds a network that encodes a board once for all agents of its game. Needs PyTorch.

    python examples/ppo.py                                  five minutes on two cores
    python examples/ppo.py --save trained   the engine plays net:trained/network.safetensors
    python examples/ppo.py --num-games 32 --height 64 --width 64 --total-steps 100000
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import territorial
from territorial import GameConfig
from territorial.decode import feature_names, pooled_shape
from territorial.evaluation.intervals import Z
from territorial.files.safetensors import pieces
from territorial.nets import BoardPolicy, FeatureTrunk, PairPolicy, Policy
from territorial.observation.layout import ObsLayout


@dataclasses.dataclass
class Args:
    """Every option, with its default."""

    seed: int = 0
    network: str = "pairs"  # or another of NETWORKS
    height: int = 32
    width: int = 32
    num_players: int = 4
    agent_seats: int = 2  # seats that learn; bots have the others
    bot: str = "novice"
    decision_every: int = 50  # ticks: a policy that launches at every chance must not launch too often
    num_games: int = 16
    rollout: int = 64  # steps of every game between two updates
    total_steps: int = 40_000  # steps of single games
    epochs: int = 3
    minibatches: int = 8
    learning_rate: float = 5e-4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.003
    max_norm: float = 0.5
    eval_games: int = 64
    save: str = ""  # a folder for the trained weights, and of pairs the file that the engine plays


Seen = Mapping[str, np.ndarray]
"""What the environment shows of E games with A agents each: arrays (E, ...), or (E, A, ...) of agents."""


class OnBoards(nn.Module):
    """A ``Policy``, which decodes packed boards within: whom to attack, and how much to send."""

    obs, action_format = "packed", "multi_discrete"

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Return logits (N, P + 12), and values."""
        logits, embedding = self.policy(to_rows(seen))
        return logits, self.policy.values(embedding)

    def draw(self, logits: Tensor) -> Tensor:
        """Return int64 (N, 2)."""
        return self.policy.draw(logits)

    def log_probs(self, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return what they are of both parts; what holds has no fraction."""
        parts = logits.tensor_split([self.policy.num_targets], dim=1)
        first, second = (Categorical(logits=part, validate_args=False) for part in parts)
        launches = (actions[:, 0] > 0).float()
        chosen = first.log_prob(actions[:, 0]) + launches * second.log_prob(actions[:, 1])
        return chosen, first.entropy() + (1 - first.probs[:, 0]) * second.entropy()


class Trunk(nn.Module):
    """Pooled planes and features, flattened, through two layers."""

    decoding, embedding_size = "pooled", 128

    def __init__(self, layout: ObsLayout, config: GameConfig) -> None:
        super().__init__()
        size = int(np.prod(pooled_shape(layout, 8))) + len(feature_names(config))
        self.layers = nn.Sequential(
            nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, self.embedding_size), nn.Tanh()
        )

    def forward(self, boards: Tensor, features: Tensor) -> Tensor:
        """Return float32 (N, 128)."""
        return self.layers(torch.cat([boards.flatten(1), features], dim=1))


class OnPairs(nn.Module):
    """The small network on pairs, whose actions name one of the owners that it is shown."""

    obs, action_format = "pairs", "pairs"

    def __init__(self) -> None:
        super().__init__()
        self.policy = PairPolicy("small")

    def forward(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Return logits (N, 1 + 10 C), and values."""
        names = "own", "pairs", "action_mask"
        return self.policy(*(torch.from_numpy(seen[name]).flatten(0, 1) for name in names))

    def draw(self, logits: Tensor) -> Tensor:
        """Return int64 (N,); the logits of a ``PairPolicy`` are log-probabilities."""
        return logits.exp().multinomial(1)[:, 0]

    def log_probs(self, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Return those of one number."""
        return logits.gather(1, actions[:, None])[:, 0], -(logits.exp() * logits).sum(1)


ActorCritic = OnBoards | OnPairs
"""A network as PPO needs it: it looks at E games, and speaks of N = E * A agents.

It returns masked logits (N, M) and values (N,), draws an action for every row of logits, and says how likely
actions are, and the entropies of what they were drawn from.
"""
WEIGHTS, NETWORK = "weights.safetensors", "network.safetensors"
"""The files of what was trained."""
NETWORKS: dict[str, Callable[[ObsLayout, GameConfig], ActorCritic]] = {
    "mlp": lambda layout, config: OnBoards(BoardPolicy(layout, config, Trunk(layout, config))),
    "features": lambda layout, config: OnBoards(
        BoardPolicy(layout, config, FeatureTrunk(layout, config, width=128))
    ),
    "pairs": lambda layout, config: OnPairs(),
}
"""What makes each, by name."""


def make(args: Args, num_games: int, **options: Any) -> territorial.TerritorialVec:
    """Return games of the learning seats and bots; ValueError for a network that there is not."""
    if args.network not in NETWORKS:
        raise ValueError(f"network is {args.network!r}; it must be one of {', '.join(NETWORKS)}")
    kind = OnPairs if args.network == "pairs" else OnBoards
    seats = ["agent"] * args.agent_seats + [args.bot] * (args.num_players - args.agent_seats)
    return territorial.make_vec(
        num_games,
        height=args.height,
        width=args.width,
        num_players=args.num_players,
        seats=seats,
        obs=kind.obs,
        action_format=kind.action_format,
        frames=1,
        end_when="no_agents",
        decision_every=args.decision_every,
        max_ticks=4000,
        **options,
    )


def make_network(args: Args, env: territorial.TerritorialVec) -> ActorCritic:
    """Return the network as it begins."""
    return NETWORKS[args.network](env.game.layout, env.config)


def to_rows(seen: Seen) -> dict[str, Tensor]:
    """Return packed boards of E games as a ``Policy`` takes them: one row an agent, boards once a game."""
    tensors = {key: torch.tensor(array) for key, array in seen.items()}
    games, agents = tensors["seat"].shape[:2]
    rows = {key: tensors[key].flatten(0, 1) for key in ("seat", "action_mask")}
    shared = {key: tensors[key] for key in ("players", "borders", "globals")}
    frame = torch.arange(games).repeat_interleave(agents)[:, None]
    return rows | shared | {"observations": tensors["observation"], "frame": frame}


def advantages_of(args: Args, rewards: Tensor, values: Tensor, dones: Tensor, last: Tensor) -> Tensor:
    """Return the generalised advantage estimates, (T, N)."""
    result, running, following = torch.zeros_like(rewards), torch.zeros_like(last), last
    for t in reversed(range(len(rewards))):
        goes_on = 1 - dones[t]
        delta = rewards[t] + args.gamma * following * goes_on - values[t]
        running = delta + args.gamma * args.gae_lambda * goes_on * running
        result[t], following = running, values[t]
    return result


@torch.no_grad()
def choose(network: ActorCritic, seen: Seen, shape: tuple[int, int]) -> dict[str, Tensor]:
    """Return ``actions`` that are drawn for the agents of E games, how likely they are, and ``values``.

    ``shape``: games, and agents of each.
    """
    logits, values = network(seen)
    actions = network.draw(logits)
    logp, _ = network.log_probs(logits, actions)
    found = {"actions": actions, "logp": logp, "values": values}
    return {name: part.unflatten(0, shape) for name, part in found.items()}


def batch_of(args: Args, frames: list[Seen], steps: list[dict[str, Tensor]], last: Tensor) -> dict:
    """Return what there is to learn from a rollout; ``last``: the values of what comes after it."""
    batch: dict = {name: torch.stack([step[name] for step in steps]) for name in steps[0]}
    values, dones = batch.pop("values"), batch.pop("dones")
    batch["advantages"] = advantages_of(args, batch.pop("rewards"), values, dones, last)
    batch["returns"] = batch["advantages"] + values
    batch = {name: tensor.flatten(0, 1) for name, tensor in batch.items()}
    batch["seen"] = {name: np.concatenate([frame[name] for frame in frames]) for name in frames[0]}
    return batch


@torch.no_grad()
def mean_place(args: Args, network: ActorCritic, seed: int) -> tuple[float, float]:
    """Return the mean place of the learning seats over whole games, and half its 95 % interval."""
    env = make(args, args.eval_games, autoreset="disabled")
    seen, info = env.reset(seed)
    torch.manual_seed(seed)
    has_ended = np.zeros(args.eval_games, bool)
    while not has_ended.all():
        actions = choose(network, seen, (args.eval_games, args.agent_seats))["actions"]
        seen, *_, info = env.step(actions.numpy())
        has_ended |= info["is_over"]
    # The agents of a game share its luck: a game is one draw.
    places = info["place"].mean(axis=1)
    return float(places.mean()), float(Z * places.std(ddof=1) / len(places) ** 0.5)


def update(args: Args, network: ActorCritic, optimizer: torch.optim.Optimizer, batch: dict) -> float:
    """Learn from a rollout, in minibatches of whole games at a step; return the last loss."""
    loss = torch.zeros(())
    for _ in range(args.epochs):
        for chosen in torch.randperm(len(batch["actions"])).tensor_split(args.minibatches):
            seen = {key: array[chosen.numpy()] for key, array in batch["seen"].items()}
            rows = {key: batch[key][chosen].flatten(0, 1) for key in batch if key != "seen"}
            alive = rows["alive"].bool()
            logits, values = network(seen)
            new, entropy = network.log_probs(logits, rows["actions"])
            ratio = (new - rows["logp"]).exp()[alive]
            gain = rows["advantages"][alive]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            surrogate = torch.min(ratio * gain, ratio.clamp(1 - args.clip, 1 + args.clip) * gain)
            error = (values - rows["returns"])[alive].square()
            loss = -surrogate.mean() + 0.5 * error.mean() - args.entropy * entropy[alive].mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), args.max_norm)
            optimizer.step()
    return loss.item()


def train(args: Args, goes_on: Callable[[int, float], bool] | None = None) -> tuple[ActorCritic, int]:
    """Return a trained network, and how many launches were not legal.

    ``goes_on``: gets the steps so far and the mean place of the games that ended lately, after each
    iteration, and says whether there is to be another.
    """
    torch.manual_seed(args.seed)
    env = make(args, args.num_games)
    network = make_network(args, env)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    seen, info = env.reset(args.seed)
    started, illegal, shape = time.perf_counter(), 0, (args.num_games, args.agent_seats)
    for iteration in range(1, args.total_steps // (args.rollout * args.num_games) + 1):
        steps, frames, places = [], [], []
        for _ in range(args.rollout):
            step = choose(network, seen, shape)
            step["alive"] = torch.from_numpy(info["alive"])
            frames.append(seen)
            seen, rewards, ends, cuts, info = env.step(step["actions"].numpy())
            step["rewards"] = torch.from_numpy(rewards)
            step["dones"] = torch.from_numpy(ends | cuts).float()
            steps.append(step)
            if info["is_over"].any():
                places += info["final_info"]["place"].ravel().tolist()
                illegal += int(info["final_info"]["illegal"].sum())
        batch = batch_of(args, frames, steps, choose(network, seen, shape)["values"])
        loss = update(args, network, optimizer, batch)
        rate = iteration * args.rollout * args.num_games / (time.perf_counter() - started)
        place = float(np.mean(places)) if places else float("nan")
        print(f"iteration {iteration}: loss {loss:.3f}, mean place {place:.2f}, {rate:,.0f} game steps/s")
        if goes_on is not None and not goes_on(iteration * args.rollout * args.num_games, place):
            break
    return network, illegal + int(info["illegal"].sum())


def save(args: Args, network: ActorCritic) -> None:
    """Write the weights as arrays; a network on pairs also in whole numbers, as the engine plays it."""
    folder = Path(args.save)
    with open(folder / WEIGHTS, "wb") as file:
        file.writelines(pieces({name: part.numpy() for name, part in network.state_dict().items()}))
    if isinstance(network, OnPairs):
        report = network.policy.export(folder / NETWORK, interval=args.decision_every)
        print(f"in whole numbers: {report}")


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Train, and compare with the untrained policy; return what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in dataclasses.fields(Args):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), default=field.default)
    args = Args(**vars(parser.parse_args(argv)))
    if args.save:  # now, as training for nothing would be worse than an error
        Path(args.save).mkdir(parents=True, exist_ok=True)
        if there := [name for name in (WEIGHTS, NETWORK) if (Path(args.save) / name).exists()]:
            parser.error(f"argument --save: {args.save!r} has {there[0]} already; choose another folder")
    network, illegal = train(args)
    if args.save:
        save(args, network)
    torch.manual_seed(args.seed)
    untrained = make_network(args, make(args, 1))
    result: dict[str, float] = {"illegal": illegal}
    for name, player in (("trained", network), ("untrained", untrained)):
        place, half = mean_place(args, player, seed=1_000_000 + args.seed)
        result |= {name: place, f"{name}_half_interval": half}
        print(f"{name}: mean place {place:.2f} +- {half:.2f} of {args.num_players}")
    print(f"launches that were not legal: {illegal}")
    return result


if __name__ == "__main__":
    main()
