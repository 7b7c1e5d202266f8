"""PPO for teams in one file: allies share network and reward.

All allies act by one ``PairPolicy``, each on its own numbers. They can attack enemies and give to allies.
Their reward is that of the team. What estimates the return, the critic, is one of two:

    own       the policy's own, from the numbers of each agent: independent PPO
    central   a network that reads the board, which all share, and speaks of the team: a centralised critic

After training the same network plays games with gifts, and games in which it cannot give. Needs PyTorch.

    python examples/teams_ppo.py                                     three minutes on one core
    python examples/teams_ppo.py --critic own --total-steps 20000    a shorter look at the other critic
"""

import argparse
import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import territorial
from territorial.constants import NUM_CANDIDATES, NUM_FRACTIONS
from territorial.decode import feature_names, pooled_shape
from territorial.decode.torch import Decoder
from territorial.evaluation.intervals import Z
from territorial.nets import PairPolicy

CRITICS = ("central", "own")
POOL = 8
"""Cells a side of the squares that the central critic sees."""
FIRST_GIFT = NUM_FRACTIONS * NUM_CANDIDATES + 1
"""The first action that names an ally: the rows for allies come after those for candidates."""
GIFT_BIAS = -5.0
"""What is added to the logits of gifts: else a new network would mostly give, as that is legal most often."""


@dataclasses.dataclass
class TeamArgs:
    """Every option, with its default."""

    seed: int = 0
    critic: str = "central"  # or another of CRITICS
    side: int = 48
    allies: int = 4  # the team that learns; its enemies are as many bots
    bot: str = "drip"
    decision_every: int = 20
    max_ticks: int = 3000
    num_games: int = 64
    rollout: int = 32  # steps of every game between two updates
    total_steps: int = 600_000  # steps of single games
    epochs: int = 3
    minibatches: int = 8
    learning_rate: float = 1e-3
    gamma: float = 0.995
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.003
    max_norm: float = 0.5
    eval_games: int = 100


class BoardCritic(nn.Module):
    """What the board is worth for a team. It reads pooled planes, enemies and allies apart, and numbers.

    One answer is for all members. It is only needed while learning, so it may see what no agent does.
    """

    def __init__(self, env: territorial.TerritorialVec) -> None:
        super().__init__()
        self.decoder = Decoder(env.game.layout, env.config)
        size = int(np.prod(pooled_shape(env.game.layout, POOL))) + len(feature_names(env.config))
        self.layers = nn.Sequential(
            nn.Linear(size, 128), nn.Tanh(), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 1)
        )

    def look(self, seen: Mapping[str, np.ndarray]) -> Tensor:
        """Return float32 (E, size): what it reads of E games, as the first member of the team sees them."""
        planes, players, borders, globals_ = (
            torch.tensor(seen[name]) for name in ("observation", "players", "borders", "globals")
        )
        first = torch.from_numpy(seen["seat"][:, 0, 0]).long()
        pooled = self.decoder.pooled(planes, first, players, borders, factor=POOL)
        return torch.cat([pooled.flatten(1), self.decoder.features(players, borders, globals_, first)], dim=1)

    def forward(self, looked: Tensor) -> Tensor:
        """Return float32 (E,)."""
        return torch.flatten(self.layers(looked))


class Team(nn.Module):
    """The policy of all members, and the critic."""

    def __init__(self, args: TeamArgs, env: territorial.TerritorialVec) -> None:
        super().__init__()
        self.policy = PairPolicy("small", teams=True)
        self.critic = BoardCritic(env) if args.critic == "central" else None

    def forward(self, rows: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return log-probabilities (E, A, M) and values (E, A) of what E games show A agents each."""
        games, agents = rows["own"].shape[:2]
        logits, values = self.policy(*(rows[name].flatten(0, 1) for name in ("own", "pairs", "mask")))
        gifts = logits[:, FIRST_GIFT:] + GIFT_BIAS
        logits = torch.cat([logits[:, :FIRST_GIFT], gifts], dim=1).log_softmax(1)
        if self.critic is not None:
            values = self.critic(rows["board"]).repeat_interleave(agents)
        return logits.unflatten(0, (games, agents)), values.view(games, agents)


def make(args: TeamArgs, num_games: int, **options: Any) -> territorial.TerritorialVec:
    """Return games of the team against as many bots; ValueError for a critic that there is not."""
    if args.critic not in CRITICS:
        raise ValueError(f"critic is {args.critic!r}; it must be one of {', '.join(CRITICS)}")
    return territorial.make_vec(
        num_games,
        height=args.side,
        width=args.side,
        num_players=2 * args.allies,
        seats=["agent"] * args.allies + [args.bot] * args.allies,
        obs="packed",
        frames=1,
        action_format="pairs",
        num_allies=args.allies - 1,
        teams=2,
        team_spawns="together",
        rewards={"team_land": 1, "placement": 1},
        end_when="no_agents",
        decision_every=args.decision_every,
        max_ticks=args.max_ticks,
        **options,
    )


def rows_of(
    args: TeamArgs, env: territorial.TerritorialVec, team: Team, seen: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Return what the networks read of E games: numbers and masks of agents, and the board if wanted."""
    shape = env.num_envs, args.allies
    games = np.repeat(np.arange(env.num_envs), args.allies)
    found = env.game.pairs(games, env.agent_seats.ravel(), num_allies=args.allies - 1)
    numbers = {"own": found.own, "pairs": found.pairs}
    rows = {name: torch.from_numpy(array).unflatten(0, shape) for name, array in numbers.items()}
    rows["mask"] = torch.from_numpy(seen["action_mask"])
    return rows if team.critic is None else rows | {"board": team.critic.look(seen)}


def draw(logits: Tensor) -> Tensor:
    """Return an action of every agent; logits are log-probabilities."""
    return logits.flatten(0, 1).exp().multinomial(1).view(logits.shape[:2])


def advantages_of(args: TeamArgs, kept: Mapping[str, Tensor], last: Tensor) -> Tensor:
    """Return the generalised advantage estimates (T, E, A); ``last``: the values of what came next."""
    found, running, following = torch.zeros_like(kept["values"]), torch.zeros_like(last), last
    for t in reversed(range(len(found))):
        goes_on = 1 - kept["ends"][t]
        error = kept["rewards"][t] + args.gamma * following * goes_on - kept["values"][t]
        running = error + args.gamma * args.gae_lambda * goes_on * running
        found[t], following = running, kept["values"][t]
    return found


def update(args: TeamArgs, team: Team, optimizer: torch.optim.Optimizer, kept: Mapping[str, Tensor]) -> None:
    """Learn from a rollout: clipped PPO, in minibatches of games at a step."""
    for _ in range(args.epochs):
        for chosen in torch.randperm(len(kept["actions"])).tensor_split(args.minibatches):
            part = {name: tensor[chosen] for name, tensor in kept.items()}
            lives = part["lives"] > 0  # the dead of a team that is in can only hold
            logits, values = team(part)
            taken = logits.gather(2, part["actions"][..., None])[..., 0]
            ratio, gain = (taken - part["taken"]).exp()[lives], part["advantages"][lives]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            surrogate = torch.min(ratio * gain, ratio.clamp(1 - args.clip, 1 + args.clip) * gain)
            entropy = -(logits.exp() * logits).sum(2)[lives].mean()
            error = (values - part["returns"])[lives].square().mean()
            optimizer.zero_grad()
            (0.5 * error - surrogate.mean() - args.entropy * entropy).backward()
            nn.utils.clip_grad_norm_(team.parameters(), args.max_norm)
            optimizer.step()


def train(args: TeamArgs) -> Team:
    """Return the trained team; print the figures of every iteration."""
    torch.manual_seed(args.seed)
    started = time.perf_counter()
    env = make(args, args.num_games)
    team = Team(args, env)
    optimizer = torch.optim.Adam(team.parameters(), lr=args.learning_rate)
    seen, info = env.reset(args.seed)
    rows = rows_of(args, env, team, seen)
    for iteration in range(1, args.total_steps // (args.rollout * args.num_games) + 1):
        steps: list[dict[str, Tensor]] = []
        places: list[float] = []
        for _ in range(args.rollout):
            with torch.no_grad():
                logits, values = team(rows)
            actions = draw(logits)
            taken = logits.gather(2, actions[..., None])[..., 0]
            step = rows | {"actions": actions, "taken": taken, "values": values}
            step["lives"] = torch.from_numpy(info["alive"])
            seen, rewards, terminations, truncations, info = env.step(actions.numpy())
            step["rewards"] = torch.from_numpy(rewards).float()
            step["ends"] = torch.from_numpy(terminations | truncations).float()
            steps.append(step)
            rows = rows_of(args, env, team, seen)
            if info["is_over"].any():
                places += info["final_info"]["place"][:, 0].tolist()
        kept = {name: torch.stack([step[name] for step in steps]) for name in steps[0]}
        with torch.no_grad():
            kept["advantages"] = advantages_of(args, kept, team(rows)[1])
        kept["returns"] = kept["advantages"] + kept["values"]
        update(args, team, optimizer, {name: tensor.flatten(0, 1) for name, tensor in kept.items()})
        steps_done = iteration * args.rollout * args.num_games
        wins = np.mean(np.array(places) == 1) if places else np.nan
        launches = (kept["actions"] > 0).sum().clamp(min=1)
        print(
            f"{steps_done:9,} steps: wins {wins:.0%}, "
            f"gifts {(kept['actions'] >= FIRST_GIFT).sum() / launches:.1%} of launches, "
            f"{steps_done / (time.perf_counter() - started):,.0f} steps/s",
            flush=True,
        )
    return team


@torch.no_grad()
def wins_of(args: TeamArgs, team: Team, seed: int, *, gives: bool) -> tuple[float, float, float]:
    """Return the share of games that are won, half its 95 % interval, and the share of gifts.

    ``gives``: False takes all gifts out of the masks.
    """
    env = make(args, args.eval_games, autoreset="disabled")
    seen, info = env.reset(seed)
    torch.manual_seed(seed)
    has_ended, gifts, launches = np.zeros(args.eval_games, bool), 0, 0
    while not has_ended.all():
        rows = rows_of(args, env, team, seen)
        if not gives:
            rows["mask"] = rows["mask"].clone()
            rows["mask"][..., FIRST_GIFT:] = 0
        actions = draw(team(rows)[0])
        plays = torch.from_numpy(~has_ended)[:, None]
        gifts += int(((actions >= FIRST_GIFT) & plays).sum())
        launches += int(((actions > 0) & plays).sum())
        seen, *_, info = env.step(actions.numpy())
        has_ended |= info["is_over"]
    won = (info["place"][:, 0] == 1).astype(float)
    return float(won.mean()), float(Z * won.std(ddof=1) / len(won) ** 0.5), gifts / max(1, launches)


def main(argv: list[str] | None = None) -> dict[str, float]:
    """Train, and compare games with and without gifts; return what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in dataclasses.fields(TeamArgs):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), default=field.default)
    args = TeamArgs(**vars(parser.parse_args(argv)))
    team, result = train(args), {}
    for name, gives in (("with gifts", True), ("without", False)):
        won, half, gifts = wins_of(args, team, 1_000_000 + args.seed, gives=gives)
        result |= {name: won, f"{name}, half interval": half, f"{name}, gifts": gifts}
        print(
            f"{name}: wins {won:.1%} +- {half:.1%} of {args.eval_games} games; "
            f"{gifts:.1%} of launches are gifts"
        )
    return result


if __name__ == "__main__":
    main()
